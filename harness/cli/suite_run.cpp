#include "harness/cli/suite_run.hpp"

#include <algorithm>
#include <chrono>
#include <deque>
#include <filesystem>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/cli/interruption.hpp"
#include "harness/cli/names.hpp"
#include "harness/cli/program_sweep.hpp"
#include "harness/cli/report_output.hpp"
#include "harness/cli/suite.hpp"
#include "harness/platform/clock.hpp"
#include "harness/platform/names.hpp"
#include "harness/platform/proc.hpp"
#include "harness/report/json_members.hpp"
#include "harness/scenario/pattern.hpp"

namespace lastref::harness {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using std::chrono::year_month_day;

/// Not more text than this is read.
constexpr std::uintmax_t bytes_max = std::uintmax_t{1} << 24U;

class SuiteRun {
 public:
  SuiteRun(const RunVerbOptions& options, Invocation& invocation)
      : options_(options), invocation_(invocation), output_(options.files) {}

  void run() {
    if (!read_suite() || !read_before() || !output_.open(invocation_) || !open_folder() ||
        !enter_folder()) {
      return;
    }
    const Interruption interruption(std::chrono::milliseconds(300));
    const double started = seconds_now();
    const bool is_planned = plan(started);
    // A list of a part of the stories would not be that of a sweep that goes on.
    const Status begun = is_planned ? folder_.begin(programs_, session()) : ok();
    if (!begun) {
      invocation_.refuse("run: " + begun.error().subject);
      return;
    }
    for (std::size_t at = 0; is_planned && at < sweeps_.size() && !is_over(); ++at) {
      if (!sweep(at, seconds_left(started, sweeps_.size() - at))) {
        return;
      }
    }
    finish(seconds_now() - started);
    output_.write(report_, std::cerr, invocation_);
  }

 private:
  bool read_before() {
    auto before = sweep_before(options_);
    if (!before) {
      invocation_.refuse("run: " + before.error().subject);
      return false;
    }
    before_ = *std::move(before);
    return true;
  }

  bool read_suite() {
    std::error_code error;
    const std::uintmax_t size = fs::file_size(options_.suite, error);
    if (error || size > bytes_max) {
      invocation_.refuse(fmt::format(
          "run: --suite {}: {}", options_.suite, error ? error.message() : "it is too large"));
      return false;
    }
    auto suite = parse_suite(read_file(options_.suite), options_.suite);
    if (!suite) {
      invocation_.refuse("run: " + suite.error().subject);
      return false;
    }
    suite_ = *std::move(suite);
    source_ = seen_from_here(options_.suite);
    const std::vector<std::string> names = suite_.names();
    if (!options_.story.empty()) {
      std::erase_if(suite_.stories,
                    [this](const Story& each) { return !matches(options_.story, each.name); });
      std::erase_if(suite_.known,
                    [this](const auto& each) { return !matches(options_.story, each.story); });
    }
    if (suite_.stories.empty()) {
      invocation_.refuse(fmt::format("run: --story {}: none of the suite matches{}",
                                     options_.story,
                                     suggestion(options_.story, names)));
      return false;
    }
    return true;
  }

  /// Without the folder that we are in, as code review tools do not know it.
  static std::string seen_from_here(const std::string& file) {
    std::error_code error;
    const fs::path here = fs::current_path(error);
    const fs::path relative = (here / file).lexically_normal().lexically_relative(here);
    return relative.empty() || *relative.begin() == ".." ? file : relative.string();
  }

  bool enter_folder() {
    std::error_code error;
    const fs::path folder = fs::absolute(options_.suite, error).parent_path();
    fs::current_path(folder, error);
    if (error) {
      invocation_.refuse(fmt::format("run: {}: {}", folder.string(), error.message()));
    }
    return !error;
  }

  static year_month_day today() {
    return std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  }

  bool is_over() const {
    return Interruption::happened() || (options_.first && !report_.groups.empty());
  }

  /// An equal part of the budget for each story that is left; none: there is no budget.
  std::optional<double> seconds_left(double started, std::size_t stories) const {
    if (!options_.budget) {
      return std::nullopt;
    }
    constexpr double least = 0.001;
    const double left = *options_.budget - (seconds_now() - started);
    return std::max(least, left / static_cast<double>(stories));
  }

  /// All stories, before the first fault of one is tried. Returns whether there was time for that.
  bool plan(double started) {
    for (Story& story : suite_.stories) {
      const double began = seconds_now();
      if (Interruption::happened() || (options_.budget && began - started >= *options_.budget)) {
        return false;
      }
      story.options.shard = options_.shard;
      story.options.sample = options_.sample;
      story.options.seed = options_.seed;
      story.options.first = options_.first;
      story.options.files = options_.files;
      std::cerr << fmt::format("story {}\n", story.name) << std::flush;
      auto sweep = ProgramSweep::plan(story.options, story.name, fingerprints_of(story), before_);
      if (story.options.budget) {
        *story.options.budget -= seconds_now() - began;
      }
      if (!sweep && Interruption::happened()) {
        return false;
      }
      if (!sweep) {
        refuse(story, sweep.error());
        unplanned_.push_back({.name = story.name, .is_planned = false});
      }
      programs_.push_back(sweep ? &(*sweep)->program() : &unplanned_.back());
      programs_.back()->line = story.line;
      sweeps_.push_back(sweep ? *std::move(sweep) : nullptr);
    }
    return true;
  }

