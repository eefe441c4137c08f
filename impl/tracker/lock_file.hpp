// LockFile: the lock of a tree, open at most once in a process.
//
// Closing any descriptor of a file drops all record locks that the process has on it. So a second
// user in the process shares the descriptor of the first, and the last user closes it. A sweep does
// not even open a lock that its own process has open: that tree is alive. While a sweep checks a
// lock, a member that would join by it waits: if the sweep closed the file after that, the new
// member's lock would be lost. Each user has bytes of its own, which it unlocks when others still
// need the descriptor.
//
// Another copy of the library in the process, in a plugin, does not share this state, but the
// kernel shows what it has locked. A sweep treats such a tree as alive. A descriptor without users
// stays open, with no lock, until the other copy has no lock on the file either.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <lastref/owners.hpp>
#include <lastref/process_objects.hpp>

namespace lastref::tracker {

class LockFile {
 public:
  /// Makes the file.
  ///
  /// Errors          file_exists; of open and status; no_such_file_or_directory: a sweep of this
  /// process
  ///                 checks it already, and will take it for a dead tree's.
  static Result<LockFile> create(os::Os& os, const std::string& path);
  /// Opens it, or shares it with the other users in this process that have it open.
  ///
  /// Errors          of status_at, open and status.
  static Result<LockFile> open(os::Os& os, const std::string& path);
  /// Opens it, unless this process has it open: then returns none.
  ///
  /// Errors          of status_at, open and status.
  static Result<std::optional<LockFile>> open_to_sweep(os::Os& os, const std::string& path);

  LockFile() noexcept = default;
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;
  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&& other) noexcept;
  ~LockFile() { close_quietly(); }

  os::Fd get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ != os::Fd::none; }
  /// Locks a byte, until it is closed.
  ///
  /// Errors          of lock_range.
  Status lock(std::uint64_t byte);
  /// Unlocks a byte that it locked.
  ///
  /// Errors          of lock_range: the byte is locked until it is closed.
  Status unlock(std::uint64_t byte) noexcept;
  /// Whether `path` still names it.
  ///
  /// Errors          of status_at.
  Result<bool> is_at(const std::string& path) const;
  /// Drops its locks, and those of no other user in this process.
  void close_quietly() noexcept;

 private:
  using FileId = os::ProcessObjects::FileId;
  using OpenFile = std::pair<const FileId, os::ProcessObjects::OpenLockFile>;
  enum class Use : std::uint8_t { membership, sweep };

  LockFile(os::Os& os, FileId id, os::Fd fd) noexcept : os_(&os), id_(id), fd_(fd) {}
  static Result<std::optional<LockFile>> find_or_open(os::Os& os, const std::string& path, Use use)
      LASTREF_REQUIRES(os.objects().monitor());
  static std::optional<LockFile> share(os::Os& os, OpenFile& known, Use use);
  static void close_unused(os::Os& os, os::ProcessObjects& objects)
      LASTREF_REQUIRES(objects.monitor());
  void unlock(os::Fd fd, const std::vector<std::uint64_t>& bytes);
  static Result<std::optional<LockFile>> enter(os::Os& os, os::UniqueFd file, Use use)
      LASTREF_REQUIRES(os.objects().monitor());

  os::Os* os_ = nullptr;
  FileId id_;
  os::Fd fd_ = os::Fd::none;
  std::vector<std::uint64_t> bytes_;  // locked
};

}  // namespace lastref::tracker
