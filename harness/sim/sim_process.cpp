#include "harness/sim/sim_process.hpp"

#include "harness/program/arena.hpp"

namespace lastref::harness::sim {
namespace {

constexpr const char* first = "test";

}  // namespace

Scheduler::Rest run_process(Machine& machine,
                            const Entries& entries,
                            const std::function<void(os::Os&)>& body) {
  const Arena leaks_of_the_killed(/*serves=*/false);
  machine.knows = [&entries](const os::SpawnOptions& options) {
    return entries.contains(options.entry);
  };
  machine.live = [&](SimOs& os, const os::SpawnOptions& options) {
    if (options.entry == first) {
      body(os);
      return 0;
    }
    return entries.find(options.entry)->second(os, options.arguments);
  };
  machine.boot(nullptr, {.entry = first, .arguments = {}, .fds = {}, .blocked = {}});
  return machine.scheduler.run();
}

}  // namespace lastref::harness::sim
