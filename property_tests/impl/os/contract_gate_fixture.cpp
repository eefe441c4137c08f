// contract_gate_fixture: the Os of a process in a gate run, for the same contract: InstrumentedOs
// and SerialInterceptor around the real kernel. Each test is the root of a run of its own; children
// are forks with such an Os.
#include <algorithm>
#include <filesystem>
#include <iterator>

#include <gtest/gtest-spi.h>

#include "harness/kernel/kernel_world.hpp"
#include "harness/scenario/scenario.hpp"
#include "property_tests/impl/os/contract.hpp"

namespace lastref::contract {
namespace {

using harness::EntryPoint;
using harness::KernelWorld;
using harness::Scenario;
using harness::Stage;

constexpr const char* held = "contract: what an Os promises holds";

class GateFixture final : public Fixture {
 public:
  void run(const std::function<void(os::Os&)>& body) override {
    const std::vector<Scenario> all = {
        {.name = "contract/test",
         .sentence = {},
         .rows = {},
         .roles = {{"root", [&](Stage& stage) { return play(stage, body); }}},
         .outside_matrix = "a test is no scenario"}};
    KernelWorld world({.scenarios = &all, .core = {}, .entries = known_entries()});
    if (!world.degraded().empty()) {
      GTEST_SKIP() << world.degraded();
    }
    for (const auto& finding : world.run(all.front(), {}).findings) {
      // Entries exit with codes, and leave messages: oracles of scenarios do not expect that.
      if (finding.claim == held || finding.claim.starts_with("no-hang") ||
          finding.claim.starts_with("harness")) {
        ADD_FAILURE() << finding.claim << ": " << finding.seen;
      }
    }
  }
  std::string base() const override { return base_; }
  void plant_symlink(const std::string& path, const std::string& target) override {
    std::filesystem::create_symlink(target, path);
  }

 private:
  static std::vector<EntryPoint> known_entries() {
    std::vector<EntryPoint> known;
    std::ranges::transform(entries(), std::back_inserter(known), [](const Entry& entry) {
      return EntryPoint{.name = std::string(entry.name), .run = entry.run};
    });
    return known;
  }

  /// Runs in the process of the run. This program would not see failures there.
  Status play(Stage& stage, const std::function<void(os::Os&)>& body) {
    base_ = stage.folder();
    testing::TestPartResultArray failures;
    {
      const testing::ScopedFakeTestPartResultReporter reporter(
          testing::ScopedFakeTestPartResultReporter::INTERCEPT_ALL_THREADS, &failures);
      body(stage.os());
    }
    for (int at = 0; at < failures.size(); ++at) {
      const testing::TestPartResult& each = failures.GetTestPartResult(at);
      if (each.failed()) {
        stage.refute(held, each.message());
      }
    }
    return ok();
  }

  std::string base_;
};

}  // namespace

FixtureRow gate_fixture() {
  return {.name = "gate",
          .make = []() -> std::unique_ptr<Fixture> { return std::make_unique<GateFixture>(); }};
}

}  // namespace lastref::contract
