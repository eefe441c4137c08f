#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Lists nested as deeply as can be sent; `echo` puts them into one more.
Value deepest() {
  constexpr std::size_t depth = 64;
  Value value = 1;
  for (std::size_t at = 0; at < depth; ++at) {
    value = List{value};
  }
  return value;
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  Jobs jobs(stage);
  const Outcome<List> unsent = jobs.run("fail", {{"echo", {deepest()}}});
  const auto* error = unsent ? nullptr : std::get_if<Error>(&unsent.error());
  if (stage.is_undisturbed() && (error == nullptr || error->code != std::errc::value_too_large)) {
    stage.refute("B5: a result that cannot be sent is a typed error",
                 unsent ? "results" : describe(unsent.error()));
  }
  const Status run = must_be_squares(stage, jobs.run("run again", squares(2)));
  return first_failure({run, jobs.end()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence = "A result that cannot be sent fails its own call and nothing else.",
      .rows = {"B5", "B7", "B10"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
      .failing_operations = {"fail"},
  };
});

}  // namespace
}  // namespace lastref::harness
