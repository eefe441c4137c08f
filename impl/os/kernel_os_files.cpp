// kernel_os_files: files, folders and maps.
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <type_traits>

#include <climits>

#include <lastref/kernel_os.hpp>

#include "impl/os/kernel_os_error.hpp"
#include "impl/os/kernel_os_numbers.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::os {
namespace {

/// At most 341 entries at a time: the smallest takes 24 bytes.
constexpr std::size_t folder_buffer_size = 8192;
constexpr std::uint32_t permission_bits = 07777;

/// Blocks SIGPIPE in the calling thread for a scope, and consumes the one that a write has raised.
///
/// The signal goes to the writing thread itself, so it is pending there when the call returns. One
/// that was pending before has another cause and stays. pipe(7), "I/O on pipes and FIFOs".
class WithoutSigpipe {
 public:
  WithoutSigpipe() noexcept {
    ::sigemptyset(&sigpipe_);
    ::sigaddset(&sigpipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &sigpipe_, &before_);
    if (was_blocked()) {
      sigset_t pending;
      ::sigpending(&pending);
      was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    }
  }
  WithoutSigpipe(const WithoutSigpipe&) = delete;
  WithoutSigpipe& operator=(const WithoutSigpipe&) = delete;
  ~WithoutSigpipe() {
    if (!was_blocked()) {
      ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    }
  }

  void swallow() noexcept {
    if (was_pending_) {
      return;
    }
    const int code = errno;
    const timespec at_once{};
    while (::sigtimedwait(&sigpipe_, nullptr, &at_once) < 0 && errno == EINTR) {
    }
    errno = code;
  }

 private:
  bool was_blocked() const noexcept { return ::sigismember(&before_, SIGPIPE) == 1; }

  sigset_t sigpipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

/// As write(2). A full pipe is EAGAIN, even if it blocks for other processes that have it open.
ssize_t write_at_once(int fd, Bytes bytes) noexcept {
  struct stat status {};
  if (::fstat(fd, &status) == 0 && S_ISFIFO(status.st_mode)) {
    // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): it only reads, iovec cannot say so.
    const iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
    const ssize_t count = ::pwritev2(fd, &part, 1, -1, RWF_NOWAIT);
    if (count >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS)) {
      return count;
    }
  }
  return ::write(fd, bytes.data(), bytes.size());
}

FileKind kind_of(mode_t mode) noexcept {
  switch (mode & S_IFMT) {
    case S_IFREG:
      return FileKind::regular;
    case S_IFDIR:
      return FileKind::folder;
    case S_IFLNK:
      return FileKind::symlink;
    case S_IFSOCK:
      return FileKind::socket;
    default:
      return FileKind::other;
  }
}

/// Without statx(2), the C library calls fstatat(2), which reports no birth time.
constexpr unsigned asked = STATX_BASIC_STATS | STATX_BTIME;
constexpr std::uint64_t nanoseconds_of_a_second = 1'000'000'000;

FileStatus status_from(const struct statx& from) noexcept {
  const auto& birth = from.stx_btime;
  const bool has_birth = (from.stx_mask & STATX_BTIME) != 0;
  return {.device = ::makedev(from.stx_dev_major, from.stx_dev_minor),
          .inode = from.stx_ino,
          .size = from.stx_size,
          .mode = from.stx_mode & permission_bits,
          .owner = from.stx_uid,
          .kind = kind_of(from.stx_mode),
          .born = has_birth ? static_cast<std::uint64_t>(birth.tv_sec) * nanoseconds_of_a_second +
                                  birth.tv_nsec
                            : 0};
}

FileKind kind_of_entry(Fd folder, unsigned char type, const char* name) noexcept {
  if (type != DT_UNKNOWN) {
    return kind_of(mode_t{type} << 12U);  // DTTOIF, without its conversion to int
  }
  struct stat status {};
  const int result = ::fstatat(number(folder), name, &status, AT_SYMLINK_NOFOLLOW);
  return result < 0 ? FileKind::other : kind_of(status.st_mode);
}

bool is_dots(std::string_view name) noexcept {
  return name == "." || name == "..";
}

std::vector<FolderEntry> entries_of(Fd folder, Bytes buffer) {
  std::vector<FolderEntry> entries;
  while (!buffer.empty()) {
    // struct dirent64 in the layout of getdents64(2); the name follows, terminated.
    decltype(dirent64::d_reclen) size = 0;
    std::memcpy(&size, &buffer[offsetof(dirent64, d_reclen)], sizeof size);
    const auto type = static_cast<unsigned char>(buffer[offsetof(dirent64, d_type)]);
    const auto* const name =
        static_cast<const char*>(static_cast<const void*>(&buffer[offsetof(dirent64, d_name)]));
    if (!is_dots(name)) {
      entries.push_back({.name = name, .kind = kind_of_entry(folder, type, name)});
    }
    buffer = buffer.subspan(size);
  }
  return entries;
}

}  // namespace

