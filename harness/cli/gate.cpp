// gate: the main job. Everything in the catalog, clean, failed at every point, and at random.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "harness/cli/names.hpp"
#include "harness/cli/scenarios.hpp"
#include "harness/cli/target.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/explore/campaign.hpp"
#include "harness/journal/record.hpp"
#include "harness/report/json.hpp"
#include "harness/report/junit.hpp"
#include "harness/report/text.hpp"

namespace lastref::harness {
namespace {

struct GateOptions {
  double budget = 60;
  std::string scenario;
  std::string row;
  bool first = false;
  std::string json;
  std::string junit;
  std::string resume;
  std::uint64_t seed = 1;
  std::vector<std::string> required;
  unsigned worlds = 0;
  std::string world = "kernel";
};

/// Those that the pattern names. The ones that are not in the gate have to be named letter by
/// letter.
std::vector<const Scenario*> select(const std::string& pattern, const std::string& row) {
  std::vector<const Scenario*> selected;
  for (const Scenario& scenario : catalog()) {
    const bool named =
        (pattern.empty() || matches(pattern, scenario.name)) &&
        (row.empty() || std::ranges::find(scenario.rows, row) != scenario.rows.end());
    if (named && (scenario.in_gate || pattern == scenario.name)) {
      selected.push_back(&scenario);
    }
  }
  return selected;
}

/// Tells builds of the program apart.
std::uint64_t hash_of_program() {
  std::error_code error;
  const auto size = std::filesystem::file_size("/proc/self/exe", error);
  const auto time = std::filesystem::last_write_time("/proc/self/exe", error);
  return hash_of(fmt::format("{} {}", size, time.time_since_epoch().count()));
}

bool is_terminal() {
  std::error_code error;
  const std::string target = std::filesystem::read_symlink("/proc/self/fd/2", error);
  return target.starts_with("/dev/pts/") || target.starts_with("/dev/tty") ||
         target.starts_with("/dev/console");
}

class Gate {
 public:
  Gate(const GateOptions& options, Session& session)
      : options_(options), session_(session), json_(options.json), junit_(options.junit) {}

  void run() {
    if (!choose_scenarios() || !check_worlds() || !open_files()) {
      return;
    }
    ProgressLine line(is_terminal(),
                      [](std::string_view text) { std::cerr << text << std::flush; });
    campaign_.progress = [&line](const Progress& progress) { line.show(progress); };
    campaign_.budget = options_.budget;
    campaign_.seed = options_.seed;
    campaign_.stop_at_first = options_.first;
    Report report = run_campaign(session_.worlds.all(), campaign_);
    line.end();
    report.worlds = session_.worlds.report();
    report.bare_loop_per_second = session_.worlds.bare_loops();
    report.notes = notes_;
    session_.end(exit_of(report));
    give(report);
  }

 private:
  bool choose_scenarios() {
    campaign_.scenarios = select(options_.scenario, options_.row);
    campaign_.all_scenarios = options_.scenario.empty() && options_.row.empty();
    if (session_.worlds.kind() == "sim") {
      const std::size_t left_out = std::erase_if(
          campaign_.scenarios, [](const Scenario* scenario) { return scenario->kernel_only; });
      if (left_out > 0) {
        campaign_.all_scenarios = false;
        notes_.push_back(fmt::format("{} scenarios need the kernel world", left_out));
      }
    }
    if (campaign_.scenarios.empty()) {
      session_.refuse(fmt::format("no scenario matches {}{}",
                                  !options_.scenario.empty() ? options_.scenario
                                  : options_.row.empty()     ? "the gate"
                                                             : "row " + options_.row,
                                  suggestion(options_.scenario, scenario_names())));
      return false;
    }
    return true;
  }

  bool check_worlds() {
    if (!session_.has_worlds()) {
      return false;
    }
    for (const std::string& required : options_.required) {
      if (required != session_.worlds.kind()) {
        session_.refuse(fmt::format(
            "--require {}: this gate runs in the {} world", required, session_.worlds.kind()));
        return false;
      }
      if (!session_.worlds.degraded().empty()) {
        session_.refuse(
            fmt::format("--require {}: not all there: {}", required, session_.worlds.degraded()));
        return false;
      }
    }
    return true;
  }

  bool open_files() {
    for (Target* target : {&json_, &junit_}) {
      if (!target->open()) {
        session_.refuse("cannot write " + target->path());
        return false;
      }
    }
    if (options_.resume.empty()) {
      return true;
    }
    std::string why;
    if (!memory_.open(options_.resume, hash_of_program(), why)) {
      session_.refuse(why);
      return false;
    }
    if (memory_.outdated()) {
      notes_.push_back(options_.resume + " was of another build, and begins again");
    }
    campaign_.memory = &memory_;
    return true;
  }

  void give(const Report& report) {
    const bool taken = json_.takes_standard_output() || junit_.takes_standard_output();
    (taken ? std::cerr : std::cout) << to_text(report) << std::flush;
    if (json_.wanted() && !json_.write(to_json(report))) {
      session_.refuse("cannot write " + json_.path());
    }
    if (junit_.wanted() && !junit_.write(to_junit(report))) {
      session_.refuse("cannot write " + junit_.path());
    }
  }

  const GateOptions& options_;
  Session& session_;
  Target json_;
  Target junit_;
  ProgressFile memory_;
  CampaignOptions campaign_;
  std::vector<std::string> notes_;
};

}  // namespace

void add_gate(CLI::App& app, Session& session) {
  auto options = std::make_shared<GateOptions>();
  CLI::App* verb = app.add_subcommand(
      "gate", "The main job: every scenario, clean, failed at every point, and at random");
  verb->add_option("--budget", options->budget, "Seconds; what is left after the matrix is random")
      ->check(above_zero())
      ->capture_default_str();
  verb->add_option("--scenario", options->scenario, "Only those whose names match")
      ->type_name("GLOB");
  verb->add_option("--row", options->row, "Only those that show this row of the specification");
  verb->add_flag("--first", options->first, "Stops at the first violation");
  verb->add_option("--json", options->json, "Report for machines; - is standard output")
      ->type_name("FILE");
  verb->add_option("--junit", options->junit, "Report for CI systems; - is standard output")
      ->type_name("FILE");
  verb->add_option("--seed", options->seed, "Of the random runs")
      ->check(whole_number())
      ->capture_default_str();
  verb->add_option("--require", options->required, "Worlds that have to be all there, else exit 2")
      ->delimiter(',')
      ->check(CLI::IsMember({"kernel", "sim"}));
  verb->add_option("--worlds", options->worlds, "Side by side; one a core if not given")
      ->check(CLI::Range(1, 64));
  verb->add_option("--world", options->world, "Where to run")
      ->check(CLI::IsMember({"kernel", "sim"}))
      ->capture_default_str();
  verb->add_option("--resume", options->resume, "Goes on where the gate that wrote it stopped")
      ->type_name("FILE");
  verb->callback([options, &session] { Gate(*options, session).run(); });
}

}  // namespace lastref::harness
