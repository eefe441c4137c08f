#include "harness/warden/fault_injector.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <initializer_list>

#include <fmt/format.h>

#include "harness/platform/child_process.hpp"
#include "harness/platform/clock.hpp"
#include "harness/platform/names.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/likely_errors.hpp"
#include "harness/warden/names_ledger.hpp"
#include "harness/warden/proc_inspect.hpp"

namespace lastref::harness::warden {
namespace {

/// In seconds. There is no other activity when no call has stopped for `quiet`; without a time of
/// its own, nothing is held longer than `held_max`.
constexpr double quiet = 0.1;
constexpr double held_max = 2;

std::uint64_t argument(const Notification& call, int at) {
  return call.arguments[static_cast<std::size_t>(at)];
}

/// The number of bytes that may be written to it at once without a reader.
std::size_t free_space_of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    return SIZE_MAX;
  }
  pollfd item{.fd = descriptor, .events = POLLOUT, .revents = 0};
  return ::poll(&item, 1, 0) == 1 && item.revents == POLLOUT ? PIPE_BUF : 0;
}

bool creates_namespace(const StoppedCall& at) {
  constexpr std::uint64_t kinds = CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWNET | CLONE_NEWNS |
                                  CLONE_NEWPID | CLONE_NEWUSER | CLONE_NEWUTS;
  const std::uint64_t given = argument(at.call, 0);
  return ((at.row.name == "clone3" ? word_at(at.call.thread, given) : given) & kinds) != 0;
}

/// Why this error cannot happen in this call that opens or removes a name, starts a process, or is
/// on an eventfd; empty if it can.
std::string_view misfit_of_call(int error, const StoppedCall& at) {
  const auto is_one_of = [error](std::initializer_list<int> errors) {
    return std::ranges::find(errors, error) != errors.end();
  };
  if (at.seen.object == "anon_inode:[eventfd]") {
    // eventfd(2): a number is added or taken, without memory or a device. It never gets so large
    // that a write must wait.
    const bool reads = at.row.name.starts_with("read");
    const bool fits = reads ? is_one_of({EAGAIN, EINTR}) : !at.row.name.starts_with("write");
    return fits ? "" : "the file is an eventfd";
  }
  if (at.row.name == "unlinkat") {
    const bool is_folder = (argument(at.call, 2) & AT_REMOVEDIR) != 0;
    return is_folder && error == EISDIR                   ? "the call removes a folder"
           : !is_folder && is_one_of({EEXIST, ENOTEMPTY}) ? "the call removes no folder"
                                                          : "";
  }
  if (at.row.name.starts_with("clone")) {
    // clone(2): they are about the depth and the number of namespaces.
    return is_one_of({ENOSPC, EUSERS}) && !creates_namespace(at) ? "the call creates no namespace"
                                                                 : "";
  }
  if (at.row.flags < 0) {
    return "";
  }
  const std::uint64_t flags = open_flags_of(at.call, at.row);
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const bool writes = makes || (flags & (O_ACCMODE | O_TRUNC)) != O_RDONLY;
  return !makes && is_one_of({EDQUOT, EEXIST, ENOSPC})    ? "the call creates no file"
         : error == EEXIST && (flags & O_EXCL) == 0       ? "the call has no O_EXCL"
         : !writes && is_one_of({EISDIR, EROFS, ETXTBSY}) ? "the call opens it for reading only"
                                                          : "";
}

/// "3rd"
std::string ordinal(std::uint64_t number) {
  const std::uint64_t last = number / 10 % 10 == 1 ? 0 : number % 10;
  return fmt::format("{}{}", number, last == 1 ? "st" : last == 2 ? "nd" : last == 3 ? "rd" : "th");
}

std::string times(std::uint64_t number) {
  return number == 1 ? "once" : fmt::format("{} times", number);
}

/// Up to its last "/"; also for a pattern.
std::string_view folder_of(std::string_view name) {
  return name.substr(0, std::min(name.rfind('/'), name.size()));
}

/// A role is also given by the name of the program, or by its arguments.
bool is_role_of(const std::string& role, const ProcessSeen& process) {
  return matches(role, process.role) || matches(role, process.title) ||
         matches(role, process.words);
}

