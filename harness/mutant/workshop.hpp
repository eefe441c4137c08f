// Workshop: a copy of the checkout in which bugs are planted, built and hunted. It lies in
// build/mutants and is kept, so that only what a mutant changes is compiled again; what a bug is
// taken out of comes from ccache, if that is there.
//
// Nothing in it has to end in good order: what a killed run leaves behind, a patch that is still
// in, say, is put right by the next one, which compares every file with the checkout.
#pragma once

#include <cstdint>
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

/// A mutant, and where its patch lies: a path from the folder of the copy, or a full one.
struct Planting {
  Mutant mutant;
  std::string patch;
};

class Workshop {
 public:
  /// `folder` is where the copy and the logs are kept. Fails with
  /// resource_unavailable_try_again while another process works in it.
  static Result<Workshop> open(std::string checkout, std::string folder);

  /// Makes the copy equal to the checkout, and gets ready to build it.
  Status prepare();
  /// Makes the copy equal to the checkout. Whether all patches fit there, letter by letter.
  Status check(std::span<const Mutant> mutants);
  /// The hash of all that what the hunter says may depend on, besides what is planted.
  std::uint64_t sources_for(Hunter hunter) const noexcept {
    return is_gate(hunter) ? sources_of_program_ : sources_;
  }
  const std::string& folder() const noexcept { return folder_; }

  /// Fails with io_error if there is none.
  Result<std::string> text_of_patch(const Planting& planting) const;
  /// Fails with protocol_error if the patch does not fit; nothing is planted then.
  Status plant(const Planting& planting);
  Status take_out(const Mutant& mutant);

  /// Builds what the hunter runs, with what is planted; nothing if no test names the row. False if
  /// it does not build.
  Result<bool> build_for(Hunter hunter, const HuntOptions& options, const std::string& name);
  /// Runs a command of a hunter, for so many seconds at most. `name` is what logs begin with.
  Result<Trial> hunt(Hunter hunter,
                     const std::string& command,
                     const std::string& name,
                     int seconds);
  /// What the program says to its own `gate --help`; it has to be built.
  Result<std::string> help_of_gate();

 private:
  Workshop(std::string checkout, std::string folder);

  std::string tree() const { return folder_ + "/tree"; }
  std::string log_of(const std::string& name, const char* what) const;
  Status match_checkout();
  Status match(const std::string& file);
  void count_in(const std::string& file);
  Status patch(const Planting& planting, const std::string& how);
  Result<std::string> targets_of(Hunter hunter, const HuntOptions& options) const;
  Result<std::optional<int>> say(const std::string& command, const std::string& log, int seconds);

  std::string checkout_;
  std::string folder_;
  std::unique_ptr<os::KernelOs> os_;
  os::UniqueFd lock_;
  std::uint64_t sources_ = 0;
  std::uint64_t sources_of_program_ = 0;
};

/// Where a mutant of the checkout has its patch.
Planting planting_of(Mutant mutant);

}  // namespace lastref::harness
