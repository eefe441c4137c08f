#include "harness/warden/locks.hpp"

#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "harness/platform/proc.hpp"

namespace lastref::harness::warden {
namespace {

std::string name_of_inode(int process, const std::string& inode) {
  for (const auto& [descriptor, object] : descriptors_of(process)) {
    struct stat status {};
    const std::string path = fmt::format("/proc/{}/fd/{}", process, descriptor);
    if (::stat(path.c_str(), &status) == 0 && std::to_string(status.st_ino) == inode) {
      return object;
    }
  }
  return "inode " + inode;
}

struct LockLine {
  bool waits = false;
  int process = -1;
  std::string inode;
};

/// "1: FLOCK ADVISORY WRITE 1234 08:01:17 0 EOF"; a waiter is on a following line, with "->" after
/// the number.
std::vector<LockLine> all_locks() {
  std::vector<LockLine> all;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    std::istringstream words(line);
    std::string number, kind, how, what, where;
    LockLine lock;
    words >> number >> kind;
    lock.waits = kind == "->";
    if (lock.waits) {
      words >> kind;
    }
    words >> how >> what >> lock.process >> where;
    lock.inode = where.substr(where.rfind(':') + 1);
    all.push_back(std::move(lock));
  }
  return all;
}

}  // namespace

std::vector<std::string> locks_of(int process) {
  std::vector<std::string> names;
  for (const LockLine& lock : all_locks()) {
    if (!lock.waits && lock.process == process) {
      names.push_back(name_of_inode(process, lock.inode));
    }
  }
  return names;
}

std::optional<int> holder_before(int process) {
  int holder = -1;
  for (const LockLine& lock : all_locks()) {
    if (!lock.waits) {
      holder = lock.process;
    } else if (lock.process == process) {
      return holder > 0 ? std::optional(holder) : std::nullopt;
    }
  }
  return std::nullopt;
}

}  // namespace lastref::harness::warden
