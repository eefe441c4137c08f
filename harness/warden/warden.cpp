#include "harness/warden/warden.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "harness/explore/jobs.hpp"
#include "harness/journal/record.hpp"
#include "harness/kernel/patience.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/locks.hpp"
#include "harness/warden/notifier.hpp"
#include "harness/warden/peek.hpp"
#include "harness/warden/supervisor_signals.hpp"
#include "harness/warden/syscalls.hpp"
#include "harness/warden/sysv.hpp"

namespace lastref::harness::warden {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t look_every_stops = 256;
constexpr double stillness_every = 0.2;  // seconds

/// A call that stops, and whether it is looked at.
struct Known {
  const SyscallRow* row = nullptr;
  bool needs_object = false;
};

class Watch {
 public:
  explicit Watch(const WatchOptions& options)
      : options_(options), striker_(options.faults, options.takes_unlikely), watched_{} {
    for (const SyscallRow& row : syscalls()) {
      known_[row.number] = {.row = &row, .needs_object = needs_object(row)};
    }
  }

  Result<Watched> run() {
    LASTREF_CHECK(start());
    follow();
    const bool was_struck = std::ranges::find(striker_.struck(), true) != striker_.struck().end();
    if (const int error = launch_.error(); error != 0 && !was_struck) {
      return failure(std::errc{error}, options_.command.front());
    }
    finish();
    return std::move(watched_);
  }

 private:
  Status start();
  std::set<int> numbers() const;
  void follow();
  void look_around();
  void look_for_hang(double now);
  void look_for_rest(const std::vector<int>& processes, double now);
  std::vector<Hung> told(std::vector<Waiting> waiting) const;
  void end_all_of(std::vector<Waiting> waiting);
  void note_stayed();
  /// All of the tree; and nobody whom a command of the user's has left to us before.
  std::vector<int> ours() const { return descendants(strangers_); }
  bool is_over() const { return root_ended_ && ours().empty(); }
  bool needs_object(const SyscallRow& row) const;
  std::optional<std::string> name_at(const Notification& call, const NameAt& name);
  std::string object_of(const Notification& call, const SyscallRow& row);
  void judge(const Notification& call);
  void note_effect(const Notification& call,
                   const SyscallRow& row,
                   const CallSeen& seen,
                   ProcessSeen& who);
  void note_blind(std::string what);
  void refuse(const Notification& call, const ProcessSeen& who);
  void note_taken_back(const Notification& call);
  void note_names(const Notification& call, const SyscallRow& row, const CallSeen& seen);
  void note_sysv();
  void note_end(int process, int status);
  void reap();
  void finish();

