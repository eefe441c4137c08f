// compare: compares two builds, two files or two commands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/perf/builds.hpp"
#include "bench/perf/google_benchmark.hpp"
#include "bench/perf/process.hpp"
#include "bench/perf/verdict.hpp"
#include "harness/report/report.hpp"

namespace lastref::perf {

struct CompareOptions {
  std::string a;
  std::string b;
  /// Runs in folder A and in folder B, or with {} replaced by A and by B; empty: benchmarks.
  std::vector<std::string> command = {};
  Globs benches = {};
  Rules rules = {};
  double seconds_at_least = 0.005;                 ///< per process
  std::optional<double> budget = {};               ///< seconds, for all measurements
  std::chrono::seconds patience = usual_patience;  ///< limit for each process
  std::optional<std::uint64_t> seed = {};          ///< absent: a new one
  SideOptions sides = {};
  std::string json = {};  ///< a file
  bool with_peers = false;
};

struct Comparison {
  std::string a;  ///< display name
  std::string b;
  bool has_pairs = true;
  Rules rules = {};
  std::uint64_t seed = 0;
  std::vector<ComparedRow> rows = {};
  std::vector<std::string> only_in_a = {};
  std::vector<std::string> only_in_b = {};
};

/// A revision does not build, or has none of the benchmarks.
struct NotBuilt : std::runtime_error {
  using runtime_error::runtime_error;
};

/// Compares the two sides and writes progress to standard error.
///
/// Throws          NotBuilt, or std::runtime_error: there is nothing to compare
Comparison compare(const CompareOptions& options);

/// A regression beyond the tolerance decides first, then rows without a verdict.
harness::Exit exit_of(const Comparison& comparison);

}  // namespace lastref::perf
