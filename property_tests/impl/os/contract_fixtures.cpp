// os_contract_fixtures: every implementation of Os, and the program that runs the contract on them.
#include <algorithm>
#include <filesystem>
#include <iterator>

#include <gtest/gtest-spi.h>

#include <lastref/kernel_os.hpp>

#include "harness/kernel/kernel_world.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/sim/sim_process.hpp"
#include "property_tests/impl/os/contract.hpp"

namespace lastref::contract {
namespace {

using harness::EntryPoint;
using harness::KernelWorld;
using harness::Scenario;
using harness::Stage;
using harness::sim::Scheduler;

/// The real one: the test runs in this process, children execute this program again.
class KernelFixture final : public Fixture {
 public:
  void run(const std::function<void(os::Os&)>& body) override { body(os_); }
  std::string base() const override { return std::filesystem::temp_directory_path(); }
  void plant_symlink(const std::string& path, const std::string& target) override {
    std::filesystem::create_symlink(target, path);
  }

 private:
  os::KernelOs os_{{.program = "/proc/self/exe"}};
};

constexpr const char* held = "contract: what an Os promises holds";

/// The Os of a process in a gate run: InstrumentedOs and SerialInterceptor around the real kernel.
/// Each test is the root of a run of its own; children are forks with such an Os.
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

FixtureRow gate_fixture() {
  return {.name = "gate",
          .make = []() -> std::unique_ptr<Fixture> { return std::make_unique<GateFixture>(); }};
}

/// The simulated kernel. Each test has a computer of its own, where it is the first process;
/// children are fibers.
class SimFixture final : public Fixture {
 public:
  void run(const std::function<void(os::Os&)>& body) override {
    harness::sim::Entries known;
    for (const Entry& entry : entries()) {
      known[std::string(entry.name)] = entry.run;
    }
    const Scheduler::Rest rest = computer_.run_process(known, body);
    EXPECT_EQ(rest, Scheduler::Rest::ended)
        << "no process can continue: " << computer_.scheduler().waiting();
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

FixtureRow kernel_fixture() {
  return {.name = "kernel",
          .make = []() -> std::unique_ptr<Fixture> { return std::make_unique<KernelFixture>(); }};
}

FixtureRow sim_fixture() {
  return {.name = "sim",
          .make = []() -> std::unique_ptr<Fixture> { return std::make_unique<SimFixture>(); }};
}

const std::vector<FixtureRow>& fixtures() {
  static const std::vector<FixtureRow> rows = {kernel_fixture(), gate_fixture(), sim_fixture()};
  return rows;
}

}  // namespace lastref::contract

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  for (const auto& entry : lastref::contract::entries()) {
    if (argc > 1 && words[1] == entry.name) {
      // Exists as long as the actions that it registers for the end of the process.
      static lastref::os::KernelOs os({.program = "/proc/self/exe"});
      return entry.run(os, std::span(words).subspan(2));
    }
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