/// "; child.1 died of SIGKILL" if a process that the fault is for was ended by a signal.
std::string how_it_died(const TreeFault& fault, const std::vector<ProcessSeen>& all) {
  const auto died = std::ranges::find_if(all, [&](const ProcessSeen& each) {
    return each.wait_status && WIFSIGNALED(*each.wait_status) && is_role_of(fault.role, each);
  });
  return died == all.end()
             ? ""
             : fmt::format(
                   "; {} died of SIG{}", died->role, name_of_signal(WTERMSIG(*died->wait_status)));
}

FaultEffect effect_of(const TreeFault& fault) noexcept {
  return row_of(fault.action.kind).effect;
}

bool closes_folder(const TreeFault& fault) noexcept {
  return fault.action.kind == FaultKind::outsider_chmod_parent;
}

}  // namespace

std::set<int> signal_descendants(int signal, const UnrelatedChildren& unrelated) {
  // Each of them may just have forked.
  constexpr int passes_max = 1000;
  std::set<int> reached;
  bool found_more = true;
  for (int pass = 0; pass < passes_max && found_more; ++pass) {
    found_more = false;
    for (const int process : descendants(unrelated)) {
      if (reached.insert(process).second) {
        ::kill(process, signal);
        found_more = true;
      }
    }
  }
  return reached;
}

int signal_of(FaultKind kind) noexcept {
  switch (kind) {
    case FaultKind::send_sigterm:
      return SIGTERM;
    case FaultKind::send_sigint:
      return SIGINT;
    case FaultKind::send_sighup:
      return SIGHUP;
    default:
      LASTREF_ASSERT(false);  // No other kind sends one.
  }
}

FaultInjector::FaultInjector(const std::vector<TreeFault>& faults, bool takes_unlikely)
    : faults_(faults),
      takes_unlikely_(takes_unlikely),
      seen_(faults.size()),
      seen_of_threads_(faults.size()),
      struck_(faults.size()),
      first_struck_(faults.size()),
      strikes_(faults.size()),
      reasons_(faults.size()) {}

void FaultInjector::clean_up() noexcept {
  for (const Touched& each : touched_) {
    struct stat status {};
    if (::lstat(each.path.c_str(), &status) == 0 && status.st_dev == each.device &&
        status.st_ino == each.inode) {
      ::unlink(each.path.c_str());
    }
  }
  for (const Locked& each : locked_) {
    ::chmod(fmt::format("/proc/self/fd/{}", each.file.get()).c_str(), each.rights);
  }
}

bool FaultInjector::may_close() const noexcept {
  return std::ranges::any_of(faults_, closes_folder);
}

bool FaultInjector::is_at(std::string_view call) const noexcept {
  return std::ranges::find(faults_, call, &TreeFault::call) != faults_.end();
}

FaultInjector::Fit FaultInjector::fit_of(const TreeFault& fault, const StoppedCall& at) {
  if (fault.call != at.seen.call) {
    return Fit::other_call;
  }
  if (!is_role_of(fault.role, at.who)) {
    return Fit::other_role;
  }
  if (!matches(fault.object, at.seen.object) &&
      (at.seen.second.empty() || !matches(fault.object, at.seen.second))) {
    return Fit::other_object;
  }
  // A single byte has no half.
  return is_cut(fault.action.kind) && argument(at.call, at.row.size) <= 1 ? Fit::one_byte
                                                                          : Fit::fits;
}

std::uint64_t FaultInjector::count(std::size_t fault, const StoppedCall& at) {
  const std::uint64_t of_all = ++seen_[fault].back();
  return faults_[fault].is_of_strace ? ++seen_of_threads_[fault][{at.seen.role, at.call.thread}]
                                     : of_all;
}

std::uint64_t FaultInjector::most_counted(std::size_t fault) const {
  std::uint64_t most = faults_[fault].is_of_strace ? 0 : seen_[fault].back();
  for (const auto& [thread, calls] : seen_of_threads_[fault]) {
    most = std::max(most, calls);
  }
  return most;
}

