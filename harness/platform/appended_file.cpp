#include "harness/platform/appended_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace lastref::harness {
namespace {

constexpr mode_t for_all = 0666;  // Less what the umask forbids
constexpr int standard_last = 2;

tl::unexpected<Error> failure_at(const std::string& path, Call call) {
  return failure(std::errc{errno}, path, call);
}

/// The size of the lines that have an end; negative, with errno: it cannot be read.
off_t size_of_lines(int fd) noexcept {
  std::array<char, 4096> part{};
  off_t size = ::lseek(fd, 0, SEEK_END);
  while (size > 0) {
    const off_t start = std::max<off_t>(size - std::ssize(part), 0);
    const ssize_t read = ::pread(fd, part.data(), static_cast<std::size_t>(size - start), start);
    if (read <= 0) {
      return -1;
    }
    const std::string_view text(part.data(), static_cast<std::size_t>(read));
    if (const std::size_t end = text.rfind('\n'); end != std::string_view::npos) {
      return start + static_cast<off_t>(end) + 1;
    }
    size = start;
  }
  return size;
}

}  // namespace

Result<AppendedFile> AppendedFile::open(const std::string& path) {
  const UniqueFd made(::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, for_all));
  // Not a standard descriptor, even if those are closed: what is printed would go there.
  UniqueFd fd(::fcntl(made.get(), F_DUPFD_CLOEXEC, standard_last + 1));
  if (!made || !fd) {
    return failure_at(path, Call::open);
  }
  if (::flock(fd.get(), LOCK_EX | LOCK_NB) != 0) {
    return errno == EWOULDBLOCK ? failure(std::errc::device_or_resource_busy, path, Call::none)
                                : failure_at(path, Call::none);
  }
  return AppendedFile(path, std::move(fd));
}

Status AppendedFile::remove_cut_line() {
  const off_t size = size_of_lines(fd_.get());
  return size >= 0 && ::ftruncate(fd_.get(), size) == 0 ? ok()
                                                        : Status(failure_at(path_, Call::none));
}

Status AppendedFile::append(std::string_view line) {
  std::string text = std::string(line) + '\n';
  for (std::string_view left = text; !left.empty();) {
    const ssize_t written = ::write(fd_.get(), left.data(), left.size());
    if (written < 0 && errno != EINTR) {
      return failure_at(path_, Call::write);
    }
    left.remove_prefix(static_cast<std::size_t>(std::max<ssize_t>(written, 0)));
  }
  return ok();
}

}  // namespace lastref::harness
