// catalog: every scenario, in the order of their names.
#include <algorithm>
#include <iterator>

#include "fault_scenarios/arrays/arrays.hpp"
#include "fault_scenarios/caches/caches.hpp"
#include "fault_scenarios/canary/canary.hpp"
#include "fault_scenarios/jobs/jobs.hpp"
#include "fault_scenarios/storage/storage.hpp"
#include "fault_scenarios/sweep/sweep.hpp"
#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {

const std::vector<Scenario>& catalog() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> scenarios;
    for (const auto family : {arrays_scenarios,
                              caches_scenarios,
                              canary_scenarios,
                              jobs_scenarios,
                              storage_scenarios,
                              sweep_scenarios,
                              tracker_scenarios}) {
      std::ranges::move(family(), std::back_inserter(scenarios));
    }
    std::ranges::sort(scenarios, {}, &Scenario::name);
    return scenarios;
  }();
  return all;
}

}  // namespace lastref::harness
