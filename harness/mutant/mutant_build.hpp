// MutantBuild: a copy of the checkout in which bugs are planted, built and hunted. It is in
// build/mutants and is kept, so that only what a mutant changes is compiled again; objects without
// the bug come from ccache, if that is available.
//
// It does not depend on an orderly end: leftovers of a killed run, such as a patch still applied,
// are corrected by the next one, which compares every file with the checkout.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>

#include "harness/mutant/hunter.hpp"
#include "harness/mutant/trial.hpp"
#include "harness/spec/mutant.hpp"

namespace lastref::harness {

/// A mutant, and the path of its patch: relative to the folder of the copy, or absolute.
struct Planting {
  Mutant mutant;
  std::string patch;
};

class MutantBuild {
 public:
  /// The copy and the logs are kept in `folder`. Fails with resource_unavailable_try_again while
  /// another process works in it.
  static Result<MutantBuild> open(std::string checkout, std::string folder);

  /// Makes the copy equal to the checkout, and prepares its build.
  Status prepare();
  /// Makes the copy equal to the checkout. Checks that all patches fit exactly.
  Status check(std::span<const Mutant> mutants);
  /// The hash of everything that the hunter's result may depend on, except what is planted.
  std::uint64_t sources_for(Hunter hunter) const noexcept {
    return is_gate(hunter) ? sources_of_program_ : sources_;
  }
  const std::string& folder() const noexcept { return folder_; }

  /// Fails with io_error if there is no patch.
  Result<std::string> text_of_patch(const Planting& planting) const;
  /// Fails with protocol_error if the patch does not fit; nothing is planted then.
  Status plant(const Planting& planting);
  Status take_out(const Mutant& mutant);

  /// Builds what the hunter runs, with the planted bug; nothing if no test names the row. False if
  /// it does not build. While it builds it calls `built` each second, with the percentage of the
  /// steps that are done.
  Result<bool> build_for(Hunter hunter,
                         const HunterOptions& options,
                         const std::string& name,
                         const std::function<void(int)>& built);
  /// Runs a command of a hunter, for at most `seconds`. `name` is the prefix of its logs.
  Result<Trial> hunt(Hunter hunter,
                     const std::string& command,
                     const std::string& name,
                     int seconds);
  /// The output of the program's own `gate --help`; the program has to be built.
  Result<std::string> help_of_gate();

 private:
  MutantBuild(std::string checkout, std::string folder);

  std::string tree() const { return folder_ + "/tree"; }
  std::string log_of(const std::string& name, const char* what) const;
  Status match_checkout();
  Status match(const std::string& file);
  void count_in(const std::string& file);
  Status patch(const Planting& planting, const std::string& how);
  Result<std::string> targets_of(Hunter hunter, const HunterOptions& options) const;
  Result<std::optional<int>> say(const std::string& command,
                                 const std::string& log,
                                 int seconds,
                                 const std::function<void()>& each_second = {});

  std::string checkout_;
  std::string folder_;
  std::unique_ptr<os::KernelOs> os_;
  os::UniqueFd lock_;
  std::uint64_t sources_ = 0;
  std::uint64_t sources_of_program_ = 0;
};

/// The mutant with the path of its patch in the checkout.
Planting planting_of(Mutant mutant);

}  // namespace lastref::harness
