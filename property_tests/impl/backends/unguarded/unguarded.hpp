// unguarded: a program with a main that does not first check why it was started.
#pragma once

#include <string>

namespace lastref::pretend {

/// The file where each process of the program adds a line.
inline constexpr const char* log_variable = "LASTREF_TEST_UNGUARDED_LOG";
/// What it uses: "session", "cache", "pool", "static" (a session before main), "plugin" (a session
/// when a shared object is loaded) or "nothing", so that it never ends.
inline constexpr const char* use_variable = "LASTREF_TEST_UNGUARDED_USE";
/// What a process started by the first process does: "ends" with the error, "leaves" with code 3
/// before it uses anything, or "stays" after the error.
inline constexpr const char* then_variable = "LASTREF_TEST_UNGUARDED_THEN";

/// So that a failing test does not fill the machine.
inline constexpr int processes_max = 30;

/// The value of a variable; empty if it is not set.
std::string variable(const char* name);

/// Counts this process, uses `what`, writes the reason of a failure to standard error, and returns
/// an exit code.
int use_unguarded(const std::string& what);

}  // namespace lastref::pretend
