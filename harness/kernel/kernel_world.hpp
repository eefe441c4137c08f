// KernelWorld: real processes, signals, sockets and files, one run after the other.
//
// Its other half is a fork server: a small process, pinned to one core, in a process and a mount
// namespace of its own, with a private tmpfs on /dev/shm. It starts the root role of each run, is
// the controller of the run's interceptor, and judges it. Start worlds before the program grows: a
// fork copies page tables.
//
// One world does one run at a time; use one world a core. `submit` and `collect` keep the server
// busy while the caller thinks.
#pragma once

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

/// The verb by which this program is executed to be a process of a run, in an ambient. Not for
/// people.
inline constexpr const char* born_argument = "process-of-a-run";

/// Becomes it: `arguments` are those behind the verb. Where no world has started it, it says so and
/// comes back.
int become_process_of_run(std::span<const char* const> arguments,
                          const std::vector<Scenario>& scenarios,
                          const std::vector<EntryPoint>& entries);

/// Whether this process may start worlds whose processes are of this kind.
bool is_possible(const Ambient& ambient);

struct KernelOptions {
  /// All that may be run; outlives the world. The server knows these objects by their names.
  const std::vector<Scenario>* scenarios = nullptr;
  std::optional<unsigned> core = {};  ///< Pinned there; nothing pins nowhere.
  std::vector<EntryPoint> entries = product_entries();
};

class KernelWorld final : public World {
 public:
  KernelWorld(const KernelWorld&) = delete;
  KernelWorld& operator=(const KernelWorld&) = delete;
  /// Starts the server. `degraded` says what it had to do without.
  explicit KernelWorld(KernelOptions options);
  ~KernelWorld() override;

  const char* name() const noexcept override { return "kernel"; }
  Outcome run(const Scenario& scenario, const Plan& plan) override;

  /// Asks for a run whose outcome `collect` will give, in the order of asking. A few at a time:
  /// what is asked has to fit into a socket's buffer.
  void submit(const Scenario& scenario, const Plan& plan);
  Outcome collect();

  /// What this machine does not permit, and what is done instead; empty when nothing is missing.
  const std::string& degraded() const noexcept { return degraded_; }
  /// False when it cannot run at all; `degraded` says why.
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
