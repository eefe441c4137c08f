// option_kinds: validators and kinds shared by several options of the command line.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "harness/cli/command_line.hpp"

namespace lastref::harness {

/// Refuses anything except numbers above 0.
CLI::Validator above_zero();
/// Refuses anything except whole numbers from 0; the parser itself reads -1 as a very large number.
CLI::Validator whole_number();
/// An option that may be repeated; all values are kept.
CLI::Option* repeatable(CLI::Option* option, const std::string& type);

/// An option that takes a time above 0, in seconds or with one of the units s, m and h.
CLI::Option* as_seconds(CLI::Option* option);

/// --shard. `help` is what it does.
CLI::Option* add_shard(CLI::App& verb, std::string& shard, const std::string& help);

/// --json, --junit, --sarif and --html
void add_report_files(CLI::App& verb, ReportFiles& files);

}  // namespace lastref::harness
