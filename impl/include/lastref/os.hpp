// Os: the only interface to the operating system.
//
// Everything in lastref takes the Os that it runs on as an argument. So several processes can run
// in one simulation, and every call is a point at which the harness can switch to another process,
// kill the process or make the call fail. There are no process-wide singletons.
//
// Contract, for every implementation and wrapper:
// - One method is one system call. A method does not retry: `interrupted` reaches the caller, and
//   the retry policy is in owners.hpp, where it can be tested.
// - No method throws, except std::bad_alloc where it is not noexcept. A call that has no memory for
//   its result fails with not_enough_memory and leaves no descriptor open; a message that was
//   received is lost then. If memory is short, an error may have no subject. A failed call leaves
//   the state that the kernel documents. `close` gives up its descriptor even when it reports an
//   error.
// - No method returns descriptor 0, 1 or 2, even if the host program closed them, and nothing is
//   written to a descriptor 2 that the host program has reopened. Every descriptor is
//   close-on-exec. Sockets and pipes never block: calls fail with `resource_unavailable_try_again`
//   (would block). Only `poll` waits.
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
#include <lastref/thread_safety.hpp>

namespace lastref {

/// See probe.hpp.
enum class Probe : std::uint8_t;

}  // namespace lastref

namespace lastref::os {

class ProcessObjects;

using Bytes = std::span<const std::byte>;
using Buffer = std::span<std::byte>;
/// Time since an arbitrary fixed moment; monotonic.
using Instant = std::chrono::nanoseconds;
using Pid = std::int32_t;

/// A file descriptor. It does not own the descriptor: see UniqueFd.
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

/// The results of fstat and lstat that are needed here.
struct FileStatus {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;   ///< bytes
  std::uint32_t mode = 0;   ///< permission bits only
  std::uint32_t owner = 0;  ///< user id
  FileKind kind = FileKind::other;
  /// Birth time in nanoseconds since 1970; 0 if the file system does not provide it. A rename does
  /// not change it. So another file is recognised even if it has reused the inode number.
  std::uint64_t btime = 0;

  bool operator==(const FileStatus&) const = default;
};

/// An access to a word in a shared map, with C++ memory orders.
struct WordAccess {
  Step step = Step::word_load;
  const std::byte* at = nullptr;
  std::memory_order order = std::memory_order_seq_cst;
  std::memory_order order_if_unchanged = std::memory_order_relaxed;  ///< Only for a change.
  std::uint64_t expected = 0;                                        ///< Only for a change.
  std::uint64_t wanted = 0;
};

struct FolderEntry {
  std::string name;
  FileKind kind = FileKind::other;

  bool operator==(const FolderEntry&) const = default;
};

/// Options of `open`. A symlink in the last component is never followed.
struct OpenOptions {
  bool write = false;         ///< Read and write; otherwise read only.
  bool create = false;        ///< Create the file; fail with file_exists if it exists.
  bool append = false;        ///< Every write goes to the end.
  bool folder = false;        ///< Fail with not_a_directory unless it is a folder.
  std::uint32_t mode = 0600;  ///< Permission bits of a created file, umask applied.
};

/// A multiple of the page size on every Linux.
inline constexpr std::uint64_t map_alignment = 65536;

/// Access to a map, and where its stores are visible.
enum class MapKind : std::uint8_t {
  read,           ///< Read only.
  shared,         ///< A store is at once visible in the file and in all its other maps.
  copy_on_write,  ///< A store is visible only in this map.
};

/// A range of a file to map into memory. A range that ends after the file's last page can be
/// mapped, but an access there raises SIGBUS; so does a store for which the file system has no
/// space.
struct MapOptions {
  Fd file = Fd::none;        ///< None: zeros without a file.
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

/// A lock that conflicts with another. `pid` is 0 if its holder is not visible from this process.
struct LockHolder {
  Pid pid = 0;
  LockRange range;

