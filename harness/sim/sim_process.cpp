#include "harness/sim/sim_process.hpp"

#include "harness/program/arena.hpp"

namespace lastref::harness::sim {
namespace {

constexpr const char* first_entry = "test";

}  // namespace

Scheduler::Rest Computer::run_process(const Entries& entries,
                                      const std::function<void(os::Os&)>& body) {
  const Arena leaks_of_the_killed(/*serves=*/false);
  Machine& machine = run_.machine;
  machine.knows = [&entries](const os::SpawnOptions& options) {
    return entries.contains(options.entry);
  };
  machine.live = [&](SimOs& system, const os::SpawnOptions& options) {
    InstrumentedOs& os = *run_.member_of(system.process())->os;
    int code = 0;
    if (options.entry == first_entry) {
      body(os);
    } else {
      code = entries.find(options.entry)->second(os, options.arguments);
    }
    os.run_exit_hooks();
    return code;
  };
  machine.boot(nullptr, {.entry = first_entry, .arguments = {}, .fds = {}, .blocked = {}});
  return machine.scheduler.run();
}

}  // namespace lastref::harness::sim
