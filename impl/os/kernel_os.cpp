// KernelOs: each method is one system call, with its errno as an error.
#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <limits>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include <climits>

#include <lastref/kernel_os.hpp>
#include <lastref/process_objects.hpp>

#include "impl/os/kernel_os_error.hpp"
#include "impl/os/kernel_os_locks.hpp"
#include "impl/os/kernel_os_numbers.hpp"
#include "impl/os/kernel_os_spawn.hpp"
#include "impl/os/kernel_os_threads.hpp"
#include "impl/os/kernel_os_token.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::os {
namespace {

constexpr std::uint32_t permission_bits = 07777;

/// Blocks SIGPIPE in the calling thread for a scope, and consumes the one that a write has raised.
///
/// The kernel sends the signal to the writing thread, so it is pending there when the call returns.
/// A signal that was pending before has another cause and stays. pipe(7), "I/O on pipes and FIFOs".
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
constexpr unsigned status_fields = STATX_BASIC_STATS | STATX_BTIME;
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
          .btime = has_birth ? static_cast<std::uint64_t>(birth.tv_sec) * nanoseconds_of_a_second +
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

struct flock to_flock(const LockRange& range) noexcept {
  struct flock lock {};
  switch (range.kind) {
    case LockKind::none:
      lock.l_type = F_UNLCK;
      break;
    case LockKind::shared:
      lock.l_type = F_RDLCK;
      break;
    case LockKind::exclusive:
      lock.l_type = F_WRLCK;
      break;
  }
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(range.start);
  lock.l_len = static_cast<off_t>(range.length);
  return lock;
}

/// Space for exactly fds_max descriptors: the count is even, so alignment adds no space for one
/// more.
struct alignas(cmsghdr) Control {
  std::array<std::byte, CMSG_SPACE(fds_max * sizeof(int))> bytes;
};

/// This many items are polled without a heap allocation.
constexpr std::size_t items_at_hand = 64;

/// A socket's address; its size is 0, and errno is set, if `path` cannot be one.
struct Address {
  sockaddr_un un{};
  socklen_t size = 0;
};

Address address_of(const std::string& path) noexcept {
  Address address;
  // An empty path or a leading NUL would be a name outside of the file system. unix(7), "abstract".
  if (path.empty()) {
    errno = ENOENT;
    return address;
  }
  if (path.find('\0') != std::string::npos) {
    errno = EINVAL;
    return address;
  }
  if (path.size() >= sizeof address.un.sun_path) {
    errno = ENAMETOOLONG;
    return address;
  }
  address.un.sun_family = AF_UNIX;
  std::ranges::copy(path, address.un.sun_path);
  address.size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size() + 1);
  return address;
}

const sockaddr* pointer_to(const Address& address) noexcept {
  return static_cast<const sockaddr*>(static_cast<const void*>(&address.un));
}

/// Puts the descriptors into `control`, and `control` into the message.
void attach(msghdr& message, Control& control, std::span<const Fd> fds) noexcept {
  message.msg_control = control.bytes.data();
  message.msg_controllen = CMSG_SPACE(fds.size_bytes());
  cmsghdr* const header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(fds.size_bytes());
  std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
}

/// Calls `take` with the descriptors of a message, some at a time. They are open in this process,
/// even if the rest of the message is invalid.
template <typename Take>
void each_attached_to(msghdr& message, Take take) {
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    std::array<Fd, sizeof(Control) / sizeof(Fd)> fds{};
    const std::size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(Fd);
    std::memcpy(fds.data(), CMSG_DATA(header), count * sizeof(Fd));
    take(std::span(fds).first(count));
  }
}

std::vector<Fd> attached_to(msghdr& message) {
  std::vector<Fd> fds;
  each_attached_to(
      message, [&](std::span<const Fd> more) { fds.insert(fds.end(), more.begin(), more.end()); });
  return fds;
}

