// SimKernel: the kernel's state of a run, as plain data, and the effects of calls on it.
//
// Nothing here waits or chooses: a call that would wait returns EAGAIN or "nothing is ready".
// Errors are errno values, as Linux returns them for the calls that os::Os makes. The contract
// tests in property_tests/impl/os require the same answers of both kernels.
//
// Limitations: file systems other than the first have no limits, and mounting one hides nothing;
// groups are not modelled; a folder's size is that of tmpfs. Maps: SIGBUS, a store to a read-only
// map, and pages that a copy on write has not copied yet are left to the real kernel; a store takes
// no storage; and a mapped file grows by at most SimLimits::mapped_growth.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include <tl/expected.hpp>

#include <lastref/os.hpp>

#include "harness/sim/accesses.hpp"
#include "harness/sim/late_stores.hpp"

namespace lastref::harness::sim {

/// A value or an errno.
template <typename T>
using Answer = tl::expected<T, int>;

inline tl::unexpected<int> refused(int error) {
  return tl::unexpected<int>(error);
}

/// The file system with limited storage.
inline constexpr std::uint64_t first_device = 1;

struct SimProcess;
struct Socket;
struct Description;

struct RecordLock {
  const SimProcess* owner = nullptr;
  os::LockKind kind = os::LockKind::none;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;  ///< One past the last byte; the highest number means no end.
};

/// A file, folder, symlink or socket node.
struct Inode {
  struct Entry {
    std::shared_ptr<Inode> inode;
    std::uint64_t order = 0;  ///< When it was linked; folders are read newest first, as on tmpfs.
  };

  std::uint64_t number = 0;
  os::FileKind kind = os::FileKind::regular;
  std::uint32_t mode = 0;
  std::uint32_t owner = 0;
  std::uint64_t device = first_device;
  std::uint64_t btime = 0;  ///< Like os::FileStatus
  bool linked = true;
  std::uint32_t names = 1;
  std::string bytes;        ///< Content, or the target of a symlink
  std::vector<bool> pages;  ///< Which pages have been written; others take no storage.
  std::map<std::string, Entry> entries;
  std::weak_ptr<Inode> parent;
  std::vector<RecordLock> locks;
  std::weak_ptr<Socket> bound;
  std::weak_ptr<const bool> pinned;  ///< Held by maps: the bytes must not move.
  std::weak_ptr<const bool> locked;  ///< Held by descriptions with a lock on the folder.
};

/// What a process has mapped.
struct Map {
  os::Buffer bytes;
  std::shared_ptr<Inode> inode;     ///< The file that has the bytes, if they are shared.
  std::shared_ptr<const bool> pin;  ///< Shared by all processes that map them.
  std::vector<std::byte> own = {};  ///< The bytes, if they are not.
};

/// Sixteen pages; a write goes into the last page only if its remainder fits there whole. pipe(7).
struct Pipe {
  static constexpr std::size_t page_size = 4096;
  static constexpr std::size_t pages_max = 16;

  struct Page {
    std::string bytes;
    std::size_t taken = 0;
  };

  std::deque<Page> pages;
  int readers = 0;
  int writers = 0;
  std::uint64_t number = 0;  ///< Unique in a run, like that of an inode
};

struct Packet {
  std::string bytes;
  std::vector<std::shared_ptr<Description>> fds;
  std::size_t cost = 0;  ///< bytes of the sender's buffer
};

/// One end of a sequenced-packet connection, or a socket that may become one.
struct Socket {
  enum class State : std::uint8_t { fresh, listening, connected };

  Socket() = default;
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  ~Socket();

