// Computer: gives a test access to a simulated computer, without scenario and faults.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include <lastref/os.hpp>

#include "harness/sim/sim_run.hpp"

namespace lastref::harness::sim {

/// The programs that processes can be started with.
using Entry = std::function<int(os::Os& os, std::span<const std::string> arguments)>;
using Entries = std::map<std::string, Entry, std::less<>>;

/// Its processes have the same Os as those of a run.
class Computer {
 public:
  explicit Computer(Choices& choices) : run_(none_, no_plan_, choices, journal_) {}

  SimKernel& kernel() noexcept { return run_.machine.kernel; }
  Scheduler& scheduler() noexcept { return run_.machine.scheduler; }

  /// Runs `body` as a process until all processes have ended or none can continue. `entries` has
  /// the programs that the process may start.
  Scheduler::Rest run_process(const Entries& entries, const std::function<void(os::Os&)>& body);

 private:
  const Scenario none_{
      .name = {}, .sentence = {}, .rows = {}, .roles = {}, .outside_matrix = "none"};
  const Plan no_plan_{.faults = {}, .choices = {}, .seed = {}, .wants_crossings = false};
  RunJournal journal_;
  SimRun run_;
};

}  // namespace lastref::harness::sim