Result<Fd> KernelOs::open(const PathAt& where, const OpenOptions& options) noexcept {
  int flags = O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  flags |= options.write ? O_RDWR : O_RDONLY;
  flags |= options.create ? O_CREAT | O_EXCL : 0;
  flags |= options.append ? O_APPEND : 0;
  flags |= options.folder ? O_DIRECTORY : 0;
  if (!is_path(where.path)) {
    return failed(Call::open, where.path);
  }
  const StandardNumbers kept;
  const int fd = above_standard(
      ::openat(number(where.folder), where.path.c_str(), flags, mode_t{options.mode}));
  if (fd < 0) {
    return failed(Call::open, where.path);
  }
  return Fd{fd};
}

Status KernelOs::close(Fd fd) noexcept {
  return status_of(::close(number(fd)), Call::close, fd);
}

Result<std::size_t> KernelOs::read(Fd fd, Buffer into) noexcept {
  const ssize_t count = ::read(number(fd), into.data(), into.size());
  if (count < 0) {
    return failed(Call::read, fd);
  }
  return static_cast<std::size_t>(count);
}

Result<std::size_t> KernelOs::read_at(Fd fd, Buffer into, std::uint64_t offset) noexcept {
  const ssize_t count = ::pread(number(fd), into.data(), into.size(), static_cast<off_t>(offset));
  if (count < 0) {
    return failed(Call::read_at, fd);
  }
  return static_cast<std::size_t>(count);
}

Result<std::size_t> KernelOs::write(Fd fd, Bytes bytes) noexcept {
  if (fd == Fd::standard_error && !is_standard(number(fd))) {
    errno = EBADF;  // Whatever it is, it is not for messages of ours.
    return failed(Call::write, fd);
  }
  WithoutSigpipe without;
  const ssize_t count = fd == Fd::standard_error ? write_at_once(number(fd), bytes)
                                                 : ::write(number(fd), bytes.data(), bytes.size());
  if (count < 0) {
    if (errno == EPIPE) {
      without.swallow();
    }
    return failed(Call::write, fd);
  }
  return static_cast<std::size_t>(count);
}

Result<std::size_t> KernelOs::write_at(Fd fd, Bytes bytes, std::uint64_t offset) noexcept {
  const ssize_t count =
      ::pwrite(number(fd), bytes.data(), bytes.size(), static_cast<off_t>(offset));
  if (count < 0) {
    return failed(Call::write_at, fd);
  }
  return static_cast<std::size_t>(count);
}

Status KernelOs::sync(Fd fd) noexcept {
  return status_of(::fdatasync(number(fd)), Call::sync, fd);
}

Status KernelOs::allocate(Fd fd, std::uint64_t offset, std::uint64_t size) noexcept {
  const int result =
      ::fallocate(number(fd), 0, static_cast<off_t>(offset), static_cast<off_t>(size));
  return status_of(result, Call::allocate, fd);
}

Status KernelOs::punch_hole(Fd fd, std::uint64_t offset, std::uint64_t size) noexcept {
  const int result = ::fallocate(number(fd),
                                 FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                                 static_cast<off_t>(offset),
                                 static_cast<off_t>(size));
  return status_of(result, Call::punch_hole, fd);
}

Result<FileStatus> KernelOs::status(Fd fd) noexcept {
  struct statx status {};
  if (::statx(number(fd), "", AT_EMPTY_PATH, asked, &status) < 0) {
    return failed(Call::status, fd);
  }
  return status_from(status);
}

Result<FileStatus> KernelOs::status_at(const PathAt& where) noexcept {
  struct statx status {};
  if (!is_path(where.path) ||
      ::statx(number(where.folder), where.path.c_str(), AT_SYMLINK_NOFOLLOW, asked, &status) < 0) {
    return failed(Call::status_at, where.path);
  }
  return status_from(status);
}

Status KernelOs::unlink(const PathAt& where) noexcept {
  if (!is_path(where.path)) {
    return failed(Call::unlink, where.path);
  }
  return status_of(
      ::unlinkat(number(where.folder), where.path.c_str(), 0), Call::unlink, where.path);
}

Status KernelOs::rename(const PathAt& from, const PathAt& to) noexcept {
  if (!is_path(from.path) || !is_path(to.path)) {
    return failed(Call::rename, to.path);
  }
  return status_of(
      ::renameat(number(from.folder), from.path.c_str(), number(to.folder), to.path.c_str()),
      Call::rename,
      to.path);
}

Status KernelOs::rename_new(const PathAt& from, const PathAt& to) noexcept {
  if (!is_path(from.path) || !is_path(to.path)) {
    return failed(Call::rename_new, to.path);
  }
  return status_of(::renameat2(number(from.folder),
                               from.path.c_str(),
                               number(to.folder),
                               to.path.c_str(),
                               RENAME_NOREPLACE),
                   Call::rename_new,
                   to.path);
}

