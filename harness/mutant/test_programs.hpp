// Test programs: which targets of the build make the tests that name a row. Read from the sources,
// for a list of ctest knows only of programs that are built.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::harness {

/// The test programs that a list of CMake makes of a source, in its order.
std::vector<std::string> programs_of(std::string_view cmake, std::string_view source);

/// Whether a list of CMake adds a test itself whose name has the row.
bool adds_test_of(std::string_view cmake, std::string_view row);

/// Words for ninja: the programs of `checkout` that have a test of the row, and the program itself,
/// which some of them run; "all" if such a test is no test program; nothing if nobody names it.
/// Fails if a folder cannot be read.
Result<std::string> targets_naming(const std::string& checkout, const std::string& row);

}  // namespace lastref::harness
