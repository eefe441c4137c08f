// StressWorld: runs without gates. Real processes run in parallel, as the machine schedules them,
// with nothing between the product and the system; some are killed at random instants.
//
// The other worlds decide who goes on at each call, and see every call; so they repeat a run, and
// their threads never run at the same time. Here they do: it is for the races that only that shows,
// under ThreadSanitizer above all. What a run comes to is judged by what it leaves, by who crashed,
// and by what sanitizers and the scenario say.
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
  std::uint64_t seed = 0;  ///< Who is killed, and when.
  unsigned kills = 0;
  /// In which they happen, from the start of the run.
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

/// One run after the other. Made before the program has threads.
class StressWorld {
 public:
  explicit StressWorld(StressOptions options);
  StressWorld(const StressWorld&) = delete;
  StressWorld& operator=(const StressWorld&) = delete;
  ~StressWorld();

  /// What this machine does not permit; empty when nothing is missing. Then it cannot run.
  const std::string& missing() const noexcept { return missing_; }
  StressOutcome run(const StressPlan& plan);

 private:
  StressOptions options_;
  std::unique_ptr<ServerProcess> server_;
  std::string missing_;
};

}  // namespace lastref::harness
