// KernelOs: the real operating system, one system call a method. No hooks, no state, no retries;
// but what `at_exit` registers is the program's, and outlives the KernelOs that it came by.
//
// Needs Linux 5.4 (process descriptors that can be waited for). What a newcomer would get wrong:
// - `spawn` is posix_spawn. The product lives in big threaded programs, where fork copies page
//   tables for milliseconds and leaves every lock of the other threads held in the child. It is
//   called by a process in between, which shares our memory and is gone at once: what it starts is
//   no child of the program, leaves no zombie, and raises no SIGCHLD. How such a process ended the
//   kernel tells by its descriptor since Linux 6.15. Before, what has `end_wanted` is an ordinary
//   child, which the program's wait() sees; so it is on other processors than x86-64 and aarch64.
//   impl/os/kernel_os_birth.hpp has the rest.
// - What is started inherits what the program ignores and blocks, from our own threads too; but
//   SIGCHLD has its default action. A set-user-id program (AT_SECURE) starts only what has an
//   absolute path, with none of its caller's environment: permission_denied otherwise.
// - No descriptor is 0, 1 or 2, though the program may have closed them; and if 2 was ever seen
//   closed, or is close-on-exec, `write` to it is bad_file_descriptor, for it is somebody's file.
//   A full pipe there is would-block, though it blocks for all others who have it.
// - `ignore_signal` is an action that does nothing, for an ignored signal would be inherited by
//   what is started.
// - `write` keeps SIGPIPE away with three system calls, for pipes have no MSG_NOSIGNAL; `write_at`
//   needs none, because it refuses pipes.
// - SIGXFSZ has no such flag and goes to the process, so the constructor ignores it, unless the
//   program around us has an action of its own. What `spawn` starts has the default again.
// - `open` never waits either, not even for the other side of a FIFO that somebody planted.
// - `read_folder` asks again when the kernel gave only "." and "..", and asks for the kind of an
//   entry on file systems that do not keep it in the folder.
#pragma once

#include <string>

#include <lastref/os.hpp>

namespace lastref::os {

struct KernelOptions {
  /// What `spawn` executes, with {"lastref", entry, arguments...}; found on PATH if it has no
  /// slash. Empty: this very program if it is called lastref, else the lastref on PATH.
  std::string program = {};
};

class KernelOs : public Os {
 public:
  explicit KernelOs(KernelOptions options = {}) noexcept;

  /// One that is never destroyed, for whatever lives to the end of the process and beyond main:
  /// what a program keeps in something static, and exit hooks. The options of the first call count.
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
  void keep_to_itself(std::span<const Fd> fds, const std::string& variable) noexcept override;
  std::uint64_t process_token() noexcept override;
  std::unique_ptr<Monitor> make_monitor() override;
  std::unique_ptr<ExitHook> at_exit(std::function<void()> action) override;
  ProcessObjects& objects() override;

 private:
  Result<Child> spawn_within_memory(const SpawnOptions& options);

  std::string program_;
};

}  // namespace lastref::os
