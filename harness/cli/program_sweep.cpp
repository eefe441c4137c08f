#include "harness/cli/program_sweep.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "harness/cli/interruption.hpp"
#include "harness/cli/report_output.hpp"
#include "harness/cli/run_words.hpp"
#include "harness/explore/plans.hpp"
#include "harness/platform/clock.hpp"
#include "harness/platform/names.hpp"
#include "harness/platform/proc.hpp"
#include "harness/program/program.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/sweep_plan.hpp"
#include "harness/warden/syscalls.hpp"

namespace lastref::harness {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A run may take this many times as long as a clean one, and at least so many seconds.
constexpr double slowdown_max = 20;
constexpr double seconds_min = 10;
/// Runs that confirm a finding, in addition to the one that found it.
constexpr std::size_t confirmations = 4;
constexpr double seconds_between_lines = 5;

/// A folder that exists as long as the object.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    std::string path = fs::temp_directory_path(error) / "lastref-sweep-XXXXXX";
    path_ = ::mkdtemp(path.data()) != nullptr ? path : std::string();
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code error;
    if (!path_.empty()) {
      fs::remove_all(path_, error);
    }
  }

  /// Empty: it could not be made.
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

/// A run of the program in a process of its own.
struct SweptRun {
  Exit exit = Exit::unusable;
  bool has_ended = false;
  std::string said;
  Json report;
};

/// What does not hold in a run: its text has patterns instead of names that differ from run to run.
struct Shown {
  std::string claim;
  std::string seen;

  bool operator==(const Shown&) const = default;
};

/// The runs that show the same.
struct Group {
  Shown shown;
  std::vector<std::string> faults;
  std::size_t confirmed = 0;
};

std::string text_of(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() && found->is_string()
             ? found->get<std::string>()
             : std::string();
}

/// The elements of a list in an object; empty: there is no such list.
Json list_in(const Json& object, const char* name) {
  const auto found = object.is_object() ? object.find(name) : object.end();
  return object.is_object() && found != object.end() && found->is_array() ? *found : Json::array();
}

class ProgramSweep {
 public:
  ProgramSweep(const RunVerbOptions& options, Invocation& invocation)
      : options_(options), invocation_(invocation), output_(options.json, options.junit) {}

  void run() {
    if (options_.command.empty()) {
      invocation_.refuse("run: name the program and its arguments after --");
      return;
    }
    if (folder_.path().empty()) {
      invocation_.refuse("run: --sweep: no temporary folder can be made");
      return;
    }
    if (!output_.open(invocation_)) {
      return;
    }
    const Interruption interruption(std::chrono::milliseconds(300));
    started_ = seconds_now();
    choose_world();
    if (!run_clean()) {
      return;
    }
    std::cerr << text_of_plan() << std::flush;
    try_faults();
    confirm();
    output_.write(report(), std::cerr, invocation_);
  }

 private:
  /// Each run begins with the same files. If you do not say how, it gets copies that are dropped.
  void choose_world() {
    world_ = options_;
    world_.sweep = false;
    std::error_code error;
    const std::string here = fs::current_path(error);
    folders_ = {"/dev/shm", "/tmp", "/var/tmp"};
    if (here != "/") {
      folders_.push_back(here);
    }
    if (!options_.private_folders.empty() || !options_.setup.empty()) {
      return;  // Runs side by side could share something.
    }
    is_private_ = true;
    world_.private_folders = {"/dev/shm", "/tmp=overlay"};
    if (!here.starts_with("/tmp/") && here != "/tmp" && here != "/") {
      world_.private_folders.push_back(here + "=overlay");
    }
  }

  /// Two clean runs: the first shows what the program leaves as its product, and the calls; the
  /// second has to be clean with that.
  bool run_clean() {
    RunVerbOptions listed = world_;
    listed.list = true;
    listed.also.insert(
        listed.also.end(), warden::calls_of_sweep().begin(), warden::calls_of_sweep().end());
    const SweptRun first = run_with(listed, {}, "clean");
    if (!first.has_ended || first.report.is_null() || first.exit == Exit::unusable) {
      return refuse_clean(first);
    }
    points_ = points_in(first.report);
    for (const Json& each : list_in(first.report, "left_behind")) {
      world_.allowed.push_back(pattern_of_point(text_of(each, "path")));
    }
    const double clean_seconds =
        first.report.contains("seconds") && first.report["seconds"].is_number()
            ? first.report["seconds"].get<double>()
            : 0;
    if (world_.timeout == 0) {
      world_.timeout = std::max(seconds_min, slowdown_max * clean_seconds);
    }
    const SweptRun second = run_with(world_, {}, "clean");
    if (second.exit != Exit::clean) {
      return refuse_clean(second);
    }
    plan_ = warden::plan_sweep(points_, folders_);
    return true;
  }

