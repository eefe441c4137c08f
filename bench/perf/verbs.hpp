// verbs: the verbs of lastref_perf. Each has its own file, with its options.
#pragma once

#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "bench/perf/google_benchmark.hpp"
#include "harness/report/report.hpp"

namespace lastref::perf {

/// The action that the command line selects; it returns the exit code.
using Chosen = std::function<harness::Exit()>;

/// The words after the first --, unchanged: CLI11 2.1 would split [a,b] and drop [].
using Words = std::vector<std::string>;

/// Each function adds a verb, which becomes the chosen one if the command line names it.
void add_bisect(CLI::App& app, Chosen& chosen);
void add_compare(CLI::App& app, Chosen& chosen, const Words& command);
void add_counters(CLI::App& app, Chosen& chosen);
void add_growth(CLI::App& app, Chosen& chosen);
void add_history(CLI::App& app, Chosen& chosen);
void add_profile(CLI::App& app, Chosen& chosen, const Words& command);
void add_record(CLI::App& app, Chosen& chosen);
void add_self_test(CLI::App& app, Chosen& chosen);

/// Adds --bench GLOB, which may be repeated.
inline void add_bench(CLI::App& verb, Globs& globs) {
  verb.add_option("--bench", globs, "Benchmarks, by a pattern as shells have it; else all")
      ->type_name("GLOB")
      ->allow_extra_args(false);
}

/// Prints a line to standard error. A write error does not matter.
inline void say(const std::string& line) {
  std::cerr << line << std::endl;
}

/// Prints why the program cannot do what it was asked for.
inline harness::Exit refuse(const std::string& why, const std::string& by = "lastref perf") {
  say(by + ": " + why);
  return harness::Exit::unusable;
}

/// The default path of the history.
std::filesystem::path default_history();

}  // namespace lastref::perf
