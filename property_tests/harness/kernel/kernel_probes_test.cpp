// kernel_probes_test: the probes that a process has seen outlive the process, but not its run.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/probe.hpp>

#include "harness/kernel/kernel_world.hpp"

namespace lastref::harness {
namespace {

/// Sees one probe before a call and another after it.
Status probing_root(Stage& stage) {
  stage.os().hit(Probe::link_made_again);
  static_cast<void>(stage.os().now());
  stage.os().hit(Probe::tracker_replaced);
  return ok();
}

Status blind_root(Stage& /*stage*/) {
  return ok();
}

Scenario probing_toy(std::string name, Status (*root)(Stage&)) {
  return {.name = std::move(name),
          .sentence = "A toy.",
          .rows = {},
          .roles = {{.name = "root", .body = root}}};
}

TEST(KernelProbes, what_was_seen_outlives_a_process_that_is_killed_and_not_the_run) {
  const std::vector<Scenario> toys = {probing_toy("sees", probing_root),
                                      probing_toy("blind", blind_root)};
  KernelWorld world{{.scenarios = &toys}};
  constexpr auto first = static_cast<std::size_t>(Probe::link_made_again);
  constexpr auto second = static_cast<std::size_t>(Probe::tracker_replaced);
  EXPECT_EQ(world.run(toys[0], {}).probes, ProbeSet().set(first).set(second));
  Plan plan;
  plan.faults.push_back(parse_fault("root/now()#1 kill_before").value());
  EXPECT_EQ(world.run(toys[0], plan).probes, ProbeSet().set(first));
  EXPECT_TRUE(world.run(toys[1], {}).probes.none());
}

}  // namespace
}  // namespace lastref::harness
