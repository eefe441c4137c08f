#include "harness/warden/striker.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/user.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include <climits>
#include <fmt/format.h>

#include "harness/explore/jobs.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/likely_errors.hpp"
#include "harness/warden/names_ledger.hpp"
#include "harness/warden/peek.hpp"

namespace lastref::harness::warden {
namespace {

/// Nobody does anything when no call has stopped for so long; or it has been long enough. Seconds
constexpr double quiet = 0.1;
constexpr double held_max = 2;

std::uint64_t argument(const Notification& call, int at) {
  return call.arguments[static_cast<std::size_t>(at)];
}

/// The descriptor of another process, as one of ours; -1: it cannot be had.
int copy_of(int process, int descriptor) {
  const auto who = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  const auto copy = static_cast<int>(::syscall(SYS_pidfd_getfd, who, descriptor, 0));
  ::close(who);
  return copy;
}

/// Bytes that may be written to it at once, and nobody has to read any for that.
std::size_t free_space_of(int descriptor) {
  struct stat status {};
  if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) {
    return SIZE_MAX;
  }
  pollfd item{.fd = descriptor, .events = POLLOUT, .revents = 0};
  return ::poll(&item, 1, 0) == 1 && item.revents == POLLOUT ? PIPE_BUF : 0;
}

bool is_cut(Strike strike) noexcept {
  return strike == Strike::shorten || strike == Strike::kill_amid;
}

}  // namespace

