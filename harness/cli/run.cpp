// run: any program under the warden. Reports its leftovers and the calls that made them.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "harness/cli/interruption.hpp"
#include "harness/cli/judged_run.hpp"
#include "harness/cli/program_sweep.hpp"
#include "harness/cli/report_output.hpp"
#include "harness/cli/run_timeline.hpp"
#include "harness/cli/suite_run.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/platform/names.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/warden/capabilities.hpp"
#include "harness/warden/likely_errors.hpp"
#include "harness/warden/points.hpp"
#include "harness/warden/private_folders.hpp"
#include "harness/warden/product.hpp"
#include "harness/warden/standard_input.hpp"
#include "harness/warden/syscalls.hpp"
#include "harness/warden/user_command.hpp"
#include "harness/warden/watchdog.hpp"
#include "harness/warden/world_fault.hpp"

namespace lastref::harness {
namespace {

/// The number of tries of a run that a signal has perturbed.
constexpr int tries_max = 3;

/// Of seconds; a hundred years count as unlimited.
std::chrono::milliseconds milliseconds_of(double seconds) {
  constexpr double seconds_max = 3e9;
  return std::chrono::milliseconds(static_cast<long>(std::min(seconds, seconds_max) * 1000));
}

/// A variable of the environment of your commands, while the object exists.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    ::setenv(name, value.c_str(), /*overwrite=*/1);
  }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;
  ~Variable() { ::unsetenv(name_); }

 private:
  const char* name_;
};

/// What your commands can see of the run that they judge.
class CommandEnvironment {
 public:
  explicit CommandEnvironment(const JudgedRun& run)
      : exit_("LASTREF_EXIT", std::to_string(run.exit_code())),
        fault_("LASTREF_FAULT", faults_of(run)) {}

 private:
  static std::string faults_of(const JudgedRun& run) {
    return fmt::format("{}", fmt::join(run.texts_of_faults(), "\n"));
  }

  Variable exit_;
  Variable fault_;
};

class Run {
 public:
  Run(const RunVerbOptions& options, Invocation& invocation)
      : options_(options),
        invocation_(invocation),
        output_(options.files),
        input_(options.repeat > 1 || options.slowdown > 0 || options.list) {}

  void run() {
    if (!read_options()) {
      return;
    }
    auto world = warden::make_private(folders_);
    if (!world) {
      invocation_.refuse("run: --private: " + describe(world.error()));
      return;
    }
    world_ = *std::move(world);
    watch_.has_own_pids =
        std::ranges::find(folders_, warden::own_pids, &warden::PrivateFolder::path) !=
        folders_.end();
    const Interruption interruption(std::chrono::milliseconds(300));
    std::uint64_t perturbed_runs = 0;
    if (options_.slowdown > 0 && !is_timed_clean(perturbed_runs)) {
      return;
    }
    for (std::uint64_t run = 1; run <= options_.repeat; ++run) {
      auto report = judged(perturbed_runs);
      if (!report) {
        return;
      }
      report->runs = run;
      report->perturbed_runs = perturbed_runs;
      if (run == options_.repeat || report->exit() != Exit::clean) {
        if (options_.list) {
          name_points(*report);
        }
        give(*report);
        return;
      }
      tell_progress(run);
    }
  }

 private:
  /// Runs it without faults, and sets its time limit. False: it is not clean, and that was
  /// reported.
  bool is_timed_clean(std::uint64_t& perturbed_runs) {
    const auto faults = std::exchange(watch_.faults, {});
    auto report = judged(perturbed_runs);
    if (!report || report->exit() != Exit::clean) {
      if (report) {
        give(*report);
      }
      return false;
    }
    watch_.faults = faults;
    watch_.time_limit = milliseconds_of(std::max(report->watched.seconds * options_.slowdown, 1.0));
    std::cerr << fmt::format("clean: {:.3f} s\n", report->watched.seconds) << std::flush;
    return true;
  }