std::string FaultInjector::why_never_due(std::size_t index,
                                         const std::vector<ProcessSeen>& all) const {
  const TreeFault& fault = faults_[index];
  const auto seen = [&](Fit fit) { return seen_[index][static_cast<std::size_t>(fit)]; };
  if (const std::uint64_t matching = most_counted(index); matching > 0) {
    return fmt::format("such a call was made {}{}, so there was no {}{}",
                       times(matching),
                       fault.is_of_strace ? " by one thread" : "",
                       ordinal(fault.k),
                       how_it_died(fault, all));
  }
  if (seen(Fit::one_byte) > 0) {
    return "the call wrote a single byte, which has no half";
  }
  const std::string maker = fault.role == "*" ? "the program" : fault.role;
  if (const std::uint64_t others = seen(Fit::other_object); others > 0) {
    return fmt::format(
        "{} made the call {} {}, but not with this object", maker, fault.call, times(others));
  }
  const bool is_there = std::ranges::any_of(
      all, [&](const ProcessSeen& each) { return is_role_of(fault.role, each); });
  if (!is_there) {
    return fmt::format("no process had the role {}; --list prints the roles", fault.role);
  }
  return fault.call.starts_with("execve") && seen(Fit::other_role) > 0
             ? fmt::format("a process is called {} only after this call", fault.role)
             : fmt::format(
                   "{} never made the call {}{}", maker, fault.call, how_it_died(fault, all));
}

std::vector<std::string> FaultInjector::reasons(const std::vector<ProcessSeen>& all) const {
  std::vector<std::string> reasons = reasons_;
  for (std::size_t index = 0; index < reasons.size(); ++index) {
    if (!struck_[index] && reasons[index].empty()) {
      reasons[index] = most_counted(index) < faults_[index].k
                           ? why_never_due(index, all)
                           : "a signal interrupted the call, or its process died";
    }
  }
  return reasons;
}

std::vector<std::size_t> FaultInjector::due(const StoppedCall& at) {
  if (!held_.empty()) {
    last_call_at_ = seconds_now();
  }
  std::vector<std::size_t> due;
  bool is_answered = false;
  for (std::size_t index = 0; index < faults_.size(); ++index) {
    const TreeFault& fault = faults_[index];
    const Fit fit = fit_of(fault, at);
    if (fit != Fit::fits) {
      ++seen_[index][static_cast<std::size_t>(fit)];
      continue;
    }
    const std::uint64_t hit = count(index, at);
    if (hit < fault.k || hit > fault.last) {
      continue;
    }
    const bool answers = effect_of(fault) != FaultEffect::outsider;
    std::string refusal =
        answers && is_answered ? "another fault was at the same call" : refusal_of(fault, at);
    if (!refusal.empty()) {
      reasons_[index] = std::move(refusal);
      continue;
    }
    // A fault that answers the call comes last.
    due.insert(answers ? due.end() : due.begin(), index);
    is_answered = is_answered || answers;
  }
  return due;
}

std::vector<int> FaultInjector::errors_at(const StoppedCall& at) {
  constexpr int errors_max = 133;  // EHWPOISON, the last one
  const Where where = where_is(at.seen.object);
  std::vector<int> errors;
  for (int error = 1; error <= errors_max; ++error) {
    if (is_likely(at.seen.call, error, where) && misfit_of_call(error, at).empty()) {
      errors.push_back(error);
    }
  }
  return errors;
}

