// verbs: what the command line requests from each verb of lastref_perf. Each verb has its own file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/perf/process.hpp"
#include "bench/perf/series.hpp"
#include "harness/report/report.hpp"

namespace lastref::perf {

/// The words after the first --, unchanged: CLI11 2.1 would split [a,b] and drop [].
using Words = std::vector<std::string>;

struct BisectOptions {
  std::string good = {};
  std::string bad = {};
  std::string bench = {};  ///< a glob
  std::string compare = {};
  int asks = 3;
};

struct CountersOptions {
  std::vector<std::string> operations = {};  ///< empty: all
  std::string check = {};
  std::string update = {};
  std::string plant = {};
};

struct GrowthOptions {
  std::string json = {};
  double limit = 0;  ///< 0: none
  double seconds = 0.05;
};

struct HistoryOptions {
  std::string database = {};
  Globs benches = {};
  std::string page = {};
  std::string exported = {};
  ChangePointOptions changes = {};
};

struct ProfileOptions {
  std::string name = {};
  double seconds = 2;
  bool looks = false;
  std::vector<std::string> command = {};
};

struct RecordOptions {
  std::string database = {};
  Globs benches = {};
  int repetitions = 10;
  double seconds = 0.05;
  std::vector<std::string> files = {};
  std::string commit = {};
  std::string range = {};
  std::size_t every = 1;
  bool again = false;
  bool is_here = false;
};

struct SelfTestOptions {
  std::filesystem::path program = {};
  std::optional<std::uint64_t> seed = {};
  bool is_quick = false;
  std::optional<double> budget = {};  ///< seconds in all; default: 1,000, or 52 if quick
};

struct CompareOptions;

/// Each function acts, and returns the exit code.
harness::Exit run_bisect(const BisectOptions& options);
harness::Exit run_compare(const CompareOptions& options);
harness::Exit run_counters(const CountersOptions& options);
harness::Exit run_growth(const GrowthOptions& options);
harness::Exit run_history(const HistoryOptions& options);
harness::Exit run_profile(const ProfileOptions& options);
harness::Exit run_record(const RecordOptions& options);
harness::Exit run_self_test(SelfTestOptions options);

/// Prints why the program cannot do what it was asked for.
inline harness::Exit refuse(const std::string& why) {
  say("lastref perf: " + why);
  return harness::Exit::unusable;
}

/// The path of this history; that of the checkout's own if it is empty.
std::filesystem::path history_at(const std::string& database);

}  // namespace lastref::perf
