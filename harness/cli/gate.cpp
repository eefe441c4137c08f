// gate: the main job. Everything in the catalog, clean, with a fault at every site, and at random.
#include <algorithm>
#include <iostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/choice/shard.hpp"
#include "harness/cli/gate_folder.hpp"
#include "harness/cli/interruption.hpp"
#include "harness/cli/names.hpp"
#include "harness/cli/report_output.hpp"
#include "harness/cli/resumption.hpp"
#include "harness/cli/scenarios.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/explore/campaign.hpp"
#include "harness/explore/gate_results.hpp"
#include "harness/explore/hunt.hpp"
#include "harness/kernel/kernel_world.hpp"
#include "harness/platform/hash.hpp"
#include "harness/report/text.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/scenario/product_limits.hpp"
#include "harness/warden/self_test.hpp"
#include "harness/warden/syscalls.hpp"
#include "harness/warden/watchdog.hpp"

namespace lastref::harness {
namespace {

/// The most that the hunt and the runs with small limits each take of a budget
constexpr double share_of_search = 0.25;

/// The scenarios that the pattern matches. One that is not in the gate has to be named exactly.
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

/// Distinguishes builds of the program, and gates that generate different pairs of faults.
std::uint64_t hash_of_gate(const GateOptions& options, std::string_view world) {
  return hash_of(fmt::format("{} {} {} {} {} {} {}",
                             hash_of_build(),
                             world,
                             options.seed,
                             options.scenario,
                             options.row,
                             options.shard,
                             fmt::join(options.set, " ")));
}

class SimulatedWorlds {
 public:
  explicit SimulatedWorlds(std::size_t count) {
    for (std::size_t each = 0; each < count; ++each) {
      owned_.push_back(std::make_unique<SimWorld>(sim_options_of_verbs));
      all_.push_back(owned_.back().get());
    }
  }

  std::span<World* const> all() const noexcept { return all_; }

 private:
  std::vector<std::unique_ptr<World>> owned_;
  std::vector<World*> all_;
};

class Gate {
 public:
  Gate(const GateOptions& options, Invocation& invocation)
      : options_(options), invocation_(invocation), output_(options.files) {}

  void run() {
    if (!choose_scenarios() || !choose_parameters() || !check_worlds() || !choose_ambients() ||
        !open_files()) {
      return;
    }
    if (!warden_works()) {
      invocation_.end(Exit::violation);
      return;
    }
    ProgressLine line(is_terminal(),
                      [](std::string_view text) { std::cerr << text << std::flush; });
    campaign_.progress = [&line](const CampaignProgress& progress) { line.show(progress); };
    // Scenarios named by the user run in full.
    campaign_.full = options_.full || !options_.scenario.empty() || !options_.row.empty();
    // The command line accepts no other text.
    campaign_.shard = parse_shard(options_.shard).value_or(Shard());
    campaign_.share = options_.share.value_or(usual_share());
    if (options_.set.empty()) {  // Their faults are those of the usual values.
      campaign_.known = known_plans();
    }
    campaign_.budget = options_.budget;
    campaign_.seed = options_.seed;
    campaign_.random_runs_max = options_.random_runs;
    campaign_.only = options_.only;
    campaign_.draws_parameters = !options_.no_draw;
    campaign_.stop_at_first = options_.first;
    campaign_.memory = &memory_;
    campaign_.is_interrupted = Interruption::happened;
    const Interruption interruption;
    const std::optional<HuntResults> hunted = hunt_first();
    if (hunted && !hunted->violations.empty() && options_.first) {
      line.end();
      write(report_of(*hunted));
      return;
    }
    const std::optional<CampaignResults> small = run_with_small_limits();
    if (small && !small->groups.empty() && options_.first) {
      line.end();
      write(report_of(*small));
      return;
    }
    const double searched = (hunted ? hunted->seconds : 0) + (small ? small->seconds : 0);
    if (campaign_.budget) {
      campaign_.budget = std::max(*campaign_.budget - searched, 0.0);
    }
    GateResults results = {.campaign = run_campaign(invocation_.worlds.all(), campaign_),
                           .small = small,
                           .hunt = hunted};
    line.end();
    if (results.campaign.interrupted) {
      say_how_to_go_on();
    }
    results.campaign.worlds = invocation_.worlds.report();
    results.campaign.bare_loop_per_second = invocation_.worlds.bare_loops();
    results.campaign.notes = notes_;
    finish(std::move(results));
  }

