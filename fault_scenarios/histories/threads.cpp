// Histories of threads: what threads of one process send, rebuild, invalidate and drop through one
// manager, one reducer and one receiver, while contexts end and begin again, and the tracker dies.
#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/history.hpp"
#include "harness/program/arena.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

const Vocabulary& vocabulary() {
  static const std::vector<std::string_view> arrays = {"v", "w"};
  static const std::vector<std::string_view> channels = {"p", "q", "r", "s"};
  static const std::vector<std::string_view> contexts = {"one", "two"};
  static const Vocabulary all = {.processes = {"root", "a", "b"},  // Threads of the root
                                 .verbs = {{"send", {channels, arrays}, Verb::Use::basic},
                                           {"receive", {channels}},
                                           {"arrived", {channels}},
                                           {"let-go", {channels}},
                                           {"forward", {channels, channels}},
                                           {"fill", {arrays}},
                                           {"invalidate", {arrays}},
                                           {"release-gone"},
                                           {"begin", {contexts}},
                                           {"clean", {contexts}, Verb::Use::rare},
                                           {"clean-all", {}, Verb::Use::rare},
                                           {"force", {contexts}, Verb::Use::rare},
                                           {"kill", {{"tracker"}}, Verb::Use::rare}},
                                 .drawn_max = 14};
  return all;
}

/// What was sent in some channel, and received from it.
class Model final : public HistoryModel {
 public:
  bool is_sensible(const HistoryOperation& operation) const override {
    const std::string& verb = operation.verb;
    if (verb == "receive" || verb == "arrived") {
      return sent_.contains(operation.object());
    }
    if (verb == "let-go" || verb == "forward") {
      return received_.contains(operation.object());
    }
    return verb == "send" || verb == "fill" || verb == "begin" || !sent_.empty();
  }

  void apply(const HistoryOperation& operation) override {
    const std::string& verb = operation.verb;
    if (verb == "send") {
      sent_.insert(operation.object());
    } else if (verb == "receive") {
      received_.insert(operation.object());
    } else if (verb == "let-go") {
      received_.erase(operation.object());
    } else if (verb == "forward") {
      sent_.insert(operation.object(1));
    }
  }

 private:
  std::set<std::string> sent_;
  std::set<std::string> received_;
};

constexpr TextForm form = history_form<Model, vocabulary>(
    "operations of threads on arrays, such as 'a send p v, b invalidate v, a receive p'");

constexpr TextParameter history = {
    .name = "threads",
    .usual =
        "root send p v, a send q v, b invalidate v, then root receive p, a receive q, root arrived "
        "p, a clean one, b send r w, root begin two, root forward p s, a let-go q",
    .form = form,
};

/// An array, of which the content tells it from those before.
struct Filled {
  std::uint32_t factor = 1;
  Array array = few_numbered();
};

/// What is in a channel: the array on its way, and what has arrived.
struct Channel {
  std::uint32_t factor = 0;
  std::shared_ptr<Sent> sent = {};
  std::string bytes = {};
  std::optional<Array> received = {};
  std::uint32_t received_factor = 0;
};

class Player {
 public:
  Player(Stage& stage, const OperationList& all)
      : stage_(stage),
        all_(all),
        receiver_(std::make_shared<Receiver>(stage.os(), references_of(stage))) {}

  Status begin() {
    LASTREF_TRY(parent,
                Parent::make(stage_, {.root = stage_.folder(), .context = "one"}, receiver_));
    parent_.emplace(std::move(parent));
    return ok();
  }

  void act(const HistoryOperation& operation) {
    const std::string& verb = operation.verb;
    if (verb == "kill") {
      kill(stage_, all_, operation.object());
    } else if (verb == "send") {
      const Filled filled = filled_now(operation.object(1));
      send(operation.object(), filled.array, filled.factor);
    } else if (verb == "forward") {
      const Channel from = channel_now(operation.object());
      if (from.received) {
        send(operation.object(1), *from.received, from.received_factor);
      }
    } else if (verb == "fill") {
      fill(operation.object());
    } else if (verb == "receive") {
      receive(operation.object());
    } else if (verb == "arrived") {
      check(arrive(operation.object()));
    } else if (verb == "let-go") {
      std::optional<Array> last;  // It ends without the guard.
      const std::lock_guard held(guard_);
      last.swap(channels_[operation.object()].received);
    } else {
      act_on_manager(operation);
    }
  }

  /// When all threads have ended.
  Status end() {
    Status arrived = ok();
    for (auto& [name, channel] : channels_) {
      channel.received.reset();
      arrived = first_failure({arrived, arrive(name)});
    }
    filled_.clear();
    const Status released = stage_.product().operation(
        "release gone", [&] { return parent_->reducer().release_gone(); });
    must_count_none(
        stage_, {ResourceType::file}, "B10: the file of an array that is gone is not counted");
    return first_failure({arrived, released, parent_->clean_up()});
  }

  void must_leave_nothing() {
    must_count_none(stage_,
                    {ResourceType::file, ResourceType::folder},
                    "M4: after the last clean-up the process holds no file and no folder");
    stage_.wait_for_quiet();
    if (stage_.is_undisturbed() && is_promised() && folders_of_arrays(stage_) != 0) {
      stage_.refute("M4: a context that was cleaned up leaves no folder",
                    std::to_string(folders_of_arrays(stage_)) + " are there");
    }
  }

  void check(const Status& done) { must_succeed(stage_, done, is_promised()); }

