// Histories of names in a tree: what processes or threads register, hold, release and forget, with
// deaths of processes and trackers in between.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <lastref/temporary_resources.hpp>

#include "fault_scenarios/support/history.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// As many trackers as a root starts if each dies at once, without the first.
constexpr std::ptrdiff_t kills_without_effect = 2;

const Vocabulary& vocabulary() {
  static const std::vector<std::string_view> names = {
      "x", "y", "folder", "inner", "semaphore", "shm"};
  static const Vocabulary all = {
      .processes = {"root", "a", "b", "c"},
      .verbs = {{"register", {names}, Verb::Use::basic},
                {"make", {names}},
                {"hold", {names}},
                {"release", {names}, Verb::Use::basic},
                {"release-stopped", {names}},
                {"forget", {names}},
                {"look", {names}},
                {"count", {names}},
                {"unlink", {names}},
                {"probe"},
                {"sweep"},
                {"leave", {}, Verb::Use::rare},
                {"join"},
                {"exit", {}, Verb::Use::rare},
                {"kill", {{"tracker", "a", "b", "c", "root"}}, Verb::Use::rare}}};
  return all;
}

/// The references of each process, and whether it is there.
class Model final : public HistoryModel {
 public:
  bool is_sensible(const HistoryOperation& operation) const override {
    const std::string& verb = operation.verb;
    if (verb == "join") {
      return members_.contains(operation.process) && !members_.at(operation.process).is_member;
    }
    if (members_.contains(operation.process) && !members_.at(operation.process).is_member) {
      return false;
    }
    if (verb == "leave" || verb == "exit") {
      return operation.process != "root" && members_.contains(operation.process);
    }
    if (verb == "kill") {
      const std::string& target = operation.object();
      return target == "tracker" ? kills_ < kills_without_effect
                                 : target != "root" && target != operation.process &&
                                       members_.contains(target) && members_.at(target).is_member;
    }
    return operation.objects.empty() || is_sensible_with(operation, operation.object());
  }

  void apply(const HistoryOperation& operation) override {
    Member& member = members_[operation.process];
    const std::string& verb = operation.verb;
    if (verb == "leave" || verb == "exit") {
      member = {.is_member = false};
    } else if (verb == "join") {
      member.is_member = true;
    } else if (verb == "kill" && operation.object() != "tracker") {
      members_[operation.object()] = {.is_member = false};
    } else if (verb == "kill") {
      ++kills_;
    } else if (verb == "register" || verb == "hold") {
      ++member.counts[operation.object()];
    } else if (verb.starts_with("release") && member.counts[operation.object()] > 0) {
      --member.counts[operation.object()];
    } else if (verb == "make") {
      made_[operation.object()] = true;
    } else if (verb == "forget") {
      for (auto& each : members_) {
        each.second.counts.erase(operation.object());
      }
    }
    for (auto& [name, is_made] : made_) {
      is_made = is_made && is_held(name);
    }
  }

 private:
  struct Member {
    bool is_member = true;
    std::map<std::string, int, std::less<>> counts = {};
  };

  int count(const std::string& process, const std::string& name) const {
    const auto member = members_.find(process);
    if (member == members_.end() || !member->second.counts.contains(name)) {
      return 0;
    }
    return member->second.counts.at(name);
  }
  bool is_held(const std::string& name) const {
    return std::ranges::any_of(members_,
                               [&](const auto& each) { return count(each.first, name) > 0; });
  }
  bool is_sensible_with(const HistoryOperation& operation, const std::string& name) const {
    const std::string& verb = operation.verb;
    const int own = count(operation.process, name);
    const bool others_hold = std::ranges::any_of(members_, [&](const auto& each) {
      return each.first != operation.process && count(each.first, name) > 0;
    });
    if (verb == "register") {
      return own < 3;
    }
    if (verb == "count") {
      return true;
    }
    if (verb == "hold") {
      return others_hold && own < 3;
    }
    if (verb == "make") {
      return own > 0 && (!made_.contains(name) || !made_.at(name));
    }
    if (verb == "forget" || verb == "release") {
      return own > 0 || others_hold;  // One release too many takes no reference of another process.
    }
    return own > 0;
  }

  std::map<std::string, Member, std::less<>> members_;
  std::map<std::string, bool, std::less<>> made_;
  std::ptrdiff_t kills_ = 0;
};

constexpr TextForm form = history_form<Model, vocabulary>(
    "operations of processes on names, such as 'a register x, then b hold x'");

constexpr TextParameter history = {
    .name = "names",
    .usual =
        "root register x, root make x, then a hold x, then root release x, then a look x, "
        "a release x, b register y, b make y, b count y, b release y, b register y, "
        "b make y, b release y",
    .form = form,
};

Resource resource_of(const Product& product, const std::string& name) {
  if (name == "folder") {
    return product.folder(name);
  }
  if (name == "inner") {  // A folder that keeps the other one
    return {.type = ResourceType::folder, .name = product.folder("folder").name + "/inner"};
  }
  if (name == "semaphore") {
    return product.semaphore("lastref-history");
  }
  if (name == "shm") {
    return product.shm("lastref-history");
  }
  // The name of a folder may be the beginning of another name.
  return product.file(name == "y" ? "folder.bin" : name + ".bin");
}

