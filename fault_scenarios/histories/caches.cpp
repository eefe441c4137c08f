// Histories of caches: what processes put, get, preserve and load in caches of one process and in
// shared ones, while their makers close them and die.
#include "fault_scenarios/support/caches.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "fault_scenarios/support/history.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::int64_t usual_length = 3;
constexpr std::int64_t other_length = 4;
constexpr const char* old_value = "it was preserved before";

/// bytes; a value of 0 bytes takes as many.
constexpr std::int64_t record_head = 16;

/// Bytes of a cache file without values.
std::int64_t space_without_values(std::int64_t length) {
  return space_for(static_cast<std::uint64_t>(length), 0) - length * record_head;
}

/// Bytes that a value takes in it.
std::int64_t space_of_value(std::size_t size) {
  return space_for(1, size) - space_for(1, 0) + record_head;
}

const Vocabulary& vocabulary() {
  static const std::vector<std::string_view> caches = {"one", "two"};
  static const std::vector<std::string_view> slots = {"0", "1", "2"};
  // Only the process itself preserves as "own". "old" is there from the beginning.
  static const std::vector<std::string_view> preserved = {"own", "kept"};
  static const std::vector<std::string_view> loaded = {"own", "kept", "old"};
  static const Vocabulary all = {
      .processes = {"root", "a", "b", "c"},
      .verbs = {{"make", {caches, {"unlimited", "608", "352", "304"}}, Verb::Use::basic},
                {"make-alone", {caches, {"memory", "file", "longer"}}},
                {"attach", {caches}},
                {"put", {caches, slots, {"40", "0", "1", "225", "5000"}}, Verb::Use::basic},
                {"get", {caches, slots}},
                {"check", {caches, slots}},
                {"preserve", {caches, preserved}},
                {"preserve-new", {caches, {"own"}}},
                {"load", {caches, loaded}},
                {"close", {caches}, Verb::Use::rare},
                {"exit", {}, Verb::Use::rare},
                {"kill", {{"a", "b", "c", "tracker"}}, Verb::Use::rare}}};
  return all;
}

/// Which process has which cache.
class Model final : public HistoryModel {
 public:
  bool is_sensible(const HistoryOperation& operation) const override {
    const std::string& verb = operation.verb;
    if (const auto sensible = presence_.is_sensible(operation)) {
      return *sensible;
    }
    const auto having = std::pair(operation.process, operation.object());
    if (verb == "make" || verb == "make-alone") {
      return !has_.contains(having);
    }
    if (verb == "attach") {
      return shared_.contains(operation.object()) && !has_.contains(having);
    }
    if (verb == "load") {
      return makers_.contains(having) &&
             (operation.object(1) == "old" || files_.contains(operation.object(1)));
    }
    return verb.starts_with("preserve") ? makers_.contains(having) : has_.contains(having);
  }

  void apply(const HistoryOperation& operation) override {
    presence_.apply(operation);
    const std::string& verb = operation.verb;
    if (verb == "exit" || verb == "kill") {
      return;
    }
    const auto having = std::pair(operation.process, operation.object());
    if (verb.starts_with("make")) {
      has_.insert(having);
      makers_.insert(having);
    }
    if (verb == "make") {
      shared_.insert(operation.object());
    } else if (verb == "attach") {
      has_.insert(having);
    } else if (verb.starts_with("preserve")) {
      files_.insert(operation.object(1));
    } else if (verb == "close") {
      has_.erase(having);
      makers_.erase(having);
    }
  }

 private:
  using Having = std::pair<std::string, std::string>;
  Presence presence_{vocabulary()};
  std::set<Having> has_;
  std::set<Having> makers_;
  std::set<std::string> shared_;
  std::set<std::string> files_;
};

constexpr TextForm form = history_form<Model, vocabulary>(
    "operations of processes on caches, such as 'a make one 608, then b attach one'");

constexpr TextParameter history = {
    .name = "caches",
    .usual =
        "root make one 608, then a attach one, a put one 0 40, root put one 0 40, "
        "a put one 1 225, root get one 1, root preserve one own, a get one 0, "
        "root make-alone two memory, root load two own, root close one",
    .form = form,
};

using Slots = std::vector<std::optional<std::string>>;

/// A cache as one process has it.
struct Held {
  std::unique_ptr<StageCache> cache;
  std::string name;  ///< of its history
  std::int64_t length = usual_length;
  std::int64_t limit = 0;              ///< bytes; 0 is none
  std::int64_t used = 0;               ///< bytes, by values that this process has put
  std::set<std::uint64_t> taken = {};  ///< slots, by this process
  bool is_full = false;                ///< This process has met the limit.
  bool is_maker = false;
  bool is_shared = false;
  bool is_loaded = false;
  bool is_preserved = false;
  bool is_closed = false;
};

