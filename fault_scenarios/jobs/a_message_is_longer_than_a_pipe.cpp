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
    stage.refute("no-corruption: what comes back is what was sent", "something else");
  }
  return first_failure({status_of(outcome), jobs.end()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "An argument and a result that no pipe holds go through it in pieces, and nobody waits "
          "for a dead reader or writer.",
      .rows = {"B5", "B9"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
  };
});

}  // namespace
}  // namespace lastref::harness
