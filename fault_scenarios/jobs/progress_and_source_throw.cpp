#include <atomic>
#include <stdexcept>

#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t tasks = 3;

/// Checks, in an undisturbed run, that this call failed with what was thrown.
void must_be_thrown(Stage& stage, const Outcome<List>& outcome, const std::string& message) {
  const auto* thrown = outcome ? nullptr : std::get_if<TransportableException>(&outcome.error());
  if (stage.is_undisturbed() && (thrown == nullptr || thrown->message != message)) {
    stage.refute("E13: an exception of user code fails its call",
                 outcome ? "results" : describe(outcome.error()));
  }
}

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  std::atomic<bool> throws = true;
  ParallelOptions options = two_workers();
  options.progress = [&throws](const CallProgress&) {
    if (throws) {
      throw std::runtime_error("progress");
    }
  };
  auto parallel = std::make_unique<Parallel>(session_of(stage), functions_of(stage), options);
  const auto run = [&](const std::string& operation, const TaskSource& source) {
    Outcome<List> outcome;
    may_fail(product.operation(operation, [&] {
      outcome = parallel->run(source);
      return status_of(outcome);
    }));
    return outcome;
  };
  const auto source_of = [](std::size_t count, bool fails) {
    return [all = squares(count), at = std::size_t{0}, fails]() mutable -> std::optional<Task> {
      if (at == all.size() && fails) {
        throw std::runtime_error("source");
      }
      return at < all.size() ? std::optional(all[at++]) : std::nullopt;
    };
  };
  must_be_thrown(stage, run("fail", source_of(tasks, /*fails=*/false)), "progress");
  throws = false;
  must_be_thrown(stage, run("fail", source_of(tasks, /*fails=*/true)), "source");
  const Outcome<List> good = run("run again", source_of(tasks, /*fails=*/false));
  const Status squared = must_be_squares(stage, good);
  if (stage.is_undisturbed() && !good) {
    stage.refute("E13: an exception of user code fails no other call", describe(good.error()));
  }
  const Status ended = product.operation("end", [&] {
    parallel.reset();
    return ok();
  });
  return first_failure({squared, ended});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The progress callback of one call throws, and the source of the next one. Each call "
          "fails with what was thrown, and the call after them works.",
      .rows = {"E13", "B10"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
      .failing_operations = {"fail"},
  };
});

}  // namespace
}  // namespace lastref::harness
