// PretendProcess: the kernel as one of several processes sees it, all of them in one test.
//
// Files, folders, sockets and names are real. What belongs to a process is pretended: its pid, its
// clock, its environment, what it says on standard error, its death, and its record locks, which
// live in a RecordLocks that the processes of a test share. As in the kernel, a lock goes when any
// descriptor of its file is closed, and stands in nobody's way who has the same pid.
//
// The director is asked before every call: it may fail or shorten it, let the process die before or
// after it, or let another process act first. Calls of a dead process change nothing and fail, so
// that whatever was under way runs out.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <lastref/kernel_os.hpp>
#include <lastref/process_objects.hpp>

namespace lastref::pretend {

/// One call, and what it was about: a path, or "fd".
struct Crossing {
  Call call = Call::none;
  std::string subject;

  bool operator==(const Crossing&) const = default;
};
void PrintTo(const Crossing& crossing, std::ostream* out);

enum class Fate : std::uint8_t {
  pass,
  fail,        ///< Not made; `close` is.
  shorten,     ///< Made with some of the bytes, at least one.
  die_before,  ///< Not made, and none after it.
  die_midway,  ///< Made with some of the bytes, and none after it.
  die_after,   ///< Made, and none after it.
};

struct Decision {
  Fate fate = Fate::pass;
  std::errc code = std::errc::io_error;
  std::size_t bytes = 0;  ///< How many of them `shorten` and `die_midway` let pass; 0 is half.

  /// Of so many.
  std::size_t passed(std::size_t size) const;
};

/// POSIX record locks as fcntl(2) has them, but that neighbouring locks of a process stay apart.
class RecordLocks {
 public:
  struct Lock {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    os::Pid pid = 0;
    os::LockKind kind = os::LockKind::none;
    std::uint64_t start = 0;
    std::uint64_t end = 0;  ///< exclusive
  };

  /// Some lock that `wanted` would collide with; which one is not the caller's to know.
  const Lock* in_the_way_of(const Lock& wanted);
  void set(const Lock& wanted);
  void drop(os::Pid pid, const os::FileStatus& file);
  void drop(os::Pid pid);

 private:
  std::vector<Lock> locks_;
  std::size_t turn_ = 0;
};

class PretendProcess final : public os::KernelOs {
 public:
  explicit PretendProcess(RecordLocks& locks, os::Pid pid = 1000) : locks_(locks), pid_(pid) {}
  PretendProcess(const PretendProcess&) = delete;
  PretendProcess& operator=(const PretendProcess&) = delete;
  ~PretendProcess() override { die(); }

  std::function<Decision(const Crossing&)> director;
  std::map<std::string, std::string> variables;
  /// Where paths that start so really are.
  std::map<std::string, std::string> mounts;
  std::vector<Crossing> crossings;
  std::string said;  ///< On standard error.
  os::Instant clock{0};

  /// Whatever it has open is closed, and its locks are gone.
  void die();
  bool is_dead() const noexcept { return dead_; }
  std::size_t open_fds() const noexcept { return fds_.size(); }
  std::size_t count_of(Call call) const;

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
  Status unlink_shm(const std::string& name) noexcept override;
  Status unlink_semaphore(const std::string& name) noexcept override;
  Status lock_range(os::Fd fd, const os::LockRange& range) noexcept override;
  Result<std::optional<os::LockHolder>> find_lock(os::Fd fd,
                                                  const os::LockRange& range) noexcept override;
  Result<os::Fd> make_socket() noexcept override;
  Status bind(os::Fd socket, const std::string& path) noexcept override;
  Status listen(os::Fd socket) noexcept override;
  Result<os::PipeEnds> make_pipe() noexcept override;
  /// Never waits: where nothing is ready, the clock goes on by the timeout.
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override;
  os::Pid process_id() noexcept override { return pid_; }
  std::uint64_t process_token() noexcept override { return static_cast<std::uint64_t>(pid_); }
  os::Pid thread_id() noexcept override { return pid_; }
  os::Instant now() noexcept override { return clock; }
  Status entropy(os::Buffer into) noexcept override;
  std::optional<std::string> environment(const std::string& name) noexcept override;
  os::ProcessObjects& objects() noexcept override { return objects_.of(*this, process_token()); }

 private:
  template <typename Make>
  auto cross(Call call, std::string subject, Make make) -> decltype(make());
  Decision decide(Call call, std::string subject);
  os::Place real(const os::Place& place) const;
  Result<RecordLocks::Lock> lock_of(os::Fd fd, const os::LockRange& range);
  Result<os::Fd> keep(Result<os::Fd> fd);

  RecordLocks& locks_;
  os::GenerationsOfObjects objects_;
  os::Pid pid_;
  std::vector<os::Fd> fds_;
  bool dead_ = false;
};

}  // namespace lastref::pretend
