#include "harness/kernel/server.hpp"

#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <optional>
#include <utility>

#include <lastref/temporary_resources.hpp>
#include <lastref/tracker.hpp>

#include "harness/kernel/controller.hpp"
#include "harness/kernel/exec_handoff.hpp"
#include "harness/kernel/huge_pages.hpp"
#include "harness/kernel/progress_timeout.hpp"
#include "harness/kernel/run_choices.hpp"
#include "harness/kernel/sandbox.hpp"
#include "harness/kernel/ungated_controller.hpp"
#include "harness/kernel/ungated_judgement.hpp"
#include "harness/kernel/wire.hpp"
#include "harness/oracle/evidence.hpp"
#include "harness/platform/child_process.hpp"
#include "harness/program/arena.hpp"

namespace lastref::harness {
namespace {

constexpr int first_free = 3;

/// Moves this process's descriptors to the harness's numbers, and closes all others.
void tidy_descriptors(int socket) noexcept {
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  const auto wanted = static_cast<rlim_t>(harness_fd::aside) + actors_max;
  if (files.rlim_cur < wanted) {
    files.rlim_cur = std::min<rlim_t>(wanted, files.rlim_max);
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  const int moved = ::dup2(socket, harness_fd::request);
  LASTREF_ASSERT(moved == harness_fd::request);
  ::close_range(first_free, static_cast<unsigned>(harness_fd::request) - 1, 0);
  ::close_range(static_cast<unsigned>(harness_fd::request) + 1, ~0U, 0);
  move_to(UniqueFd(::open("/dev/null", O_RDONLY | O_CLOEXEC)), STDIN_FILENO);
}

void pin_to(unsigned core) noexcept {
  cpu_set_t cores;
  CPU_ZERO(&cores);
  CPU_SET(core, &cores);
  ::sched_setaffinity(0, sizeof(cores), &cores);  // On another core it is slower, not wrong.
}

/// The first unwinding in a program sorts its tables, which takes milliseconds. Done here, no
/// process of a run that throws in user code has to repeat it.
void sort_tables_of_unwinding() noexcept {
  const auto go_on = [](_Unwind_Context* /*context*/, void* /*with*/) { return _URC_NO_REASON; };
  _Unwind_Backtrace(go_on, nullptr);
}

class Server {
 public:
  Server(const KernelOptions& options, const std::string& missing)
      : options_(options),
        run_(options.is_gated),
        sandbox_(missing),
        context_{.run = run_,
                 .entries = options.entries,
                 .files = sandbox_.files(),
                 .spare = sandbox_.spare(),
                 .elsewhere = sandbox_.elsewhere(),
                 .is_isolated = sandbox_.degraded().empty(),
                 .watched = sandbox_.watched()} {
    if (options.is_gated) {
      make_pollers();
    }
  }

  const Sandbox& sandbox() const noexcept { return sandbox_; }
  /// The outcome, encoded.
  std::string perform(const RunRequest& request);

 private:
  Outcome play(const RunRequest& request);
  UngatedOutcome play_ungated(const RunRequest& request);
  const Scenario& scenario_named(const std::string& name) const;
  void load(const Plan& plan);
  /// A start after the next one, without faults: sweeps up after killed processes, in a process of
  /// its own.
  void sweep();
  void set_ambient(const std::string& name);
  bool plays_ordinary_user() const noexcept { return context_.plays_in(ambient::ordinary_user); }

  const KernelOptions& options_;
  SharedRun run_;
  Sandbox sandbox_;
  RunContext context_;
  bool is_warm_ = false;  ///< It has executed a run before.
};

void Server::load(const Plan& plan) {
  run_.reset();
  ControlBlock& control_block = run_.control_block();
  context_.faults = plan.faults;
  context_.parameters = plan.parameters;
  control_block.interceptors.follow(plan);
  control_block.given_count =
      static_cast<std::uint32_t>(std::min(plan.choices.size(), control_block.given.size()));
  for (std::uint32_t at = 0; at < control_block.given_count; ++at) {
    control_block.given[at] = static_cast<std::uint8_t>(std::min(plan.choices[at], 255U));
  }
  control_block.records_questions = plan.wants_crossings;
}

void Server::sweep() {
  const int pid = start_child([this] {
    const ArenaPause is_the_servers;
    ::dup2(harness_fd::standard_error, STDERR_FILENO);
    const bool is_theirs = !plays_ordinary_user() || become_ordinary_user();
    LASTREF_ASSERT(is_theirs);
    os::KernelOs kernel;
    return lastref::sweep(kernel, sandbox_.runtime()) ? 0 : 1;
  });
  if (!wait_dead(pid)) {
    ::kill(pid, SIGKILL);
  }
  if (!WIFEXITED(reap(pid).value_or(0))) {
    note_fact(run_, 0, fact::hang, "the sweep of a later start was ended by a signal");
  }
}

void Server::set_ambient(const std::string& name) {
  context_.ambient = ambient_named(name);
  LASTREF_ASSERT(context_.ambient != nullptr || name.empty());
  if (plays_ordinary_user()) {
    const bool given = sandbox_.give_to(ordinary_user_id);
    LASTREF_ASSERT(given);
  }
  if (name == ambient::full_stderr) {
    make_unread_pipe();
  }
}

/// Everything that a run leaves on the heap is freed with its arena. A heap without holes leaves
/// forked processes few pages to copy.
std::string Server::perform(const RunRequest& request) {
  if (request.ungated) {
    return encode_ungated(play_ungated(request));
  }
  const Arena arena(/*serves=*/std::exchange(is_warm_, true));
  const std::string message = encode_outcome(play(request));
  const ArenaPause outlives_the_run;
  return {message.begin(), message.end()};
}

const Scenario& Server::scenario_named(const std::string& name) const {
  const auto found = std::ranges::find(*options_.scenarios, name, &Scenario::name);
  LASTREF_ASSERT(found != options_.scenarios->end());
  return *found;
}

UngatedOutcome Server::play_ungated(const RunRequest& request) {
  sandbox_.prepare();
  load(request.plan);
  context_.scenario = &scenario_named(request.scenario);
  UngatedController controller(context_, request.plan.seed.value_or(0), *request.ungated);
  controller.run();
  sandbox_.restore();
  std::vector<std::string> left = without_accidents(sandbox_.left());
  if (!left.empty()) {
    sweep();
  }
  const UngatedState& state = run_.control_block().ungated;
  UngatedOutcome outcome{.findings = {},
                         .needs_gate = std::string(state.needs_gate.view()),
                         .killed = controller.killed(),
                         .took = controller.took(),
                         .standard_error = sandbox_.standard_error()};
  if (outcome.needs_gate.empty()) {
    const Evidence evidence = {.scenario = *context_.scenario,
                               .plan = request.plan,
                               .records = run_.journal().settle(),
                               .left = std::move(left),
                               .left_after_sweep = without_accidents(sandbox_.left()),
                               .standard_error = outcome.standard_error};
    outcome.findings = findings_of_ungated(evidence, state.has_kills.load());
  }
  sandbox_.wipe();
  return outcome;
}

Outcome Server::play(const RunRequest& request) {
  const Scenario& scenario = scenario_named(request.scenario);
  const Plan& plan = request.plan;
  sandbox_.prepare();
  load(plan);
  if (!scenario.in_matrix()) {
    run_.control_block().interceptors.crossings_allowed = crossings_max_at_scale;
  }
  context_.scenario = &scenario;
  set_ambient(plan.ambient);
  std::optional<RunChoices> choices;
  if (RunChoices::are_needed(plan)) {
    choices.emplace(plan);
    run_.control_block().asks_controller = true;
  }
  KernelController controller(
      context_, context_.is_isolated, choices.has_value() ? &*choices : nullptr);
  controller.run();
  sandbox_.restore();

  std::vector<std::string> left = sandbox_.left();
  std::vector<std::string> left_after_sweep;
  const std::string standard_error = sandbox_.standard_error();
  if (!left.empty()) {
    if (controller.run_next_start()) {
      sweep();
    }
    left_after_sweep = sandbox_.left();
  }
  const Evidence evidence = {.scenario = scenario,
                             .plan = plan,
                             .records = run_.journal().settle(),
                             .left = std::move(left),
                             .left_after_sweep = std::move(left_after_sweep),
                             .standard_error = standard_error,
                             .files = controller.take_files()};
  Outcome outcome = outcome_of(evidence);
  const ControlBlock& control_block = run_.control_block();
  outcome.reached = control_block.interceptors.reached;
  outcome.probes = control_block.interceptors.probes;
  outcome.choices.assign(control_block.answers.begin(),
                         control_block.answers.begin() + control_block.asked);
  outcome.options.assign(control_block.options.begin(),
                         control_block.options.begin() + control_block.asked);
  if (choices) {
    choices->describe(run_.control_block(), outcome);
  }
  sandbox_.wipe();
  if (plays_ordinary_user()) {
    sandbox_.give_to(::geteuid());
  }
  return outcome;
}

bool transfer(int socket, char* at, std::size_t size, bool out) noexcept {
  while (size > 0) {
    const ssize_t done = out ? ::send(socket, at, size, MSG_NOSIGNAL) : ::recv(socket, at, size, 0);
    if (done < 0 && errno == EINTR) {
      continue;
    }
    if (done <= 0) {
      return false;
    }
    at += done;
    size -= static_cast<std::size_t>(done);
  }
  return true;
}

}  // namespace

bool send_message(int socket, const std::string& message) noexcept {
  std::uint64_t size = message.size();
  std::string framed(sizeof(size), '\0');
  std::copy_n(reinterpret_cast<const char*>(&size), sizeof(size), framed.data());
  framed += message;
  return transfer(socket, framed.data(), framed.size(), /*out=*/true);
}

bool receive_message(int socket, std::string& into) noexcept {
  std::uint64_t size = 0;
  if (!transfer(socket, reinterpret_cast<char*>(&size), sizeof(size), /*out=*/false)) {
    return false;
  }
  into.resize(size);
  return transfer(socket, into.data(), size, /*out=*/false);
}

ServerProcess::ServerProcess(Serve serve, const void* with) {
  struct Start {
    Serve serve;
    int socket;
    const void* with;
  };
  auto [ours, its] = make_socket_pair(SOCK_STREAM);
  LASTREF_ASSERT(ours.get() >= 0);
  Start start{.serve = serve, .socket = its.get(), .with = with};
  pid_ = fork_server(
      [](void* given, const std::string& missing) {
        const Start& all = *static_cast<const Start*>(given);
        all.serve(all.socket, all.with, missing);
      },
      &start);
  LASTREF_ASSERT(pid_ > 0);
  socket_ = std::move(ours);
}

ServerProcess::~ServerProcess() {
  socket_.reset();
  reap(pid_);
}

void settle_in(int socket) noexcept {
  // A terminal's Ctrl-C is meant for its foreground group, and must not affect processes of a run.
  // We end when the program does.
  ::setpgid(0, 0);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    ::signal(number, SIG_IGN);
  }
  tidy_descriptors(socket);
}

void serve_runs(int socket, const KernelOptions& options, const std::string& missing) {
  settle_in(socket);
  if (options.is_gated) {
    hold_program_in_huge_pages();
    sort_tables_of_unwinding();
  } else {
    lift_limits();
  }
  if (options.core) {
    pin_to(*options.core);
  }
  Server server(options, missing);
  const std::string& degraded = server.sandbox().degraded();
  if (!options.is_gated) {  // Its processes are executed by this one.
    for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
      ::dup2(harness_fd::standard_error, number);
    }
    set_up_sanitizers();
  }
  bool connected = send_message(harness_fd::request, degraded);
  // If an ungated run hangs, all processes are killed: they must be ours.
  connected = connected && (options.is_gated || degraded.empty());
  for (std::string message; connected && receive_message(harness_fd::request, message);) {
    connected = send_message(harness_fd::request, server.perform(decode_request(message)));
  }
  server.sandbox().leave();
  ::_exit(0);
}

}  // namespace lastref::harness
