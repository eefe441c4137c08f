#include "harness/mutant/hunt.hpp"

#include <utility>

#include <fmt/format.h>

#include "harness/platform/clock.hpp"
#include "harness/spec/rows.hpp"

namespace lastref::harness {
namespace {

constexpr std::string_view build_step = "build";

constexpr int patience_most = 3600;  // seconds

/// Seconds that a hunter may take where a bug is planted: if it takes that much longer than
/// without, it hangs.
int patience_after(const Trial& unplanted) {
  return static_cast<int>(120 + 5 * unplanted.seconds);
}

}  // namespace

Result<Hunt> Hunt::begin(MutantBuild& build, HuntPlan plan) {
  Hunt hunt(build, std::move(plan));
  LASTREF_CHECK(hunt.results_.open(build.folder() + "/results.jsonl"));
  LASTREF_TRY(builds, hunt.compile(Hunter::sim, {}, "unplanted", "building"));
  if (!builds) {
    return failure(std::errc::protocol_error, "the checkout does not build");
  }
  LASTREF_TRY(help, build.help_of_gate());
  hunt.has_full_ = names_full(help);
  return hunt;
}

/// Says how far it is each time that another tenth is built.
Result<bool> Hunt::compile(Hunter hunter,
                           const HunterOptions& options,
                           const std::string& name,
                           std::string_view what) {
  constexpr int told_each = 10;  // percent
  plan_.doing(what);
  return build_->build_for(hunter, options, name, [this, told = 0](int percent) mutable {
    if (percent >= told + told_each) {
      told = percent - percent % told_each;
      plan_.doing(fmt::format("{} %", told));
    }
  });
}

HunterOptions Hunt::options_for(const Mutant& mutant, std::uint64_t seed) const {
  return {.row = mutant.row,
          .tests = pattern_of_tests(mutant.row),
          .budget = plan_.budget,
          .seed = seed,
          .policies = plan_.policies,
          .has_full = has_full_};
}

const Trial* Hunt::known(const std::string& key) const {
  return plan_.again ? nullptr : results_.find(key);
}

/// A hunter that could not run may run next time.
Status Hunt::keep(std::string key, std::string mutant, std::string_view hunter, Trial trial) {
  if (trial.sight == Sight::cannot && hunter != build_step) {
    return ok();
  }
  return results_.add({.key = std::move(key),
                       .mutant = std::move(mutant),
                       .hunter = std::string(hunter),
                       .trial = std::move(trial)});
}

Status Hunt::take_out() {
  if (planted_) {
    LASTREF_CHECK(build_->take_out(*planted_));
    planted_.reset();
  }
  return ok();
}

/// Runs once, even if all mutants are tried again: in between nothing has changed.
Result<Trial> Hunt::trial_unplanted(Hunter hunter, const HunterOptions& options) {
  const std::string command = unplanted_command_of(hunter, options).value_or("");
  const std::string key = key_of(build_->sources_for(hunter), {}, command);
  if (const Trial* trial = results_.find(key)) {
    return *trial;
  }
  const double began = seconds_now();
  LASTREF_CHECK(take_out());
  LASTREF_TRY(builds, compile(hunter, options, "unplanted", "building without it"));
  if (!builds) {
    return failure(std::errc::protocol_error, "the checkout does not build");
  }
  plan_.doing(fmt::format("{} without it", name_of(hunter)));
  LASTREF_TRY(trial, build_->hunt(hunter, command, "unplanted", patience_most));
  seconds_unplanted_ += seconds_now() - began;
  if (!trial.found()) {  // Otherwise the user will fix something, and start again.
    LASTREF_CHECK(keep(key, "none", name_of(hunter), trial));
  }
  return trial;
}

/// The program has to build with the bug; tests that do not compile see nothing.
Result<Hunt::Built> Hunt::build_planted(Hunter hunter, const Planting& planting) {
  const std::string& name = planting.mutant.name;
  if (!planted_) {
    LASTREF_CHECK(build_->plant(planting));
    planted_ = planting.mutant;
  }
  LASTREF_TRY(all, compile(hunter, options_for(planting.mutant, plan_.seed), name, "building"));
  if (all) {
    return Built::all;
  }
  LASTREF_TRY(program, compile(Hunter::sim, {}, name, "building the program alone"));
  return program ? Built::program : Built::nothing;
}

Result<Trial> Hunt::trial_with(const HunterOptions& options,
                               const Trial& unplanted,
                               Hunter hunter,
                               const Planting& planting,
                               Verdict& verdict) {
  const std::string& name = planting.mutant.name;
  const std::string command = command_of(hunter, options).value_or("");
  Trial cannot;
  cannot.sight = Sight::cannot;
  LASTREF_TRY(patch, build_->text_of_patch(planting));
  const std::string key = key_of(build_->sources_for(hunter), patch, command);
  const std::string build_key = key_of(build_->sources_for(Hunter::sim), patch, build_step);
  if (const Trial* trial = known(key)) {
    return *trial;
  }
  verdict.builds = known(build_key) == nullptr;
  if (!verdict.builds) {
    return cannot;
  }
  LASTREF_TRY(built, build_planted(hunter, planting));
  if (built == Built::nothing) {
    verdict.builds = false;
    LASTREF_CHECK(keep(build_key, name, build_step, cannot));
    return cannot;
  }
  if (built == Built::program) {
    cannot.seen = "its tests do not build";
    return cannot;
  }
  plan_.doing(name_of(hunter));
  LASTREF_TRY(trial, build_->hunt(hunter, command, name, patience_after(unplanted)));
  LASTREF_CHECK(keep(key, name, name_of(hunter), trial));
  return trial;
}

/// One for each seed. They are tried first where nothing is planted: one build is enough for that.
Result<std::vector<Trial>> Hunt::trials_by(Hunter hunter,
                                           const Planting& planting,
                                           Verdict& verdict) {
  std::vector<Trial> trials(is_gate(hunter) ? plan_.seeds : 1);
  std::vector<HunterOptions> options;
  for (Trial& unplanted : trials) {
    options.push_back(options_for(planting.mutant, plan_.seed + options.size()));
    if (!command_of(hunter, options.back())) {
      unplanted.sight = Sight::cannot;
      unplanted.seen = "this build has no such gate";
      return std::vector{unplanted};
    }
    LASTREF_TRY(trial, trial_unplanted(hunter, options.back()));
    unplanted = std::move(trial);
    if (unplanted.found()) {
      false_positive_ = hunter;
      false_trial_ = std::move(unplanted);
      return trials;
    }
  }
  for (std::size_t each = 0; each < trials.size() && verdict.builds; ++each) {
    LASTREF_TRY(trial, trial_with(options[each], trials[each], hunter, planting, verdict));
    trials[each] = std::move(trial);
  }
  return trials;
}

Result<Verdict> Hunt::run(const Planting& planting) {
  const double began = seconds_now();
  seconds_unplanted_ = 0;
  Verdict verdict;
  verdict.mutant = planting.mutant;
  for (const Hunter hunter : plan_.hunters) {
    LASTREF_TRY(trials, trials_by(hunter, planting, verdict));
    if (!verdict.builds || false_positive_) {
      break;
    }
    const bool found = result_of(trials).found();
    verdict.trials.emplace(hunter, std::move(trials));
    if (found && !plan_.all_hunters) {
      break;
    }
  }
  LASTREF_CHECK(take_out());
  verdict.seconds = seconds_now() - began - seconds_unplanted_;
  return verdict;
}

}  // namespace lastref::harness
