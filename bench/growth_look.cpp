#include "bench/growth_look.hpp"

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

namespace lastref::bench {
namespace {

namespace fs = std::filesystem;

constexpr int pause_ms = 10;
constexpr int quiet_looks = 6;         // with the same result mean that all is quiet
constexpr int looks_max = 6000;        // a minute
constexpr int answer_looks_max = 300;  // three seconds
constexpr std::uint64_t kibibyte = 1024;
constexpr std::uint64_t block = 512;

void wait_a_little() {
  static_cast<void>(::poll(nullptr, 0, pause_ms));
}

/// The text of a file of a process that may end meanwhile: as much as can be read.
std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text, '\xff');
  return text;
}

template <typename Iterator, typename Act>
void for_each_in(const fs::path& folder, Act act) {
  std::error_code error;
  for (Iterator at(folder, error); at != Iterator(); at.increment(error)) {
    act(at->path());
  }
}

struct Found {
  fs::path proc;
  std::string what;
};

/// The role of a process, if it is one of ours.
std::optional<std::string> what_is(const fs::path& proc, const std::string& folder) {
  const std::string line = text_of(proc / "cmdline");
  if (line.find(folder) == std::string::npos) {
    return std::nullopt;
  }
  const std::size_t begin = line.find('\0') + 1;
  const std::string entry = line.substr(begin, line.find('\0', begin) - begin);
  return entry == "--kind" ? "program" : entry == "--receive" ? "receiver" : entry;
}

std::vector<Found> processes_of(const std::string& folder) {
  std::vector<Found> all;
  for_each_in<fs::directory_iterator>("/proc", [&](const fs::path& proc) {
    const std::string name = proc.filename();
    if (std::ranges::all_of(name, [](char each) { return each >= '0' && each <= '9'; })) {
      if (auto what = what_is(proc, folder)) {
        all.push_back({.proc = proc, .what = *std::move(what)});
      }
    }
  });
  return all;
}

/// Nanoseconds on a processor, summed over all threads.
std::uint64_t spent_by(const std::vector<Found>& processes) {
  std::uint64_t sum = 0;
  for (const Found& each : processes) {
    for_each_in<fs::directory_iterator>(each.proc / "task", [&](const fs::path& thread) {
      std::ifstream file(thread / "schedstat");
      std::uint64_t spent = 0;
      file >> spent;
      sum += spent;
    });
  }
  return sum;
}

fs::path answer_of(const std::string& folder, const std::string& process) {
  return folder + "/live-" + process;
}

/// Waits until a process reports its live bytes; 0 if it ends meanwhile.
std::uint64_t ask_for_live(const std::string& folder, const std::string& process) {
  const fs::path answer = answer_of(folder, process);
  if (::kill(std::stoi(process), SIGUSR1) != 0) {
    return 0;
  }
  for (int look = 0; look < answer_looks_max && !fs::exists(answer); ++look) {
    wait_a_little();
  }
  std::uint64_t live = 0;
  std::ifstream(answer) >> live;
  std::error_code error;
  fs::remove(answer, error);
  return live;
}

ProcessLook look_at_process(const std::string& folder, const fs::path& proc) {
  ProcessLook look;
  look.live = ask_for_live(folder, proc.filename());
  std::ifstream file(proc / "smaps_rollup");
  for (std::string word; file >> word;) {
    if (word == "Anonymous:") {
      file >> look.anonymous;
    } else if (word == "Private_Dirty:") {
      file >> look.dirty;
    }
  }
  look.anonymous *= kibibyte;
  look.dirty *= kibibyte;
  for_each_in<fs::directory_iterator>(proc / "fd", [&](const fs::path&) { ++look.descriptors; });
  return look;
}

void wait_until_quiet(const std::string& folder) {
  std::uint64_t before = 0;
  int same = 0;
  for (int look = 0; look < looks_max && same < quiet_looks; ++look) {
    const std::uint64_t now = spent_by(processes_of(folder));
    same = now == before ? same + 1 : 0;
    before = now;
    wait_a_little();
  }
}

}  // namespace

Look look_at(const std::string& folder) {
  wait_until_quiet(folder);
  Look look;
  for (const Found& each : processes_of(folder)) {
    const ProcessLook seen = look_at_process(folder, each.proc);
    ProcessLook& most = look.processes[each.what];
    most.anonymous = std::max(most.anonymous, seen.anonymous);
    most.dirty = std::max(most.dirty, seen.dirty);
    most.descriptors = std::max(most.descriptors, seen.descriptors);
    most.live = std::max(most.live, seen.live);
  }
  look.files = files_in(folder);
  for_each_in<fs::recursive_directory_iterator>(folder, [&](const fs::path& path) {
    struct stat status {};
    if (path.filename() == "ledger" && ::stat(path.c_str(), &status) == 0) {
      look.ledger += static_cast<std::uint64_t>(status.st_blocks) * block;
    }
  });
  return look;
}

std::uint64_t files_in(const std::string& folder) {
  std::uint64_t count = 0;
  for (const char* const each : folders_of_growth) {
    for_each_in<fs::recursive_directory_iterator>(folder + "/" + each,
                                                  [&](const fs::path&) { ++count; });
  }
  return count;
}

void answer_looks(const std::string& folder) {
  ::sigset_t asked;
  ::sigemptyset(&asked);
  ::sigaddset(&asked, SIGUSR1);
  ::pthread_sigmask(SIG_BLOCK, &asked, nullptr);
  const std::string answer = answer_of(folder, std::to_string(::getpid()));
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
  for (int look = 0; look < looks_max; ++look) {
    if (processes_of(folder).empty()) {
      return true;
    }
    wait_a_little();
  }
  return false;
}

}  // namespace lastref::bench
