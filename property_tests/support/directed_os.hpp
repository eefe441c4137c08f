// DirectedOs: the kernel, with a director who is asked before each call and may fail it.
//
// Files and memory are real. What belongs to a process is pretended: its pid, its user, its clock,
// its environment and its exit. May be used by many threads, one of which is the director's.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include <lastref/kernel_os.hpp>

namespace lastref::pretend {

/// One call that was made or failed, and what it was about: a path, or nothing.
struct Crossed {
  Call call = Call::none;
  std::string subject;

  bool operator==(const Crossed&) const = default;
};

class DirectedOs final : public os::KernelOs {
 public:
  /// What a call fails with, if it shall.
  using Director = std::function<std::optional<std::errc>(const Crossed&)>;

  DirectedOs();

  Director director;
  std::map<std::string, std::string> variables;
  /// Where paths that start so really are.
  std::map<std::string, std::string> mounts;
  std::vector<Crossed> crossed;
  std::function<void(const Crossed&)> after;  ///< Told of each call that was made.
  std::function<void(Step)> at_step;          ///< Told of each step, before what it is about.
  std::string said;                           ///< On standard error.
  os::Instant clock{0};
  std::optional<std::uint64_t> free = {};  ///< What free_space says, if not what the kernel does.
  std::optional<std::uint64_t> file_system_kind = {};  ///< The same for file_system.
  /// The same for paths that start so.
  std::map<std::string, std::uint64_t> file_system_kinds;
  os::Pid pid;
  std::uint32_t user;

  std::size_t count_of(Call call) const;
  std::string real(const std::string& path) const;
  /// What exit(3) does.
  void end();
  std::size_t hooks() const;

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
  Result<os::Buffer> map(const os::MapOptions& options) noexcept override;
  Status unmap(os::Buffer mapped) noexcept override;
  /// Never waits: the clock goes on by the timeout.
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override;
  os::Pid process_id() noexcept override { return pid; }
  /// Another one for each pid that is pretended, and for each copy whatever its pid.
  std::uint64_t process_token() noexcept override {
    return KernelOs::process_token() ^ static_cast<std::uint64_t>(pid);
  }
  std::uint32_t user_id() noexcept override { return user; }
  os::Instant now() noexcept override { return clock; }
  Status entropy(os::Buffer into) noexcept override;
  std::optional<std::string> environment(const std::string& name) noexcept override;
  std::unique_ptr<os::ExitHook> at_exit(std::function<void()> action) noexcept override;
  void step(Step step) noexcept override;

 private:
  struct Hooks;
  class Hook;

  template <typename Make>
  auto cross(Call call, const std::string& subject, Make make) -> decltype(make());
  os::Place real(const os::Place& place) const;

  mutable std::mutex guard_;
  std::shared_ptr<Hooks> hooks_;
};

/// Fails the k-th call from now, from 0, of one kind, or of any.
DirectedOs::Director fail_kth(std::size_t k, std::errc code, Call call = Call::none);

}  // namespace lastref::pretend
