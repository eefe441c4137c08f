#include "harness/warden/striker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/user.h>
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
#include <set>

#include <fmt/format.h>

#include "harness/platform/child_process.hpp"
#include "harness/platform/clock.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/likely_errors.hpp"
#include "harness/warden/names_ledger.hpp"
#include "harness/warden/peek.hpp"

namespace lastref::harness::warden {
namespace {

/// In seconds. There is no other activity when no call has stopped for `quiet`; nothing is held
/// longer than `held_max`.
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

/// For a call that opens or removes a name.
bool flags_allow(int error, const StoppedCall& at) {
  const auto is_one_of = [error](std::initializer_list<int> errors) {
    return std::ranges::find(errors, error) != errors.end();
  };
  if (at.row.name == "unlinkat") {
    const bool is_folder = (argument(at.call, 2) & AT_REMOVEDIR) != 0;
    return is_folder ? error != EISDIR : !is_one_of({EEXIST, ENOTEMPTY});
  }
  if (at.row.flags < 0) {
    return true;
  }
  const std::uint64_t flags = open_flags_of(at.call, at.row);
  const bool makes = (flags & O_CREAT) != 0 || (flags & O_TMPFILE) == O_TMPFILE;
  const bool writes = makes || (flags & (O_ACCMODE | O_TRUNC)) != O_RDONLY;
  return (makes || !is_one_of({EDQUOT, EEXIST, ENOSPC})) &&
         (error != EEXIST || (flags & O_EXCL) != 0) &&
         (writes || !is_one_of({EISDIR, EROFS, ETXTBSY}));
}

/// Up to its last "/"; also for a pattern.
std::string_view folder_of(std::string_view name) {
  return name.substr(0, std::min(name.rfind('/'), name.size()));
}

bool is_cut(Strike strike) noexcept {
  return strike == Strike::shorten || strike == Strike::kill_amid;
}

}  // namespace

void kill_descendants(const Strangers& strangers) {
  // Each of them may just have forked.
  constexpr int passes_max = 1000;
  std::set<int> killed;
  for (int pass = 0; pass < passes_max; ++pass) {
    const std::size_t before = killed.size();
    for (const int process : descendants(strangers)) {
      ::kill(process, SIGKILL);
      killed.insert(process);
    }
    if (killed.size() == before) {
      return;
    }
  }
}

Striker::Striker(const std::vector<TreeFault>& faults, bool takes_unlikely)
    : faults_(faults),
      takes_unlikely_(takes_unlikely),
      hits_(faults.size()),
      struck_(faults.size()),
      first_struck_(faults.size()),
      strikes_(faults.size()),
      reasons_(faults.size()) {}

void Striker::clean_up() noexcept {
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

bool Striker::may_close() const noexcept {
  return std::ranges::find(faults_, Deed::closes_folder, &TreeFault::deed) != faults_.end();
}

bool Striker::is_at(std::string_view call) const noexcept {
  return std::ranges::find(faults_, call, &TreeFault::call) != faults_.end();
}

bool Striker::fits(const TreeFault& fault, const StoppedCall& at) const {
  const bool is_who = matches(fault.role, at.seen.role) || matches(fault.role, at.who.title);
  const bool is_object = matches(fault.object, at.seen.object) ||
                         (!at.seen.second.empty() && matches(fault.object, at.seen.second));
  if (fault.call != at.seen.call || !is_who || !is_object) {
    return false;
  }
  // A single byte has no half.
  return !is_cut(fault.strike) || argument(at.call, at.row.size) > 1;
}

std::vector<std::size_t> Striker::due(const StoppedCall& at) {
  if (!held_.empty()) {
    last_call_at_ = seconds_now();
  }
  std::vector<std::size_t> due;
  bool is_answered = false;
  for (std::size_t index = 0; index < faults_.size(); ++index) {
    const TreeFault& fault = faults_[index];
    if (!fits(fault, at)) {
      continue;
    }
    const std::uint64_t hit = ++hits_[index];
    if (hit < fault.k || hit > fault.last) {
      continue;
    }
    const bool answers = fault.strike != Strike::outsider;
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

std::string Striker::refusal_of(const TreeFault& fault, const StoppedCall& at) const {
  if (fault.strike == Strike::fail && !takes_unlikely_) {
    const Where where = where_is(at.seen.object);
    if (!is_likely(at.seen.call, fault.error, where)) {
      return fmt::format("{} gives no such error; --unlikely strikes all the same", name_of(where));
    }
    return flags_allow(fault.error, at)
               ? ""
               : "such flags give no such error; --unlikely strikes all the same";
  }
  if (fault.strike == Strike::outsider && !at.seen.object.starts_with('/')) {
    return "what the call is given has no name";
  }
  if (fault.deed == Deed::closes_folder) {
    const std::string_view pattern = folder_of(fault.object);
    const std::string_view folder = folder_of(at.seen.object);
    const bool is_named = is_one_name(pattern) && matches(pattern, folder);
    return at.is_own_folder || is_named
               ? ""
               : fmt::format("{} was there before; give its whole name, if it may be closed",
                             pattern_of(folder));
  }
  if (fault.strike == Strike::outsider && !at.is_own_name && !is_one_name(fault.object)) {
    return fmt::format("{} was there before, or may be; give its whole name, if it may be touched",
                       pattern_of(at.seen.object));
  }
  return "";
}

bool Striker::kills(std::size_t fault) const noexcept {
  const Strike strike = faults_[fault].strike;
  return strike == Strike::kill || strike == Strike::kill_after || strike == Strike::kill_amid ||
         strike == Strike::kill_tree;
}

bool Striker::lets_be_made(std::size_t fault) const noexcept {
  const Strike strike = faults_[fault].strike;
  return strike != Strike::fail && strike != Strike::kill && strike != Strike::kill_tree;
}

bool Striker::has_stopped_somebody() const noexcept {
  return std::ranges::any_of(held_, [](const Held& each) { return each.stopped != 0; });
}

bool Striker::strike(std::size_t fault, const StoppedCall& at) {
  const bool done = does(fault, at);
  struck_[fault] = struck_[fault] || done;
  if (done && ++strikes_[fault] == 1) {
    first_struck_[fault] =
        fmt::format("{}/{}({})", at.seen.role, at.seen.call, pattern_of(at.seen.object));
    if (faults_[fault].deed == Deed::closes_folder && ignores_rights(at.who.process)) {
      first_struck_[fault] += ", by EACCES from us, as its process may ignore rights";
    }
  }
  // An outsider's action does not answer the call.
  return done && faults_[fault].strike != Strike::outsider;
}

std::vector<std::string> Striker::struck_at() const {
  std::vector<std::string> all = first_struck_;
  for (std::size_t fault = 0; fault < all.size(); ++fault) {
    all[fault] += strikes_[fault] > 1 ? fmt::format(", and {} more", strikes_[fault] - 1) : "";
  }
  return all;
}

bool Striker::does(std::size_t index, const StoppedCall& at) {
  const TreeFault& fault = faults_[index];
  switch (fault.strike) {
    case Strike::fail:
      return notifier_->fail(at.call.id, fault.error);
    case Strike::kill:
      kill(at.who.process);
      return true;
    case Strike::kill_tree:
      killed_.insert(at.who.process);
      kill_descendants(strangers_);
      return true;
    case Strike::kill_after:
      return kill_after(at.call, at.who.process);
    case Strike::shorten:
    case Strike::kill_amid:
      return cut(index, at);
    case Strike::pause:
    case Strike::stop:
      return hold(fault, at);
    case Strike::outsider:
      return outsider_does(index, at);
  }
  return false;
}

bool Striker::cut(std::size_t fault, const StoppedCall& at) {
  const std::int64_t written = write_half(at.call, at.row, at.who.process);
  if (written <= 0) {
    reasons_[fault] = "its bytes could not be written at once";
    return false;
  }
  if (faults_[fault].strike == Strike::kill_amid) {
    kill(at.who.process);  // The process never returns from the call.
    return true;
  }
  return notifier_->give(at.call.id, written);
}

bool Striker::hold(const TreeFault& fault, const StoppedCall& at) {
  last_call_at_ = seconds_now();
  if (fault.strike == Strike::pause) {
    held_.push_back({.id = at.call.id, .since = last_call_at_});
    return true;
  }
  held_.push_back({.stopped = at.who.process, .since = last_call_at_});
  ::kill(at.who.process, SIGSTOP);
  return notifier_->let_go(at.call.id);
}

void Striker::kill(int process) {
  killed_.insert(process);
  ::kill(process, SIGKILL);
}

/// The thread stops when the call is over, before it executes any instruction of its own. Its
/// process is killed when we see the stop; until then the thread does nothing.
bool Striker::kill_after(const Notification& call, int process) {
  constexpr std::uintptr_t tells_calls = PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC;
  const bool will_stop =
      ::ptrace(PTRACE_SEIZE, call.thread, nullptr, std::bit_cast<void*>(tells_calls)) == 0 &&
      ::ptrace(PTRACE_INTERRUPT, call.thread, nullptr, nullptr) == 0;
  if (will_stop) {
    doomed_[call.thread] = process;
    notifier_->let_go(call.id);
  }
  return will_stop;
}

void Striker::stopped(int thread) {
  auto doomed = doomed_.find(thread);
  if (doomed == doomed_.end()) {
    // A thread that calls exec gets the number of its process.
    doomed =
        std::ranges::find_if(doomed_, [thread](const auto& each) { return each.second == thread; });
  }
  if (doomed == doomed_.end()) {
    ::ptrace(PTRACE_DETACH, thread, nullptr, nullptr);
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
    ::ptrace(PTRACE_SYSCALL, thread, nullptr, nullptr);
    return;
  }
  kill(doomed->second);
}

/// We write to the open file, which the process shares; the call returns the number of bytes
/// written.
std::int64_t Striker::write_half(const Notification& call, const SyscallRow& row, int process) {
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
bool Striker::plant(Deed deed, const std::string& path) {
  const std::string beside = path + ".outsider";
  struct stat status {};
  std::error_code error;
  if (is_there(beside)) {
    errno = EEXIST;
    return false;  // It belongs to a stranger.
  }
  if (deed == Deed::plants_link) {
    std::filesystem::create_symlink(beside + ".nowhere", beside, error);
  } else if (!(std::ofstream(beside) << "somebody else's\n")) {
    return false;
  }
  if (error || ::lstat(beside.c_str(), &status) != 0 ||
      ::rename(beside.c_str(), path.c_str()) != 0) {
    ::unlink(beside.c_str());
    return false;
  }
  touched_.push_back({.path = path, .device = status.st_dev, .inode = status.st_ino});
  return true;
}

bool Striker::take_rights(const std::string& path) {
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
bool Striker::close_folder(const StoppedCall& at) {
  const std::string folder(folder_of(at.seen.object));
  const bool is_closed = ignores_rights(at.who.process) ? is_there(folder) : take_rights(folder);
  if (is_closed) {
    closed_.push_back(folder);
  }
  return is_closed;
}

bool Striker::keeps_out(const StoppedCall& at) {
  const auto is_below = [&](const std::string& folder) {
    const auto is_in = [&](const std::string& name) { return name.starts_with(folder + '/'); };
    const bool opens_it = at.row.flags >= 0 && at.seen.object == folder;
    return at.row.first.path >= 0 && (opens_it || is_in(at.seen.object) || is_in(at.seen.second));
  };
  return std::ranges::any_of(closed_, is_below) && ignores_rights(at.who.process) &&
         notifier_->fail(at.call.id, EACCES);
}

bool Striker::outsider_does(std::size_t fault, const StoppedCall& at) {
  if (!notifier_->is_waiting(at.call.id)) {
    return false;
  }
  const std::string& path = at.seen.object;
  const Deed deed = faults_[fault].deed;
  errno = 0;
  const bool done = deed == Deed::unlinks         ? ::remove(path.c_str()) == 0
                    : deed == Deed::truncates     ? ::truncate(path.c_str(), 0) == 0
                    : deed == Deed::takes_rights  ? take_rights(path)
                    : deed == Deed::closes_folder ? close_folder(at)
                                                  : plant(deed, path);
  if (!done) {
    reasons_[fault] = fmt::format("{}: {}", pattern_of(path), ::strerrordesc_np(errno));
  }
  return done;
}

void Striker::look(double now) {
  std::erase_if(held_, [&](const Held& each) {
    const bool is_over = now - last_call_at_ >= quiet || now - each.since >= held_max;
    if (is_over && each.stopped != 0) {
      ::kill(each.stopped, SIGCONT);
    } else if (is_over) {
      notifier_->let_go(each.id);
    }
    return is_over;
  });
}

}  // namespace lastref::harness::warden
