#include "harness/cli/command_line.hpp"

#include <algorithm>
#include <sstream>
#include <string_view>
#include <tuple>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "harness/choice/schedule_policy.hpp"
#include "harness/cli/names.hpp"
#include "harness/cli/option_kinds.hpp"
#include "harness/cli/run_options.hpp"
#include "harness/explore/campaign.hpp"
#include "harness/explore/exhaustive.hpp"
#include "harness/explore/hunt.hpp"
#include "harness/mutant/hunter.hpp"
#include "harness/scenario/product_limits.hpp"

namespace lastref::harness {
namespace {

constexpr int fd_most = 1 << 20;
constexpr int mutants_drawn_most = 10000;
constexpr int mutant_seeds_most = 1000;
constexpr double least_share = 0.001;

/// "Exit codes: 0 clean, 2 bad usage or cannot run."
std::string exit_codes(std::initializer_list<Exit> codes) {
  std::string text = "Exit codes:";
  for (const Exit code : codes) {
    text +=
        fmt::format("{} {} {}",
                    code == *codes.begin() ? "" : ",",
                    static_cast<int>(code),
                    code == Exit::clean               ? "clean"
                    : code == Exit::violation         ? "violation"
                    : code == Exit::unusable          ? "bad usage or cannot run"
                    : code == Exit::incomplete        ? "incomplete"
                    : code == Exit::not_deterministic ? "the same plan gave different runs"
                                                      : "a fault's site is not reached any more");
  }
  return text + ".";
}

void add_set(CLI::App& verb, std::vector<std::string>& set, const std::string& help) {
  repeatable(verb.add_option("--set", set, help), "NAME=VALUE");
}

/// The parameters of a verb that runs several scenarios.
template <typename Options>
void add_parameters(CLI::App& verb, Options& options) {
  add_set(verb,
          options.set,
          "Only scenarios with this parameter, in all runs with this value; may be repeated");
  verb.add_flag("--no-draw",
                options.no_draw,
                "Parameters without --set have their usual values in all runs. Not given: the seed "
                "draws them in random runs");
  verb.add_flag(
      "--small",
      options.small,
      fmt::format("Small limits of the library in all runs: as --set {}", small_limits_set));
  verb.parse_complete_callback([&options] {
    if (options.small) {
      options.set.emplace_back(small_limits_set);
    }
  });
}

CLI::App* add_gate(CLI::App& app, GateOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "gate", "Runs every scenario without faults, with every fault, and in random orders");
  as_seconds(
      verb->add_option("--budget",
                       options.budget,
                       "Seconds; random runs use those that remain after the matrix. Not given: "
                       "until the matrix is complete"));
  verb->add_option("--scenario", options.scenario, "Only scenarios with matching names")
      ->type_name("GLOB");
  verb->add_option("--row",
                   options.row,
                   "Only scenarios that show this row of the specification; if none does, all "
                   "scenarios in the ambients that show it");
  verb->add_flag("--full",
                 options.full,
                 "Every fault of every scenario. Not given: each fault at one crossing per call "
                 "stack, unless --scenario or --row is given");
  verb->add_option(
          "--share",
          options.share,
          fmt::format(
              "The share, drawn by the seed, of failing allocations, of the faults after a "
              "fault, of the scenarios in other ambients, and of the default random runs. Not "
              "given: 1 for all of them, but {} of everything in real processes "
              "without --full",
              share_of_real_processes))
      ->check(CLI::Range(least_share, 1.0));
  verb->add_option(
          "--only",
          options.only,
          "Only faults of the matrix that the report lists in a row with this prefix: kill, "
          "allocation, fail_once")
      ->type_name("PREFIX");
  verb->add_flag("--first", options.first, "Stop at the first violation");
  add_report_files(*verb, options.files);
  verb->add_option("--seed", options.seed, "Seed of the random runs")
      ->check(whole_number())
      ->capture_default_str();
  verb->add_option("--random",
                   options.random_runs,
                   fmt::format("Maximum number of random runs; 0 runs only the matrix, without "
                               "random runs. Not given: {} without --budget",
                               random_runs_usual))
      ->check(whole_number());
  verb->add_option(
          "--hunt",
          options.hunt_runs,
          fmt::format("Runs for each scenario of the hunt that precedes the matrix, in the "
                      "simulated kernel; 0: no hunt. Not given: {}, or {} with --full, "
                      "--scenario or --row",
                      hunt_runs_usual,
                      hunt_runs_in_full))
      ->check(whole_number());
  verb->add_option(
          "--require", options.required, "Worlds that must be fully available; else exit 2")
      ->delimiter(',')
      ->check(CLI::IsMember({"kernel", "sim"}));
  verb->add_option(
          "--worlds", options.worlds, "Worlds that run side by side. Not given: one per core")
      ->check(CLI::Range(1, 64));
  verb->add_option(
          "--world", options.world, "World that runs it: real processes, or a simulated kernel")
      ->check(CLI::IsMember({"kernel", "sim"}))
      ->capture_default_str();
  verb->add_option(
          "--ambient", options.ambient, "Only in this ambient, without faults and with kills")
      ->type_name("NAME");
  verb->add_option(
          "--resume", options.resume, "Continue where the gate that wrote this file stopped")
      ->type_name("FILE");
  add_shard(*verb, options.shard, "Run only this part of the gate");
  verb->add_option("--output", options.output, "New folder for the results; lastref merge reads it")
      ->type_name("FOLDER")
      ->excludes("--first");
  add_parameters(*verb, options);
  return verb;
}

CLI::App* add_explore(CLI::App& app, ExploreOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "explore", "Runs one scenario in every order, within a bound, or in those of a policy");
  verb->add_option("scenario", options.name, "Its name, as list prints it")->required();
  verb->add_option("--preemptions", options.preemptions, "Maximum number of preemptive switches")
      ->check(whole_number())
      ->capture_default_str();
  verb->add_flag("--no-bound", options.no_bound, "Any number of preemptive switches")
      ->excludes("--preemptions");
  CLI::Option* deviations =
      verb->add_flag("--deviations",
                     options.deviations,
                     "Instead of all orders, the usual one with each single switch and pause");
  CLI::Option* policy =
      verb->add_option(
              "--policy",
              options.policies,
              "Instead of all orders, random ones of this schedule policy; may be repeated")
          ->type_name("NAME")
          ->check(CLI::IsMember(names_of(PolicyName())))
          ->excludes(deviations);
  verb->add_option("--seed", options.seed, "Seed of --policy")
      ->check(whole_number())
      ->capture_default_str()
      ->needs(policy);
  verb->add_option(
          "--runs",
          options.runs,
          fmt::format("Maximum number of runs. Not given: {} with --policy and without --budget, "
                      "else all",
                      explored_runs_usual))
      ->check(whole_number());
  as_seconds(verb->add_option("--budget", options.budget, "Seconds at most"));
  verb->add_option("--worlds",
                   options.worlds,
                   "Worlds that judge each order: the simulated kernel, real processes, or both; "
                   "then their verdicts are compared. The simulated one finds the orders")
      ->check(CLI::IsMember({"sim", "kernel", "both"}))
      ->capture_default_str();
  verb->add_option(
          "--ask-after", options.ask_after, "Vary nothing before a role has sent this signal")
      ->type_name("WORD")
      ->excludes(deviations)
      ->excludes(policy);
  verb->add_option("--fault", options.faults, "A fault in every run; may be repeated")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all();
  add_set(*verb, options.set, "A parameter of the scenario, as list gives it; may be repeated");
  verb->add_option("--draw", options.draw, "Seed of the values of its other parameters")
      ->check(whole_number());
  verb->add_flag("--split-deaths",
                 options.split_deaths,
                 "A death takes two steps: its connections close, then other processes see it");
  verb->add_flag("--all", options.all, "Continue after the first violation");
  verb->add_flag("--no-reduction",
                 options.no_reduction,
                 "Run also orders that are not needed, because others show the same. With real "
                 "processes, always");
  return verb;
}

