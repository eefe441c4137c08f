// Histories of arrays: what processes send, map, forward and drop, while contexts end and begin
// again, and senders and trackers die.
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
  static const std::vector<std::string_view> arrays = {"v", "w"};
  // Few enough elements for a message that has to carry them by value.
  static const std::vector<std::string_view> sizes = {"400", "0", "250", "251"};
  static const std::vector<std::string_view> channels = {"p", "q", "r", "s", "t"};
  static const std::vector<std::string_view> contexts = {"one", "two"};
  static const Vocabulary all = {
      .processes = {"root", "a", "b", "c"},
      .verbs = {{"fill", {arrays, sizes}, Verb::Use::basic},
                {"fill-spread", {arrays, sizes}},
                {"send", {channels, arrays}, Verb::Use::basic},
                {"receive", {channels, arrays}},
                {"copy", {arrays, arrays}},
                {"drop", {arrays}},
                {"arrived", {channels}},
                {"invalidate", {arrays}},
                {"release-gone"},
                {"begin", {contexts}},
                {"clean", {contexts}, Verb::Use::rare},
                {"clean-all", {}, Verb::Use::rare},
                {"force", {contexts}, Verb::Use::rare},
                {"exit", {}, Verb::Use::rare},
                {"kill", {{"a", "b", "c", "tracker"}}, Verb::Use::rare}}};
  return all;
}

/// Which process has which array, and what was sent.
class Model final : public HistoryModel {
 public:
  bool is_sensible(const HistoryOperation& operation) const override {
    const std::string& verb = operation.verb;
    if (const auto sensible = presence_.is_sensible(operation)) {
      return *sensible;
    }
    const bool is_sender = senders_.contains(operation.process);
    if (operation.objects.empty()) {
      return is_sender;
    }
    const Having having = having_of(operation);
    if (verb == "send") {
      return has_.contains(having_of(operation, 1)) && !sent_.contains(operation.object());
    }
    if (verb == "receive") {
      return sent_.contains(operation.object()) && !received_.contains(having);
    }
    if (verb == "arrived") {
      return in_transit_.contains(having) && presence_.seen() > 1;
    }
    if (verb == "copy") {
      return has_.contains(having) && operation.object() != operation.object(1);
    }
    if (verb == "drop" || verb == "invalidate") {
      return has_.contains(having) && !unused_.contains(having);
    }
    if (verb.starts_with("fill")) {
      return !unused_.contains(having);
    }
    const bool is_used = contexts_.contains(having);
    if (verb == "begin") {
      return is_sender && !(is_used && current(operation.process) == operation.object());
    }
    return is_used;
  }

  void apply(const HistoryOperation& operation) override {
    const std::string& verb = operation.verb;
    presence_.apply(operation);
    if (verb == "clean-all") {
      std::erase_if(contexts_, [&](const Having& each) { return each.first == operation.process; });
    }
    if (operation.objects.empty()) {
      return;
    }
    const Having having = having_of(operation);
    if (verb.starts_with("fill")) {
      has_.insert(having);
      unused_.insert(having);
    } else if (verb == "receive") {
      received_.insert(having);
      has_.insert(having_of(operation, 1));
    } else if (verb == "copy") {
      has_.insert(having_of(operation, 1));
    } else if (verb == "drop") {
      has_.erase(having);
      unused_.erase(having);
    } else if (verb == "send") {
      sent_.insert(operation.object());
      in_transit_.insert(having);
      unused_.erase(having_of(operation, 1));
      senders_.insert(operation.process);
      contexts_.insert({operation.process, current(operation.process)});
    } else if (verb == "arrived") {
      in_transit_.erase(having);
    } else if (verb == "begin") {
      current_[operation.process] = operation.object();
    } else if (verb == "clean" || verb == "force") {
      contexts_.erase(having);
    }
  }

 private:
  /// A process, and what it has.
  using Having = std::pair<std::string, std::string>;

  static Having having_of(const HistoryOperation& operation, std::size_t at = 0) {
    return {operation.process, operation.object(at)};
  }
  std::string current(const std::string& process) const {
    const auto begun = current_.find(process);
    return begun == current_.end() ? "one" : begun->second;
  }

