// Backends used without a Parallel: a restarted one, and a broken one.
#include <new>

#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status configure(Stage& stage, ProcessBackend& backend) {
  const BackendOptions options = {
      .n_jobs = 2, .arrays = {.max_nbytes = large}, .temporary = {.root = stage.folder()}};
  return stage.product().operation("configure",
                                   [&] { return status_of(backend.configure(options)); });
}

Status terminate(Stage& stage, ProcessBackend& backend) {
  return stage.product().operation("terminate", [&] { return backend.terminate(); });
}

/// The outcomes of batches that are sent together.
std::vector<Outcome<List>> outcomes_of(Stage& stage,
                                       const std::string& operation,
                                       ProcessBackend& backend,
                                       std::vector<Batch> batches) {
  Error no_memory{.code = std::errc::not_enough_memory, .call = {}, .subject = operation};
  // Until it is known, each is that an allocation of the operation has failed.
  std::vector<Outcome<List>> outcomes(batches.size(), tl::unexpected<TaskFailure>(no_memory));
  may_fail(stage.product().operation(operation, [&]() -> Status {
    try {
      std::vector<FuturePtr> futures(batches.size());
      for (std::size_t at = 0; at < batches.size(); ++at) {
        auto sent = backend.apply_async(std::move(batches[at]), nullptr);
        if (sent) {
          futures[at] = *std::move(sent);
        } else {
          outcomes[at] = tl::unexpected<TaskFailure>(std::move(sent).error());
        }
      }
      Status last;
      for (std::size_t at = 0; at < futures.size(); ++at) {
        if (futures[at] != nullptr) {
          outcomes[at] = futures[at]->get();
        }
        last = first_failure({last, status_of(outcomes[at])});
      }
      return last;
    } catch (const std::bad_alloc&) {
      // Of a copy that is made above. One of the error might find no memory, either.
      return tl::unexpected(std::move(no_memory));
    }
  }));
  return outcomes;
}

Status root_that_restarts(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  ProcessBackend backend(session_of(stage), functions_of(stage));
  LASTREF_CHECK(configure(stage, backend));
  const Status restarted = product.operation(
      "restart", [&] { return status_of(backend.abort_everything(/*ensure_ready=*/true)); });
  // Nothing else holds the array, and its worker takes it only when everything else is done.
  std::vector<Batch> batches(1);
  batches.front().push_back({.function = "count folders", .arguments = {numbered()}});
  stage.stop("worker_1");
  stage.stop("worker_2");
  const auto counted = outcomes_of(stage, "count folders", backend, std::move(batches));
  if (stage.is_undisturbed() && counted.front() && counted.front()->front() != Value(1)) {
    stage.refute("B8: a restarted pool sends arrays with the same options",
                 "not through the configured folder");
  }
  return first_failure({restarted, status_of(counted.front()), terminate(stage, backend)});
}

/// The number of folders of arrays in the folder of the run.
Status work_and_count(Stage& stage) {
  const auto functions = functions_of(stage);
  const Status added = functions->add(
      "count folders", [&stage](const TaskContext&, std::span<const Value>) -> Result<Value> {
        return Value(folders_of_arrays(stage));
      });
  LASTREF_ASSERT(added.has_value());
  return serve(stage, *functions);
}

Status root_of_a_dead_worker(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(stage.start("killer"));
  ProcessBackend backend(session_of(stage), functions_of(stage));
  LASTREF_CHECK(configure(stage, backend));
  const auto outcomes = outcomes_of(stage, "fail", backend, {{{"wait"}}, {{"wait"}}});
  for (const Outcome<List>& outcome : outcomes) {
    must_name_the_dead(stage, outcome);
  }
  if (stage.is_undisturbed() && backend.is_ready()) {
    stage.refute("B9: a pool that has lost a worker accepts no batch", "it is ready");
  }
  return terminate(stage, backend);
}

Status killer_of_one(Stage& stage) {
  if (stage.await("a task is waiting")) {
    stage.kill("worker_1");
  }
  return ok();
}

/// More than half of what the parent reads at once, and less than a pipe holds.
constexpr std::size_t long_answer = 50'000;  // bytes

Status root_of_last_answer(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(stage.start("killer"));
  ProcessBackend backend(session_of(stage), functions_of(stage));
  LASTREF_CHECK(configure(stage, backend));
  const Value answer = std::string(long_answer, 'x');
  const auto outcomes = outcomes_of(stage, "run", backend, {{{"answer", {answer}}}});
  if (stage.is_undisturbed() && (!outcomes.front() || outcomes.front()->front() != answer)) {
    stage.refute("B9: an answer that a worker sent before its death counts",
                 outcomes.front() ? "another answer" : describe(outcomes.front().error()));
  }
  return terminate(stage, backend);
}

Status answer_late(Stage& stage) {
  const auto functions = functions_of(stage);
  const Status added = functions->add(
      "answer", [&stage](const TaskContext&, std::span<const Value> arguments) -> Result<Value> {
        stage.tell("a task runs");
        stage.await("the root is stopped");
        return arguments.front();
      });
  LASTREF_ASSERT(added.has_value());
  return serve(stage, *functions);
}

/// Kills after the answer was written, and before it is read.
Status killer_after_answer(Stage& stage) {
  if (!stage.await("a task runs")) {
    return ok();
  }
  stage.stop("root");
  stage.tell("the root is stopped");
  stage.wait_for_quiet();
  stage.kill("worker_1");
  stage.kill("worker_2");
  stage.resume("root");
  return ok();
}

const RegisteredScenario restarted_backend_keeps_options([] {
  return Scenario{
      .name = "jobs/restarted_backend_keeps_options",
      .sentence =
          "A backend is restarted. An array is still sent as configured, and is held in transit "
          "although nothing else holds it.",
      .rows = {"B8", "B9"},
      .roles = {{"root", root_that_restarts},
                {"worker_1", work_and_count},
                {"worker_2", work_and_count}},
  };
});

const RegisteredScenario worker_death_fails_all_pending_batches([] {
  return Scenario{
      .name = "jobs/worker_death_fails_all_pending_batches",
      .sentence =
          "One of two workers is killed while both have a task. Both batches fail with its death, "
          "and the backend accepts no more.",
      .rows = {"B9"},
      .roles = {{"root", root_of_a_dead_worker},
                {"worker_1", work},
                {"worker_2", work},
                {"killer", killer_of_one}},
      .failing_operations = {"fail"},
  };
});

const RegisteredScenario last_answer_of_dead_worker_counts([] {
  return Scenario{
      .name = "jobs/last_answer_of_dead_worker_counts",
      .sentence =
          "A worker answers and is killed before any process reads the answer. The answer counts.",
      .rows = {"B9"},
      .roles = {{"root", root_of_last_answer},
                {"worker_1", answer_late},
                {"worker_2", answer_late},
                {"killer", killer_after_answer}},
      .outside_matrix = "its claim depends on where the scenario stops the root",
  };
});

}  // namespace
}  // namespace lastref::harness
