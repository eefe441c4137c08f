// Histories of typed pools: what threads submit to one pool, wait for, take and cancel, while
// workers die and are replaced.
#include "fault_scenarios/support/pools.hpp"

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fault_scenarios/support/history.hpp"
#include "harness/program/arena.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr Parameter<std::size_t> tasks_per_worker = {
    .name = "limit", .usual = 0, .values = {0, 1, 2}, .unit = "tasks per worker, 0: any"};

const Vocabulary& vocabulary() {
  static const std::vector<std::string_view> futures = {"x", "y", "z"};
  static const std::vector<std::string_view> counts = {"3", "1", "0", "6"};
  static const Vocabulary all = {
      .processes = {"root", "a", "b"},  // Threads of the root
      .verbs = {{"submit", {futures, {"return", "throw", "wait"}}, Verb::Use::basic},
                {"get", {futures}, Verb::Use::basic},
                {"get-any"},
                {"cancel", {futures}},
                {"drop", {futures}},
                {"squares", {counts}},
                {"throw", {counts}},
                {"leave", {counts}},
                {"kill", {{"worker_1", "worker_2"}}, Verb::Use::rare}},
      .drawn_max = 12};
  return all;
}

/// Which thread has which futures.
class Model final : public HistoryModel {
 public:
  bool is_sensible(const HistoryOperation& operation) const override {
    const std::string& verb = operation.verb;
    const bool is_of_future = verb == "get" || verb == "cancel" || verb == "drop";
    if (verb == "kill") {
      return !submitters_.empty();
    }
    if (verb == "get-any") {
      return submitters_.contains(operation.process);
    }
    return !is_of_future || futures_.contains(future_of(operation));
  }

  void apply(const HistoryOperation& operation) override {
    const std::string& verb = operation.verb;
    if (verb == "submit") {
      futures_.insert(future_of(operation));
      submitters_.insert(operation.process);
    } else if (verb == "get" || verb == "drop") {
      futures_.erase(future_of(operation));
    }
  }

 private:
  static std::pair<std::string, std::string> future_of(const HistoryOperation& operation) {
    return {operation.process, operation.object()};
  }

  std::set<std::pair<std::string, std::string>> futures_;
  std::set<std::string> submitters_;
};

constexpr TextForm form = history_form<Model, vocabulary>(
    "calls of threads, such as 'a submit x return, b squares 3, a get x'");

constexpr TextParameter history = {
    .name = "pools",
    .usual =
        "root submit x wait, root submit y return, a squares 3, root cancel x, root get-any, "
        "root get y, a throw 1",
    .form = form,
};

/// Of numbers that are thrown for: odd ones
constexpr int thrown = 1;

int square(int number) {
  count_square(*caller_of_task().stage, number);
  return number * number;
}

/// Returns when all other processes wait.
int square_late(int number) {
  Stage& stage = *caller_of_task().stage;
  count_square(stage, number);
  stage.wait_for_quiet();
  return number * number;
}

int square_or_throw(int number) {
  count_square(*caller_of_task().stage, number);
  if (number % 2 == thrown) {
    throw std::runtime_error("as it should");
  }
  return number * number;
}

/// A task of one submit.
struct Submitted {
  Future<int> future;
  int number = 0;
  bool throws = false;
  bool is_canceled = false;
};

/// The futures of one thread.
using Futures = std::map<std::string, Submitted, std::less<>>;

class Player {
 public:
  Player(Stage& stage, const OperationList& all, Pool& pool)
      : stage_(stage), all_(all), pool_(pool) {
    for (const std::string_view each : vocabulary().processes) {
      futures_[std::string(each)];  // Threads only find them.
    }
  }

  void act(const HistoryOperation& operation) {
    Futures& mine = futures_.find(operation.process)->second;
    const std::string& verb = operation.verb;
    if (verb == "kill") {
      kill(stage_, all_, operation.object());
    } else if (verb == "submit") {
      submit(mine, operation);
    } else if (verb == "get-any") {
      get_any(mine);
    } else if (verb == "squares" || verb == "throw" || verb == "leave") {
      call(verb, std::stoi(operation.object()));
    } else if (const auto found = mine.find(operation.object()); found != mine.end()) {
      if (verb == "get") {
        take(found->second);
        mine.erase(found);
      } else if (verb == "cancel") {
        found->second.is_canceled = true;
        found->second.future.cancel();
      } else {
        mine.erase(found);
      }
    }
  }

 private:
  /// A number that no other task has: its calls are counted. An even one does not throw.
  int new_number(bool throws) {
    const std::lock_guard held(guard_);
    last_number_ += 2;
    return last_number_ + (throws ? thrown : 0);
  }

  void submit(Futures& mine, const HistoryOperation& operation) {
    const bool throws = operation.object(1) == "throw";
    const int number = new_number(throws);
    const bool is_late = operation.object(1) == "wait";
    std::optional<Future<int>> future;
    may_fail(stage_.product().operation("submit", [&] {
      future = throws    ? pool_.submit<square_or_throw>(number)
               : is_late ? pool_.submit<square_late>(number)
                         : pool_.submit<square>(number);
      return future->tasks() == nullptr ? status_of(future->get()) : ok();
    }));
    mine.insert_or_assign(
        operation.object(),
        Submitted{.future = *std::move(future), .number = number, .throws = throws});
  }