/// One process of a history.
class Player {
 public:
  Player(Stage& stage, const OperationList& all) : stage_(stage), all_(all) {}

  /// False if the process is to end.
  bool act(const HistoryOperation& operation) {
    const std::string& verb = operation.verb;
    if (verb == "exit") {
      return false;
    }
    if (verb == "kill") {
      kill(stage_, all_, operation.object());
    } else if (verb == "make" || verb == "make-alone") {
      make(operation);
    } else if (verb == "attach") {
      attach(operation.object());
    } else if (const auto held = held_.find(operation.object()); held != held_.end()) {
      act_on(held->second, operation);
    }
    return true;
  }

  /// Makes the file "old", if one of the operations loads it.
  void prepare() {
    if (!loads_old()) {
      return;
    }
    StageCache cache(stage_, "old");
    const Status made = cache.make_naive_cache(usual_length, cache_options(stage_));
    check(made);
    if (!made) {
      return;
    }
    check(cache.put(0, old_value));
    check(cache.preserve("old", /*overwrite=*/true));
    check(cache.close());
    stage_.tell("old is there");
  }

  void close_all() {
    for (auto& [name, held] : held_) {
      close(held);
    }
  }

  /// When every process has closed its caches.
  void must_leave_no_file() {
    const bool all_close = std::ranges::none_of(all_, is_early_end);
    for (const std::string& name : stage_.outside().list(stage_.folder())) {
      must_be(stage_,
              "C6: the file of a cache is removed with the cache",
              !all_close || !name.ends_with(".cache"),
              name + " is there");
    }
  }

  template <typename T>
  void check(const T& done) {
    must_succeed(stage_, done, is_promised());
  }

 private:
  /// Whether there is always a tracker.
  bool is_promised() const { return std::ranges::none_of(all_, may_end_tracker); }

  void make(const HistoryOperation& operation) {
    const std::string& object = operation.object();
    const bool is_limited = operation.verb == "make" && operation.object(1) != "unlimited";
    const std::int64_t limit = is_limited ? std::stoll(operation.object(1)) : 0;
    // A cache that replaces another has a history of its own.
    const bool may_be_full = limit > 0 && space_for_all(object) > limit;
    const std::string name = (may_be_full ? "limited_" : "") + object + '_' + stage_.role() + '_' +
                             std::to_string(++made_);
    const bool is_shared = operation.verb == "make";
    const bool is_longer = !is_shared && operation.object(1) == "longer";
    Held held{.cache = std::make_unique<StageCache>(stage_, name),
              .name = name,
              .length = is_longer ? other_length : usual_length,
              .limit = limit,
              .is_maker = true,
              .is_shared = is_shared};
    SlotCacheOptions options = cache_options(stage_);
    options.size_limit = limit;
    options.is_durable = stage_.value(durable);
    const Status made = is_shared ? held.cache->make(held.length, options)
                        : operation.object(1) == "memory"
                            ? held.cache->make_naive_cache(held.length, options)
                            : held.cache->make_file_cache(held.length, options);
    check(made);
    if (made) {
      put_in_place(object, std::move(held));
    }
  }

  /// Bytes of a cache file with every value that the history puts into such a cache.
  std::int64_t space_for_all(const std::string& object) const {
    std::int64_t space = space_without_values(usual_length);
    for (const HistoryOperation& each : all_) {
      if (each.verb == "put" && each.object() == object) {
        space += space_of_value(std::stoull(each.object(2)));
      }
    }
    return space;
  }

  /// Replaces the cache that the process has under this name.
  void put_in_place(const std::string& object, Held held) {
    held_.erase(object);
    const Held& now = held_.emplace(object, std::move(held)).first->second;
    if (now.is_maker && now.is_shared) {
      hand_out(object, now);
    }
  }

  void hand_out(const std::string& object, const Held& held) {
    stage_.send(object,
                (held.is_loaded ? "loaded " : "fresh ") + held.name + ' ' +
                    std::to_string(held.limit) + ' ' + held.cache->handle());
  }