  Presence presence_{vocabulary()};
  std::set<Having> has_;
  std::set<Having> unused_;  ///< Filled, and not sent since.
  std::set<std::string> sent_;
  std::set<std::string> senders_;
  std::set<Having> in_transit_;
  std::set<Having> received_;
  std::set<Having> contexts_;  ///< Something was sent in them.
  std::map<std::string, std::string> current_;
};

constexpr TextForm form = history_form<Model, vocabulary>(
    "operations of processes on arrays, such as 'a fill v 400, a send p v'");

constexpr TextParameter history = {
    .name = "arrays",
    .usual =
        "root fill v 400, root send p v, then a receive p v, then root arrived p, "
        "root clean one, root begin two, root send q v, then a receive q w, a drop v, "
        "root clean-all",
    .form = form,
};

/// The root has looked for folders.
constexpr const char* checked = "the folders are checked";

/// Instead of the content of an array that its sender does not keep until it has arrived.
constexpr const char* not_kept = "not kept";

/// An array that a process has, and its content.
struct Held {
  std::optional<Array> array;
  std::uint32_t factor = 1;
  std::uint32_t count = 0;
  /// The file of the array in each context in which it was sent and has not been invalidated.
  std::map<std::string, std::string, std::less<>> files = {};
  std::string received_file = {};  ///< Empty: it was not received, or not by a file that stays.
  bool is_received = false;        ///< Its first file belongs to another process.
};

/// One process of a history.
class Player {
 public:
  Player(Stage& stage, const OperationList& all) : stage_(stage), all_(all), worker_(stage) {}

  /// False if the process is to end.
  bool act(const HistoryOperation& operation) {
    const std::string& verb = operation.verb;
    if (verb == "exit") {
      return false;
    }
    if (verb == "kill") {
      kill(stage_, all_, operation.object());
    } else if (verb.starts_with("fill")) {
      fill(held_[operation.object()], operation.object(1), /*is_spread=*/verb != "fill");
    } else if (verb == "receive") {
      receive(operation.object(), held_[operation.object(1)]);
    } else if (verb == "drop") {
      held_.erase(operation.object());
    } else if (verb == "copy") {
      if (const auto held = held_.find(operation.object()); held != held_.end()) {
        const Held copied = held->second;
        held_[operation.object(1)] = copied;
      }
    } else if (Parent* const parent = parent_of_process()) {
      act_as_sender(*parent, operation);
    }
    look();
    return true;
  }

  /// What an orderly process does at its end.
  void let_go_of_all() {
    held_.clear();
    if (parent_) {
      for (const std::string& channel : sent_) {
        await_arrival(channel);
        check(parent_->arrived(channel));
      }
      check(stage_.product().operation("release gone",
                                       [&] { return parent_->reducer().release_gone(); }));
      must_count_none(
          stage_, {ResourceType::file}, "B10: the file of an array that is gone is not counted");
      check(parent_->clean_up());
      must_count_none(stage_,
                      {ResourceType::file, ResourceType::folder},
                      "M4: after the last clean-up the process holds no file and no folder");
    }
  }

  /// When every process has let go of everything, and this one still exists.
  void must_leave_nothing() {
    const bool all_let_go = std::ranges::none_of(all_, is_early_end);
    if (!all_let_go || !stage_.product().client().probe() || !stage_.product().client().probe()) {
      return;
    }
    stage_.wait_for_quiet();
    if (stage_.is_undisturbed() && folders_of_arrays(stage_) != 0) {
      stage_.refute("M4: a context that was cleaned up leaves no folder",
                    std::to_string(folders_of_arrays(stage_)) + " are there");
    }
  }

  template <typename T>
  void check(const T& done) {
    must_succeed(stage_, done, std::ranges::none_of(all_, may_end_tracker));
  }

