// The tracker daemon: counts references to names, and cleans up things that no process holds.
#pragma once

#include <array>
#include <span>
#include <string>
#include <vector>

#include <lastref/os.hpp>

namespace lastref::tracker {

/// Name of the entry point that Os::spawn starts.
inline constexpr const char* entry_point = "tracker";

/// The descriptor that a tracker inherits: the listening socket, or the pipe in loky mode.
inline constexpr int passed_fd = 3;
/// The exit code of a tracker that could not start or continue.
inline constexpr int could_not = 2;

/// The tracker ignores these signals, and the process that starts it has them blocked until it
/// does: a signal from a terminal that ends the program must not end the tracker, which cleans up
/// after the program.
inline constexpr std::array ignored_signals = {
    os::Signal::interrupt, os::Signal::terminate, os::Signal::hang_up, os::Signal::quit};

/// Runs the tracker until its end. `arguments` are {tree folder}, and the listening socket is
/// descriptor 3; or {"--loky-fd", "3"} for loky mode, with the pipe there. Returns an exit code: 0,
/// or 2 if the tracker could not start, with the reason on standard error.
int run(os::Os& os, std::span<const std::string> arguments) noexcept;

/// The result of a sweep.
struct Swept {
  std::size_t trees = 0;  ///< orphaned trees that were removed
  std::size_t names = 0;  ///< things of these trees that were cleaned up
  std::size_t kept = 0;   ///< things that could not be removed; their trees remain
  std::size_t alive = 0;  ///< trees with a live process, left alone
  /// Folders of trees that have lost their lock. They were left alone, because they may be alive.
  std::vector<std::string> unjudged = {};
};

/// Cleans up the leftovers of every tree below `runtime_folder` that has no process left. If it is
/// empty: below each location of RootOptions. Never changes a live tree.
///
/// Errors          those of checking, opening or reading a runtime folder, after the other one was
///                 swept all the same; a missing folder is no error. permission_denied,
///                 not_a_directory: the folder does not belong to this user alone, and was not
///                 changed.
Result<Swept> sweep(os::Os& os, const std::string& runtime_folder) noexcept;

}  // namespace lastref::tracker
