#include "harness/warden/locks.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "harness/platform/proc.hpp"

namespace lastref::harness::warden {
namespace {

struct LockLine {
  Lock lock;
  bool waits = false;
  std::string inode;
};

/// "1: FLOCK ADVISORY WRITE 1234 08:01:17 0 EOF"; a waiter is on a following line, with "->" after
/// the number.
std::optional<LockLine> parse_lock(const std::string& line) {
  std::istringstream words(line);
  std::string word;
  LockLine parsed;
  words >> word >> word;
  parsed.waits = word == "->";
  if (parsed.waits) {
    words >> word;
  }
  parsed.lock.text = word;
  for (int at = 0; words >> word; ++at) {
    parsed.lock.text += ' ' + word;
    constexpr int of_process = 2;
    if (at == of_process) {
      parsed.lock.process = number_in<int>(word).value_or(-1);
    } else if (at == of_process + 1) {
      parsed.inode = word.substr(word.rfind(':') + 1);
    }
  }
  return parsed.inode.empty() ? std::nullopt : std::optional(std::move(parsed));
}

/// Of /proc/locks
std::vector<LockLine> all_locks() {
  std::vector<LockLine> all;
  std::istringstream lines(read_file("/proc/locks"));
  for (std::string line; std::getline(lines, line);) {
    if (auto lock = parse_lock(line)) {
      all.push_back(*std::move(lock));
    }
  }
  return all;
}

/// Of /proc/PID/fdinfo/N: the same lines, after "lock:"
std::vector<std::string> texts_at(int process, int descriptor) {
  constexpr std::string_view start = "lock:";
  std::vector<std::string> texts;
  std::istringstream lines(read_file(fmt::format("/proc/{}/fdinfo/{}", process, descriptor)));
  for (std::string line; std::getline(lines, line);) {
    const auto lock =
        line.starts_with(start) ? parse_lock(line.substr(start.size())) : std::nullopt;
    if (lock) {
      texts.push_back(lock->lock.text);
    }
  }
  return texts;
}

}  // namespace

std::vector<std::string> locks_of(int process) {
  std::vector<std::string> names;
  for (const auto& [descriptor, object] : descriptors_of(process)) {
    if (!texts_at(process, descriptor).empty() && std::ranges::find(names, object) == names.end()) {
      names.push_back(object);
    }
  }
  return names;
}

std::vector<Lock> locks_awaited(int process, int descriptor) {
  struct stat status {};
  const std::string path = fmt::format("/proc/{}/fd/{}", process, descriptor);
  const std::string inode = ::stat(path.c_str(), &status) == 0 ? std::to_string(status.st_ino) : "";
  std::vector<Lock> awaited;
  Lock holder;
  // In an overlay, this is not the number in the list.
  for (LockLine& each : all_locks()) {
    if (!each.waits) {
      holder = std::move(each.lock);
    } else if (each.lock.process == process || (each.lock.process == -1 && each.inode == inode)) {
      awaited.push_back(holder);
    }
  }
  return awaited;
}

std::vector<int> holders_of(const Lock& lock, const std::vector<int>& processes) {
  const auto is_same = [&](const LockLine& each) {
    return !each.waits && each.lock.text == lock.text;
  };
  std::vector<int> holders;
  if (std::ranges::count_if(all_locks(), is_same) != 1) {
    return holders;
  }
  std::ranges::copy_if(processes, std::back_inserter(holders), [&](int process) {
    return std::ranges::any_of(descriptors_of(process), [&](const auto& each) {
      const std::vector<std::string> texts = texts_at(process, each.first);
      return std::ranges::find(texts, lock.text) != texts.end();
    });
  });
  return holders;
}

}  // namespace lastref::harness::warden
