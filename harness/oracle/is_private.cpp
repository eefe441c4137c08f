// private: files are created with mode 0600 and folders with 0700, from the start. A watched
// program may choose modes, but must not let everyone write where its umask denies that.
#include "harness/oracle/registered_oracle.hpp"

namespace lastref::harness::oracle {
namespace {

constexpr std::int64_t private_file = 0600;
constexpr std::int64_t private_folder = 0700;
constexpr std::int64_t sticky = 01000;  // It grants no permission.

/// Files are created with mode 0600 and folders with 0700, from the start.
Judgement is_private(const Evidence& evidence) {
  Judgement judgement;
  for (const Record& record : evidence.notable()) {
    if (is_fact(record, fact::exposed)) {
      judgement.findings.push_back({.claim = "private: other users cannot write to what it makes",
                                    .seen = evidence.text_of(record)});
    }
    const bool makes_folder = record.call == Call::make_folder;
    const bool makes_file = record.call == Call::open && record.value >= 0;
    if (record.kind != RecordKind::end || record.error != 0 || (!makes_folder && !makes_file)) {
      continue;
    }
    ++judgement.look.seen;
    ++judgement.look.filled;
    const bool is_so =
        makes_folder ? (record.value & ~sticky) == private_folder : record.value == private_file;
    if (!is_so) {
      std::string mode(4, '0');
      for (std::size_t digit = 0; digit < mode.size(); ++digit) {
        const auto shift = 3 * (mode.size() - 1 - digit);
        mode[digit] = static_cast<char>('0' + ((record.value >> shift) & 7));
      }
      judgement.findings.push_back(
          {.claim = "private: files are created with mode 0600, and folders with 0700",
           .seen = std::string(record.text.view()) + " was created with " + mode});
    }
  }
  return judgement;
}

const RegisteredOracle registered_is_private("private",
                                             Concern::conduct,
                                             is_private,
                                             Judges::programs);

}  // namespace
}  // namespace lastref::harness::oracle
