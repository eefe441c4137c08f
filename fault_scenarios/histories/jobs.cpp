// Histories of calls: what processes or threads run in pools of workers and threads, one call after
// the other, while tasks throw, calls are aborted, and workers and trackers die.
#include "fault_scenarios/support/jobs.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/history.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

const Vocabulary& vocabulary() {
  static const std::vector<std::string_view> counts = {"3", "1", "0", "7"};
  static const Vocabulary all = {
      .processes = {"root", "a", "b"},
      .verbs = {{"open", {{"processes", "threads"}, {"2", "1"}}, Verb::Use::basic},
                {"squares", {counts}},
                {"sums", {counts}},
                {"throw", {counts}},
                {"throw-each", {counts}},
                {"interrupt", {counts}},
                {"aborted", {counts}},
                {"abort"},
                {"submit", {counts}},
                {"await"},
                {"end"},
                {"exit", {}, Verb::Use::rare},
                {"kill", {{"worker_1", "worker_2", "a", "b", "tracker"}}, Verb::Use::rare}},
      .drawn_max = 10};
  return all;
}

/// Workers start, at most, as often as this in a drawn history: more starts, each under a fault, do
/// not fit into the steps of a run.
constexpr std::size_t starts_max = 4;

/// Which processes have a pool, or have submitted something.
class Model final : public HistoryModel {
 public:
  bool is_sensible(const HistoryOperation& operation) const override {
    const std::string& verb = operation.verb;
    if (const auto sensible = presence_.is_sensible(operation)) {
      return *sensible;
    }
    if (starts_workers(verb) && starts_ == starts_max) {
      return false;
    }
    if (verb == "submit") {
      return true;
    }
    const bool has_pool = pools_.contains(operation.process);
    const bool awaits = submitters_.contains(operation.process);
    return verb == "open"    ? !has_pool
           : verb == "await" ? awaits
           : verb == "end"   ? has_pool || awaits
                             : has_pool;
  }

  void apply(const HistoryOperation& operation) override {
    const std::string& verb = operation.verb;
    presence_.apply(operation);
    starts_ += starts_workers(verb) ? 1U : 0U;
    if (verb == "open") {
      pools_.insert(operation.process);
    } else if (verb == "submit") {
      submitters_.insert(operation.process);
    } else if (verb == "await") {
      submitters_.erase(operation.process);
    } else if (verb == "end") {
      pools_.erase(operation.process);
      submitters_.erase(operation.process);
    }
  }

 private:
  /// At once or in the next call.
  static bool starts_workers(std::string_view verb) {
    return verb == "open" || verb == "submit" || verb.starts_with("throw") || verb == "interrupt" ||
           verb == "aborted";
  }

  Presence presence_{vocabulary()};
  std::size_t starts_ = 0;
  std::set<std::string> pools_;
  std::set<std::string> submitters_;
};

constexpr TextForm form = history_form<Model, vocabulary>(
    "calls of processes, such as 'a open processes 2, a squares 3, a throw 1'");

constexpr TextParameter history = {
    .name = "jobs",
    .usual =
        "root open processes 2, root throw 1, a open threads 2, a squares 3, root open threads 2, "
        "root aborted 1, root sums 3",
    .form = form,
};

constexpr Parameter<std::size_t> pre_dispatch = {
    .name = "pre_dispatch", .usual = 2, .values = {1, 2, 5}, .unit = "batches per worker"};

bool is_of_worker(const HistoryOperation& operation) {
  return operation.verb == "kill" && operation.object().starts_with("worker");
}

/// A batch of squares.
struct Submitted {
  FuturePtr future;
  std::size_t count = 0;
};

/// One process of a history, or one thread.
class Player {
 public:
  Player(Stage& stage, const OperationList& all, std::string name)
      : stage_(stage), all_(all), name_(std::move(name)) {}

  /// False if the process is to end.
  bool act(const HistoryOperation& operation) {
    const std::string& verb = operation.verb;
    if (verb == "exit") {
      return operation.process != stage_.role();
    }
    if (verb == "kill") {
      kill(stage_, all_, operation.object());
      may_have_dead_workers_ = may_have_dead_workers_ || is_of_worker(operation);
      backend_may_be_broken_ = backend_may_be_broken_ || is_of_worker(operation);
    } else if (verb == "open") {
      open(operation);
    } else if (verb == "end") {
      end();
    } else if (verb == "submit") {
      submit(std::stoul(operation.object()));
    } else if (verb == "await") {
      await();
    } else if (parallel_) {
      act_on_pool(operation);
    }
    return true;
  }