  bool operator==(const LockHolder&) const = default;
};

/// Maximum number of descriptors in one message.
inline constexpr std::size_t fds_max = 8;

/// One message of a sequenced-packet socket, and the descriptors that came with it.
struct Received {
  std::size_t size = 0;    ///< bytes; 0 with no descriptors is the end of the stream
  std::vector<Fd> fds;     ///< the caller has to take ownership at once
  bool truncated = false;  ///< bytes or descriptors did not fit and are lost
};

/// The process that called connect() on the other side.
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
      false;  ///< Out, always polled: the other side has closed, or the descriptor is bad.
};

struct PipeEnds {
  Fd read = Fd::none;
  Fd write = Fd::none;
};

enum class Signal : std::uint8_t { interrupt, terminate, hang_up, quit, kill, stop, resume };

/// A descriptor that a child process inherits, and its number there.
struct PassedFd {
  Fd here = Fd::none;
  int number_there = -1;  ///< 3 or more
};

/// A process to start: a named entry point, never a copy of the caller's memory.
struct SpawnOptions {
  std::string entry;  ///< As registered with the Os, for instance "tracker".
  std::vector<std::string> arguments;
  /// The child inherits only these descriptors and the standard three, which are /dev/null if this
  /// process does not have them.
  std::vector<PassedFd> fds;
  /// Signals that are blocked in the child from its start, in addition to those that the host
  /// program has blocked.
  std::vector<Signal> blocked;
  /// Variables that the child has in addition to those of its parent. They replace the parent's
  /// variables of the same name. A name is not empty and has no "=" in it. If a name is given
  /// twice, the last one counts.
  std::vector<std::pair<std::string, std::string>> environment = {};
  /// Whether wait_child will be called for its exit status. If not, it never becomes a child of
  /// this process.
  bool end_wanted = true;
  /// Whether the limit of its descriptors is this process's hard limit instead of the soft limit:
  /// getrlimit(2). Only if end_wanted is false.
  bool many_fds = false;
};

/// A started child: its pid, and a descriptor that refers to the process itself, not its number.
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

/// The owner of the code that a thread runs. It decides which signals the thread takes.
enum class ThreadKind : std::uint8_t {
  ours,   ///< Takes no signals that are meant for the program; the program's threads take them.
  users,  ///< Takes the same signals as the thread that started it.
};

/// A thread of the calling process. It has to be joined before it is destroyed.
class Thread {
 public:
  Thread() = default;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;
  virtual ~Thread() = default;
  virtual void join() noexcept = 0;
};

/// A mutex with one condition variable. Neither fair nor recursive.
///
/// lock and wait are points at which the harness may switch threads. They cannot fail.
class LASTREF_CAPABILITY Monitor {
 public:
  Monitor() = default;
  Monitor(const Monitor&) = delete;
  Monitor& operator=(const Monitor&) = delete;
  virtual ~Monitor() = default;
  virtual void lock() noexcept LASTREF_ACQUIRES() = 0;
  virtual void unlock() noexcept LASTREF_RELEASES() = 0;
  /// Unlocks, waits for notify_all (or wakes up spuriously), locks again.
  virtual void wait() noexcept LASTREF_REQUIRES(this) = 0;
  virtual void notify_all() noexcept = 0;
};

/// An action for the end of a process. The destructor cancels it.
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

