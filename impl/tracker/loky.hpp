// LokyTracker: loky's line protocol from one pipe. An adaptor for foreign clients: references are
// not attributed, and leftovers are cleaned up at the pipe's end.
#pragma once

#include <string>

#include "impl/tracker/cleaner.hpp"
#include "impl/tracker/registry.hpp"

namespace lastref::tracker {

enum class LokyVerb : std::uint8_t { register_, unregister, maybe_unlink, probe };

struct LokyLine {
  LokyVerb verb = LokyVerb::probe;
  Resource resource;

  bool operator==(const LokyLine&) const = default;
};

/// `CMD:name:rtype` without its line break; the name may contain colons. A PROBE may contain
/// anything.
///
/// Errors          bad_message, with the reason as subject.
Result<LokyLine> parse_loky_line(std::string_view line);

/// Bytes; a longer line is reported and skipped.
inline constexpr std::size_t loky_line_size_max = 8192;

class LokyTracker {
 public:
  LokyTracker(os::Os& os, os::Fd pipe) noexcept : os_(os), pipe_(pipe), cleaner_(os) {}

  /// Whether lines can be read from the descriptor; does not wait for one.
  ///
  /// Errors          of status and read; not_supported for a file or folder.
  Status check_pipe() noexcept;

  /// Runs until the end of the pipe, and until all is clean.
  ///
  /// Errors          of read or poll, after everything was cleaned up all the same;
  ///                 not_enough_memory, when there is none for a long time.
  Status serve() noexcept;

 private:
  Result<bool> read_some();
  Status take_lines();
  void take(const LokyLine& line);
  Status take(std::string_view line);
  void clean(os::Instant now);
  void clean_all();
  void clean_to_the_end();

  os::Os& os_;
  os::Fd pipe_;
  Registry registry_;
  Cleaner cleaner_;
  std::string pending_;    // bytes that were read and are not a complete line yet
  bool overlong_ = false;  // the rest of the current line is skipped
  int poll_failures_ = 0;
};

}  // namespace lastref::tracker
