#include "harness/oracle/whole_files.hpp"

namespace lastref::harness::oracle {

bool gives_name(Call call) noexcept {
  return call == Call::rename || call == Call::rename_new || call == Call::link;
}

bool gave_name(const Record& record) noexcept {
  return record.kind == RecordKind::end && record.error == 0 && gives_name(record.call);
}

void for_each_file(const Evidence& evidence,
                   const std::function<bool(std::string_view path)>& is_kind,
                   const std::function<void(const FileLook&, std::span<const Record>)>& judge) {
  std::set<std::string_view> anothers;
  std::size_t read = 0;
  for (const FileLook& look : evidence.files) {
    for (; read < look.moment && read < evidence.records.size(); ++read) {
      const Record& record = evidence.records[read];
      if (is_fact(record, fact::outside)) {
        anothers.insert(record.text.view());
      } else if (gave_name(record)) {
        anothers.erase(record.text.view());
      }
    }
    if (is_kind(look.path) && !anothers.contains(journal_text(look.path))) {
      judge(look, evidence.records.first(read));
    }
  }
}

Finding broken_file(std::string_view kind, const FileLook& look, const std::string& why) {
  return {.claim = "whole: " + std::string(kind) + " under its final name is complete",
          .seen = look.path + " (" + std::to_string(look.bytes.size()) + " bytes): " + why};
}

}  // namespace lastref::harness::oracle
