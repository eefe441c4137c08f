// Os: the only door to the operating system.
//
// Everything in lastref is given the Os that it lives on, so several processes can live in one
// simulation and every call is a point where a run may be switched, killed or failed. There are no
// process-wide singletons.
//
// Contract, for every implementation and wrapper:
// - One method is one system call. Nothing is retried inside: `interrupted` reaches the caller,
//   and the retry policy lives in owners.hpp, where it can be tested.
// - No method throws, but for std::bad_alloc where one is not noexcept. A call that has no memory
//   for its answer fails with not_enough_memory, and leaves no descriptor open; a message that was
//   received is lost then. For want of memory an error may have no subject. A failed call leaves
//   the state that the kernel documents; `close` gives up its descriptor even when it reports an
//   error.
// - No descriptor is 0, 1 or 2, whatever the program around us has closed, and nothing is written
//   to what it has opened as 2 since. Every one is close-on-exec; sockets and pipes never block:
//   they answer `resource_unavailable_try_again` (would block). Waiting is `poll`, and only `poll`.
// - No call raises SIGPIPE or SIGXFSZ.
// - Every method may be called from any thread of the process that the Os belongs to.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lastref/error.hpp>

namespace lastref {

/// See probe.hpp.
enum class Probe : std::uint8_t;

}  // namespace lastref

namespace lastref::os {

class ProcessObjects;

using Bytes = std::span<const std::byte>;
using Buffer = std::span<std::byte>;
/// Time since an arbitrary fixed moment; never goes back.
using Instant = std::chrono::nanoseconds;
using Pid = std::int32_t;

/// A file descriptor. Not an owner: see UniqueFd.
enum class Fd : int { none = -1, standard_output = 1, standard_error = 2, current_folder = -100 };

/// A path, relative to a folder that is already open.
struct PathAt {
  Fd folder = Fd::current_folder;
  std::string path;

  // NOLINTNEXTLINE(google-explicit-constructor): a plain path is the common case.
  PathAt(std::string absolute) : path(std::move(absolute)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): so is a literal.
  PathAt(const char* absolute) : path(absolute) {}
  PathAt(Fd in, std::string name) : folder(in), path(std::move(name)) {}
};

enum class FileKind : std::uint8_t { regular, folder, symlink, socket, other };

/// What fstat and lstat tell, as far as anybody here needs it.
struct FileStatus {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;   ///< bytes
  std::uint32_t mode = 0;   ///< permission bits only
  std::uint32_t owner = 0;  ///< user id
  FileKind kind = FileKind::other;
  /// Nanoseconds since 1970; 0 where the file system does not tell. It stays with the file whatever
  /// it is called, so that another one is known even if it has got the old one's number.
  std::uint64_t born = 0;

  bool operator==(const FileStatus&) const = default;
};

/// How a word in a shared map is touched, with the orders of C++.
struct WordAccess {
  Step step = Step::word_load;
  const std::byte* at = nullptr;
  std::memory_order order = std::memory_order_seq_cst;
  std::memory_order order_if_unchanged = std::memory_order_relaxed;  ///< Of a change alone
  std::uint64_t expected = 0;                                        ///< Of a change alone
  std::uint64_t wanted = 0;
};

struct FolderEntry {
  std::string name;
  FileKind kind = FileKind::other;

