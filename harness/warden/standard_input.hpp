// StandardInput: several runs of a program get the same standard input.
//
// A file is read again from the place where we began. A pipe or socket can be read only once: a
// process of ours, the feeder, copies it to a file without a name, and writes that to a new pipe
// for each run. It reads only what is there, so an input that never ends delays no run. It may read
// more than the program does. A terminal or another device is passed on as it is.
#pragma once

#include <cstdint>
#include <optional>

#include <lastref/error.hpp>

#include "harness/platform/unique_fd.hpp"

namespace lastref::harness::warden {

/// Where the next read of standard input begins; absent: it is no regular file.
std::optional<std::int64_t> place_of_input() noexcept;

class StandardInput {
 public:
  /// If it is known that there will be `several` runs, a pipe is copied. Otherwise the only run
  /// reads it directly, and leaves the rest to others.
  explicit StandardInput(bool several) noexcept;
  StandardInput(const StandardInput&) = delete;
  StandardInput& operator=(const StandardInput&) = delete;
  ~StandardInput() = default;

  /// Whether another run can get the same.
  bool can_repeat() const noexcept { return can_repeat_; }
  /// Makes descriptor 0 what the next run reads.
  Status begin_run() noexcept;
  /// Ends the feeder, and restores descriptor 0. Fails if the run did not get its whole input.
  Status end_run() noexcept;

 private:
  std::optional<std::int64_t> place_ = place_of_input();
  bool can_repeat_ = true;
  bool is_copied_ = false;
  UniqueFd source_;  ///< The original standard input, if it is copied
  UniqueFd copy_;    ///< Opened before a private folder may cover or limit its folder
  int feeder_ = -1;
  UniqueFd link_;  ///< To the feeder: shut down when it must end; then it sends its error
};

}  // namespace lastref::harness::warden