std::string FaultInjector::refusal_of(const TreeFault& fault, const StoppedCall& at) const {
  if (takes_error(fault.action.kind) && !takes_unlikely_) {
    const Where where = where_is(at.seen.object);
    if (!is_likely(at.seen.call, fault.action.error, where)) {
      return fmt::format("{} cannot happen {}; --unlikely injects it",
                         name_of_error(fault.action.error),
                         name_of(where));
    }
    const std::string_view misfit = misfit_of_call(fault.action.error, at);
    return misfit.empty() ? ""
                          : fmt::format("{}: {} cannot happen; --unlikely injects it",
                                        misfit,
                                        name_of_error(fault.action.error));
  }
  if (effect_of(fault) == FaultEffect::outsider && !at.seen.object.starts_with('/')) {
    return "the object of the call has no name";
  }
  if (closes_folder(fault)) {
    const std::string_view pattern = folder_of(fault.object);
    const std::string_view folder = folder_of(at.seen.object);
    const bool is_named = is_one_name(pattern) && matches(pattern, folder);
    return at.is_own_folder || is_named
               ? ""
               : fmt::format("{} existed before the run; to allow it, give its whole name",
                             pattern_of(folder));
  }
  if (effect_of(fault) == FaultEffect::outsider && !at.is_own_name && !is_one_name(fault.object)) {
    return fmt::format("{} existed before the run, or may have; to allow it, give its whole name",
                       pattern_of(at.seen.object));
  }
  return "";
}

bool FaultInjector::is_of_outsider(std::size_t fault) const noexcept {
  return effect_of(faults_[fault]) == FaultEffect::outsider;
}

bool FaultInjector::may_end(std::size_t fault) const noexcept {
  return takes_whole_tree(faults_[fault].action.kind);
}

bool FaultInjector::lets_be_made(std::size_t fault) const noexcept {
  const FaultKind kind = faults_[fault].action.kind;
  return !takes_error(kind) && kind != FaultKind::kill_before;
}

bool FaultInjector::has_stopped_somebody() const noexcept {
  return std::ranges::any_of(held_, [](const Held& each) { return each.process != 0; });
}

bool FaultInjector::inject(std::size_t fault, const StoppedCall& at) {
  const bool done = apply(fault, at);
  struck_[fault] = struck_[fault] || done;
  if (done && ++strikes_[fault] == 1) {
    first_struck_[fault] =
        fmt::format("{}/{}({})", at.seen.role, at.seen.call, pattern_of(at.seen.object));
    if (closes_folder(faults_[fault]) && ignores_rights(at.who.process)) {
      first_struck_[fault] += ", by an injected EACCES, because the process bypasses permissions";
    }
  }
  return done;
}

std::vector<std::string> FaultInjector::struck_at() const {
  std::vector<std::string> all = first_struck_;
  for (std::size_t fault = 0; fault < all.size(); ++fault) {
    all[fault] += strikes_[fault] > 1 ? fmt::format(", and {} more", strikes_[fault] - 1) : "";
  }
  return all;
}

bool FaultInjector::apply(std::size_t index, const StoppedCall& at) {
  const TreeFault& fault = faults_[index];
  switch (effect_of(fault)) {
    case FaultEffect::fail:
      return notifier_->fail(at.call.id, fault.action.error);
    case FaultEffect::kill:
      if (fault.action.kind == FaultKind::kill_before) {
        kill(fault, at.who.process);
        return true;
      }
      return is_cut(fault.action.kind) ? cut(index, at) : stop_after(index, at);
    case FaultEffect::shorten:
      return cut(index, at);
    case FaultEffect::pause:
    case FaultEffect::send:
      return stop_after(index, at);
    case FaultEffect::stop:
      last_call_at_ = seconds_now();
      held_.push_back({.process = at.who.process, .since = last_call_at_});
      ::kill(at.who.process, SIGSTOP);
      return notifier_->let_go(at.call.id);
    case FaultEffect::outsider:
      return outsider_acts(index, at);
    case FaultEffect::expire:
    case FaultEffect::interrupt:
      break;  // They exist only in scenarios.
  }
  LASTREF_ASSERT(false);
}

bool FaultInjector::cut(std::size_t fault, const StoppedCall& at) {
  const std::int64_t written = write_half(at.call, at.row, at.who.process);
  if (written <= 0) {
    reasons_[fault] = "its bytes could not be written at once";
    return false;
  }
  if (is_kill(faults_[fault].action.kind)) {
    kill(faults_[fault], at.who.process);  // The process never returns from the call.
    return true;
  }
  return notifier_->give(at.call.id, written);
}

