// history: a list of operations of several processes, as text. A scenario draws histories, and the
// bodies of its roles carry them out:
//
//     "root register x, a hold x, then root release x, b kill tracker"
//
// Operations of one process follow each other, those of different processes are concurrent. "then"
// is an operation that begins when the one in front of it in the list is over. So a list stays a
// history when any operations of it are left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/platform/named_enum.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

/// What an operation does, and to what: an object for each list. The first object of a list is the
/// simplest.
struct Verb {
  /// In drawn histories: `basic` ones are in each, because most others need them; `rare` ones end
  /// what others need.
  enum class Use : std::uint8_t { usual, basic, rare };

  std::string_view name;
  std::vector<std::vector<std::string_view>> objects = {};
  Use use = Use::usual;
};

/// What the histories of a scenario are made of.
struct Vocabulary {
  std::vector<std::string_view> processes;  ///< The first is "root".
  std::vector<Verb> verbs;
  std::size_t drawn_max = 24;  ///< operations of a drawn history

  const Verb* verb_named(std::string_view name) const noexcept;
};

LASTREF_NAMED_ENUM(Party, (process, "process"), (thread, "thread"), (both, "both"));

/// What carries out the operations of a name: a process, a thread of the root, or either: "a" is a
/// process then, and the others are threads.
inline constexpr Parameter<Party> party = {.name = "party", .usual = Party::process};

struct HistoryOperation {
  bool is_then = false;
  std::string process;
  std::string verb;
  std::vector<std::string> objects;

  const std::string& object(std::size_t at = 0) const { return objects.at(at); }
  bool operator==(const HistoryOperation&) const = default;
};

using OperationList = std::vector<HistoryOperation>;

std::string to_text(const OperationList& operations);
tl::expected<OperationList, FormError> parse_history(const Vocabulary& vocabulary,
                                                     std::string_view text);
tl::expected<void, FormError> check_history(const Vocabulary& vocabulary, std::string_view text);

/// Smaller histories: without large parts, then without small ones; with fewer processes; with
/// simpler objects; with less order.
std::vector<std::string> smaller_histories(const Vocabulary& vocabulary, std::string_view text);

/// Random decisions.
class Draw {
 public:
  explicit Draw(std::uint64_t seed) : state_(seed) {}

  std::size_t below(std::size_t end) noexcept;
  bool one_in(std::size_t count) noexcept { return below(count) == 0; }
  template <typename T>
  const T& of(const std::vector<T>& all) noexcept {
    return all[below(all.size())];
  }

 private:
  std::uint64_t state_;
};

/// What the processes have done so far, if each operation was carried out where it stands.
class HistoryModel {
 public:
  HistoryModel() = default;
  HistoryModel(const HistoryModel&) = delete;
  HistoryModel& operator=(const HistoryModel&) = delete;
  virtual ~HistoryModel() = default;

  virtual bool is_sensible(const HistoryOperation& operation) const = 0;
  virtual void apply(const HistoryOperation& operation) = 0;
};

/// The part of a model that knows which processes have done something, and which are gone: by
/// "exit", or by "kill" of a process.
class Presence {
 public:
  explicit Presence(const Vocabulary& vocabulary) : vocabulary_(vocabulary) {}

  /// Of an operation of a process that is gone, of "exit" and of "kill"; none for others. Only what
  /// is a process of the history can be gone: a tracker or a worker is replaced.
  std::optional<bool> is_sensible(const HistoryOperation& operation) const;
  void apply(const HistoryOperation& operation);
  /// The number of processes that have done something.
  std::size_t seen() const noexcept { return seen_.size(); }

 private:
  bool is_here(const std::string& process) const {
    return seen_.contains(process) && !gone_.contains(process);
  }

  const Vocabulary& vocabulary_;
  std::set<std::string> seen_;
  std::set<std::string> gone_;
};

/// A history of which most operations are sensible. Each history has some of the processes, verbs
/// and objects only, and more or less order, so that it does much with few.
OperationList draw_history(const Vocabulary& vocabulary, HistoryModel& model, std::uint64_t seed);