  void get_any(Futures& mine) {
    std::vector<std::string> names;
    std::vector<Future<int>> futures;
    for (auto& [name, each] : mine) {
      names.push_back(name);
      futures.push_back(std::move(each.future));
    }
    std::optional<std::size_t> ready;
    may_fail(stage_.product().operation("wait for any", [&]() -> Status {
      LASTREF_TRY(any, wait_any(futures));
      ready = any;
      return ok();
    }));
    for (std::size_t at = 0; at < names.size(); ++at) {
      mine.find(names[at])->second.future = std::move(futures[at]);
    }
    if (stage_.is_undisturbed() && ready.has_value() == mine.empty()) {
      stage_.refute("L2: one of several futures becomes ready", "none");
    }
    if (ready) {
      const auto found = mine.find(names.at(*ready));
      take(found->second);
      mine.erase(found);
    }
  }

  void take(Submitted& task) {
    Result<int> result = failure(std::errc::not_enough_memory, "");
    may_fail(stage_.product().operation("take a result", [&] {
      result = task.future.get();
      const AllocationScope scope(/*is_products=*/false);
      return status_of(result);
    }));
    Status again = ok();
    may_fail(stage_.product().operation("take it again", [&] {
      again = status_of(task.future.get());
      return ok();
    }));
    if (stage_.is_undisturbed() && !failed_with(again, std::errc::invalid_argument)) {
      stage_.refute("L2: the result of a task can be taken once",
                    again ? "twice" : describe(again.error()));
    }
    if (result && *result != task.number * task.number) {
      stage_.refute("L2: each result is that of its task", std::to_string(*result));
    }
    const int calls = calls_of(stage_, "square " + std::to_string(task.number));
    if (calls > 1) {
      stage_.refute("L5: a task without retries is called at most once",
                    std::to_string(calls) + " calls");
    }
    if (stage_.is_undisturbed() && !kills_workers()) {
      must_end_as_promised(task, result);
    }
  }

  void must_end_as_promised(const Submitted& task, const Result<int>& result) {
    const bool has_thrown = !result && result.error().code == std::errc() &&
                            result.error().subject.ends_with("as it should");
    const bool is_as_promised =
        (task.throws ? has_thrown : result.has_value()) ||
        (task.is_canceled && failed_with(result, std::errc::operation_canceled));
    if (!is_as_promised) {
      stage_.refute("L6: a task has its result, or its own error, or was cancelled",
                    result ? "a result" : describe(result.error()));
    }
  }

  void call(const std::string& verb, int count) {
    std::vector<int> numbers;
    for (int each = 0; each < count; ++each) {
      numbers.push_back(new_number(verb == "throw"));
    }
    may_fail(stage_.product().operation(verb, [&]() -> Status {
      if (verb == "leave") {
        for (const auto& done : pool_.as_completed<square>(numbers)) {
          const AllocationScope scope(/*is_products=*/false);
          return status_of(done.result);
        }
        return ok();
      }
      const auto all =
          verb == "throw" ? pool_.map<square_or_throw>(numbers) : pool_.map<square>(numbers);
      const AllocationScope scope(/*is_products=*/false);
      must_be_squares(numbers, all, verb == "throw");
      return status_of(all);
    }));
  }

  void must_be_squares(const std::vector<int>& numbers,
                       const Result<std::vector<int>>& all,
                       bool throws) {
    bool are_squares = all && all->size() == numbers.size();
    for (std::size_t at = 0; are_squares && at < numbers.size(); ++at) {
      are_squares = (*all)[at] == numbers[at] * numbers[at];
    }
    const bool is_undisturbed = stage_.is_undisturbed() && !kills_workers();
    const bool is_to_fail = throws && !numbers.empty();
    if ((all && !are_squares) || (is_undisturbed && all.has_value() == is_to_fail)) {
      stage_.refute("L2: a call has the results of its elements, or the error of one",
                    all ? "other results" : describe(all.error()));
    }
  }

  bool kills_workers() const {
    return std::ranges::any_of(all_, [](const auto& each) { return each.verb == "kill"; });
  }

  Stage& stage_;
  const OperationList& all_;
  Pool& pool_;
  std::map<std::string, Futures, std::less<>> futures_;  ///< By thread
  std::mutex guard_;
  int last_number_ = 0;
};

Status root(Stage& stage) {
  const auto operations = parse_history(vocabulary(), stage.value(history)).value();
  std::optional<Pool> pool;
  PoolOptions options;
  if (const std::size_t tasks = stage.value(tasks_per_worker); tasks > 0) {
    options.max_tasks_per_worker = static_cast<std::int64_t>(tasks);
  }
  make_pool(stage, pool, std::move(options));
  Status done = ok();
  {
    Player player(stage, operations, *pool);
    done = carry_out_in_threads(
        stage, operations, others_in(vocabulary(), operations), [&](const auto& each) {
          player.act(each);
        });
  }
  const Status met = must_have_all_workers(stage, *pool);
  return first_failure({done, met, end(stage, pool)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Threads submit tasks to one pool, take their results and cancel them in any order, "
          "while workers die and are replaced. Each task has its result or its own error, and no "
          "worker is lost.",
      .rows = {"L2", "L3", "L5", "L6", "L9", "L10"},
      .roles = pool_roles(root),
      .parameters = {history, pool_workers, tasks_per_worker},
      .failing_operations = {"take a result", "throw", "squares", "leave", "meet"},
      .stays = {counted_calls},
  };
});

}  // namespace
}  // namespace lastref::harness
