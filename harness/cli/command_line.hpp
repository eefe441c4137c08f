// Command line: what the program is told to do. Nothing here runs a verb or prints.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
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
  std::uint64_t runs = ~std::uint64_t{0};
  double budget = 0;  ///< seconds; 0 is no limit
  std::string ask_after;
  std::vector<std::string> faults;
  bool split_deaths = false;
  bool all = false;
};

/// What a gate of real processes draws of the second level, so that it ends within two minutes on
/// two cores, where it is not told to look at less, or at everything.
inline constexpr double share_of_real_processes = 0.1;

struct GateOptions {
  std::optional<double> budget;  ///< seconds; none: until all is done
  std::string scenario;
  std::string row;
  bool full = false;
  std::optional<double> share;  ///< none: what is usual
  bool first = false;
  std::string json;
  std::string junit;
  std::string resume;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> random_runs;  ///< At most; none: as many as is usual.
  std::string only;
  std::vector<std::string> required;
  unsigned worlds = 0;  ///< 0: as many as is usual
  std::string ambient;  ///< This one alone, and nothing else.
  std::string world = "kernel";
};

struct ListOptions {
  bool points = false;
  bool probes = false;
  bool wants_rows = false;
  std::string rows;  ///< A pattern; empty: all of them, without the names of their parts.
  std::string json;
  std::string checkout;
};

struct MutantsOptions {
  std::vector<std::string> names;
  std::string row;
  std::string checkout;
  std::string json;
  std::vector<std::string> by;   ///< Names of hunters; none: all.
  std::optional<double> budget;  ///< seconds; none: until all is done
  std::uint64_t seed = 1;
  std::optional<std::size_t> draw;  ///< So many new ones, instead of those that there are.
  bool all_hunters = false;
  bool again = false;
  bool list = false;
  bool check = false;
};

/// Of a program beside this one, which knows what its words mean.
struct PerfOptions {
  std::vector<std::string> words;
};

struct ReplayOptions {
  std::string name;
  std::vector<std::string> faults;
  std::string choices;
  std::optional<std::uint64_t> seed;
  std::string world = "kernel";
  std::string ambient;
  bool trace = false;
};

struct RunVerbOptions {
  std::vector<std::string> command;
  std::vector<std::string> faults;
  std::vector<std::string> allowed;  ///< Patterns of names that may stay
  std::vector<std::string> open;     ///< Patterns of names that anybody may write to
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
  bool list = false;
  bool doctor = false;
  bool calls = false;
  bool unlikely = false;
  double grace = 5;     ///< seconds
  double timeout = 0;   ///< seconds; 0: none
  double slowdown = 0;  ///< Times that a clean run takes; 0: any
  std::uint64_t repeat = 1;
  std::string json;
};

struct StressVerbOptions {
  std::string scenario;
  std::uint64_t runs = 1000;
  std::uint64_t seed = 1;
  unsigned worlds = 2;
  bool first = false;
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
                             ListOptions,
                             MutantsOptions,
                             PerfOptions,
                             ReplayOptions,
                             RunVerbOptions,
                             StressVerbOptions,
                             SweepOptions,
                             TrackerOptions>;

/// What there is to say where there is nothing to run.
struct Answer {
  std::string text;
  Exit exit = Exit::unusable;  ///< clean: help, that was asked for
};

/// All that the program understands. One may parse many command lines, one after the other.
class CommandLine {
 public:
  CommandLine();
  CommandLine(const CommandLine&) = delete;
  CommandLine& operator=(const CommandLine&) = delete;
  ~CommandLine();

  /// `arguments` start with that of the program. What names a scenario, a fault or a file is not
  /// looked up, but for folders.
  tl::expected<Command, Answer> parse(std::span<const char* const> arguments);

 private:
  struct Grammar;
  std::unique_ptr<Grammar> grammar_;
};

}  // namespace lastref::harness