/// One process of a history, and its threads.
class Player {
 public:
  Player(Stage& stage, const HistoryPart& part)
      : stage_(stage),
        product_(stage.product()),
        all_(part.operations()),
        has_threads_(part.has_threads()) {
    for (const HistoryOperation& each : all_) {
      static_cast<void>(mine_[each.process]);  // No thread changes the map itself.
    }
  }

  /// False if the process is to end.
  bool act(const HistoryOperation& operation) {
    const std::string& verb = operation.verb;
    if (verb == "exit") {
      return has_threads_;
    }
    if (verb == "kill") {
      kill(stage_, all_, operation.object());
    } else if (verb == "join") {
      join();
    } else if (verb == "leave") {
      leave();
    } else if (verb == "sweep") {
      check(product_.operation("sweep", [&] { return status_of(sweep(stage_.os(), {})); }));
    } else if (product_.has_client()) {
      act_on_tree(operation);
    }
    return true;
  }

  /// Whether nothing in the history makes operations fail.
  bool is_promised() const {
    const auto kills = kills_of_tracker();
    return kills == 0 || (kills <= kills_without_effect && !root_leaves());
  }

  /// A tree may have ended before a process joins it, if its root does not wait.
  void check_join(const Status& joined) {
    if (!root_leaves()) {
      check(joined);
    }
  }

  void release_all() {
    for (const auto& [process, its] : mine_) {
      for (const auto& [name, mine] : its) {
        const bool is_known = !has_threads_ || !is_in("forget", name);
        const std::uint64_t counted = is_known ? mine.registered + mine.held : 0;
        for (std::uint64_t count = 0; count < counted; ++count) {
          check(product_.release(resource_of(product_, name)));
        }
      }
    }
  }

  /// When no process holds anything any more, and this one is still a member: what was cleaned up
  /// only at the end of the tree would be left until then.
  void must_leave_no_object() {
    if (!product_.client().probe() || !product_.client().probe()) {
      return;
    }
    stage_.wait_for_quiet();
    for (const std::string& name : {std::string("x"), std::string("y"), std::string("folder")}) {
      const std::string& path = resource_of(product_, name).name;
      // A folder in it may still be held.
      const bool may_be_kept =
          is_in("forget", name) || (name == "folder" && is_in("forget", "inner"));
      const bool must_be_gone = !may_be_kept && is_promised() && stage_.is_undisturbed();
      if (must_be_gone && stage_.os().status_at(path)) {
        stage_.refute("the last release of a name, or the last death, cleans it up",
                      path + " is there");
      }
    }
  }

  void check(const Status& done) {
    const bool is_late = !done && done.error().code == std::errc::timed_out;
    must_succeed(stage_, done, !is_late && is_promised());
  }

 private:
  std::ptrdiff_t kills_of_tracker() const {
    return std::ranges::count_if(
        all_, [](const HistoryOperation& each) { return is_kill_of(each, "tracker"); });
  }
  bool root_leaves() const {
    return std::ranges::any_of(all_, [](const HistoryOperation& each) {
      return is_of(each, "root", "leave") || is_of(each, "root", "exit") ||
             is_kill_of(each, "root");
    });
  }

  /// What this process knows of a name.
  struct Mine {
    std::uint64_t registered = 0;
    std::uint64_t held = 0;  ///< by `hold`, which counts if another process holds the name
    bool was_held = false;
    bool is_made = false;
    /// While this process does not hold it. Each takes a full round of the tracker, which cleans up
    /// a name then.
    std::size_t counts = 0;
  };

  /// The references of threads are those of their process. So a thread that released what it does
  /// not hold, or what another one has forgotten, would take that of another thread.
  bool may_act_on(const Mine& mine, const HistoryOperation& operation) const {
    const bool needs_own = operation.verb == "hold" || operation.verb.starts_with("release");
    return !has_threads_ || !needs_own ||
           (mine.registered > 0 && !is_in("forget", operation.object()));
  }

  void leave() {
    if (!has_threads_) {  // They share one client.
      product_.leave();
      mine_[stage_.role()].clear();
    }
  }

  void join() {
    if (!product_.has_client() && stage_.role() != "root") {
      check_join(product_.join());
    }
  }