CLI::App* add_hunt(CLI::App& app, HuntVerbOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "hunt", "Searches schedules of the scenarios in the simulated kernel until it is stopped");
  verb->add_option("--scenario", options.scenario, "Only scenarios with matching names")
      ->type_name("GLOB");
  as_seconds(verb->add_option("--budget", options.budget, "Seconds at most"));
  verb->add_option("--runs", options.runs, "Number of runs at most")->check(whole_number());
  verb->add_option("--seed", options.seed, "Seed of all that is drawn")
      ->check(whole_number())
      ->capture_default_str();
  verb->add_option("--policy", options.policies, "Only with this schedule policy; may be repeated")
      ->type_name("NAME")
      ->check(CLI::IsMember(names_of(PolicyName())));
  verb->add_option(
          "--worlds", options.worlds, "Worlds that run side by side. Not given: one per core")
      ->check(CLI::Range(1, 64));
  verb->add_flag("--no-faults", options.no_faults, "Vary the schedule only");
  verb->add_flag("--first", options.first, "Stop at the first violation");
  add_report_files(*verb, options.files);
  verb->add_option(
          "--resume",
          options.resume,
          "Continue where the hunt that wrote this file stopped; --runs counts the runs of "
          "both. A new file: write it")
      ->type_name("FILE");
  add_parameters(*verb, options);
  return verb;
}

