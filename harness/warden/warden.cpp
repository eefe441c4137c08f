#include "harness/warden/warden.hpp"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <iterator>
#include <memory>
#include <set>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "harness/platform/child_process.hpp"
#include "harness/platform/clock.hpp"
#include "harness/platform/hash.hpp"
#include "harness/platform/one_processor.hpp"
#include "harness/platform/proc.hpp"
#include "harness/warden/effects.hpp"
#include "harness/warden/locks.hpp"
#include "harness/warden/notifier.hpp"
#include "harness/warden/proc_inspect.hpp"
#include "harness/warden/supervisor_signals.hpp"
#include "harness/warden/syscalls.hpp"

namespace lastref::harness::warden {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t look_every_stops = 256;
constexpr double hang_check_every = 0.2;  // seconds

/// A system call, and whether the name of its object is needed.
struct Known {
  const SyscallRow* row = nullptr;
  bool needs_object = false;
};

class Watch {
 public:
  explicit Watch(const WatchOptions& options)
      : options_(options), injector_(options.faults, options.takes_unlikely), watched_{} {
    for (const SyscallRow& row : syscalls()) {
      known_[row.number] = {.row = &row, .needs_object = needs_object(row)};
    }
  }

  Result<Watched> run() {
    LASTREF_CHECK(start());
    follow();
    const bool was_struck = std::ranges::find(injector_.struck(), true) != injector_.struck().end();
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
  void tend(double now);
  void look_for_hang(double now);
  void look_for_rest(const std::vector<int>& processes, double now);
  std::vector<Hung> told(std::vector<Waiting> waiting);
  void note_hung(std::vector<Waiting> waiting);
  void end_all_of(std::vector<Waiting> waiting);
  void ask_all_to_end(double now);
  void kill_all();
  void note_stayed();
  /// All processes of the tree, without those that a command of yours has left to us before.
  std::vector<int> ours() const { return descendants(unrelated_); }
  bool is_over() const { return root_ended_ && ours().empty() && !waits_for_work(); }
  /// Whether the workload driver still runs, though the root has ended: the workload may be served
  /// by other processes of the tree. The driver may end a little later than all of them.
  bool waits_for_work() const { return driver_.is_there() && !driver_.is_done() && !is_late_; }
  bool needs_object(const SyscallRow& row) const;
  void judge(const Notification& call);
  void let_kept_go();
  void go_on(const Notification& call, const CallSeen& seen, ProcessSeen* who);
  void refuse(const Notification& call, const ProcessSeen& caller);
  void note_gone(std::uint64_t calls);
  void note_taken_back(const Notification& call);
  void note_peak_memory(int process);
  void forgive_the_dead();
  void note_end(int process, int status);
  void note_crash(std::string role, int process, int status);
  void note_crashes_of_children();
  void reap();
  void finish();

  const WatchOptions& options_;
  WorkloadDriver driver_;
  RoundsSeen rounds_;
  Launch launch_;
  OneProcessor processor_;
  std::unique_ptr<Notifier> notifier_;
  std::unique_ptr<ProcessNames> roles_;
  FaultInjector injector_;
  Effects effects_;
  CallSites sites_;
  KeptCalls kept_{options_.may_be_made};
  std::set<std::string> outside_;  ///< What the program was started with
  std::set<int> clocks_;           ///< May have set a clock that cannot be seen from outside
  HangDetector hang_{std::chrono::seconds(2)};
  HangDetector rest_{std::chrono::seconds(30)};
  bool has_told_rest_ = false;
  UnrelatedChildren unrelated_{.all = children_of(::getpid())};
  int root_ = -1;
  bool root_ended_ = false;
  double began_at_ = 0;
  double looked_at_ = 0;
  std::uint64_t stops_then_ = 0;
  std::optional<double> ended_at_;
  bool is_late_ = false;
  /// Calls that vanished before they were received: a signal interrupted them, or their threads
  /// died. The number of the next call reveals each, and ENOENT once each, before or after that.
  std::vector<std::uint64_t> gone_;   ///< Per call that vanished: the number of the next call
  std::uint64_t gone_lately_ = 0;     ///< ENOENT came first.
  std::uint64_t gone_announced_ = 0;  ///< ENOENT will come.
  /// Since then we have stopped a process; the kernel restarts the calls that this interrupted.
  bool stops_take_back_ = false;
  /// The number of threads that we have killed; each of them may have waited in a call.
  std::uint64_t killed_threads_ = 0;
  /// All were killed or got a signal of a fault: calls that vanish are expected.
  bool has_signaled_all_ = false;
  std::unordered_map<int, Known> known_;                     ///< By call number
  std::unordered_map<std::uint64_t, std::uint64_t> counts_;  ///< By a hash of role, call and object
  Watched watched_;
};

std::set<int> Watch::numbers() const {
  std::set<int> numbers;
  for (const SyscallRow& row : syscalls()) {
    const bool is_asked = std::ranges::find(options_.also, row.name) != options_.also.end();
    if (!row.is_frequent || is_asked || injector_.is_at(row.name)) {
      numbers.insert(row.number);
    }
  }
  return numbers;
}

Status Watch::start() {
  LASTREF_TRY(filter, filter_of(numbers()));
  // Orphans of the tree are reparented to us.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  if (options_.server.is_wanted()) {
    LASTREF_CHECK(driver_.start(options_.server));
    unrelated_.all.push_back(driver_.process());
  }
  LASTREF_CHECK(launch_.start(options_.command, filter, options_.limits, options_.has_own_pids));
  root_ = launch_.root();
  unrelated_.init = launch_.init().process();
  notifier_ = std::make_unique<Notifier>(launch_.take_listener(), options_.may_wake_in_turn);
  if (!notifier_->wakes_in_turn()) {
    watched_.processor = processor_.share_with(root_);
  }
  injector_.listens_to(*notifier_);
  injector_.spares(unrelated_);
  roles_ = std::make_unique<ProcessNames>(root_);
  const auto all = descriptors_of(root_);
  for (const auto& [descriptor, object] : all) {
    outside_.insert(object);
    if (descriptor > STDERR_FILENO && stays_at_exec(root_, descriptor)) {
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
      note_gone(call->gone_before);
      judge(*call);
      if (kept_.empty() && watched_.stops % look_every_stops != 0) {
        continue;
      }
    } else if (!notifier_->has_anybody()) {
      ::poll(nullptr, 0, 1);  // They are about to be reaped.
    } else if (call.error() == ENOENT && gone_announced_ > 0) {
      --gone_announced_;
    } else if (call.error() == ENOENT) {
      ++gone_lately_;
    }
    look_around();
  }
}

void Watch::look_around() {
  const double now = seconds_now();
  reap();
  roles_->forget_the_gone(watched_.stops);
  if (injector_.keeps_somebody()) {
    stops_take_back_ = stops_take_back_ || injector_.has_stopped_somebody();
    injector_.look(now);
  }
  let_kept_go();
  if (const int signal = options_.interrupted_by(); signal != 0 && !watched_.interrupted) {
    watched_.interrupted = true;
    watched_.hung = told(what_all_do(ours()));
    ended_at_ = ended_at_.value_or(now);
    if (signal != SIGINT && !root_ended_) {
      ::kill(root_, signal);
    }
  }
  tend(now);
  look_for_hang(now);
  if (root_ended_ && !ended_at_ && (!waits_for_work() || ours().empty())) {
    ended_at_ = now;
  }
  const std::chrono::duration<double> grace = options_.grace;
  if (!ended_at_ || now - *ended_at_ < grace.count()) {
    return;
  }
  // What exceeds a time limit is listed already.
  if (!std::exchange(is_late_, true) && !watched_.is_too_long) {
    note_stayed();
  }
  kill_all();
}

void Watch::kill_all() {
  has_signaled_all_ = true;
  signal_descendants(SIGKILL, unrelated_);
}

void Watch::tend(double now) {
  const auto event = driver_.is_there() ? driver_.receive() : WorkloadDriver::Event::nothing;
  if (event == WorkloadDriver::Event::round_is_over) {
    for (const int process : ours()) {
      rounds_.note(roles_->role_of(process), process);
    }
    rounds_.note_tree(ours().size());
    rounds_.end_round();
    driver_.go_on();
  } else if (event == WorkloadDriver::Event::all_is_done) {
    const std::vector<int> left = root_ended_ ? ours() : std::vector{root_};
    watched_.told_to_end = !left.empty();
    ended_at_ = ended_at_.value_or(now);
    std::ranges::for_each(left, [](int process) { ::kill(process, SIGTERM); });
  }
}

void Watch::look_for_hang(double now) {
  // The tree may be waiting for the workload driver.
  const bool has_work = driver_.is_there() && !driver_.is_done();
  if (watched_.stops != stops_then_ || injector_.keeps_somebody() || !kept_.empty() || has_work) {
    hang_.reset();
    rest_.reset();
    stops_then_ = watched_.stops;
  }
  const std::chrono::duration<double> limit = options_.time_limit.value_or(milliseconds::max());
  if (!watched_.is_too_long && !root_ended_ && now - began_at_ >= limit.count()) {
    watched_.is_too_long = true;
    ask_all_to_end(now);
  } else if (watched_.hung.empty() && now - looked_at_ >= hang_check_every) {
    looked_at_ = now;
    const std::vector<int> processes = ours();
    auto waiting = all_waiting({.processes = processes,
                                .outside = outside_,
                                .clocks = clocks_,
                                .ever = roles_->ever(),
                                .semaphores = effects_.own_semaphores()});
    const bool has_persisted = hang_.persisted(waiting, now);
    if (has_persisted && !is_held_outside(ends_of(*waiting), processes)) {
      end_all_of(*std::move(waiting));
      return;
    }
    if (has_persisted) {
      hang_.reset();
    }
    if (!has_told_rest_) {
      look_for_rest(processes, now);
    }
  }
}

/// Another process, or a clock, may wake them; but you may want to know that they wait.
void Watch::look_for_rest(const std::vector<int>& processes, double now) {
  std::vector<Waiting> all = what_all_do(processes);
  const bool rests = all_blocked(all);
  if (rest_.persisted(rests ? std::optional(all) : std::nullopt, now)) {
    has_told_rest_ = true;
    options_.tell_rest(told(std::move(all)));
  }
}

std::vector<Hung> Watch::told(std::vector<Waiting> waiting) {
  std::vector<Hung> all;
  for (Waiting& each : waiting) {
    each.object = without_number(each.object);
    const ProcessSeen* const who = roles_->of(each.process);
    Hung& hung = all.emplace_back();
    hung.role = who == nullptr ? "a process" : who->role;
    std::ranges::transform(each.holders, std::back_inserter(hung.holders), [this](int process) {
      return roles_->role_of(process);
    });
    hung.waiting = std::move(each);
  }
  return all;
}

void Watch::note_hung(std::vector<Waiting> waiting) {
  watched_.hung = told(std::move(waiting));
  watched_.root_was_killed = !root_ended_;
  options_.tell_hang(ours());
}

void Watch::end_all_of(std::vector<Waiting> waiting) {
  note_hung(std::move(waiting));
  kill_all();
}

/// They have the grace time to clean up, and are killed after it.
void Watch::ask_all_to_end(double now) {
  note_hung(what_all_do(ours()));
  ended_at_ = ended_at_.value_or(now);
  has_signaled_all_ = true;
  std::ranges::for_each(ours(), [](int process) { ::kill(process, SIGTERM); });
}

void Watch::note_stayed() {
  for (const int process : ours()) {
    const bool is_zombie = is_dead(process, milliseconds(0));
    const ProcessSeen* const who = roles_->of(process);
    // A zombie that is an orphan is reaped at once.
    const int parent = number_of_status(process, "PPid");
    const bool is_orphan = parent == ::getpid() || parent == unrelated_.init;
    if (who != nullptr && (!is_zombie || !is_orphan)) {
      watched_.stayed.push_back(
          {.process = *who, .is_zombie = is_zombie, .locks = locks_of(process)});
    }
  }
}

void Watch::note_crash(std::string role, int process, int status) {
  if (WIFSIGNALED(status) && is_crash(WTERMSIG(status)) && !injector_.has_killed(process)) {
    const std::string pattern = first_line_of("/proc/sys/kernel/core_pattern");
    if (WCOREDUMP(status) && !pattern.starts_with('|')) {
      // The kernel makes it, not a call of the process. core(5)
      effects_.note_blind(
          fmt::format("{} left a core file, named by the pattern \"{}\"", role, pattern));
    }
    watched_.crashes.push_back({.role = std::move(role), .signal = WTERMSIG(status)});
  }
}

void Watch::note_end(int process, int status) {
  const os::ChildExit end = exit_of(status);
  note_crash(roles_->role_of(process), process, status);
  if (process != root_) {
    return;
  }
  root_ended_ = true;
  watched_.root = end;
  const bool by_sent = end.killed && injector_.has_sent_to(process);
  watched_.root_was_killed = watched_.root_was_killed || by_sent || injector_.has_killed(process);
}

/// Their parents got their exit statuses. Linux 6.15 reports them to us, too.
void Watch::note_crashes_of_children() {
  for (const ProcessSeen& each : watched_.processes) {
    const bool is_known =
        std::ranges::find(watched_.crashes, each.role, &Crash::role) != watched_.crashes.end();
    if (each.wait_status && !is_known) {
      note_crash(each.role, each.process, *each.wait_status);
    }
  }
}

void Watch::reap() {
  int status = 0;
  int process = 0;
  while ((process = ::waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
    if (WIFSTOPPED(status)) {
      injector_.stopped(process, status);
    } else {
      note_end(process, status);
      std::erase(unrelated_.all, process);
    }
  }
  // If a parent ignores SIGCHLD, its children leave no exit status.
  root_ended_ = root_ended_ || (process < 0 && errno == ECHILD);
  while (const auto end = launch_.init().receive()) {
    note_end(end->process, end->status);
  }
}

/// A name that is not needed is not read.
bool Watch::needs_object(const SyscallRow& row) const {
  return options_.wants_calls || options_.may_be_made || injector_.is_at(row.name) ||
         injector_.may_close() || row.effect == Effect::makes || row.effect == Effect::moves ||
         row.effect == Effect::opens || row.effect == Effect::removes ||
         row.effect == Effect::makes_sysv;
}

/// This many calls vanished between the last received one and this one.
void Watch::note_gone(std::uint64_t calls) {
  const bool is_stopping = injector_.has_stopped_somebody();
  if (!stops_take_back_ && !is_stopping && !has_signaled_all_) {
    gone_.insert(gone_.end(), calls, watched_.stops);
  }
  gone_announced_ += calls - std::min(calls, gone_lately_);
  gone_lately_ = 0;
  stops_take_back_ = is_stopping;
}

void Watch::note_peak_memory(int process) {
  constexpr std::uint64_t kibibyte = 1024;
  const int peak = number_of_status(process, "VmPeak");  // In kB
  watched_.peak_memory =
      std::max(watched_.peak_memory, static_cast<std::uint64_t>(std::max(peak, 0)) * kibibyte);
}

/// A call no longer waits: its thread is dead or dying, or a signal interrupted it and it will be
/// repeated.
void Watch::note_taken_back(const Notification& call) {
  const int process = number_of_status(call.thread, "Tgid");
  const bool is_dying = has_signaled_all_ || is_dead(call.thread, milliseconds(0)) ||
                        injector_.has_killed(process) || injector_.has_sent_to(process);
  if (!is_dying) {
    gone_.push_back(watched_.stops + 1);
  }
}

void Watch::judge(const Notification& call) {
  ProcessSeen* const maker = roles_->of(call.thread);
  if (maker == nullptr) {
    // The thread has exited, or we may not inspect it.
    effects_.note_unread();
    if (!notifier_->let_go(call.id)) {
      note_taken_back(call);
    }
    return;
  }
  maker->last_stop = watched_.stops;
  if (std::exchange(maker->has_own_mounts, false)) {
    effects_.note_own_mounts(*maker);
  }
  effects_.settle(call.thread);
  const auto known = call.is_foreign ? known_.end() : known_.find(call.number);
  if (known == known_.end() && !call.is_foreign && is_clock(call.number)) {
    clocks_.insert(maker->process);
    notifier_->let_go(call.id);
    return;
  }
  if (known == known_.end()) {
    refuse(call, *maker);
    return;
  }
  if (injector_.is_stopping(call.thread)) {
    notifier_->let_go(call.id);  // It is the same call, which was interrupted and repeated.
    return;
  }
  const SyscallRow& row = *known->second.row;
  CallSeen seen{.role = maker->role, .call = row.name, .object = {}};
  if (known->second.needs_object) {
    seen.object = effects_.object_of(call, row);
    const std::uint64_t before = hash_of(seen.role) * 31 + static_cast<unsigned>(call.number);
    seen.k = ++counts_[before * 31 + hash_of(seen.object)];
  }
  if (row.second.path >= 0 && (injector_.is_at(row.name) || injector_.may_close())) {
    seen.second = effects_.name_at(call, row.second).value_or("");
  }
  if (!options_.may_be_made ||
      !kept_.keep({.call = call, .seen = seen}, *maker, effects_.names())) {
    go_on(call, seen, maker);
  }
}

void Watch::let_kept_go() {
  while (const auto kept = kept_.next(*roles_, *notifier_, effects_.names())) {
    go_on(kept->call, kept->seen, roles_->of(kept->call.thread));
  }
}

void Watch::go_on(const Notification& call, const CallSeen& seen, ProcessSeen* who) {
  if (who == nullptr) {
    note_taken_back(call);
    return;
  }
  const SyscallRow& row = *syscall_numbered(call.number);
  const int process = who->process;
  const StoppedCall stopped{
      .call = call,
      .row = row,
      .who = *who,
      .seen = seen,
      .is_own_name = !injector_.is_at(row.name) || effects_.is_own(seen.object),
      .is_own_folder = !injector_.is_at(row.name) || effects_.is_own_folder_of(seen.object)};
  const std::vector<std::size_t> faults = injector_.due(stopped);
  if (!faults.empty() && !notifier_->is_waiting(call.id)) {
    note_taken_back(call);  // What was read may belong to another process that reused the number.
    return;
  }
  // Outsiders come first; their actions do not answer the call.
  const auto answer = std::ranges::find_if(
      faults, [&](std::size_t each) { return !injector_.is_of_outsider(each); });
  std::vector<std::size_t> injected;
  const auto inject = [&](std::size_t fault) {
    const bool done = injector_.inject(fault, stopped);
    injected.insert(injected.end(), done ? 1 : 0, fault);
    return done;
  };
  std::for_each(faults.begin(), answer, inject);
  const bool is_kept_out = answer == faults.end() && injector_.keeps_out(stopped);
  if (!is_kept_out && (answer == faults.end() || injector_.lets_be_made(*answer))) {
    if (row.effect == Effect::ends) {
      roles_->ends(process);
      note_peak_memory(process);
    }
    effects_.note(call, row, seen, *who);
  }
  // The memory of the process is read while its call waits.
  std::vector<int> errors =
      options_.wants_calls ? FaultInjector::errors_at(stopped) : std::vector<int>();
  Site site = options_.wants_sites ? sites_.of(call, process) : Site();
  const double seconds = seconds_now() - began_at_;  // A fault may delay the call.
  if (answer != faults.end() && injector_.may_end(*answer)) {
    killed_threads_ += threads_of(process).size();
    has_signaled_all_ = has_signaled_all_ || injector_.may_end_all(*answer);
  }
  const bool is_answered = is_kept_out || (answer != faults.end() && inject(*answer));
  if (options_.wants_calls) {
    CallSeen& listed = watched_.calls.emplace_back(seen);
    listed.errors = std::move(errors);
    listed.faults = std::move(injected);
    listed.thread = call.thread;
    listed.seconds = seconds;
    listed.site = std::move(site);
  }
  if (!is_answered && !notifier_->let_go(call.id)) {
    note_taken_back(call);
  }
}

void Watch::refuse(const Notification& call, const ProcessSeen& caller) {
  Refusal refusal = refusal_of(call, caller);
  notifier_->fail(call.id, refusal.error);
  if (std::ranges::find(watched_.refused, refusal) == watched_.refused.end()) {
    watched_.refused.push_back(std::move(refusal));
  }
}

void Watch::finish() {
  reap();  // The last process that died in a namespace may not have been reported yet.
  injector_.clean_up();
  roles_->forget_the_gone(watched_.stops);
  watched_.processes = roles_->all();
  note_crashes_of_children();
  watched_.seconds = seconds_now() - began_at_;
  watched_.leftovers = effects_.leftovers();
  watched_.open_to_others = effects_.open_to_others();
  watched_.blind = effects_.blind();
  watched_.unread = effects_.unread();
  watched_.growing = rounds_.growing();
  watched_.work_failure = driver_.failure();
  const bool was_cut = watched_.interrupted || watched_.is_too_long;
  if (driver_.is_there() && !driver_.is_done() && !was_cut) {
    const bool has_work = driver_.is_ready() && !options_.server.work.empty();
    watched_.work_failure =
        CommandFailure{.option = has_work ? "--work" : "--ready",
                       .command = has_work ? options_.server.work : options_.server.ready,
                       .how = "the program ended before all was done",
                       .output = {}};
  }
  watched_.struck = injector_.struck();
  watched_.reasons = injector_.reasons(watched_.processes);
  watched_.struck_at = injector_.struck_at();
  forgive_the_dead();
  // Those that we killed may have made calls that could not end: one per thread.
  watched_.perturbed += gone_.size() - std::min<std::uint64_t>(gone_.size(), killed_threads_);
}

/// The calls of a process that a signal of another process ends vanish, one per thread, after its
/// last call and before it is reaped. A crash may be the effect of a call that was repeated.
void Watch::forgive_the_dead() {
  if (!stops_take_back_ && !has_signaled_all_) {
    gone_.insert(gone_.end(), gone_lately_, watched_.stops + 1);
  }
  for (const ProcessSeen& each : watched_.processes) {
    const bool by_signal = each.wait_status && WIFSIGNALED(*each.wait_status);
    const bool is_ours = injector_.has_killed(each.process) || injector_.has_sent_to(each.process);
    if (is_ours || !by_signal || is_crash(WTERMSIG(*each.wait_status))) {
      continue;
    }
    std::uint64_t threads = std::max<std::uint64_t>(each.threads, 1);
    std::erase_if(gone_, [&](std::uint64_t stop) {
      const bool may_be_its = stop > each.last_stop && stop <= each.gone_at_stop + 1;
      return may_be_its && threads > 0 && threads-- > 0;
    });
  }
}

}  // namespace

Result<Watched> watch(const WatchOptions& options) {
  return Watch(options).run();
}

}  // namespace lastref::harness::warden