  bool operator==(const FolderEntry&) const = default;
};

/// How to open. A symlink in the last component is never followed.
struct OpenOptions {
  bool write = false;         ///< Read and write; otherwise read only.
  bool create = false;        ///< Create, and fail with file_exists if it is there.
  bool append = false;        ///< Every write goes to the end.
  bool folder = false;        ///< Fail with not_a_directory unless it is a folder.
  std::uint32_t mode = 0600;  ///< Permission bits of a created file, umask applied.
};

/// A multiple of the page size, whatever Linux it is.
inline constexpr std::uint64_t map_alignment = 65536;

/// What may be done with a map, and who learns of it.
enum class MapKind : std::uint8_t {
  read,           ///< Nobody writes to it.
  shared,         ///< A store is at once in the file and in all its other maps.
  copy_on_write,  ///< A store stays in this map.
};

/// A stretch of a file that becomes memory. One that ends behind the file's last page can be had,
/// but a touch there is SIGBUS; so is a store for which the file system has no space.
struct MapOptions {
  Fd file = Fd::none;        ///< None: zeros, whose name nobody knows.
  std::uint64_t offset = 0;  ///< A multiple of map_alignment.
  std::size_t size = 0;      ///< bytes; 1 or more
  MapKind kind = MapKind::read;
};

enum class LockKind : std::uint8_t { none, shared, exclusive };

/// A range of bytes of a file; `length` 0 means up to the end, however far it grows.
struct LockRange {
  LockKind kind = LockKind::none;
  std::uint64_t start = 0;
  std::uint64_t length = 1;

  bool operator==(const LockRange&) const = default;
};

/// A lock that stands in the way of another. `pid` is 0 when its holder is not visible from here.
struct LockHolder {
  Pid pid = 0;
  LockRange range;

  bool operator==(const LockHolder&) const = default;
};

/// The most descriptors that one message carries.
inline constexpr std::size_t fds_max = 8;

/// One message of a sequenced-packet socket, and the descriptors that came with it.
struct Received {
  std::size_t size = 0;    ///< bytes; 0 with no descriptors is the end of the stream
  std::vector<Fd> fds;     ///< to be owned by the caller at once
  bool truncated = false;  ///< bytes or descriptors did not fit and are gone
};

/// Who called connect() on the other side.
struct Peer {
  Pid pid = 0;
  std::uint32_t user = 0;

  bool operator==(const Peer&) const = default;
};

struct PollItem {
  Fd fd = Fd::none;
  bool want_read = false;
  bool want_write = false;
  bool readable =
      false;  ///< Out: a read, receive or accept would not block; or a process has died.
  bool writable = false;  ///< Out.
  bool hung_up =
      false;  ///< Out, always asked for: the other side is gone, or the descriptor is bad.
};

struct PipeEnds {
  Fd read = Fd::none;
  Fd write = Fd::none;
};

enum class Signal : std::uint8_t { interrupt, terminate, hang_up, quit, kill, stop, resume };

/// A descriptor that a child process gets, under the number it will have there.
struct PassedFd {
  Fd here = Fd::none;
  int number_there = -1;  ///< 3 or more
};

/// A process to start: a named entry point, never a copy of the caller's memory.
struct SpawnOptions {
  std::string entry;  ///< As registered with the Os, for instance "tracker".
  std::vector<std::string> arguments;
  /// Nothing else is inherited but the standard three, which are /dev/null where this process has
  /// none.
  std::vector<PassedFd> fds;
  /// Blocked in the child from its first instant, besides what the program around us has blocked.
  std::vector<Signal> blocked;
  /// Variables that it has besides those of its parent, whose value of the same name it does not
  /// see. A name is not empty and has no "=" in it; given twice, the last counts.
  std::vector<std::pair<std::string, std::string>> environment = {};
  /// Whether wait_child will be asked how it ended. If not, it is never a child of this process.
  bool end_wanted = true;
  /// Whether it may have as many descriptors as this process could ask for, and not only as many as
  /// it has asked for: getrlimit(2), the hard limit. Only where no end is wanted.
  bool many_fds = false;
};

/// A started child: its pid, and a descriptor that names the process itself and not its number.
struct Child {
  Pid pid = 0;
  Fd process = Fd::none;
};

/// How a child ended.
struct ChildExit {
  int code = 0;  ///< Exit code, or the signal's number.
  bool killed = false;

