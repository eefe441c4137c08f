// Trial: what came of hunting a planted bug, read from what the gate and ctest of its build said.
//
// They belong to a build with a bug in it, and may say anything.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lastref::harness {

/// What a hunter knows of a build when it has ended.
enum class Sight : std::uint8_t {
  saw,         ///< It is bad.
  nothing,     ///< It looked at everything that it looks at.
  incomplete,  ///< It ended early, and saw nothing until then.
  cannot,      ///< It could not run.
};

/// How one hunter judged a build.
struct Trial {
  Sight sight = Sight::nothing;
  std::string scenario;          ///< that found it first; for tests, the name of the first
  std::string claim;             ///< that does not hold
  std::string seen;              ///< instead; or why it is incomplete, or could not run
  std::string replay;            ///< The one command
  std::size_t runs = 0;          ///< of the gate until then
  std::size_t failed_tests = 0;  ///< The gate runs none.
  double seconds = 0;

  bool found() const noexcept { return sight == Sight::saw; }
};

/// What the gate's report for machines says of a build in which it found something; none if that is
/// no report. What is of another type than it should be is passed over.
std::optional<Trial> trial_of_gate(std::string_view json);

/// The names of the tests that failed, from what ctest says at its end.
std::vector<std::string> failed_tests(std::string_view said);

/// How a program ended, and all that it left to read. Its code is 124 if it came to no end, and
/// none if it was killed.
struct ProgramEnd {
  std::optional<int> code;
  std::string said;
  std::string report = {};  ///< The gate's, for machines; empty: there is none.
};

/// A gate that ended early has not looked at everything, and one that was used wrongly at nothing;
/// one that crashed or hangs has shown the bug all the same.
Trial judge_gate(const ProgramEnd& end);
/// The same of ctest, which always runs all that it was told to.
Trial judge_tests(const ProgramEnd& end);

}  // namespace lastref::harness