  std::uint64_t number = 0;  ///< Unique in a run, like that of an inode
  State state = State::fresh;
  std::shared_ptr<Inode> address;
  std::weak_ptr<Socket> peer;
  std::deque<Packet> inbox;
  std::deque<std::shared_ptr<Socket>> waiting;  ///< Connected, not yet accepted
  std::size_t cost = 0;         ///< bytes of our buffer that are in the peer's inbox
  std::size_t cost_of_all = 0;  ///< bytes of our buffer that all packets took that we have sent
  std::uint64_t arrived = 0;    ///< packets that were ever in our inbox,
  std::uint64_t taken = 0;      ///< and those of them that were received
  bool shut = false;
  bool embryo = false;  ///< In a listener's queue
  int error = 0;        ///< Reported once
  os::Peer here;        ///< The credentials that the other side will see
  os::Peer there;
};

enum class DescriptionKind : std::uint8_t { file, socket, pipe_read, pipe_write, process, stream };

/// An open file description: what descriptors in any process refer to.
struct Description {
  Description() = default;
  Description(const Description&) = delete;
  Description& operator=(const Description&) = delete;
  ~Description();

  DescriptionKind kind = DescriptionKind::stream;
  std::uint64_t number = 0;  ///< Of an open file; unique in a run
  bool writable = false;
  bool append = false;
  std::uint64_t offset = 0;  ///< For a folder: the order of the entry that was read last
  std::shared_ptr<Inode> inode;
  std::shared_ptr<Socket> socket;
  std::shared_ptr<Pipe> pipe;
  std::shared_ptr<SimProcess> process;
  std::shared_ptr<const bool> folder_lock;  ///< Shared by all that have locked the folder.
};

/// A process, as the kernel sees it.
struct SimProcess {
  enum class State : std::uint8_t { running, closing, zombie, reaped };

  os::Pid pid = 0;
  std::uint64_t token = 0;  ///< Unique, though pids are reused.
  std::weak_ptr<SimProcess> parent;
  std::uint32_t user = 0;
  std::uint32_t umask = 022;
  std::string role;
  State state = State::running;
  bool stopped = false;
  /// Token of the process that stopped it through the stage; 0 is none.
  std::uint64_t stopped_by = 0;
  bool doomed = false;  ///< A signal has ended it; its threads run no more.
  os::ChildExit exit;
  std::vector<std::shared_ptr<Description>> fds;  ///< By number; nullptr where it is free
  std::size_t fds_open = 0;
  std::size_t fds_max = 1024;
  std::uint64_t file_size_max = ~std::uint64_t{0};  ///< RLIMIT_FSIZE
  bool is_unread = false;                           ///< Nothing reads 1 and 2: they are full.
  std::vector<Map> maps;
  std::uint64_t acquired = 0;  ///< The last release that it sees; see LateStores
  std::set<os::Signal> ignored;
  std::set<os::Signal> blocked;
  std::set<os::Signal> pending;
  std::set<os::Signal> sent;  ///< By processes, whatever the effect.
  std::map<std::string, std::string> environment;
  std::string working_folder = "/";  ///< An absolute path without symlinks; it is not renamed.
};

struct SimLimits {
  std::size_t socket_buffer = 212992;  ///< bytes; net.core.wmem_default
  std::size_t backlog = 128;
  std::size_t bytes = ~std::size_t{0};  ///< of all files, counted in pages as on tmpfs
  std::size_t inodes = ~std::size_t{0};
  std::optional<std::size_t> copying_bytes = {};  ///< of all on the other file system, if it copies
  std::size_t mapped_growth = std::size_t{1} << 16U;  ///< bytes; of a file while it is mapped
};

/// The number in signal(7).
int number_of(os::Signal signal);

class SimKernel {
 public:
  /// Creates / , /dev/shm, /tmp and /var/tmp (all three 01777), and a clock at one second.
  explicit SimKernel(SimLimits limits = {});
  SimKernel(const SimKernel&) = delete;
  SimKernel& operator=(const SimKernel&) = delete;
  ~SimKernel();

