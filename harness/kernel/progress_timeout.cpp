#include "harness/kernel/progress_timeout.hpp"

#include <unistd.h>

#include <algorithm>

#include "harness/platform/child_process.hpp"
#include "harness/platform/proc.hpp"

namespace lastref::harness {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds look_every{10};

struct ThreadStatus {
  char state = 'X';
  milliseconds used{};
};

/// Reports a thread that has exited as dead.
ThreadStatus status_of_thread(os::Pid process, os::Pid thread) {
  const std::string text =
      read_file("/proc/" + std::to_string(process) + "/task/" + std::to_string(thread) + "/stat");
  const std::string_view state = stat_field_in(text, 3);
  if (state.empty()) {
    return {};
  }
  const auto time = [&text](int field) {
    return number_in<long>(stat_field_in(text, field)).value_or(0);
  };
  static const long ticks_a_second = ::sysconf(_SC_CLK_TCK);
  const long used = time(14) + time(15);  // In user code and in the kernel
  return {.state = state.front(), .used = milliseconds(used * 1000 / ticks_a_second)};
}

}  // namespace

Doing doing_of(std::span<const os::Pid> processes) {
  Doing all;
  for (const os::Pid process : processes) {
    for (const os::Pid thread : threads_of(process)) {
      const ThreadStatus one = status_of_thread(process, thread);
      all.could_go_on |= one.state == 'R' || one.state == 'D';
      all.used += one.used;
    }
    const Doing below = doing_of(children_of(process));
    all.could_go_on |= below.could_go_on;
    all.used += below.used;
  }
  return all;
}

bool is_stopped(os::Pid process) {
  return std::ranges::all_of(threads_of(process), [process](os::Pid thread) {
    const char state = state_of(process, thread);
    return state == 'T' || state == 'Z' || state == 'X';
  });
}

std::string ProgressTimeout::ends_with(const Doing& doing) {
  if (!wants_to_know()) {
    return {};
  }
  if (used_before_ < milliseconds(0)) {
    used_before_ = doing.used;
  }
  if (doing.used - used_before_ >= at_work) {
    return "20 seconds of processor time without a call";
  }
  if (!doing.could_go_on) {
    return "no call for 20 seconds, and nobody could go on";
  }
  return waited_ >= at_most ? "no call for 15 minutes" : "";
}

bool wait_dead(os::Pid child) {
  ProgressTimeout timeout;
  bool dead = false;
  bool over = false;
  while (!dead && !over) {
    dead = is_dead(child, look_every);
    timeout.wait(look_every);
    over = timeout.wants_to_know() && !timeout.ends_with(doing_of({{child}})).empty();
  }
  return dead;
}

}  // namespace lastref::harness
