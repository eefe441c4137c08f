// os_contract_sim_ground: the simulated kernel, for the same contract. Each test has a computer of
// its own, where it is the first process; children are fibers.
#include "harness/sim/sim_process.hpp"
#include "property_tests/impl/os/contract.hpp"

namespace lastref::contract {
namespace {

using harness::sim::Scheduler;

class SimGround final : public Ground {
 public:
  void run(const std::function<void(os::Os&)>& body) override {
    harness::sim::Entries known;
    for (const Entry& entry : entries()) {
      known[std::string(entry.name)] = entry.run;
    }
    const Scheduler::Rest rest = harness::sim::run_process(machine_, known, body);
    EXPECT_EQ(rest, Scheduler::Rest::ended) << "nobody can go on: " << machine_.scheduler.waiting();
  }
  std::string base() const override { return "/tmp"; }
  void plant_symlink(const std::string& path, const std::string& target) override {
    harness::sim::Task& task = *machine_.kernel.tasks().front();
    EXPECT_TRUE(machine_.kernel.make_symlink(task, path, target));
  }

 private:
  harness::ListedChoices choices_{{}};
  harness::sim::Machine machine_{choices_};
};

}  // namespace

GroundRow sim_ground() {
  return {.name = "sim",
          .make = []() -> std::unique_ptr<Ground> { return std::make_unique<SimGround>(); }};
}

}  // namespace lastref::contract