 private:
  /// Without a folder if it was interrupted: the gate that continues needs an empty one.
  void finish(GateResults results) {
    Status written;
    if (!options_.output.empty() && !results.campaign.interrupted) {
      written = write_gate(options_.output,
                           {.gate = traits(), .shard = campaign_.shard, .results = results});
    }
    if (campaign_.shard.all > 1) {
      // Only the whole gate reaches everything.
      results.campaign.all_scenarios = false;
      results.campaign.probe_demand = ProbeDemand::counted;
      results.campaign.notes.push_back(fmt::format("shard {} of a gate", options_.shard));
    }
    write(report_of(results));
    if (!written) {
      invocation_.refuse("gate: " + written.error().subject);
    }
  }

  /// What decides which runs the gate makes. Shards with the same traits can be merged.
  std::vector<GateTrait> traits() const {
    const auto number = [](const std::optional<std::uint64_t>& given) {
      return given ? fmt::format("{}", *given) : "";
    };
    std::vector<std::string_view> names;
    std::ranges::transform(campaign_.ambients, std::back_inserter(names), &Ambient::name);
    return {{.name = "build", .value = build_of_program()},
            {.name = "--world", .value = std::string(invocation_.worlds.kind())},
            {.name = "--seed", .value = fmt::format("{}", options_.seed)},
            {.name = "--scenario", .value = options_.scenario},
            {.name = "--row", .value = options_.row},
            {.name = "--set", .value = fmt::format("{}", fmt::join(options_.set, " "))},
            {.name = "--no-draw", .value = options_.no_draw ? "given" : ""},
            {.name = "--full", .value = options_.full ? "given" : ""},
            {.name = "--share", .value = fmt::format("{}", campaign_.share)},
            {.name = "--only", .value = options_.only},
            {.name = "--random", .value = number(options_.random_runs)},
            {.name = "--hunt", .value = number(options_.hunt_runs)},
            {.name = "--ambient", .value = options_.ambient},
            {.name = "ambients", .value = fmt::format("{}", fmt::join(names, " "))}};
  }

  void write(const Report& report) {
    output_.write(report, output_.takes_standard_output() ? std::cerr : std::cout, invocation_);
  }

  /// Searches the schedules of the scenarios before their faults: it is fast, because it is in the
  /// simulated kernel. No hunt if faults of one kind are wanted, or one ambient.
  std::optional<HuntResults> hunt_first() const {
    HuntOptions hunted;
    std::size_t number = 0;
    for (const Scenario* each : campaign_.scenarios) {
      if (is_hunted(*each) && campaign_.shard.has(number++)) {
        hunted.scenarios.push_back(each);
      }
    }
    const std::uint64_t runs =
        options_.hunt_runs.value_or(campaign_.full ? hunt_runs_in_full : hunt_runs_usual);
    if (hunted.scenarios.empty() || runs == 0 || !options_.only.empty() ||
        campaign_.only_ambients) {
      return std::nullopt;
    }
    hunted.parameters = campaign_.parameters;
    hunted.draws_parameters = campaign_.draws_parameters;
    hunted.seed = options_.seed;
    hunted.runs_max = runs * hunted.scenarios.size();
    if (options_.budget) {
      hunted.budget = *options_.budget * share_of_search;
    }
    hunted.stop_at_first = options_.first;
    hunted.is_interrupted = Interruption::happened;
    hunted.progress = campaign_.progress;
    return hunt(SimulatedWorlds(invocation_.worlds.all().size()).all(), hunted);
  }

