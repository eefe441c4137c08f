// PerfEvents: what the kernel tells of a program and all that it starts: where they are when a
// clock ticks, when each of their threads leaves a processor and comes back, and what files they
// have mapped. perf_event_open(2)
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::perf {

/// A tick of the clock.
struct Tick {
  int process = 0;
  std::uint64_t address = 0;  ///< of the instruction
  bool in_kernel = false;
  std::vector<std::uint64_t> callers;  ///< in the kernel, the innermost first
};

/// A thread leaves its processor, or comes to one.
struct Turn {
  int process = 0;
  int thread = 0;
  std::uint64_t at = 0;  ///< ns
  bool comes = false;
  bool could_go_on = false;  ///< It leaves for another one, and waits for nothing.
};

/// A process has mapped a file that can be run.
struct Mapped {
  int process = 0;
  std::uint64_t address = 0;
  std::uint64_t size = 0;    ///< bytes
  std::uint64_t offset = 0;  ///< in the file
  std::string file;
};

/// A thread has got a name, as a new program gives it.
struct Named {
  int process = 0;
  int thread = 0;
  std::uint64_t at = 0;  ///< ns
  std::string name;
  bool is_new_program = false;
};

/// A thread has begun as a copy of another.
struct Begun {
  int process = 0;
  int parent = 0;  ///< process
  int thread = 0;
  std::uint64_t at = 0;  ///< ns
};

/// A thread has ended. Of one that ends nobody tells that it leaves its processor.
struct Ended {
  int thread = 0;
  std::uint64_t at = 0;  ///< ns
};

/// So many records were lost, for nobody read fast enough.
struct Lost {
  std::uint64_t count = 0;
};

using PerfRecord = std::variant<Tick, Turn, Mapped, Named, Begun, Ended, Lost>;

/// Runs a program to its end and hands over what the kernel tells of it, in the order of time. What
/// it says on standard output goes to standard error.
///
/// @param frequency   ticks a second
/// @return            its status, as wait(2) has it; an error if the kernel permits no such look
Result<int> run_under_perf_events(const std::vector<std::string>& command,
                                  unsigned frequency,
                                  const std::function<void(const PerfRecord&)>& take);

}  // namespace lastref::perf
