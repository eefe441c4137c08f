// Trial: what came of hunting a planted bug, read from what the gate and ctest of its build said.
//
// They belong to a build with a bug in it, and may say anything.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace lastref::harness {

/// How one side of the harness judged a build.
struct Trial {
  bool found = false;    ///< It says that the build is bad.
  std::string scenario;  ///< that found it first; for tests, the name of the first
  std::string claim;     ///< that does not hold
  std::string seen;
  std::string replay;            ///< The one command
  std::size_t runs = 0;          ///< of the gate until then
  std::size_t failed_tests = 0;  ///< The gate runs none.
};

/// What the gate's report for machines says of a build in which it found something; none if that is
/// no report. What is of another type than it should be is passed over.
std::optional<Trial> trial_of_gate(std::string_view json);

/// The names of the tests that failed, from what ctest says at its end.
std::vector<std::string> failed_tests(std::string_view said);

}  // namespace lastref::harness
