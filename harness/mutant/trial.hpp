// Trial: the result of hunting a planted bug, read from the output of the gate and ctest of its
// build.
//
// They belong to a build with a bug in it, and may print anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lastref::harness {

/// The result of a hunter for a build.
enum class Sight : std::uint8_t {
  saw,         ///< It is bad.
  nothing,     ///< It checked everything that it checks.
  incomplete,  ///< It ended early, and saw nothing until then.
  cannot,      ///< It could not run.
};

/// How one hunter judged a build.
struct Trial {
  Sight sight = Sight::nothing;
  std::string scenario;          ///< that found it first; for tests, the first that failed
  std::string claim;             ///< that does not hold
  std::string seen;              ///< instead; or why it is incomplete, or could not run
  std::string replay;            ///< The command that repeats it
  std::size_t runs = 0;          ///< of the gate until then
  std::size_t failed_tests = 0;  ///< 0 for the gate, which runs none.
  double seconds = 0;

  bool found() const noexcept { return sight == Sight::saw; }
};

/// The trial in the gate's machine-readable report on a build in which it found something; none if
/// it is not such a report. Members with an unexpected type are ignored.
std::optional<Trial> trial_of_gate(std::string_view json);

/// The names of the tests that failed, from the end of ctest's output.
std::vector<std::string> failed_tests(std::string_view said);

/// The percentage of the steps that ninja has taken, from its output: 25 for "[10/40] Building".
std::optional<int> percent_built(std::string_view said);

/// How a program ended, and its output. Its code is 124 if it did not end, and none if it was
/// killed.
struct ProgramEnd {
  std::optional<int> code;
  std::string said;
  std::string report = {};  ///< The gate's machine-readable report; empty: there is none.
};

/// A gate that ended early has not checked everything, and one that was used wrongly nothing; one
/// that crashed or hangs has still shown the bug.
Trial judge_gate(const ProgramEnd& end);
/// The same for ctest, which always runs everything requested.
Trial judge_tests(const ProgramEnd& end);

}  // namespace lastref::harness
