// no-premature-unlink: names that a live process holds are not removed.
#include <algorithm>

#include "harness/oracle/holdings.hpp"
#include "harness/oracle/leftovers.hpp"
#include "harness/oracle/registered_oracle.hpp"

namespace lastref::harness::oracle {
namespace {

constexpr std::string_view premature_claim =
    "no-premature-unlink: a name that a live process holds is not cleaned up";

/// Whether removing `removed`, which is not a counted name itself, removes `held` or something in
/// it.
bool takes_from(std::string_view held, const Record& record, std::string_view removed) {
  if (held == removed) {
    return true;
  }
  const bool is_path = record.call == Call::unlink || record.call == Call::remove_folder;
  if (!is_path || !held.starts_with("folder:")) {
    return false;
  }
  const std::string_view path = removed.substr(removed.find(':') + 1);
  const std::string_view folder = held.substr(held.find(':') + 1);
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

/// A tracker removes nothing that a live process certainly holds.
Judgement no_premature_unlink(const Evidence& evidence) {
  Holdings holdings;
  Judgement judgement;
  for (const Record& record : evidence.notable()) {
    holdings.read(record);
    if (record.kind != RecordKind::end || record.error != 0 || !is_tracker(record)) {
      continue;
    }
    const std::string removed = resource_removed_by(record);
    if (removed.empty()) {
      continue;
    }
    ++judgement.look.seen;
    // A process holds something that could have been affected.
    judgement.look.filled +=
        std::ranges::any_of(holdings.counts(),
                            [&](const auto& item) {
                              return item.second.least > 0 && holdings.is_alive(item.first.first);
                            })
            ? 1U
            : 0U;
    const bool is_named = std::ranges::any_of(
        holdings.counts(), [&](const auto& item) { return item.first.second == removed; });
    for (const auto& [key, range] : holdings.counts()) {
      if (is_named && key.second != removed) {
        continue;  // Its own count decides, whatever it lies in.
      }
      if (range.least > 0 && holdings.is_alive(key.first) &&
          takes_from(key.second, record, removed)) {
        judgement.findings.push_back({.claim = std::string(premature_claim),
                                      .seen = std::string(record.role.view()) + " removed " +
                                              removed + " while " + holdings.role_of(key.first) +
                                              " held " + std::string(key.second)});
      }
    }
  }
  return judgement;
}

const RegisteredOracle registered_no_premature_unlink("no-premature-unlink",
                                                      Concern::references,
                                                      no_premature_unlink);

}  // namespace
}  // namespace lastref::harness::oracle
