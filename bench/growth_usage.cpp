#include "bench/growth_usage.hpp"

#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "bench/growth_kinds.hpp"
#include "harness/platform/folder.hpp"
#include "harness/platform/proc.hpp"

namespace lastref::bench {
namespace {

namespace fs = std::filesystem;

using harness::number_in;
using harness::numbers_in;
using harness::read_file;

constexpr int pause_ms = 10;
constexpr int quiet_checks = 6;         // with the same result mean that all is quiet
constexpr int checks_max = 6000;        // a minute
constexpr int answer_checks_max = 300;  // three seconds
constexpr std::uint64_t kibibyte = 1024;
constexpr std::uint64_t block = 512;

std::string proc_path(int process, const std::string& file) {
  return "/proc/" + std::to_string(process) + "/" + file;
}

void wait_a_little() {
  static_cast<void>(::poll(nullptr, 0, pause_ms));
}

struct Found {
  int process = 0;
  std::string what;
};

/// The role of a process, if it is one of ours.
std::optional<std::string> what_is(int process, const std::string& folder) {
  const std::string line = read_file(proc_path(process, "cmdline"));
  if (line.find(folder) == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t begin = line.find('\0') + 1;
  const std::string entry = line.substr(begin, line.find('\0', begin) - begin);
  return entry == "--kind" ? "program" : entry == "--receive" ? "receiver" : entry;
}

std::vector<Found> processes_of(const std::string& folder) {
  std::vector<Found> all;
  for (const int process : numbers_in("/proc")) {
    if (auto what = what_is(process, folder)) {
      all.push_back({.process = process, .what = *std::move(what)});
    }
  }
  return all;
}

/// Nanoseconds on a processor, summed over all threads.
std::uint64_t spent_by(const std::vector<Found>& processes) {
  std::uint64_t sum = 0;
  for (const Found& each : processes) {
    for (const int thread : harness::threads_of(each.process)) {
      const std::string path = "task/" + std::to_string(thread) + "/schedstat";
      sum += number_in<std::uint64_t>(read_file(proc_path(each.process, path))).value_or(0);
    }
  }
  return sum;
}

fs::path answer_of(const std::string& folder, int process) {
  return folder + "/live-" + std::to_string(process);
}

/// Waits until a process reports its live bytes; 0 if it ends meanwhile.
std::uint64_t ask_for_live(const std::string& folder, int process) {
  const fs::path answer = answer_of(folder, process);
  if (::kill(process, SIGUSR1) != 0) {
    return 0;
  }
  for (int check = 0; check < answer_checks_max && !fs::exists(answer); ++check) {
    wait_a_little();
  }
  std::uint64_t live = 0;
  std::ifstream(answer) >> live;
  std::error_code error;
  fs::remove(answer, error);
  return live;
}

ProcessUsage usage_of_process(const std::string& folder, int process) {
  const std::uint64_t live = ask_for_live(folder, process);
  const std::string rollup = read_file(proc_path(process, "smaps_rollup"));
  const auto bytes = [&](std::string_view field) {
    return kibibyte * number_in<std::uint64_t>(harness::field_in(rollup, field)).value_or(0);
  };
  return {.anonymous = bytes("Anonymous"),
          .dirty = bytes("Private_Dirty"),
          .descriptors = numbers_in(proc_path(process, "fd")).size(),
          .live = live};
}

void wait_until_quiet(const std::string& folder) {
  std::uint64_t before = 0;
  int same = 0;
  for (int check = 0; check < checks_max && same < quiet_checks; ++check) {
    const std::uint64_t now = spent_by(processes_of(folder));
    same = now == before ? same + 1 : 0;
    before = now;
    wait_a_little();
  }
}

}  // namespace

TreeUsage usage_of(const std::string& folder) {
  wait_until_quiet(folder);
  TreeUsage usage;
  for (const Found& each : processes_of(folder)) {
    const ProcessUsage seen = usage_of_process(folder, each.process);
    ProcessUsage& most = usage.processes[each.what];
    most.anonymous = std::max(most.anonymous, seen.anonymous);
    most.dirty = std::max(most.dirty, seen.dirty);
    most.descriptors = std::max(most.descriptors, seen.descriptors);
    most.live = std::max(most.live, seen.live);
  }
  usage.files = files_in(folder);
  for (const fs::path& path : harness::entries_below(folder)) {
    struct stat status {};
    if (path.filename() == "ledger" && ::stat(path.c_str(), &status) == 0) {
      usage.ledger += static_cast<std::uint64_t>(status.st_blocks) * block;
    }
  }
  return usage;
}

std::uint64_t files_in(const std::string& folder) {
  std::uint64_t count = 0;
  for (const char* const each : folders_of_growth) {
    count += harness::entries_below(folder + "/" + each).size();
  }
  return count;
}

void answer_usage_requests(const std::string& folder) {
  ::sigset_t asked;
  ::sigemptyset(&asked);
  ::sigaddset(&asked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &asked, nullptr);
  const std::string answer = answer_of(folder, ::getpid());
  std::thread([asked, answer, part = answer + ".part"] {
    for (;;) {
      int signal = 0;
      if (::sigwait(&asked, &signal) != 0) {
        continue;
      }
      ::malloc_trim(0);
      // This code allocates no memory.
      std::array<char, 32> digits{};
      const auto end = std::to_chars(digits.begin(), digits.end(), live_bytes()).ptr;
      const int fd = ::open(part.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
      const auto size = static_cast<std::size_t>(end - digits.begin());
      const bool is_said = ::write(fd, digits.data(), size) > 0;
      ::close(fd);
      if (is_said) {
        ::rename(part.c_str(), answer.c_str());
      }
    }
  }).detach();
}

bool are_all_gone(const std::string& folder) {
  for (int check = 0; check < checks_max; ++check) {
    if (processes_of(folder).empty()) {
      return true;
    }
    wait_a_little();
  }
  return false;
}

}  // namespace lastref::bench
