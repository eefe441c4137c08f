#include "bench/growth_look.hpp"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <thread>
#include <vector>

namespace lastref::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds pause{10};
constexpr int quiet_looks = 6;   // that show the same, and all is quiet
constexpr int looks_max = 6000;  // a minute
constexpr std::uint64_t kibibyte = 1024;

std::string text_of(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

struct Found {
  fs::path proc;
  std::string what;
};

/// What a process is, if it is of ours.
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
  std::error_code error;
  for (const auto& entry : fs::directory_iterator("/proc", error)) {
    const std::string name = entry.path().filename();
    if (std::ranges::all_of(name, [](char each) { return each >= '0' && each <= '9'; })) {
      if (auto what = what_is(entry.path(), folder)) {
        all.push_back({.proc = entry.path(), .what = *std::move(what)});
      }
    }
  }
  return all;
}

/// Nanoseconds on a processor, of all threads.
std::uint64_t spent_by(const std::vector<Found>& processes) {
  std::uint64_t sum = 0;
  std::error_code error;
  for (const Found& each : processes) {
    for (const auto& thread : fs::directory_iterator(each.proc / "task", error)) {
      std::ifstream file(thread.path() / "schedstat");
      std::uint64_t spent = 0;
      file >> spent;
      sum += spent;
    }
  }
  return sum;
}

ProcessLook look_at_process(const fs::path& proc) {
  ProcessLook look;
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
  std::error_code error;
  const fs::directory_iterator descriptors(proc / "fd", error);
  look.descriptors =
      static_cast<std::uint64_t>(std::distance(begin(descriptors), end(descriptors)));
  return look;
}

void wait_until_quiet(const std::string& folder) {
  std::uint64_t before = 0;
  int same = 0;
  for (int look = 0; look < looks_max && same < quiet_looks; ++look) {
    const std::uint64_t now = spent_by(processes_of(folder));
    same = now == before ? same + 1 : 0;
    before = now;
    std::this_thread::sleep_for(pause);
  }
}

}  // namespace

Look look_at(const std::string& folder) {
  wait_until_quiet(folder);
  Look look;
  for (const Found& each : processes_of(folder)) {
    const ProcessLook seen = look_at_process(each.proc);
    ProcessLook& most = look.processes[each.what];
    most.anonymous = std::max(most.anonymous, seen.anonymous);
    most.dirty = std::max(most.dirty, seen.dirty);
    most.descriptors = std::max(most.descriptors, seen.descriptors);
  }
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(folder, error)) {
    ++look.files;
    if (entry.path().filename() == "ledger") {
      look.ledger += entry.file_size(error);
    }
  }
  return look;
}

bool are_all_gone(const std::string& folder) {
  for (int look = 0; look < looks_max; ++look) {
    if (processes_of(folder).empty()) {
      return true;
    }
    std::this_thread::sleep_for(pause);
  }
  return false;
}

}  // namespace lastref::bench
