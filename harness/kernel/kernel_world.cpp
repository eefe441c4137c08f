#include "harness/kernel/kernel_world.hpp"

#include <csignal>

#include "harness/instrument/callers.hpp"
#include "harness/kernel/server.hpp"
#include "harness/kernel/wire.hpp"

namespace lastref::harness {
namespace {

const Finding lost_run = {.claim = "harness: the fork server outlives every run",
                          .seen = "it is gone, in this run or in one asked for before"};

Outcome outcome_of_lost_run() {
  Outcome outcome;
  outcome.findings.push_back(lost_run);
  return outcome;
}

void serve(int socket, const void* with, const std::string& missing) {
  serve_runs(socket, *static_cast<const KernelOptions*>(with), missing);
}

}  // namespace

struct KernelWorld::Server {
  explicit Server(const KernelOptions& options) : process(serve, &options) {}

  ServerProcess process;
  std::size_t asked = 0;  ///< submitted, and not collected
  std::size_t lost = 0;   ///< requested from an earlier server, and not collected
};

KernelWorld::KernelWorld(KernelOptions options) : options_(std::move(options)) {
  if (options_.is_gated) {
    knows_callers();  // So that no process has to find out itself.
  }
  start_server();
}

KernelWorld::~KernelWorld() = default;

void KernelWorld::start_server() {
  server_ = std::make_unique<Server>(options_);
  available_ = receive_message(server_->process.socket(), degraded_);
  if (!available_) {
    degraded_ = "the fork server does not start";
  }
}

void KernelWorld::submit(const Scenario& scenario, const Plan& plan) {
  // If the server has died, collect() will notice.
  send_message(server_->process.socket(),
               encode_request(RunRequest{.scenario = scenario.name, .plan = plan, .ungated = {}}));
  ++server_->asked;
}

Outcome KernelWorld::lost() {
  ::kill(server_->process.pid(), SIGKILL);
  const std::size_t others = server_->asked;
  start_server();
  server_->lost = others;
  return outcome_of_lost_run();
}

Outcome KernelWorld::collect() {
  if (server_->lost > 0) {
    --server_->lost;
    return outcome_of_lost_run();
  }
  LASTREF_ASSERT(server_->asked > 0);
  --server_->asked;
  std::string message;
  return receive_message(server_->process.socket(), message) ? decode_outcome(message) : lost();
}

UngatedOutcome KernelWorld::run_ungated(const Scenario& scenario,
                                        const Plan& plan,
                                        const RandomEvents& events) {
  LASTREF_ASSERT(!options_.is_gated);
  const int socket = server_->process.socket();
  std::string answer;
  const bool is_done =
      send_message(
          socket,
          encode_request(RunRequest{.scenario = scenario.name, .plan = plan, .ungated = events})) &&
      receive_message(socket, answer);
  return is_done ? decode_ungated(answer) : UngatedOutcome{.findings = {lost_run}};
}

Outcome KernelWorld::run(const Scenario& scenario, const Plan& plan) {
  submit(scenario, plan);
  return collect();
}

}  // namespace lastref::harness
