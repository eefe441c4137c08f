#include "harness/cli/program_sweep.hpp"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <functional>
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
#include "harness/cli/judged_run.hpp"
#include "harness/cli/report_output.hpp"
#include "harness/cli/run_words.hpp"
#include "harness/explore/plans.hpp"
#include "harness/platform/clock.hpp"
#include "harness/platform/names.hpp"
#include "harness/platform/proc.hpp"
#include "harness/program/program.hpp"
#include "harness/report/bytes_in_json.hpp"
#include "harness/report/json_members.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/standard_input.hpp"
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

/// The text without the numbers of threads and children: which of several equal ones it was differs
/// from run to run.
std::string without_numbers(std::string_view text) {
  static constexpr std::string_view before[] = {"(thread ", "child.", "orphan.", ", and "};
  std::string kept;
  while (!text.empty()) {
    std::size_t length = 1;
    for (const std::string_view word : before) {
      length = text.starts_with(word) ? word.size() : length;
    }
    kept += text.substr(0, length);
    text.remove_prefix(length);
    if (length > 1) {
      text.remove_prefix(std::min(text.find_first_not_of("0123456789."), text.size()));
      kept += '*';
    }
  }
  return kept;
}

/// What does not hold in a run: its text has patterns instead of names that differ from run to run.
struct Shown {
  std::string claim;
  std::string seen;

  /// Whether it may have the same cause
  bool operator==(const Shown& other) const {
    return claim == other.claim && without_numbers(seen) == without_numbers(other.seen);
  }
};

/// The runs that show the same.
struct Group {
  Shown shown;
  std::vector<std::size_t> faults;  ///< Those of the plan
  std::size_t confirmed = 0;
};

/// Which kinds of faults explain a finding best: a program cannot prevent that SIGKILL leaves
/// something, but can handle errors and other signals.
int rank_of(const warden::TreeFault& fault) {
  const FaultEffect effect = row_of(fault.action.kind).effect;
  return effect == FaultEffect::kill ? 2 : effect == FaultEffect::send ? 1 : 0;
}

class ProgramSweep {
 public:
  ProgramSweep(const RunVerbOptions& options, std::string name)
      : options_(options), name_(std::move(name)) {}

  tl::expected<Report, std::string> run() {
    if (folder_.path().empty()) {
      return tl::unexpected(std::string("no temporary folder can be made"));
    }
    started_ = seconds_now();
    choose_world();
    if (std::string refusal = run_clean(); !refusal.empty()) {
      return tl::unexpected(std::move(refusal));
    }
    plan_ = warden::plan_sweep(points_, folders_);
    all_faults_ = plan_.faults.size();
    // The command line accepts no other text.
    warden::keep_shard(plan_, warden::parse_shard(options_.shard).value_or(warden::Shard()));
    std::cerr << text_of_plan() << std::flush;
    try_faults();
    drop_other_products();
    confirm();
    return report();
  }

 private:
  /// Each run begins with the same files. If you do not say how, it gets copies that are dropped.
  void choose_world() {
    world_ = options_;
    world_.sweep = false;
    std::error_code error;
    const std::string here = fs::current_path(error);
    here_ = here == "/" ? here : here + '/';
    folders_ = {"/dev/shm", "/tmp", "/var/tmp"};
    is_private_ = options_.private_folders.empty();
    if (is_private_) {
      world_.private_folders = {"/dev/shm", "/tmp=overlay", "/var/tmp=overlay"};
    }
    const bool is_below_one = std::ranges::any_of(folders_, [&](const std::string& folder) {
      return (here + '/').starts_with(folder + '/');
    });
    if (here != "/" && !is_below_one) {
      folders_.push_back(here);
      if (is_private_) {
        world_.private_folders.push_back(here + "=overlay");
      }
    }
  }