  // Files and folders. `read`, `write`: on pipes, would-block if there are no bytes or no space.
  virtual Result<Fd> open(const PathAt& where, const OpenOptions& options) noexcept = 0;
  virtual Status close(Fd fd) noexcept = 0;
  virtual Result<std::size_t> read(Fd fd, Buffer into) noexcept = 0;
  /// Reads a file from `offset` on; the position of `read` does not change. Returns 0 after the end
  /// of the file. pread(2).
  virtual Result<std::size_t> read_at(Fd fd, Buffer into, std::uint64_t offset) noexcept = 0;
  virtual Result<std::size_t> write(Fd fd, Bytes bytes) noexcept = 0;
  virtual Result<std::size_t> write_at(Fd fd, Bytes bytes, std::uint64_t offset) noexcept = 0;
  /// When it returns, everything that was written to the file is on its device, whichever process
  /// wrote it, and through maps too. The name of the file is in its folder, which can be synced as
  /// well. After an error some data may be lost, though the next call may succeed. fdatasync(2);
  /// fsync(2), "ERRORS".
  virtual Status sync(Fd fd) noexcept = 0;
  /// Allocates space for these bytes of the file: no store there raises SIGBUS for lack of space,
  /// unless the file system copies on write. New bytes are zeros, and the file is extended if
  /// necessary. Some file systems cannot do it: operation_not_supported. fallocate(2).
  virtual Status allocate(Fd fd, std::uint64_t offset, std::uint64_t size) noexcept = 0;
  /// Sets these bytes of the file to zeros, in its read and shared maps too, and frees the whole
  /// pages among them. The size of the file does not change. Some file systems cannot do it:
  /// operation_not_supported. fallocate(2), "Deallocating file space".
  virtual Status punch_hole(Fd fd, std::uint64_t offset, std::uint64_t size) noexcept = 0;
  virtual Result<FileStatus> status(Fd fd) noexcept = 0;
  /// The status of the path itself: a symlink is not followed.
  virtual Result<FileStatus> status_at(const PathAt& where) noexcept = 0;
  virtual Status unlink(const PathAt& where) noexcept = 0;
  /// Renames atomically: at every instant the new name refers to the old or to the new file. A file
  /// of that name is replaced; a folder replaces an empty folder. A symlink is not followed at
  /// either end. An error names `to`.
  virtual Status rename(const PathAt& from, const PathAt& to) noexcept = 0;
  /// As rename, but replaces nothing: file_exists if the new name exists, even for the same file.
  /// Some file systems cannot do it: invalid_argument. renameat2(2), RENAME_NOREPLACE.
  virtual Status rename_new(const PathAt& from, const PathAt& to) noexcept = 0;
  /// Adds another name to a file: file_exists if that name exists. A symlink is not followed at
  /// either end. Some file systems cannot do it: operation_not_permitted or
  /// operation_not_supported. An error names `to`. link(2).
  virtual Status link(const PathAt& from, const PathAt& to) noexcept = 0;
  /// Returns the target of a symlink, as it was created; invalid_argument if it is no symlink.
  virtual Result<std::string> read_link(const PathAt& where) noexcept = 0;
  /// Sets the permission bits of a file that the caller owns. A symlink has none of its own:
  /// operation_not_supported.
  virtual Status change_mode(const PathAt& where, std::uint32_t mode) noexcept = 0;
  virtual Status make_folder(const PathAt& where, std::uint32_t mode) noexcept = 0;
  virtual Status remove_folder(const PathAt& where) noexcept = 0;
  /// Returns the next entries of an open folder, without "." and ".."; none at its end. Otherwise
  /// at least one and at most a few hundred at a time, so that no caller waits for a huge folder.
  virtual Result<std::vector<FolderEntry>> read_folder(Fd folder) noexcept = 0;
  /// Returns how many bytes an ordinary user could still write on the file system of `path`; at
  /// most the highest std::int64_t. A symlink is followed.
  virtual Result<std::uint64_t> free_space(const std::string& path) noexcept = 0;
  /// Returns the type of the file system of `path`, a number of statfs(2). A symlink is followed.
  virtual Result<std::uint64_t> file_system(const std::string& path) noexcept = 0;
  /// Returns the absolute path of the working folder.
  virtual Result<std::string> working_folder() noexcept = 0;

  // Memory. A map outlives its descriptor and the file's name.
  virtual Result<Buffer> map(const MapOptions& options) noexcept = 0;
  /// Unmaps everything that `map` returned. After an error it is still mapped.
  virtual Status unmap(Buffer mapped) noexcept = 0;

  // Names of POSIX shared memory and semaphores, as in shm_overview(7) and sem_overview(7).
  virtual Result<Fd> create_shm(const std::string& name, std::uint32_t mode) noexcept = 0;
  virtual Status unlink_shm(const std::string& name) noexcept = 0;
  virtual Status create_semaphore(const std::string& name, std::uint32_t mode) noexcept = 0;
  virtual Status unlink_semaphore(const std::string& name) noexcept = 0;

  // POSIX record locks. Closing any descriptor of the file drops all locks that the process has on
  // it: open a lock file once and keep it open. fcntl(2), "Advisory record locking".
  /// Takes, changes or (kind none) drops; never waits: would-block or permission_denied if held.
  virtual Status lock_range(Fd fd, const LockRange& range) noexcept = 0;
  /// Returns a lock of another process that `range` conflicts with, if there is one. It need not be
  /// the lowest.
  virtual Result<std::optional<LockHolder>> find_lock(Fd fd, const LockRange& range) noexcept = 0;

  /// Takes a shared lock on an open folder, until its last descriptor is closed, including a forked
  /// child's. Never waits: would-block if another process has an exclusive lock. systemd-tmpfiles
  /// removes nothing by age in a folder with such a lock: tmpfiles.d(5), "Age"; flock(2).
  virtual Status lock_folder(Fd folder) noexcept = 0;

