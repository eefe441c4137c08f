// Computer: a test's way onto a simulated computer, without scenario and faults.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include <lastref/os.hpp>

#include "harness/sim/sim_run.hpp"

namespace lastref::harness::sim {

/// What processes can be started as.
using Entry = std::function<int(os::Os& os, std::span<const std::string> arguments)>;
using Entries = std::map<std::string, Entry, std::less<>>;

/// Its processes have the Os that those of a run have.
class Computer {
 public:
  explicit Computer(Choices& choices) : run_(none_, no_plan_, choices) {}

  SimKernel& kernel() noexcept { return run_.machine.kernel; }
  Scheduler& scheduler() noexcept { return run_.machine.scheduler; }

  /// Runs `body` as a process until all have ended or none can continue. What the process's
  /// children may be is in `entries`.
  Scheduler::Rest run_process(const Entries& entries, const std::function<void(os::Os&)>& body);

 private:
  const Scenario none_{
      .name = {}, .sentence = {}, .rows = {}, .roles = {}, .outside_matrix = "none"};
  const Plan no_plan_{.faults = {}, .choices = {}, .seed = {}, .wants_crossings = false};
  SimRun run_;
};

}  // namespace lastref::harness::sim