  void attach(const std::string& object) {
    const Result<std::string> sent = stage_.receive(object);
    if (!sent) {
      return;
    }
    const std::size_t first = sent->find(' ');
    const std::size_t second = sent->find(' ', first + 1);
    const std::size_t third = sent->find(' ', second + 1);
    const bool is_loaded = sent->starts_with("loaded");
    const std::string name = sent->substr(first + 1, second - first - 1);
    Held held{.cache = std::make_unique<StageCache>(stage_, name),
              .name = name,
              .limit = std::stoll(sent->substr(second + 1, third - second - 1)),
              .is_shared = true,
              .is_loaded = is_loaded};
    const Status attached = held.cache->attach(sent->substr(third + 1), is_loaded);
    const bool may_be_gone =
        !attached && attached.error().code == std::errc::no_such_file_or_directory;
    if (!may_be_gone) {
      check(attached);
    }
    if (attached) {
      put_in_place(object, std::move(held));
    }
  }

  void act_on(Held& held, const HistoryOperation& operation) {
    const std::string& verb = operation.verb;
    StageCache& cache = *held.cache;
    if (verb == "close") {
      close(held);
    } else if (verb == "put" || verb == "get" || verb == "check") {
      const std::uint64_t slot = std::stoull(operation.object(1));
      if (held.is_closed) {
        must_be_empty(cache, slot);
      } else if (verb == "put") {
        put(held, operation.object(), slot, std::stoull(operation.object(2)));
      } else {
        check(verb == "get" ? cache.get(slot) : cache.get_checked(slot));
      }
    } else if (held.is_maker && !held.is_closed) {
      if (verb == "load") {
        load(held, operation);
      } else {
        preserve(held, operation.object(1), /*overwrite=*/verb == "preserve");
      }
    }
  }

  void put(Held& held, const std::string& object, std::uint64_t slot, std::size_t size) {
    const Result<bool> stored = held.cache->put(slot, value_for(slot, size));
    check(stored);
    const std::int64_t space = space_of_value(size);
    const std::int64_t needed = space_without_values(held.length) + held.used + space;
    const bool fits = held.limit == 0 || needed <= held.limit;
    if (stored.value_or(false)) {
      must_be(stage_,
              "C5: the values of a cache fit into its limit",
              fits || held.is_loaded,
              std::to_string(needed) + " bytes in a cache of " + std::to_string(held.limit));
    }
    if (held.is_maker && is_only_mine_to_put(object) && !held.is_loaded && !held.is_preserved) {
      const bool is_to_be_stored = fits && !held.taken.contains(slot) && !held.is_full;
      must_be(stage_,
              "C5: an empty slot takes a value until one does not fit into the limit",
              !stored || *stored == is_to_be_stored || !is_promised(),
              is_to_be_stored ? "it was refused" : "it was stored");
    }
    if (stored.value_or(false)) {
      held.used += space;
      held.taken.insert(slot);
    } else if (stored && !fits && !held.taken.contains(slot)) {
      held.is_full = true;
    }
  }

  /// The last look at each slot is before it, and one at a cache without content after it.
  void close(Held& held) {
    if (!std::exchange(held.is_closed, true)) {
      static_cast<void>(contents_of(held));
    }
    check(held.cache->close());
    for (std::uint64_t slot = 0; slot < static_cast<std::uint64_t>(held.length); ++slot) {
      must_be_empty(*held.cache, slot);
    }
  }

  void must_be_empty(StageCache& cache, std::uint64_t slot) {
    const Result<bool> stored = cache.put_as_a_copy(slot, "late");
    const auto seen = cache.checked(slot);
    must_be(stage_,
            "C5: a closed cache takes no value and has none",
            stored == false && seen && !seen->has_value(),
            "it does");
  }

  std::string value_for(std::uint64_t slot, std::size_t size) {
    std::string value = value_of(slot, stage_.role() + ' ' + std::to_string(++values_), size);
    value.resize(size);
    return value;
  }

  /// The values of a frozen cache, which keeps them.
  Slots contents_of(Held& held) {
    Slots slots;
    for (std::uint64_t slot = 0; slot < static_cast<std::uint64_t>(held.length); ++slot) {
      slots.push_back(held.cache->get(slot).value_or(std::nullopt));
    }
    return slots;
  }

  void preserve(Held& held, const std::string& file, bool overwrite) {
    const bool is_known = is_only_mine(file);
    const bool was_there = kept_.contains(file);
    const Result<bool> preserved = held.cache->preserve(file_of(file), overwrite);
    check(preserved);
    held.is_preserved = held.is_preserved || preserved.value_or(true);
    if (!preserved || !is_known) {
      return;
    }
    must_be(stage_,
            "C7: a cache is preserved unless the name exists",
            *preserved == (overwrite || !was_there),
            *preserved ? "it was preserved" : "it was not preserved");
    if (*preserved) {
      kept_[file] = contents_of(held);
    }
  }

