#include "harness/warden/hang_detector.hpp"

#include <linux/futex.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/platform/names.hpp"
#include "harness/platform/proc.hpp"
#include "harness/warden/locks.hpp"
#include "harness/warden/proc_inspect.hpp"

namespace lastref::harness::warden {
namespace {

/// Absent: the thread runs, or may not be inspected.
std::optional<InCall> call_of(int process, int thread) {
  std::istringstream words(first_line_of(fmt::format("/proc/{}/task/{}/syscall", process, thread)));
  InCall call;
  if (!(words >> call.number)) {
    return std::nullopt;
  }
  for (std::uint64_t& argument : call.arguments) {
    std::string word;
    words >> word;
    argument = std::strtoull(word.c_str(), nullptr, 16);
  }
  return call;
}

/// Whether this shared-memory file has a name now, under which others may open it.
bool has_name(std::uint64_t inode) {
  std::error_code error;
  for (const auto& each : std::filesystem::directory_iterator("/dev/shm", error)) {
    struct stat status {};
    if (::lstat(each.path().c_str(), &status) == 0 && status.st_ino == inode) {
      return true;
    }
  }
  return false;
}

/// Whether only processes of the tree can have this memory: it is not shared, or its file has no
/// name. proc(5), maps
bool is_memory_inside(int process, std::uint64_t address) {
  const std::string text = read_file(fmt::format("/proc/{}/maps", process));
  for (const Mapping& each : mappings_in(text)) {
    if (address >= each.begin && address < each.end) {
      const bool is_gone = each.path.starts_with("/dev/") && each.path.ends_with(Mapping::removed);
      return each.rights.ends_with('p') || (is_gone && !has_name(each.inode));
    }
  }
  return false;
}

/// A lock between threads, or between processes in memory that they share, without a time limit.
/// futex(2)
bool waits_for_thread(int process, const InCall& call) {
  const int how = static_cast<int>(call.arguments[1]);
  const int what = how & FUTEX_CMD_MASK;
  const bool is_own = (how & FUTEX_PRIVATE_FLAG) != 0;
  return (what == FUTEX_LOCK_PI || what == FUTEX_LOCK_PI2 || call.arguments[3] == 0) &&
         (is_own || is_memory_inside(process, call.arguments[0]));
}

bool takes_descriptor(int number) {
  switch (number) {
    case SYS_read:
    case SYS_readv:
    case SYS_write:
    case SYS_writev:
    case SYS_accept:
    case SYS_accept4:
    case SYS_connect:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_sendto:
    case SYS_sendmsg:
    case SYS_flock:
    case SYS_fcntl:
    case SYS_ioctl:
      return true;
    default:
      return false;
  }
}

template <typename... Numbers>
std::uint64_t signals(Numbers... numbers) {
  return ((std::uint64_t{1} << static_cast<unsigned>(numbers - 1)) | ...);
}

/// All, if they cannot be seen.
std::uint64_t signals_caught_by(int process) {
  return bits_of_status(process, "SigCgt").value_or(~std::uint64_t{0});
}

/// Whether processes of the tree hold all locks that it waits for. The one that took a lock may be
/// dead, and the lock inherited.
bool waits_for_lock_inside(const InCall& call, Waiting& what, const Tree& tree) {
  const auto locks = locks_awaited(what.process, static_cast<int>(call.arguments[0]));
  if (locks.empty() || tree.outside.contains(what.object)) {
    return false;
  }
  for (const Lock& each : locks) {
    const std::vector<int> holders = holders_of(each, tree.processes);
    const bool is_inside =
        tree.ever.contains(each.process) || (each.process == -1 && !holders.empty());
    if (!is_inside) {
      return false;
    }
    what.holders.insert(what.holders.end(), holders.begin(), holders.end());
  }
  return true;
}

/// Whether each descriptor is waited for without a time limit, and only the tree can cause its
/// events. Notes their ends.
bool waits_for_ends_inside(const InCall& call, Waiting& what, const Tree& tree) {
  const std::vector<int> descriptors = descriptors_awaited(what.process, call);
  for (const int each : descriptors) {
    const auto ends = ends_inside(what.process, each, tree);
    if (!ends) {
      return false;
    }
    what.ends.insert(what.ends.end(), ends->begin(), ends->end());
  }
  const bool writes = takes_descriptor(call.number) && call.number != SYS_read &&
                      call.number != SYS_readv && call.number != SYS_recvfrom &&
                      call.number != SYS_recvmsg;
  what.holders = holders_of(what.ends, writes, tree.processes);
  return !descriptors.empty();
}

/// Whether only other processes of the tree can provide what the call waits for.
bool waits_inside(const InCall& call, Waiting& what, const Tree& tree) {
  if (has_time_limit(call)) {
    return false;
  }
  switch (call.number) {
    case SYS_wait4:
    case SYS_waitid:
      return true;
    case SYS_rt_sigsuspend:  // A shell's wait for its children. sigsuspend(2)
      return come_from_children(what.process, signals_caught_by(what.process));
    case SYS_rt_sigtimedwait:
      return come_from_children(what.process, word_at(what.process, call.arguments[0]));
    case SYS_semop:
    case SYS_semtimedop:
      return tree.semaphores.contains(static_cast<int>(call.arguments[0]));
    case SYS_flock:
    case SYS_fcntl:
      return waits_for_lock_inside(call, what, tree);
    case SYS_futex:
      return waits_for_thread(what.process, call);
    default:
      return waits_for_ends_inside(call, what, tree);
  }
}

/// Whether a signal from a clock, or from others, may end the waits of its threads.
bool hears_signals(int process) {
  const std::uint64_t of_others =
      signals(SIGHUP, SIGTERM, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGUSR1, SIGUSR2);
  return !first_line_of(fmt::format("/proc/{}/timers", process)).empty() ||
         (signals_caught_by(process) & of_others) != 0;
}

/// "eventfd, pipe"
std::string objects_of(int process, const std::vector<int>& descriptors) {
  std::set<std::string> objects;
  for (const int each : descriptors) {
    objects.insert(without_number(descriptor_at(process, each)));
  }
  return fmt::format("{}", fmt::join(objects, ", "));
}

/// What a thread does, and whether it runs without help or can be woken by others.
struct Look {
  Waiting what;
  bool goes_on = false;
};

Look look_at(int process, int thread, const Tree& tree) {
  Look look{.what = {.process = process, .thread = thread, .call = {}, .object = {}, .inside = {}}};
  const char state = state_of(process, thread);
  look.what.inside = first_line_of(fmt::format("/proc/{}/task/{}/wchan", process, thread));
  if (state == 'T') {
    look.what.call = "a stop";
    look.goes_on = true;  // The sender of the stop may continue it.
    return look;
  }
  const auto call = call_of(process, thread);
  if (state != 'S' || !call || call->number < 0) {
    look.what.call = "none";
    look.goes_on = true;
    return look;
  }
  look.what.call = name_of_call(call->number);
  if (takes_descriptor(call->number)) {
    look.what.object = descriptor_at(process, static_cast<int>(call->arguments[0]));
  } else {
    look.what.object = objects_of(process, descriptors_awaited(process, *call));
  }
  look.goes_on = !waits_inside(*call, look.what, tree) || tree.clocks.contains(process) ||
                 hears_signals(process);
  return look;
}

/// Calls `holds` for all threads that are not dead, until it returns false.
template <typename Predicate>
bool of_all_threads(const std::vector<int>& processes, const Predicate& holds) {
  for (const int process : processes) {
    for (const int thread : threads_of(process)) {
      const char state = state_of(process, thread);
      const bool is_dead = state == 'Z' || state == 'X';
      if (!is_dead && !holds(process, thread)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<Waiting>> all_waiting(const Tree& tree) {
  std::vector<Waiting> all;
  const bool nobody_goes_on = of_all_threads(tree.processes, [&](int process, int thread) {
    Look look = look_at(process, thread, tree);
    all.push_back(std::move(look.what));
    return !look.goes_on;
  });
  return nobody_goes_on && !all.empty() ? std::optional(std::move(all)) : std::nullopt;
}

std::vector<Waiting> what_all_do(const std::vector<int>& processes) {
  std::vector<Waiting> all;
  of_all_threads(processes, [&](int process, int thread) {
    all.push_back(look_at(process, thread, {.processes = processes}).what);
    return true;
  });
  return all;
}

std::set<std::string> ends_of(const std::vector<Waiting>& all) {
  std::set<std::string> ends;
  for (const Waiting& each : all) {
    ends.insert(each.ends.begin(), each.ends.end());
  }
  return ends;
}

bool all_blocked(const std::vector<Waiting>& all) noexcept {
  return !all.empty() && std::ranges::find(all, "none", &Waiting::call) == all.end();
}

bool HangDetector::persisted(std::optional<std::vector<Waiting>> all, double seconds) {
  if (!all || all != before_) {
    before_ = std::move(all);
    since_ = seconds;
    return false;
  }
  return seconds - since_ >= patience_.count();
}

}  // namespace lastref::harness::warden