  bool operator==(const ChildExit&) const = default;
};

/// Whose code a thread runs, and so which signals it takes.
enum class ThreadKind : std::uint8_t {
  ours,   ///< None that is meant for the program: they are for its own threads.
  users,  ///< Those that the thread takes which started it.
};

/// A thread of the calling process. Joined before it is destroyed.
class Thread {
 public:
  Thread() = default;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  virtual ~Thread() = default;
  virtual void join() noexcept = 0;
};

/// A mutex with one condition. Fair to nobody; not recursive.
///
/// lock and wait are places where the harness may switch thread. They cannot fail.
class Monitor {
 public:
  Monitor() = default;
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  virtual ~Monitor() = default;
  virtual void lock() noexcept = 0;
  virtual void unlock() noexcept = 0;
  /// Unlocks, waits for notify_all (or for no reason), locks again.
  virtual void wait() noexcept = 0;
  virtual void notify_all() noexcept = 0;
};

/// An action for the end of a process. Destroyed, it is taken back.
class ExitHook {
 public:
  ExitHook() = default;
  ExitHook(const ExitHook&) = delete;
  ExitHook& operator=(const ExitHook&) = delete;
  virtual ~ExitHook() = default;
};

class Os {
 public:
  Os() = default;
  Os(const Os&) = delete;
  Os& operator=(const Os&) = delete;
  virtual ~Os() = default;

  // Files and folders. `read`, `write`: on pipes, would-block when there is nothing or no space.
  virtual Result<Fd> open(const PathAt& where, const OpenOptions& options) noexcept = 0;
  virtual Status close(Fd fd) noexcept = 0;
  virtual Result<std::size_t> read(Fd fd, Buffer into) noexcept = 0;
  /// Of a file, from `offset` on; where `read` goes on stays. None behind the end. pread(2).
  virtual Result<std::size_t> read_at(Fd fd, Buffer into, std::uint64_t offset) noexcept = 0;
  virtual Result<std::size_t> write(Fd fd, Bytes bytes) noexcept = 0;
  virtual Result<std::size_t> write_at(Fd fd, Bytes bytes, std::uint64_t offset) noexcept = 0;
  /// What was written to the file, by whoever and through maps too, is on its device. Its name is
  /// in its folder, which can be synced as well. After an error some of it may be lost, though the
  /// next call may say that all is well. fdatasync(2); fsync(2), "ERRORS".
  virtual Status sync(Fd fd) noexcept = 0;
  /// These bytes of the file have space: no store there raises SIGBUS for want of it, unless
  /// the file system copies what is stored. What was not there before is zeros, and the file is as
  /// long as it takes. Some file systems cannot do it: operation_not_supported. fallocate(2).
  virtual Status allocate(Fd fd, std::uint64_t offset, std::uint64_t size) noexcept = 0;
  /// These bytes of the file are zeros from now on, in its read and shared maps too, and the whole
  /// pages among them are free space. The file's size stays. Some file systems cannot do it:
  /// operation_not_supported. fallocate(2), "Deallocating file space".
  virtual Status punch_hole(Fd fd, std::uint64_t offset, std::uint64_t size) noexcept = 0;
  virtual Result<FileStatus> status(Fd fd) noexcept = 0;
  /// Of the path itself: a symlink is not followed.
  virtual Result<FileStatus> status_at(const PathAt& where) noexcept = 0;
  virtual Status unlink(const PathAt& where) noexcept = 0;
  /// In one step: at every instant the new name is what it was or what it becomes. A file that has
  /// it is replaced, an empty folder by a folder; a symlink is not followed at either end. An error
  /// names `to`.
  virtual Status rename(const PathAt& from, const PathAt& to) noexcept = 0;
  /// As rename, but nothing is replaced: file_exists if anything has the new name, be it the same
  /// file. Some file systems cannot do it: invalid_argument. renameat2(2), RENAME_NOREPLACE.
  virtual Status rename_new(const PathAt& from, const PathAt& to) noexcept = 0;
  /// Another name of a file: file_exists if anything has it. A symlink is not followed at either
  /// end. Some file systems cannot do it: operation_not_permitted or operation_not_supported. An
  /// error names `to`. link(2).
  virtual Status link(const PathAt& from, const PathAt& to) noexcept = 0;
  /// Where a symlink leads, as it was made; invalid_argument if it is none.
  virtual Result<std::string> read_link(const PathAt& where) noexcept = 0;
  /// Permission bits, of what the caller owns. A symlink has none of its own:
  /// operation_not_supported.
  virtual Status change_mode(const PathAt& where, std::uint32_t mode) noexcept = 0;
  virtual Status make_folder(const PathAt& where, std::uint32_t mode) noexcept = 0;
  virtual Status remove_folder(const PathAt& where) noexcept = 0;
  /// The next entries of an open folder, without "." and ".."; none at its end. At least one and at
  /// most a few hundred at a time, so that nobody waits for a huge folder.
  virtual Result<std::vector<FolderEntry>> read_folder(Fd folder) noexcept = 0;
  /// Bytes that an ordinary user could still write on the file system of `path`, and never more
  /// than the highest std::int64_t. A symlink is followed.
  virtual Result<std::uint64_t> free_space(const std::string& path) noexcept = 0;
  /// Which kind of file system has `path`, by the numbers of statfs(2). A symlink is followed.
  virtual Result<std::uint64_t> file_system(const std::string& path) noexcept = 0;
  /// The absolute path where relative ones start.
  virtual Result<std::string> working_folder() noexcept = 0;

