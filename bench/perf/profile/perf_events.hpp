// perf_events: what the kernel reports about a program and its descendants: where they are when a
// clock ticks, when each thread leaves a processor and returns, and which files they have mapped.
// perf_event_open(2)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include <lastref/error.hpp>

#include "bench/perf/process.hpp"
#include "harness/platform/unique_fd.hpp"

namespace lastref::perf {

/// Starts a child that executes the command, which is searched on PATH. The exit code is 127 if the
/// command cannot be executed. Its standard output goes to standard error. With a pipe, the child
/// waits until all other processes have closed the write end.
Result<StartedProgram> start_program(std::vector<std::string> command,
                                     const harness::FdPair& go = {});

/// A tick of the clock.
struct Tick {
  std::uint64_t address = 0;  ///< of the instruction
  bool in_kernel = false;
  std::vector<std::uint64_t> callers = {};  ///< in the kernel, innermost first
};

/// The thread leaves its processor, or gets one.
struct Turn {
  bool comes = false;
  bool could_go_on = false;  ///< It was preempted, and waits for nothing.
};

/// The process has mapped an executable file.
struct Mapped {
  std::uint64_t address = 0;
  std::uint64_t size = 0;    ///< bytes
  std::uint64_t offset = 0;  ///< in the file
  std::string file = {};
};

/// The thread has a new name, for example because of a new program.
struct Named {
  std::string name = {};
  bool is_new_program = false;
};

/// The thread has begun as a copy of another.
struct Begun {
  int parent = 0;  ///< process
};

/// The thread has ended. The kernel does not report that such a thread leaves its processor.
struct Ended {};

/// Records were lost because they were not read fast enough.
struct Lost {
  std::uint64_t count = 0;
};

struct PerfRecord {
  int process = 0;
  int thread = 0;
  std::uint64_t at = 0;  ///< ns
  std::variant<Tick, Turn, Mapped, Named, Begun, Ended, Lost> what = {};
};

/// Runs a program to its end and passes the kernel's records about it to `take`, ordered by time.
/// The program's standard output goes to standard error.
///
/// @param frequency   ticks per second
/// @return            its status, as wait(2) has it; an error if the kernel does not permit this
Result<int> run_under_perf_events(const std::vector<std::string>& command,
                                  unsigned frequency,
                                  const std::function<void(const PerfRecord&)>& take);

}  // namespace lastref::perf
