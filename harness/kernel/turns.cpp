// turns: who goes on, and how the turn gets there.
#include "harness/instrument/turns.hpp"

#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <new>

#include "harness/choice/choices.hpp"
#include "harness/kernel/segment.hpp"

namespace lastref::harness {
namespace {

using Ready = std::bitset<actors_max>;

constexpr std::size_t journal_offset = (sizeof(Segment) + 4095) / 4096 * 4096;

long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* time) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return ::syscall(SYS_futex, &word, what, value, time, nullptr, 0);
}

void give(std::atomic<std::uint32_t>& word) noexcept {
  word.store(1, std::memory_order_release);
  futex(word, FUTEX_WAKE, 1, nullptr);
}

void take(std::atomic<std::uint32_t>& word) noexcept {
  while (word.exchange(0, std::memory_order_acquire) == 0) {
    futex(word, FUTEX_WAIT, 0, nullptr);
  }
}

/// The actors whose descriptors have something for them, as the kernel says at this moment.
Ready ready_pollers() noexcept {
  std::array<epoll_event, actors_max> events{};
  const int count =
      ::epoll_wait(harness_fd::pollers, events.data(), static_cast<int>(events.size()), 0);
  Ready ready;
  for (int at = 0; at < count; ++at) {
    ready.set(events[static_cast<std::size_t>(at)].data.u32);
  }
  return ready;
}

bool may_run(const Segment& segment, const Actor& actor) noexcept {
  const Process& process = segment.processes[actor.process];
  if (actor.state == ActorState::unused || actor.state == ActorState::gone || process.stopped) {
    return false;
  }
  return !segment.gates.observing || process.base == "tracker";
}

/// Who could go on, in the order of their turns.
std::size_t list_ready(const Segment& segment,
                       bool may_stay,
                       std::array<ActorId, actors_max>& into) noexcept {
  const bool somebody_polls =
      std::ranges::any_of(std::span(segment.actors).first(segment.actors_used),
                          [](const Actor& actor) { return actor.state == ActorState::polling; });
  const Ready ready = somebody_polls ? ready_pollers() : Ready{};
  std::size_t count = 0;
  offer_turn(
      segment.current,
      segment.actors_used,
      may_stay,
      [&](std::size_t at) {
        const Actor& actor = segment.actors[at];
        const bool able = actor.state == ActorState::ready ||
                          (actor.state == ActorState::polling && ready.test(at));
        return able && may_run(segment, actor);
      },
      [&](std::size_t at) { return segment.actors[at].paused; },
      [&](std::size_t at) { into[count++] = static_cast<ActorId>(at); });
  return count;
}

/// The one whose deadline comes first; the clock moves there.
std::optional<ActorId> first_deadline(Segment& segment) noexcept {
  std::optional<ActorId> first;
  for (ActorId at = 0; at < segment.actors_used; ++at) {
    const Actor& actor = segment.actors[at];
    if (actor.state == ActorState::polling && actor.has_deadline && may_run(segment, actor) &&
        (!first || actor.deadline < segment.actors[*first].deadline)) {
      first = at;
    }
  }
  if (first) {
    Actor& actor = segment.actors[*first];
    segment.clock = std::max(segment.clock, actor.deadline);
    actor.late = true;
    actor.state = ActorState::ready;
  }
  return first;
}

}  // namespace

SharedRun::SharedRun() noexcept
    : memory_(journal_offset + Journal::size_for(records_max)),
      segment_(new (memory_.get()) Segment),
      journal_(static_cast<std::byte*>(memory_.get()) + journal_offset, records_max) {
  const int kept = ::dup2(memory_.descriptor(), harness_fd::run);
  LASTREF_ASSERT(kept == harness_fd::run);
}

SharedRun::SharedRun(Inherited) noexcept
    : memory_(journal_offset + Journal::size_for(records_max), harness_fd::run),
      segment_(static_cast<Segment*>(memory_.get())),
      journal_(static_cast<std::byte*>(memory_.get()) + journal_offset, records_max) {}

void SharedRun::reset() noexcept {
  Segment& segment = *segment_;
  for (ActorId at = 0; at < segment.actors_used; ++at) {
    Actor& actor = segment.actors[at];
    actor.turn.store(0, std::memory_order_relaxed);
    actor.state = ActorState::unused;
  }
  segment.controller_turn.store(0, std::memory_order_relaxed);
  segment.request = Request::quiet;
  segment.current = 0;
  segment.actors_used = 0;
  segment.processes_used = 0;
  segment.gates = {};
  segment.turns_on_end = 0;
  segment.clock = 0;
  segment.listener.assign({});
  segment.records_questions = false;
  segment.has_seed = false;
  segment.chance = 0;
  segment.given_count = 0;
  segment.asked = 0;
  segment.signal_count = 0;
  segment.mail_count = 0;
  journal_.reset();
}