  void act_on_tree(const HistoryOperation& operation) {
    if (operation.verb == "probe") {
      check(product_.client().probe());
      return;
    }
    const Resource resource = resource_of(product_, operation.object());
    Mine& mine = mine_.at(operation.process)[operation.object()];
    if (!may_act_on(mine, operation)) {
      return;
    }
    if (operation.verb == "register") {
      const Status done = product_.register_name(resource);
      check(done);
      mine.registered += done ? 1U : 0U;
    } else if (operation.verb == "hold") {
      mine.was_held = true;
      ++mine.held;
      check(product_.hold(resource));
    } else if (operation.verb.starts_with("release")) {
      release(resource, /*while_stopped=*/operation.verb == "release-stopped");
      (mine.registered > 0 ? mine.registered : mine.held) -=
          mine.registered + mine.held > 0 ? 1U : 0U;
      mine.is_made = mine.is_made && mine.registered > 0;
      mine.counts = 0;
    } else if (operation.verb == "forget") {
      check(product_.forget(resource));
      mine.registered = mine.held = 0;
    } else if (operation.verb == "make" && mine.registered > 0) {
      make(operation, resource, mine);
    } else if (operation.verb == "look" && mine.registered > 0 && mine.is_made &&
               is_mine(operation)) {
      product_.must_exist(resource);
    } else if (operation.verb == "count") {
      count(operation, resource, mine);
    } else if (operation.verb == "unlink" && resource.type == ResourceType::file) {
      unlink(resource);
    }
  }

  /// It does not wait for a tracker that is stopped.
  void release(const Resource& resource, bool while_stopped) {
    if (while_stopped) {
      stage_.stop("tracker");
    }
    check(product_.release(resource));
    if (while_stopped) {
      stage_.resume("tracker");
    }
  }

  void make(const HistoryOperation& operation, const Resource& resource, Mine& mine) {
    const Status made = product_.make(resource);
    const bool was_there = !made && made.error().code == std::errc::file_exists;
    // Released and registered again in one round of the tracker, it remains; so does a large file
    // until a thread of the tracker begins to remove it. And a new tracker cleans up nothing before
    // all members have told it what they hold.
    const bool is_new = !mine.is_made && mine.counts >= mine_.at(operation.process).size() &&
                        kills_of_tracker() == 0 && !stage_.has_small_limits();
    if (was_there && is_new && !mine.was_held && stage_.is_undisturbed() && is_mine(operation)) {
      stage_.refute("register_name returns when no clean-up of an earlier use is pending",
                    to_text(resource) + " exists");
    }
    mine.is_made = mine.is_made || made || was_there;
  }

  void unlink(const Resource& resource) {
    // The oracle `stays` reads the name at both ends of the operation.
    const std::string name = to_text(resource);
    may_fail(product_.operation_with_answer("unlink", name, [&]() -> Result<std::string> {
      LASTREF_CHECK(stage_.os().unlink(resource.name));
      return name;
    }));
  }

  void count(const HistoryOperation& operation, const Resource& resource, const Mine& mine) {
    const auto counts = product_.client().counts();
    check(status_of(counts));
    for (auto& [each, its] : mine_.at(operation.process)) {
      its.counts += counts && its.registered + its.held == 0 ? 1U : 0U;
    }
    const bool may_be_of_another = has_threads_ && !is_mine(operation);
    if (!counts || mine.was_held || is_in("forget", operation.object()) || may_be_of_another) {
      return;
    }
    std::uint64_t counted = 0;
    for (const tracker::Count& each : *counts) {
      const bool is_own = each.resource == resource && each.holder == stage_.os().process_id();
      counted += is_own ? each.count : 0;
    }
    if (counted != mine.registered && stage_.is_undisturbed() && is_promised()) {
      stage_.refute("counts: the tracker counts what was registered and not released",
                    std::to_string(counted) + " instead of " + std::to_string(mine.registered));
    }
  }

  bool is_in(std::string_view verb, const std::string& name) const {
    return std::ranges::any_of(all_, [&](const HistoryOperation& each) {
      return each.verb == verb && each.object() == name;
    });
  }
  /// Whether no other process or thread has to do with the name, and nothing removes it but the
  /// tracker.
  bool is_mine(const HistoryOperation& operation) const {
    const std::string& name = operation.object();
    return !is_in("forget", name) && !is_in("unlink", name) &&
           std::ranges::none_of(all_, [&](const HistoryOperation& each) {
             return each.process != operation.process && !each.objects.empty() &&
                    each.object() == name;
           });
  }

  Stage& stage_;
  Product& product_;
  const OperationList& all_;
  const bool has_threads_;
  std::map<std::string, std::map<std::string, Mine, std::less<>>, std::less<>> mine_;
};

Status play(Stage& stage) {
  const HistoryPart part(stage, vocabulary(), stage.value(history), roles_of(stage.value(party)));
  Player player(stage, part);
  const Status entered = part.enter();
  player.check_join(entered);
  if (!entered) {
    return ok();
  }
  const bool stays = part.play(player);
  if (part.is_root() && stays) {
    if (part.await_others() && stage.product().has_client()) {
      player.release_all();
      player.must_leave_no_object();
    }
  } else {
    part.report_end();
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Processes or threads register, hold, release and forget names in any order, while "
          "others "
          "and trackers die. The counts are right, and no name remains that was not "
          "forgotten.",
      .rows = {"T3", "T5", "T6", "T9", "T11"},
      .roles = {{"root", play}, {"a", play}, {"b", play}, {"c", play}},
      .parameters = {history, party},
      .possible_noise = noise_of_deaths(),
      .failing_operations =
          {"register", "hold", "release", "forget", "make", "unlink", "sweep", "join"},
      .forgotten_stay = true,
  };
});

}  // namespace
}  // namespace lastref::harness
