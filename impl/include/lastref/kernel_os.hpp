// KernelOs: the real operating system, one system call per method. No hooks, no state, no retries;
// but actions that `at_exit` registers belong to the program, and outlive the KernelOs.
//
// Needs Linux 5.4 (process descriptors that can be waited for). Pitfalls:
// - `spawn` is posix_spawn. The product runs in large threaded programs, where fork copies page
//   tables for milliseconds and leaves every lock of the other threads held in the child. An
//   intermediate process, which shares this process's memory and exits at once, calls posix_spawn.
//   So the started process is no child of the program, leaves no zombie, and raises no SIGCHLD.
//   Since Linux 6.15 the kernel reports the exit status of such a process through its descriptor.
//   On older kernels, a process with `end_wanted` is an ordinary child, which the program's wait()
//   sees. The same is true on processors other than x86-64 and aarch64.
//   See impl/os/kernel_os_spawn.hpp for the details.
// - A started process inherits the signals that the program ignores and blocks, even if a thread of
//   lastref starts it; but SIGCHLD has its default action. A set-user-id program (AT_SECURE) can
//   only start a program with an absolute path, and passes none of its caller's environment:
//   permission_denied otherwise.
// - No descriptor is 0, 1 or 2, even if the program has closed them. If 2 was ever seen closed, or
//   is close-on-exec, `write` to it fails with bad_file_descriptor, because the program may have
//   reopened it as a file of its own. A full pipe there fails with would-block, though it blocks
//   for all other processes that have it.
// - `ignore_signal` installs an action that does nothing, because started processes would inherit
//   an ignored signal.
// - `write` suppresses SIGPIPE with three system calls, because pipes have no MSG_NOSIGNAL;
//   `write_at` needs none, because it refuses pipes.
// - SIGXFSZ has no such flag and is sent to the process. So the constructor ignores it, unless the
//   host program has an action of its own. Processes that `spawn` starts have the default again.
// - `open` never waits either, not even for the other side of a FIFO that an outsider planted.
// - `read_folder` calls the kernel again if it returned only "." and "..". It queries the kind of
//   an entry on file systems that do not keep it in the folder.
#pragma once

#include <string>

#include <lastref/os.hpp>

namespace lastref::os {

struct KernelOptions {
  /// The program that `spawn` executes, with {"lastref", entry, arguments...}. Searched on PATH if
  /// it has no slash. Empty: the running program if its name is lastref, else the lastref on PATH.
  std::string program = {};
};

class KernelOs : public Os {
 public:
  explicit KernelOs(KernelOptions options = {}) noexcept;

  /// Returns a KernelOs that is never destroyed, for objects that exist after main until the end of
  /// the process: static objects and exit hooks. Only the options of the first call count.
  static KernelOs& of_process(KernelOptions options = {});

  Result<Fd> open(const PathAt& where, const OpenOptions& options) noexcept override;
  Status close(Fd fd) noexcept override;
  Result<std::size_t> read(Fd fd, Buffer into) noexcept override;
  Result<std::size_t> read_at(Fd fd, Buffer into, std::uint64_t offset) noexcept override;
  Result<std::size_t> write(Fd fd, Bytes bytes) noexcept override;
  Result<std::size_t> write_at(Fd fd, Bytes bytes, std::uint64_t offset) noexcept override;
  Status sync(Fd fd) noexcept override;
  Status allocate(Fd fd, std::uint64_t offset, std::uint64_t size) noexcept override;
  Status punch_hole(Fd fd, std::uint64_t offset, std::uint64_t size) noexcept override;
  Result<FileStatus> status(Fd fd) noexcept override;
  Result<FileStatus> status_at(const PathAt& where) noexcept override;
  Status unlink(const PathAt& where) noexcept override;
  Status rename(const PathAt& from, const PathAt& to) noexcept override;
  Status rename_new(const PathAt& from, const PathAt& to) noexcept override;
  Status link(const PathAt& from, const PathAt& to) noexcept override;
  Result<std::string> read_link(const PathAt& where) noexcept override;
  Status change_mode(const PathAt& where, std::uint32_t mode) noexcept override;
  Status make_folder(const PathAt& where, std::uint32_t mode) noexcept override;
  Status remove_folder(const PathAt& where) noexcept override;
  Result<std::vector<FolderEntry>> read_folder(Fd folder) noexcept override;
  Result<std::uint64_t> free_space(const std::string& path) noexcept override;
  Result<std::uint64_t> file_system(const std::string& path) noexcept override;
  Result<std::string> working_folder() noexcept override;

  Result<Buffer> map(const MapOptions& options) noexcept override;
  Status unmap(Buffer mapped) noexcept override;

  Result<Fd> create_shm(const std::string& name, std::uint32_t mode) noexcept override;
  Status unlink_shm(const std::string& name) noexcept override;
  Status create_semaphore(const std::string& name, std::uint32_t mode) noexcept override;
  Status unlink_semaphore(const std::string& name) noexcept override;

  Status lock_range(Fd fd, const LockRange& range) noexcept override;
  Result<std::optional<LockHolder>> find_lock(Fd fd, const LockRange& range) noexcept override;
  Status lock_folder(Fd folder) noexcept override;

  Result<Fd> make_socket() noexcept override;
  Status bind(Fd socket, const std::string& path) noexcept override;
  Status listen(Fd socket) noexcept override;
  Result<Fd> accept(Fd socket) noexcept override;
  Status connect(Fd socket, const std::string& path) noexcept override;
  Status send(Fd socket, Bytes message, std::span<const Fd> fds) noexcept override;
  Result<Received> receive(Fd socket, Buffer into) noexcept override;
  Status shut_down(Fd socket) noexcept override;
  Result<Peer> peer_of(Fd socket) noexcept override;
  Result<PipeEnds> make_pipe() noexcept override;
  Result<std::size_t> poll(std::span<PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override;

  Result<Child> spawn(const SpawnOptions& options) noexcept override;
  Result<Fd> open_process(Pid pid) noexcept override;
  Status signal_process(Fd process, Signal signal) noexcept override;
  Result<std::optional<ChildExit>> wait_child(Fd process) noexcept override;
  Pid process_id() noexcept override;
  std::uint32_t user_id() noexcept override;
  Status ignore_signal(Signal signal) noexcept override;
  Status unblock_signal(Signal signal) noexcept override;

  Result<std::unique_ptr<Thread>> start_thread(
      std::function<void()> body, ThreadKind kind = ThreadKind::ours) noexcept override;
  Pid thread_id() noexcept override;
  unsigned processors() noexcept override;
  Instant now() noexcept override;
  Status entropy(Buffer into) noexcept override;
  std::optional<std::string> environment(const std::string& name) override;
  void hide_from_children(std::span<const Fd> fds, const std::string& variable) noexcept override;
  std::uint64_t process_token() noexcept override;
  std::unique_ptr<Monitor> make_monitor() override;
  std::unique_ptr<ExitHook> at_exit(std::function<void()> action) override;
  ProcessObjects& objects() override;

 private:
  Result<Child> spawn_within_memory(const SpawnOptions& options);

  std::string program_;
};

}  // namespace lastref::os
