// StressWorld: runs without gates. Real processes run in parallel, as the machine schedules them,
// with nothing between the product and the system; some are killed at random instants.
//
// The other worlds decide at each call which thread continues, and see every call. So they can
// repeat a run, but their threads never run at the same time. Here they do: this world finds races
// that only parallel execution shows, above all under ThreadSanitizer. A run is judged by what it
// leaves, by crashes, and by what sanitizers and the scenario report.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "harness/kernel/kernel_world.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

class ServerProcess;

struct StressPlan {
  std::string scenario;
  std::uint64_t seed = 0;  ///< Determines which processes are killed, and when.
  unsigned kills = 0;
  /// The time from the start of the run in which the kills happen.
  std::chrono::microseconds span{};
};

struct StressOutcome {
  std::vector<Finding> findings = {};
  std::string left_out = {};  ///< Why the scenario needs gates; empty: it does not.
  std::vector<std::string> killed = {};
  std::chrono::microseconds took{};
  std::string standard_error = {};
};

struct StressOptions {
  const std::vector<Scenario>* scenarios = nullptr;  ///< Outlives the world.
  std::vector<EntryPoint> entries = product_entries();
};

/// Executes one run after the other. To be made before the program has threads.
class StressWorld {
 public:
  explicit StressWorld(StressOptions options);
  StressWorld(const StressWorld&) = delete;
  StressWorld& operator=(const StressWorld&) = delete;
  ~StressWorld();

  /// What this machine does not permit, in which case it cannot run; empty if nothing is missing.
  const std::string& missing() const noexcept { return missing_; }
  StressOutcome run(const StressPlan& plan);

 private:
  StressOptions options_;
  std::unique_ptr<ServerProcess> server_;
  std::string missing_;
};

}  // namespace lastref::harness