void kill_descendants(const std::vector<int>& but) {
  // Each of them may just have had another one.
  constexpr int passes_max = 1000;
  std::set<int> killed;
  for (int pass = 0; pass < passes_max; ++pass) {
    const std::size_t before = killed.size();
    for (const int process : descendants(but)) {
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
      reasons_(faults.size()) {}

void Striker::clean_up() noexcept {
  for (const Planted& each : planted_) {
    struct stat status {};
    if (::lstat(each.path.c_str(), &status) == 0 && status.st_dev == each.device &&
        status.st_ino == each.inode) {
      ::unlink(each.path.c_str());
    }
  }
}

bool Striker::is_at(std::string_view call) const noexcept {
  return std::ranges::find(faults_, call, &TreeFault::call) != faults_.end();
}

bool Striker::asks_for_object(std::string_view call) const noexcept {
  return std::ranges::any_of(faults_, [&](const TreeFault& fault) {
    const bool knows_place = fault.strike == Strike::fail || fault.strike == Strike::outsider;
    return fault.call == call && (fault.object != "*" || knows_place);
  });
}

bool Striker::fits(const TreeFault& fault, const Notification& call, const CallSeen& seen) const {
  if (fault.call != seen.call || !matches(fault.role, seen.role) ||
      !matches(fault.object, seen.object)) {
    return false;
  }
  // Of one byte there is no half.
  return !is_cut(fault.strike) || argument(call, syscall_numbered(call.number)->size) > 1;
}

const TreeFault* Striker::next(const Notification& call, const CallSeen& seen) {
  if (!held_.empty()) {
    last_call_at_ = seconds_now();
  }
  const TreeFault* first = nullptr;
  for (std::size_t at = 0; at < faults_.size(); ++at) {
    const TreeFault& fault = faults_[at];
    if (!fits(fault, call, seen)) {
      continue;
    }
    const std::uint64_t hit = ++hits_[at];
    if (first == nullptr && hit >= fault.k && hit <= fault.last) {
      first = &fault;
    }
  }
  return first;
}

bool Striker::lets_be_made(const TreeFault& fault) noexcept {
  return fault.strike != Strike::fail && fault.strike != Strike::kill &&
         fault.strike != Strike::kill_tree;
}

std::string& Striker::reason_of(const TreeFault& fault) {
  return reasons_[static_cast<std::size_t>(&fault - faults_.data())];
}

bool Striker::strike(const TreeFault& fault, const StoppedCall& at) {
  const bool done = does(fault, at);
  const auto index = static_cast<std::size_t>(&fault - faults_.data());
  struck_[index] = struck_[index] || done;
  // What an outsider does is no answer.
  return done && fault.strike != Strike::outsider;
}

bool Striker::does(const TreeFault& fault, const StoppedCall& at) {
  switch (fault.strike) {
    case Strike::fail:
      return fail(fault, at);
    case Strike::kill:
      kill(at.who.process);
      return true;
    case Strike::kill_tree:
      killed_.insert(at.who.process);
      kill_descendants();
      return true;
    case Strike::kill_after:
      return kill_after(at.call, at.who.process);
    case Strike::shorten:
    case Strike::kill_amid:
      return cut(fault, at);
    case Strike::pause:
    case Strike::stop:
      return hold(fault, at);
    case Strike::outsider:
      return outsider_does(fault.deed, at.call, at.seen.object);
  }
  return false;
}

bool Striker::fail(const TreeFault& fault, const StoppedCall& at) {
  const Where where = where_is(at.seen.object);
  if (!takes_unlikely_ && !is_likely(at.seen.call, fault.error, where)) {
    reason_of(fault) =
        fmt::format("{} gives no such error; --unlikely strikes all the same", name_of(where));
    return false;
  }
  return notifier_->fail(at.call.id, fault.error);
}

bool Striker::cut(const TreeFault& fault, const StoppedCall& at) {
  const std::int64_t written = write_half(at.call, at.row, at.who.process);
  if (written <= 0) {
    reason_of(fault) = "its bytes could not be written at once";
    return false;
  }
  if (fault.strike == Strike::kill_amid) {
    kill(at.who.process);  // It never comes back from the call.
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

/// The thread goes into a stop when the call is over, before any instruction of its own. Its
/// process dies there, when it is seen; until then it does nothing.
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
    // When a thread becomes another program, it gets the number of its process.
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
    // It had to wait, and makes the call again; or is about to.
    ::ptrace(PTRACE_SYSCALL, thread, nullptr, nullptr);
    return;
  }
  kill(doomed->second);
}

/// By us, to the open file that is theirs, too; who made the call is told how much it was.
std::int64_t Striker::write_half(const Notification& call, const SyscallRow& row, int process) {
  const int copy = copy_of(process, static_cast<int>(argument(call, row.descriptor)));
  if (copy < 0) {
    return 0;
  }
  std::vector<char> bytes(
      std::min<std::size_t>({argument(call, row.size) / 2, free_space_of(copy), 1U << 24}));
  ssize_t written = -1;
  const auto size = static_cast<ssize_t>(bytes.size());
  if (size > 0 &&
      read_memory(call.thread, argument(call, row.size - 1), bytes.data(), bytes.size()) == size &&
      notifier_->is_waiting(call.id)) {
    written =
        row.offset < 0
            ? ::write(copy, bytes.data(), bytes.size())
            : ::pwrite(
                  copy, bytes.data(), bytes.size(), static_cast<off_t>(argument(call, row.offset)));
  }
  ::close(copy);
  return written;
}

/// Instead of what has the name, if anything has.
bool Striker::plant(Deed deed, const std::string& path) {
  const std::string beside = path + ".outsider";
  struct stat status {};
  std::error_code error;
  if (is_there(beside)) {
    return false;  // A stranger's
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
  planted_.push_back({.path = path, .device = status.st_dev, .inode = status.st_ino});
  return true;
}

bool Striker::outsider_does(Deed deed, const Notification& call, const std::string& object) {
  if (!object.starts_with('/') || !notifier_->is_waiting(call.id)) {
    return false;
  }
  std::error_code error;
  switch (deed) {
    case Deed::none:
      return false;
    case Deed::unlinks:
      return std::filesystem::remove(object, error);
    case Deed::truncates:
      return ::truncate(object.c_str(), 0) == 0;
    case Deed::takes_rights:
      return ::chmod(object.c_str(), 0) == 0;
    case Deed::replaces:
    case Deed::plants_link:
      return plant(deed, object);
  }
  return false;
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