  /// Of its findings that are still known today
  std::set<std::string> fingerprints_of(const Story& story) const {
    std::set<std::string> fingerprints;
    for (const KnownFinding& each : suite_.known) {
      if (each.story == story.name && !is_expired(each, today())) {
        fingerprints.insert(each.fingerprint);
      }
    }
    return fingerprints;
  }

  void refuse(const Story& story, const std::string& why) {
    refused_ += fmt::format("NOT TRIED      {}: {}\n", story.name, why);
    report_.cases.push_back({.suite = "run",
                             .name = story.name,
                             .scenario = story.name,
                             .error = why,
                             .line = story.line});
  }

  SweepSession session() const {
    return {.shard = options_.shard, .source = source_, .known = suite_.known};
  }

  bool open_folder() {
    auto folder = SweepFolder::open(options_);
    if (!folder) {
      invocation_.refuse("run: " + folder.error().subject);
      return false;
    }
    folder_ = *std::move(folder);
    return true;
  }

  /// False: it cannot be recorded, and that was reported.
  bool sweep(std::size_t at, std::optional<double> budget) {
    if (sweeps_[at] == nullptr) {
      return true;
    }
    const Story& story = suite_.stories[at];
    if (!budget || (story.options.budget && *story.options.budget < *budget)) {
      budget = story.options.budget;
    }
    std::cerr << fmt::format("faults of {}\n", story.name) << std::flush;
    auto swept = sweeps_[at]->run(folder_, at, budget);
    if (!swept) {
      invocation_.refuse("run: " + swept.error().subject);
      return false;
    }
    Json fields = {{"story", story.name}};
    fields.update(*swept->fields);
    stories_.push_back(std::move(fields));
    report_.after += fmt::format("{:<14} {}\n{}", story.name, swept->verdict, swept->after);
    report_.groups.insert(report_.groups.end(), swept->groups.begin(), swept->groups.end());
    report_.cases.insert(report_.cases.end(), swept->cases.begin(), swept->cases.end());
    report_.maps.insert(report_.maps.end(), swept->maps.begin(), swept->maps.end());
    std::vector<std::string> complete;
    if (member_of(*swept->fields, "tried") == member_of(*swept->fields, "all_faults")) {
      complete.push_back(story.name);
    }
    is_incomplete_ = is_incomplete_ || swept->exit == Exit::incomplete;
    std::vector<KnownFinding> known;
    std::ranges::copy_if(suite_.known, std::back_inserter(known), [&](const KnownFinding& each) {
      return each.story == story.name;
    });
    set_known_apart(report_, known, today(), complete);
    return true;
  }

  void finish(double seconds) {
    const std::size_t open =
        suite_.stories.size() - std::min(suite_.stories.size(), report_.cases.size());
    report_.verb = "run";
    report_.source = source_;
    report_.after += refused_;
    report_.after += Interruption::happened() ? folder_.how_to_continue() : "";
    report_.exit = !report_.groups.empty()      ? Exit::violation
                   : !refused_.empty()          ? Exit::unusable
                   : is_incomplete_ || open > 0 ? Exit::incomplete
                                                : Exit::clean;
    report_.verdict = fmt::format("{} of {} stories tried; {}{}",
                                  stories_.size(),
                                  suite_.stories.size(),
                                  counted(report_.groups.size(), "new finding"),
                                  Interruption::happened() ? "; interrupted" : "");
    report_.seconds = seconds;
    report_.fields = std::make_shared<const Json>(
        Json{{"suite", source_}, {"stories", stories_}, {"seconds", seconds}});
  }

  const RunVerbOptions& options_;
  Invocation& invocation_;
  ReportOutput output_;
  Suite suite_;
  std::string source_;    ///< The file of the suite
  RecordedSweep before_;  ///< The sweep of --costs
  SweepFolder folder_;
  std::vector<std::unique_ptr<ProgramSweep>> sweeps_;  ///< Null: the story is not clean
  std::vector<SweptProgram*> programs_;
  std::deque<SweptProgram> unplanned_;  ///< Those of stories that are not clean
  Report report_;
  Json stories_ = Json::array();
  std::string refused_;
  bool is_incomplete_ = false;
};

}  // namespace

void run_suite(const RunVerbOptions& options, Invocation& invocation) {
  SuiteRun(options, invocation).run();
}

}  // namespace lastref::harness