  // Processes. A new one has descriptors 0, 1 and 2.
  std::shared_ptr<SimProcess> make_process(const std::shared_ptr<SimProcess>& parent,
                                           std::string role);
  Answer<std::shared_ptr<SimProcess>> spawn(const std::shared_ptr<SimProcess>& parent,
                                            const os::SpawnOptions& options);
  Answer<os::Fd> open_process(SimProcess& caller, os::Pid pid);
  Answer<void> signal_process(SimProcess& caller, os::Fd process, os::Signal signal);
  Answer<std::optional<os::ChildExit>> wait_child(SimProcess& caller, os::Fd process);
  /// Threads and processes are numbered together.
  os::Pid number_a_thread() noexcept;
  /// The next process or thread gets this number, or the first free one after it.
  void go_on_from(os::Pid pid) noexcept { next_pid_ = pid; }
  Answer<void> ignore_signal(SimProcess& caller, os::Signal signal);
  Answer<void> unblock_signal(SimProcess& caller, os::Signal signal);
  void deliver(SimProcess& caller, os::Signal signal);
  /// The two halves of a death: its open descriptors are closed; its parent and pidfds are
  /// notified.
  void close_all(SimProcess& caller);
  void become_zombie(SimProcess& caller);
  std::shared_ptr<SimProcess> find(os::Pid pid) const;
  const std::vector<std::shared_ptr<SimProcess>>& processes() const noexcept { return processes_; }

  // Files and folders.
  Answer<os::Fd> open(SimProcess& caller, const os::PathAt& where, const os::OpenOptions& options);
  Answer<void> close(SimProcess& caller, os::Fd fd);
  Answer<std::size_t> read(SimProcess& caller, os::Fd fd, os::Buffer into);
  Answer<std::size_t> read_at(SimProcess& caller, os::Fd fd, os::Buffer into, std::uint64_t offset);
  Answer<std::size_t> write(SimProcess& caller, os::Fd fd, os::Bytes bytes);
  Answer<std::size_t> write_at(SimProcess& caller,
                               os::Fd fd,
                               os::Bytes bytes,
                               std::uint64_t offset);
  Answer<void> sync(SimProcess& caller, os::Fd fd);
  Answer<void> allocate(SimProcess& caller, os::Fd fd, std::uint64_t offset, std::uint64_t size);
  Answer<void> punch_hole(SimProcess& caller, os::Fd fd, std::uint64_t offset, std::uint64_t size);
  Answer<os::FileStatus> status(SimProcess& caller, os::Fd fd);
  Answer<os::FileStatus> status_at(SimProcess& caller, const os::PathAt& where);
  Answer<void> unlink(SimProcess& caller, const os::PathAt& where);
  Answer<void> rename(SimProcess& caller, const os::PathAt& from, const os::PathAt& to);
  Answer<void> rename_new(SimProcess& caller, const os::PathAt& from, const os::PathAt& to);
  Answer<void> link(SimProcess& caller, const os::PathAt& from, const os::PathAt& to);
  Answer<std::string> read_link(SimProcess& caller, const os::PathAt& where) const;
  Answer<void> change_mode(SimProcess& caller, const os::PathAt& where, std::uint32_t mode);
  Answer<void> make_folder(SimProcess& caller, const os::PathAt& where, std::uint32_t mode);
  Answer<void> remove_folder(SimProcess& caller, const os::PathAt& where);
  Answer<std::vector<os::FolderEntry>> read_folder(SimProcess& caller, os::Fd folder);
  Answer<std::uint64_t> free_space(SimProcess& caller, const std::string& path) const;
  Answer<std::uint64_t> file_system(SimProcess& caller, const std::string& path) const;
  Answer<void> make_symlink(SimProcess& caller, const os::PathAt& where, const std::string& target);

  // For the harness alone; sim_outside.cpp.
  /// Leaves space for this many more bytes, rounded up to pages, and inodes.
  void limit_storage(std::uint64_t bytes, std::uint64_t inodes) noexcept;
  void free_storage() noexcept;
  /// From now on the other file system copies what is stored, and has space for this many more
  /// bytes.
  void limit_copying_storage(std::uint64_t bytes) noexcept;
  /// What is made in this folder from now on is on another file system, which has no limits by
  /// default.
  void mount(const std::string& folder);
  /// Regardless of the owner.
  Answer<void> force_mode(SimProcess& caller, const os::PathAt& where, std::uint32_t mode);
  /// Makes a file with these bytes: a new one, 0600, or an existing one with new content. Returns
  /// how many of them there was space for.
  Answer<std::size_t> replace_file(SimProcess& caller, const os::PathAt& where, os::Bytes bytes);
  /// Whether a process has locked the folder.
  Answer<bool> is_locked_folder(const SimProcess& caller, const std::string& path) const;

