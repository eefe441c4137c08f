#include "harness/kernel/process.hpp"

#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>

#include <lastref/tracker.hpp>

#include "harness/kernel/exec_handoff.hpp"
#include "harness/kernel/fd_inventory.hpp"
#include "harness/kernel/kernel_limits.hpp"
#include "harness/kernel/kernel_stage.hpp"
#include "harness/kernel/noise.hpp"
#include "harness/platform/child_process.hpp"
#include "harness/platform/namespaces.hpp"
#include "harness/program/arena.hpp"

namespace lastref::harness {
namespace {

constexpr int first_free = 3;
/// The exit code of a process without a role, or with an unknown one.
constexpr int unknown_role = 3;
/// A longer time limit counts as none: a tracker checks ever more rarely for missing processes.
constexpr std::chrono::seconds limit_that_counts{5};

sigset_t set_of(std::span<const os::Signal> signals) noexcept {
  sigset_t set;
  ::sigemptyset(&set);
  for (const os::Signal signal : signals) {
    switch (signal) {
      case os::Signal::interrupt:
        ::sigaddset(&set, SIGINT);
        break;
      case os::Signal::terminate:
        ::sigaddset(&set, SIGTERM);
        break;
      case os::Signal::hang_up:
        ::sigaddset(&set, SIGHUP);
        break;
      case os::Signal::quit:
        ::sigaddset(&set, SIGQUIT);
        break;
      default:
        break;  // The others cannot be blocked. signal(7)
    }
  }
  return set;
}

/// Keeps only what is passed, under its number; the harness's own descriptors are above.
void keep_only(std::span<const os::PassedFd> fds) noexcept {
  int aside = harness_fd::aside;
  for (const os::PassedFd& fd : fds) {
    const int moved = ::dup2(static_cast<int>(fd.here), aside++);
    LASTREF_ASSERT(moved >= 0);
  }
  ::close_range(first_free, static_cast<unsigned>(harness_fd::lowest) - 1, 0);
  aside = harness_fd::aside;
  for (const os::PassedFd& fd : fds) {
    ::dup2(aside, fd.number_there);
    ::close(aside++);
  }
}

/// Runs an entry point, or a role, which gets a stage. Returns the exit code.
int perform(RunContext& context,
            RunMember& member,
            os::Os& os,
            InstrumentedOs* instrumented,
            const SpawnRequest& request,
            std::optional<KernelStage>& stage) {
  if (request.entry != nullptr) {
    return request.entry->run(os, request.arguments);
  }
  const Role* role = role_named(*context.scenario, request.role);
  if (role == nullptr) {
    member.fact(fact::refuted, "the scenario has every role that it starts", {});
    member.fact(fact::seen, request.role, {});
    return unknown_role;
  }
  stage.emplace(context, member, os, instrumented, request.arguments);
  stage->note_end(run_body(*role, *stage));
  return 0;
}

/// After the hooks of the product.
void leave_tree(std::optional<KernelStage>& stage) {
  if (stage && stage->product().has_client()) {
    stage->product().leave();  // Recorded: from here on its references may disappear.
  }
}

/// What the last hook of a process of an ungated run needs. Its objects exist until then, because
/// std::exit destroys no local object: threads that were not joined may use them.
struct UngatedEnd {
  UngatedMember* member = nullptr;
  std::optional<KernelStage>* stage = nullptr;
  int code = 0;
};
UngatedEnd ungated_end;

/// The life of a new process, from its fork on.
[[noreturn]] void live(RunContext& context,
                       std::uint16_t process,
                       ActorId actor,
                       const SpawnRequest& request) {
  const ArenaPause is_the_servers;
  if (context.ambient != nullptr) {
    lift_limits();  // The parent's limits; our numbers are above them.
    become_root_again();
  }
  keep_only(request.fds);
  if (::fcntl(STDIN_FILENO, F_GETFD) < 0) {
    ::open("/dev/null", O_RDONLY);  // If its parent has closed it, it is the lowest free number.
  }
  for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(harness_fd::standard_error, number);
  }
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    ::signal(number, SIG_DFL);  // As after an exec, even if the parent ignores them.
  }
  for (const auto& [name, value] : request.environment) {
    // The only thread of this process.
    // NOLINTNEXTLINE(concurrency-mt-unsafe)
    ::setenv(name.c_str(), value.c_str(), 1);
  }
  signal_child_ready(context.run.control_block());
  if (context.ambient != nullptr) {
    execute_program(
        arguments_of({.process = process, .actor = actor, .by_scenario = true}, context, request));
  }
  play(context, process, actor, request);
}

/// As fork(2). A process in a pid namespace sees its own /proc, as in containers.
pid_t fork_in_namespace() noexcept {
  bool permitted = false;
  const pid_t pid = fork_first_process(permitted);
  if (pid == 0) {
    const bool done = permitted && ::unshare(CLONE_NEWNS) == 0 && mount_proc();
    LASTREF_ASSERT(done);
  }
  return pid;
}

}  // namespace

