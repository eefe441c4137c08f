// RunReport: what a program did under the warden, what of it is wrong, and how that is said.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cli/command_line.hpp"
#include "harness/report/report.hpp"
#include "harness/warden/points.hpp"
#include "harness/warden/private_folders.hpp"
#include "harness/warden/user_command.hpp"
#include "harness/warden/warden.hpp"

namespace lastref::harness {

/// What threads wait in, on lines of their own behind a word.
std::string lines_of(std::string_view word, const std::vector<warden::Hung>& all);

struct RunReport {
  const RunVerbOptions& options;
  const std::vector<warden::TreeFault>& faults;
  warden::Watched watched;
  std::vector<warden::Leftover> left;  ///< What may not stay
  std::vector<warden::Leftover> open;  ///< What others may not write to
  std::vector<warden::CommandFailure> failures;
  std::vector<warden::HiddenNames> hidden = {};
  /// In overlays, by all that was run in this world so far
  warden::Changes not_lasting = {};
  warden::Points points = {};        ///< If they were asked for
  std::uint64_t runs = 1;            ///< All that were judged
  std::uint64_t perturbed_runs = 0;  ///< And those that were not

  Exit exit() const;
  bool has_struck() const;
  bool ends_as_expected() const;
  std::string verdict() const;
  /// Lines for people; the last one is the verdict.
  std::string to_text() const;
  std::string to_json() const;

 private:
  bool all_struck() const;
  /// Before any fault: nobody can say what one would do to it.
  bool fails_by_itself() const;
  /// "2 left behind, 1 stayed"; empty: nothing is wrong.
  std::string findings() const;
  std::string command_again() const;
  std::string list_text() const;
  std::string faults_text() const;
  std::string findings_text() const;
  std::string unseen_text() const;
};

}  // namespace lastref::harness
