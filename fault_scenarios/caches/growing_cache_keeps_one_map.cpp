#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/caches.hpp"
#include "fault_scenarios/support/growth.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::uint64_t slots = 40;
constexpr std::size_t value_size = 8000;  // bytes
constexpr int visits = 100;

/// A user that has the cache for a moment.
Status visit(Stage& stage, const std::string& handle) {
  StageCache visitor(stage, "cache");
  LASTREF_CHECK(visitor.attach(handle));
  visitor.get(0);
  visitor.close();
  return visitor.first_failed();
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  StageCache cache(stage, "cache");
  LASTREF_CHECK(cache.make(slots));
  StageCache attached(stage, "cache");
  LASTREF_CHECK(attached.attach(cache.handle()));
  const Memory empty = memory_of(stage);
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    const std::string value = value_of(slot, stage.role(), value_size);
    cache.put(slot, value);
    must_have(stage, attached, slot, value);
  }
  // A map is as long as the content, or twice that. All earlier maps that were too short would add
  // as much again.
  must_not_grow(stage,
                "bytes that are mapped of a cache",
                empty.mapped + 2 * slots * (value_size + 100),
                stage.mapped());
  LASTREF_CHECK(visit(stage, cache.handle()));
  const Memory full = memory_of(stage);
  for (int time = 0; time < visits; ++time) {
    LASTREF_CHECK(visit(stage, cache.handle()));
  }
  must_not_grow(stage, full, memory_of(stage));
  return first_failure({attached.first_failed(), cache.first_failed()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A cache is read while it grows, and many users attach it briefly. Only the last map "
          "remains, and nothing of the former users.",
      .rows = {"E12"},
      .roles = {{"root", root}},
      .kernel_only = true,  // In the sim a mapped file cannot grow so far.
      .outside_matrix = "it repeats calls that other scenarios make once",
  };
});

}  // namespace
}  // namespace lastref::harness
