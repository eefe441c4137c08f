#include "harness/kernel/serial_gate.hpp"

#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>

namespace lastref::harness {
namespace {

/// What the calling thread is in the run, and what it is doing.
struct Me {
  ActorId actor = 0;
  const Approach* going = nullptr;
  PendingFaults pending = {};
};
thread_local Me me;

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

std::string_view word_of(ActorState state) noexcept {
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

/// 0 for a signal that nobody dies of.
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
  const int fd = ::openat(harness_fd::world_proc, path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) {
    return 0;
  }
  const ssize_t size = ::read(fd, text.data(), text.size());
  ::close(fd);
  const std::string_view all(text.data(), static_cast<std::size_t>(std::max<ssize_t>(size, 0)));
  constexpr std::string_view label = "\nPid:\t";
  const std::size_t at = all.find(label);
  os::Pid pid = 0;
  if (at != std::string_view::npos) {
    std::from_chars(all.data() + at + label.size(), all.data() + all.size(), pid);
  }
  return pid;
}

SerialGate::SerialGate(SharedRun& run,
                       std::span<const Fault> faults,
                       std::uint16_t process) noexcept
    : PlanGate(run.segment().gates), run_(run), faults_(faults), process_(process) {}

void SerialGate::become(std::uint16_t process, ActorId actor) noexcept {
  process_ = process;
  me = {.actor = actor};
  chance_ = hash_of(role());
  play(faults_, role());
  for (auto& each : interests_) {
    each.clear();
  }
  take_turn(segment(), actor);
}

std::string_view SerialGate::role() const noexcept {
  return segment().processes[process_].role.view();
}

ActorId SerialGate::actor() const noexcept {
  return me.actor;
}

void SerialGate::halt() noexcept {
  for (;;) {
    take_turn(segment(), me.actor);
  }
}

void SerialGate::die(bool whole_tree) noexcept {
  segment().request_process = process_;
  give_controller(segment(), whole_tree ? Request::kill_all : Request::suicide);
  if (!whole_tree) {
    ::kill(::getpid(), SIGKILL);
  }
  halt();
}

void SerialGate::end(int code) noexcept {
  segment().processes[process_].has_ended = true;
  segment().processes[process_].exit_code = code;
  segment().request_process = process_;
  give_controller(segment(), Request::ended);
  ::_exit(code);
}

void SerialGate::pass_on(ActorState state) noexcept {
  Actor& actor = self();
  actor.state = state;
  actor.late = false;
  actor.place.assign(me.going != nullptr ? me.going->place : word_of(state));
  if (me.going != nullptr) {
    actor.object.assign(me.going->object);
  }
  segment().progress.fetch_add(1, std::memory_order_relaxed);
  const std::optional<ActorId> next = next_actor(segment(), /*may_stay=*/false);
  if (!next) {
    give_controller(segment(), Request::quiet);
    take_turn(segment(), me.actor);
  } else if (*next != me.actor) {
    give_turn(segment(), *next);
    take_turn(segment(), me.actor);
  } else {
    segment().turns_on_end = 0;  // It has waited, and gets a turn of its own.
  }
  actor.state = ActorState::ready;
}

void SerialGate::ask() noexcept {
  Segment& shared = segment();
  if (shared.gates.observing) {
    return;
  }
  const bool must = ++shared.turns_on_end > turns_on_end_max;
  if (!must && !shared.is_curious()) {
    return;
  }
  const std::optional<ActorId> next = next_actor(shared, !must);
  if (must) {
    shared.turns_on_end = 0;
  }
  if (next && *next != me.actor) {
    give_turn(shared, *next);
    take_turn(shared, me.actor);
  }
}

PendingFaults& SerialGate::pending() noexcept {
  return me.pending;
}

void SerialGate::crosses(const Approach* approach) noexcept {
  me.going = approach;
  segment().progress.fetch_add(approach == nullptr ? 0 : 1, std::memory_order_relaxed);
}

void SerialGate::let_others_go_first(const Approach& /*approach*/) noexcept {
  ask();
}

Record* SerialGate::claim() noexcept {
  Record* made = run_.journal().claim();
  if (made != nullptr) {
    made->process = process_;
    made->actor = me.actor;
    made->role = segment().processes[process_].role;
  }
  return made;
}

void SerialGate::publish(Record& record) noexcept {
  Journal::publish(record);
}

void SerialGate::note_fired(FaultKind kind, std::size_t index) noexcept {
  note_fact(run_, process_, fact::fired, name_of(kind), static_cast<std::int64_t>(index));
}

void SerialGate::interrupt() noexcept {
  // Here dies whoever neither blocks nor ignores them.
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
    ::kill(::getpid(), number);
  }
}

void SerialGate::pause() noexcept {
  self().paused = true;
  pass_on(ActorState::ready);
}

void SerialGate::give_up() noexcept {
  give_controller(segment(), Request::endless);
  halt();
}

std::string_view SerialGate::role_of(os::Pid pid) const noexcept {
  // The last one: pids are used again.
  for (std::uint32_t at = segment().processes_used; at > 0; --at) {
    if (segment().processes[at - 1].own_pid == pid) {
      return segment().processes[at - 1].role.view();
    }
  }
  return {};
}

void SerialGate::closes(os::Fd fd) noexcept {
  const int number = static_cast<int>(fd);
  for (std::size_t at = 0; at < interests_.size(); ++at) {
    std::erase_if(interests_[at], [&](const Interest& interest) {
      if (interest.fd == number) {
        // Else the file would stay in the epoll if another process has it open too. epoll(7), Q6.
        ::epoll_ctl(
            harness_fd::actor_poller + static_cast<int>(at), EPOLL_CTL_DEL, number, nullptr);
      }
      return interest.fd == number;
    });
  }
}

void SerialGate::bound(std::string_view path) noexcept {
  segment().listener.assign(path);
}

std::optional<std::uint16_t> SerialGate::live_process(os::Fd process) noexcept {
  const os::Pid pid = pid_in_world(process);
  for (std::uint16_t at = 0; at < segment().processes_used; ++at) {
    if (segment().processes[at].pid == pid && segment().processes[at].live) {
      return at;
    }
  }
  return std::nullopt;
}

void SerialGate::signals(os::Fd process, os::Signal signal) noexcept {
  const std::optional<std::uint16_t> at = live_process(process);
  if (at && deadly_number(signal) != 0) {
    segment().processes[*at].sent |= signal_bit(deadly_number(signal));
  }
  if (at == process_ && signal == os::Signal::kill) {
    die(/*whole_tree=*/false);  // Whoever comes next must not wait for us to be missed.
  }
}

void SerialGate::signalled(os::Fd process, os::Signal signal) noexcept {
  const std::optional<std::uint16_t> at = live_process(process);
  if (!at) {
    return;
  }
  if (deadly_number(signal) == 0) {
    segment().processes[*at].stopped = signal == os::Signal::stop;
  }
  const std::uint32_t turns = segment().turns_on_end;
  segment().request_process = *at;
  give_controller(segment(), Request::settle);
  take_turn(segment(), me.actor);
  segment().turns_on_end = turns;  // It is the same turn still.
}

void SerialGate::set_interests(std::span<const os::PollItem> items) noexcept {
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

bool SerialGate::wait_ready(std::span<const os::PollItem> items,
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

void SerialGate::wait_for(Wait reason, const void* thing) noexcept {
  self().thing = thing;
  pass_on(state_of(reason));
}

void SerialGate::wake(Wait reason, const void* thing) noexcept {
  const ActorState state = state_of(reason);
  for (ActorId at = 0; at < segment().actors_used; ++at) {
    Actor& actor = segment().actors[at];
    if (actor.state == state && actor.process == process_ && actor.thing == thing) {
      actor.state = ActorState::ready;
    }
  }
}

os::Instant SerialGate::now() noexcept {
  segment().clock += tick.count();
  return os::Instant(segment().clock);
}

void SerialGate::fill(os::Buffer into) noexcept {
  for (std::byte& each : into) {
    chance_ = chance_ * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX
    each = static_cast<std::byte>(chance_ >> 56U);
  }
}

ActorId SerialGate::new_actor() noexcept {
  return harness::new_actor(segment(), process_);
}

void SerialGate::drop_actor(ActorId actor) noexcept {
  segment().actors[actor].state = ActorState::gone;
}

void SerialGate::actor_begun() noexcept {
  wait_until_apart(segment());
}

void SerialGate::actor_begins(ActorId actor) noexcept {
  me = {.actor = actor};
  say_apart(segment());
  take_turn(segment(), actor);
}

void SerialGate::actor_ends() noexcept {
  Actor& actor = self();
  actor.state = ActorState::gone;
  wake(Wait::thread, &actor);
  const std::optional<ActorId> next = next_actor(segment(), /*may_stay=*/false);
  if (next) {
    give_turn(segment(), *next);
  } else {
    give_controller(segment(), Request::quiet);
  }
}

void SerialGate::join(ActorId actor) noexcept {
  const Actor& other = segment().actors[actor];
  while (other.state != ActorState::gone) {
    wait_for(Wait::thread, &other);
  }
}

}  // namespace lastref::harness
