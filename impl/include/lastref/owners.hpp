// Owners: objects that own a descriptor, map or lock; and the calls that need a retry policy.
#pragma once

#include <array>
#include <string>
#include <utility>

#include <lastref/os.hpp>
#include <lastref/resource.hpp>

namespace lastref::os {

/// Owns a descriptor. The destructor closes it quietly; `close` returns the kernel's error.
class UniqueFd {
 public:
  UniqueFd() noexcept = default;
  UniqueFd(Os& os, Fd fd) noexcept : os_(&os), fd_(fd) {}
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  UniqueFd(UniqueFd&& other) noexcept
      : os_(std::exchange(other.os_, nullptr)), fd_(std::exchange(other.fd_, Fd::none)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept;
  ~UniqueFd() { close_quietly(); }

  Fd get() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ != Fd::none; }
  Fd release() noexcept { return std::exchange(fd_, Fd::none); }
  void close_quietly() noexcept;
  /// Never retried: on Linux the descriptor is closed whatever close(2) returns.
  Status close() noexcept;

 private:
  Os* os_ = nullptr;
  Fd fd_ = Fd::none;
};

/// Owns a map. The destructor unmaps it quietly; `unmap` returns the kernel's error.
class UniqueMap {
 public:
  UniqueMap() noexcept = default;
  UniqueMap(Os& os, Buffer mapped) noexcept : os_(&os), mapped_(mapped) {}
  UniqueMap(const UniqueMap&) = delete;
  UniqueMap& operator=(const UniqueMap&) = delete;
  UniqueMap(UniqueMap&& other) noexcept
      : os_(std::exchange(other.os_, nullptr)), mapped_(std::exchange(other.mapped_, Buffer())) {}
  UniqueMap& operator=(UniqueMap&& other) noexcept;
  ~UniqueMap() { unmap_quietly(); }

  Buffer get() const noexcept { return mapped_; }
  explicit operator bool() const noexcept { return !mapped_.empty(); }
  void unmap_quietly() noexcept;
  /// Never retried: a map that cannot be unmapped stays until the process ends.
  Status unmap() noexcept;

 private:
  Os* os_ = nullptr;
  Buffer mapped_;
};

/// Holds a Monitor for a scope.
class LASTREF_SCOPED_CAPABILITY MonitorLock {
 public:
  explicit MonitorLock(Monitor& monitor) noexcept LASTREF_ACQUIRES(monitor) : monitor_(monitor) {
    monitor_.lock();
  }
  MonitorLock(const MonitorLock&) = delete;
  MonitorLock& operator=(const MonitorLock&) = delete;
  ~MonitorLock() LASTREF_RELEASES() { monitor_.unlock(); }

 private:
  Monitor& monitor_;
};

/// Repeats the call while it is interrupted by a signal. Not for close.
template <typename Attempt>
auto retry_interrupted(Attempt attempt) noexcept -> decltype(attempt()) {
  for (;;) {
    auto result = attempt();
    if (result || result.error().code != std::errc::interrupted) {
      return result;
    }
  }
}

/// open(2), owned, retried when interrupted.
Result<UniqueFd> open_file(Os& os, const PathAt& where, const OpenOptions& options) noexcept;

/// mmap(2), owned.
Result<UniqueMap> map_memory(Os& os, const MapOptions& options) noexcept;

/// Reads until `into` is full or the file ends; returns how much was read. Not for pipes.
Result<std::size_t> read_until_full(Os& os, Fd fd, Buffer into) noexcept;
/// As above, from `offset` on.
Result<std::size_t> read_until_full_at(Os& os, Fd fd, Buffer into, std::uint64_t offset) noexcept;

/// Writes all bytes to a file or pipe that never stays full. After an error some part may have been
/// written.
Status write_all(Os& os, Fd fd, Bytes bytes) noexcept;
Status write_all_at(Os& os, Fd fd, Bytes bytes, std::uint64_t offset) noexcept;

/// fdatasync(2), retried when interrupted.
Status sync_file(Os& os, Fd fd) noexcept;

/// The largest write to a pipe that is atomic. pipe(7), PIPE_BUF
inline constexpr std::size_t message_max = 4096;

/// Writes a message to the user on standard error, truncated to message_max bytes. Never waits: if
/// standard error is not read, or memory is short, the message is dropped. The next message that is
/// written has the number of dropped ones. Other errors are ignored, as they cannot be reported.
///
/// Crossings       poll, write.
void report_quietly(Os& os, std::string_view line) noexcept;

/// Returns 128 random bits in hexadecimal.
///
/// Errors          those of entropy.
Result<std::string> random_hex(Os& os);

/// The identity of the file with this status.
inline Identity identity_of(const FileStatus& status) noexcept {
  return {.device = status.device, .inode = status.inode, .btime = status.btime};
}

/// Removes a name. Succeeds if the name does not exist, whichever process removed it.
Status discard(Os& os, const PathAt& where) noexcept;

/// The view of text as bytes.
inline Bytes bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace lastref::os
