#include "harness/warden/locks.hpp"

#include <sys/stat.h>

#include <fstream>
#include <sstream>

#include <fmt/format.h>

#include "harness/warden/peek.hpp"

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

}  // namespace

std::vector<std::string> locks_of(int process) {
  std::vector<std::string> names;
  std::ifstream locks("/proc/locks");
  for (std::string line; std::getline(locks, line);) {
    // "1: FLOCK ADVISORY WRITE 1234 08:01:17 0 EOF"; who waits for one has "->" behind the
    // number.
    std::istringstream words(line);
    std::string number, kind, how, what, who, where;
    words >> number >> kind >> how >> what >> who >> where;
    if (kind != "->" && who == std::to_string(process)) {
      names.push_back(name_of_inode(process, where.substr(where.rfind(':') + 1)));
    }
  }
  return names;
}

}  // namespace lastref::harness::warden
