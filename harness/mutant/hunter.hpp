// Hunter: who looks for a planted bug, with which command, and in which order.
//
// A hunter is a program of the build with the bug: its gate, in one world or the other, or its
// tests. What a hunter says depends on its command and the sources alone, so both together are what
// a result is known by.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace lastref::harness {

enum class Hunter : std::uint8_t { sim, row, site, tests, full };

struct HunterRow {
  Hunter hunter;
  std::string_view name;
  std::string_view sentence;  ///< for people
};

/// All of them, the cheapest first.
std::span<const HunterRow> all_hunters() noexcept;
std::string_view name_of(Hunter hunter) noexcept;
std::optional<Hunter> hunter_named(std::string_view name) noexcept;
/// Whether it is a gate; else it is ctest.
bool is_gate(Hunter hunter) noexcept;

/// What its command is made of.
struct HuntOptions {
  std::string row = {};               ///< of the mutant
  std::string tests = {};             ///< What ctest -R takes to run those that name the row.
  std::optional<double> budget = {};  ///< Seconds of a gate; none: until it has looked at all.
  std::uint64_t seed = 1;             ///< of a gate
  /// Whether the build's gate goes through every crossing only when told so, and otherwise through
  /// each site of the code. If not, there is no such gate as `site`.
  bool has_full = true;
};

/// A line for the shell in the folder of the build; none if this build has no such hunter. It stops
/// at the first that it finds.
std::optional<std::string> command_of(Hunter hunter, const HuntOptions& options);

/// The one to try where nothing is planted. It is the same for all rows, but for `row`.
std::optional<std::string> unplanted_command_of(Hunter hunter, const HuntOptions& options);

/// Whether the gate's help names the option that `HuntOptions::has_full` is about.
bool names_full(std::string_view help) noexcept;

}  // namespace lastref::harness
