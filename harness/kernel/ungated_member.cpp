#include "harness/kernel/ungated_member.hpp"

#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <new>
#include <set>
#include <span>

#include "harness/kernel/progress_timeout.hpp"
#include "harness/platform/child_process.hpp"
#include "harness/platform/proc.hpp"

namespace lastref::harness {
namespace {

/// A waiter rechecks after this time: the process that gives the signal may be killed before it
/// wakes any waiter.
constexpr timespec look_again{.tv_sec = 0, .tv_nsec = 50'000'000};
/// The pause between two attempts to take the lock.
constexpr timespec ask_again{.tv_sec = 0, .tv_nsec = 50'000};

static_assert(sizeof(pthread_mutex_t) <= sizeof(UngatedState::lock));
static_assert(alignof(pthread_mutex_t) <= alignof(std::uint64_t));

pthread_mutex_t* lock_of(ControlBlock& control_block) noexcept {
  return std::launder(reinterpret_cast<pthread_mutex_t*>(control_block.ungated.lock.data()));
}

std::uint32_t news_of(const ControlBlock& control_block) noexcept {
  return control_block.ungated.changes.load();
}

/// Waits until something has changed since `seen`, at most for that time.
void wait_for_news(const ControlBlock& control_block,
                   std::uint32_t seen,
                   const timespec& most) noexcept {
  ::syscall(SYS_futex, &control_block.ungated.changes, FUTEX_WAIT, seen, &most, nullptr, 0);
}

std::span<Process> processes_of(ControlBlock& control_block) noexcept {
  return std::span(control_block.processes).first(control_block.processes_used);
}

/// At this moment, not only when the world next checks.
bool is_alive(os::Pid pid) noexcept {
  return !is_dead(pid, std::chrono::milliseconds(0));
}

/// An actor for a thread that begins to await. With the lock held.
Actor& waiting_actor(ControlBlock& control_block, std::uint16_t process) noexcept {
  const auto used = std::span(control_block.actors).first(control_block.actors_used);
  const auto free = std::ranges::find(used, ActorState::gone, &Actor::state);
  Actor& actor =
      free == used.end() ? control_block.actors[new_actor(control_block, process)] : *free;
  actor.process = process;
  actor.late = false;
  return actor;
}

}  // namespace

void make_lock(ControlBlock& control_block) noexcept {
  pthread_mutexattr_t kind;
  ::pthread_mutexattr_init(&kind);
  ::pthread_mutexattr_setpshared(&kind, PTHREAD_PROCESS_SHARED);
  ::pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
  ::pthread_mutex_init(new (control_block.ungated.lock.data()) pthread_mutex_t, &kind);
  ::pthread_mutexattr_destroy(&kind);
}

UngatedLock::UngatedLock(ControlBlock& control_block) noexcept : control_block_(control_block) {
  if (control_block.is_gated) {
    return;
  }
  // No process sleeps on the lock. A process woken by an unlock may be killed before it runs, while
  // another takes the lock. Then neither the kernel nor the C library wakes the next.
  int taken = 0;
  while ((taken = ::pthread_mutex_trylock(lock_of(control_block))) == EBUSY) {
    wait_for_news(control_block, news_of(control_block), ask_again);
  }
  // A half-made change of a dead process has no effect, because counters are increased last.
  if (taken == EOWNERDEAD) {
    ::pthread_mutex_consistent(lock_of(control_block));
  }
}

UngatedLock::~UngatedLock() {
  if (!control_block_.is_gated) {
    ::pthread_mutex_unlock(lock_of(control_block_));
  }
}

bool end_stop(Process& process) noexcept {
  if (!process.live || !process.stopped) {
    return false;
  }
  process.stopped = false;
  ::kill(process.pid, SIGCONT);
  return true;
}

void make_news(ControlBlock& control_block) noexcept {
  control_block.ungated.changes.fetch_add(1);
  ::syscall(SYS_futex, &control_block.ungated.changes, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

bool UngatedMember::publish_pid() noexcept {
  const UngatedLock held(control_block());
  Process& known = control_block().processes[process()];
  known.pid = known.own_pid = ::getpid();
  return known.sent == 0;
}

void UngatedMember::note_end(int exit_code) noexcept {
  const UngatedLock held(control_block());
  control_block().processes[process()].exit_code = exit_code;
  control_block().processes[process()].has_ended = true;
}

void UngatedMember::begin_timed_wait() noexcept {
  control_block().ungated.timed_waits[process()].fetch_add(1);
}

void UngatedMember::end_timed_wait() noexcept {
  control_block().ungated.timed_waits[process()].fetch_sub(1);
}

void UngatedMember::tell(std::string_view signal) noexcept {
  {
    const UngatedLock held(control_block());
    control_block().signals.tell(ObjectText(signal));
  }
  make_news(control_block());
}

bool UngatedMember::await(std::string_view signal) noexcept {
  const ObjectText wanted(signal);
  Actor* actor = nullptr;
  for (;;) {
    const std::uint32_t seen = news_of(control_block());
    {
      const UngatedLock held(control_block());
      if (actor == nullptr) {
        actor = &waiting_actor(control_block(), process());
        actor->object = wanted;
        actor->state = ActorState::awaiting;
      }
      const bool told = control_block().signals.was_told(wanted);
      if (told || actor->late) {
        actor->state = ActorState::gone;
        return told;
      }
    }
    wait_for_news(control_block(), seen, look_again);
  }
}

void UngatedMember::send(std::string_view signal, std::string_view bytes) noexcept {
  {
    const UngatedLock held(control_block());
    control_block().signals.put(ObjectText(signal), bytes);
  }
  tell(signal);
}

std::optional<std::string> UngatedMember::receive(std::string_view signal) noexcept {
  await(signal);
  const UngatedLock held(control_block());
  return control_block().signals.mail(ObjectText(signal));
}

void UngatedMember::stop(std::string_view role) {
  // Until it is stopped, so that no process is stopped while it has the lock: none could continue.
  const UngatedLock held(control_block());
  for (Process& each : processes_of(control_block())) {
    if (each.live && each.pid > 0 && each.pid != ::getpid() && each.plays(role)) {
      each.stopped = true;
      each.stopped_by = process();
      ::kill(each.pid, SIGSTOP);
      while (!is_stopped(each.pid)) {
        ::poll(nullptr, 0, 1);
      }
    }
  }
}

bool UngatedMember::resume(std::string_view role) {
  const UngatedLock held(control_block());
  bool any = false;
  for (Process& each : processes_of(control_block())) {
    any = (each.plays(role) && end_stop(each)) || any;
  }
  return any;
}

void UngatedMember::kill(std::string_view role) {
  {
    const UngatedLock held(control_block());
    for (Process& each : processes_of(control_block())) {
      if (each.live && each.plays(role)) {
        each.sent |= signal_bit(SIGKILL);  // Without a pid yet, it ends when it publishes one.
        if (each.pid > 0) {
          ::kill(each.pid, SIGKILL);
        }
      }
    }
  }
  // Processes started in their place meanwhile are not affected. But a helper that starts a process
  // has copies of its parent's descriptors. What they lock is not free until the helper has exited.
  while (is_any_dying() || is_any_starting()) {
    wait_for_news(control_block(), news_of(control_block()), look_again);
  }
}

bool UngatedMember::is_any_dying() {
  const UngatedLock held(control_block());
  return std::ranges::any_of(processes_of(control_block()), [](const Process& each) {
    return each.live && each.sent != 0 && each.pid > 0 && is_alive(each.pid);
  });
}

/// Whether there is a process that neither belongs to the world nor is in the control block.
bool UngatedMember::is_any_starting() {
  std::set<os::Pid> known = {1};
  {
    const UngatedLock held(control_block());
    for (const Process& each : processes_of(control_block())) {
      known.insert(each.pid);
    }
  }
  return std::ranges::any_of(
      numbers_in("/proc"), [&known](os::Pid pid) { return !known.contains(pid) && is_alive(pid); });
}

std::size_t UngatedMember::processes(std::string_view role) {
  // A process that was killed before it had a pid is in the control block until the run is over.
  // When none is starting, those without a pid are dead.
  while (is_any_starting()) {
    wait_for_news(control_block(), news_of(control_block()), look_again);
  }
  const UngatedLock held(control_block());
  return static_cast<std::size_t>(
      std::ranges::count_if(processes_of(control_block()), [&](const Process& each) {
        return each.live && each.plays(role) && each.pid > 0 && is_alive(each.pid);
      }));
}

bool UngatedMember::fork_stranger(RunContext& /*context*/, const std::function<void()>& /*body*/) {
  run().lacks_gate("it forks, and copies of threaded processes bear no threads under TSan");
  return false;
}

void UngatedMember::note(std::string_view operation,
                         std::string_view text,
                         bool begins,
                         int error) noexcept {
  if (Record* const record = run().journal().claim()) {
    record->kind = begins ? RecordKind::operation_begin : RecordKind::operation_end;
    record->process = process();
    record->role.assign(role());
    record->name.assign(operation);
    record->text.assign(text);
    record->error = error;
    Journal::publish(*record);
  }
}

void UngatedMember::fact(std::string_view name,
                         std::string_view text,
                         std::string_view /*object*/) noexcept {
  note_fact(run(), process(), name, text);
}

}  // namespace lastref::harness