void FaultInjector::kill(const TreeFault& fault, int process) {
  killed_.insert(process);
  if (fault.action.whole_tree) {
    signal_descendants(SIGKILL, unrelated_);
  } else {
    ::kill(process, SIGKILL);
  }
}

void FaultInjector::send(const TreeFault& fault, int process) {
  const int signal = signal_of(fault.action.kind);
  if (fault.action.whole_tree) {
    sent_to_.merge(signal_descendants(signal, unrelated_));
  } else {
    sent_to_.insert(process);
    ::kill(process, signal);
  }
}

/// The thread stops when the call is over, before it executes any instruction of its own. We see
/// the stop, and kill it, send the signal or hold it then; until then the thread does nothing.
bool FaultInjector::stop_after(std::size_t fault, const StoppedCall& at) {
  constexpr std::uintptr_t tells_calls = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
  const int thread = at.call.thread;
  const bool will_stop =
      ::ptrace(PTRACE_SEIZE, thread, nullptr, std::bit_cast<void*>(tells_calls)) == 0 &&
      ::ptrace(PTRACE_INTERRUPT, thread, nullptr, nullptr) == 0;
  if (will_stop) {
    stopping_[thread] = {.process = at.who.process, .fault = &faults_[fault]};
    notifier_->let_go(at.call.id);
  } else {
    reasons_[fault] = fmt::format("its thread cannot be traced: {}", ::strerrordesc_np(errno));
  }
  return will_stop;
}

void FaultInjector::stopped(int thread, int status) {
  // A signal for the thread, which gets it from us.
  const bool is_signal = status >> 16 == 0 && (WSTOPSIG(status) & ~0x80) != SIGTRAP;
  void* const signal =
      std::bit_cast<void*>(static_cast<std::uintptr_t>(is_signal ? WSTOPSIG(status) : 0));
  auto stopping = stopping_.find(thread);
  if (stopping == stopping_.end()) {
    // A thread that calls exec gets the number of its process.
    stopping = std::ranges::find_if(
        stopping_, [thread](const auto& each) { return each.second.process == thread; });
  }
  if (stopping == stopping_.end()) {
    ::ptrace(PTRACE_DETACH, thread, nullptr, signal);
    return;
  }
  user_regs_struct registers{};
  ::ptrace(PTRACE_GETREGS, thread, nullptr, &registers);
  __ptrace_syscall_info info{};
  ::ptrace(PTRACE_GET_SYSCALL_INFO, thread, std::bit_cast<void*>(sizeof info), &info);
  constexpr std::int64_t restarts_from = -516;  // linux/errno.h: ERESTART_RESTARTBLOCK
  constexpr std::int64_t restarts_to = -512;    // ERESTARTSYS
  const auto result = static_cast<std::int64_t>(registers.rax);
  const bool is_going_in = info.op == PTRACE_SYSCALL_INFO_ENTRY;
  if (is_going_in || (result >= restarts_from && result <= restarts_to)) {
    // The call was interrupted and is repeated, or is about to be made.
    ::ptrace(PTRACE_SYSCALL, thread, nullptr, signal);
    return;
  }
  const auto [process, fault] = stopping->second;
  if (effect_of(*fault) == FaultEffect::kill) {
    kill(*fault, process);
    return;
  }
  stopping_.erase(stopping);
  if (effect_of(*fault) == FaultEffect::send) {
    send(*fault, process);
    ::ptrace(PTRACE_DETACH, thread, nullptr, signal);
    return;
  }
  last_call_at_ = seconds_now();
  held_.push_back({.thread = thread,
                   .signal = signal,
                   .since = last_call_at_,
                   .seconds = static_cast<double>(fault->action.seconds)});
}

