// Histories of one cache with slots: what threads of one process, or of two, put, get, preserve and
// load through the same object, while one of them closes it.
#include <algorithm>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/caches.hpp"
#include "fault_scenarios/support/history.hpp"
#include "harness/platform/named_enum.hpp"
#include "harness/program/arena.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

LASTREF_NAMED_ENUM(Kind, (shared, "shared"), (file, "file"), (memory, "memory"));

/// Processes can share the first alone: "a" is a process then, with the thread "a2".
constexpr Parameter<Kind> kind = {.name = "kind", .usual = Kind::shared};

constexpr Parameter<std::int64_t> size_limit = {
    .name = "size_limit", .usual = 0, .values = {0, 304, 352, 608}, .unit = "bytes"};

constexpr std::int64_t slots = 3;
constexpr const char* loaded_name = "old";

const Vocabulary& vocabulary() {
  static const std::vector<std::string_view> numbers = {"0", "1", "2"};
  static const Vocabulary all = {
      .processes = {"root", "root2", "a", "a2"},  // Threads
      .verbs = {{"put", {numbers, {"40", "1", "225", "5000"}}, Verb::Use::basic},
                {"get", {numbers}},
                {"view", {numbers}},
                {"check", {numbers}},
                {"preserve", {{"one", "two"}}},
                {"preserve-new", {{"one", "two"}}},
                {"load", {}, Verb::Use::rare},
                {"close", {}, Verb::Use::rare}},
      .drawn_max = 14};
  return all;
}

class Model final : public HistoryModel {
 public:
  bool is_sensible(const HistoryOperation& operation) const override {
    return operation.verb != "close" || has_put_;
  }
  void apply(const HistoryOperation& operation) override {
    has_put_ = has_put_ || operation.verb == "put";
  }

 private:
  bool has_put_ = false;
};

constexpr TextForm form = history_form<Model, vocabulary>(
    "operations of threads on slots, such as 'a put 0 40, then root2 get 0'");

constexpr TextParameter history = {
    .name = "slots",
    .usual =
        "root put 0 40, root2 put 0 225, a put 1 40, a2 put 1 225, root2 view 0, a2 check 1, "
        "a get 0, root preserve one, root2 preserve-new one, root get 2",
    .form = form,
};

/// What the threads of one process do with their cache.
class Player {
 public:
  Player(Stage& stage, const OperationList& all)
      : stage_(stage),
        all_(all),
        cache_(stage, stage.value(size_limit) != 0 ? "limited" : "cache") {}

  /// The root makes the cache, another process attaches it.
  Status open() {
    if (has("load")) {
      cache_.expect_load();
    }
    if (has("close")) {
      cache_.expect_close();
    }
    if (stage_.role() != "root") {
      return attach_sent(stage_, cache_);
    }
    if (has("load")) {
      LASTREF_CHECK(prepare());
    }
    SlotCacheOptions options = drawn_cache_options(stage_);
    options.size_limit = stage_.value(size_limit);
    options.is_thread_safe = true;
    switch (stage_.value(kind)) {
      case Kind::shared:
        LASTREF_CHECK(cache_.make(slots, options));
        stage_.send("cache", cache_.handle());
        return ok();
      case Kind::file:
        return cache_.make_file_cache(slots, options);
      case Kind::memory:
        return cache_.make_naive_cache(slots, options);
    }
    return ok();
  }

  /// The root may have closed it.
  bool may_be_gone(const Status& opened) const {
    return (has("close") || has("load")) &&
           opened.error().code == std::errc::no_such_file_or_directory;
  }

  /// True: no process ends early.
  bool act(const HistoryOperation& operation) {
    const std::string& verb = operation.verb;
    if (verb == "close") {
      check(cache_.close());
    } else if (verb == "load") {
      if (is_maker()) {
        check(cache_.preload(loaded_name));
      }
    } else if (verb.starts_with("preserve")) {
      if (is_maker()) {
        preserve(operation.object(), /*overwrite=*/verb == "preserve");
      }
    } else {
      act_on_slot(operation, std::stoull(operation.object()));
    }
    return true;
  }

  /// When all threads of this process have ended.
  void must_have_kept_views() {
    for (const auto& [view, bytes] : views_) {
      must_be(stage_,
              "C2: a view keeps its value while it exists, also when the cache is closed",
              text_of_bytes(view.bytes) == bytes,
              "other bytes");
    }
    views_.clear();
  }

  /// When all processes are done. A preserved cache is frozen.
  void must_be_as_preserved() {
    for (const std::string& name : has("close") ? std::set<std::string>() : preserved_) {
      StageCache copy(stage_, "copy");
      copy.expect_load();
      const Status made = copy.make_naive_cache(slots, cache_options(stage_));
      check(made);
      if (!made) {
        continue;
      }
      const Result<bool> loaded = copy.preload(name);
      check(loaded);
      must_be(stage_,
              "C7: a preserved file is there, with the values of its cache",
              !loaded || (*loaded && contents_of(copy) == contents_of(cache_)),
              "other values in " + name);
    }
    check(cache_.close());
    for (const std::string& name : stage_.outside().list(stage_.folder())) {
      must_be(stage_,
              "C6: the file of a cache is removed with the cache",
              !name.ends_with(".cache"),
              name + " is there");
    }
  }