  /// Once a second.
  void tell_progress(std::uint64_t run) {
    const auto now = std::chrono::steady_clock::now();
    if (run == 1 || now - told_at_ >= std::chrono::seconds(1)) {
      told_at_ = now;
      std::cerr << fmt::format("run {} of {}: clean\n", run, options_.repeat) << std::flush;
    }
  }

  bool read_options() {
    if (options_.command.empty()) {
      invocation_.refuse("run: name the program and its arguments after --");
      return false;
    }
    watch_.command = options_.command;
    watch_.takes_unlikely = options_.unlikely;
    watch_.wants_calls = options_.list || wants_timeline(options_);
    watch_.wants_sites = options_.list;
    watch_.also = options_.also;
    watch_.grace = milliseconds_of(options_.grace);
    watch_.server = {.ready = options_.ready, .work = options_.work, .rounds = options_.rounds};
    if (options_.timeout > 0) {
      watch_.time_limit = milliseconds_of(options_.timeout);
    }
    watch_.interrupted_by = Interruption::signal;
    watch_.tell_rest = [](const std::vector<warden::Hung>& all) {
      std::cerr << lines_of("WAITS", all)
                << "no thread has continued for 30 s; --timeout sets a limit\n"
                << std::flush;
    };
    watch_.tell_hang = [this](const std::vector<int>& processes) {
      if (!options_.on_hang.empty()) {
        const Variable pids("LASTREF_PIDS", fmt::format("{}", fmt::join(processes, " ")));
        const auto end = warden::end_of_command(options_.on_hang, Interruption::signal);
        at_hang_ = end.output + (end.how.empty() ? "" : end.how + '\n');
      }
    };
    for (const std::string& call : options_.also) {
      if (warden::syscall_named(call) == nullptr) {
        invocation_.refuse(fmt::format("--also: no call \"{}\"; --calls lists all", call));
        return false;
      }
    }
    std::vector<std::string> at_calls;
    std::ranges::partition_copy(options_.faults,
                                std::back_inserter(world_faults_),
                                std::back_inserter(at_calls),
                                warden::is_world_fault);
    return read_all("--fault", at_calls, warden::parse_tree_fault, watch_.faults) && are_likely() &&
           read_all(
               "--private", options_.private_folders, warden::parse_private_folder, folders_) &&
           read_all("--same", options_.same, warden::parse_product, products_) &&
           read_all("--limit", options_.limits, warden::parse_limit, watch_.limits) &&
           read_world_faults() && output_.open(invocation_);
  }

  /// A folder takes the place of the option for it: others may be mounted in it.
  bool read_world_faults() {
    std::vector<warden::WorldFault> all;
    if (!read_all("--fault", world_faults_, warden::parse_world_fault, all)) {
      return false;
    }
    for (const warden::WorldFault& each : all) {
      if (const auto* const limit = std::get_if<warden::Limit>(&each)) {
        watch_.limits.push_back(*limit);
      } else {
        const auto& folder = std::get<warden::PrivateFolder>(each);
        const auto same = std::ranges::find(folders_, folder.path, &warden::PrivateFolder::path);
        *(same == folders_.end() ? folders_.insert(same, folder) : same) = folder;
      }
    }
    return true;
  }

  template <typename Parse, typename Parsed>
  bool read_all(std::string_view option,
                const std::vector<std::string>& texts,
                const Parse& parse,
                std::vector<Parsed>& all) {
    for (const std::string& text : texts) {
      auto parsed = parse(text);
      if (!parsed) {
        invocation_.refuse(fmt::format("{}: {}", option, parsed.error().subject));
        return false;
      }
      all.push_back(*std::move(parsed));
    }
    return true;
  }

  bool are_likely() {
    for (const warden::TreeFault& fault : watch_.faults) {
      if (takes_error(fault.action.kind) && !options_.unlikely &&
          !warden::is_likely(fault.call, fault.action.error)) {
        invocation_.refuse(fmt::format(
            "--fault: {}: {} cannot fail with this error; --unlikely injects it. It may "
            "fail with: {}",
            warden::to_text(fault),
            fault.call,
            warden::likely_errors_of(fault.call)));
        return false;
      }
    }
    return true;
  }