/// We write to the open file, which the process shares; the call returns the number of bytes
/// written.
std::int64_t FaultInjector::write_half(const Notification& call,
                                       const SyscallRow& row,
                                       int process) {
  const UniqueFd copy = copy_fd_of(process, static_cast<int>(argument(call, row.descriptor)));
  if (!copy) {
    return 0;
  }
  std::vector<char> bytes(
      std::min<std::size_t>({argument(call, row.size) / 2, free_space_of(copy.get()), 1U << 24}));
  ssize_t written = -1;
  const auto size = static_cast<ssize_t>(bytes.size());
  if (size > 0 &&
      read_memory(call.thread, argument(call, row.size - 1), bytes.data(), bytes.size()) == size &&
      notifier_->is_waiting(call.id)) {
    written = row.offset < 0 ? ::write(copy.get(), bytes.data(), bytes.size())
                             : ::pwrite(copy.get(),
                                        bytes.data(),
                                        bytes.size(),
                                        static_cast<off_t>(argument(call, row.offset)));
  }
  return written;
}

/// Replaces what has the name, if anything does.
bool FaultInjector::plant(FaultKind kind, const std::string& path) {
  const std::string planted = path + ".outsider";
  struct stat status {};
  std::error_code error;
  if (is_there(planted)) {
    errno = EEXIST;
    return false;  // It belongs to a stranger.
  }
  if (kind == FaultKind::outsider_symlink) {
    std::filesystem::create_symlink(planted + ".nowhere", planted, error);
  } else if (!(std::ofstream(planted) << "another process\n")) {
    return false;
  }
  if (error || ::lstat(planted.c_str(), &status) != 0 ||
      ::rename(planted.c_str(), path.c_str()) != 0) {
    ::unlink(planted.c_str());
    return false;
  }
  touched_.push_back({.path = path, .device = status.st_dev, .inode = status.st_ino});
  return true;
}

bool FaultInjector::clear_permissions(const std::string& path) {
  UniqueFd file(::open(path.c_str(), O_PATH | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || ::chmod(path.c_str(), 0) != 0) {
    return false;
  }
  locked_.push_back({.file = std::move(file), .rights = status.st_mode & 07777});
  return true;
}

/// Permissions do not keep out a process that bypasses them: we inject its errors. Other processes
/// keep their permissions.
bool FaultInjector::close_parent(const StoppedCall& at) {
  const std::string folder(folder_of(at.seen.object));
  const bool is_closed =
      ignores_rights(at.who.process) ? is_there(folder) : clear_permissions(folder);
  if (is_closed) {
    closed_.push_back(folder);
  }
  return is_closed;
}

bool FaultInjector::keeps_out(const StoppedCall& at) {
  const auto is_below = [&](const std::string& folder) {
    const auto is_in = [&](const std::string& name) { return name.starts_with(folder + '/'); };
    const bool opens_it = at.row.flags >= 0 && at.seen.object == folder;
    return at.row.first.path >= 0 && (opens_it || is_in(at.seen.object) || is_in(at.seen.second));
  };
  return std::ranges::any_of(closed_, is_below) && ignores_rights(at.who.process) &&
         notifier_->fail(at.call.id, EACCES);
}

bool FaultInjector::outsider_acts(std::size_t fault, const StoppedCall& at) {
  if (!notifier_->is_waiting(at.call.id)) {
    return false;
  }
  const std::string& path = at.seen.object;
  const FaultKind kind = faults_[fault].action.kind;
  errno = 0;
  const bool done = kind == FaultKind::outsider_unlink         ? ::remove(path.c_str()) == 0
                    : kind == FaultKind::outsider_truncate     ? ::truncate(path.c_str(), 0) == 0
                    : kind == FaultKind::outsider_chmod_000    ? clear_permissions(path)
                    : kind == FaultKind::outsider_chmod_parent ? close_parent(at)
                                                               : plant(kind, path);
  if (!done) {
    reasons_[fault] = fmt::format("{}: {}", pattern_of(path), ::strerrordesc_np(errno));
  }
  return done;
}

void FaultInjector::look(double now) {
  std::erase_if(held_, [&](const Held& each) {
    const bool is_over = each.seconds > 0
                             ? now - each.since >= each.seconds
                             : now - last_call_at_ >= quiet || now - each.since >= held_max;
    if (is_over && each.process != 0) {
      ::kill(each.process, SIGCONT);
    } else if (is_over) {
      ::ptrace(PTRACE_DETACH, each.thread, nullptr, each.signal);
    }
    return is_over;
  });
}

}  // namespace lastref::harness::warden
