// JudgedRun: what a program did under the warden, and the problems found.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "harness/cli/command_line.hpp"
#include "harness/report/report.hpp"
#include "harness/warden/points.hpp"
#include "harness/warden/private_folders.hpp"
#include "harness/warden/product.hpp"
#include "harness/warden/program_evidence.hpp"
#include "harness/warden/user_command.hpp"
#include "harness/warden/warden.hpp"

namespace lastref::harness {

inline constexpr std::string_view claim_of_product =
    "refuted: with exit 0 the product is that of a clean run";

/// "exit 3", "SIGKILL"
std::string how_it_ended(const os::ChildExit& end);

/// The waits of threads, one per line after a word.
std::string lines_of(std::string_view word, const std::vector<warden::Hung>& all);

struct JudgedRun {
  const RunVerbOptions& options;
  const std::vector<warden::TreeFault>& faults;
  std::vector<std::string> world_faults;
  warden::Watched watched;
  std::vector<warden::Leftover> left;  ///< Forbidden leftovers
  int tries = 1;                       ///< Of this run
  std::string why_one_try = {};        ///< Why it is not tried again; empty: see --setup
  std::vector<warden::Leftover> open;  ///< Names that other users must not be able to write to
  std::vector<warden::CommandFailure> failures;
  /// How files differ from what --same expects of them, if the program ended with exit 0
  std::vector<std::string> other_products;
  std::vector<warden::HiddenNames> hidden = {};
  /// Changes in overlays, by all runs in this world so far
  warden::Changes not_lasting = {};
  warden::Points points = {};                  ///< If they were requested
  std::string at_hang = {};                    ///< What the command of --on-hang said
  std::vector<warden::Product> products = {};  ///< Of --same, with the contents that they have
  std::uint64_t runs = 1;                      ///< All judged runs
  std::uint64_t perturbed_runs = 0;            ///< And those that were not judged

  Exit exit() const;
  bool has_struck() const;
  /// All faults, as --fault takes them
  std::vector<std::string> texts_of_faults() const;
  /// As shells report it: 128+N for signal N.
  int exit_code() const;
  bool ends_as_expected() const;
  Report report() const;

 private:
  bool all_struck() const;
  /// Whether no effect of a call was hidden from us, and none was refused.
  bool has_seen_all() const;
  /// Before any fault, so the effect of a fault is unknown.
  bool fails_by_itself() const;
  /// "2 left behind, 1 stayed"; empty: no findings.
  std::string findings() const;
  /// With faults, any exit is accepted unless the options say which.
  bool ends_unexpectedly() const;
  /// By a signal that a fault sent, or with the exit code that stands for it
  bool ends_as_signaled() const;
  std::string verdict() const;
  std::string command_again() const;
  std::string list_text() const;
  std::string faults_text() const;
  warden::ProgramEvidence evidence() const;
  void add_findings(Report& report) const;
  std::string unseen_text() const;
  std::string counts_text() const;
  /// The program and its arguments, as a shell reads them.
  std::string program() const;
};

}  // namespace lastref::harness