  /// Runs it until signals have interrupted no call, or too often.
  std::optional<JudgedRun> judged(std::uint64_t& perturbed_runs) {
    for (int tries = 1;; ++tries) {
      auto report = once();
      if (!report || report->watched.interrupted || report->watched.perturbed == 0) {
        return report;
      }
      report->tries = tries;
      if (!input_.can_repeat()) {
        report->why_one_try = "a pipe as standard input can be read only once: use a file";
      }
      if (tries == tries_max || !report->why_one_try.empty()) {
        return report;
      }
      auto renewed = renew_world();
      if (!renewed) {
        return std::nullopt;
      }
      // Its leftovers would change the world of the next run.
      const bool is_cleaned = !options_.setup.empty() || !options_.recover.empty();
      if (!is_cleaned && std::ranges::any_of(report->left, [](const auto& each) {
            return warden::is_there(each.path);
          })) {
        return report;
      }
      ++perturbed_runs;
      world_ = *std::move(renewed);
      std::cerr << "a signal interrupted a call while lastref held it: the program runs again\n"
                << std::flush;
    }
  }

  /// Makes the private folders as they were before the first run. Nothing: that is impossible, and
  /// was reported.
  std::optional<warden::PrivateWorld> renew_world() {
    auto renewed = warden::make_private_again(folders_);
    if (!renewed) {
      invocation_.refuse("run: --private: " + describe(renewed.error()));
      return std::nullopt;
    }
    return *std::move(renewed);
  }

  Result<warden::Watched> watch() {
    LASTREF_CHECK(input_.begin_run());
    auto watched = warden::watch(watch_);
    LASTREF_CHECK(input_.end_run());
    return watched;
  }

  std::optional<JudgedRun> once() {
    if (const auto failed = warden::failure_of("--setup", options_.setup, Interruption::signal)) {
      invocation_.refuse(fmt::format(
          "run: {} {}: {}\n{}", failed->option, failed->command, failed->how, failed->output));
      return std::nullopt;
    }
    at_hang_.clear();
    auto watched = watch();
    if (!watched) {
      const bool is_ours = watched.error().subject != watch_.command.front();
      invocation_.refuse(fmt::format(
          "run: {}{}", describe(watched.error()), is_ours ? "; see lastref run --doctor" : ""));
      return std::nullopt;
    }
    JudgedRun report{.options = options_,
                     .faults = watch_.faults,
                     .world_faults = world_faults_,
                     .watched = *std::move(watched),
                     .left = {},
                     .open = {},
                     .failures = {},
                     .other_products = {},
                     .hidden = world_.hidden,
                     .at_hang = at_hang_};
    // An expected death is not a crash.
    if (report.watched.root.killed && !options_.expected_exits.empty() &&
        report.ends_as_expected()) {
      std::erase_if(report.watched.crashes, [](const auto& each) { return each.role == "root"; });
    }
    // The kernel sends it to a program that is not prepared for a limit.
    if (std::ranges::any_of(world_faults_,
                            [](const auto& each) { return each.starts_with("limit fsize="); })) {
      std::erase_if(report.watched.crashes,
                    [](const auto& each) { return name_of_signal(each.signal) == "XFSZ"; });
    }
    if (const auto& failed = report.watched.work_failure; failed && !report.has_struck()) {
      report.failures.push_back(*failed);
    }
    note_products(report);
    const CommandEnvironment seen(report);
    note(report, "--check", options_.check);
    if (!options_.recover.empty()) {
      note(report, "--recover", options_.recover);
      note(report, "--check, after --recover,", options_.check);
    }
    std::ranges::copy_if(
        report.watched.leftovers, std::back_inserter(report.left), [this](const auto& each) {
          // A leftover that the next start removes is not permanent.
          return (options_.recover.empty() || warden::is_there(each.path)) &&
                 !is_allowed(options_.allowed, each);
        });
    std::ranges::copy_if(report.watched.open_to_others,
                         std::back_inserter(report.open),
                         [this](const auto& each) { return !is_allowed(options_.open, each); });
    return report;
  }