  /// Clean runs. The first shows the calls, and what the program leaves as its product; the
  /// others have to be clean with that. What has the same content in both has to have it with
  /// faults, too. Returns why there is no sweep; empty: there is one.
  std::string run_clean() {
    RunVerbOptions listed = world_;
    listed.list = true;
    listed.also.insert(
        listed.also.end(), warden::calls_of_sweep().begin(), warden::calls_of_sweep().end());
    const SweptRun first = run_with(listed, {}, "clean");
    if (!first.has_ended || first.report.is_null() || first.exit == Exit::unusable) {
      return refusal_of(first);
    }
    points_ = points_in(first.report);
    for (const Json& each : list_of(first.report, "left_behind")) {
      const std::string path = text_of(each, "path");
      const std::string pattern = pattern_of_point(path);
      world_.allowed.push_back(pattern);
      if (options_.same.empty() && text_of(each, "kind") == "file" && pattern == path) {
        world_.same.push_back(path);
      }
    }
    const Json& seconds = member_of(first.report, "seconds");
    if (world_.timeout == 0 && seconds.is_number()) {
      world_.timeout = std::max(seconds_min, slowdown_max * seconds.get<double>());
    }
    const SweptRun second = run_with(world_, {}, "clean");
    const SweptRun third = run_with(world_, {}, "clean");
    for (const SweptRun& run : {std::cref(second), std::cref(third)}) {
      if (run.exit != Exit::clean) {
        return refusal_of(run);
      }
    }
    return choose_products(list_of(second.report, "products"), list_of(third.report, "products"));
  }

  std::string choose_products(const Json& products, const Json& again) {
    world_.same.clear();
    for (const Json& each : products) {
      const std::string path = text_of(each, "path");
      if (std::ranges::find(again, each) != again.end()) {
        world_.same.push_back(fmt::format("{}={}", path, text_of(each, "content")));
        products_.push_back(path);
      } else if (!options_.same.empty()) {
        return fmt::format("--same {}: two runs without faults leave different contents", path);
      }
    }
    return {};
  }

  std::string refusal_of(const SweptRun& run) const {
    const std::string verdict = text_of(run.report, "verdict");
    return fmt::format("--sweep needs a program that is clean without faults: {}\nrepeat: {}",
                       verdict.empty() ? run.said : verdict,
                       command_of(world_, {}));
  }

  /// Waits for it.
  SweptRun run_with(const RunVerbOptions& options,
                    const std::vector<std::string>& faults,
                    const std::string& name) const {
    std::error_code error;
    // Each run reads the same file from its beginning; a pipe could be read only once.
    const std::string input = warden::place_of_input()
                                  ? fs::read_symlink("/proc/self/fd/0", error).string()
                                  : std::string("/dev/null");
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
    line += " <" + harness::quoted(input);
    constexpr double for_commands = 700;
    const auto seconds = static_cast<int>(options.timeout + options.grace + for_commands);
    const auto code = run_command(fs::current_path(error), line, log, seconds);
    SweptRun run;
    run.said = read_file(log);
    run.report = Json::parse(read_file(json), nullptr, /*allow_exceptions=*/false);
    run.report = run.report.is_discarded() ? Json() : std::move(run.report);
    read_text_as_bytes(run.report);
    run.has_ended = code && *code;
    run.exit = run.has_ended ? static_cast<Exit>(code->value()) : Exit::unusable;
    return run;
  }

  static std::vector<int> errors_in(const Json& point) {
    std::vector<int> errors;
    for (const Json& each : list_of(point, "errors")) {
      const auto error = each.is_string() ? error_named(each.get<std::string>()) : std::nullopt;
      if (error) {
        errors.push_back(*error);
      }
    }
    return errors;
  }

