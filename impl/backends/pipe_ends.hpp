// pipe_ends: whole messages through a pipe between a parent and a worker.
//
// A message is its size (8 bytes, of what follows), its kind (1 byte) and its body. Neither end
// ever waits: its owner polls. An incomplete message does not count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <utility>

#include <lastref/owners.hpp>

#include "impl/os/limits.hpp"
#include "impl/os/wire.hpp"

namespace lastref::backends {

enum class MessageKind : std::uint8_t {
  job,      ///< To a worker: its number (8 bytes), a batch.
  results,  ///< To the parent: a job's number, ns that it took (8 bytes), the results.
  failed,   ///< A job's number, ns that it took, the failure.
  leave,    ///< To a worker: there are no more jobs. Nothing else.
  gave_up,  ///< To the parent: the failure that makes the worker exit.
};
inline constexpr std::uint8_t kinds = 5;

struct Message {
  MessageKind kind = MessageKind::job;
  os::Bytes body;  ///< Valid until the next call.
};

class Inbox {
 public:
  Inbox() noexcept = default;
  Inbox(os::Os& os, os::UniqueFd fd) noexcept
      : os_(&os), limits_(&os::limits_of(os)), fd_(std::move(fd)) {}

  os::Fd fd() const noexcept { return fd_.get(); }
  bool at_end() const noexcept { return at_end_; }

  void close() noexcept {
    fd_.close_quietly();
    at_end_ = true;
  }

  /// Reads the bytes that are available.
  ///
  /// Errors          those of read, except would-block.
  Status fill();

  /// The next whole message; none if it has not arrived yet.
  ///
  /// Errors          bad_message: its kind is unknown.
  Result<std::optional<Message>> next();

 private:
  os::Os* os_ = nullptr;
  const os::Limits* limits_ = &os::usual_limits;
  os::UniqueFd fd_;
  std::unique_ptr<std::byte[]> scratch_;  ///< The buffer of one read: only pages that are filled.
  os::Packed buffer_;
  std::size_t read_ = 0;  ///< bytes of it that were read as messages; all are freed with the last
  bool at_end_ = false;
};

/// A message to be sent, in one piece or two.
using WholeMessage = std::list<os::Packed>;

/// The body starts with `numbers`.
WholeMessage whole_message(const os::Limits& limits,
                           MessageKind kind,
                           const os::Packed& numbers,
                           os::Packed body);
/// Replaces the numbers, by others of the same size.
void set_numbers(WholeMessage& message, os::Bytes numbers) noexcept;

/// Writes a byte into a pipe that wakes a thread; a full one wakes as well. Tries again.
///
/// Errors          those of write. The end of the pipe would wake, too: close it.
Status wake_by(os::Os& os, os::Fd write) noexcept;
/// Empties such a pipe. One that cannot be read would wake again and again.
///
/// Errors          those of read.
Status drain(os::Os& os, os::Fd read) noexcept;

class Outbox {
 public:
  Outbox() noexcept = default;
  Outbox(os::Os& os, os::UniqueFd fd) noexcept
      : os_(&os), limits_(&os::limits_of(os)), fd_(std::move(fd)) {}

  os::Fd fd() const noexcept { return fd_.get(); }
  bool is_empty() const noexcept { return queue_.empty(); }

  /// Queues a message for `flush`. The body starts with `numbers`.
  void post(MessageKind kind, const os::Packed& numbers, os::Packed body);
  /// The same, but needs no memory.
  void post(WholeMessage message) noexcept { queue_.splice(queue_.end(), message); }

  /// Writes as much as there is space for.
  ///
  /// Errors          of write, except would-block, which is none.
  Status flush();

  void close() noexcept {
    queue_.clear();
    fd_.close_quietly();
  }

 private:
  os::Os* os_ = nullptr;
  const os::Limits* limits_ = &os::usual_limits;
  os::UniqueFd fd_;
  std::list<os::Packed> queue_;
  std::size_t written_ = 0;  ///< bytes of the first
};

}  // namespace lastref::backends
