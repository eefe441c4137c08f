#include "harness/kernel/kernel_world.hpp"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "harness/instrument/callers.hpp"
#include "harness/kernel/sandbox.hpp"
#include "harness/kernel/server.hpp"
#include "harness/kernel/wire.hpp"

namespace lastref::harness {
namespace {

struct ServerStart {
  int socket;
  const KernelOptions* options;
};

Outcome outcome_of_lost_run() {
  Outcome outcome;
  outcome.findings.push_back({.claim = "harness: the fork server outlives every run",
                              .seen = "it is gone, in this run or in one asked for before"});
  return outcome;
}

void start(void* with, const std::string& missing) {
  const ServerStart& start = *static_cast<const ServerStart*>(with);
  serve_runs(start.socket, *start.options, missing);
}

}  // namespace

struct KernelWorld::Server {
  Server(int pid_of_server, int socket_to_it) noexcept : pid(pid_of_server), socket(socket_to_it) {}
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  /// The end of the stream ends it; the wait is for its folders to be gone.
  ~Server() {
    ::close(socket);
    while (::waitpid(pid, nullptr, 0) < 0 && errno == EINTR) {
    }
  }

  int pid;
  int socket;
  std::size_t asked = 0;  ///< submitted, and not collected
  std::size_t lost = 0;   ///< asked of a server before this one, and not collected
};

KernelWorld::KernelWorld(KernelOptions options) : options_(std::move(options)) {
  knows_callers();  // So that no process has to find out.
  start_server();
}

KernelWorld::~KernelWorld() = default;

void KernelWorld::start_server() {
  std::array<int, 2> ends{};
  const int made = ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data());
  LASTREF_ASSERT(made == 0);
  ServerStart with{.socket = ends[1], .options = &options_};
  const int pid = fork_server(start, &with);
  LASTREF_ASSERT(pid > 0);
  ::close(ends[1]);
  server_ = std::make_unique<Server>(pid, ends[0]);
  available_ = receive_message(server_->socket, degraded_);
  if (!available_) {
    degraded_ = "the fork server does not start";
  }
}

void KernelWorld::submit(const Scenario& scenario, const Plan& plan) {
  // Should the server be gone, collect will notice.
  send_message(server_->socket, encode(RunRequest{.scenario = scenario.name, .plan = plan}));
  ++server_->asked;
}

Outcome KernelWorld::lost() {
  ::kill(server_->pid, SIGKILL);
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
  return receive_message(server_->socket, message) ? decode_outcome(message) : lost();
}

Outcome KernelWorld::run(const Scenario& scenario, const Plan& plan) {
  submit(scenario, plan);
  return collect();
}

}  // namespace lastref::harness