  bool loads_old() const {
    return std::ranges::any_of(all_, [](const HistoryOperation& each) {
      return each.verb == "load" && each.object(1) == "old";
    });
  }

  void load(Held& held, const HistoryOperation& operation) {
    const std::string& file = operation.object(1);
    if (file == "old" && stage_.await("old is there") && stage_.is_undisturbed()) {
      kept_["old"] = {old_value, std::nullopt, std::nullopt};
    }
    const bool is_known = is_only_mine(file);
    const bool is_of_other_length =
        is_known && kept_.contains(file) && std::ssize(kept_.at(file)) != held.length;
    const Slots before = is_of_other_length && !held.is_shared ? contents_of(held) : Slots();
    const Result<bool> loaded = held.cache->preload(file_of(file));
    if (is_of_other_length) {
      must_be(stage_,
              "C7: a file of another number of slots is not loaded, and changes nothing",
              !loaded.value_or(false) && (held.is_shared || contents_of(held) == before),
              loaded ? "it was loaded" : "other values");
      return;
    }
    if (is_known || !has_other_lengths()) {
      check(loaded);
    }
    const bool may_be_frozen =
        held.is_loaded || held.is_preserved || held.name.starts_with("limited");
    if (is_known && kept_.contains(file) && !may_be_frozen) {
      must_be(
          stage_, "C7: a cache that is not frozen loads a file that exists", loaded == true, file);
    }
    if (!loaded.value_or(false)) {
      return;
    }
    held.is_loaded = true;
    if (held.is_shared) {
      hand_out(operation.object(), held);
    }
    const Slots slots = contents_of(held);
    if (is_known) {
      must_be(stage_,
              "C7: a loaded cache has what was preserved",
              kept_.contains(file) && slots == kept_.at(file),
              "other values");
    }
  }

  std::string file_of(const std::string& file) const {
    return file == "own" ? "own_" + stage_.role() : file;
  }

  bool has_other_lengths() const {
    return std::ranges::any_of(all_, [](const HistoryOperation& each) {
      return each.verb == "make-alone" && each.object(1) == "longer";
    });
  }

  /// Whether no other process puts into a shared cache of this name.
  bool is_only_mine_to_put(const std::string& object) const {
    return std::ranges::none_of(all_, [&](const HistoryOperation& each) {
      return each.process != stage_.role() && each.verb == "attach" && each.object() == object;
    });
  }

  /// Whether no other process writes the file.
  bool is_only_mine(const std::string& file) const {
    return file == "own" || std::ranges::none_of(all_, [&](const HistoryOperation& each) {
             return each.process != stage_.role() && each.verb.starts_with("preserve") &&
                    each.object(1) == file;
           });
  }

  Stage& stage_;
  const OperationList& all_;
  std::map<std::string, Held, std::less<>> held_;
  std::map<std::string, Slots, std::less<>> kept_;
  int made_ = 0;
  int values_ = 0;
};

Status play(Stage& stage) {
  const HistoryPart part(stage, vocabulary(), stage.value(history));
  Player player(stage, part.operations());
  const Status entered = part.enter();
  player.check(entered);
  if (!entered) {
    return ok();
  }
  if (part.is_root()) {
    player.prepare();
  }
  const bool stays = part.play(player);
  if (stays) {
    player.close_all();
  }
  if (part.is_root() && stays) {
    if (part.await_others()) {
      player.must_leave_no_file();
    }
  } else {
    part.report_end();
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Processes make, share, fill, preserve and load caches in any order, while their "
          "makers close them and die. Every slot takes one value and keeps it, and only "
          "preserved files remain.",
      .rows = {"C1", "C2", "C3", "C4", "C5", "C6", "C7"},
      .roles = {{"root", play}, {"a", play}, {"b", play}, {"c", play}},
      .parameters = {history, durable},
      .possible_noise = {"the tracker was killed by signal 9; starting another",
                         "the last process of the tree has ended: removing",
                         "gave up: ",
                         "is known by its name alone",
                         "left to the tracker"},
      .failing_operations = {"make a cache",
                             "attach a cache",
                             "put",
                             "freeze",
                             "close",
                             "join",
                             "register",
                             "hold",
                             "release",
                             "forget"},
      .stays = {"file:kept", "file:old", "file:own_root", "file:own_a", "file:own_b", "file:own_c"},
  };
});

}  // namespace
}  // namespace lastref::harness
