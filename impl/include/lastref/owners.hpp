// Owners: whoever opened it closes it, once. And the calls that want a retry policy.
#pragma once

#include <array>
#include <string>
#include <utility>

#include <lastref/os.hpp>
#include <lastref/resource.hpp>

namespace lastref::os {

/// Owns a descriptor. The destructor closes it quietly; `close` says what the kernel said.
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
  /// Never retried: on Linux the descriptor is gone whatever close(2) says.
  Status close() noexcept;

 private:
  Os* os_ = nullptr;
  Fd fd_ = Fd::none;
};

/// Owns a map. The destructor unmaps it quietly; `unmap` says what the kernel said.
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
  /// What cannot be unmapped stays until the process ends; nobody tries again.
  Status unmap() noexcept;

 private:
  Os* os_ = nullptr;
  Buffer mapped_;
};

/// Holds a Monitor for a scope.
class Held {
 public:
  explicit Held(Monitor& monitor) noexcept : monitor_(monitor) { monitor_.lock(); }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;
  ~Held() { monitor_.unlock(); }

 private:
  Monitor& monitor_;
};

/// Calls again as long as a signal got in between. Not for close.
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

/// Reads until `into` is full or the file ends; says how much there was. Not for pipes.
Result<std::size_t> read_until_full(Os& os, Fd fd, Buffer into) noexcept;
/// The same from `offset` on.
Result<std::size_t> read_until_full_at(Os& os, Fd fd, Buffer into, std::uint64_t offset) noexcept;

/// Writes all of it to a file or pipe that never stays full, or says why not. On an error some part
/// may have been written.
Status write_all(Os& os, Fd fd, Bytes bytes) noexcept;
Status write_all_at(Os& os, Fd fd, Bytes bytes, std::uint64_t offset) noexcept;

/// fdatasync(2), retried when interrupted.
Status sync_file(Os& os, Fd fd) noexcept;

/// The most that one write puts into a pipe in one piece. pipe(7), PIPE_BUF
inline constexpr std::size_t message_max = 4096;

/// One message to people on standard error, cut to message_max bytes. It waits for nobody: if
/// nobody reads, or there is no memory for it, the message is dropped, and the next one that gets
/// through says how many were. Other errors are swallowed, for there is nobody to tell.
///
/// Crossings       poll, write.
void report_quietly(Os& os, std::string_view line) noexcept;

/// 128 bits of chance in hexadecimal.
///
/// Errors          what entropy said.
Result<std::string> random_hex(Os& os);

/// Which thing it is.
inline Identity identity_of(const FileStatus& status) noexcept {
  return {.device = status.device, .inode = status.inode, .born = status.born};
}

/// Removes a name; gone is gone, whoever did it.
Status discard(Os& os, const PathAt& where) noexcept;

/// The view of text as bytes.
inline Bytes bytes_of(std::string_view text) noexcept {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace lastref::os