Status KernelOs::link(const PathAt& from, const PathAt& to) noexcept {
  if (!is_path(from.path) || !is_path(to.path)) {
    return failed(Call::link, to.path);
  }
  return status_of(
      ::linkat(number(from.folder), from.path.c_str(), number(to.folder), to.path.c_str(), 0),
      Call::link,
      to.path);
}

Result<std::string> KernelOs::read_link(const PathAt& where) noexcept {
  std::array<char, PATH_MAX> target{};
  const ssize_t size =
      is_path(where.path)
          ? ::readlinkat(number(where.folder), where.path.c_str(), target.data(), target.size())
          : -1;
  if (size < 0) {
    return failed(Call::read_link, where.path);
  }
  return within_memory("read_link", [&]() -> Result<std::string> {
    return std::string(target.data(), static_cast<std::size_t>(size));
  });
}

Status KernelOs::change_mode(const PathAt& where, std::uint32_t mode) noexcept {
  if (!is_path(where.path)) {
    return failed(Call::change_mode, where.path);
  }
  // The C library uses /proc if there is no fchmodat2(2).
  return status_of(
      ::fchmodat(number(where.folder), where.path.c_str(), mode_t{mode}, AT_SYMLINK_NOFOLLOW),
      Call::change_mode,
      where.path);
}

Status KernelOs::make_folder(const PathAt& where, std::uint32_t mode) noexcept {
  if (!is_path(where.path)) {
    return failed(Call::make_folder, where.path);
  }
  return status_of(::mkdirat(number(where.folder), where.path.c_str(), mode_t{mode}),
                   Call::make_folder,
                   where.path);
}

Status KernelOs::remove_folder(const PathAt& where) noexcept {
  if (!is_path(where.path)) {
    return failed(Call::remove_folder, where.path);
  }
  return status_of(::unlinkat(number(where.folder), where.path.c_str(), AT_REMOVEDIR),
                   Call::remove_folder,
                   where.path);
}

Result<std::vector<FolderEntry>> KernelOs::read_folder(Fd folder) noexcept {
  alignas(dirent64) std::array<std::byte, folder_buffer_size> buffer{};
  for (;;) {
    const ssize_t size = ::getdents64(number(folder), buffer.data(), buffer.size());
    if (size < 0) {
      return failed(Call::read_folder, folder);
    }
    const Bytes read = Bytes(buffer).first(static_cast<std::size_t>(size));
    auto entries = within_memory("read_folder", [&]() -> Result<std::vector<FolderEntry>> {
      return entries_of(folder, read);
    });
    if (size == 0 || !entries || !entries->empty()) {
      return entries;
    }
  }
}

Result<std::uint64_t> KernelOs::free_space(const std::string& path) noexcept {
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  struct statvfs system {};
  if (!is_path(path) || ::statvfs(path.c_str(), &system) < 0) {
    return failed(Call::free_space, path);
  }
  // Some file systems without a limit of their own report the highest possible number of blocks.
  const std::uint64_t block_size = std::max<std::uint64_t>(system.f_frsize, 1);
  return system.f_bavail > most / block_size ? most : system.f_bavail * block_size;
}

Result<std::uint64_t> KernelOs::file_system(const std::string& path) noexcept {
  struct statfs system {};
  if (!is_path(path) || ::statfs(path.c_str(), &system) < 0) {
    return failed(Call::file_system, path);
  }
  // The highest bit of some is set, and where a word has 32 bits they look negative.
  return static_cast<std::make_unsigned_t<decltype(system.f_type)>>(system.f_type);
}

Result<std::string> KernelOs::working_folder() noexcept {
  // The C library allocates it, because the path may be longer than PATH_MAX. getcwd(3)
  const std::unique_ptr<char, decltype(&std::free)> path(::getcwd(nullptr, 0), &std::free);
  if (path == nullptr) {
    return failed(Call::working_folder, std::string());
  }
  return within_memory("working_folder",
                       [&]() -> Result<std::string> { return std::string(path.get()); });
}

Result<Buffer> KernelOs::map(const MapOptions& options) noexcept {
  const bool read = options.kind == MapKind::read;
  int flags = options.kind == MapKind::copy_on_write ? MAP_PRIVATE : MAP_SHARED;
  flags |= options.file == Fd::none ? MAP_ANONYMOUS : 0;
  void* const at = ::mmap(nullptr,
                          options.size,
                          read ? PROT_READ : PROT_READ | PROT_WRITE,
                          flags,
                          number(options.file),
                          static_cast<off_t>(options.offset));
  if (at == MAP_FAILED) {
    return failed(Call::map, options.file);
  }
  return Buffer(static_cast<std::byte*>(at), options.size);
}

Status KernelOs::unmap(Buffer mapped) noexcept {
  return status_of(::munmap(mapped.data(), mapped.size()), Call::unmap, std::string());
}

}  // namespace lastref::os