  // Memory.
  Answer<os::Buffer> map(SimProcess& caller, const os::MapOptions& options);
  Answer<void> unmap(SimProcess& caller, os::Buffer mapped);
  /// For a shared map; see LateStores::touch.
  /// A process that stores where there is no space is doomed.
  void touch(SimProcess& caller,
             const os::WordAccess& access,
             const std::function<bool()>& is_late);

  // Names of shared memory and semaphores: files in /dev/shm, as in glibc.
  Answer<os::Fd> create_shm(SimProcess& caller, const std::string& name, std::uint32_t mode);
  Answer<void> unlink_shm(SimProcess& caller, const std::string& name);
  Answer<void> create_semaphore(SimProcess& caller, const std::string& name, std::uint32_t mode);
  Answer<void> unlink_semaphore(SimProcess& caller, const std::string& name);

  // Record locks.
  Answer<void> lock_range(SimProcess& caller, os::Fd fd, const os::LockRange& range);
  /// Folder locks are all shared: they never conflict.
  Answer<void> lock_folder(SimProcess& caller, os::Fd folder);
  Answer<std::optional<os::LockHolder>> find_lock(SimProcess& caller,
                                                  os::Fd fd,
                                                  const os::LockRange& range);

  // Sockets and pipes.
  Answer<os::Fd> make_socket(SimProcess& caller);
  Answer<void> bind(SimProcess& caller, os::Fd fd, const std::string& path);
  Answer<void> listen(SimProcess& caller, os::Fd fd);
  Answer<os::Fd> accept(SimProcess& caller, os::Fd fd);
  Answer<void> connect(SimProcess& caller, os::Fd fd, const std::string& path);
  Answer<void> send(SimProcess& caller, os::Fd fd, os::Bytes message, std::span<const os::Fd> fds);
  Answer<os::Received> receive(SimProcess& caller, os::Fd fd, os::Buffer into);
  Answer<void> shut_down(SimProcess& caller, os::Fd fd);
  Answer<os::Peer> peer_of(SimProcess& caller, os::Fd fd);
  Answer<os::PipeEnds> make_pipe(SimProcess& caller);
  /// Fills in what is ready now, and returns the number of ready items.
  std::size_t look(const SimProcess& caller, std::span<os::PollItem> items) const;
  /// Notes what `look` accesses. The scheduler looks as well, and is no step of a process.
  void note_look(const SimProcess& caller, std::span<const os::PollItem> items) const;
  /// Whether that number would be above zero.
  bool is_ready(const SimProcess& caller, std::span<const os::PollItem> items) const;

  /// The open description of a descriptor; nullptr if there is none.
  static std::shared_ptr<Description> description(const SimProcess& caller, os::Fd fd);
  /// The paths of all files, folders and so on, except those that existed at first.
  std::vector<std::string> leftovers() const;
  /// Calls `look` with the path and the content of every regular file.
  void for_each_file(const std::function<void(const std::string&, const std::string&)>& look) const;
  /// What exists now does not count as a leftover.
  void keep_what_is_there();

  os::Instant clock = std::chrono::seconds(1);
  std::string standard_error;  ///< The output of all processes on 1 and 2
  SimLimits limits;
  std::uint64_t changes = 0;  ///< Increases when something may have become ready.
  bool pipes_travel = false;  ///< A pipe was passed to another process.
  LateStores late{processes_};
  /// Of the running step.
  mutable Accesses accesses;

 private:
  enum class Last : std::uint8_t { normal, dot, dot_dot, root };

  /// The result of a path: the folder, the last name in it, and what has the name, if anything.
  struct Walk {
    std::shared_ptr<Inode> folder;
    std::string name;
    std::shared_ptr<Inode> found;
    Last last = Last::normal;
    bool slash = false;  ///< The path ended with a slash, so only a folder is acceptable.
  };