  /// A name that differs in another run cannot name a fault.
  void name_points(JudgedRun& report) {
    std::cerr << "one more run, for names that are the same in each run\n" << std::flush;
    std::uint64_t perturbed = 0;
    // It has to find the files that the first one found.
    if (!renew_world()) {
      return;
    }
    const auto other = report.watched.interrupted ? std::nullopt : judged(perturbed);
    report.points =
        points_of(report.watched.calls, other ? other->watched.calls : report.watched.calls);
  }

  static bool is_allowed(const std::vector<std::string>& patterns, const warden::Leftover& what) {
    return std::ranges::any_of(
        patterns, [&](const std::string& pattern) { return matches(pattern, what.path); });
  }

  static void note(JudgedRun& report, const std::string& option, const std::string& command) {
    if (report.watched.interrupted) {
      return;
    }
    auto failure = warden::failure_of(option, command, Interruption::signal);
    report.watched.interrupted = Interruption::happened();
    if (failure && !report.watched.interrupted) {
      report.failures.push_back(*std::move(failure));
    }
  }

  /// Before your commands, which may change them.
  void note_products(JudgedRun& report) const {
    if (report.watched.interrupted) {
      return;
    }
    const bool is_judged = report.watched.root == os::ChildExit{};
    for (const warden::Product& each : products_) {
      std::string content = warden::content_of(each.path);
      std::string difference = is_judged ? warden::difference_of(each, content) : "";
      if (!difference.empty()) {
        report.other_products.push_back(std::move(difference));
      }
      report.products.push_back({.path = each.path, .expected = std::move(content)});
    }
  }

  void give(JudgedRun& report) {
    for (const warden::Overlay& each : world_.overlays) {
      each.list(report.not_lasting);
    }
    // Standard output belongs to the program.
    output_.write(report.report(), std::cerr, invocation_);
  }

  const RunVerbOptions& options_;
  Invocation& invocation_;
  ReportOutput output_;
  warden::WatchOptions watch_;
  std::vector<std::string> world_faults_;
  std::vector<warden::PrivateFolder> folders_;
  std::vector<warden::Product> products_;
  std::string at_hang_;
  warden::StandardInput input_;
  warden::PrivateWorld world_;
  std::chrono::steady_clock::time_point told_at_;
};

void say_what_works(Invocation& invocation) {
  bool can_watch = true;
  for (const warden::Diagnosis& each : warden::diagnose()) {
    std::cout << fmt::format("{:<7} {}\n", each.works ? "works" : "LOST", each.what);
    if (!each.works) {
      std::cout << fmt::format(
          "        without it: {}\n        needs: {}\n", each.lost, each.remedy);
      can_watch = can_watch && each.lost != "lastref run";
    }
  }
  invocation.end(can_watch ? Exit::clean : Exit::unusable);
}

void list_calls(Invocation& invocation) {
  std::cout << "call              stops    may fail with\n";
  for (const warden::SyscallRow& row : warden::syscalls()) {
    std::cout << fmt::format("{:<17} {:<8} {}\n",
                             row.name,
                             row.is_frequent ? "if asked" : "always",
                             warden::likely_errors_of(row.name));
  }
  invocation.end(Exit::clean);
}

}  // namespace

void run(const RunVerbOptions& options, Invocation& invocation) {
  if (options.doctor) {
    say_what_works(invocation);
  } else if (options.calls) {
    list_calls(invocation);
  } else if (!options.suite.empty()) {
    run_suite(options, invocation);
  } else if (options.sweep) {
    sweep_program(options, invocation);
  } else if (options.budget || options.first || options.sample || !options.shard.empty() ||
             !options.output.empty() || !options.resume.empty()) {
    invocation.refuse(
        "run: --budget, --first, --shard, --sample, --output and --resume need --sweep or --suite");
  } else if (invocation.has_proc()) {
    const auto work = [&] {
      Run(options, invocation).run();
      std::cout << std::flush;
      std::cerr << std::flush;
      return invocation.exit;
    };
    invocation.exit = warden::with_watchdog(work, static_cast<int>(Exit::unusable));
  }
}

}  // namespace lastref::harness