std::uint64_t bits_of(std::span<const os::Signal> signals) noexcept {
  const sigset_t set = set_of(signals);
  std::uint64_t bits = 0;
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    bits |= ::sigismember(&set, number) == 1 ? signal_bit(number) : 0U;
  }
  return bits;
}

void publish_pid(RunContext& context, std::uint16_t process, os::Pid pid) noexcept {
  Process& known = context.run.control_block().processes[process];
  known.own_pid = pid;
  known.pid = pid;
  if (context.plays_in(ambient::pid_namespace)) {
    known.pid = pid_in_world(os::Fd{open_pidfd(pid).get()});
    LASTREF_ASSERT(known.pid > 0);
  }
}

void play(RunContext& context,
          std::uint16_t process,
          ActorId actor,
          const SpawnRequest& request,
          const std::optional<Finding>& wrong) {
  const FdInventory at_first = FdInventory::look();
  SerialInterceptor interceptor(context.run, context.faults, process);
  ForkingOs kernel(context, interceptor);
  InstrumentedOs os(kernel, interceptor, limits_in(context.parameters));
  for (const os::PassedFd& fd : request.fds) {
    os.adopt(static_cast<os::Fd>(fd.number_there), "passed");
  }
  interceptor.become(process, actor);
  if (wrong) {
    interceptor.fact(fact::refuted, wrong->claim, {});
    interceptor.fact(fact::seen, wrong->seen, {});
  }
  std::optional<KernelStage> stage;
  const int code = perform(context, interceptor, os, &os, request, stage);
  os.run_exit_hooks();
  leave_tree(stage);
  stage.reset();
  // What the instrumented Os keeps count of, and what the kernel has open independent of it.
  for (const std::string& name : os.still_open()) {
    interceptor.fact(fact::fd_left, {}, name);
  }
  for (const std::string& name : FdInventory::look().more_than(at_first)) {
    interceptor.fact(fact::fd_left, "as /proc has it", name);
  }
  interceptor.end(code);
}

void play_ungated(RunContext& context, std::uint16_t process, const SpawnRequest& request) {
  UngatedMember member(context.run, process);
  if (!member.publish_pid()) {
    ::raise(SIGKILL);
  }
  note_fact(context.run, process, fact::born, {}, ::getpid());
  UngatedOs kernel(context, member);
  std::optional<NoisyOs> noisy;
  if (const std::uint64_t noise = context.run.control_block().ungated.noise; noise != 0) {
    share_processor(noise);
    noisy.emplace(kernel, noise + process);
  }
  os::Os& os = noisy ? static_cast<os::Os&>(*noisy) : kernel;
  std::optional<KernelStage> stage;
  ungated_end = {.member = &member, .stage = &stage};
  // The hook that is registered first runs last.
  const int registered = std::atexit([] {
    leave_tree(*ungated_end.stage);
    ungated_end.member->note_end(ungated_end.code);
  });
  LASTREF_ASSERT(registered == 0);
  ungated_end.code = perform(context, member, os, nullptr, request, stage);
  std::exit(ungated_end.code);  // NOLINT(concurrency-mt-unsafe): as every program does.
}

std::vector<EntryPoint> product_entries() {
  return {{.name = tracker::entry_point, .run = tracker::run}};
}

Result<os::Pid> spawn_process(RunContext& context,
                              std::uint16_t parent,
                              const SpawnRequest& request) {
  ControlBlock& control_block = context.run.control_block();
  const std::uint16_t process = new_process(control_block, request.role, parent);
  const ActorId actor = new_actor(control_block, process);
  // Blocked around the fork: the child must not run for an instant with these signals unblocked.
  const sigset_t blocked = set_of(request.blocked);
  sigset_t before;
  ::pthread_sigmask(SIG_SETMASK, &blocked, &before);
  // The controller starts the first process.
  const bool is_first = process == 0 && context.plays_in(ambient::pid_namespace);
  const pid_t pid = is_first ? fork_in_namespace() : ::fork();
  if (pid == 0) {
    live(context, process, actor, request);
  }
  const int code = errno;
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) {
    control_block.actors[actor].state = ActorState::gone;
    control_block.processes[process].live = false;
    return failure(std::errc{code}, request.role, Call::spawn);
  }
  wait_until_child_ready(control_block);
  publish_pid(context, process, pid);
  if (is_first) {
    control_block.processes[process].own_pid = 1;
  }
  const Process& known = control_block.processes[process];
  note_fact(
      context.run, process, fact::born, control_block.processes[parent].role.view(), known.own_pid);
  return pid;
}