  Answer<Walk> walk(const SimProcess& caller, const os::PathAt& where) const;
  /// Accepts a slash after the name of something that is not a folder.
  Answer<Walk> walk_to_name(const SimProcess& caller, const os::PathAt& where) const;
  /// To an object that exists and is not a symlink.
  Answer<Walk> walk_through(const SimProcess& caller, const std::string& path) const;
  Answer<void> descend(const SimProcess& caller, Walk& at, std::string_view path, int& links) const;
  Answer<void> follow(const SimProcess& caller, Walk& at, int& links) const;
  Answer<Walk> entry_for_new(const SimProcess& caller, const os::PathAt& where) const;
  Answer<void> may_remove(const SimProcess& caller, const Walk& at) const;
  std::shared_ptr<Inode> link(const SimProcess& caller,
                              const Walk& at,
                              os::FileKind kind,
                              std::uint32_t mode);
  void unlink_at(const Walk& at);
  enum class Target : std::uint8_t { any, fresh };
  Answer<void> rename_to(SimProcess& caller,
                         const os::PathAt& from_place,
                         const os::PathAt& to_place,
                         Target target);
  Answer<void> may_rename(const SimProcess& caller, const Walk& from, const Walk& to) const;
  /// For a process; `put` has no writing process, and is visible at once.
  Answer<std::size_t> store(const SimProcess& caller,
                            const std::shared_ptr<Inode>& inode,
                            os::Bytes bytes,
                            std::uint64_t offset);
  Answer<std::size_t> put(const SimProcess& caller,
                          Inode& inode,
                          os::Bytes bytes,
                          std::uint64_t offset);
  /// Whether a store into a map of the file finds no space.
  bool has_no_space_for_stores(const Inode& inode) const noexcept;
  std::size_t take_pages(Inode& inode, std::uint64_t offset, std::size_t size);
  /// Space and inodes are accessed. Without limits the order of that makes no difference.
  void note_storage() const;
  /// All processes are to see what was stored there, as a process reads or changes it by a call.
  void settle(const Inode& inode, std::uint64_t offset, std::uint64_t size);
  /// A process changes bytes of a file, which may grow.
  void note_change(const Inode& inode, std::uint64_t offset, std::uint64_t size) const;
  /// A process reads bytes of a file, as far as it has them.
  void note_read(const Inode& inode, std::uint64_t offset, std::uint64_t size) const;
  void note_change_of_name(const Inode& folder, const std::string& name) const;
  /// Another process may have the same open description, so this is not always its end.
  void note_close(const Description& open) const;
  void note_unmap(const Map& map) const;
  void note_lock(const Inode& inode, Access access, const RecordLock& range) const;
  void note_status(const Inode& inode) const;
  void note_look(const Socket& socket, const os::PollItem& item) const;
  void drop_locks(Inode& inode, const SimProcess& caller) const;
  /// Frees the pages from `first` on and before `end`.
  void give_pages_back(Inode& inode, std::uint64_t first, std::uint64_t end);
  Answer<std::size_t> write_pipe(Pipe& pipe, os::Bytes bytes);
  static Answer<os::Fd> install(SimProcess& caller, std::shared_ptr<Description> description);
  static void install_at(SimProcess& caller, int number, std::shared_ptr<Description> description);
  static Answer<std::shared_ptr<Socket>> socket_of(const SimProcess& caller, os::Fd fd);
  static bool has_space(const SimProcess& caller, std::size_t fds = 1);
  static const Description* find(const SimProcess& caller, os::Fd fd);

  std::shared_ptr<Inode> root_;
  std::set<std::uint64_t> first_inodes_;
  std::vector<std::shared_ptr<SimProcess>> processes_;
  std::uint64_t next_inode_ = 1;
  std::uint64_t next_order_ = 1;
  std::uint64_t next_number_ = 1;  ///< Of a socket, pipe or open file
  std::size_t inodes_ = 0;
  std::size_t bytes_ = 0;
  std::size_t elsewhere_bytes_ = 0;  ///< on the other file system
  os::Pid next_pid_ = 1;
};

}  // namespace lastref::harness::sim
