#include "harness/warden/names_ledger.hpp"

#include <sys/stat.h>

#include <optional>
#include <utility>

namespace lastref::harness::warden {
namespace {

std::optional<mode_t> mode_of(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0 ? std::optional(status.st_mode) : std::nullopt;
}

std::string kind_of(mode_t mode) {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return "file";
    case S_IFDIR:
      return "folder";
    case S_IFLNK:
      return "symlink";
    case S_IFSOCK:
      return "socket";
    case S_IFIFO:
      return "fifo";
    default:
      return "device";
  }
}

bool has_something(const std::string& path) {
  return mode_of(path).has_value();
}

}  // namespace

void NamesLedger::makes(const std::string& path, const std::function<std::string()>& maker) {
  if (!has_something(path)) {
    makers_[path] = maker();
  }
}

void NamesLedger::moves(const std::string& from,
                        const std::string& to,
                        const std::function<std::string()>& mover) {
  if (makers_.contains(to) || !has_something(to)) {
    const auto maker = makers_.find(from);
    makers_[to] = maker == makers_.end() ? mover() : maker->second;
  }
}

std::vector<Leftover> NamesLedger::leftovers() const {
  std::vector<Leftover> left;
  for (const auto& [path, maker] : makers_) {
    if (const auto mode = mode_of(path)) {
      left.push_back({.path = path, .kind = kind_of(*mode), .maker = maker});
    }
  }
  return left;
}

}  // namespace lastref::harness::warden