CLI::App* add_list(CLI::App& app, ListOptions& options) {
  CLI::App* verb = app.add_subcommand("list", "Lists the scenarios, with the rows that each shows");
  CLI::Option* points =
      verb->add_flag("--points", options.points, "The calls, with the errnos that are tried");
  CLI::Option* faults =
      verb->add_flag("--faults", options.faults, "The kinds of faults, and their effects")
          ->excludes(points);
  CLI::Option* probes =
      verb->add_flag("--probes", options.probes, "The conditions that a full gate has to see")
          ->excludes(points)
          ->excludes(faults);
  CLI::Option* rows =
      verb->add_option(
              "--rows",
              options.rows,
              "Rows of the specification, with the number of tests, scenarios and mutants of "
              "each; with a pattern, their names")
          ->type_name("[GLOB]")
          ->expected(0, 1)
          ->excludes(points)
          ->excludes(faults)
          ->excludes(probes);
  verb->add_option("--json", options.json, "Output as JSON; - is standard output")
      ->type_name("FILE")
      ->needs(rows);
  verb->add_option("--checkout",
                   options.checkout,
                   "Checkout to read. Not given: the one that has this program")
      ->check(CLI::ExistingDirectory)
      ->needs(rows);
  verb->parse_complete_callback([&options, rows] { options.wants_rows = rows->count() > 0; });
  return verb;
}

CLI::App* add_merge(CLI::App& app, MergeOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "merge",
      "One report on the folders that the shards of a gate, sweep or suite wrote with --output");
  verb->add_option("folders", options.folders, "The folders")->required();
  add_report_files(*verb, options.files);
  return verb;
}

CLI::App* add_replay(CLI::App& app, ReplayOptions& options) {
  CLI::App* verb = app.add_subcommand("replay", "One run again");
  verb->add_option("scenario", options.name, "Its name, as list prints it")->required();
  verb->add_option("--fault", options.faults, "A fault, as a report prints it; may be repeated")
      ->type_name("TEXT")
      ->expected(1)
      ->take_all();
  verb->add_option(
          "--choices",
          options.choices,
          "Schedule: which actor continues, answer by answer; +44 is 44 usual ones: 2.+44.1")
      ->type_name("LIST");
  CLI::Option* seed =
      verb->add_option("--seed", options.seed, "Seed of the answers after the end of the list")
          ->check(whole_number());
  verb->add_option("--policy", options.policy, "Schedule policy of the seed, in the world sim")
      ->type_name("NAME")
      ->check(CLI::IsMember(names_of(PolicyName())))
      ->needs(seed);
  verb->add_option(
          "--world", options.world, "World that runs it: real processes, or a simulated kernel")
      ->check(CLI::IsMember({"kernel", "sim"}))
      ->capture_default_str();
  verb->add_option("--ambient", options.ambient, "Ambient to run in; the gate lists them")
      ->type_name("NAME");
  add_set(*verb, options.set, "A parameter, as a report gives it; may be repeated");
  verb->add_flag("--trace", options.trace, "Print every call, and the probes that were hit");
  verb->add_flag("--timeline",
                 options.timeline,
                 "Print what the actors did around switches and faults, a column for each");
  verb->add_option("--html", options.html, "The timeline as a page; - is standard output")
      ->type_name("FILE");
  return verb;
}

