// Verbs of lastref_perf: what it does when it is told to. One file each, with its options.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/perf/globs.hpp"
#include "harness/report/report.hpp"

namespace lastref::perf {

/// What the command line asked for; it answers with an exit code of every verb.
using Chosen = std::function<harness::Exit()>;

/// Of a command, behind the first --, as they were given: CLI11 2.1 takes [a,b] apart and drops [].
using Words = std::vector<std::string>;

/// Each adds a verb, which becomes the chosen one when it is named.
void add_bisect(CLI::App& app, Chosen& chosen);
void add_compare(CLI::App& app, Chosen& chosen, const Words& command);
void add_counters(CLI::App& app, Chosen& chosen);
void add_growth(CLI::App& app, Chosen& chosen);
void add_history(CLI::App& app, Chosen& chosen);
void add_machine(CLI::App& app, Chosen& chosen);
void add_profile(CLI::App& app, Chosen& chosen, const Words& command);
void add_record(CLI::App& app, Chosen& chosen);
void add_self_test(CLI::App& app, Chosen& chosen);

/// --bench GLOB, as often as one likes.
void add_bench(CLI::App& verb, Globs& globs);

/// Where records go if nothing else is said.
std::filesystem::path default_history();

}  // namespace lastref::perf
