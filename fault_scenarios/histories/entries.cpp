// Histories of caches by key: what processes or threads put, compute, erase and visit, while
// entries are evicted, and processes open the cache again and die.
#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <lastref/cache.hpp>

#include "fault_scenarios/support/caches.hpp"
#include "fault_scenarios/support/history.hpp"
#include "harness/platform/named_enum.hpp"
#include "harness/program/arena.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

using Texts = Cache<std::string, std::string>;

LASTREF_NAMED_ENUM(Limit,
                   (none, "none"),
                   (evicts_many, "evicts-many"),
                   (evicts_few, "evicts-few"),
                   (refuses, "refuses"));

constexpr Parameter<Limit> limit = {.name = "limit", .usual = Limit::none};

std::uint64_t bytes_of(Limit limit) {
  return limit == Limit::none ? 0 : limit == Limit::evicts_few ? 700 : 300;
}

const std::string folder_name = "entries";

const Vocabulary& vocabulary() {
  static const std::vector<std::string_view> keys = {"k", "l", "m", "n"};
  static const Vocabulary all = {
      .processes = {"root", "a", "b"},
      .verbs = {{"put", {keys, {"40", "1", "200", "900"}}, Verb::Use::basic},
                {"get", {keys}},
                {"compute", {keys}, Verb::Use::basic},
                {"fail", {keys}},
                {"contains", {keys}},
                {"erase", {keys}},
                {"visit"},
                {"reopen"},
                {"exit", {}, Verb::Use::rare},
                {"kill", {{"a", "b"}}, Verb::Use::rare}},
      .drawn_max = 14};
  return all;
}

class Model final : public HistoryModel {
 public:
  bool is_sensible(const HistoryOperation& operation) const override {
    return presence_.is_sensible(operation).value_or(true);
  }
  void apply(const HistoryOperation& operation) override { presence_.apply(operation); }

 private:
  Presence presence_{vocabulary()};
};

constexpr TextForm form = history_form<Model, vocabulary>(
    "operations of processes on entries, such as 'a put k 40, then b get k'");

constexpr TextParameter history = {
    .name = "entries",
    .usual =
        "root put k 40, then a compute k, b compute l, a compute l, then root erase k, "
        "then b put k 200, root visit",
    .form = form,
};

/// A value of which every part names its key and its writer.
std::string text_of(const std::string& key, const std::string& writer, std::size_t size) {
  std::string text = key + ' ' + writer + ' ';
  while (text.size() < size) {
    text += writer + ' ';
  }
  return text;
}

constexpr std::errc not_computed = std::errc::state_not_recoverable;

Result<std::string> fail_to_compute() {
  const AllocationScope scope(/*is_products=*/false);
  return failure(not_computed, "computed");
}

/// One process of a history, or all threads of one.
class Player {
 public:
  Player(Stage& stage, const HistoryPart& part)
      : stage_(stage), all_(part.operations()), has_threads_(part.has_threads()) {}

  Status open() {
    return stage_.product().operation("open a cache", [&]() -> Status {
      LASTREF_TRY(opened,
                  Texts::open(stage_.os(),
                              stage_.folder() + '/' + folder_name,
                              {.size_limit = bytes_of(stage_.value(limit)),
                               .when_full = stage_.value(limit) == Limit::refuses ? WhenFull::refuse
                                                                                  : WhenFull::evict,
                               .is_durable = stage_.value(durable)}));
      cache_.emplace(std::move(opened));
      return ok();
    });
  }

  /// False if the process is to end.
  bool act(const HistoryOperation& operation) {
    const std::string& verb = operation.verb;
    if (verb == "exit") {
      return has_threads_;
    }
    if (verb == "kill") {
      kill(stage_, all_, operation.object());
    } else if (verb == "reopen") {
      if (!has_threads_) {
        cache_.reset();
        check(open());
      }
    } else if (cache_) {
      // "put" and "get" are those of caches with slots.
      check(stage_.product().operation(verb == "visit" ? verb : verb + " entry",
                                       [&] { return act_on(*cache_, operation); }));
    }
    return true;
  }

  /// When no other process uses the cache.
  void must_be_whole() {
    cache_.reset();
    check(open());
    if (!cache_) {
      return;
    }
    std::size_t visited = 0;
    check(stage_.product().operation("visit", [&] {
      visited = visit(*cache_);
      return ok();
    }));
    must_be(stage_,
            "L14: all entries are counted",
            cache_->size() == visited,
            std::to_string(cache_->size()) + " of " + std::to_string(visited));
    const std::size_t files = stage_.outside().list(stage_.folder() + '/' + folder_name).size();
    must_be(stage_,
            "L14: a cache that is opened has the files of its entries only",
            files == visited + 1,
            std::to_string(files) + " files for " + std::to_string(visited) + " entries");
    must_be(
        stage_,
        "L13: a cache keeps its limit",
        stage_.value(limit) == Limit::none || cache_->size_bytes() <= bytes_of(stage_.value(limit)),
        std::to_string(cache_->size_bytes()) + " bytes");
  }