 private:
  Parent* parent_of_process() {
    if (!parent_) {
      auto made =
          Parent::make(stage_, {.root = stage_.folder(), .context = "one"}, worker_.receiver());
      check(made);
      if (made) {
        parent_ = std::make_unique<Parent>(*std::move(made));
      }
    }
    return parent_.get();
  }

  void fill(Held& held, const std::string& count, bool is_spread) {
    held.files.clear();
    held.received_file.clear();
    held.is_received = false;
    held.factor = ++filled_;
    held.count = static_cast<std::uint32_t>(std::stoul(count));
    held.array = numbered(held.factor, held.count);
    if (is_spread) {  // Of twice as many elements, every other one.
      const std::vector<Slice> every_other{{.step = 2}};
      held.array = numbered(held.factor, 2 * held.count).slice(every_other).value();
      held.factor *= 2;
    }
  }

  void act_as_sender(Parent& parent, const HistoryOperation& operation) {
    const std::string& verb = operation.verb;
    if (verb == "send") {
      if (const auto held = held_.find(operation.object(1));
          held != held_.end() && held->second.array) {
        send(parent, operation.object(), held->second);
      }
    } else if (verb == "arrived") {
      if (sent_.contains(operation.object())) {
        await_arrival(operation.object());
        check(parent.arrived(operation.object()));
      }
    } else if (verb == "invalidate") {
      invalidate(parent, operation.object());
    } else if (verb == "release-gone") {
      check(stage_.product().operation("release gone",
                                       [&] { return parent.reducer().release_gone(); }));
    } else if (verb == "begin") {
      check(parent.begin(operation.object()));
      current_ = operation.object();
      ended_.erase(current_);
    } else if (verb == "clean-all") {
      check(parent.clean_up());
      ended_ = {"one", "two"};
      forget_files("one");
      forget_files("two");
    } else {
      check(parent.clean_up({.force = verb == "force"}, operation.object()));
      ended_.insert(operation.object());
      forget_files(operation.object());
    }
  }

  void invalidate(Parent& parent, const std::string& name) {
    const auto held = held_.find(name);
    if (held == held_.end() || !held->second.array) {
      return;
    }
    check(stage_.product().operation(
        "invalidate", [&] { return parent.reducer().invalidate(*held->second.array); }));
    for (auto& [other, each] : held_) {
      each.files.clear();  // A copy is the same array.
      each.received_file.clear();
    }
  }

  void forget_files(const std::string& context) {
    for (auto& [name, held] : held_) {
      std::erase_if(held.files, [&](const auto& each) {
        return each.first == context || each.second.find('_' + context + '/') != std::string::npos;
      });
    }
  }

  void send(Parent& parent, const std::string& channel, Held& held) {
    // Of an array that it sends, the content has to be known to any receiver.
    stage_.send(channel + " content",
                std::to_string(held.factor) + ' ' + std::to_string(held.count));
    const Status sent = parent.send(channel, *held.array);
    if (!ended_.contains(current_)) {
      check(sent);
    }
    if (sent) {
      sent_.insert(channel);
      const std::string& file = held.files.emplace(current_, parent.last_file()).first->second;
      // The file of a process that ends early may be removed between two sends.
      const bool has_file = !held.is_received || all_stay();
      if (stage_.is_undisturbed() && has_file && file != parent.last_file() &&
          !ended_.contains(current_)) {
        stage_.refute("R4: an array that is sent again has the same file",
                      parent.last_file() + " after " + file);
      }
      if (stage_.is_undisturbed() && all_stay() && !held.received_file.empty() &&
          parent.last_file() != held.received_file) {
        stage_.refute("R6: an array that came by a file is sent on by this file",
                      '"' + parent.last_file() + "\" after " + held.received_file);
      }
    }
  }

  /// If no process can receive it, because all wait, the sender does not keep it any longer.
  void await_arrival(const std::string& channel) {
    if (!stage_.await(channel + " has arrived")) {
      stage_.send(channel + " content", not_kept);
    }
  }

