#include "harness/kernel/file_snapshot.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {
namespace {

/// False for a file that is too large or cannot be read.
bool read_file(int folder, const char* name, std::string& into) {
  const UniqueFd file(::openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > looked_at_size_max) {
    return false;
  }
  into.resize(static_cast<std::size_t>(status.st_size));
  return ::read(file.get(), into.data(), into.size()) == status.st_size;
}

}  // namespace

void read_files_below(const std::string& folder, std::size_t moment, std::vector<FileLook>& into) {
  DIR* const stream = ::opendir(folder.c_str());
  if (stream == nullptr) {
    return;
  }
  const std::size_t first = into.size();
  std::vector<std::string> folders;
  // NOLINTNEXTLINE(concurrency-mt-unsafe): the stream is ours alone.
  while (const dirent* entry = ::readdir(stream)) {
    const std::string_view name(entry->d_name);
    std::string path = folder + '/' + entry->d_name;
    if (entry->d_type == DT_DIR && name != "." && name != "..") {
      folders.push_back(std::move(path));
    } else if (entry->d_type == DT_REG && may_be_published(path)) {
      FileLook look{.path = std::move(path), .bytes = {}, .moment = moment};
      if (read_file(::dirfd(stream), entry->d_name, look.bytes)) {
        into.push_back(std::move(look));
      }
    }
  }
  ::closedir(stream);
  std::ranges::sort(
      into.begin() + static_cast<std::ptrdiff_t>(first), into.end(), {}, &FileLook::path);
  std::ranges::sort(folders);
  for (const std::string& each : folders) {
    read_files_below(each, moment, into);
  }
}

}  // namespace lastref::harness
