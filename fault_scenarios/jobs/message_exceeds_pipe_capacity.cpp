#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t longer_than_a_pipe = 200'000;

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  Jobs jobs(stage);
  const Value long_one = std::string(longer_than_a_pipe, 'x');
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
  };
});

}  // namespace
}  // namespace lastref::harness
