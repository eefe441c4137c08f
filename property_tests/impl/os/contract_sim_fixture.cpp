// os_contract_sim_fixture: the simulated kernel, for the same contract. Each test has a computer of
// its own, where it is the first process; children are fibers.
#include "harness/sim/sim_process.hpp"
#include "property_tests/impl/os/contract.hpp"

namespace lastref::contract {
namespace {

using harness::sim::Scheduler;

class SimFixture final : public Fixture {
 public:
  void run(const std::function<void(os::Os&)>& body) override {
    harness::sim::Entries known;
    for (const Entry& entry : entries()) {
      known[std::string(entry.name)] = entry.run;
    }
    const Scheduler::Rest rest = computer_.run_process(known, body);
    EXPECT_EQ(rest, Scheduler::Rest::ended)
        << "nobody can go on: " << computer_.scheduler().waiting();
  }
  std::string base() const override { return "/tmp"; }
  void plant_symlink(const std::string& path, const std::string& target) override {
    harness::sim::SimProcess& process = *computer_.kernel().processes().front();
    EXPECT_TRUE(computer_.kernel().make_symlink(process, path, target));
  }

 private:
  harness::ListedChoices choices_{{}};
  harness::sim::Computer computer_{choices_};
};

}  // namespace

FixtureRow sim_fixture() {
  return {.name = "sim",
          .make = []() -> std::unique_ptr<Fixture> { return std::make_unique<SimFixture>(); }};
}

}  // namespace lastref::contract
