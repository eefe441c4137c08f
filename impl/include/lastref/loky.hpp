// loky: the line protocol of loky's tracker, from both sides: a client of it, and a tracker that
// speaks it.
#pragma once

#include <memory>
#include <string_view>

#include <lastref/os.hpp>
#include <lastref/references.hpp>
#include <lastref/resource.hpp>

namespace lastref::tracker {

/// Characters; loky's tracker accepts no longer name.
inline constexpr std::size_t loky_name_size_max = 512;

/// Client of a tracker that reads lines from the other end of a pipe. References are not attributed
/// to processes: those of a killed process stay counted until the pipe ends.
///
/// Threads         any; a line is written whole or not at all, because it is shorter than PIPE_BUF.
/// Source          loky resource_tracker.py, ResourceTracker._send.
class LokyClient {
 public:
  /// `pipe` is the write end; the caller keeps its ownership.
  LokyClient(os::Os& os, os::Fd pipe) noexcept : os_(os), pipe_(pipe) {}

  /// Errors          invalid_argument: a type other than file, folder, semlock, or a character that
  ///                 is not ASCII, or a line break; filename_too_long. Nothing was sent.
  ///                 broken_pipe: the tracker has ended; not_enough_memory: nothing was sent.
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

/// Loky mode: reads the line protocol of loky's resource tracker from one pipe until its end. Takes
/// ownership of the pipe.
int run_loky(os::Os& os, os::Fd pipe) noexcept;

}  // namespace lastref::tracker

namespace lastref {

/// References counted by a loky tracker.
std::shared_ptr<References> references_of(std::shared_ptr<tracker::LokyClient> client);

}  // namespace lastref
