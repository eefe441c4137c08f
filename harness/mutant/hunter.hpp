// Hunter: the programs that look for a planted bug, their commands, and their order.
//
// A hunter is a program of the build with the bug: its gate, in one world or the other, its hunt,
// or its tests. Its result depends on its command and the sources alone, so both together identify
// a result.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lastref::harness {

enum class Hunter : std::uint8_t { sim, hunt, row, site, tests, full };

struct HunterRow {
  Hunter hunter;
  std::string_view name;
  std::string_view sentence;  ///< for reports
};

/// All hunters, the cheapest first.
std::span<const HunterRow> all_hunters() noexcept;
std::string_view name_of(Hunter hunter) noexcept;
std::optional<Hunter> hunter_named(std::string_view name) noexcept;
/// Whether it is a gate, or a hunt, which writes the same report; otherwise it is ctest.
bool is_gate(Hunter hunter) noexcept;

/// The parameters of its command.
struct HunterOptions {
  std::string row = {};    ///< of the mutant
  std::string tests = {};  ///< The pattern of ctest -R for the tests that name the row.
  /// Seconds of a gate or a hunt; none: until the gate is complete, and a minute for the hunt.
  std::optional<double> budget = {};
  std::uint64_t seed = 1;                  ///< of a gate or a hunt
  std::vector<std::string> policies = {};  ///< Schedule policies of a hunt; none: all.
  /// Whether the build's gate tries every crossing only on request, and otherwise each site of the
  /// code. If not, there is no such gate as `site`.
  bool has_full = true;
};

/// A shell command line in the folder of the build; none if this build has no such hunter. It stops
/// at the first finding.
std::optional<std::string> command_of(Hunter hunter, const HunterOptions& options);

/// The command to try where nothing is planted. It is the same for all rows, except for `row`.
std::optional<std::string> unplanted_command_of(Hunter hunter, const HunterOptions& options);

/// Whether the gate's help names the option that `HunterOptions::has_full` is about.
bool names_full(std::string_view help) noexcept;

}  // namespace lastref::harness