/// The form of histories with this vocabulary, drawn with this model.
template <typename Model, const Vocabulary& (*vocabulary)()>
constexpr TextForm history_form(std::string_view sentence) {
  return {.sentence = sentence,
          .check = [](std::string_view text) { return check_history(vocabulary(), text); },
          .draw =
              [](std::uint64_t seed) {
                Model model;
                return to_text(draw_history(vocabulary(), model, seed));
              },
          .smaller = [](std::string_view text) { return smaller_histories(vocabulary(), text); }};
}

/// Carries out the operations of one process, in their order.
///
/// @param act      false ends it: the process has no later operations.
void carry_out(Stage& stage,
               const OperationList& operations,
               std::string_view process,
               const std::function<bool(const HistoryOperation&)>& act);

/// Carries out operations in this process: those of its role in this thread, those of each of
/// `others` in a thread of its own. Returns when all threads have ended, or the error of one that
/// could not be started, which then has no operations.
[[nodiscard]] Status carry_out_in_threads(Stage& stage,
                                          const OperationList& operations,
                                          const std::vector<std::string>& others,
                                          const std::function<void(const HistoryOperation&)>& act);

/// Kills another role: no process waits for its operations, or for "a is done", any more.
void kill(Stage& stage, const OperationList& operations, const std::string& role);

/// Whether the operation is one of the process, with this verb.
bool is_of(const HistoryOperation& operation, std::string_view process, std::string_view verb);
bool is_kill_of(const HistoryOperation& operation, std::string_view role);
/// Whether a process ends by it before the history does.
bool is_early_end(const HistoryOperation& operation);
/// Whether the tracker does, or its root cannot start another.
bool may_end_tracker(const HistoryOperation& operation);

/// The processes other than the root that do something, in the order of the vocabulary.
std::vector<std::string> others_in(const Vocabulary& vocabulary, const OperationList& operations);

/// Checks, in an undisturbed run, that an operation has succeeded, if that is promised.
template <typename T>
void must_succeed(Stage& stage, const T& done, bool is_promised = true) {
  if (!done && is_promised && stage.is_undisturbed()) {
    stage.refute("works: without an error, every operation does what it promises",
                 describe(done.error()));
  }
}

/// The role that carries out the operations of a name: in its own thread those of its own name, in
/// a thread of their own those of each other one.
using RoleOf = std::function<std::string(const std::string& name)>;
RoleOf roles_of(Party party);

/// What a role does in each history, whatever its operations are.
class HistoryPart {
 public:
  /// The text is a history of this vocabulary.
  HistoryPart(Stage& stage,
              const Vocabulary& vocabulary,
              std::string_view text,
              const RoleOf& role_of = roles_of(Party::process));

  const OperationList& operations() const noexcept { return operations_; }
  bool is_root() const { return stage_.role() == "root"; }
  bool has_threads() const noexcept { return !threads_.empty(); }

  /// The root makes the tree, the others join it.
  Status enter() const;
  /// The root starts the others. Then `act` of the player carries out the operations of this
  /// process, until it returns false. Whether it never does; `check` gets how each start ended.
  template <typename Player>
  bool play(Player& player) const {
    for (const std::string& each : is_root() ? others_ : std::vector<std::string>()) {
      player.check(stage_.start(each));
    }
    if (has_threads()) {
      player.check(carry_out_in_threads(stage_, operations_, threads_, [&](const auto& each) {
        static_cast<void>(player.act(each));
      }));
      return true;
    }
    bool stays = true;
    carry_out(stage_, operations_, stage_.role(), [&](const HistoryOperation& each) {
      stays = player.act(each);
      return stays;
    });
    return stays;
  }
  /// Gives "<role> is done".
  void report_end() const { stage_.tell(stage_.role() + " is done"); }
  /// Waits until each of the others has given that, or cannot. Whether each has.
  bool await_others() const;

 private:
  Stage& stage_;
  OperationList operations_;
  std::vector<std::string> others_;   ///< roles
  std::vector<std::string> threads_;  ///< of this role, by name
};

/// What the product may report where processes and trackers die during operations on names.
std::vector<std::string> noise_of_deaths();

}  // namespace lastref::harness