  template <typename T>
  void check(const T& done) {
    must_succeed(stage_, done);
  }

 private:
  bool has(std::string_view verb) const {
    return std::ranges::any_of(all_, [&](const auto& each) { return each.verb == verb; });
  }
  bool is_maker() const { return stage_.role() == "root"; }

  /// Makes the file that is loaded.
  Status prepare() {
    StageCache old(stage_, loaded_name);
    LASTREF_CHECK(old.make_naive_cache(slots, cache_options(stage_)));
    check(old.put(0, value_of(0, loaded_name)));
    check(old.preserve(loaded_name, /*overwrite=*/true));
    return old.close();
  }

  void act_on_slot(const HistoryOperation& operation, std::uint64_t slot) {
    const std::string& verb = operation.verb;
    if (verb == "put") {
      put(slot, operation.process, std::stoull(operation.object(1)));
    } else if (verb == "view") {
      view(slot);
    } else {
      const auto seen = verb == "get" ? cache_.get(slot) : cache_.get_checked(slot);
      check(seen);
      if (seen && *seen) {
        must_be_of(slot, **seen);
      }
    }
  }

  void put(std::uint64_t slot, const std::string& writer, std::size_t size) {
    std::string value;
    {
      const std::lock_guard held(guard_);
      value = value_of(slot, writer + '.' + std::to_string(++written_), size);
    }
    check(cache_.put(slot, value));
  }

  void view(std::uint64_t slot) {
    const auto seen = cache_.view(slot);
    check(seen);
    if (seen && *seen) {
      std::string bytes = text_of_bytes((*seen)->bytes);
      must_be_of(slot, bytes);
      const std::lock_guard held(guard_);
      views_.emplace_back(**seen, std::move(bytes));
    }
  }

  void preserve(const std::string& name, bool overwrite) {
    const bool is_known = is_preserved(name);
    const Result<bool> preserved = cache_.preserve(name, overwrite);
    check(preserved);
    must_be(stage_,
            "C7: a cache is preserved unless it is closed or the name exists",
            !preserved || *preserved || has("close") || (!overwrite && is_preserved_by_many(name)),
            "it was not preserved");
    must_be(stage_,
            "C7: a file that exists is replaced on demand only",
            !preserved || !*preserved || overwrite || !is_known,
            "it was replaced");
    if (preserved.value_or(false)) {
      const std::lock_guard held(guard_);
      preserved_.insert(name);
    }
  }
  bool is_preserved(const std::string& name) {
    const std::lock_guard held(guard_);
    return preserved_.contains(name);
  }
  bool is_preserved_by_many(const std::string& name) const {
    return std::ranges::count_if(all_, [&](const auto& each) {
             return each.verb.starts_with("preserve") && each.object() == name;
           }) > 1;
  }

  /// Whatever has failed, a value is one that was put into this slot.
  void must_be_of(std::uint64_t slot, const std::string& value) {
    const std::string start = std::to_string(slot) + " by ";
    const std::size_t end = value.find(' ', start.size());
    if (!value.starts_with(start) || end == std::string::npos ||
        value.find_first_not_of('.', end + 1) != std::string::npos) {
      stage_.refute("C2: a slot has the value that was put", "another one in " + start);
    }
  }

  std::vector<std::optional<std::string>> contents_of(StageCache& cache) {
    std::vector<std::optional<std::string>> all;
    for (std::uint64_t slot = 0; slot < static_cast<std::uint64_t>(slots); ++slot) {
      const auto value = cache.get(slot);
      check(value);
      all.push_back(value.value_or(std::nullopt));
    }
    return all;
  }

  Stage& stage_;
  const OperationList& all_;
  StageCache cache_;
  std::mutex guard_;  ///< Of what follows; never while the product is called
  std::vector<std::pair<CachedBytes, std::string>> views_;
  std::set<std::string> preserved_;
  int written_ = 0;
};

Status play(Stage& stage) {
  const bool has_processes = stage.value(kind) == Kind::shared;
  const HistoryPart part(stage, vocabulary(), stage.value(history), [&](const std::string& name) {
    return std::string(has_processes && name.starts_with("a") ? "a" : "root");
  });
  LASTREF_CHECK(part.enter());
  Player player(stage, part.operations());
  const Status opened = player.open();
  if (!opened) {
    part.report_end();
    return player.may_be_gone(opened) ? ok() : opened;
  }
  part.play(player);
  player.must_have_kept_views();
  if (!part.is_root()) {
    part.report_end();
  } else if (part.await_others()) {
    player.must_be_as_preserved();
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Threads of one process, or of two, put, get, preserve and load through one cache with "
          "slots in any order, while one of them closes it. Every slot takes one value and keeps "
          "it, views stay, and only preserved files remain.",
      .rows = {"C1", "C2", "C3", "C5", "C6", "C7", "C8"},
      .roles = {{"root", play}, {"a", play}},
      .parameters = {history, kind, size_limit, durable},
      .possible_noise = {"the last process of the tree has ended: removing", "left to the tracker"},
      .failing_operations = {"attach a cache", "put", "put a lost value", "freeze", "close"},
      .stays = {"file:one", "file:two", "file:" + std::string(loaded_name)},
  };
});

}  // namespace
}  // namespace lastref::harness
