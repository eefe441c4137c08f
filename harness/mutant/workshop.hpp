// Workshop: a copy of the checkout in which bugs are planted, built and hunted. It lives in
// build/mutants and is kept, so that only what a mutant changes is compiled again.
//
// Nothing in it has to end in good order: what a killed run leaves behind, a patch that is still
// in, say, is put right by the next one, which compares every file with the checkout.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>

#include "harness/mutant/trial.hpp"
#include "harness/spec/mutant.hpp"

namespace lastref::harness {

struct Verdict {
  bool builds = false;
  Trial gate;              ///< Scenarios of the mutant's row
  Trial tests;             ///< Those of its row
  bool elsewhere = false;  ///< Only tests that do not name its row found it.
  double seconds = 0;
  std::string log;  ///< Files of what was said begin with this.

  bool killed() const noexcept { return gate.found || tests.found; }
};

struct WorkshopOptions {
  std::string checkout;
  std::string folder;  ///< Where the copy and the logs are kept.
  double budget = 30;  ///< Seconds, for each gate
  std::uint64_t seed = 1;
};

class Workshop {
 public:
  /// Fails with resource_unavailable_try_again while another process works in the same folder.
  static Result<Workshop> open(WorkshopOptions options);

  /// Makes the copy equal to the checkout, and builds it.
  Status prepare();
  /// Makes the copy equal to the checkout. Whether all patches fit there, letter by letter.
  Status check(std::span<const Mutant> mutants);
  /// Plants the bug, builds, hunts, and takes it out again.
  Result<Verdict> attack(const Mutant& mutant);
  /// The same of the copy as it is, with all tests and scenarios.
  Result<Verdict> try_unchanged();

 private:
  explicit Workshop(WorkshopOptions options);

  std::string tree() const { return options_.folder + "/tree"; }
  Status match_checkout();
  Status build(const std::string& log);
  Status patch(const Mutant& mutant, const std::string& how);
  Result<Trial> try_gate(const std::string& row, const std::string& log);
  Result<Trial> try_tests(const std::string& row, const std::string& log);
  Result<std::optional<int>> say(const std::string& command, const std::string& log, int seconds);

  WorkshopOptions options_;
  std::unique_ptr<os::KernelOs> os_;
  os::UniqueFd lock_;
};

}  // namespace lastref::harness
