// Hunt: gives one mutant after another to its hunters, the cheapest first.
//
// Known results are reused. If an earlier run of the program made a hunt with the same sources,
// patch and command, neither that hunt nor a build for it is repeated. A result of a command counts
// only if the command finds nothing without a planted bug; this is checked once.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/mutant/hunter.hpp"
#include "harness/mutant/mutant_build.hpp"
#include "harness/mutant/results.hpp"
#include "harness/mutant/verdict.hpp"

namespace lastref::harness {

struct HuntPlan {
  std::vector<Hunter> hunters;   ///< in this order
  bool all_hunters = false;      ///< Continue after one saw it.
  bool again = false;            ///< Reuse no results.
  std::optional<double> budget;  ///< Seconds of each gate
  std::uint64_t seed = 1;
  std::size_t seeds = 1;              ///< Gates and hunts run with so many, from `seed` on.
  std::vector<std::string> policies;  ///< Schedule policies of hunts; none: all.
  /// Called with the next step: "building", "sim"; and while it builds with "25 %".
  std::function<void(std::string_view)> doing = [](std::string_view) {};
};

class Hunt {
 public:
  /// `build` is prepared, and outlives it. Fails with io_error if results cannot be stored.
  static Result<Hunt> begin(MutantBuild& build, HuntPlan plan);

  /// Plants, builds, hunts and takes out. Errors: what prevented that; a build that fails is a
  /// verdict. After an error the build has to be prepared again.
  Result<Verdict> run(const Planting& planting);

  /// The hunter that sees a bug where none was planted, once there was one: its results are
  /// worthless.
  const std::optional<Hunter>& false_positive() const noexcept { return false_positive_; }
  /// What it saw.
  const Trial& false_trial() const noexcept { return false_trial_; }

 private:
  enum class Built : std::uint8_t { nothing, program, all };

  Hunt(MutantBuild& build, HuntPlan plan) : build_(&build), plan_(std::move(plan)) {}

  HunterOptions options_for(const Mutant& mutant, std::uint64_t seed) const;
  const Trial* known(const std::string& key) const;
  Status keep(std::string key, std::string mutant, std::string_view hunter, Trial trial);
  Result<Trial> trial_unplanted(Hunter hunter, const HunterOptions& options);
  Result<bool> compile(Hunter hunter,
                       const HunterOptions& options,
                       const std::string& name,
                       std::string_view what);
  Result<Built> build_planted(Hunter hunter, const Planting& planting);
  Result<Trial> trial_with(const HunterOptions& options,
                           const Trial& unplanted,
                           Hunter hunter,
                           const Planting& planting,
                           Verdict& verdict);
  Result<std::vector<Trial>> trials_by(Hunter hunter, const Planting& planting, Verdict& verdict);
  Status take_out();

  MutantBuild* build_;
  HuntPlan plan_;
  Results results_;
  bool has_full_ = false;
  std::optional<Mutant> planted_;
  double seconds_unplanted_ = 0;  ///< of the mutant in progress
  std::optional<Hunter> false_positive_;
  Trial false_trial_;
};

}  // namespace lastref::harness