CLI::App* add_stress(CLI::App& app, StressVerbOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "stress",
      "Runs the scenarios in real processes without a gate, with kills at random instants");
  verb->add_option("--scenario", options.scenario, "Only scenarios with matching names")
      ->type_name("GLOB");
  verb->add_option("--runs", options.runs, "Number of runs, of all scenarios in turn")
      ->check(whole_number())
      ->capture_default_str();
  verb->add_option("--seed", options.seed, "Seed of kills and noise")
      ->check(whole_number())
      ->capture_default_str();
  verb->add_option("--worlds", options.worlds, "Runs at the same time")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  verb->add_flag("--first", options.first, "Stop at the first violation");
  verb->add_flag("--noise",
                 options.noise,
                 "Threads wait for random times at calls and locks; in some runs on one processor");
  add_parameters(*verb, options);
  return verb;
}

CLI::App* add_sweep(CLI::App& app, SweepOptions& options) {
  CLI::App* verb = app.add_subcommand("sweep", "Remove the leftovers of orphaned trees");
  verb->add_option("--runtime", options.runtime, "Folder of the trees. Not given: the default one")
      ->type_name("FOLDER");
  return verb;
}

CLI::App* add_tracker(CLI::App& app, TrackerOptions& options) {
  CLI::App* verb =
      app.add_subcommand("tracker", "The daemon that counts references; the library starts it");
  CLI::Option* tree = verb->add_option("tree", options.tree, "Folder of its tree");
  CLI::Option* loky =
      verb->add_option("--loky-fd", options.loky_fd, "Use loky's line protocol on this pipe")
          ->check(CLI::Range(0, fd_most));
  tree->excludes(loky);
  return verb;
}

CLI::App* add_mutants(CLI::App& app, MutantsOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "mutants", "Plants bugs in a copy, one by one, and reports which checks find them");
  CLI::Option* names = verb->add_option("names", options.names, "Only mutants with matching names")
                           ->type_name("GLOB");
  CLI::Option* row =
      verb->add_option("--row", options.row, "Only mutants of this row of the specification");
  std::vector<std::string> hunters;
  std::string sentences;
  for (const HunterRow& each : all_hunters()) {
    hunters.emplace_back(each.name);
    sentences += fmt::format("{}{}, {}", sentences.empty() ? "" : "; ", each.name, each.sentence);
  }
  verb->add_option(
          "--by",
          options.by,
          "Checks to run, the cheapest first, until one finds it. Not given: all of " + sentences)
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember(hunters));
  verb->add_flag(
      "--all-hunters", options.all_hunters, "Continue with the others when one finds it");
  verb->add_flag("--again", options.again, "Repeat trials that have a result, too");
  verb->add_option("--checkout",
                   options.checkout,
                   "Checkout to read. Not given: the one that has this program")
      ->check(CLI::ExistingDirectory);
  as_seconds(verb->add_option(
      "--budget",
      options.budget,
      "Maximum seconds of each gate and hunt. Not given: until a gate is complete"));
  verb->add_option(
          "--seed", options.seed, "Seed of the random runs of gate and hunt, and of --draw")
      ->check(whole_number())
      ->capture_default_str();
  verb->add_option("--seeds",
                   options.seeds,
                   "Run each gate and hunt with this many seeds, from --seed on, and report how "
                   "many find the bug, with the median of their runs and seconds")
      ->check(CLI::Range(1, mutant_seeds_most))
      ->capture_default_str();
  verb->add_option(
          "--policy", options.policies, "Hunt only with this schedule policy; may be repeated")
      ->type_name("NAME")
      ->check(CLI::IsMember(names_of(PolicyName())));
  verb->add_option("--json", options.json, "The verdicts, as JSON")->type_name("FILE");
  CLI::Option* list = verb->add_flag("--list", options.list, "List the mutants");
  CLI::Option* check =
      verb->add_flag("--check", options.check, "Only check whether the patches still apply")
          ->excludes(list);
  verb->add_option(
          "--draw",
          options.draw,
          "Instead of the mutants of the checkout, this many new ones, made by small changes "
          "of its code")
      ->check(CLI::Range(1, mutants_drawn_most))
      ->excludes(names)
      ->excludes(row)
      ->excludes(list)
      ->excludes(check);
  return verb;
}