  bool refuse_clean(const SweptRun& run) {
    const std::string verdict = text_of(run.report, "verdict");
    invocation_.refuse(
        fmt::format("run: --sweep needs a program that is clean without faults: {}\nrepeat: {}",
                    verdict.empty() ? run.said : verdict,
                    command_of(world_, {})));
    return false;
  }

  /// Waits for it.
  SweptRun run_with(const RunVerbOptions& options,
                    const std::vector<std::string>& faults,
                    const std::string& name) const {
    std::error_code error;
    const std::string json = fmt::format("{}/{}.json", folder_.path(), name);
    const std::string log = fmt::format("{}/{}.log", folder_.path(), name);
    fs::remove(json, error);
    std::string line = harness::quoted(fs::read_symlink("/proc/self/exe", error).string());
    std::vector<std::string> words = words_of(options, faults);
    words.insert(words.begin() + 1, {"--json", json});
    if (options.list) {
      words.insert(words.begin() + 1, "--list");
    }
    for (const std::string& word : words) {
      line += ' ' + harness::quoted(word);
    }
    constexpr double for_commands = 700;
    const auto seconds = static_cast<int>(options.timeout + options.grace + for_commands);
    const auto code = run_command(fs::current_path(error), line, log, seconds);
    SweptRun run;
    run.said = read_file(log);
    run.report = Json::parse(read_file(json), nullptr, /*allow_exceptions=*/false);
    run.report = run.report.is_discarded() ? Json() : std::move(run.report);
    run.has_ended = code && *code;
    run.exit = run.has_ended ? static_cast<Exit>(code->value()) : Exit::unusable;
    return run;
  }

  static std::vector<warden::Point> points_in(const Json& report) {
    std::vector<warden::Point> points;
    for (const Json& each : list_in(report, "calls")) {
      const warden::SyscallRow* const row = warden::syscall_named(text_of(each, "call"));
      const bool has_number = each.contains("k") && each["k"].is_number_unsigned();
      if (row != nullptr && has_number) {
        points.push_back({.role = text_of(each, "role"),
                          .call = row->name,
                          .object = text_of(each, "object"),
                          .k = each["k"].get<std::uint64_t>()});
      }
    }
    return points;
  }

  /// The pattern of a clean run that stands for the name, or one of the name alone.
  std::string pattern_of_point(const std::string& name) const {
    const auto found = std::ranges::find_if(points_, [&](const warden::Point& each) {
      return each.object.starts_with('/') && matches(each.object, name);
    });
    return found == points_.end() ? pattern_of(name) : found->object;
  }

  /// The same text for the same finding in different runs: each absolute name is a pattern.
  std::string without_names(std::string_view seen) const {
    std::string text;
    while (!seen.empty()) {
      const std::size_t slash = std::min(seen.find('/'), seen.size());
      const bool is_absolute = slash == 0 || seen[slash - 1] == ' ' || seen[slash - 1] == '(';
      text += seen.substr(0, slash);
      seen.remove_prefix(slash);
      const std::size_t end = std::min(seen.find_first_of(" ),\n"), seen.size());
      const std::string_view name =
          seen.substr(0, is_absolute ? end : std::min<std::size_t>(end, 1));
      text += is_absolute ? pattern_of_point(std::string(name)) : std::string(name);
      seen.remove_prefix(name.size());
    }
    return text;
  }

  std::vector<Shown> shown_by(const SweptRun& run) const {
    std::vector<Shown> all;
    if (!run.has_ended) {
      all.push_back(
          {.claim = "lastref: a run comes to an end", .seen = "it was ended from outside"});
    }
    for (const Json& each : list_in(run.report, "violations")) {
      all.push_back(
          {.claim = text_of(each, "claim"), .seen = without_names(text_of(each, "seen"))});
    }
    return all;
  }

  std::string text_of_plan() const {
    std::string text = fmt::format("{}, {}, one in each run\n",
                                   counted(plan_.points, "point"),
                                   counted(plan_.faults.size(), "fault"));
    for (const auto& [reason, count] : plan_.left_out) {
      text += fmt::format("left out: {} of {}\n", counted(count, "point"), reason);
    }
    if (world_.private_folders != options_.private_folders) {
      text += fmt::format("private for each run: {}\n", fmt::join(world_.private_folders, ", "));
    }
    if (world_.allowed.size() > options_.allowed.size()) {
      const std::vector<std::string> product(
          world_.allowed.begin() + static_cast<std::ptrdiff_t>(options_.allowed.size()),
          world_.allowed.end());
      text += fmt::format("a clean run leaves, so this may remain: {}\n", fmt::join(product, ", "));
    }
    return text;
  }

  bool is_over() const {
    return Interruption::happened() ||
           (options_.budget && seconds_now() - started_ >= *options_.budget);
  }

  void try_faults() {
    std::vector<std::jthread> threads;
    const unsigned cores = is_private_ ? std::max(1U, std::thread::hardware_concurrency()) : 1;
    for (unsigned number = 0; number < cores; ++number) {
      threads.emplace_back([this, number] {
        for (std::size_t at = next_++; at < plan_.faults.size() && !is_over(); at = next_++) {
          const std::string fault = warden::to_text(plan_.faults[at]);
          const SweptRun run = run_with(world_, {fault}, fmt::format("run{}", number));
          const std::lock_guard held(mutex_);
          take(fault, run);
        }
      });
    }
  }

