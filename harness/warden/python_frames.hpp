// python_frames: the Python functions that a thread of CPython executes, read from the memory of
// its process.
//
// Only for CPython 3.11 on 64-bit machines: other versions store frames differently. While the
// interpreter starts or ends, there are none.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "harness/warden/thread_memory.hpp"

namespace lastref::harness::warden {

/// Where an interpreter is in the memory of a process
struct PythonRuntime {
  std::uint64_t state = 0;    ///< The address of _PyRuntime
  std::uint64_t version = 0;  ///< The address of Py_Version
};

/// A function that has not returned. What is not ASCII is "?".
struct PythonFrame {
  std::string file;  ///< "/srv/job.py"
  int line = 0;
  std::string function;  ///< "main", "<module>"
};

/// The innermost first; empty: it executes none, or it cannot be read.
std::vector<PythonFrame> python_frames(ThreadMemory& memory, const PythonRuntime& runtime);

/// The line of an instruction, from the table of its code object; `first` if the table is damaged.
///
/// @param instruction  its number: each has two bytes
/// Source          CPython 3.11, Objects/locations.md
int line_in_python_table(const std::string& table, int first, std::uint64_t instruction);

}  // namespace lastref::harness::warden