CLI::App* add_bench(CLI::App& app, BenchOptions& options) {
  CLI::App* verb = app.add_subcommand(
      "bench", "Measure the library, the limits of the machine, and other libraries");
  CLI::Option* json = verb->add_option("--json", options.json, "Google Benchmark's report, as JSON")
                          ->type_name("FILE");
  CLI::Option* filter = verb->add_option("--filter", options.filter, "Only benchmarks that match")
                            ->type_name("REGEX");
  CLI::Option* quick =
      verb->add_flag("--quick",
                     options.quick,
                     "Under a minute: without the largest sizes, with few repetitions")
          ->excludes(filter);
  verb->add_option("--profile", options.profile, "Only show where this benchmark spends its time")
      ->type_name("NAME")
      ->excludes(filter)
      ->excludes(quick)
      ->excludes(json);
  return verb;
}

CLI::App* add_perf(CLI::App& app, PerfOptions& options) {
  CLI::App* verb =
      app.add_subcommand("perf", "Whether something has become slower; see perf --help");
  verb->set_help_flag();  // Its own program answers.
  verb->prefix_command();
  verb->parse_complete_callback([&options, verb] { options.words = verb->remaining(); });
  return verb;
}

/// The program, not the verb, changes the exit code.
void add_bisect(CLI::App& app) {
  for (const char* name : {"gate", "explore", "hunt", "replay", "run", "stress"}) {
    app.get_subcommand(name)
        ->add_flag("--bisect")
        ->description(
            "For git bisect run: exit 125 instead of any code above 1, such as for an unknown "
            "scenario, or a build that fails");
  }
}

const CLI::App* verb_of(const CLI::App& app, std::string_view name) {
  const auto found =
      app.get_subcommands([&](const CLI::App* verb) { return verb->get_name() == name; });
  return found.empty() ? nullptr : found.front();
}

std::vector<std::string> names_of_verbs(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (!verb->get_group().empty()) {
      names.push_back(verb->get_name());
    }
  }
  return names;
}