  const WatchOptions& options_;
  Launch launch_;
  std::unique_ptr<Notifier> notifier_;
  std::unique_ptr<RolesOfTree> roles_;
  Striker striker_;
  NamesLedger names_;
  std::map<std::string, int> sysv_before_ = sysv_objects();
  std::map<std::string, std::string> sysv_makers_;  ///< The last call, by "shm", "sem", "msg"
  bool other_roots_ = false;                        ///< Somebody may have moved his root.
  std::set<std::string> outside_;                   ///< What the program was started with
  Stillness hang_{std::chrono::seconds(2)};
  Stillness rest_{std::chrono::seconds(30)};
  bool has_told_rest_ = false;
  std::vector<int> strangers_ = children_of(::getpid());
  int root_ = -1;
  bool root_ended_ = false;
  double began_at_ = 0;
  double looked_at_ = 0;
  std::uint64_t stops_then_ = 0;
  std::optional<double> ended_at_;
  bool is_late_ = false;
  /// Calls that were gone before they were received: a signal took them back, or their threads
  /// died.
  std::uint64_t gone_ = 0;
  std::unordered_map<int, Known> known_;                     ///< By their numbers
  std::unordered_map<std::uint64_t, std::uint64_t> counts_;  ///< Of role, call and object
  Watched watched_;
};

std::set<int> Watch::numbers() const {
  std::set<int> numbers;
  for (const SyscallRow& row : syscalls()) {
    if (!row.is_frequent || striker_.is_at(row.name)) {
      numbers.insert(row.number);
    }
  }
  return numbers;
}

Status Watch::start() {
  LASTREF_TRY(filter, filter_of(numbers()));
  // Whose parent ends becomes ours, and not a stranger's.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  LASTREF_CHECK(launch_.start(options_.command, filter, options_.limits));
  root_ = launch_.root();
  notifier_ = std::make_unique<Notifier>(launch_.listener());
  striker_.listens_to(*notifier_);
  striker_.spares(strangers_);
  roles_ = std::make_unique<RolesOfTree>(root_);
  const auto all = descriptors_of(root_);
  for (const auto& [descriptor, object] : all) {
    outside_.insert(object);
    if (descriptor > STDERR_FILENO && object != "anon_inode:seccomp notify") {
      watched_.inherited.push_back(fmt::format("{} ({})", descriptor, object));
    }
  }
  began_at_ = seconds_now();
  launch_.go();
  return ok();
}

void Watch::follow() {
  const SupervisorSignals signals;
  while (!is_over()) {
    const auto call = notifier_->receive();
    if (call) {
      ++watched_.stops;
      judge(*call);
      if (watched_.stops % look_every_stops != 0) {
        continue;
      }
    } else if (!notifier_->has_anybody()) {
      ::poll(nullptr, 0, 1);  // They are on their way to be reaped.
    } else if (call.error() == ENOENT && !striker_.has_stopped_somebody()) {
      ++gone_;
    }
    look_around();
  }
}

void Watch::look_around() {
  const double now = seconds_now();
  reap();
  roles_->forget_the_gone();
  if (striker_.keeps_somebody()) {
    striker_.look(now);
  }
  if (const int signal = options_.interrupted_by(); signal != 0 && !watched_.interrupted) {
    watched_.interrupted = true;
    ended_at_ = ended_at_.value_or(now);
    if (signal != SIGINT && !root_ended_) {
      ::kill(root_, signal);
    }
  }
  look_for_hang(now);
  if (root_ended_ && !ended_at_) {
    ended_at_ = now;
  }
  const std::chrono::duration<double> grace = options_.grace;
  if (!ended_at_ || now - *ended_at_ < grace.count()) {
    return;
  }
  if (!std::exchange(is_late_, true)) {
    note_stayed();
  }
  kill_descendants(strangers_);
}

void Watch::look_for_hang(double now) {
  if (watched_.stops != stops_then_ || striker_.keeps_somebody()) {
    hang_.renew();
    rest_.renew();
    stops_then_ = watched_.stops;
  }
  const std::chrono::duration<double> limit = options_.time_limit.value_or(milliseconds::max());
  if (!watched_.is_too_long && !root_ended_ && now - began_at_ >= limit.count()) {
    watched_.is_too_long = true;
    end_all_of(what_all_do(ours()));
  } else if (watched_.hung.empty() && now - looked_at_ >= stillness_every) {
    looked_at_ = now;
    const std::vector<int> processes = ours();
    auto waiting = all_waiting(processes, outside_);
    if (hang_.lasts(waiting, now)) {
      end_all_of(*std::move(waiting));
    } else if (!has_told_rest_) {
      look_for_rest(processes, now);
    }
  }
}

/// Somebody else, or a clock, may help them; but whoever looks at us would like to know.
void Watch::look_for_rest(const std::vector<int>& processes, double now) {
  std::vector<Waiting> all = what_all_do(processes);
  const bool rests = nobody_runs(all);
  if (rest_.lasts(rests ? std::optional(all) : std::nullopt, now)) {
    has_told_rest_ = true;
    options_.tell_rest(told(std::move(all)));
  }
}

std::vector<Hung> Watch::told(std::vector<Waiting> waiting) const {
  std::vector<Hung> all;
  for (Waiting& each : waiting) {
    each.object = without_number(each.object);
    std::string role = roles_->role_of(each.process);
    all.push_back({.role = std::move(role), .waiting = std::move(each)});
  }
  return all;
}

void Watch::end_all_of(std::vector<Waiting> waiting) {
  watched_.hung = told(std::move(waiting));
  watched_.root_was_killed = !root_ended_;
  kill_descendants(strangers_);
}

void Watch::note_stayed() {
  for (const int process : ours()) {
    const bool is_zombie = is_dead(process, milliseconds(0));
    const ProcessSeen* const who = roles_->of(process);
    if (who != nullptr && (!is_zombie || number_of_status(process, "PPid") != ::getpid())) {
      watched_.stayed.push_back({.who = *who, .is_zombie = is_zombie, .locks = locks_of(process)});
    }
  }
}

void Watch::note_end(int process, int status) {
  const bool by_signal = WIFSIGNALED(status);
  if (by_signal && is_crash(WTERMSIG(status)) && !striker_.has_killed(process)) {
    watched_.crashes.push_back({.role = roles_->role_of(process), .signal = WTERMSIG(status)});
  }
  if (process != root_) {
    return;
  }
  root_ended_ = true;
  watched_.root = by_signal ? os::ChildExit{.code = WTERMSIG(status), .killed = true}
                            : os::ChildExit{.code = WEXITSTATUS(status), .killed = false};
  watched_.root_was_killed = watched_.root_was_killed || striker_.has_killed(process);
}

void Watch::reap() {
  int status = 0;
  int process = 0;
  while ((process = ::waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
    if (WIFSTOPPED(status)) {
      striker_.stopped(process);
    } else {
      note_end(process, status);
      std::erase(strangers_, process);
    }
  }
  // Nobody tells how a process has ended whose parent wanted to hear of none.
  root_ended_ = root_ended_ || (process < 0 && errno == ECHILD);
}

/// Where nobody asks for its name, it is not read.
bool Watch::needs_object(const SyscallRow& row) const {
  return options_.wants_calls || striker_.asks_for_object(row.name) ||
         row.effect == Effect::makes || row.effect == Effect::moves ||
         row.effect == Effect::opens || row.effect == Effect::removes;
}

std::optional<std::string> Watch::name_at(const Notification& call, const NameAt& name) {
  auto path = path_at(call, name, other_roots_);
  // Of a socket's address, many have no name.
  watched_.unread += path || name.in_address ? 0U : 1U;
  return path;
}

std::string Watch::object_of(const Notification& call, const SyscallRow& row) {
  if (row.first.path >= 0) {
    return name_at(call, row.first).value_or("");
  }
  if (row.descriptor < 0) {
    return "";
  }
  const auto descriptor = call.arguments[static_cast<std::size_t>(row.descriptor)];
  return without_number(descriptor_at(call.thread, static_cast<int>(descriptor)));
}

/// A call waits no more: its thread is dead, or a signal took it back, and it is made again.
void Watch::note_taken_back(const Notification& call) {
  watched_.perturbed += is_dead(call.thread, milliseconds(0)) ? 0U : 1U;
}

void Watch::judge(const Notification& call) {
  ProcessSeen* const who = roles_->of(call.thread);
  if (who == nullptr) {
    // It is gone, or nobody may look at it.
    ++watched_.unread;
    if (!notifier_->let_go(call.id)) {
      note_taken_back(call);
    }
    return;
  }
  names_.settle(call.thread);
  const auto known = call.is_foreign ? known_.end() : known_.find(call.number);
  if (known == known_.end()) {
    refuse(call, *who);
    return;
  }
  if (striker_.is_doomed(call.thread)) {
    notifier_->let_go(call.id);  // It had to wait, and is the same call.
    return;
  }
  const SyscallRow& row = *known->second.row;
  CallSeen seen{.role = who->role, .call = row.name, .object = {}};
  if (known->second.needs_object) {
    seen.object = object_of(call, row);
    const std::uint64_t before = hash_of(seen.role) * 31 + static_cast<unsigned>(call.number);
    seen.k = ++counts_[before * 31 + hash_of(seen.object)];
  }
  const StoppedCall stopped{.call = call,
                            .row = row,
                            .who = *who,
                            .seen = seen,
                            .is_own_name = !striker_.is_at(row.name) || names_.is_own(seen.object)};
  const std::vector<std::size_t> faults = striker_.due(stopped);
  if (!faults.empty() && !notifier_->is_waiting(call.id)) {
    note_taken_back(call);  // What was read may be of another process with this number.
    return;
  }
  if (std::ranges::all_of(faults, [this](auto each) { return striker_.lets_be_made(each); })) {
    note_effect(call, row, seen, *who);
  }
  if (options_.wants_calls) {
    watched_.calls.push_back(seen);
  }
  const bool is_answered =
      std::ranges::any_of(faults, [&](std::size_t each) { return striker_.strike(each, stopped); });
  if (!is_answered && !notifier_->let_go(call.id)) {
    note_taken_back(call);
  }
}

/// What the call does if it succeeds.
void Watch::note_effect(const Notification& call,
                        const SyscallRow& row,
                        const CallSeen& seen,
                        ProcessSeen& who) {
  switch (row.effect) {
    case Effect::makes_sysv:
      sysv_makers_[std::string(row.name.substr(0, 3))] = fmt::format("{}/{}", seen.role, row.name);
      break;
    case Effect::ends:
      roles_->ends(who.process);
      break;
    case Effect::moves_root:
      other_roots_ = true;
      if (row.first.path < 0) {
        note_blind(fmt::format("{} ({}) calls {}: names in a mount namespace of its own",
                               who.role,
                               who.title,
                               row.name));
      }
      break;
    case Effect::runs:
      who.is_title_old = true;
      if (const auto rights = lost_rights_of(call, row)) {
        note_blind(fmt::format("{} runs {}, without its {} rights",
                               seen.role,
                               path_at(call, row.first, other_roots_).value_or(""),
                               *rights));
      }
      break;
    default:
      note_names(call, row, seen);
  }
}

void Watch::note_blind(std::string what) {
  if (std::ranges::find(watched_.blind, what) == watched_.blind.end()) {
    watched_.blind.push_back(std::move(what));
  }
}

/// What nobody may have who is watched. A kernel that has no such thing says the same.
void Watch::refuse(const Notification& call, const ProcessSeen& who) {
  const bool is_ring = call.number == SYS_io_uring_setup;
  const std::string_view what =
      call.is_foreign ? "made a call of another kind, as 32-bit programs do: ENOSYS"
      : is_ring       ? "asked for io_uring, whose calls nobody would see: ENOSYS"
                      : "asked to watch others by seccomp notification itself, as we do: EBUSY";
  note_blind(fmt::format("{} ({}) {}", who.role, who.title, what));
  notifier_->fail(call.id, call.is_foreign || is_ring ? ENOSYS : EBUSY);
}

void Watch::note_names(const Notification& call, const SyscallRow& row, const CallSeen& seen) {
  const auto maker = [&] {
    return fmt::format("{}/{}({})#{}", seen.role, seen.call, pattern_of(seen.object), seen.k);
  };
  const auto argument = [&](int at) { return call.arguments[static_cast<std::size_t>(at)]; };
  if (row.effect == Effect::removes) {
    names_.removes(call.thread, seen.object);
    return;
  }
  if (row.effect == Effect::moves) {
    // Two names that change places are both there afterwards.
    const bool is_exchange = row.name == "renameat2" && (argument(4) & RENAME_EXCHANGE) != 0;
    const auto to = is_exchange ? std::nullopt : name_at(call, row.second);
    if (to) {
      names_.moves(call.thread, seen.object, *to, maker);
    }
    return;
  }
  if (row.effect == Effect::opens) {
    const std::uint64_t given = argument(row.flags);
    const std::uint64_t flags = row.flags_are_far ? word_at(call.thread, given) : given;
    if ((flags & O_CREAT) == 0 || (flags & O_TMPFILE) == O_TMPFILE) {
      return;
    }
  } else if (row.effect != Effect::makes) {
    return;
  }
  const auto path = row.second.path >= 0 ? name_at(call, row.second) : std::optional(seen.object);
  if (path && !path->empty()) {
    names_.makes(call.thread, *path, maker);
  }
}

/// What is there now, and was not before; of what others make at the same time, the kernel says
/// only for shared memory who has made it.
void Watch::note_sysv() {
  for (const auto& [name, process] : sysv_objects()) {
    const auto maker = sysv_makers_.find(name.substr(0, 3));
    const bool is_ours =
        process == 0 || std::ranges::find(watched_.processes, process, &ProcessSeen::process) !=
                            watched_.processes.end();
    if (!sysv_before_.contains(name) && maker != sysv_makers_.end() && is_ours) {
      watched_.leftovers.push_back({.path = name, .kind = "System V", .maker = maker->second});
    }
  }
}

void Watch::finish() {
  striker_.clean_up();
  watched_.processes = roles_->all();
  watched_.seconds = seconds_now() - began_at_;
  watched_.leftovers = names_.leftovers();
  if (const mode_t ours = ::umask(0); ::umask(ours), (ours & S_IWOTH) != 0) {
    watched_.open_to_others = names_.open_to_others();
  }
  if (!sysv_makers_.empty()) {
    note_sysv();
  }
  watched_.struck = striker_.struck();
  watched_.reasons = striker_.reasons();
  // Who was killed could not end its call; nobody can say of which of the dead each one was.
  const auto killed = static_cast<std::uint64_t>(
      std::ranges::count(watched_.processes, false, &ProcessSeen::has_ended));
  watched_.perturbed += gone_ > killed ? gone_ - killed : 0;
}

}  // namespace

Result<Watched> watch(const WatchOptions& options) {
  return Watch(options).run();
}

}  // namespace lastref::harness::warden