bool has(short events, int wanted) noexcept {
  return (events & wanted) != 0;
}

pollfd to_pollfd(const PollItem& item) noexcept {
  int events = 0;
  events |= item.want_read ? POLLIN : 0;
  events |= item.want_write ? POLLOUT : 0;
  return {.fd = number(item.fd), .events = static_cast<short>(events), .revents = 0};
}

/// A closed end does not block either: the end of a pipe is POLLHUP alone.
void set_ready(PollItem& item, short events) noexcept {
  const bool over = has(events, POLLHUP | POLLERR);
  item.readable = item.want_read && (over || has(events, POLLIN));
  item.writable = item.want_write && (over || has(events, POLLOUT));
  item.hung_up = over || has(events, POLLNVAL);
}

timespec to_timespec(std::chrono::nanoseconds time) noexcept {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(time);
  return {.tv_sec = whole.count(), .tv_nsec = (time - whole).count()};
}

/// Sets of 1024 processors each.
constexpr std::size_t processor_sets_max = 64;

int pidfd_send_signal(int process, int signal) noexcept {
  return static_cast<int>(::syscall(SYS_pidfd_send_signal, process, signal, nullptr, 0U));
}

/// Does nothing, as for an ignored signal; but exec(2) restores the default.
void pass_over(int) {}

}  // namespace

tl::unexpected<Error> failed(Call call, const std::string& subject) noexcept {
  return failed_with_code(errno, call, subject);
}

tl::unexpected<Error> failed_with_code(int code, Call call, const std::string& subject) noexcept {
  Error error{.code = std::errc{code}, .call = call, .subject = {}, .injected = false};
  static_cast<void>(had_memory([&] { error.subject = subject; }));
  return tl::unexpected<Error>(std::move(error));
}

tl::unexpected<Error> failed(Call call, Fd fd) noexcept {
  const int code = errno;
  return failure(std::errc{code}, "fd " + std::to_string(number(fd)), call);
}

tl::unexpected<Error> failed_process(Call call, Pid pid) noexcept {
  const int code = errno;
  return failure(std::errc{code}, "pid " + std::to_string(pid), call);
}

bool is_path(const std::string& text) noexcept {
  if (text.find('\0') == std::string::npos) {
    return true;
  }
  errno = EINVAL;
  return false;
}

KernelOs& KernelOs::of_process(KernelOptions options) {
  alignas(KernelOs) static std::array<std::byte, sizeof(KernelOs)> place;
  static KernelOs& one = *new (place.data()) KernelOs(std::move(options));
  return one;
}

KernelOs::KernelOs(KernelOptions options) noexcept : program_(std::move(options.program)) {
  look_at_standard_numbers();
  ignore_size_signal();
}

