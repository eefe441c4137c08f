// AbsentOs: an Os on which there is nothing. Every call fails; a target overrides what its parser
// may need, so that whatever else an input makes it call does no harm.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lastref/os.hpp>
#include <lastref/process_objects.hpp>

namespace lastref::fuzz {

/// For one thread.
class AloneMonitor final : public os::Monitor {
 public:
  void lock() noexcept override {}
  void unlock() noexcept override {}
  void wait() noexcept override {}
  void notify_all() noexcept override {}
};

class AbsentOs : public os::Os {
 public:
  Result<os::Fd> open(const os::Place&, const os::OpenOptions&) noexcept override {
    return absent();
  }
  Status close(os::Fd) noexcept override { return absent(); }
  Result<std::size_t> read(os::Fd, os::Buffer) noexcept override { return absent(); }
  Result<std::size_t> write(os::Fd, os::Bytes) noexcept override { return absent(); }
  Result<std::size_t> write_at(os::Fd, os::Bytes, std::uint64_t) noexcept override {
    return absent();
  }
  Result<os::FileStatus> status(os::Fd) noexcept override { return absent(); }
  Result<os::FileStatus> status_at(const os::Place&) noexcept override { return absent(); }
  Status unlink(const os::Place&) noexcept override { return absent(); }
  Result<std::size_t> read_at(os::Fd, os::Buffer, std::uint64_t) noexcept override {
    return absent();
  }
  Status sync(os::Fd) noexcept override { return absent(); }
  Status punch_hole(os::Fd, std::uint64_t, std::uint64_t) noexcept override { return absent(); }
  Status rename(const os::Place&, const os::Place&) noexcept override { return absent(); }
  Status rename_new(const os::Place&, const os::Place&) noexcept override { return absent(); }
  Result<std::uint64_t> file_system(const std::string&) noexcept override { return absent(); }
  Status make_folder(const os::Place&, std::uint32_t) noexcept override { return absent(); }
  Status remove_folder(const os::Place&) noexcept override { return absent(); }
  Result<std::vector<os::FolderEntry>> read_folder(os::Fd) noexcept override { return absent(); }
  Result<std::uint64_t> free_space(const std::string&) noexcept override { return absent(); }
  Result<std::string> working_folder() noexcept override { return absent(); }
  Result<os::Buffer> map(const os::MapOptions&) noexcept override { return absent(); }
  Status unmap(os::Buffer) noexcept override { return absent(); }
  Result<os::Fd> create_shm(const std::string&, std::uint32_t) noexcept override {
    return absent();
  }
  Status unlink_shm(const std::string&) noexcept override { return absent(); }
  Status create_semaphore(const std::string&, std::uint32_t) noexcept override { return absent(); }
  Status unlink_semaphore(const std::string&) noexcept override { return absent(); }
  Status lock_range(os::Fd, const os::LockRange&) noexcept override { return absent(); }
  Result<std::optional<os::LockHolder>> find_lock(os::Fd, const os::LockRange&) noexcept override {
    return absent();
  }
  Result<os::Fd> make_socket() noexcept override { return absent(); }
  Status bind(os::Fd, const std::string&) noexcept override { return absent(); }
  Status listen(os::Fd) noexcept override { return absent(); }
  Result<os::Fd> accept(os::Fd) noexcept override { return absent(); }
  Status connect(os::Fd, const std::string&) noexcept override { return absent(); }
  Status send(os::Fd, os::Bytes, std::span<const os::Fd>) noexcept override { return absent(); }
  Result<os::Received> receive(os::Fd, os::Buffer) noexcept override { return absent(); }
  Status shut_down(os::Fd) noexcept override { return absent(); }
  Result<os::Peer> peer_of(os::Fd) noexcept override { return absent(); }
  Result<os::PipeEnds> make_pipe() noexcept override { return absent(); }
  Result<std::size_t> poll(std::span<os::PollItem>,
                           std::optional<std::chrono::nanoseconds>) noexcept override {
    return absent();
  }
  Result<os::Child> spawn(const os::SpawnOptions&) noexcept override { return absent(); }
  Result<os::Fd> open_process(os::Pid) noexcept override { return absent(); }
  Status signal_process(os::Fd, os::Signal) noexcept override { return absent(); }
  Result<std::optional<os::ChildExit>> wait_child(os::Fd) noexcept override { return absent(); }
  os::Pid process_id() noexcept override { return 1; }
  std::uint32_t user_id() noexcept override { return 0; }
  Status ignore_signal(os::Signal) noexcept override { return absent(); }
  Status unblock_signal(os::Signal) noexcept override { return absent(); }
  Result<std::unique_ptr<os::Thread>> start_thread(std::function<void()>,
                                                   os::ThreadKind) noexcept override {
    return absent();
  }
  std::uint64_t process_token() noexcept override { return 1; }
  os::Pid thread_id() noexcept override { return 1; }
  unsigned processors() noexcept override { return 1; }
  os::Instant now() noexcept override { return os::Instant(0); }
  Status entropy(os::Buffer) noexcept override { return absent(); }
  std::optional<std::string> environment(const std::string&) noexcept override {
    return std::nullopt;
  }
  void keep_to_itself(std::span<const os::Fd>, const std::string&) noexcept override {}
  std::unique_ptr<os::Monitor> make_monitor() noexcept override {
    return std::make_unique<AloneMonitor>();
  }
  std::unique_ptr<os::ExitHook> at_exit(std::function<void()>) noexcept override { return nullptr; }
  os::ProcessObjects& objects() noexcept override { return objects_.of(*this, 0); }

 protected:
  static tl::unexpected<Error> absent() {
    return failure(std::errc::function_not_supported, "there is nothing");
  }

 private:
  os::GenerationsOfObjects objects_;
};

}  // namespace lastref::fuzz