std::uint32_t choose(Segment& segment, std::uint32_t options, bool sticky) noexcept {
  LASTREF_ASSERT(options > 0);
  if (options == 1 || !segment.is_curious()) {
    return 0;
  }
  const bool is_given = segment.asked < segment.given_count;
  const std::uint32_t answer = answer_of(
      is_given ? std::optional<std::uint32_t>(segment.given[segment.asked]) : std::nullopt,
      segment.has_seed ? &segment.chance : nullptr,
      options,
      sticky);
  if (segment.asked < questions_max) {
    segment.answers[segment.asked] = static_cast<std::uint8_t>(answer);
    segment.options[segment.asked] = static_cast<std::uint8_t>(options);
    ++segment.asked;
  }
  return answer;
}

std::optional<ActorId> next_actor(Segment& segment, bool may_stay) noexcept {
  std::array<ActorId, actors_max> ready{};
  const std::size_t count = list_ready(segment, may_stay, ready);
  if (count == 0) {
    return segment.gates.observing ? std::nullopt : first_deadline(segment);
  }
  const std::uint32_t answer =
      segment.gates.observing ? 0 : choose(segment, static_cast<std::uint32_t>(count), may_stay);
  const ActorId chosen = ready[answer];
  segment.actors[chosen].late = false;
  segment.actors[chosen].paused = false;
  segment.actors[chosen].state = ActorState::ready;
  return chosen;
}

void make_pollers() noexcept {
  const auto make_at = [](int number) {
    const int made = ::epoll_create1(EPOLL_CLOEXEC);
    LASTREF_ASSERT(made >= 0);
    const int moved = ::dup2(made, number);
    LASTREF_ASSERT(moved == number);
    ::close(made);
  };
  make_at(harness_fd::pollers);
  for (std::uint32_t at = 0; at < actors_max; ++at) {
    const int number = harness_fd::actor_poller + static_cast<int>(at);
    make_at(number);
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.u32 = at;
    const int added = ::epoll_ctl(harness_fd::pollers, EPOLL_CTL_ADD, number, &event);
    LASTREF_ASSERT(added == 0);
  }
}

void give_turn(Segment& segment, ActorId actor) noexcept {
  segment.current = actor;
  segment.turns_on_end = 0;
  give(segment.actors[actor].turn);
}

void give_controller(Segment& segment, Request request) noexcept {
  segment.request = request;
  give(segment.controller_turn);
}

void say_apart(Segment& segment) noexcept {
  give(segment.apart);
}

void wait_until_apart(Segment& segment) noexcept {
  take(segment.apart);
}

void take_turn(Segment& segment, ActorId actor) noexcept {
  take(segment.actors[actor].turn);
}

bool take_controller(Segment& segment, std::chrono::milliseconds patience) noexcept {
  const timespec time{.tv_sec = patience.count() / 1000,
                      .tv_nsec = patience.count() % 1000 * 1'000'000};
  if (segment.controller_turn.exchange(0, std::memory_order_acquire) == 1) {
    return true;
  }
  futex(segment.controller_turn, FUTEX_WAIT, 0, &time);
  return segment.controller_turn.exchange(0, std::memory_order_acquire) == 1;
}

std::uint16_t new_process(Segment& segment, std::string_view role, std::uint16_t parent) noexcept {
  LASTREF_ASSERT(segment.processes_used < processes_max);
  const std::uint16_t index = segment.processes_used++;
  std::uint16_t incarnation = 1;
  for (std::uint16_t at = 0; at < index; ++at) {
    incarnation = segment.processes[at].base == RoleText(role).view()
                      ? static_cast<std::uint16_t>(incarnation + 1)
                      : incarnation;
  }
  Process& process = segment.processes[index];
  process = {};
  process.live = true;
  process.parent = parent;
  process.incarnation = incarnation;
  process.base.assign(role);
  std::string name(role);
  if (incarnation > 1) {
    name.append("#").append(std::to_string(incarnation));
  }
  process.role.assign(name);
  return index;
}

ActorId new_actor(Segment& segment, std::uint16_t process) noexcept {
  LASTREF_ASSERT(segment.actors_used < actors_max);
  const ActorId at = segment.actors_used++;
  Actor& actor = segment.actors[at];
  actor.turn.store(0, std::memory_order_relaxed);
  actor.state = ActorState::ready;
  actor.late = false;
  actor.doomed = false;
  actor.paused = false;
  actor.has_deadline = false;
  actor.process = process;
  actor.thing = nullptr;
  actor.place.assign("start");
  actor.object.assign({});
  return at;
}

void note_fact(SharedRun& run,
               std::uint16_t process,
               std::string_view place,
               std::string_view text,
               std::int64_t value) noexcept {
  Record* record = run.journal().claim();
  if (record == nullptr) {
    return;
  }
  record->kind = RecordKind::fact;
  record->process = process;
  record->role = run.segment().processes[process].role;
  record->place.assign(place);
  record->text.assign(text);
  record->value = value;
  Journal::publish(*record);
}

}  // namespace lastref::harness
