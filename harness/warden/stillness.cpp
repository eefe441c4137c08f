#include "harness/warden/stillness.hpp"

#include <linux/futex.h>
#include <seccomp.h>
#include <sys/syscall.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "harness/warden/peek.hpp"

namespace lastref::harness::warden {
namespace {

/// The call that a thread is in. proc(5), /proc/PID/syscall
struct InCall {
  int number = -1;  ///< -1: it is in none.
  std::array<std::uint64_t, 6> arguments{};
};

std::string line_of(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// 'S'; ' ': it is gone.
char state_of(int process, int thread) {
  const std::string stat = line_of(fmt::format("/proc/{}/task/{}/stat", process, thread));
  const std::size_t end = stat.rfind(") ");
  return end == std::string::npos || end + 2 >= stat.size() ? ' ' : stat[end + 2];
}

/// Nothing: it runs, or may not be looked at.
std::optional<InCall> call_of(int process, int thread) {
  std::istringstream words(line_of(fmt::format("/proc/{}/task/{}/syscall", process, thread)));
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

/// Whether time, or a signal that may be one of a clock, ends it.
bool ends_by_itself(const InCall& call) {
  const auto& a = call.arguments;
  switch (call.number) {
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
    case SYS_pause:
    case SYS_rt_sigsuspend:
    case SYS_rt_sigtimedwait:
      return true;
    case SYS_poll:
      return static_cast<int>(a[2]) >= 0;
    case SYS_ppoll:
      return a[2] != 0;
    case SYS_select:
    case SYS_pselect6:
      return a[4] != 0;
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
      return static_cast<int>(a[3]) >= 0;
    case SYS_epoll_pwait2:
      return a[3] != 0;
    case SYS_futex: {
      const int what = static_cast<int>(a[1]) & FUTEX_CMD_MASK;
      return what != FUTEX_LOCK_PI && a[3] != 0;
    }
    case SYS_semtimedop:
      return a[3] != 0;
    case SYS_mq_timedsend:
    case SYS_mq_timedreceive:
      return a[4] != 0;
    default:
      return false;
  }
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

/// It looks at many descriptors, or at none that it names.
bool looks_at_many(int number) {
  switch (number) {
    case SYS_poll:
    case SYS_ppoll:
    case SYS_select:
    case SYS_pselect6:
    case SYS_epoll_wait:
    case SYS_epoll_pwait:
    case SYS_epoll_pwait2:
      return true;
    default:
      return false;
  }
}

bool is_local_socket(int process, const std::string& object) {
  const std::string inode = object.substr(8, object.size() - 9);
  std::ifstream sockets(fmt::format("/proc/{}/net/unix", process));
  for (std::string line; std::getline(sockets, line);) {
    if (line.find(' ' + inode + ' ') != std::string::npos || line.ends_with(' ' + inode)) {
      return true;
    }
  }
  return false;
}

/// Whether somebody who is not of the tree may be at its other end.
bool is_outside(int process, const std::string& object, const std::set<std::string>& outside) {
  if (object.starts_with("pipe:")) {
    return outside.contains(object);
  }
  if (object.starts_with("socket:")) {
    return outside.contains(object) || !is_local_socket(process, object);
  }
  const bool is_clock = object.find("timerfd") != std::string::npos;
  const bool is_told = object.find("signalfd") != std::string::npos ||
                       object.find("inotify") != std::string::npos ||
                       object.find("fanotify") != std::string::npos;
  return is_clock || is_told || object.starts_with("/dev/") || object.starts_with("/proc/");
}

bool hears_from_outside(int process,
                        const InCall& call,
                        const std::string& object,
                        const std::set<std::string>& outside) {
  if (!looks_at_many(call.number)) {
    return !object.empty() && is_outside(process, object, outside);
  }
  // Which of them it is: all that the process has open are possible, but for the last two, which it
  // only writes to.
  std::error_code error;
  const std::string folder = fmt::format("/proc/{}/fd", process);
  for (const auto& each : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = each.path().filename();
    const std::string what = descriptor_at(process, std::atoi(name.c_str()));
    const bool is_device = what.starts_with("/dev/null") || what.starts_with("/dev/shm/") ||
                           what.starts_with("/dev/urandom") || what.starts_with("/proc/");
    if (name != "1" && name != "2" && !is_device && is_outside(process, what, outside)) {
      return true;
    }
  }
  return false;
}

std::string name_of_call(int number) {
  char* const name = seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, number);
  std::string text = name == nullptr ? fmt::format("call {}", number) : name;
  std::free(name);
  return text;
}

/// What a thread does, and whether it goes on without help, or hears from others.
struct Look {
  Waiting what;
  bool goes_on = false;
};

Look look_at(int process, int thread, const std::set<std::string>& outside) {
  Look look{.what = {.process = process, .thread = thread, .call = {}, .object = {}, .inside = {}}};
  const char state = state_of(process, thread);
  look.what.inside = line_of(fmt::format("/proc/{}/task/{}/wchan", process, thread));
  if (state == 'T') {
    look.what.call = "a stop";
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
  }
  look.goes_on =
      ends_by_itself(*call) || hears_from_outside(process, *call, look.what.object, outside);
  return look;
}

/// All threads that live, until `says` is false.
template <typename Says>
bool of_all_threads(const std::vector<int>& processes, const Says& says) {
  for (const int process : processes) {
    std::error_code error;
    const std::string folder = fmt::format("/proc/{}/task", process);
    for (const auto& each : std::filesystem::directory_iterator(folder, error)) {
      const int thread = std::atoi(each.path().filename().c_str());
      const char state = state_of(process, thread);
      const bool is_dead = state == 'Z' || state == 'X' || state == ' ';
      if (!is_dead && !says(process, thread)) {
        return false;
      }
    }
  }
  return true;
}

}  // namespace

std::optional<std::vector<Waiting>> all_waiting(const std::vector<int>& processes,
                                                const std::set<std::string>& outside) {
  std::vector<Waiting> all;
  const bool nobody_goes_on = of_all_threads(processes, [&](int process, int thread) {
    Look look = look_at(process, thread, outside);
    all.push_back(std::move(look.what));
    return !look.goes_on;
  });
  return nobody_goes_on && !all.empty() ? std::optional(std::move(all)) : std::nullopt;
}

std::vector<Waiting> what_all_do(const std::vector<int>& processes) {
  std::vector<Waiting> all;
  of_all_threads(processes, [&](int process, int thread) {
    all.push_back(look_at(process, thread, {}).what);
    return true;
  });
  return all;
}

std::optional<std::vector<Waiting>> Stillness::look(const std::vector<int>& processes,
                                                    double seconds) {
  auto now = all_waiting(processes, outside_);
  if (!now || *now != before_) {
    before_ = now.value_or(std::vector<Waiting>());
    since_ = seconds;
    return std::nullopt;
  }
  return seconds - since_ >= std::chrono::duration<double>(patience).count() ? now : std::nullopt;
}

}  // namespace lastref::harness::warden
