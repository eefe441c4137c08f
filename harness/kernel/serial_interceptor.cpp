#include "harness/kernel/serial_interceptor.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <span>

#include "harness/instrument/next_step.hpp"
#include "harness/kernel/process.hpp"
#include "harness/platform/unique_fd.hpp"
#include "harness/program/arena.hpp"

namespace lastref::harness {
namespace {

/// The identity of the calling thread in the run, and its current call.
struct Me {
  ActorId actor = 0;
  const PendingCall* going = nullptr;
  PendingFaults pending = {};
};
thread_local Me me;

/// The interceptor to which this thread's allocations belong.
thread_local constinit SerialInterceptor* allocates_for = nullptr;

bool allocation_fails(const void* frame) noexcept {
  return allocates_for->allocation_fails(frame);
}

ActorState state_of(Wait reason) noexcept {
  switch (reason) {
    case Wait::lock:
      return ActorState::locking;
    case Wait::notice:
      return ActorState::noticing;
    case Wait::thread:
      return ActorState::joining;
  }
  LASTREF_ASSERT(false);
}

std::string_view name_of(ActorState state) noexcept {
  switch (state) {
    case ActorState::locking:
      return "a monitor's lock";
    case ActorState::noticing:
      return "a monitor's notice";
    case ActorState::joining:
      return "a thread's end";
    case ActorState::awaiting:
      return "await";
    default:
      return "poll";
  }
}

/// 0 for a signal that does not end a process.
int deadly_number(os::Signal signal) noexcept {
  switch (signal) {
    case os::Signal::interrupt:
      return SIGINT;
    case os::Signal::terminate:
      return SIGTERM;
    case os::Signal::hang_up:
      return SIGHUP;
    case os::Signal::quit:
      return SIGQUIT;
    case os::Signal::kill:
      return SIGKILL;
    default:
      return 0;
  }
}

}  // namespace

os::Pid pid_in_world(os::Fd process) noexcept {
  std::array<char, 512> text{};
  const std::string path = "self/fdinfo/" + std::to_string(static_cast<int>(process));
  const UniqueFd file(::openat(harness_fd::world_proc, path.c_str(), O_RDONLY | O_CLOEXEC));
  const ssize_t size = ::read(file.get(), text.data(), text.size());
  const std::string_view all(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  constexpr std::string_view label = "\nPid:\t";
  const std::size_t at = all.find(label);
  os::Pid pid = 0;
  if (at != std::string_view::npos) {
    std::from_chars(all.data() + at + label.size(), all.data() + all.size(), pid);
  }
  return pid;
}

SerialInterceptor::SerialInterceptor(SharedRun& run,
                                     std::span<const Fault> faults,
                                     std::uint16_t process) noexcept
    : PlanInterceptor(run.control_block().interceptors), RunMember(run, process), faults_(faults) {}

void SerialInterceptor::become(std::uint16_t process, ActorId actor) noexcept {
  set_process(process);
  me = {.actor = actor};
  chance_ = hash_of(role());
  play(faults_, role());
  for (auto& each : interests_) {
    each.clear();
  }
  count_allocations();
  take_turn(control_block(), actor);
}

void SerialInterceptor::count_allocations() noexcept {
  allocates_for = this;
  decide_allocations(harness::allocation_fails);
}

ActorId SerialInterceptor::actor() const noexcept {
  return me.actor;
}

void SerialInterceptor::halt() noexcept {
  for (;;) {
    take_turn(control_block(), me.actor);
  }
}

void SerialInterceptor::die(bool whole_tree) noexcept {
  control_block().request_process = process();
  give_controller(control_block(), whole_tree ? Request::kill_all : Request::self_kill);
  if (!whole_tree) {
    ::kill(::getpid(), SIGKILL);
  }
  halt();
}

void SerialInterceptor::end(int code) noexcept {
  control_block().processes[process()].has_ended = true;
  control_block().processes[process()].exit_code = code;
  control_block().request_process = process();
  give_controller(control_block(), Request::ended);
  ::_exit(code);
}

void SerialInterceptor::pass_on(ActorState state) noexcept {
  Actor& actor = self();
  actor.state = state;
  actor.late = false;
  if (state != ActorState::ready) {
    actor.step = {};
  }
  actor.name.assign(me.going != nullptr ? me.going->name : name_of(state));
  if (me.going != nullptr) {
    actor.object.assign(me.going->object);
  }
  control_block().progress.fetch_add(1, std::memory_order_relaxed);
  const std::optional<ActorId> next = next_actor(control_block(), /*may_stay=*/false);
  if (!next) {
    give_controller(control_block(), Request::quiet);
    take_turn(control_block(), me.actor);
  } else if (*next != me.actor) {
    give_turn(control_block(), *next);
    take_turn(control_block(), me.actor);
  } else {
    control_block().turns_on_end = 0;  // It has waited, and starts a new turn.
  }
  actor.state = ActorState::ready;
}

void SerialInterceptor::ask(NextStep step) noexcept {
  ControlBlock& shared = control_block();
  self().step = step;
  if (shared.interceptors.observing) {
    return;
  }
  const bool must = ++shared.turns_on_end > turns_on_end_max;
  if (!must && !shared.records_choices()) {
    return;
  }
  std::optional<ActorId> next = next_actor(shared, !must);
  if (must && next == me.actor) {
    // No other actor can continue, and this one repeatedly polls for something, which may come from
    // the paused ones.
    for (ActorId at = 0; at < shared.actors_used; ++at) {
      shared.actors[at].paused = false;
    }
    next = next_actor(shared, /*may_stay=*/false);
  }
  if (must) {
    shared.turns_on_end = 0;
  }
  if (next && *next != me.actor) {
    give_turn(shared, *next);
    take_turn(shared, me.actor);
  }
}

PendingFaults& SerialInterceptor::pending() noexcept {
  return me.pending;
}

void SerialInterceptor::crosses(const PendingCall* pending_call) noexcept {
  me.going = pending_call;
  control_block().progress.fetch_add(pending_call == nullptr ? 0 : 1, std::memory_order_relaxed);
}

void SerialInterceptor::let_others_go_first(const PendingCall& pending_call) noexcept {
  ask(step_of(pending_call));
}

void SerialInterceptor::ask(ThreadStep step, std::uint64_t object) noexcept {
  ask(step_of(step, process(), object));
}

Record* SerialInterceptor::claim() noexcept {
  Record* made = run().journal().claim();
  if (made != nullptr) {
    made->process = process();
    made->actor = me.actor;
    made->role = control_block().processes[process()].role;
  }
  return made;
}

void SerialInterceptor::publish(Record& record) noexcept {
  Journal::publish(record);
}

void SerialInterceptor::note_fired(FaultKind kind, std::size_t index) noexcept {
  note_fault(control_block());
  note_fact(run(), process(), fact::fired, name_of(kind), static_cast<std::int64_t>(index));
}

void SerialInterceptor::interrupt() noexcept {
  // A process that neither blocks nor ignores them dies here.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    ::kill(::getpid(), number);
  }
}

void SerialInterceptor::look() noexcept {
  ask_controller(Request::look);
}

void SerialInterceptor::pause() noexcept {
  self().paused = true;
  pass_on(ActorState::ready);
}

bool SerialInterceptor::ends_early() noexcept {
  return choose_early_end(control_block());
}

void SerialInterceptor::move_clock(os::Instant to) noexcept {
  control_block().clock = std::max(control_block().clock, to.count());
}

void SerialInterceptor::give_up() noexcept {
  give_controller(control_block(), Request::endless);
  halt();
}

std::string_view SerialInterceptor::role_of(os::Pid pid) const noexcept {
  // The last one: pids are reused.
  for (std::uint32_t at = control_block().processes_used; at > 0; --at) {
    if (control_block().processes[at - 1].own_pid == pid) {
      return control_block().processes[at - 1].role.view();
    }
  }
  return {};
}

void SerialInterceptor::closes(os::Fd fd) noexcept {
  const int number = static_cast<int>(fd);
  for (std::size_t at = 0; at < interests_.size(); ++at) {
    std::erase_if(interests_[at], [&](const Interest& interest) {
      if (interest.fd == number) {
        // Otherwise the file would stay in the epoll if another process has it open too. epoll(7),
        // Q6.
        ::epoll_ctl(
            harness_fd::actor_poller + static_cast<int>(at), EPOLL_CTL_DEL, number, nullptr);
      }
      return interest.fd == number;
    });
  }
}

void SerialInterceptor::bound(std::string_view path) noexcept {
  control_block().listener.assign(path);
}

std::optional<std::uint16_t> SerialInterceptor::live_process(os::Fd process) noexcept {
  const os::Pid pid = pid_in_world(process);
  for (std::uint16_t at = 0; at < control_block().processes_used; ++at) {
    if (control_block().processes[at].pid == pid && control_block().processes[at].live) {
      return at;
    }
  }
  return std::nullopt;
}

void SerialInterceptor::signals(os::Fd process, os::Signal signal) noexcept {
  const std::optional<std::uint16_t> at = live_process(process);
  if (at && deadly_number(signal) != 0) {
    control_block().processes[*at].sent |= signal_bit(deadly_number(signal));
  }
  if (at == this->process() && signal == os::Signal::kill) {
    die(/*whole_tree=*/false);  // The next actor must not have to wait until our death is noticed.
  }
}

void SerialInterceptor::signalled(os::Fd process, os::Signal signal) noexcept {
  const std::optional<std::uint16_t> at = live_process(process);
  if (!at) {
    return;
  }
  if (deadly_number(signal) == 0) {
    control_block().processes[*at].stopped = signal == os::Signal::stop;
    control_block().processes[*at].stopped_by = Process::no_process;
  }
  control_block().request_process = *at;
  ask_controller(Request::settle);
}

void SerialInterceptor::set_interests(std::span<const os::PollItem> items) noexcept {
  std::vector<Interest>& have = interests_[me.actor];
  const int poller = harness_fd::actor_poller + static_cast<int>(me.actor);
  std::vector<Interest> want;
  want.reserve(items.size());
  for (const os::PollItem& item : items) {
    const auto events = (item.want_read ? std::uint32_t{EPOLLIN} : 0U) |
                        (item.want_write ? std::uint32_t{EPOLLOUT} : 0U);
    const int fd = static_cast<int>(item.fd);
    const auto twin = std::ranges::find(want, fd, &Interest::fd);
    if (twin != want.end()) {
      twin->events |= events;
    } else if (fd >= 0) {
      want.push_back({.fd = fd, .events = events});
    }
  }
  for (const Interest& old : have) {
    if (std::ranges::find(want, old.fd, &Interest::fd) == want.end()) {
      ::epoll_ctl(poller, EPOLL_CTL_DEL, old.fd, nullptr);
    }
  }
  for (const Interest& interest : want) {
    const auto old = std::ranges::find(have, interest.fd, &Interest::fd);
    if (old != have.end() && old->events == interest.events) {
      continue;
    }
    epoll_event event{};
    event.events = interest.events;
    event.data.fd = interest.fd;
    if (old != have.end() || ::epoll_ctl(poller, EPOLL_CTL_ADD, interest.fd, &event) != 0) {
      ::epoll_ctl(poller, EPOLL_CTL_MOD, interest.fd, &event);
    }
  }
  have = std::move(want);
}

bool SerialInterceptor::wait_ready(std::span<const os::PollItem> items,
                                   std::optional<os::Instant> deadline) noexcept {
  set_interests(items);
  Actor& actor = self();
  actor.has_deadline = deadline.has_value();
  actor.deadline = deadline ? deadline->count() : 0;
  actor.doomed = me.pending.kill_blocked != nullptr;
  pass_on(ActorState::polling);
  strike_if_blocked();
  return !actor.late;
}

void SerialInterceptor::wait_for(Wait reason, const void* thing) noexcept {
  self().thing = thing;
  pass_on(state_of(reason));
}

void SerialInterceptor::wake(Wait reason, const void* thing) noexcept {
  const ActorState state = state_of(reason);
  for (ActorId at = 0; at < control_block().actors_used; ++at) {
    Actor& actor = control_block().actors[at];
    if (actor.state == state && actor.process == process() && actor.thing == thing) {
      actor.state = ActorState::ready;
    }
  }
}

os::Instant SerialInterceptor::now() noexcept {
  control_block().clock += tick.count();
  return os::Instant(control_block().clock);
}

void SerialInterceptor::fill(os::Buffer into) noexcept {
  for (std::byte& each : into) {
    chance_ = chance_ * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX
    each = static_cast<std::byte>(chance_ >> 56U);
  }
}

ActorId SerialInterceptor::new_actor() noexcept {
  return harness::new_actor(control_block(), process());
}

void SerialInterceptor::drop_actor(ActorId actor) noexcept {
  control_block().actors[actor].state = ActorState::gone;
}

void SerialInterceptor::actor_begun() noexcept {
  wait_until_child_ready(control_block());
}

void SerialInterceptor::actor_begins(ActorId actor) noexcept {
  me = {.actor = actor};
  count_allocations();
  signal_child_ready(control_block());
  take_turn(control_block(), actor);
}

void SerialInterceptor::actor_ends() noexcept {
  Actor& actor = self();
  actor.state = ActorState::gone;
  wake(Wait::thread, &actor);
  const std::optional<ActorId> next = next_actor(control_block(), /*may_stay=*/false);
  if (next) {
    give_turn(control_block(), *next);
  } else {
    give_controller(control_block(), Request::quiet);
  }
}

void SerialInterceptor::join(ActorId actor) noexcept {
  const Actor& other = control_block().actors[actor];
  while (other.state != ActorState::gone) {
    wait_for(Wait::thread, &other);
  }
}

void SerialInterceptor::tell(std::string_view signal) noexcept {
  ControlBlock& shared = control_block();
  const ObjectText given(signal);
  if (!shared.signals.tell(given)) {
    return;
  }
  for (ActorId at = 0; at < shared.actors_used; ++at) {
    Actor& actor = shared.actors[at];
    if (actor.state == ActorState::awaiting && actor.object == given.view()) {
      actor.state = ActorState::ready;
    }
  }
}

bool SerialInterceptor::await(std::string_view signal) noexcept {
  ControlBlock& shared = control_block();
  const ObjectText wanted(signal);
  ask({});
  while (!shared.signals.was_told(wanted)) {
    self().object = wanted;
    pass_on(ActorState::awaiting);
    if (self().late) {
      return shared.signals.was_told(wanted);
    }
  }
  return true;
}

void SerialInterceptor::send(std::string_view signal, std::string_view bytes) noexcept {
  control_block().signals.put(ObjectText(signal), bytes);
  tell(signal);
}

std::optional<std::string> SerialInterceptor::receive(std::string_view signal) noexcept {
  await(signal);
  return control_block().signals.mail(ObjectText(signal));
}

bool SerialInterceptor::resume(std::string_view role) {
  const ControlBlock& shared = control_block();
  const bool any = std::ranges::any_of(
      std::span(shared.processes).first(shared.processes_used),
      [&](const Process& each) { return each.live && each.stopped && each.plays(role); });
  ask_controller(Request::resume_role, role);
  return any;
}

std::size_t SerialInterceptor::processes(std::string_view role) {
  const ControlBlock& shared = control_block();
  return static_cast<std::size_t>(
      std::ranges::count_if(std::span(shared.processes).first(shared.processes_used),
                            [&](const Process& each) { return each.live && each.plays(role); }));
}

bool SerialInterceptor::fork_stranger(RunContext& context, const std::function<void()>& body) {
  const std::uint16_t stranger = new_process(control_block(), "stranger", process());
  const ActorId actor = harness::new_actor(control_block(), stranger);
  const pid_t pid = ::fork();
  LASTREF_ASSERT(pid >= 0);
  if (pid == 0) {
    become(stranger, actor);
    body();
    end(0);
  }
  publish_pid(context, stranger, pid);
  note_fact(run(), stranger, fact::born, role(), pid);
  return true;
}

void SerialInterceptor::ask_controller(Request request, std::string_view role) noexcept {
  control_block().request_role.assign(role);
  ask_controller(request);
}

void SerialInterceptor::ask_controller(Request request) noexcept {
  const std::uint32_t turns = control_block().turns_on_end;
  give_controller(control_block(), request);
  take_turn(control_block(), actor());
  control_block().turns_on_end = turns;  // It is still the same turn.
}

void SerialInterceptor::note(std::string_view operation,
                             std::string_view text,
                             bool begins,
                             int error) noexcept {
  if (begins) {
    this->begins(operation);
  }
  const PendingCall pending_call{.name = operation, .text = text};
  if (Record* made =
          record(pending_call, begins ? RecordKind::operation_begin : RecordKind::operation_end)) {
    made->error = error;
    Journal::publish(*made);
  }
}

void SerialInterceptor::fact(std::string_view name,
                             std::string_view text,
                             std::string_view object) noexcept {
  const PendingCall pending_call{.name = name, .object = object, .text = text};
  if (Record* made = record(pending_call, RecordKind::fact)) {
    Journal::publish(*made);
  }
}

}  // namespace lastref::harness
