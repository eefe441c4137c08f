#include "harness/cli/program_sweep.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "harness/choice/shard.hpp"
#include "harness/cli/interruption.hpp"
#include "harness/cli/judged_run.hpp"
#include "harness/cli/report_output.hpp"
#include "harness/cli/run_words.hpp"
#include "harness/cli/sweep_report.hpp"
#include "harness/explore/plans.hpp"
#include "harness/platform/clock.hpp"
#include "harness/platform/hash.hpp"
#include "harness/platform/names.hpp"
#include "harness/platform/proc.hpp"
#include "harness/platform/unnamed_file.hpp"
#include "harness/report/bytes_in_json.hpp"
#include "harness/report/json_members.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/private_folders.hpp"
#include "harness/warden/standard_input.hpp"
#include "harness/warden/sweep_plan.hpp"
#include "harness/warden/syscalls.hpp"
#include "harness/warden/user_command.hpp"
#include "harness/warden/world_fault.hpp"

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

/// A run of the program in a process of its own.
struct SweptRun {
  Exit exit = Exit::unusable;
  bool has_ended = false;
  std::string said;
  std::string log;  ///< What the file of its output is called in /proc
  Json report;
};

class OneSweep final : public ProgramSweep {
 public:
  OneSweep(const RunVerbOptions& options,
           const std::string& name,
           std::set<std::string> known,
           const RecordedSweep& before)
      : options_(options), known_(std::move(known)), before_(before) {
    program_.name = name.empty() ? fmt::format("{}", fmt::join(options.command, " ")) : name;
  }

  /// Returns why there is no sweep; empty: there is one.
  std::string plan() {
    started_ = seconds_now();
    choose_world();
    if (std::string refusal = run_clean(); !refusal.empty()) {
      return refusal;
    }
    plan_ = warden::plan_sweep(points_,
                               {.folders = folders_,
                                .to_fill = folders_to_fill(),
                                .limits_processes = warden::limits_processes(),
                                .peak_memory = peak_memory_});
    choose_cells();
    std::cerr << text_of_plan() << std::flush;
    planned_ = seconds_now();
    return {};
  }

  SweptProgram& program() override { return program_; }

  Report list() const override {
    Report report{.verb = "run", .verdict = counted(chosen_.size(), "fault")};
    Json faults = Json::array();
    for (const std::size_t cell : chosen_) {
      report.before += fmt::format("fault   {}\n", program_.cells[cell]);
      faults.push_back(program_.cells[cell]);
    }
    report.fields = std::make_shared<const Json>(Json{{"list", std::move(faults)}});
    return report;
  }

  Result<Report> run(SweepFolder& folder,
                     std::size_t number,
                     std::optional<double> budget) override {
    record_ = &folder;
    number_ = number;
    const double started = seconds_now();
    end_ = budget ? std::optional(started + *budget) : std::nullopt;
    for (const SweepGroup& group : groups_of(program_)) {
      note(group.shown, group.cells.front());
    }
    if (!program_.outcomes.empty()) {
      std::cerr << fmt::format("{} of them have an outcome already\n", program_.outcomes.size())
                << std::flush;
    }
    try_faults();
    drop_other_products();
    confirm();
    LASTREF_CHECK(recorded_);
    return report(planned_ - started_ + seconds_now() - started);
  }

