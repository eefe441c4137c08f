#include "fault_scenarios/support/growth.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t large_one = std::size_t{4} << 20U;  // bytes
/// bytes; what a reader may keep for the next message, plus some for the heap.
constexpr std::uint64_t kept_max = std::uint64_t{3} << 19U;

Status echo(Stage& stage, Jobs& jobs, std::size_t size) {
  const Value sent = std::string(size, 'x');
  const Outcome<List> outcome = jobs.run("run", {{"echo", {sent}}});
  if (outcome && outcome->front() != Value(List{sent})) {
    stage.refute("no-corruption: the result equals the argument", "another value");
  }
  return status_of(outcome);
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  Jobs jobs(stage);
  LASTREF_CHECK(echo(stage, jobs, 1));
  const Memory before = memory_of(stage);
  const Status run = echo(stage, jobs, large_one);
  must_not_grow(stage, before, memory_of(stage), kept_max);
  return first_failure({run, jobs.end()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A worker returns a result far larger than all before. When it is destroyed, the memory "
          "that received it is freed, although the workers remain.",
      .rows = {"E12"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
      .outside_matrix = "it tests size and has too many sites",
      .is_long = true,
  };
});

}  // namespace
}  // namespace lastref::harness
