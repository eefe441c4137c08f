#include "harness/warden/names_ledger.hpp"

#include <fcntl.h>
#include <mqueue.h>
#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "harness/warden/sysv.hpp"

namespace lastref::harness::warden {
namespace {

/// While they are not mounted, message queues have no names in a file system. mq_overview(7)
std::optional<mode_t> mode_of_queue(const std::string& name) {
  const mqd_t queue = ::mq_open(name.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat status {};
  const bool is_read = queue >= 0 && ::fstat(queue, &status) == 0;
  const bool is_hidden = queue < 0 && errno == EACCES;
  ::mq_close(queue);
  return is_read     ? std::optional(status.st_mode)
         : is_hidden ? std::optional<mode_t>(S_IFREG)
                     : std::nullopt;
}

std::optional<mode_t> mode_of(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) == 0) {
    return status.st_mode;
  }
  const std::string_view queues = "/dev/mqueue/";
  return path.starts_with(queues) ? mode_of_queue(path.substr(queues.size() - 1)) : std::nullopt;
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

/// Whether permissions prevent us from seeing whether it exists. The program, with the same
/// permissions, cannot do anything to it either.
bool is_hidden(const std::string& path) {
  struct stat status {};
  return path.starts_with('/') && ::lstat(path.c_str(), &status) != 0 && errno == EACCES;
}

}  // namespace

bool is_there(const std::string& path) {
  return path.starts_with('/') ? mode_of(path).has_value() : sysv_objects().contains(path);
}

namespace {

/// For a dangling link, the name of the file that a process would make through it.
std::string through_links(const std::string& path) {
  constexpr int links_max = 40;  // path_resolution(7)
  std::filesystem::path name = path;
  std::error_code error;
  for (int links = 0; links < links_max && std::filesystem::is_symlink(name, error); ++links) {
    name = (name.parent_path() / std::filesystem::read_symlink(name, error)).lexically_normal();
  }
  const auto folder = std::filesystem::canonical(name.parent_path(), error);
  return error ? path : (folder / name.filename()).string();
}

/// With the folder's canonical name: links that lead to the folder may be removed later.
std::string in_true_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path name = path;
  const auto folder = std::filesystem::canonical(name.parent_path(), error);
  return error ? path : (folder / name.filename()).string();
}

}  // namespace

/// It existed before if the tree has not made it.
void NamesLedger::note_old(const std::string& path) {
  if (!makers_.contains(path) && is_there(path)) {
    old_.insert(path);
  }
}

void NamesLedger::makes(int thread,
                        const std::string& path,
                        const std::function<std::string()>& maker) {
  const auto mode = mode_of(path);
  if (!mode && is_hidden(path)) {
    return;
  }
  const std::string name = mode && S_ISLNK(*mode) ? through_links(path) : path;
  if (mode && (name == path || is_there(name))) {
    note_old(name);
  } else if (!old_.contains(name)) {
    makers_[name] = maker();
    unsettled_[thread] = name;
  }
}

void NamesLedger::moves(int thread,
                        const std::string& from,
                        const std::string& to,
                        const std::function<std::string()>& mover) {
  if (!is_there(from)) {
    return;
  }
  note_old(from);
  note_old(to);
  const auto maker = makers_.find(from);
  const bool was_old = maker == makers_.end() || moved_old_.contains(from);
  const std::string made = maker == makers_.end() ? mover() : maker->second;
  // Everything below a folder moves with it.
  Makers moved;
  const auto [first, last] = below(from);
  for (auto each = first; each != last; ++each) {
    moved[to + each->first.substr(from.size())] = each->second;
  }
  makers_.merge(moved);
  if (!old_.contains(to)) {
    makers_[to] = made;
  }
  moved_old_.erase(to);
  if (was_old) {
    moved_old_.insert(to);
  }
  unsettled_[thread] = from;
}

bool NamesLedger::is_own(const std::string& path) const {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    return true;
  }
  const bool has_other_names = !S_ISDIR(status.st_mode) && status.st_nlink > 1;
  return makers_.contains(path) && !moved_old_.contains(path) && !S_ISLNK(status.st_mode) &&
         !has_other_names;
}

/// Whether others can search all folders above it.
bool is_reachable(const std::string& path) {
  const std::filesystem::path name = path;
  for (auto folder = name.parent_path(); folder.has_relative_path();
       folder = folder.parent_path()) {
    if ((mode_of(folder.string()).value_or(0) & S_IXOTH) == 0) {
      return false;
    }
  }
  return true;
}

/// In a sticky folder, others can modify only their own files.
void NamesLedger::note_rights(const std::string& path, std::uint32_t mode) {
  const bool is_kind =
      S_ISREG(mode) || S_ISFIFO(mode) || S_ISSOCK(mode) || (S_ISDIR(mode) && (mode & S_ISVTX) == 0);
  const auto maker = makers_.find(path);
  if (is_kind && (mode & S_IWOTH) != 0 && is_reachable(path) && maker != makers_.end()) {
    open_[path] = {.path = path, .kind = kind_of(mode), .maker = maker->second};
  }
}

std::vector<Leftover> NamesLedger::open_to_others() const {
  std::vector<Leftover> all;
  for (const auto& [path, each] : open_) {
    all.push_back(each);
  }
  return all;
}

void NamesLedger::removes(int thread, const std::string& path) {
  if (makers_.contains(path)) {
    note_rights(path, mode_of(path).value_or(0));
    unsettled_[thread] = path;
  } else {
    note_old(path);
  }
}

std::pair<NamesLedger::Makers::iterator, NamesLedger::Makers::iterator> NamesLedger::below(
    const std::string& folder) {
  static_assert('0' == '/' + 1);
  return {makers_.lower_bound(folder + '/'), makers_.lower_bound(folder + '0')};
}

void NamesLedger::settle(int thread) {
  const auto at = unsettled_.find(thread);
  if (at == unsettled_.end()) {
    return;
  }
  const std::string path = std::move(at->second);
  unsettled_.erase(at);
  const auto mode = mode_of(path);
  if (!mode && is_hidden(path)) {
    return;
  }
  if (!mode) {
    const auto [first, last] = below(path);
    makers_.erase(first, last);
    makers_.erase(path);
    return;
  }
  const auto maker = makers_.find(path);
  const std::string true_name = maker == makers_.end() ? path : in_true_folder(path);
  if (true_name != path) {
    makers_[true_name] = std::move(maker->second);
    makers_.erase(path);
  }
  note_rights(true_name, *mode);
}

std::vector<Leftover> NamesLedger::leftovers() {
  while (!unsettled_.empty()) {
    settle(unsettled_.begin()->first);
  }
  for (const auto& [path, maker] : makers_) {
    note_rights(path, mode_of(path).value_or(0));
  }
  return there();
}

std::vector<Leftover> NamesLedger::there() const {
  std::vector<Leftover> left;
  for (const auto& [path, maker] : makers_) {
    if (const auto mode = mode_of(path)) {
      left.push_back({.path = path, .kind = kind_of(*mode), .maker = maker});
    }
  }
  return left;
}

}  // namespace lastref::harness::warden
