// Ambient: the kind of process that a scenario's programs run in.
//
// Usually the kernel world forks the roles of a run from its server. In an ambient each process of
// the run is an executed program. The ambient is applied to the processes that the scenario starts
// (root, and those of Stage::start) before their role begins, as if their user had started them so.
// The product starts its processes with its own Os::spawn, and they inherit what that passes on.
// The sim has no ambients: it cannot show any of these effects.
#pragma once

#include <span>
#include <string_view>

namespace lastref::harness {

struct Ambient {
  std::string_view name;
  std::string_view sentence;
  /// SPEC rows that every scenario covers when it runs here: "E1".
  std::span<const std::string_view> rows = {};
  /// Promises that differ here, and why; empty if none does.
  std::string_view differs = {};
  /// Whether the oracle `quiet` judges the messages on standard error.
  bool is_quiet_judged = true;
  /// Whether leftovers of a tree may remain until the next start although one of its processes
  /// survived.
  bool leaves_to_the_next_start = false;
  /// Prefix of the names of scenarios that cannot run here; `differs` gives the reason. Empty: all
  /// can.
  std::string_view without = {};

  bool can_play(std::string_view scenario) const noexcept {
    return without.empty() || !scenario.starts_with(without);
  }
};

/// All ambients, in the order in which the gate runs them.
std::span<const Ambient> ambients() noexcept;

/// Null if no ambient has this name.
const Ambient* ambient_named(std::string_view name) noexcept;

namespace ambient {
inline constexpr std::string_view executed = "exec";
inline constexpr std::string_view closed = "closed";
inline constexpr std::string_view full_stderr = "full_stderr";
inline constexpr std::string_view elsewhere = "elsewhere";
inline constexpr std::string_view second_tree = "second_tree";
inline constexpr std::string_view stranger = "stranger";
inline constexpr std::string_view deaf = "deaf";
inline constexpr std::string_view open_umask = "umask_0";
inline constexpr std::string_view closed_umask = "umask_0777";
inline constexpr std::string_view pid_namespace = "pid_namespace";
inline constexpr std::string_view small_limits = "small_limits";
inline constexpr std::string_view ordinary_user = "ordinary_user";
inline constexpr std::string_view root = "root";
}  // namespace ambient

}  // namespace lastref::harness
