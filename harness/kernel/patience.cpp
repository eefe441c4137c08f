#include "harness/kernel/patience.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "harness/platform/child_process.hpp"

namespace lastref::harness {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds look_every{10};

std::string text_of(const fs::path& file) {
  std::ostringstream text;
  text << std::ifstream(file).rdbuf();
  return std::move(text).str();
}

std::vector<fs::path> threads_of(os::Pid process) {
  std::vector<fs::path> threads;
  std::error_code gone;
  const fs::path folder = "/proc/" + std::to_string(process) + "/task";
  for (fs::directory_iterator at(folder, gone), end; !gone && at != end; at.increment(gone)) {
    threads.push_back(at->path());
  }
  return threads;
}

struct ThreadStatus {
  char state = 'X';
  milliseconds used{};
};

/// Reports a thread that has exited as dead. proc(5): the state is field 3, user and system time
/// are fields 14 and 15.
ThreadStatus status_of_thread(const fs::path& thread) {
  const std::string text = text_of(thread / "stat");
  const std::size_t name_ends = text.rfind(')');  // The name may contain any other characters.
  if (name_ends == std::string::npos) {
    return {};
  }
  constexpr int between = 10;
  std::istringstream fields(text.substr(name_ends + 1));
  ThreadStatus status;
  fields >> status.state;
  std::string skipped;
  for (int field = 0; field < between; ++field) {
    fields >> skipped;
  }
  long user = 0;
  long system = 0;
  fields >> user >> system;
  static const long ticks_a_second = ::sysconf(_SC_CLK_TCK);
  status.used = milliseconds((user + system) * 1000 / ticks_a_second);
  return status;
}

}  // namespace

std::vector<os::Pid> children_of(os::Pid process) {
  std::vector<os::Pid> children;
  for (const fs::path& thread : threads_of(process)) {
    std::ifstream file(thread / "children");
    for (os::Pid child = 0; file >> child;) {
      children.push_back(child);
    }
  }
  return children;
}

Doing doing_of(std::span<const os::Pid> processes) {
  Doing all;
  for (const os::Pid process : processes) {
    for (const fs::path& thread : threads_of(process)) {
      const ThreadStatus one = status_of_thread(thread);
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
  return std::ranges::all_of(threads_of(process), [](const fs::path& thread) {
    const char state = status_of_thread(thread).state;
    return state == 'T' || state == 'Z' || state == 'X';
  });
}

std::string Patience::ends_with(const Doing& doing) {
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

bool is_dead(os::Pid pid, milliseconds patience) noexcept {
  const UniqueFd process = open_pidfd(pid);
  if (!process) {
    return true;  // Dead and reaped.
  }
  pollfd item{.fd = process.get(), .events = POLLIN, .revents = 0};
  return ::poll(&item, 1, static_cast<int>(patience.count())) == 1;
}

bool outwait(os::Pid child) {
  Patience patience;
  bool dead = false;
  bool over = false;
  while (!dead && !over) {
    dead = is_dead(child, look_every);
    patience.wait(look_every);
    over = patience.wants_to_know() && !patience.ends_with(doing_of({{child}})).empty();
  }
  return dead;
}

}  // namespace lastref::harness