Instant KernelOs::now() noexcept {
  timespec time{};
  const int result = ::clock_gettime(CLOCK_MONOTONIC, &time);
  LASTREF_ASSERT(result == 0);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Status KernelOs::entropy(Buffer into) noexcept {
  const ssize_t count = ::getrandom(into.data(), into.size(), 0);
  if (count < 0) {
    return failed(Call::entropy, std::string());
  }
  if (std::cmp_less(count, into.size())) {
    // Only above 256 bytes, and only because of a signal. getrandom(2), "Interruption by a signal".
    return failure(std::errc::interrupted, {}, Call::entropy);
  }
  return ok();
}

std::optional<std::string> KernelOs::environment(const std::string& name) {
  // The user that runs a set-user-id program must not choose where it puts its files.
  const char* const value = ::secure_getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void KernelOs::hide_from_children(std::span<const Fd> fds, const std::string& variable) noexcept {
  for (const Fd fd : fds) {
    // If it is not open, no other program can get it.
    ::fcntl(number(fd), F_SETFD, FD_CLOEXEC);
  }
  ::unsetenv(variable.c_str());  // NOLINT(concurrency-mt-unsafe): there are no other threads yet.
}

ProcessObjects& KernelOs::objects() {
  // Never destroyed: static objects may still use it.
  static GenerationsOfObjects& of_program =
      *std::make_unique<GenerationsOfObjects>(has_record_lock).release();
  return of_program.of(*this, process_token());
}

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
  if (::statx(number(fd), "", AT_EMPTY_PATH, status_fields, &status) < 0) {
    return failed(Call::status, fd);
  }
  return status_from(status);
}

Result<FileStatus> KernelOs::status_at(const PathAt& where) noexcept {
  struct statx status {};
  if (!is_path(where.path) ||
      ::statx(
          number(where.folder), where.path.c_str(), AT_SYMLINK_NOFOLLOW, status_fields, &status) <
          0) {
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
  // Some values have the highest bit set, and look negative where a word has 32 bits.
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

Result<Fd> KernelOs::create_shm(const std::string& name, std::uint32_t mode) noexcept {
  if (!is_path(name)) {
    return failed(Call::create_shm, name);
  }
  const StandardNumbers kept;
  const int fd =
      above_standard(::shm_open(name.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, mode_t{mode}));
  if (fd < 0) {
    return failed(Call::create_shm, name);
  }
  return Fd{fd};
}

Status KernelOs::unlink_shm(const std::string& name) noexcept {
  if (!is_path(name)) {
    return failed(Call::unlink_shm, name);
  }
  return status_of(::shm_unlink(name.c_str()), Call::unlink_shm, name);
}

Status KernelOs::create_semaphore(const std::string& name, std::uint32_t mode) noexcept {
  if (!is_path(name)) {
    return failed(Call::create_semaphore, name);
  }
  const StandardNumbers kept;
  // glibc makes a file of another name first and links it, so SIGKILL during the call can leave
  // that file.
  sem_t* const semaphore = ::sem_open(name.c_str(), O_CREAT | O_EXCL, mode_t{mode}, 0U);
  if (semaphore == SEM_FAILED) {
    return failed(Call::create_semaphore, name);
  }
  return status_of(::sem_close(semaphore), Call::create_semaphore, name);
}

Status KernelOs::unlink_semaphore(const std::string& name) noexcept {
  if (!is_path(name)) {
    return failed(Call::unlink_semaphore, name);
  }
  return status_of(::sem_unlink(name.c_str()), Call::unlink_semaphore, name);
}

Status KernelOs::lock_range(Fd fd, const LockRange& range) noexcept {
  struct flock lock = to_flock(range);
  return status_of(::fcntl(number(fd), F_SETLK, &lock), Call::lock_range, fd);
}

Result<std::optional<LockHolder>> KernelOs::find_lock(Fd fd, const LockRange& range) noexcept {
  struct flock lock = to_flock(range);
  if (::fcntl(number(fd), F_GETLK, &lock) < 0) {
    return failed(Call::find_lock, fd);
  }
  if (lock.l_type == F_UNLCK) {
    return std::nullopt;
  }
  const LockKind kind = lock.l_type == F_RDLCK ? LockKind::shared : LockKind::exclusive;
  // The pid is 0 from another pid namespace, -1 for a lock of an open file description. fcntl(2).
  return LockHolder{.pid = std::max(lock.l_pid, 0),
                    .range = {.kind = kind,
                              .start = static_cast<std::uint64_t>(lock.l_start),
                              .length = static_cast<std::uint64_t>(lock.l_len)}};
}

Status KernelOs::lock_folder(Fd folder) noexcept {
  return status_of(::flock(number(folder), LOCK_SH | LOCK_NB), Call::lock_folder, folder);
}

static_assert(sizeof(Fd) == sizeof(int));

Result<Fd> KernelOs::make_socket() noexcept {
  const StandardNumbers kept;
  const int fd =
      above_standard(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd < 0) {
    return failed(Call::make_socket, std::string());
  }
  return Fd{fd};
}

Status KernelOs::bind(Fd socket, const std::string& path) noexcept {
  const Address address = address_of(path);
  if (address.size == 0) {
    return failed(Call::bind, path);
  }
  return status_of(::bind(number(socket), pointer_to(address), address.size), Call::bind, path);
}

Status KernelOs::listen(Fd socket) noexcept {
  return status_of(::listen(number(socket), SOMAXCONN), Call::listen, socket);
}

Result<Fd> KernelOs::accept(Fd socket) noexcept {
  const StandardNumbers kept;
  const int fd =
      above_standard(::accept4(number(socket), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (fd < 0) {
    return failed(Call::accept, socket);
  }
  return Fd{fd};
}

Status KernelOs::connect(Fd socket, const std::string& path) noexcept {
  const Address address = address_of(path);
  if (address.size == 0) {
    return failed(Call::connect, path);
  }
  return status_of(
      ::connect(number(socket), pointer_to(address), address.size), Call::connect, path);
}

Status KernelOs::send(Fd socket, Bytes message, std::span<const Fd> fds) noexcept {
  if (fds.size() > fds_max) {
    errno = EINVAL;
    return failed(Call::send, socket);
  }
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast): sendmsg only reads, iovec cannot say so.
  iovec part{.iov_base = const_cast<std::byte*>(message.data()), .iov_len = message.size()};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  Control control{};
  if (!fds.empty()) {
    attach(header, control, fds);
  }
  const ssize_t size = ::sendmsg(number(socket), &header, MSG_NOSIGNAL | MSG_DONTWAIT);
  return size < 0 ? Status(failed(Call::send, socket)) : ok();
}

Result<Received> KernelOs::receive(Fd socket, Buffer into) noexcept {
  iovec part{.iov_base = into.data(), .iov_len = into.size()};
  Control control{};
  msghdr header{};
  header.msg_iov = &part;
  header.msg_iovlen = 1;
  header.msg_control = control.bytes.data();
  header.msg_controllen = control.bytes.size();
  const StandardNumbers kept;
  const ssize_t size = ::recvmsg(number(socket), &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
  if (size < 0) {
    return failed(Call::receive, socket);
  }
  Received received{.size = static_cast<std::size_t>(size),
                    .fds = {},
                    .truncated = (header.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0};
  if (!had_memory([&] { received.fds = attached_to(header); })) {
    each_attached_to(header, [](std::span<const Fd> fds) {
      std::ranges::for_each(fds, [](Fd fd) { ::close(number(fd)); });
    });
    return no_memory("receive");
  }
  for (Fd& fd : received.fds) {
    fd = Fd{above_standard(number(fd))};
  }
  received.truncated = std::erase(received.fds, Fd::none) > 0 || received.truncated;
  return received;
}

Status KernelOs::shut_down(Fd socket) noexcept {
  return status_of(::shutdown(number(socket), SHUT_RDWR), Call::shut_down, socket);
}

Result<Peer> KernelOs::peer_of(Fd socket) noexcept {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (::getsockopt(number(socket), SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0) {
    return failed(Call::peer_of, socket);
  }
  if (peer.uid == static_cast<uid_t>(-1)) {
    // There is no peer yet. The kernel reports that with this user, and not with an error.
    errno = ENOTCONN;
    return failed(Call::peer_of, socket);
  }
  return Peer{.pid = peer.pid, .user = peer.uid};
}

Result<PipeEnds> KernelOs::make_pipe() noexcept {
  const StandardNumbers kept;
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_NONBLOCK | O_CLOEXEC) < 0) {
    return failed(Call::make_pipe, std::string());
  }
  ends = {above_standard(ends[0]), above_standard(ends[1])};
  if (const auto lost = std::ranges::find(ends, -1); lost != ends.end()) {
    auto why = failed(Call::make_pipe, std::string());
    ::close(std::max(ends[0], ends[1]));
    return why;
  }
  return PipeEnds{.read = Fd{ends[0]}, .write = Fd{ends[1]}};
}

Result<std::size_t> KernelOs::poll(std::span<PollItem> items,
                                   std::optional<std::chrono::nanoseconds> timeout) noexcept {
  std::array<pollfd, items_at_hand> at_hand{};
  std::vector<pollfd> many;
  std::span<pollfd> asked(at_hand);
  if (items.size() > at_hand.size()) {
    if (!had_memory([&] { many.resize(items.size()); })) {
      return no_memory("poll");
    }
    asked = many;
  }
  asked = asked.first(items.size());
  std::ranges::transform(items, asked.begin(), to_pollfd);

  const timespec time = to_timespec(std::max(timeout.value_or(Instant(0)), Instant(0)));
  const int count =
      ::ppoll(asked.data(), asked.size(), timeout.has_value() ? &time : nullptr, nullptr);
  if (count < 0) {
    return failed(Call::poll, std::string());
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    set_ready(items[i], asked[i].revents);
  }
  return static_cast<std::size_t>(count);
}

Result<Fd> KernelOs::open_process(Pid pid) noexcept {
  const StandardNumbers kept;
  const int fd = above_standard(pidfd_open(pid));
  if (fd < 0) {
    return failed_process(Call::open_process, pid);
  }
  return Fd{fd};
}

Status KernelOs::signal_process(Fd process, Signal signal) noexcept {
  return status_of(
      pidfd_send_signal(number(process), number_of(signal)), Call::signal_process, process);
}

Result<std::optional<ChildExit>> KernelOs::wait_child(Fd process) noexcept {
  siginfo_t state{};
  if (::waitid(P_PIDFD, static_cast<id_t>(number(process)), &state, WEXITED | WNOHANG) == 0) {
    if (state.si_pid == 0) {
      return std::nullopt;
    }
    return ChildExit{.code = state.si_status, .killed = state.si_code != CLD_EXITED};
  }
  if (errno != ECHILD) {
    return failed(Call::wait_child, process);
  }
  return exit_status_of_detached(process);
}

Pid KernelOs::process_id() noexcept {
  return ::getpid();
}

std::uint32_t KernelOs::user_id() noexcept {
  return ::geteuid();
}

Status KernelOs::ignore_signal(Signal signal) noexcept {
  struct sigaction action {};
  const int number = number_of(signal);
  if (::sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN &&
      (action.sa_flags & SA_SIGINFO) == 0) {
    return ok();  // The program itself wants it, and its children inherit it.
  }
  action = {};
  action.sa_handler = pass_over;
  action.sa_flags = SA_RESTART;
  return status_of(::sigaction(number, &action, nullptr), Call::ignore_signal, std::string());
}

Status KernelOs::unblock_signal(Signal signal) noexcept {
  sigset_t one;
  ::sigemptyset(&one);
  ::sigaddset(&one, number_of(signal));
  const int error = ::pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
  return error == 0 ? ok() : Status(failure(std::errc{error}, {}, Call::unblock_signal));
}

Pid KernelOs::thread_id() noexcept {
  struct CachedThreadId {
    std::uint64_t process = 0;
    Pid id = 0;
  };
  thread_local CachedThreadId known;
  // A forked child has a copy of its parent's thread number.
  if (const std::uint64_t process = token_of_process(); known.process != process) {
    known = {.process = process, .id = ::gettid()};
  }
  return known.id;
}

unsigned KernelOs::processors() noexcept {
  // The kernel refuses a set that is too small for the machine. sched_getaffinity(2), "NOTES"
  std::array<cpu_set_t, processor_sets_max> sets{};
  if (::sched_getaffinity(0, sizeof sets, sets.data()) != 0) {
    return 1;
  }
  return static_cast<unsigned>(std::max(CPU_COUNT_S(sizeof sets, sets.data()), 1));
}

}  // namespace lastref::os