  // Memory. A map outlives its descriptor and the file's name.
  virtual Result<Buffer> map(const MapOptions& options) noexcept = 0;
  /// All of what `map` gave. On an error it is still there.
  virtual Status unmap(Buffer mapped) noexcept = 0;

  // Names of POSIX shared memory and semaphores, as shm_overview(7) and sem_overview(7) have them.
  virtual Result<Fd> create_shm(const std::string& name, std::uint32_t mode) noexcept = 0;
  virtual Status unlink_shm(const std::string& name) noexcept = 0;
  virtual Status create_semaphore(const std::string& name, std::uint32_t mode) noexcept = 0;
  virtual Status unlink_semaphore(const std::string& name) noexcept = 0;

  // POSIX record locks. Closing any descriptor of the file drops all that the process has on it:
  // open a lock file once and keep it. fcntl(2), "Advisory record locking".
  /// Takes, changes or (kind none) drops; never waits: would-block or permission_denied if held.
  virtual Status lock_range(Fd fd, const LockRange& range) noexcept = 0;
  /// One lock of another process that `range` would collide with, if there is any; not the lowest.
  virtual Result<std::optional<LockHolder>> find_lock(Fd fd, const LockRange& range) noexcept = 0;

  /// Takes a shared lock on an open folder, until its last descriptor is closed, a forked child's
  /// included; never waits: would-block if another process has an exclusive one. systemd-tmpfiles
  /// removes nothing by age in a folder with such a lock: tmpfiles.d(5), "Age"; flock(2).
  virtual Status lock_folder(Fd folder) noexcept = 0;

  // Unix sockets that keep the bounds of messages (SOCK_SEQPACKET), and pipes.
  virtual Result<Fd> make_socket() noexcept = 0;
  /// The path is at most 107 bytes; filename_too_long otherwise.
  virtual Status bind(Fd socket, const std::string& path) noexcept = 0;
  virtual Status listen(Fd socket) noexcept = 0;
  virtual Result<Fd> accept(Fd socket) noexcept = 0;
  virtual Status connect(Fd socket, const std::string& path) noexcept = 0;
  /// The whole message or nothing of it, with at most fds_max descriptors (else invalid_argument).
  virtual Status send(Fd socket, Bytes message, std::span<const Fd> fds) noexcept = 0;
  virtual Result<Received> receive(Fd socket, Buffer into) noexcept = 0;
  /// Ends both directions for everybody who has the socket. On a listening one: refuses from now
  /// on.
  virtual Status shut_down(Fd socket) noexcept = 0;
  virtual Result<Peer> peer_of(Fd socket) noexcept = 0;
  virtual Result<PipeEnds> make_pipe() noexcept = 0;
  /// Waits until an item is ready or the time is over; no time means for ever. Returns how many
  /// items are ready. An item with Fd::none is passed over.
  virtual Result<std::size_t> poll(std::span<PollItem> items,
                                   std::optional<std::chrono::nanoseconds> timeout) noexcept = 0;

