#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status worker(Stage& stage) {
  const auto functions = functions_of(stage);
  const Status added = functions->add(
      "nest", [&](const TaskContext& context, std::span<const Value>) -> Result<Value> {
        Parallel inner(context.session, functions, two_workers());
        auto squared = inner.run(squares(2));
        LASTREF_CHECK(status_of(squared));
        return Value(*std::move(squared));
      });
  LASTREF_ASSERT(added.has_value());
  return serve(stage, *functions);
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  Jobs jobs(stage);
  const Outcome<List> nested = jobs.run("nest", {{"nest"}});
  if (nested && nested->front() != Value(List{0, 1})) {
    stage.refute("no-corruption: each result is that of its task", "others");
  }
  return first_failure({status_of(nested), jobs.end()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence = "A task that requests workers of its own runs its tasks itself, with a warning.",
      .rows = {"B5", "B2"},
      .roles = {{"root", root}, {"worker_1", worker}, {"worker_2", worker}},
      .expected_noise = {"a worker starts no workers of its own: n_jobs is 1"},
  };
});

}  // namespace
}  // namespace lastref::harness