  std::vector<warden::Point> points_in(const Json& report) const {
    std::vector<warden::Point> points;
    for (const Json& each : list_of(report, "calls")) {
      const warden::SyscallRow* const row = warden::syscall_named(text_of(each, "call"));
      const bool has_number = each.contains("k") && each["k"].is_number_unsigned();
      // What it prints goes to a file of ours.
      const bool is_its_own = !text_of(each, "object").starts_with(folder_.path() + '/');
      if (row != nullptr && has_number && is_its_own) {
        points.push_back({.role = text_of(each, "role"),
                          .call = row->name,
                          .object = text_of(each, "object"),
                          .k = each["k"].get<std::uint64_t>(),
                          .errors = errors_in(each)});
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

  /// The same text in each checkout of a project
  std::string without_folder(std::string text) const {
    for (std::size_t at = text.find(here_); at != std::string::npos; at = text.find(here_, at)) {
      text.erase(at, here_.size());
    }
    return text;
  }

  std::vector<Shown> shown_by(const SweptRun& run) const {
    std::vector<Shown> all;
    if (!run.has_ended) {
      all.push_back(
          {.claim = "lastref: a run comes to an end", .seen = "it was ended from outside"});
    }
    for (const Json& each : list_of(run.report, "violations")) {
      all.push_back(
          {.claim = text_of(each, "claim"), .seen = without_names(text_of(each, "seen"))});
    }
    return all;
  }

  std::string text_of_plan() const {
    const std::string of_all = options_.shard.empty() ? "" : fmt::format(" of {}", all_faults_);
    std::string text = fmt::format("{}, {}{}, one in each run\n",
                                   counted(plan_.points, "point"),
                                   counted(plan_.faults.size(), "fault"),
                                   of_all);
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
    if (!products_.empty()) {
      text += fmt::format("with exit 0, these must be as in a clean run: {}\n",
                          fmt::join(products_, ", "));
    }
    return text;
  }

  bool is_over() {
    const std::lock_guard held(mutex_);
    return Interruption::happened() || (options_.first && !groups_.empty()) ||
           (options_.budget && seconds_now() - started_ >= *options_.budget);
  }

  /// Calls `work(task, thread)` for each task, on all cores if runs share nothing; `is_over` is
  /// asked before each.
  template <typename IsOver, typename Work>
  void side_by_side(std::size_t tasks, const IsOver& is_over, const Work& work) const {
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> threads;
    const unsigned cores = is_private_ ? std::max(1U, std::thread::hardware_concurrency()) : 1;
    for (unsigned number = 0; number < cores; ++number) {
      threads.emplace_back([&, number] {
        for (std::size_t task = next++; task < tasks && !is_over(); task = next++) {
          work(task, number);
        }
      });
    }
  }

  void try_faults() {
    side_by_side(
        plan_.faults.size(),
        [this] { return is_over(); },
        [this](std::size_t at, unsigned thread) {
          const SweptRun run = run_with(world_, {text_of_fault(at)}, fmt::format("run{}", thread));
          const std::lock_guard held(mutex_);
          take(at, run);
        });
  }

  std::string text_of_fault(std::size_t at) const { return warden::to_text(plan_.faults[at]); }

  void take(std::size_t at, const SweptRun& run) {
    ++done_;
    if (run.exit == Exit::incomplete) {
      not_injected_.push_back(text_of_fault(at));
    }
    if (run.exit == Exit::unusable && run.has_ended) {
      refused_.push_back(text_of_fault(at) + ": " + run.said);
    }
    for (Shown& each : shown_by(run)) {
      auto group = std::ranges::find(groups_, each, &Group::shown);
      if (group == groups_.end()) {
        groups_.push_back({.shown = std::move(each), .faults = {}});
        group = groups_.end() - 1;
      }
      if (group->faults.empty() || group->faults.back() != at) {
        group->faults.push_back(at);  // One run may show the same of several processes.
      }
    }
    tell(done_, plan_.faults.size(), "faults");
  }

  /// Every few seconds.
  void tell(std::size_t done, std::size_t all, std::string_view what) {
    const double now = seconds_now();
    if (now - told_ >= seconds_between_lines) {
      told_ = now;
      std::cerr << fmt::format(
                       "{} of {} {}, {}\n", done, all, what, counted(groups_.size(), "finding"))
                << std::flush;
    }
  }

  /// A product that contains the time may be the same in two clean runs of one second. If a clean
  /// run shows the difference now, too, it is not due to a fault.
  void drop_other_products() {
    const auto is_of_product = [](const Shown& shown) { return shown.claim == claim_of_product; };
    if (std::ranges::none_of(groups_, is_of_product, &Group::shown)) {
      return;
    }
    for (const Shown& each : shown_by(run_with(world_, {}, "clean"))) {
      if (is_of_product(each) &&
          std::erase_if(groups_, [&](const Group& group) { return group.shown == each; }) > 0) {
        other_products_.push_back(each.seen);
      }
    }
  }

  /// Repeats the simplest example of each finding alone.
  void confirm() {
    for (Group& group : groups_) {
      std::ranges::sort(group.faults, {}, [this](std::size_t at) {
        return std::pair(rank_of(plan_.faults[at]), at);
      });
      group.confirmed = 1;
    }
    const std::size_t runs = groups_.size() * confirmations;
    std::size_t done = 0;
    side_by_side(runs, Interruption::happened, [&](std::size_t task, unsigned thread) {
      Group& group = groups_[task / confirmations];
      const SweptRun run =
          run_with(world_, {text_of_fault(group.faults.front())}, fmt::format("again{}", thread));
      const std::vector<Shown> shown = shown_by(run);
      const std::lock_guard held(mutex_);
      group.confirmed += std::ranges::find(shown, group.shown) != shown.end() ? 1U : 0U;
      tell(++done, runs, "runs that repeat findings");
    });
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
    const std::string program =
        name_.empty() ? fmt::format("{}", fmt::join(options_.command, " ")) : name_;
    for (const Group& group : groups_) {
      std::string others;
      constexpr std::size_t shown_max = 4;
      for (std::size_t at = 1; at < std::min(group.faults.size(), shown_max); ++at) {
        others += fmt::format("\n                also after {}", text_of_fault(group.faults[at]));
      }
      if (group.faults.size() > shown_max) {
        others += fmt::format("\n                and {} more", group.faults.size() - shown_max);
      }
      add(report,
          {.scenario = program,
           .claim = group.shown.claim,
           .seen = fmt::format("{}\n                after {}, {} of {} times{}",
                               group.shown.seen,
                               text_of_fault(group.faults.front()),
                               group.confirmed,
                               confirmations + 1,
                               others),
           .fingerprint = fingerprint_of(
               program, group.shown.claim, without_numbers(without_folder(group.shown.seen))),
           .repeats = group.confirmed > 1,
           .replay = command_of(world_, {text_of_fault(group.faults.front())})},
          "");
    }
    for (const std::string& each : other_products_) {
      report.after += fmt::format("NOT COMPARED   {} in a run without faults, too\n", each);
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
                                                      {"all_faults", all_faults_},
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
  std::string name_;
  TemporaryFolder folder_;
  RunVerbOptions world_;     ///< The options of each run
  bool is_private_ = false;  ///< Runs side by side share nothing.
  std::string here_;         ///< The working folder, with a slash at the end
  std::vector<std::string> folders_;
  std::vector<warden::Point> points_;
  std::vector<std::string> products_;  ///< That must be as in a clean run
  warden::SweepPlan plan_;
  std::size_t all_faults_ = 0;  ///< of all shards
  double started_ = 0;
  std::mutex mutex_;
  std::size_t done_ = 0;
  std::vector<std::string> not_injected_;
  std::vector<std::string> refused_;
  std::vector<Group> groups_;
  std::vector<std::string> other_products_;  ///< They differ between clean runs.
  double told_ = 0;
};

}  // namespace

tl::expected<Report, std::string> sweep_program(const RunVerbOptions& options, std::string name) {
  return ProgramSweep(options, std::move(name)).run();
}

void sweep_program(const RunVerbOptions& options, Invocation& invocation) {
  if (options.command.empty()) {
    invocation.refuse("run: name the program and its arguments after --");
    return;
  }
  ReportOutput output(options.files);
  if (!output.open(invocation)) {
    return;
  }
  const Interruption interruption(std::chrono::milliseconds(300));
  const auto report = sweep_program(options, "");
  if (report) {
    output.write(*report, std::cerr, invocation);
  } else {
    invocation.refuse("run: " + report.error());
  }
}

}  // namespace lastref::harness
