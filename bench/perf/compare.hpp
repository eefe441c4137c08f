// compare: two builds, two files or two commands, side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

#include "bench/perf/globs.hpp"
#include "bench/perf/measured_process.hpp"
#include "bench/perf/paired_runs.hpp"
#include "bench/perf/sides.hpp"
#include "harness/report/report.hpp"

namespace lastref::perf {

struct CompareOptions {
  std::string a;
  std::string b;
  /// Run in folder A and in folder B, or with {} replaced by A and by B; empty: benchmarks.
  std::vector<std::string> command = {};
  Globs benches = {};
  Rules rules = {};
  double seconds_at_least = 0.005;                 ///< of each process
  std::optional<double> budget = {};               ///< seconds, for all that is measured
  std::chrono::seconds patience = usual_patience;  ///< with each process
  std::optional<std::uint64_t> seed = {};          ///< one that nobody has had, if there is none
  SideOptions sides = {};
  std::string json = {};  ///< a file
  bool with_peers = false;
};

struct Comparison {
  std::string a;  ///< names for people
  std::string b;
  bool has_pairs = true;
  Rules rules = {};
  std::uint64_t seed = 0;
  std::vector<ComparedRow> rows = {};
  std::vector<std::string> only_in_a = {};
  std::vector<std::string> only_in_b = {};
};

/// Why there is nothing to compare.
struct NotCompared {
  /// A line is the whole reason mostly.
  // NOLINTNEXTLINE(google-explicit-constructor)
  NotCompared(std::string reason) : why(std::move(reason)) {}

  std::string why;            ///< A line for people
  bool is_not_built = false;  ///< A revision does not build, or has none of the benchmarks.
};

/// Compares; progress goes to standard error. Fails if it cannot begin.
tl::expected<Comparison, NotCompared> compare(CompareOptions options);

/// A regression beyond the tolerance decides; then what could not be told.
harness::Exit exit_of(const Comparison& comparison);

/// A table, what it comes to, and how to repeat it if something is not as it should be.
std::string text_of(const Comparison& comparison, const CompareOptions& options);
std::string to_json(const Comparison& comparison);

/// The command that measures the rows again that are slower beyond the tolerance, or could not be
/// told.
std::string command_for(const Comparison& comparison, const CompareOptions& options);

}  // namespace lastref::perf
