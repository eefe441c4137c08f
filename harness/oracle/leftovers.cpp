#include "harness/oracle/leftovers.hpp"

#include <algorithm>

#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {

bool may_stay(const Scenario& scenario, std::string_view path) {
  return std::ranges::any_of(scenario.stays, [&](std::string_view resource) {
    const std::size_t colon = resource.find(':');
    const std::string_view type = resource.substr(0, colon);
    std::string name(resource.substr(colon == std::string_view::npos ? 0 : colon + 1));
    name.erase(0, name.rfind('/') + 1);
    if (type == "shm" || type == "semlock") {
      return path == (type == "shm" ? "/dev/shm/" : "/dev/shm/sem.") + name;
    }
    const std::string middle = '/' + name + '/';
    return path.ends_with('/' + name) ||
           (type == "folder" && path.find(middle) != std::string_view::npos);
  });
}

bool is_promised(const Evidence& evidence) {
  return !evidence.scenario.no_ledger ||
         std::ranges::none_of(evidence.records, [](const Record& record) {
           return is_tracker(record) &&
                  (record.injected || (is_fact(record, fact::died) && record.text != fact::ended));
         });
}

Leftovers leftovers_of(const Evidence& evidence) {
  const auto count = std::ranges::count_if(evidence.left_after_sweep, [&](const auto& path) {
    return !may_stay(evidence.scenario, path);
  });
  const auto number = static_cast<std::uint32_t>(count);
  return is_promised(evidence) ? Leftovers{.promised = number} : Leftovers{.unpromised = number};
}

}  // namespace lastref::harness::oracle
