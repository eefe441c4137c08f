// SimOs: the Os of one simulated process. Its calls go to a SimKernel, and waiting to a Scheduler.
//
// No call but `poll`, Monitor and join lets anybody else go: that a call is a step where the run
// may be switched, killed or failed is the business of InstrumentedOs and SimGate around it.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <lastref/os.hpp>
#include <lastref/process_objects.hpp>

#include "harness/sim/scheduler.hpp"
#include "harness/sim/sim_kernel.hpp"
#include "impl/os/kernel_os_exit.hpp"

namespace lastref::harness::sim {

class SimOs;

/// One simulated computer: a kernel, those who run on it, and what its processes can be.
struct Machine {
  explicit Machine(Choices& choices, SimLimits limits = {})
      : kernel(limits), scheduler(kernel, choices) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() = default;

  /// Starts a process, with a parent or without, and without asking the parent.
  std::shared_ptr<Task> boot(const std::shared_ptr<Task>& parent, const os::SpawnOptions& options);
  /// Gives a new process its Os and its main actor.
  void begin(const std::shared_ptr<Task>& task,
             const Task* parent,
             const os::SpawnOptions& options);

  SimKernel kernel;
  Scheduler scheduler;
  /// Whether there is what shall be started; spawn says ENOENT if not.
  std::function<bool(const os::SpawnOptions& options)> knows;
  /// What a process does. It is called on the process's own fiber and gives the exit code.
  std::function<int(SimOs& os, const os::SpawnOptions& options)> live;
  /// Told of a new process before it runs.
  std::function<void(SimOs& os, const Task* parent, const os::SpawnOptions& options)> on_birth;
  /// Every process's Os. What of it lives on fibers that were killed is never destroyed.
  std::map<const Task*, std::unique_ptr<SimOs>> systems;
};

class SimOs final : public os::Os {
 public:
  SimOs(Machine& machine, std::shared_ptr<Task> task) noexcept
      : machine_(machine), task_(std::move(task)) {}

  Task& task() const noexcept { return *task_; }
  Machine& machine() const noexcept { return machine_; }
  /// What exit(3) would do; at the end of `live`.
  void run_exit_hooks() noexcept { exit_hooks_.run(task_->token); }

  Result<os::Fd> open(const os::Place& place, const os::OpenOptions& options) noexcept override;
  Status close(os::Fd fd) noexcept override;
  Result<std::size_t> read(os::Fd fd, os::Buffer into) noexcept override;
  Result<std::size_t> read_at(os::Fd fd, os::Buffer into, std::uint64_t offset) noexcept override;
  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override;
  Result<std::size_t> write_at(os::Fd fd, os::Bytes bytes, std::uint64_t offset) noexcept override;
  Status sync(os::Fd fd) noexcept override;
  Status punch_hole(os::Fd fd, std::uint64_t offset, std::uint64_t size) noexcept override;
  Result<os::FileStatus> status(os::Fd fd) noexcept override;
  Result<os::FileStatus> status_at(const os::Place& place) noexcept override;
  Status unlink(const os::Place& place) noexcept override;
  Status rename(const os::Place& from, const os::Place& to) noexcept override;
  Status rename_new(const os::Place& from, const os::Place& to) noexcept override;
  Status make_folder(const os::Place& place, std::uint32_t mode) noexcept override;
  Status remove_folder(const os::Place& place) noexcept override;
  Result<std::vector<os::FolderEntry>> read_folder(os::Fd folder) noexcept override;
  Result<std::uint64_t> free_space(const std::string& path) noexcept override;
  Result<std::uint64_t> file_system(const std::string& path) noexcept override;
  Result<std::string> working_folder() noexcept override;

  Result<os::Buffer> map(const os::MapOptions& options) noexcept override;
  Status unmap(os::Buffer mapped) noexcept override;

  Result<os::Fd> create_shm(const std::string& name, std::uint32_t mode) noexcept override;
  Status unlink_shm(const std::string& name) noexcept override;
  Status create_semaphore(const std::string& name, std::uint32_t mode) noexcept override;
  Status unlink_semaphore(const std::string& name) noexcept override;

  Status lock_range(os::Fd fd, const os::LockRange& range) noexcept override;
  Result<std::optional<os::LockHolder>> find_lock(os::Fd fd,
                                                  const os::LockRange& range) noexcept override;

  Result<os::Fd> make_socket() noexcept override;
  Status bind(os::Fd socket, const std::string& path) noexcept override;
  Status listen(os::Fd socket) noexcept override;
  Result<os::Fd> accept(os::Fd socket) noexcept override;
  Status connect(os::Fd socket, const std::string& path) noexcept override;
  Status send(os::Fd socket, os::Bytes message, std::span<const os::Fd> fds) noexcept override;
  Result<os::Received> receive(os::Fd socket, os::Buffer into) noexcept override;
  Status shut_down(os::Fd socket) noexcept override;
  Result<os::Peer> peer_of(os::Fd socket) noexcept override;
  Result<os::PipeEnds> make_pipe() noexcept override;
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override;

  Result<os::Child> spawn(const os::SpawnOptions& options) noexcept override;
  Result<os::Fd> open_process(os::Pid pid) noexcept override;
  Status signal_process(os::Fd process, os::Signal signal) noexcept override;
  Result<std::optional<os::ChildExit>> wait_child(os::Fd process) noexcept override;
  os::Pid process_id() noexcept override;
  std::uint32_t user_id() noexcept override;
  Status ignore_signal(os::Signal signal) noexcept override;
  Status unblock_signal(os::Signal signal) noexcept override;

  Result<std::unique_ptr<os::Thread>> start_thread(std::function<void()> body,
                                                   os::ThreadKind kind) noexcept override;
  os::Pid thread_id() noexcept override;
  unsigned processors() noexcept override;
  os::Instant now() noexcept override;
  Status entropy(os::Buffer into) noexcept override;
  std::optional<std::string> environment(const std::string& name) noexcept override;
  void keep_to_itself(std::span<const os::Fd> fds, const std::string& variable) noexcept override;
  std::uint64_t process_token() noexcept override;
  std::unique_ptr<os::Monitor> make_monitor() noexcept override;
  std::unique_ptr<os::ExitHook> at_exit(std::function<void()> action) noexcept override;
  os::ProcessObjects& objects() noexcept override;

 private:
  Machine& machine_;
  std::shared_ptr<Task> task_;
  std::map<Scheduler::Index, os::Pid> threads_;  ///< All but the first
  os::ExitHooks exit_hooks_;
  os::GenerationsOfObjects objects_;
};

}  // namespace lastref::harness::sim