  // Unix sockets that keep message boundaries (SOCK_SEQPACKET), and pipes.
  virtual Result<Fd> make_socket() noexcept = 0;
  /// The path is at most 107 bytes; filename_too_long otherwise.
  virtual Status bind(Fd socket, const std::string& path) noexcept = 0;
  virtual Status listen(Fd socket) noexcept = 0;
  virtual Result<Fd> accept(Fd socket) noexcept = 0;
  virtual Status connect(Fd socket, const std::string& path) noexcept = 0;
  /// Sends the whole message or nothing of it, with at most fds_max descriptors (otherwise
  /// invalid_argument).
  virtual Status send(Fd socket, Bytes message, std::span<const Fd> fds) noexcept = 0;
  virtual Result<Received> receive(Fd socket, Buffer into) noexcept = 0;
  /// Ends both directions for all processes that have the socket. A listening socket refuses
  /// connections from now on.
  virtual Status shut_down(Fd socket) noexcept = 0;
  virtual Result<Peer> peer_of(Fd socket) noexcept = 0;
  virtual Result<PipeEnds> make_pipe() noexcept = 0;
  /// Waits until an item is ready or the time is over; without a time, indefinitely. Returns how
  /// many items are ready. Skips items with Fd::none.
  virtual Result<std::size_t> poll(std::span<PollItem> items,
                                   std::optional<std::chrono::nanoseconds> timeout) noexcept = 0;

  // Processes. A process descriptor becomes readable when the process itself has died. From then on
  // its pid may name another process.
  virtual Result<Child> spawn(const SpawnOptions& options) noexcept = 0;
  virtual Result<Fd> open_process(Pid pid) noexcept = 0;
  virtual Status signal_process(Fd process, Signal signal) noexcept = 0;
  /// Returns the exit status of a process that this one has started; none if it still runs. Also
  /// none while another process delays its reaping, such as a tracer or a slow init, though its
  /// descriptor is readable then. Never waits. The result may be the exit status or
  /// no_child_process for a second call, for a process that another process has started, and for
  /// one that was started without end_wanted.
  virtual Result<std::optional<ChildExit>> wait_child(Fd process) noexcept = 0;
  virtual Pid process_id() noexcept = 0;
  virtual std::uint32_t user_id() noexcept = 0;
  /// Makes the signal have no effect. Processes that this one starts do not inherit that, unless
  /// the host program ignored the signal before.
  virtual Status ignore_signal(Signal signal) noexcept = 0;
  virtual Status unblock_signal(Signal signal) noexcept = 0;

  // Threads of this process, processors, clock, entropy, environment.
  virtual Result<std::unique_ptr<Thread>> start_thread(
      std::function<void()> body, ThreadKind kind = ThreadKind::ours) noexcept = 0;
  /// Returns the id of the calling thread: the process id on the first thread; unique among all
  /// threads and processes that are alive.
  virtual Pid thread_id() noexcept = 0;
  /// Returns how many processors this process may run on; 1 or more.
  virtual unsigned processors() noexcept = 0;
  virtual Instant now() noexcept = 0;
  virtual Status entropy(Buffer into) noexcept = 0;
  /// No value if it is not set.
  virtual std::optional<std::string> environment(const std::string& name) = 0;

  // Not in the table of calls: they cannot fail, and are not visible outside the process.
  /// Returns a number that only this process has while it exists; never 0. A forked child has
  /// another one, in whatever way it was forked, and whatever its pid in whatever namespace.
  virtual std::uint64_t process_token() noexcept = 0;
  virtual std::unique_ptr<Monitor> make_monitor() = 0;
  /// Runs `action` when this process ends by exit(3) or by returning from main. Actions run in
  /// reverse order of registration; one that is registered meanwhile runs next. `action` never runs
  /// in a forked child, nor after SIGKILL or _exit(2). Everything that it uses has to exist still,
  /// including the Os: after main, only static objects do. Cancelling an action that another thread
  /// already runs does not wait for it.
  virtual std::unique_ptr<ExitHook> at_exit(std::function<void()> action) = 0;
  /// Returns the objects that exist once in the process that this Os belongs to.
  virtual ProcessObjects& objects() = 0;
  /// Keeps these descriptors and this environment variable from every program that the process
  /// executes. The variable is unset in this process too. To be called before other threads exist.
  virtual void hide_from_children(std::span<const Fd> fds,
                                  const std::string& variable) noexcept = 0;
  virtual void step(Step) noexcept {}
  /// Passes the step of a word in a shared map. The caller accesses the word when this returns.
  virtual void touch(const WordAccess&) noexcept {}
  /// Passes the step of an atomic object that threads of this process share. The caller accesses it
  /// when this returns.
  virtual void access_atomic(const void* /*object*/, bool /*writes*/) noexcept {}
  /// Reports that a condition was met which a campaign has to meet. Nothing depends on it.
  virtual void hit(Probe) noexcept {}

  /// Number of messages to the user that were dropped and not reported as dropped yet; see
  /// report_quietly.
  std::atomic<std::uint64_t> dropped_messages{0};
};

}  // namespace lastref::os