 private:
  /// Each run begins with the same files. If you do not say how, it gets copies that are dropped.
  void choose_world() {
    world_ = options_;
    world_.sweep = false;
    world_.list = false;
    world_.files = {};
    std::error_code error;
    const std::string here = fs::current_path(error);
    program_.folder = here == "/" ? here : here + '/';
    is_private_ = options_.private_folders.empty();
    for (const std::string folder : {"/dev/shm", "/tmp", "/var/tmp"}) {
      if (!fs::is_directory(folder, error)) {
        continue;
      }
      folders_.push_back(folder);
      if (is_private_) {
        world_.private_folders.push_back(folder == "/dev/shm" ? folder : folder + "=overlay");
      }
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
    const SweptRun first = run_with(listed, {});
    if (!first.has_ended || first.report.is_null() || first.exit == Exit::unusable) {
      return refusal_of(first);
    }
    points_ = points_in(first);
    if (const Json& peak = member_of(first.report, "peak_memory"); peak.is_number_unsigned()) {
      peak_memory_ = peak.get<std::uint64_t>();
    }
    for (const Json& each : list_of(first.report, "left_behind")) {
      const std::string path = text_of(each, "path");
      const std::string pattern = pattern_of_point(path);
      world_.allowed.push_back(pattern);
      if (options_.same.empty() && text_of(each, "kind") == "file" && pattern == path) {
        world_.same.push_back(path);
      }
    }
    RunVerbOptions without_limit = world_;  // It is measured, and differs.
    const Json& seconds = member_of(first.report, "seconds");
    if (world_.timeout == 0 && seconds.is_number()) {
      world_.timeout = std::max(seconds_min, slowdown_max * seconds.get<double>());
    }
    const SweptRun second = run_with(world_, {});
    const SweptRun third = run_with(world_, {});
    for (const SweptRun& run : {std::cref(second), std::cref(third)}) {
      if (run.exit != Exit::clean) {
        return refusal_of(run);
      }
    }
    std::string refusal =
        choose_products(list_of(second.report, "products"), list_of(third.report, "products"));
    without_limit.same = world_.same;
    program_.run = words_of(without_limit, {});
    return refusal;
  }

  /// All of the plan, and those that this sweep tries.
  void choose_cells() {
    program_.cells = plan_.texts();
    // The command line accepts no other text.
    chosen_ = items_of(parse_shard(options_.shard).value_or(Shard()),
                       costs_of(program_, before_),
                       hash_of(program_.name));
    if (options_.sample) {
      chosen_ = warden::draw_cells(plan_, std::move(chosen_), *options_.sample, options_.seed);
    }
    // The program probably treats repeats as it treats what they repeat.
    repeats_ = warden::repeats_in(plan_, chosen_);
    std::stable_partition(chosen_.begin(), chosen_.end(), [this](std::size_t cell) {
      return !repeats_.contains(cell);
    });
  }

  /// Private folders without contents, and without a size of their own
  std::vector<std::string> folders_to_fill() const {
    std::vector<std::string> all;
    for (const std::string& each : world_.private_folders) {
      const auto folder = warden::parse_private_folder(each);
      if (folder && !folder->is_overlay && folder->size.empty()) {
        all.push_back(folder->path);
      }
    }
    return all;
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
  static SweptRun run_with(const RunVerbOptions& options, const std::vector<std::string>& faults) {
    SweptRun run;
    const auto json = UnnamedFile::make();
    const auto log = UnnamedFile::make();
    if (!json || !log) {
      run.said = describe((json ? log : json).error());
      return run;
    }
    std::error_code error;
    // Each run reads the same file from its beginning; a pipe could be read only once.
    const std::string input = warden::place_of_input() ? "/proc/self/fd/0" : "/dev/null";
    std::vector<std::string> words = words_of(options, faults);
    words.insert(words.begin(), fs::read_symlink("/proc/self/exe", error).string());
    words.insert(words.begin() + 2, {"--json", json->path()});
    if (options.list) {
      words.insert(words.begin() + 2, "--list");
    }
    if (options.timeline) {
      words.insert(words.begin() + 2, "--timeline");
    }
    constexpr double for_commands = 700;
    const std::chrono::seconds time_limit(
        static_cast<int>(options.timeout + options.grace + for_commands));
    const auto code = warden::exit_code_of(std::move(words),
                                           {.input = input, .output = log->path()},
                                           time_limit,
                                           Interruption::signal);
    run.said = read_file(log->path());
    run.log = log->name();
    run.report = Json::parse(read_file(json->path()), nullptr, /*allow_exceptions=*/false);
    run.report = run.report.is_discarded() ? Json() : std::move(run.report);
    read_text_as_bytes(run.report);
    run.has_ended = code.has_value();
    run.exit = code ? static_cast<Exit>(*code) : Exit::unusable;
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

  static warden::Site site_in(const Json& point) {
    warden::Site site{.frames = {}, .shown = text_of(point, "at")};
    for (const Json& each : list_of(point, "site")) {
      site.frames.push_back(each.is_string() ? each.get<std::string>() : "");
    }
    return site;
  }

  static std::vector<warden::Point> points_in(const SweptRun& run) {
    std::vector<warden::Point> points;
    for (const Json& each : list_of(run.report, "calls")) {
      const warden::SyscallRow* const row = warden::syscall_named(text_of(each, "call"));
      const bool has_number = each.contains("k") && each["k"].is_number_unsigned();
      // What it prints goes to a file of ours.
      const bool is_its_own = text_of(each, "object") != pattern_of(run.log);
      if (row != nullptr && has_number && is_its_own) {
        points.push_back({.role = text_of(each, "role"),
                          .call = row->name,
                          .object = text_of(each, "object"),
                          .k = each["k"].get<std::uint64_t>(),
                          .errors = errors_in(each),
                          .site = site_in(each)});
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

  /// The threads of a hang are one finding.
  std::vector<ShownFinding> shown_by(const SweptRun& run) const {
    std::vector<ShownFinding> all;
    if (!run.has_ended) {
      all.push_back(
          {.claim = "lastref: a run comes to an end", .seen = "it was ended from outside"});
    }
    for (const Json& each : list_of(run.report, "violations")) {
      ShownFinding shown{.claim = text_of(each, "claim"),
                         .seen = without_names(text_of(each, "seen"))};
      const auto hang = std::ranges::find_if(all, [&](const ShownFinding& other) {
        return is_hang(shown) && other.claim == shown.claim;
      });
      if (hang == all.end()) {
        all.push_back(std::move(shown));
      } else {
        hang->seen += "\n                " + shown.seen;
      }
    }
    return all;
  }

  std::string text_of_plan() const {
    const bool is_part = !options_.shard.empty() || options_.sample;
    std::string text =
        fmt::format("{}, {}{}{}, one in each run\n",
                    counted(plan_.points, "point"),
                    counted(chosen_.size(), "fault"),
                    is_part ? fmt::format(" of {}", program_.cells.size()) : "",
                    options_.sample ? fmt::format(" drawn by seed {}", options_.seed) : "");
    if (!repeats_.empty()) {
      text += fmt::format("{}; {} at further points of these sites come last\n",
                          counted(plan_.site_names.size(), "call site"),
                          counted(repeats_.size(), "fault"));
    }
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
    return Interruption::happened() || !recorded_ || (options_.first && has_new_) ||
           (end_ && seconds_now() >= *end_);
  }

  /// Calls `work` for each task, on all cores if runs share nothing. Asks `is_over` before each.
  template <typename IsOver, typename Work>
  void side_by_side(std::size_t tasks, const IsOver& is_over, const Work& work) const {
    std::atomic<std::size_t> next = 0;
    std::vector<std::jthread> threads;
    const unsigned cores = is_private_ ? std::max(1U, std::thread::hardware_concurrency()) : 1;
    for (unsigned number = 0; number < cores; ++number) {
      threads.emplace_back([&] {
        for (std::size_t task = next++; task < tasks && !is_over(); task = next++) {
          work(task);
        }
      });
    }
  }

  void try_faults() {
    std::vector<std::size_t> open;
    std::ranges::copy_if(chosen_, std::back_inserter(open), [this](std::size_t cell) {
      return !program_.outcomes.contains(cell);
    });
    side_by_side(
        open.size(),
        [this] { return is_over(); },
        [&](std::size_t at) {
          const double started = seconds_now();
          const SweptRun run = run_with(world_, {program_.cells[open[at]]});
          const std::lock_guard held(mutex_);
          if (!Interruption::happened()) {  // It may have ended the run, too.
            take(open[at], run, seconds_now() - started);
          }
        });
  }

  void take(std::size_t cell, const SweptRun& run, double seconds) {
    CellOutcome outcome{.result = run.exit == Exit::incomplete ? CellResult::not_injected
                                  : run.exit == Exit::unusable && run.has_ended
                                      ? CellResult::refused
                                      : CellResult::tried,
                        .shown = shown_by(run),
                        .seconds = seconds};
    if (outcome.result == CellResult::refused) {
      outcome.why = run.said;
    }
    if (!outcome.shown.empty()) {
      outcome.command = command_of(world_, {program_.cells[cell]});
      outcome.at = cell < plan_.sites.size() ? plan_.site_names[plan_.sites[cell]] : "";
    }
    std::ranges::for_each(outcome.shown, [&](const ShownFinding& each) { note(each, cell); });
    if (recorded_) {
      recorded_ = record_->add(number_, cell, outcome, run.said);
    }
    program_.outcomes.emplace(cell, std::move(outcome));
    tell(program_.outcomes.size(), wanted(), "faults");
  }

  void note(const ShownFinding& shown, std::size_t cell) {
    const std::string fingerprint = fingerprint_of(program_, shown, cell);
    has_new_ = has_new_ || !known_.contains(fingerprint);
    found_.insert(fingerprint);
  }

  /// The cells that this sweep tries, and those of earlier ones.
  std::size_t wanted() const {
    return program_.outcomes.size() +
           static_cast<std::size_t>(std::ranges::count_if(
               chosen_, [this](std::size_t cell) { return !program_.outcomes.contains(cell); }));
  }

  /// Every few seconds.
  void tell(std::size_t done, std::size_t all, std::string_view what) {
    const double now = seconds_now();
    if (now - told_ >= seconds_between_lines) {
      told_ = now;
      std::cerr << fmt::format(
                       "{} of {} {}, {}\n", done, all, what, counted(found_.size(), "finding"))
                << std::flush;
    }
  }

  /// A product that contains the time may be the same in two clean runs of one second. If a clean
  /// run shows the difference now, too, it is not due to a fault.
  void drop_other_products() {
    const auto is_of_product = [](const ShownFinding& shown) {
      return shown.claim == claim_of_product;
    };
    if (std::ranges::none_of(groups_of(program_), is_of_product, &SweepGroup::shown)) {
      return;
    }
    for (ShownFinding& each : shown_by(run_with(world_, {}))) {
      if (is_of_product(each) && recorded_) {
        recorded_ = record_->add(number_, each);
        program_.shown_without_faults.push_back(std::move(each));
      }
    }
  }

  /// Repeats the simplest example of each finding alone, unless that was done.
  void confirm() {
    std::vector<Confirmation> open;
    for (const SweepGroup& group : groups_of(program_)) {
      if (confirmation_of(program_, group) == nullptr) {
        open.push_back({.cell = group.cells.front(), .shown = group.shown});
      }
    }
    const std::size_t runs = open.size() * confirmations;
    std::size_t done = 0;
    side_by_side(runs, Interruption::happened, [&](std::size_t task) {
      Confirmation& confirmation = open[task / confirmations];
      RunVerbOptions recorded = world_;
      recorded.timeline = !options_.files.html.empty() && task % confirmations == 0;
      const SweptRun run = run_with(recorded, {program_.cells[confirmation.cell]});
      const std::vector<ShownFinding> shown = shown_by(run);
      const std::lock_guard held(mutex_);
      if (Interruption::happened()) {
        return;
      }
      const auto fingerprint = [&](const ShownFinding& each) {
        return fingerprint_of(program_, each, confirmation.cell);
      };
      const std::string wanted = fingerprint(confirmation.shown);
      if (std::ranges::find(shown, wanted, fingerprint) != shown.end()) {
        ++confirmation.times;
        if (const Json& timeline = member_of(run.report, "timeline"); !timeline.is_null()) {
          timelines_[wanted] = timeline;
        }
      }
      if (++confirmation.runs == confirmations + 1 && recorded_) {
        recorded_ = record_->add(number_, confirmation);
      }
      tell(++done, runs, "runs that repeat findings");
    });
    program_.confirmations.insert(program_.confirmations.end(), open.begin(), open.end());
  }

  Report report(double seconds) const {
    Report report = report_of(program_, wanted());
    report.verdict += Interruption::happened() ? "; interrupted" : "";
    report.seconds = seconds;
    report.cases.front().seconds = seconds;
    Json fields = {{"command", options_.command},
                   {"points", plan_.points},
                   {"sites", plan_.site_names.size()},
                   {"left_out", plan_.left_out}};
    fields.update(*report.fields);
    fields["seconds"] = seconds;
    if (!timelines_.empty()) {
      fields["timelines"] = timelines_;
    }
    report.fields = std::make_shared<const Json>(std::move(fields));
    return report;
  }

  const RunVerbOptions& options_;
  RunVerbOptions world_;     ///< The options of each run
  bool is_private_ = false;  ///< Runs side by side share nothing.
  std::vector<std::string> folders_;
  std::vector<warden::Point> points_;
  std::uint64_t peak_memory_ = 0;      ///< Of the first clean run, in bytes
  std::vector<std::string> products_;  ///< That must be as in a clean run
  warden::SweepPlan plan_;
  std::vector<std::size_t> chosen_;  ///< Cells, as they are tried
  std::set<std::size_t> repeats_;    ///< Of them
  double started_ = 0;
  double planned_ = 0;
  std::optional<double> end_;
  SweepFolder* record_ = nullptr;
  std::size_t number_ = 0;  ///< In it
  std::mutex mutex_;
  Status recorded_;
  SweptProgram program_;
  std::set<std::string> known_;            ///< Fingerprints of known findings
  const RecordedSweep& before_;            ///< An earlier sweep
  std::set<std::string> found_;            ///< Fingerprints of all findings
  bool has_new_ = false;                   ///< A finding that is not known
  std::map<std::string, Json> timelines_;  ///< Of runs with a finding, by its fingerprint
  double told_ = 0;
};

}  // namespace

tl::expected<std::unique_ptr<ProgramSweep>, std::string> ProgramSweep::plan(
    const RunVerbOptions& options,
    const std::string& name,
    std::set<std::string> known,
    const RecordedSweep& before) {
  auto sweep = std::make_unique<OneSweep>(options, name, std::move(known), before);
  if (std::string refusal = sweep->plan(); !refusal.empty()) {
    return tl::unexpected(std::move(refusal));
  }
  return sweep;
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
  const double started = seconds_now();
  const Interruption interruption(std::chrono::milliseconds(300));
  const auto before = sweep_before(options);
  auto folder = before ? SweepFolder::open(options) : failure(before.error());
  if (!folder) {
    invocation.refuse("run: " + folder.error().subject);
    return;
  }
  const auto sweep = ProgramSweep::plan(options, "", {}, *before);
  if (!sweep) {
    invocation.refuse("run: " + sweep.error());
    return;
  }
  if (options.list) {
    output.write((*sweep)->list(), std::cerr, invocation);
    return;
  }
  const auto begun = folder->begin({&(*sweep)->program()}, {.shard = options.shard});
  std::optional<double> budget;
  if (options.budget) {
    budget = *options.budget - (seconds_now() - started);
  }
  auto report = begun ? (*sweep)->run(*folder, 0, budget) : Result<Report>(failure(begun.error()));
  if (report) {
    report->after += Interruption::happened() ? folder->how_to_continue() : "";
    output.write(*report, std::cerr, invocation);
  } else {
    invocation.refuse("run: " + report.error().subject);
  }
}

}  // namespace lastref::harness
