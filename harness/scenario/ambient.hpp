// Ambient: the kind of process that a scenario's programs run in.
//
// Usually the kernel world forks the roles of a run from its server. In an ambient each of its
// processes is a program that was executed: those that the scenario starts (root, and what
// Stage::start starts) have the ambient applied to them before their role begins, as if their user
// had started them so; what the product starts it starts by the product's own Os::spawn, and
// inherits what that lets it inherit. The sim has no ambients: nothing of this can be seen there.
#pragma once

#include <span>
#include <string_view>

namespace lastref::harness {

struct Ambient {
  std::string_view name;
  std::string_view sentence;
  /// SPEC rows that every scenario shows when it is run here: "E1".
  std::span<const std::string_view> rows = {};
  /// Promises that are others here, and why; empty if none is.
  std::string_view differs = {};
  /// Whether what is said on standard error is what a scenario expects.
  bool is_quiet_judged = true;
  /// Whether what a tree has may stay until the next start although somebody lived.
  bool leaves_to_the_next_start = false;
  /// How the names begin of scenarios that cannot be played here; `differs` says why. Empty: all
  /// can be.
  std::string_view without = {};

  bool can_play(std::string_view scenario) const noexcept {
    return without.empty() || !scenario.starts_with(without);
  }
};

/// All there are, in the order in which the gate runs them.
std::span<const Ambient> ambients() noexcept;

/// Nothing if there is none of this name.
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
