// Command line: parses the arguments. Nothing here runs a verb or prints.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <tl/expected.hpp>

#include "harness/report/report.hpp"

namespace lastref::harness {

struct BenchOptions {
  std::string json;
  std::string filter;
  std::string profile;  ///< Name of a benchmark
  bool quick = false;
};

struct ExploreOptions {
  std::string name;
  std::uint32_t preemptions = 1;
  bool no_bound = false;              ///< of preemptions
  std::optional<std::uint64_t> runs;  ///< Maximum
  double budget = 0;                  ///< seconds; 0 is no limit
  std::string ask_after;
  std::vector<std::string> faults;
  std::vector<std::string> set;       ///< "NAME=VALUE"
  std::optional<std::uint64_t> draw;  ///< Seed of the values of other parameters
  bool split_deaths = false;
  bool all = false;
  bool no_reduction = false;
  bool deviations = false;            ///< Single ones, instead of all orders
  std::vector<std::string> policies;  ///< Random orders of these, instead of all orders
  std::uint64_t seed = 1;             ///< of the policies
  std::string worlds = "sim";         ///< or "kernel", "both"; read by Worlds::start as well
};

/// The share of the second level that a gate of real processes draws, so that it ends within two
/// minutes on two cores, unless the user asks for less, or for everything.
inline constexpr double share_of_real_processes = 0.1;

/// Where a report is written as well; empty: nowhere; "-": standard output
struct ReportFiles {
  std::string json;
  std::string junit;
  std::string sarif;
  std::string html;
  std::string trace;  ///< Of a run
};

struct GateOptions {
  std::optional<double> budget;  ///< seconds; none: until all is done
  std::string scenario;
  std::string row;
  bool full = false;
  std::optional<double> share;  ///< none: the usual one
  bool first = false;
  ReportFiles files;
  std::string resume;
  std::string shard;   ///< "2/8": only this part; empty: all
  std::string output;  ///< The folder of its results, for merging
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> random_runs;  ///< Maximum; none: the usual number.
  std::optional<std::uint64_t> hunt_runs;    ///< of each scenario; none: the usual number
  std::string only;
  std::vector<std::string> required;
  unsigned worlds = 0;  ///< 0: the usual number
  std::string ambient;  ///< Only this one, and nothing else.
  std::string world = "kernel";
  std::vector<std::string> set;  ///< "NAME=VALUE"
  bool no_draw = false;
  bool small = false;  ///< `set` has the small limits as well.
};

struct ListOptions {
  bool points = false;
  bool faults = false;
  bool probes = false;
  bool wants_rows = false;
  std::string rows;  ///< A pattern; empty: all of them, without the names of their parts.
  std::string json;
  std::string checkout;
};

struct MergeOptions {
  std::vector<std::string> folders;
  ReportFiles files;
};

struct MutantsOptions {
  std::vector<std::string> names;
  std::string row;
  std::string checkout;
  std::string json;
  std::vector<std::string> by;   ///< Names of hunters; none: all.
  std::optional<double> budget;  ///< seconds; none: until all is done
  std::uint64_t seed = 1;
  std::size_t seeds = 1;              ///< Gates and hunts run with so many.
  std::vector<std::string> policies;  ///< of hunts; none: all
  std::optional<std::size_t> draw;    ///< That many new ones, instead of the existing ones.
  bool all_hunters = false;
  bool again = false;
  bool list = false;
  bool check = false;
};

/// Of a separate program, which parses its own arguments.
struct PerfOptions {
  std::vector<std::string> words;
};

struct ReplayOptions {
  std::string name;
  std::vector<std::string> faults;
  std::string choices;
  std::optional<std::uint64_t> seed;
  std::string policy;  ///< Empty: the usual one
  std::string world = "kernel";
  std::string ambient;
  std::vector<std::string> set;  ///< "NAME=VALUE"
  bool trace = false;
  bool timeline = false;
  std::string html;
};

struct RunVerbOptions {
  std::vector<std::string> command;
  std::vector<std::string> faults;
  std::vector<std::string> allowed;  ///< Patterns of names that may remain
  std::vector<std::string> open;     ///< Patterns of names that any user may write to
  std::vector<std::string> private_folders;
  std::vector<std::string> limits;
  std::vector<int> expected_exits;
  std::vector<std::string> also;  ///< Calls to watch as well
  std::string setup;              ///< Commands of a shell
  std::string ready;
  std::string work;
  std::uint64_t rounds = 1;  ///< of the work
  std::string check;
  std::string recover;
  std::string on_hang;
  std::vector<std::string> same;  ///< Files, or files and their contents
  bool list = false;
  bool timeline = false;  ///< The JSON report has the calls, as a page has them.
  bool sweep = false;
  std::optional<double> budget;       ///< Seconds of the sweep; none: until all faults are tried
  std::string shard;                  ///< "2/8" of the faults of a sweep; empty: all
  std::string costs;                  ///< The folder of a sweep, with the time of each fault
  std::optional<std::size_t> sample;  ///< So many faults of each program, drawn; none: all
  std::uint64_t seed = 1;             ///< of the sample
  std::string output;                 ///< The folder of a new sweep
  std::string resume;                 ///< The folder of a sweep that goes on
  bool first = false;                 ///< A sweep ends with the first finding.
  std::string suite;                  ///< The file of a suite
  std::string story;                  ///< A pattern: only these of the suite; empty: all
  bool doctor = false;
  bool calls = false;
  bool unlikely = false;
  bool strict = false;
  double grace = 5;     ///< seconds
  double timeout = 0;   ///< seconds; 0: none
  double slowdown = 0;  ///< Maximum, in multiples of a clean run; 0: none
  std::uint64_t repeat = 1;
  ReportFiles files;
};

struct HuntVerbOptions {
  std::string scenario;
  ReportFiles files;
  std::string resume;
  std::vector<std::string> policies;  ///< Empty: all
  std::optional<double> budget;       ///< seconds
  std::optional<std::uint64_t> runs;  ///< without either: until it is interrupted
  std::uint64_t seed = 1;
  unsigned worlds = 0;  ///< Read by Worlds::start
  bool no_faults = false;
  bool first = false;
  std::vector<std::string> set;  ///< "NAME=VALUE"
  bool no_draw = false;
  bool small = false;  ///< `set` has the small limits as well.
};

struct StressVerbOptions {
  std::string scenario;
  std::uint64_t runs = 1000;
  std::uint64_t seed = 1;
  unsigned worlds = 2;
  bool first = false;
  bool noise = false;
  std::vector<std::string> set;  ///< "NAME=VALUE"
  bool no_draw = false;
  bool small = false;  ///< `set` has the small limits as well.
};

struct SweepOptions {
  std::string runtime;
};

struct TrackerOptions {
  std::optional<std::string> tree;
  std::optional<int> loky_fd;
};

/// A verb with its options.
using Command = std::variant<BenchOptions,
                             ExploreOptions,
                             GateOptions,
                             HuntVerbOptions,
                             ListOptions,
                             MergeOptions,
                             MutantsOptions,
                             PerfOptions,
                             ReplayOptions,
                             RunVerbOptions,
                             StressVerbOptions,
                             SweepOptions,
                             TrackerOptions>;

/// The text to print when there is nothing to run.
struct Answer {
  std::string text;
  Exit exit = Exit::unusable;  ///< clean: help that was requested
};

/// The grammar of the command line. One object may parse many command lines, one after another.
class CommandLine {
 public:
  CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  /// `arguments` start with the name of the program. Names of scenarios, faults and files are not
  /// checked, except for folders.
  tl::expected<Command, Answer> parse(std::span<const char* const> arguments);

  /// Whether a program of a suite may have this option of `run`. True, too, if there is none: the
  /// parser reports it.
  bool takes_in_story(std::string_view option) const;

 private:
  struct Grammar;
  std::unique_ptr<Grammar> grammar_;
};

}  // namespace lastref::harness