/// The options of the given verb, for a suggestion.
std::vector<std::string> names_of_options(const CLI::App& app, std::string_view verb) {
  std::vector<std::string> names;
  const CLI::App* named = verb_of(app, verb);
  if (named == nullptr) {
    return names;
  }
  for (const CLI::Option* option : named->get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

/// An unknown argument of the command line, with a suggestion.
std::string about_unknown(const CLI::App& app, std::span<const char* const> arguments) {
  const std::string_view verb = arguments[1];
  const std::vector<std::string> names = names_of_options(app, verb);
  for (const std::string_view argument : arguments.subspan(2)) {
    const std::string_view name = argument.substr(0, argument.find('='));
    if (name.starts_with("--") && std::ranges::find(names, name) == names.end()) {
      return fmt::format("{} has no option {}{}", verb, name, suggestion(name, names));
    }
  }
  return {};
}

tl::unexpected<Answer> refusal(std::string why) {
  return tl::unexpected(Answer{.text = std::move(why), .exit = Exit::unusable});
}

/// One of each of a variant's types.
template <typename Variant>
struct EachOf;
template <typename... Types>
struct EachOf<std::variant<Types...>> {
  using Tuple = std::tuple<Types...>;
};

}  // namespace

struct CommandLine::Grammar {
  CLI::App app{"The last reference unlinks the file.", "lastref"};
  EachOf<Command>::Tuple options;
  std::optional<Command> command;

  /// A verb. Its options become the command when the command line names it.
  template <typename Options>
  void offer(CLI::App* (*add)(CLI::App&, Options&), std::initializer_list<Exit> codes) {
    auto& own = std::get<Options>(options);
    CLI::App* const verb = add(app, own);
    verb->callback([&own, this] { command = own; });
    verb->footer(exit_codes(codes));
  }
};

CommandLine::CommandLine() : grammar_(std::make_unique<Grammar>()) {
  grammar_->app.require_subcommand(1);
  grammar_->app.set_version_flag("--version", "lastref " LASTREF_VERSION);
  const auto campaign = {
      Exit::clean, Exit::violation, Exit::unusable, Exit::incomplete, Exit::not_deterministic};
  const auto search = {Exit::clean, Exit::violation, Exit::unusable, Exit::incomplete};
  const auto work = {Exit::clean, Exit::unusable};
  grammar_->app.footer(exit_codes(campaign));
  grammar_->offer(add_gate, campaign);
  grammar_->offer(add_explore, campaign);
  grammar_->offer(add_hunt, {Exit::clean, Exit::violation, Exit::unusable});
  grammar_->offer(add_list, work);
  grammar_->offer(add_replay, {Exit::clean, Exit::violation, Exit::unusable, Exit::does_not_apply});
  grammar_->offer(add_run, search);
  grammar_->offer(add_merge, campaign);
  grammar_->offer(add_stress, search);
  grammar_->offer(add_sweep, {Exit::clean, Exit::unusable, Exit::incomplete});
  grammar_->offer(add_tracker, work);
  grammar_->offer(add_mutants, search);
  grammar_->offer(add_bench, work);
  grammar_->offer(add_perf, search);
  add_bisect(grammar_->app);
}

CommandLine::~CommandLine() = default;

bool CommandLine::takes_in_story(std::string_view option) const {
  return is_of_story(*grammar_->app.get_subcommand("run"), std::string(option));
}

tl::expected<Command, Answer> CommandLine::parse(std::span<const char* const> arguments) {
  CLI::App& app = grammar_->app;
  grammar_->options = {};
  grammar_->command.reset();
  std::vector<const char*> as_option(arguments.begin(), arguments.end());
  if (arguments.size() > 1 && std::string_view(arguments[1]) == "help") {
    as_option.erase(as_option.begin() + 1);
    // Right after the verb: what follows may be the words of another program.
    const auto after_verb = std::min<std::ptrdiff_t>(2, std::ssize(as_option));
    as_option.insert(as_option.begin() + after_verb, "--help");
    arguments = as_option;
  }
  if (arguments.size() > 1 && !std::string_view(arguments[1]).starts_with('-') &&
      verb_of(app, arguments[1]) == nullptr) {
    return refusal(
        fmt::format("no verb {}{}", arguments[1], suggestion(arguments[1], names_of_verbs(app))));
  }
  try {
    app.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::Success& asked) {
    std::ostringstream help;
    app.exit(asked, help, help);
    return tl::unexpected(Answer{.text = help.str(), .exit = Exit::clean});
  } catch (const CLI::ExtrasError& error) {
    const std::string unknown =
        arguments.size() > 2 ? about_unknown(app, arguments) : std::string();
    return refusal(unknown.empty() ? error.what() : unknown);
  } catch (const CLI::ParseError& error) {
    return refusal(error.what());
  }
  return *std::move(grammar_->command);
}

}  // namespace lastref::harness
