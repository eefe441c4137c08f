// Test programs: which targets of the build make the tests that name a row. Read from the sources,
// because ctest lists only programs that are built.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::harness {

/// The test programs that a CMake list makes of a source, in its order.
std::vector<std::string> programs_of(std::string_view cmake, std::string_view source);

/// Whether a CMake list itself adds a test with the row in its name.
bool adds_test_of(std::string_view cmake, std::string_view row);

/// Arguments for ninja: the programs of `checkout` that have a test of the row, and the program
/// itself, which some of them run; "all" if such a test is not a test program; empty if no test
/// names it. Fails if a folder cannot be read.
Result<std::string> targets_naming(const std::string& checkout, const std::string& row);

}  // namespace lastref::harness
