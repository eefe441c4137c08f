#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// A pipe holds 65,536 bytes.
constexpr Parameter<std::size_t> size = {
    .name = "size", .usual = 200'000, .values = {0, 65'536, 200'000}, .unit = "bytes"};

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  ParallelOptions options = two_workers();
  options.backend = backend_of(stage.value(worker_kind));
  Jobs jobs(stage, options);
  const Value long_one = std::string(stage.value(size), 'x');
  const Outcome<List> outcome = jobs.run("run", {{"echo", {long_one}}});
  if (outcome && outcome->front() != Value(List{long_one})) {
    stage.refute("no-corruption: the result equals the argument", "another value");
  }
  return first_failure({status_of(outcome), jobs.end()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "An argument and a result larger than a pipe are sent in pieces. No process waits for a "
          "dead reader or writer.",
      .rows = {"B5", "B9"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
      .parameters = {size, worker_kind},
  };
});

}  // namespace
}  // namespace lastref::harness