  // Processes. A process descriptor becomes readable when the process itself has died. Its pid may
  // name another from then on.
  virtual Result<Child> spawn(const SpawnOptions& options) noexcept = 0;
  virtual Result<Fd> open_process(Pid pid) noexcept = 0;
  virtual Status signal_process(Fd process, Signal signal) noexcept = 0;
  /// How a process ended that this one has started; nothing if it still runs. Nothing as well as
  /// long as somebody else keeps it from being reaped, one who traced it or an init that is slow,
  /// though its descriptor is readable then. Never waits. Asked again, or of a process that
  /// somebody else has started or whose end was not wanted, it may tell the truth or
  /// no_child_process.
  virtual Result<std::optional<ChildExit>> wait_child(Fd process) noexcept = 0;
  virtual Pid process_id() noexcept = 0;
  virtual std::uint32_t user_id() noexcept = 0;
  /// Nothing happens when it comes. What this process starts does not inherit that, unless the
  /// program around us ignored it before.
  virtual Status ignore_signal(Signal signal) noexcept = 0;
  virtual Status unblock_signal(Signal signal) noexcept = 0;

  // Threads of this process, processors, clock, chance, environment.
  virtual Result<std::unique_ptr<Thread>> start_thread(
      std::function<void()> body, ThreadKind kind = ThreadKind::ours) noexcept = 0;
  /// Of the calling thread: the process id on the first one, and nobody else's among all threads
  /// and processes that are alive.
  virtual Pid thread_id() noexcept = 0;
  /// How many processors this process may run on; 1 or more.
  virtual unsigned processors() noexcept = 0;
  virtual Instant now() noexcept = 0;
  virtual Status entropy(Buffer into) noexcept = 0;
  /// No value if it is not set.
  virtual std::optional<std::string> environment(const std::string& name) = 0;

  // No rows: they cannot fail, and nothing outside the process can tell that they happened.
  /// This process's alone, as long as it lives, and never 0. A child that was forked has another
  /// one, in whatever way it was forked, and whatever its pid in whatever namespace.
  virtual std::uint64_t process_token() noexcept = 0;
  virtual std::unique_ptr<Monitor> make_monitor() = 0;
  /// `action` runs when this process ends by exit(3) or by returning from main, the last registered
  /// first; what is registered meanwhile comes next. It never runs in a forked child, nor after
  /// SIGKILL or _exit(2). What it uses has to be there still, also the Os: after main, only what is
  /// static. Whoever takes back an action that another thread runs already does not wait for it.
  virtual std::unique_ptr<ExitHook> at_exit(std::function<void()> action) = 0;
  /// What there is once in the process that this Os is of.
  virtual ProcessObjects& objects() = 0;
  /// What was given to this process alone reaches nothing that it executes: these descriptors, and
  /// a variable of its environment, which is not set any more here either. Called before there are
  /// other threads.
  virtual void keep_to_itself(std::span<const Fd> fds, const std::string& variable) noexcept = 0;
  virtual void step(Step) noexcept {}
  /// Crosses the step of a word in a shared map, which is touched as soon as this returns.
  virtual void touch(const WordAccess&) noexcept {}
  /// A condition was met that a campaign has to meet. Nobody acts on it.
  virtual void saw(Probe) noexcept {}

  /// Messages to people that nobody has read, and that nobody was told of yet; see report_quietly.
  std::atomic<std::uint64_t> unsaid{0};
};

}  // namespace lastref::os
