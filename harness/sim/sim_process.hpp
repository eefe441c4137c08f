// SimProcess: a test's way onto a simulated computer, without scenario and faults.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <string>

#include <lastref/os.hpp>

#include "harness/sim/sim_os.hpp"

namespace lastref::harness::sim {

/// What processes can be started as.
using Entry = std::function<int(os::Os& os, std::span<const std::string> arguments)>;
using Entries = std::map<std::string, Entry, std::less<>>;

/// Runs `body` as a process of `machine` until everybody has ended or nobody can go on. What the
/// process's children may be is in `entries`.
Scheduler::Rest run_process(Machine& machine,
                            const Entries& entries,
                            const std::function<void(os::Os&)>& body);

}  // namespace lastref::harness::sim