  template <typename T>
  void check(const T& done) {
    must_succeed(stage_, done);
  }

 private:
  Status act_on(Texts& cache, const HistoryOperation& operation) {
    const std::string& verb = operation.verb;
    if (verb == "visit") {
      visit(cache);
      return ok();
    }
    const std::string& key = operation.object();
    if (verb == "put") {
      const std::string text = new_text(operation, std::stoull(operation.object(1)));
      LASTREF_TRY(done, cache.put(key, text));
      must_fit(done == PutOutcome::full);
    } else if (verb == "get") {
      LASTREF_TRY(value, cache.get(key));
      if (value) {
        must_stay(key, *value);
      }
    } else if (verb == "compute") {
      LASTREF_TRY(value, cache.get_or_compute(key, [&] { return computed(operation); }));
      must_stay(key, value);
    } else if (verb == "fail") {
      const auto value = cache.get_or_compute(key, fail_to_compute);
      if (value) {
        must_stay(key, *value);
      }
      const AllocationScope scope(/*is_products=*/false);
      return value || value.error().code == not_computed ? ok() : status_of(value);
    } else if (verb == "contains") {
      LASTREF_TRY(found, cache.contains(key));
      const AllocationScope scope(/*is_products=*/false);
      must_be(stage_, "L11: an entry stays", found || !has_seen(key), "one is absent");
    } else {
      return status_of(cache.erase(key));
    }
    return ok();
  }

  /// Returns the number of entries.
  std::size_t visit(Texts& cache) {
    std::size_t visited = 0;
    for (const auto& [key, value] : cache) {
      must_be_of(key, value);
      ++visited;
    }
    return visited;
  }

  /// Records the computation, for the oracle one-computation: others may run during it.
  std::string computed(const HistoryOperation& operation) {
    std::string text;
    may_fail(stage_.product().operation_with_answer(
        "compute a value", operation.object(), [&]() -> Result<std::string> {
          const AllocationScope scope(/*is_products=*/false);
          static_cast<void>(stage_.os().now());
          text = new_text(operation, 40);
          return operation.object();
        }));
    return text;
  }

  std::string new_text(const HistoryOperation& operation, std::size_t size) {
    const AllocationScope scope(/*is_products=*/false);
    const std::lock_guard held(guard_);
    return text_of(operation.object(), operation.process + '.' + std::to_string(++written_), size);
  }

  /// Whatever has failed, a value that is returned is that of one writer, for this key.
  void must_be_of(const std::string& key, std::string_view value) {
    const AllocationScope scope(/*is_products=*/false);
    const std::size_t first = value.find(' ');
    const std::size_t second = value.find(' ', first + 1);
    const std::string writer(value.substr(first + 1, second - first - 1));
    if (value != text_of(key, writer, value.size())) {
      stage_.refute("L14: a value that is returned is whole", "one of " + key + " is not");
    }
  }

  /// Where nothing removes entries, and each value fits, the first value of a key is the last.
  bool may_change() const {
    return stage_.value(limit) != Limit::none ||
           std::ranges::any_of(all_, [](const auto& each) { return each.verb == "erase"; });
  }
  bool has_seen(const std::string& key) {
    const std::lock_guard held(guard_);
    return !may_change() && seen_.contains(key);
  }
  void must_stay(const std::string& key, std::string_view value) {
    const AllocationScope scope(/*is_products=*/false);
    must_be_of(key, value);
    if (may_change() || !stage_.is_undisturbed()) {
      return;
    }
    const std::lock_guard held(guard_);
    const auto [known, is_first] = seen_.emplace(key, value);
    must_be(stage_, "L12: a key has one value", known->second == value, "another one of " + key);
  }
  void must_fit(bool is_full) {
    const AllocationScope scope(/*is_products=*/false);
    must_be(stage_,
            "L13: a value is refused only by a cache that has a limit, and no space",
            !is_full || stage_.value(limit) != Limit::none,
            "it was refused");
  }

  Stage& stage_;
  const OperationList& all_;
  const bool has_threads_;
  std::optional<Texts> cache_;
  std::mutex guard_;
  std::map<std::string, std::string> seen_;
  int written_ = 0;
};

Status play(Stage& stage) {
  const HistoryPart part(stage, vocabulary(), stage.value(history), roles_of(stage.value(party)));
  Player player(stage, part);
  player.check(player.open());
  const bool stays = part.play(player);
  if (!part.is_root()) {
    part.report_end();
  } else if (stays && part.await_others()) {
    player.must_be_whole();
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Processes or threads put, compute, erase and visit entries of a cache in any order, "
          "while entries are evicted, and processes open the cache again and die. Each value is "
          "whole and stays until it is removed, and only entries remain.",
      .rows = {"L11", "L12", "L13", "L14"},
      .roles = {{"root", play}, {"a", play}, {"b", play}},
      .parameters = {history, party, limit, durable},
      .stays = {"folder:" + folder_name},
  };
});

}  // namespace
}  // namespace lastref::harness