  void end() {
    may_fail(stage_.product().operation("end", [&] {
      parallel_.reset();
      return ok();
    }));
    if (backend_) {
      await();  // Otherwise nothing reports why a worker could not run its batch.
      may_fail(stage_.product().operation("end", [&] { return backend_->terminate(); }));
      backend_.reset();
      backend_may_be_broken_ = false;
    }
  }

  void check(const Status& done) { must_succeed(stage_, done, !done && is_strict()); }

 private:
  /// Whether every worker and tracker is alive.
  bool is_strict() const {
    return stage_.is_undisturbed() && !may_have_dead_workers_ && !backend_may_be_broken_ &&
           std::ranges::none_of(all_, [&](const HistoryOperation& each) {
             return may_end_tracker(each) || (is_of_worker(each) && each.process != name_);
           });
  }

  void open(const HistoryOperation& operation) {
    ParallelOptions options = two_workers();
    options.pre_dispatch = stage_.value(pre_dispatch);
    options.batch_size = stage_.value(tasks_per_batch);
    workers_ = std::stoul(operation.object(1));
    options.n_jobs = static_cast<int>(workers_);
    options.backend =
        operation.object() == "threads" ? BackendKind::threads : BackendKind::processes;
    end();
    parallel_ = std::make_unique<Parallel>(session_of(stage_), functions_of(stage_), options);
    may_have_dead_workers_ = false;
  }

  void act_on_pool(const HistoryOperation& operation) {
    const std::string& verb = operation.verb;
    if (verb == "abort") {
      parallel_->abort();
      return;
    }
    const std::size_t count = std::stoul(operation.object());
    if (verb == "squares") {
      const Outcome<List> outcome = run(verb, squares(count));
      must_have(outcome, count);
      may_fail(must_be_squares(stage_, outcome));
    } else if (verb == "sums") {
      const std::vector<Array> arrays = {numbered(1, 400), numbered(3, 250)};
      const Outcome<List> outcome = run(verb, sums_of(arrays, count));
      must_have(outcome, count);
      may_fail(must_be_sums(stage_, outcome, arrays));
    } else if (verb == "throw-each") {
      throw_each(count);
    } else if (verb == "aborted") {
      must_fail(
          run_aborted(count), "B8: an aborted call fails with operation_canceled", is_canceled);
    } else {
      std::vector<Task> tasks = squares(count);
      tasks.push_back({.function = verb, .arguments = {}});
      must_fail(run(verb, std::move(tasks)),
                "B7: what a task throws is the failure of its call",
                verb == "throw" ? is_exception : is_interrupt);
    }
    if (count > 0) {
      may_have_dead_workers_ = false;  // A call with tasks has met them.
    }
  }

  /// Every task fails. The first failure ends the call, so of each worker that is its first task.
  void throw_each(std::size_t count) {
    std::vector<Task> tasks;
    for (std::size_t number = 0; number <= count; ++number) {
      tasks.push_back(
          {.function = "throw number", .arguments = {Value(static_cast<std::int64_t>(number))}});
    }
    const Outcome<List> outcome = run("throw", std::move(tasks));
    must_fail(outcome, "B7: what a task throws is the failure of its call", is_exception);
    const auto* thrown = outcome ? nullptr : std::get_if<TransportableException>(&outcome.error());
    if (thrown != nullptr &&
        std::stoul(thrown->message) >= workers_ * stage_.value(tasks_per_batch)) {
      stage_.refute(
          "B10: the first failure of a call is reported",
          "that of task " + thrown->message + " of " + std::to_string(workers_) + " workers");
    }
  }

  /// To a pool of its own.
  void submit(std::size_t count) {
    if (!backend_) {
      backend_ = std::make_unique<ProcessBackend>(session_of(stage_), functions_of(stage_));
      const BackendOptions options = {
          .n_jobs = 2, .arrays = {.max_nbytes = large}, .temporary = {.root = stage_.folder()}};
      check(stage_.product().operation("configure",
                                       [&] { return status_of(backend_->configure(options)); }));
    }
    Batch batch = squares(count);
    Outcome<FuturePtr> submitted;
    const Status done = stage_.product().operation("submit", [&] {
      submitted = backend_->apply_async(std::move(batch), nullptr);
      return submitted ? ok()
                       : status_of(Outcome<List>(tl::unexpected(std::move(submitted).error())));
    });
    check(done);
    if (done) {
      futures_.push_back({.future = *std::move(submitted), .count = count});
    }
  }