  /// The site matrix with the small limits of the library, in the simulated kernel. Not if the
  /// command line restricts faults or parameters.
  std::optional<CampaignResults> run_with_small_limits() const {
    CampaignOptions small = campaign_;
    small.parameters = {{.name = std::string(limits_parameter), .value = "small"}};
    std::erase_if(small.scenarios, [&](const Scenario* each) {
      return each->kernel_only || !each->in_matrix() ||
             !has_all(each->parameters, small.parameters);
    });
    if (small.scenarios.empty() || !options_.set.empty() || options_.no_draw ||
        !options_.only.empty() || campaign_.only_ambients) {
      return std::nullopt;
    }
    small.ambients = {};
    small.known = {};  // Of the usual limits
    small.all_scenarios = false;
    small.full = false;
    small.share = 0;
    small.probes = ProbeDemand::counted;
    small.random_runs_max = 0;
    small.memory = nullptr;
    if (options_.budget) {
      small.budget = *options_.budget * share_of_search;
    }
    return run_campaign(SimulatedWorlds(invocation_.worlds.all().size()).all(), small);
  }

  double usual_share() const {
    const bool is_long = invocation_.worlds.kind() == "kernel" && !campaign_.full &&
                         options_.ambient.empty() && !campaign_.only_ambients;
    return is_long ? share_of_real_processes : 1;
  }

  bool choose_scenarios() {
    campaign_.scenarios = select(options_.scenario, options_.row);
    campaign_.all_scenarios = options_.scenario.empty() && options_.row.empty();
    // A simulated kernel cannot reach all of them.
    const bool meets_all = invocation_.worlds.kind() == "kernel";
    campaign_.probes = !campaign_.all_scenarios ? ProbeDemand::counted
                       : meets_all              ? ProbeDemand::required
                                                : ProbeDemand::listed;
    if (invocation_.worlds.kind() == "sim") {
      const std::size_t left_out = std::erase_if(
          campaign_.scenarios, [](const Scenario* scenario) { return scenario->kernel_only; });
      if (left_out > 0) {
        campaign_.all_scenarios = false;
        notes_.push_back(fmt::format("{} scenarios need the kernel world", left_out));
      }
    }
    if (campaign_.scenarios.empty() && std::ranges::any_of(ambients(), [this](const Ambient& each) {
          return shows_row(each) && is_runnable(each);
        })) {
      // There every scenario shows it.
      campaign_.scenarios = select(options_.scenario, {});
      campaign_.only_ambients = true;
    }
    if (campaign_.scenarios.empty()) {
      invocation_.refuse(fmt::format("no scenario matches {}{}",
                                     !options_.scenario.empty() ? options_.scenario
                                     : options_.row.empty()     ? "the gate"
                                                                : "row " + options_.row,
                                     suggestion(options_.scenario, scenario_names())));
      return false;
    }
    return true;
  }

  /// Only scenarios that have the parameters remain.
  bool choose_parameters() {
    if (options_.set.empty()) {
      return true;
    }
    const auto set = parse_set(campaign_.scenarios, options_.set, invocation_);
    if (set) {
      campaign_.parameters = *set;
      campaign_.all_scenarios = false;
      campaign_.probes = ProbeDemand::counted;
    }
    return set.has_value();
  }

  bool check_worlds() {
    if (!invocation_.has_worlds()) {
      return false;
    }
    for (const std::string& required : options_.required) {
      if (required != invocation_.worlds.kind()) {
        invocation_.refuse(fmt::format(
            "--require {}: this gate runs in the {} world", required, invocation_.worlds.kind()));
        return false;
      }
      if (!invocation_.worlds.degraded().empty()) {
        invocation_.refuse(fmt::format(
            "--require {}: not fully available: {}", required, invocation_.worlds.degraded()));
        return false;
      }
    }
    return true;
  }

