// whole: arrays. A body that sends an array announces its data: see announced_arrays.
#include <optional>
#include <set>

#include "harness/oracle/file_readers.hpp"
#include "harness/oracle/registered_oracle.hpp"
#include "harness/oracle/whole_files.hpp"

namespace lastref::harness::oracle {
namespace {

constexpr std::string_view folder_start = "/lastref_memmapping_folder_";

bool is_array(std::string_view path) {
  return path.ends_with(".npy") && path.find(folder_start) != std::string_view::npos;
}

/// The hashes of the data of all announced arrays; empty if some are unknown.
std::optional<std::set<std::string>> announced_arrays(const Evidence& evidence) {
  std::set<std::string> hashes;
  for (const Record& record : evidence.notable()) {
    if (record.kind == RecordKind::operation_begin && record.name == "reduce") {
      hashes.emplace(record.text.view());
    }
  }
  const bool all_known = !hashes.empty() && !hashes.contains("");
  return all_known ? std::optional(std::move(hashes)) : std::nullopt;
}

/// The files of arrays. If the scenario records the arrays that it sends, each file has the data of
/// one of them.
Judgement arrays_are_whole(const Evidence& evidence) {
  Judgement judgement;
  const auto announced = announced_arrays(evidence);
  for_each_file(evidence, is_array, [&](const FileLook& look, std::span<const Record>) {
    ++judgement.look.seen;
    const ReadFile<std::string_view> data = read_array_file(look.bytes);
    if (!data) {
      judgement.findings.push_back(broken_file("an array", look, data.error()));
      return;
    }
    judgement.look.filled += data->empty() ? 0U : 1U;
    if (announced && !announced->contains(std::to_string(hash_of(*data)))) {
      judgement.findings.push_back(broken_file("an array", look, "its data were never sent"));
    }
  });
  return judgement;
}

const RegisteredOracle registered_arrays_are_whole("whole: arrays",
                                                   Concern::contents,
                                                   arrays_are_whole);

}  // namespace
}  // namespace lastref::harness::oracle
