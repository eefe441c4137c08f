#include <chrono>

#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// By the clock of the run. A member keeps trying for five seconds.
constexpr std::chrono::seconds wait_max{60};

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("last.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_CHECK(stage.start("starved"));
  stage.await("it is a member");
  // Once its connection is lost, it cannot make another.
  stage.limits().descriptors("starved", -1);
  stage.kill("tracker");
  const os::Instant lost = stage.os().now();
  const Status released = product.release(file);
  // Returns when each member has announced its references, or has left.
  const auto counts = product.client().counts();
  const bool is_late = stage.os().now() - lost > wait_max;
  stage.tell("the tree continues");
  // No refutation: in another order the tracker may make its last check before that member leaves.
  return first_failure(
      {released,
       status_of(counts),
       is_late ? Status(failure(std::errc::timed_out, "E10: all processes waited for it")) : ok()});
}

Status starved(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  stage.tell("it is a member");
  stage.await("the tree continues");
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The tracker is killed, and a member has no descriptor to connect to the restarted one. "
          "It gives up its lock after a while, and the tree continues without it.",
      .rows = {"E10", "T6"},
      .roles = {{"root", root}, {"starved", starved}},
      .expected_noise = {"the tracker was killed by signal 9; starting another"},
      .outside_matrix = "one process pauses 250 times, always in the same way",
  };
});

}  // namespace
}  // namespace lastref::harness
