// hunt: searches schedules of the scenarios in the simulated kernel until it is stopped.
#include "harness/explore/hunt.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <iostream>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "harness/cli/interruption.hpp"
#include "harness/cli/names.hpp"
#include "harness/cli/report_output.hpp"
#include "harness/cli/resumption.hpp"
#include "harness/cli/scenarios.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/explore/hunt_state.hpp"
#include "harness/platform/proc.hpp"
#include "harness/report/text.hpp"
#include "harness/scenario/pattern.hpp"

namespace lastref::harness {
namespace {

/// Those that the pattern matches and that the simulated kernel can run. One that is not in the
/// gate, or is long, has to be named exactly.
std::vector<const Scenario*> select(const std::string& pattern) {
  std::vector<const Scenario*> selected;
  for (const Scenario& each : catalog()) {
    const bool is_matched = pattern.empty() || matches(pattern, each.name);
    const bool is_named = pattern == each.name && !each.kernel_only;
    if (is_named || (is_matched && is_hunted(each))) {
      selected.push_back(&each);
    }
  }
  return selected;
}

/// The state of a hunt, in the file of --resume or, if there is none, in memory.
class StateFile {
 public:
  explicit StateFile(std::string path) : path_(std::move(path)) {}

  /// Reads the state of a hunt with these options, if the file has one. False, and a refusal, if it
  /// has something else, which stays, or cannot be written.
  bool open(const HuntOptions& options, Invocation& invocation) {
    if (path_.empty()) {
      return true;
    }
    if (!std::ofstream(path_, std::ios::app)) {
      invocation.refuse(
          fmt::format("cannot write {}: {}", path_, std::generic_category().message(errno)));
      return false;
    }
    const std::string text = read_file(path_);
    if (text.empty()) {
      return true;
    }
    auto state = parse_hunt_state(text, options);
    if (!state) {
      invocation.refuse(fmt::format("{} {}", path_, name_of(state.error())));
      return false;
    }
    from_ = *std::move(state);
    return true;
  }

  const HuntState* from() const { return from_ ? &*from_ : nullptr; }

  /// In a new file, which replaces the other when it is complete.
  void save(const HuntState& state) {
    last_ = to_text(state);
    if (!path_.empty()) {
      write();
    }
  }

  /// How to continue, or why that is impossible.
  std::string say_how_to_go_on(const Invocation& invocation) {
    const std::string named = path_;
    if (path_.empty()) {
      path_ = new_temporary_file();
      error_ = "no folder for temporary files";
      if (!path_.empty()) {
        write();
      }
    }
    return error_.empty() ? "to continue: " + command_to_resume(invocation, named, path_)
                          : "cannot be resumed: " + error_;
  }

  /// Empty: what was saved last is in the file, if there is one.
  const std::string& error() const { return error_; }

 private:
  void write() {
    const std::string next = path_ + ".new";
    std::ofstream out(next, std::ios::binary | std::ios::trunc);
    out << last_ << std::flush;
    const bool is_written = out.good() && std::rename(next.c_str(), path_.c_str()) == 0;
    error_ = is_written ? ""
                        : fmt::format(
                              "cannot write {}: {}", path_, std::generic_category().message(errno));
  }

  std::string path_;
  std::optional<HuntState> from_;
  std::string last_;
  std::string error_;
};

}  // namespace

void run(const HuntVerbOptions& options, Invocation& invocation) {
  ReportOutput output(options.files);
  if (!output.open(invocation)) {
    return;
  }
  HuntOptions hunted;
  hunted.scenarios = select(options.scenario);
  if (hunted.scenarios.empty()) {
    invocation.refuse(fmt::format("no scenario of the simulated kernel matches {}{}",
                                  options.scenario,
                                  suggestion(options.scenario, scenario_names())));
    return;
  }
  if (!options.set.empty()) {
    const auto set = parse_set(hunted.scenarios, options.set, invocation);
    if (!set) {
      return;
    }
    hunted.parameters = *set;
  }
  if (!options.policies.empty()) {
    hunted.policies = policies_named(options.policies);
  }
  hunted.draws_parameters = !options.no_draw;
  hunted.has_faults = !options.no_faults;
  hunted.seed = options.seed;
  hunted.budget = options.budget;
  hunted.runs_max = options.runs;
  hunted.stop_at_first = options.first;
  hunted.build = hash_of_build();
  StateFile file(options.resume);
  if (!file.open(hunted, invocation)) {
    return;
  }
  hunted.from = file.from();
  hunted.save = [&file](const HuntState& state) { file.save(state); };
  hunted.is_interrupted = Interruption::happened;
  ProgressLine line(is_terminal(), [](std::string_view text) { std::cerr << text << std::flush; });
  hunted.progress = [&line](const CampaignProgress& progress) { line.show(progress); };
  const Interruption interruption;
  const HuntResults results = hunt(invocation.worlds.all(), hunted);
  line.end();
  Report report = report_of(results);
  if (results.interrupted) {
    report.after += file.say_how_to_go_on(invocation) + "\n";
  } else if (!file.error().empty()) {
    report.after += file.error() + "\n";
  }
  output.write(report, output.takes_standard_output() ? std::cerr : std::cout, invocation);
}

}  // namespace lastref::harness
