// option_kinds: what several options of the command line may be given.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace lastref::harness {

/// Refuses what is no number above 0.
CLI::Validator above_zero();
/// Refuses what is no whole number from 0 on; the parser itself lets -1 pass for a very big one.
CLI::Validator whole_number();
/// An option whose values are all taken, one each time it is given.
CLI::Option* repeatable(CLI::Option* option, const std::string& type);

}  // namespace lastref::harness
