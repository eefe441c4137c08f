// Verdict: what all hunters together made of one mutant, and how a reader is told.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "harness/mutant/hunter.hpp"
#include "harness/mutant/trial.hpp"
#include "harness/spec/mutant.hpp"

namespace lastref::harness {

struct Verdict {
  Mutant mutant;
  bool builds = true;
  std::map<Hunter, Trial> trials;  ///< of those who were asked
  double seconds = 0;  ///< All but trials without a bug; what was known before took none.

  bool is_seen() const noexcept;
};

/// How often a hunter ended how.
struct HunterTotal {
  std::size_t asked = 0;
  std::size_t saw = 0;
  std::size_t nothing = 0;
  std::size_t incomplete = 0;
  std::size_t cannot = 0;
};

HunterTotal total_of(Hunter hunter, std::span<const Verdict> verdicts) noexcept;

/// The heads of a table's columns: one for each of the hunters.
std::string heading_of(std::span<const Hunter> hunters);
/// A line of the table; below it who saw it, and the command that repeats it.
std::string text_of(const Verdict& verdict, std::span<const Hunter> hunters);
/// The end of the table: a line for each hunter, and one for all.
std::string totals_of(std::span<const Verdict> verdicts, std::span<const Hunter> hunters);
/// The same for programs, as JSON.
std::string to_json(std::span<const Verdict> verdicts, std::span<const Hunter> hunters);

}  // namespace lastref::harness