  void receive(const std::string& channel, Held& held) {
    held.array.reset();
    held.files.clear();
    held.received_file.clear();
    Result<Array> array = worker_.receive(channel);
    const bool was_sent = array || array.error().code != std::errc::no_message_available;
    const Result<std::string> content = stage_.receive(channel + " content");
    const bool is_kept = content && *content != not_kept;
    if (was_sent && is_kept && is_certain(channel)) {
      check(array);
    }
    if (array && is_kept && is_sent_once(channel)) {
      const std::size_t space = content->find(' ');
      held.factor = static_cast<std::uint32_t>(std::stoul(content->substr(0, space)));
      held.count = static_cast<std::uint32_t>(std::stoul(content->substr(space + 1)));
      held.array = *std::move(array);
      held.is_received = true;
      // Otherwise the file may be on its way out, and is then sent on in another one.
      held.received_file = is_certain(channel) ? worker_.last_file() : std::string();
    }
  }

  /// Whether all arrays are still what they were.
  void look() {
    for (const auto& [name, held] : held_) {
      if (held.array) {
        must_equal(stage_, *held.array, numbered(held.factor, held.count));
      }
    }
  }

  bool is_sent_once(const std::string& channel) const {
    return std::ranges::count_if(all_, [&](const HistoryOperation& each) {
             return each.verb == "send" && each.object() == channel;
           }) == 1;
  }
  bool sends(const std::string& process, const std::string& channel) const {
    return std::ranges::any_of(all_, [&](const HistoryOperation& each) {
      return each.verb == "send" && each.process == process && each.object() == channel;
    });
  }
  /// Whether no process dies, and no file is removed that one has mapped.
  bool all_stay() const {
    return std::ranges::none_of(all_, [](const HistoryOperation& each) {
      return is_early_end(each) || each.verb == "force";
    });
  }
  /// Whether the sender keeps what it has sent until every receiver has it. If what it sends came
  /// through a channel that is not certain, it may have come too late to be kept.
  bool is_certain(const std::string& channel, std::size_t channels = 5) const {
    const auto comes_late = [&](const HistoryOperation& each) {
      return each.verb == "receive" && sends(each.process, channel) &&
             !is_certain(each.object(), channels - 1);
    };
    return channels > 0 && is_sent_once(channel) && all_stay() &&
           std::ranges::none_of(all_, comes_late) &&
           std::ranges::none_of(all_,
                                [&](const HistoryOperation& each) {
                                  return each.verb == "arrived" && each.object() == channel;
                                }) &&
           std::ranges::count_if(all_, [&](const HistoryOperation& each) {
             return each.verb == "receive" && each.object() == channel;
           }) == 1;
  }

  Stage& stage_;
  const OperationList& all_;
  Worker worker_;
  std::unique_ptr<Parent> parent_;
  std::map<std::string, Held, std::less<>> held_;
  std::set<std::string> sent_;
  std::string current_ = "one";
  std::set<std::string> ended_;
  std::uint32_t filled_ = 0;
};

Status play(Stage& stage) {
  const HistoryPart part(stage, vocabulary(), stage.value(history));
  if (!part.enter()) {
    return ok();
  }
  Player player(stage, part.operations());
  const bool stays = part.play(player);
  if (stays) {
    player.let_go_of_all();
  }
  if (part.is_root() && stays) {
    if (part.await_others()) {
      player.must_leave_nothing();
    }
    stage.tell(checked);
  } else {
    part.report_end();
    if (stays) {
      stage.await(checked);  // At its end it removes what it should have released before.
    }
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Processes send, map, forward and drop arrays in any order, while contexts end "
          "and begin again, and senders and trackers die. Every array arrives as it was "
          "sent, and nothing remains.",
      .rows = {"M2", "M4", "R4", "R6", "R7"},
      .roles = {{"root", play}, {"a", play}, {"b", play}, {"c", play}},
      .parameters = {history},
      .possible_noise = noise_of_deaths(),
      .failing_operations = {"make a manager",
                             "begin",
                             "clean up",
                             "arrived",
                             "reduce",
                             "invalidate",
                             "release gone",
                             "rebuild",
                             "count",
                             "join",
                             "register",
                             "hold",
                             "release"},
  };
});

}  // namespace
}  // namespace lastref::harness