  void take(const std::string& fault, const SweptRun& run) {
    ++done_;
    if (run.exit == Exit::incomplete) {
      not_injected_.push_back(fault);
    }
    if (run.exit == Exit::unusable && run.has_ended) {
      refused_.push_back(fault + ": " + run.said);
    }
    for (Shown& each : shown_by(run)) {
      auto group = std::ranges::find(groups_, each, &Group::shown);
      if (group == groups_.end()) {
        groups_.push_back({.shown = std::move(each), .faults = {}});
        group = groups_.end() - 1;
      }
      group->faults.push_back(fault);
    }
    const double now = seconds_now();
    if (now - told_ >= seconds_between_lines) {
      told_ = now;
      const double each = (now - started_) / static_cast<double>(done_);
      std::cerr << fmt::format("{} of {} faults, {}, about {:.0f} s left\n",
                               done_,
                               plan_.faults.size(),
                               counted(groups_.size(), "finding"),
                               each * static_cast<double>(plan_.faults.size() - done_))
                << std::flush;
    }
  }

  /// Repeats the first example of each finding alone.
  void confirm() {
    for (Group& group : groups_) {
      group.confirmed = 1;
      for (std::size_t again = 0; again < confirmations && !Interruption::happened(); ++again) {
        const SweptRun run = run_with(world_, {group.faults.front()}, "again");
        const std::vector<Shown> shown = shown_by(run);
        group.confirmed += std::ranges::find(shown, group.shown) != shown.end() ? 1U : 0U;
      }
    }
  }

  Report report() const {
    const std::size_t open = plan_.faults.size() - done_;
    Report report{.verb = "run",
                  .exit = !groups_.empty() ? Exit::violation
                          : open > 0 || !not_injected_.empty() || !refused_.empty()
                              ? Exit::incomplete
                              : Exit::clean,
                  .verdict = fmt::format("{} of {} faults tried, {} not injected; {}{}",
                                         done_,
                                         plan_.faults.size(),
                                         not_injected_.size(),
                                         counted(groups_.size(), "finding"),
                                         Interruption::happened() ? "; interrupted" : ""),
                  .seconds = seconds_now() - started_};
    const std::string program = fmt::format("{}", fmt::join(options_.command, " "));
    for (const Group& group : groups_) {
      std::string others;
      constexpr std::size_t shown_max = 4;
      for (std::size_t at = 1; at < std::min(group.faults.size(), shown_max); ++at) {
        others += fmt::format("\n                also after {}", group.faults[at]);
      }
      if (group.faults.size() > shown_max) {
        others += fmt::format("\n                and {} more", group.faults.size() - shown_max);
      }
      add(report,
          {.scenario = program,
           .claim = group.shown.claim,
           .seen = fmt::format("{}\n                after {}, {} of {} times{}",
                               group.shown.seen,
                               group.faults.front(),
                               group.confirmed,
                               confirmations + 1,
                               others),
           .fingerprint = fingerprint_of(program, group.shown.claim, group.shown.seen),
           .repeats = group.confirmed > 1,
           .replay = command_of(world_, {group.faults.front()}),
           .last_crossings = {}},
          "");
    }
    for (const std::string& each : not_injected_) {
      report.after += fmt::format("NOT INJECTED   {}\n", each);
    }
    for (const std::string& each : refused_) {
      report.after += fmt::format("NOT TRIED      {}\n", each);
    }
    report.fields = std::make_shared<const Json>(Json{{"command", options_.command},
                                                      {"points", plan_.points},
                                                      {"left_out", plan_.left_out},
                                                      {"faults", plan_.faults.size()},
                                                      {"tried", done_},
                                                      {"not_injected", not_injected_},
                                                      {"seconds", report.seconds}});
    report.cases = {{.suite = "run",
                     .name = program,
                     .scenario = program,
                     .error = report.exit == Exit::incomplete ? report.verdict : "",
                     .seconds = report.seconds}};
    return report;
  }

  const RunVerbOptions& options_;
  Invocation& invocation_;
  ReportOutput output_;
  TemporaryFolder folder_;
  RunVerbOptions world_;     ///< The options of each run
  bool is_private_ = false;  ///< Runs side by side share nothing.
  std::vector<std::string> folders_;
  std::vector<warden::Point> points_;
  warden::SweepPlan plan_;
  double started_ = 0;
  std::atomic<std::size_t> next_ = 0;
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::vector<std::string> not_injected_;
  std::vector<std::string> refused_;
  std::vector<Group> groups_;
  double told_ = 0;
};

}  // namespace

void sweep_program(const RunVerbOptions& options, Invocation& invocation) {
  ProgramSweep(options, invocation).run();
}

}  // namespace lastref::harness