  /// Tests the warden like the rest of the harness: by faults that it has to detect. In a child
  /// process, because it watches all children of its process.
  bool warden_works() {
    if (!campaign_.all_scenarios || invocation_.worlds.kind() == "sim" ||
        campaign_.shard.number > 1) {
      return true;
    }
    const auto work = [] {
      const warden::SelfTest test = warden::self_test();
      for (const std::string& complaint : test.complaints) {
        std::cerr << "VIOLATION lastref run, " << complaint << '\n';
      }
      std::cerr << std::flush;
      return static_cast<int>(!test.impossible.empty()   ? Exit::incomplete
                              : !test.complaints.empty() ? Exit::violation
                                                         : Exit::clean);
    };
    const auto how =
        static_cast<Exit>(warden::with_watchdog(work, static_cast<int>(Exit::violation)));
    notes_.push_back(
        how == Exit::clean
            ? fmt::format("lastref run: {} calls seen, failed, killed before and after",
                          warden::syscalls().size())
            : "lastref run: cannot watch here; see lastref run --doctor");
    return how != Exit::violation;
  }

  bool shows_row(const Ambient& ambient) const {
    return std::ranges::find(ambient.rows, options_.row) != ambient.rows.end();
  }

  bool is_runnable(const Ambient& ambient) const {
    return invocation_.worlds.kind() == "kernel" && invocation_.worlds.degraded().empty() &&
           is_possible(ambient);
  }

  bool choose_ambients() {
    if (!options_.ambient.empty()) {
      campaign_.only_ambients = true;
      campaign_.all_scenarios = false;
      campaign_.probes = ProbeDemand::counted;
      campaign_.ambients = {ambient_named(options_.ambient)};
      return has_ambient(options_.ambient, invocation_);
    }
    if (invocation_.worlds.kind() == "sim") {
      return true;
    }
    for (const Ambient& each : ambients()) {
      if (campaign_.only_ambients && !shows_row(each)) {
        continue;
      }
      if (!is_runnable(each)) {
        notes_.push_back(fmt::format("not possible here: ambient {}", each.name));
        campaign_.probes = std::min(campaign_.probes, ProbeDemand::listed);
      } else {
        campaign_.ambients.push_back(&each);
      }
    }
    return true;
  }

  bool open_files() {
    if (!output_.open(invocation_)) {
      return false;
    }
    if (!options_.output.empty()) {
      if (const Status made = make_gate_folder(options_.output); !made) {
        invocation_.refuse("gate: " + made.error().subject);
        return false;
      }
    }
    if (options_.resume.empty()) {
      return true;
    }
    std::string why;
    if (!memory_.open(options_.resume, hash_of_gate(options_, invocation_.worlds.kind()), why)) {
      invocation_.refuse(why);
      return false;
    }
    if (memory_.outdated()) {
      notes_.push_back(options_.resume +
                       " is of another build or gate; starting from the beginning");
    }
    return true;
  }

  /// Prints the same arguments with the file of completed runs.
  void say_how_to_go_on() {
    std::string path = options_.resume;
    if (path.empty()) {
      path = new_temporary_file();
      std::string why = "no folder for temporary files";
      if (path.empty() ||
          !memory_.open(path, hash_of_gate(options_, invocation_.worlds.kind()), why)) {
        notes_.push_back("cannot be resumed: " + why);
        return;
      }
    }
    notes_.push_back("to continue: " + command_to_resume(invocation_, options_.resume, path));
  }

  const GateOptions& options_;
  Invocation& invocation_;
  ReportOutput output_;
  ProgressFile memory_;
  CampaignOptions campaign_;
  std::vector<std::string> notes_;
};

}  // namespace

void run(const GateOptions& options, Invocation& invocation) {
  Gate(options, invocation).run();
}

}  // namespace lastref::harness
