#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  const std::vector<Array> arrays = {numbered(1), numbered(2), numbered(3)};
  LASTREF_CHECK(stage.product().lead());
  Jobs jobs(stage);
  constexpr std::size_t tasks = 20;
  const Status run = must_be_sums(stage, jobs.run("run", sums_of(arrays, tasks)), arrays);
  return first_failure({run, jobs.end()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Twenty tasks take three arrays through files to two workers. Whichever process dies, "
          "the caller has all results or an error, and nothing is left.",
      .rows = {"B5", "B9", "B10", "T9"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
  };
});

}  // namespace
}  // namespace lastref::harness
