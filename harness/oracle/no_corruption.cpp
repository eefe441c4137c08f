// no-corruption: a file under its final name is complete.
#include <set>

#include "harness/oracle/registered_oracle.hpp"
#include "harness/oracle/whole_files.hpp"

namespace lastref::harness::oracle {
namespace {

constexpr std::string_view folder_start = "/lastref_memmapping_folder_";
constexpr std::string_view final_end = ".npy";

/// Whether a path is the final name of an array's file, in a folder of arrays.
bool is_final(std::string_view path) noexcept {
  const std::size_t folder = path.find(folder_start);
  return path.ends_with(final_end) && folder != std::string_view::npos &&
         path.find('/', folder + folder_start.size()) != std::string_view::npos;
}

/// A file of an array has its final name only when it is whole: it is created under another name
/// and renamed. Writes by an outside party are exempt.
Judgement no_corruption(const Evidence& evidence) {
  Judgement judgement;
  std::set<std::string_view> given;  // final names, given by a rename or by an outside party
  for (const Record& record : evidence.notable()) {
    const std::string_view path = record.text.view();
    const bool is_done = record.kind == RecordKind::end && record.error == 0;
    const bool is_outside = is_fact(record, fact::outside);
    if (!is_final(path) || (!is_done && !is_outside)) {
      continue;
    }
    ++judgement.look.seen;
    ++judgement.look.filled;
    const bool is_open = record.call == Call::open;
    const bool creates = is_open && record.value >= 0;
    if (creates || (is_open && !given.contains(path))) {
      judgement.findings.push_back(
          {.claim = "no-corruption: a file that has its final name is complete",
           .seen = std::string(path) +
                   (creates ? " was created by " : " was there without a rename for ") +
                   std::string(record.role.view())});
    }
    if (record.call == Call::unlink) {
      given.erase(path);
    } else if (is_open || is_outside || gives_name(record.call)) {
      given.insert(path);
    }
  }
  return judgement;
}

const RegisteredOracle registered_no_corruption("no-corruption", Concern::contents, no_corruption);

}  // namespace
}  // namespace lastref::harness::oracle
