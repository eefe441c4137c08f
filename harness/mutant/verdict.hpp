// Verdict: the results of all hunters for one mutant, and their presentation.
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
  std::map<Hunter, std::vector<Trial>> trials;  ///< of the hunters that ran, one for each seed
  double seconds = 0;  ///< Without trials where no bug is planted; known results took no time.

  bool is_seen() const noexcept;
};

/// The result of a hunter with these trials, at least one: the first that saw the bug;
/// without one, the first that did not check everything.
const Trial& result_of(std::span<const Trial> trials) noexcept;

/// How often a hunter ended in each way.
struct HunterTotal {
  std::size_t asked = 0;
  std::size_t saw = 0;
  std::size_t nothing = 0;
  std::size_t incomplete = 0;
  std::size_t cannot = 0;
};

HunterTotal total_of(Hunter hunter, std::span<const Verdict> verdicts) noexcept;

/// The headings of a table: one column for each of the hunters.
std::string heading_of(std::span<const Hunter> hunters);
/// A line of the table; below it the hunter that saw it, and the command that repeats it.
std::string text_of(const Verdict& verdict, std::span<const Hunter> hunters);
/// The end of the table: a line for each hunter, and one for all.
std::string totals_of(std::span<const Verdict> verdicts, std::span<const Hunter> hunters);
/// The same for programs, as JSON.
std::string to_json(std::span<const Verdict> verdicts, std::span<const Hunter> hunters);

}  // namespace lastref::harness