Result<os::Child> ForkingOs::spawn(const os::SpawnOptions& options) noexcept {
  const auto found = std::ranges::find(context_.entries, options.entry, &EntryPoint::name);
  const EntryPoint* entry = found == context_.entries.end() ? nullptr : &*found;
  const Role* role = entry == nullptr
                         ? role_started_as(*context_.scenario, options.entry, options.arguments)
                         : nullptr;
  if (entry == nullptr && role == nullptr) {
    return failure(std::errc::no_such_file_or_directory, options.entry, Call::spawn);
  }
  // Checked here, because a child that dies while it is started would go unnoticed.
  for (const os::PassedFd& fd : options.fds) {
    if (::fcntl(static_cast<int>(fd.here), F_GETFD) < 0) {
      return failure(std::errc::bad_file_descriptor, options.entry, Call::spawn);
    }
  }
  const SpawnRequest request = {.role = role == nullptr ? options.entry : role->name,
                                .entry = entry,
                                .arguments = options.arguments,
                                .fds = options.fds,
                                .blocked = options.blocked,
                                .environment = options.environment};
  if (context_.ambient != nullptr || !context_.run.is_gated()) {
    return execute(options, request);
  }
  const auto pid = spawn_process(context_, member_.process(), request);
  if (!pid) {
    return failure(pid.error());
  }
  // Above the standard descriptors, some of which may be closed here.
  const Result<os::Fd> process = KernelOs::open_process(*pid);
  LASTREF_ASSERT(process.has_value());
  return os::Child{.pid = *pid, .process = *process};
}

std::optional<SpawnedProcess> ForkingOs::announce(const std::string& role) noexcept {
  ControlBlock& control_block = context_.run.control_block();
  const UngatedLock held(control_block);
  if (!control_block.is_gated && control_block.processes_used == processes_max) {
    return std::nullopt;
  }
  SpawnedProcess spawned{.process = new_process(control_block, role, member_.process())};
  if (control_block.is_gated) {
    spawned.actor = new_actor(control_block, spawned.process);
  }
  return spawned;
}

void ForkingOs::withdraw(const SpawnedProcess& spawned) noexcept {
  ControlBlock& control_block = context_.run.control_block();
  const UngatedLock held(control_block);
  control_block.processes[spawned.process].live = false;
  if (control_block.is_gated) {
    control_block.actors[spawned.actor].state = ActorState::gone;
  }
}

Result<os::Child> ForkingOs::execute(const os::SpawnOptions& options,
                                     const SpawnRequest& request) noexcept {
  const bool is_of_second =
      context_.makes_second_tree || (!options.arguments.empty() && !context_.second_tree.empty() &&
                                     options.arguments.front() == context_.second_tree);
  const std::optional<SpawnedProcess> spawned =
      announce(is_of_second ? "second_" + request.role : request.role);
  if (!spawned) {
    return failure(std::errc::resource_unavailable_try_again, options.entry, Call::spawn);
  }
  os::SpawnOptions ours = options;
  ours.entry = born_argument;
  ours.arguments = arguments_of(*spawned, context_, request);
  const std::vector<os::PassedFd> inherited = harness_descriptors(context_.run.is_gated());
  ours.fds.insert(ours.fds.end(), inherited.begin(), inherited.end());
  Result<os::Child> child = [&] {
    const LimitsLifted lifted;
    return KernelOs::spawn(ours);
  }();
  if (!child) {
    withdraw(*spawned);
  } else if (context_.run.is_gated()) {  // Otherwise it does this itself.
    publish_pid(context_, spawned->process, child->pid);
    note_fact(context_.run, spawned->process, fact::born, member_.role(), child->pid);
  }
  return child;
}

Result<std::size_t> UngatedOs::poll(std::span<os::PollItem> items,
                                    std::optional<std::chrono::nanoseconds> timeout) noexcept {
  if (!timeout || *timeout <= os::Instant(0) || *timeout > limit_that_counts) {
    return KernelOs::poll(items, timeout);
  }
  member_.begin_timed_wait();
  Result<std::size_t> ready = KernelOs::poll(items, timeout);
  member_.end_timed_wait();
  return ready;
}

Status UngatedOs::signal_process(os::Fd process, os::Signal signal) noexcept {
  const os::Pid pid = pid_in_world(process);
  ControlBlock& control_block = member_.run().control_block();
  // Held until the signal is sent: a process that published its pid in between would be killed, and
  // nothing would say by which call.
  const UngatedLock held(control_block);
  for (Process& each : std::span(control_block.processes).first(control_block.processes_used)) {
    if (pid > 0 && each.pid == pid) {
      each.sent |= signal_bit(SIGKILL);
    }
  }
  return KernelOs::signal_process(process, signal);
}

Result<std::size_t> ForkingOs::write(os::Fd fd, os::Bytes bytes) noexcept {
  const bool is_said = fd == os::Fd::standard_output || fd == os::Fd::standard_error;
  const std::optional<FileSizeLifted> lifted =
      is_said ? std::optional<FileSizeLifted>(std::in_place) : std::nullopt;
  return KernelOs::write(fd, bytes);
}

}  // namespace lastref::harness
