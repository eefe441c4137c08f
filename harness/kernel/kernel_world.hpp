// KernelWorld: real processes, signals, sockets and files, one run after the other.
//
// Its other half is a fork server: a small process, pinned to one core, in its own process and
// mount namespace, with a private tmpfs on /dev/shm. It starts the root role of each run, acts as
// the controller of the run's interceptor, and judges the run. Start worlds before the program
// grows: a fork copies page tables.
//
// One world executes one run at a time; use one world per core. `submit` and `collect` keep the
// server busy while the caller works.
//
// A world without gates runs scenarios in parallel, as the machine schedules them, with nothing
// between the product and the system; some processes are killed at random times. With gates, each
// call decides which thread continues, and is seen. So a run can be repeated, but its threads never
// run at the same time. Without, they do: that finds races which only parallel execution shows,
// above all under ThreadSanitizer.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "harness/scenario/ambient.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// What Os::spawn can start, by name.
struct EntryPoint {
  std::string name;
  std::function<int(os::Os&, std::span<const std::string>)> run;
};

/// The tracker.
std::vector<EntryPoint> product_entries();

/// The verb with which this program is executed to be a process of a run that is ungated or in an
/// ambient. For internal use.
inline constexpr const char* born_argument = "process-of-a-run";

/// Becomes such a process: `arguments` are those after the verb. If no world has started it, it
/// reports that and returns.
int become_process_of_run(std::span<const char* const> arguments,
                          const std::vector<Scenario>& scenarios,
                          const std::vector<EntryPoint>& entries);

/// Whether this process may start worlds with processes of this ambient.
bool is_possible(const Ambient& ambient);

struct KernelOptions {
  /// All scenarios that may be run; must outlive the world. The server knows these objects by name.
  const std::vector<Scenario>* scenarios = nullptr;
  std::optional<unsigned> core = {};  ///< To pin the server to; absent: not pinned.
  std::vector<EntryPoint> entries = product_entries();
  bool is_gated = true;
};

/// What happens at random times in a run of a world without gates.
struct RandomEvents {
  unsigned kills = 0;
  /// The time from the start of the run in which they happen.
  std::chrono::microseconds span{};
  std::uint64_t noise = 0;  ///< Seed of the noise; 0: none
};

struct UngatedOutcome {
  std::vector<Finding> findings = {};
  std::string needs_gate = {};  ///< Why the scenario needs gates; empty: it does not.
  std::vector<std::string> killed = {};
  std::chrono::microseconds took{};
  std::string standard_error = {};
};

class KernelWorld final : public World {
 public:
  KernelWorld(const KernelWorld&) = delete;
  KernelWorld& operator=(const KernelWorld&) = delete;
  /// Starts the server. `degraded` lists what it lacks.
  explicit KernelWorld(KernelOptions options);
  ~KernelWorld() override;

  const char* name() const noexcept override { return "kernel"; }
  Outcome run(const Scenario& scenario, const Plan& plan) override;

  /// Requests a run; `collect` returns the outcomes in the order of requests. A few at a time: the
  /// requests have to fit into a socket buffer.
  void submit(const Scenario& scenario, const Plan& plan);
  Outcome collect();
  /// Only, and the only one, in a world without gates. It needs namespaces of its own: `degraded`
  /// must be empty. Of the plan, only the parameters and the seed apply; the seed determines which
  /// processes are killed, and when.
  UngatedOutcome run_ungated(const Scenario& scenario,
                             const Plan& plan,
                             const RandomEvents& events);

  /// What this machine does not permit, and the substitute; empty if nothing is missing.
  const std::string& degraded() const noexcept { return degraded_; }
  /// False when it cannot run at all; `degraded` has the reason.
  bool available() const noexcept { return available_; }

 private:
  struct Server;
  void start_server();
  Outcome lost();

  KernelOptions options_;
  std::string degraded_;
  bool available_ = false;
  std::unique_ptr<Server> server_;
};

}  // namespace lastref::harness
