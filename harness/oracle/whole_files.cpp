#include "harness/oracle/whole_files.hpp"

#include <algorithm>

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
  const auto notable = evidence.notable();
  auto next = notable.begin();
  for (const FileLook& look : evidence.files) {
    const auto before = evidence.records.first(std::min(look.moment, evidence.records.size()));
    for (; next != notable.end() && &*next < before.data() + before.size(); ++next) {
      const Record& record = *next;
      if (is_fact(record, fact::outside)) {
        anothers.insert(record.text.view());
      } else if (gave_name(record)) {
        anothers.erase(record.text.view());
      }
    }
    if (is_kind(look.path) && !anothers.contains(journal_text(look.path))) {
      judge(look, before);
    }
  }
}

Finding broken_file(std::string_view kind, const FileLook& look, const std::string& why) {
  return {.claim = "whole: " + std::string(kind) + " under its final name is complete",
          .seen = look.path + " (" + std::to_string(look.bytes.size()) + " bytes): " + why};
}

}  // namespace lastref::harness::oracle