 private:
  bool is_promised() const { return std::ranges::none_of(all_, may_end_tracker); }
  bool has(std::string_view verb) const {
    return std::ranges::any_of(all_, [&](const auto& each) { return each.verb == verb; });
  }
  /// Whether what is sent through a channel keeps its reference until the end of the history.
  bool is_kept(const std::string& channel) const {
    const auto is_sent = [&](const HistoryOperation& each) {
      return (each.verb == "send" && each.object() == channel) ||
             (each.verb == "forward" && each.object(1) == channel);
    };
    return !has("force") && std::ranges::count_if(all_, is_sent) == 1 &&
           std::ranges::none_of(all_, [&](const HistoryOperation& each) {
             return each.verb == "arrived" && each.object() == channel;
           });
  }
  bool ends_contexts() const { return has("clean") || has("clean-all") || has("force"); }

  Filled filled_now(const std::string& name) {
    const std::lock_guard held(guard_);
    return filled_[name];
  }
  Channel channel_now(const std::string& name) {
    const std::lock_guard held(guard_);
    return channels_[name];
  }

  void fill(const std::string& name) {
    Filled filled;  // The last one ends without the guard.
    const std::lock_guard held(guard_);
    filled = {.factor = last_factor_ + 1, .array = numbered(last_factor_ + 1, 400)};
    ++last_factor_;
    std::swap(filled, filled_[name]);
  }

  void send(const std::string& name, const Array& array, std::uint32_t factor) {
    std::shared_ptr<Sent> made;
    std::string bytes;
    const Status reduced = stage_.product().operation("reduce", [&]() -> Status {
      LASTREF_TRY(sent, parent_->reducer().reduce(array));
      LASTREF_TRY(encoded, encode_reduction(sent.reduction));
      const AllocationScope scope(/*is_products=*/false);
      must_have_reference(stage_, sent);
      bytes = text_of_bytes(encoded);
      made = std::make_shared<Sent>(std::move(sent));
      return ok();
    });
    if (!ends_contexts()) {
      check(reduced);
    }
    if (made == nullptr) {
      return;
    }
    std::shared_ptr<Sent> replaced = made;
    {
      const std::lock_guard held(guard_);
      Channel& channel = channels_[name];
      channel.factor = factor;
      channel.bytes = std::move(bytes);
      replaced.swap(channel.sent);
    }
    check(arrive(replaced));
  }

  Status arrive(const std::string& name) {
    std::shared_ptr<Sent> sent;
    {
      const std::lock_guard held(guard_);
      sent.swap(channels_[name].sent);
    }
    return arrive(sent);
  }
  /// Another thread may have received it, and not be done.
  Status arrive(const std::shared_ptr<Sent>& sent) {
    return sent == nullptr ? ok()
                           : stage_.product().operation("arrived", [&] { return sent->arrived(); });
  }

  void receive(const std::string& name) {
    const Channel channel = channel_now(name);
    if (channel.sent == nullptr) {
      return;  // Its file may be gone.
    }
    std::optional<Array> rebuilt;
    const Status received = stage_.product().operation("rebuild", [&]() -> Status {
      LASTREF_TRY(reduction, decode_reduction(os::bytes_of(channel.bytes)));
      LASTREF_TRY(array, receiver_->rebuild(reduction));
      rebuilt = std::move(array);
      return ok();
    });
    if (is_kept(name)) {
      check(received);
    }
    if (rebuilt) {
      must_equal(stage_, *rebuilt, numbered(channel.factor, 400));
      const std::lock_guard held(guard_);
      Channel& now = channels_[name];
      now.received.swap(rebuilt);
      now.received_factor = channel.factor;
    }
  }

  void act_on_manager(const HistoryOperation& operation) {
    const std::string& verb = operation.verb;
    if (verb == "invalidate") {
      const Filled filled = filled_now(operation.object());
      check(stage_.product().operation(
          "invalidate", [&] { return parent_->reducer().invalidate(filled.array); }));
    } else if (verb == "release-gone") {
      check(stage_.product().operation("release gone",
                                       [&] { return parent_->reducer().release_gone(); }));
    } else if (verb == "begin") {
      check(parent_->begin(operation.object()));
    } else if (verb == "clean-all") {
      check(parent_->clean_up());
    } else {
      check(parent_->clean_up({.force = verb == "force"}, operation.object()));
    }
  }

  Stage& stage_;
  const OperationList& all_;
  std::shared_ptr<Receiver> receiver_;
  std::optional<Parent> parent_;
  std::mutex guard_;  ///< Of what follows; never while the product is called
  std::map<std::string, Filled, std::less<>> filled_;
  std::map<std::string, Channel, std::less<>> channels_;
  std::uint32_t last_factor_ = 1;
};

Status root(Stage& stage) {
  const auto operations = parse_history(vocabulary(), stage.value(history)).value();
  LASTREF_CHECK(stage.product().lead());
  Player player(stage, operations);
  LASTREF_CHECK(player.begin());
  const Status done = carry_out_in_threads(
      stage, operations, others_in(vocabulary(), operations), [&](const auto& each) {
        player.act(each);
      });
  const Status ended = player.end();
  player.must_leave_nothing();
  return first_failure({done, ended});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Threads send, rebuild, invalidate and drop arrays through one manager, one reducer and "
          "one receiver in any order, while contexts end and begin again. Every array arrives as "
          "it was sent, and nothing remains.",
      .rows = {"M2", "M4", "R4", "R7"},
      .roles = {{"root", root}},
      .parameters = {history},
      .possible_noise = noise_of_deaths(),
      .failing_operations = {"begin",
                             "clean up",
                             "arrived",
                             "reduce",
                             "invalidate",
                             "release gone",
                             "rebuild",
                             "count",
                             "register",
                             "hold",
                             "release"},
  };
});

}  // namespace
}  // namespace lastref::harness