  /// Starts the workers again if one has died.
  void await() {
    for (const Submitted& each : futures_) {
      may_fail(
          stage_.product().operation("await", [&each] { return status_of(each.future->get()); }));
      must_have(each.future->get(), each.count);
      may_fail(must_be_squares(stage_, each.future->get()));
    }
    futures_.clear();
    if (backend_ && !backend_->is_ready()) {
      const Status restarted = stage_.product().operation(
          "restart", [&] { return status_of(backend_->abort_everything(/*ensure_ready=*/true)); });
      backend_may_be_broken_ = backend_may_be_broken_ && !restarted;
    }
  }

  Outcome<List> run(const std::string& operation, std::vector<Task> tasks) {
    Outcome<List> outcome;
    may_fail(stage_.product().operation(operation, [&] {
      outcome = parallel_->run(std::move(tasks));
      return status_of(outcome);
    }));
    return outcome;
  }

  /// Is aborted when so many tasks have been taken from its source.
  Outcome<List> run_aborted(std::size_t count) {
    Outcome<List> outcome;
    may_fail(stage_.product().operation("aborted", [&] {
      std::size_t given = 0;
      outcome = parallel_->run([&]() -> std::optional<Task> {
        if (given == count) {
          parallel_->abort();
          return std::nullopt;
        }
        ++given;
        return Task{.function = "square", .arguments = {std::int64_t{1}}};
      });
      return status_of(outcome);
    }));
    return outcome;
  }

  void must_have(const Outcome<List>& outcome, std::size_t count) {
    if (is_strict() && (!outcome || outcome->size() != count)) {
      stage_.refute(
          "B10: no call depends on an earlier one",
          outcome ? std::to_string(outcome->size()) + " results" : describe(outcome.error()));
    }
  }

  void must_fail(const Outcome<List>& outcome,
                 const std::string& claim,
                 bool (*is_right)(const TaskFailure&)) {
    if (is_strict() && (outcome || !is_right(outcome.error()))) {
      stage_.refute(claim, outcome ? "results" : describe(outcome.error()));
    }
  }

  static bool is_canceled(const TaskFailure& failure) {
    const auto* error = std::get_if<Error>(&failure);
    return error != nullptr && error->code == std::errc::operation_canceled;
  }
  static bool is_exception(const TaskFailure& failure) {
    return std::holds_alternative<TransportableException>(failure);
  }
  static bool is_interrupt(const TaskFailure& failure) {
    return std::holds_alternative<WorkerInterrupt>(failure);
  }

  Stage& stage_;
  const OperationList& all_;
  const std::string name_;
  std::unique_ptr<Parallel> parallel_;
  std::unique_ptr<ProcessBackend> backend_;
  std::vector<Submitted> futures_;
  std::size_t workers_ = 0;  ///< of parallel_
  bool may_have_dead_workers_ = false;
  bool backend_may_be_broken_ = false;
};

/// Those of a process: each name has its own pools.
class Players {
 public:
  Players(Stage& stage, const HistoryPart& part) {
    for (const HistoryOperation& each : part.operations()) {
      players_.try_emplace(each.process, stage, part.operations(), each.process);
    }
  }

  bool act(const HistoryOperation& operation) {
    return players_.at(operation.process).act(operation);
  }
  void check(const Status& done) { players_.begin()->second.check(done); }
  void end() {
    for (auto& [name, player] : players_) {
      player.end();
    }
  }

 private:
  std::map<std::string, Player, std::less<>> players_;
};

Status play(Stage& stage) {
  const HistoryPart part(stage, vocabulary(), stage.value(history), roles_of(stage.value(party)));
  if (!part.enter()) {
    return ok();
  }
  Players players(stage, part);
  const bool stays = part.play(players);
  players.end();
  if (part.is_root() && stays) {
    part.await_others();
  } else {
    part.report_end();
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Processes or threads run calls in pools of workers and threads in any order, while "
          "tasks "
          "throw, calls are aborted, and workers and trackers die. Each call has its own "
          "results, and nothing remains.",
      .rows = {"B7", "B8", "B9", "B10"},
      .roles = {{"root", play}, {"a", play}, {"b", play}, {"worker_1", work}, {"worker_2", work}},
      .parameters = {history, party, pre_dispatch, tasks_per_batch},
      .possible_noise = noise_of_deaths(),
      .failing_operations = {"end",
                             "configure",
                             "submit",
                             "await",
                             "restart",
                             "squares",
                             "sums",
                             "throw",
                             "interrupt",
                             "aborted",
                             "serve",
                             "join",
                             "register",
                             "hold",
                             "release"},
  };
});

}  // namespace
}  // namespace lastref::harness
