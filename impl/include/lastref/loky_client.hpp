// LokyClient: references kept by somebody else's tracker, over loky's line protocol.
#pragma once

#include <string_view>

#include <lastref/os.hpp>
#include <lastref/resource.hpp>

namespace lastref::tracker {

/// Characters; loky's tracker takes no longer name.
inline constexpr std::size_t loky_name_size_max = 512;

/// Speaks to a tracker that reads lines from the other end of a pipe. References are not
/// attributed: what a killed process held stays counted until the pipe ends.
///
/// Threads         any; a line is written whole or not at all, because it is shorter than PIPE_BUF.
/// Source          loky resource_tracker.py, ResourceTracker._send.
class LokyClient {
 public:
  /// `pipe` is the writing end; it stays the caller's.
  LokyClient(os::Os& os, os::Fd pipe) noexcept : os_(os), pipe_(pipe) {}

  /// Errors          invalid_argument: a type other than file, folder, semlock, or a character that
  ///                 is not ASCII, or a line break; filename_too_long. Nothing was sent.
  ///                 broken_pipe: the tracker is gone; not_enough_memory: nothing was sent.
  Status register_name(const Resource& resource) noexcept;
  /// Errors          as register_name.
  Status maybe_unlink(const Resource& resource) noexcept;
  /// Errors          as register_name.
  Status unregister(const Resource& resource) noexcept;

 private:
  Status send(std::string_view command, const Resource& resource);

  os::Os& os_;
  os::Fd pipe_;
};

}  // namespace lastref::tracker
