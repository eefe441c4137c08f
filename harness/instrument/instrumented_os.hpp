// InstrumentedOs: an Os around another, with a gate and a point of failure at every call.
//
// One call is: gate before -> libfiu's point -> the inner call -> gate after. The number that
// libfiu gives *is* the errno; then the call is not made, except for close, which closes all the
// same. libfiu's table is enabled for one crossing only, by the gate's wish or by `arm`, and its
// chance is never used. What a crossing's object is called is in FdNames; nothing of it may differ
// between two runs of the same plan.
//
// What `at_exit` registers is kept here, for processes of a run do not end by exit(3): whoever lets
// one live calls run_exit_hooks at its orderly end.
//
// Over a gate that serialises, `poll` never waits in the kernel: it asks with no timeout, and
// waits in the gate. Threads, monitors, clock and entropy are the gate's too,
// and there are two processors.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <lastref/os.hpp>
#include <lastref/process_objects.hpp>

#include "harness/instrument/fd_names.hpp"
#include "harness/instrument/gate.hpp"
#include "impl/os/kernel_os_exit.hpp"

namespace lastref::harness {

class InstrumentedOs final : public os::Os {
 public:
  /// Both outlive it.
  InstrumentedOs(os::Os& inner, Gate& gate) noexcept;

  /// A descriptor that came with the process.
  void adopt(os::Fd fd, std::string_view name);
  /// Descriptors that were opened or adopted, and not closed; and maps that were not unmapped.
  std::vector<std::string> still_open();

  /// What exit(3) would do with what `at_exit` registered.
  void run_exit_hooks();

  /// The next crossing of `call` by this program fails with `error`, whatever the gate says.
  static void arm(Call call, int error);

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
  void keep_to_itself(std::span<const os::Fd> fds, const std::string& variable) noexcept override {
    inner_.keep_to_itself(fds, variable);
  }

  std::uint64_t process_token() noexcept override;
  std::unique_ptr<os::Monitor> make_monitor() noexcept override;
  std::unique_ptr<os::ExitHook> at_exit(std::function<void()> action) noexcept override;
  os::ProcessObjects& objects() noexcept override;
  void step(Step step) noexcept override;

 private:
  /// What a crossing is about.
  struct Subject {
    std::string_view object = {};
    std::string_view text = {};
    std::int64_t value = 0;
  };

  Approach approach(Call call, const Subject& subject);
  /// The errno that this crossing fails with, or 0.
  static int failure_at(Call call, const Passage& passage) noexcept;
  static tl::unexpected<Error> injected(Call call, int error, const Subject& subject);

  /// One crossing. `act` gets the Approach and the Passage, and gives the Result of the inner call.
  template <typename Act>
  auto cross(Call call, const Subject& subject, Act act) noexcept;
  /// One crossing that cannot fail, and where nobody is asked to go first.
  template <typename Act>
  auto cross_surely(Call call, std::string_view object, Act act) noexcept;
  /// A rename; what it moved is known by its new path.
  template <typename Act>
  Status move(Call call, const os::Place& from, const os::Place& to, Act act);
  using Removal = std::function<Status()>;
  /// A removal. Told that the name is not there, it removes it first: somebody else was faster,
  /// which is the only way in which that error is true.
  Status remove(Call call, const Subject& subject, const Removal& removal) noexcept;
  Subject of(os::Fd fd);

  os::Os& inner_;
  Gate& gate_;
  FdNames names_;
  os::ExitHooks exit_hooks_;
  os::GenerationsOfObjects objects_;
};

}  // namespace lastref::harness
