#include <chrono>

#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

using std::chrono::milliseconds;

/// A batch that was sent before, and the number of tasks of the next one.
struct Sent {
  std::size_t size;
  milliseconds took;
  std::size_t next;
};

constexpr Sent sent[] = {
    {1, milliseconds(10), 40},    // A fifth of a second has time for 20; twice that is tried.
    {1, milliseconds(5000), 40},  // It was sent before the size changed.
    {40, milliseconds(500), 40},
    {40, milliseconds(30000), 20},
};

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  ProcessBackend backend(session_of(stage), functions_of(stage));
  for (const auto& [size, took, next] : sent) {
    backend.batch_completed(size, took);
    const std::size_t seen = backend.compute_batch_size();
    if (seen != next) {
      stage.refute("B6: batches that are too short grow, and those that take too long shrink",
                   std::to_string(size) + " tasks took " + std::to_string(took.count()) +
                       " ms, and the next batch has " + std::to_string(seen));
    }
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "While batches of the current size take little time, the size grows. When they take too "
          "long, it shrinks.",
      .rows = {"B6"},
      .roles = {{"root", root}},
  };
});

}  // namespace
}  // namespace lastref::harness
