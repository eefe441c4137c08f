// turns: which actor continues, and how the turn is passed to it.
#include "harness/instrument/turns.hpp"

#include <linux/futex.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <new>

#include "harness/kernel/control_block.hpp"
#include "harness/kernel/run_choices.hpp"
#include "harness/kernel/ungated_member.hpp"
#include "harness/platform/unique_fd.hpp"

#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace lastref::harness {
namespace {

using Ready = std::bitset<actors_max>;

constexpr std::size_t journal_offset = (sizeof(ControlBlock) + 4095) / 4096 * 4096;

long futex(std::atomic<std::uint32_t>& word, int what, std::uint32_t value, const timespec* time) {
  static_assert(sizeof(word) == sizeof(std::uint32_t));
  return ::syscall(SYS_futex, &word, what, value, time, nullptr, 0);
}

// One thread runs at a time, but from one to the next the turn may pass through other processes,
// where ThreadSanitizer does not see it.
#if defined(__SANITIZE_THREAD__)
char turn = 0;
void note_given() noexcept {
  __tsan_release(&turn);
}
void note_taken() noexcept {
  __tsan_acquire(&turn);
}
#else
void note_given() noexcept {}
void note_taken() noexcept {}
#endif

void give(std::atomic<std::uint32_t>& word) noexcept {
  note_given();
  word.store(1, std::memory_order_release);
  futex(word, FUTEX_WAKE, 1, nullptr);
}

void take(std::atomic<std::uint32_t>& word) noexcept {
  while (word.exchange(0, std::memory_order_acquire) == 0) {
    futex(word, FUTEX_WAIT, 0, nullptr);
  }
  note_taken();
}

/// The actors that have an event on a descriptor, as the kernel reports at this moment.
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

bool may_run(const ControlBlock& control_block, const Actor& actor) noexcept {
  const Process& process = control_block.processes[actor.process];
  if (actor.state == ActorState::unused || actor.state == ActorState::gone || process.stopped) {
    return false;
  }
  return !control_block.interceptors.observing || process.base == "tracker";
}

/// The actors that could continue, in the order of their turns.
std::size_t list_ready(const ControlBlock& control_block,
                       bool may_stay,
                       std::array<ReadyActor, actors_max>& into) noexcept {
  const bool somebody_polls =
      std::ranges::any_of(std::span(control_block.actors).first(control_block.actors_used),
                          [](const Actor& actor) { return actor.state == ActorState::polling; });
  const Ready ready = somebody_polls ? ready_pollers() : Ready{};
  std::size_t count = 0;
  offer_turn(
      control_block.current,
      control_block.actors_used,
      may_stay,
      [&](std::size_t at) {
        const Actor& actor = control_block.actors[at];
        const bool able = actor.state == ActorState::ready ||
                          (actor.state == ActorState::polling && ready.test(at));
        return able && may_run(control_block, actor);
      },
      [&](std::size_t at) { return control_block.actors[at].paused; },
      [&](std::size_t at) {
        into[count++] = {.actor = static_cast<std::uint32_t>(at),
                         .step = control_block.actors[at].step};
      });
  return count;
}

/// The actor with the earliest deadline; the clock advances to it.
std::optional<ActorId> first_deadline(ControlBlock& control_block) noexcept {
  std::optional<ActorId> first;
  for (ActorId at = 0; at < control_block.actors_used; ++at) {
    const Actor& actor = control_block.actors[at];
    if (actor.state == ActorState::polling && actor.has_deadline && may_run(control_block, actor) &&
        (!first || actor.deadline < control_block.actors[*first].deadline)) {
      first = at;
    }
  }
  if (first) {
    Actor& actor = control_block.actors[*first];
    control_block.clock = std::max(control_block.clock, actor.deadline);
    actor.late = true;
    actor.state = ActorState::ready;
  }
  return first;
}

/// The next answer of the list that is given, or the usual one.
std::uint32_t next_of_list(ControlBlock& control_block, std::uint32_t options) noexcept {
  if (options == 1 || !control_block.records_choices()) {
    return 0;
  }
  const bool is_given = control_block.asked < control_block.given_count;
  const std::uint32_t answer =
      is_given ? std::min<std::uint32_t>(control_block.given[control_block.asked], options - 1) : 0;
  if (control_block.asked < questions_max) {
    control_block.answers[control_block.asked] = static_cast<std::uint8_t>(answer);
    control_block.options[control_block.asked] = static_cast<std::uint8_t>(options);
    ++control_block.asked;
  }
  return answer;
}

std::uint32_t ask_controller(ControlBlock& control_block,
                             std::span<const ReadyActor> ready,
                             bool is_preemption) noexcept {
  PendingQuestion& question = control_block.question;
  std::ranges::copy(ready, question.ready.begin());
  question.ready_count = static_cast<std::uint32_t>(ready.size());
  question.is_preemption = is_preemption;
  const ActorId asker = control_block.current;
  give_controller(control_block, Request::choose);
  take_turn(control_block, asker);
  return question.answer;
}

void note_event(ControlBlock& control_block, const ChoiceEvent& event) noexcept {
  if (control_block.choice_events_count < control_block.choice_events.size()) {
    control_block.choice_events[control_block.choice_events_count++] = event;
  }
}

/// The index of the actor that continues.
std::uint32_t choose_actor(ControlBlock& control_block,
                           std::span<const ReadyActor> ready,
                           bool may_stay,
                           RunChoices* choices) noexcept {
  if (!control_block.asks_controller) {
    return next_of_list(control_block, static_cast<std::uint32_t>(ready.size()));
  }
  const bool is_preemption = may_stay && ready.front().actor == control_block.current;
  if (choices != nullptr) {
    return choices->pick(control_block, ready, is_preemption);
  }
  // The rest is for faults and deadlines.
  const bool has_space = control_block.choice_events_count < control_block.choice_events.size() / 2;
  if (ready.size() == 1 && has_space) {
    note_event(control_block,
               {.is_fault = false, .is_preemption = is_preemption, .only = ready.front()});
    return 0;
  }
  return ask_controller(control_block, ready, is_preemption);
}

}  // namespace

SharedRun::SharedRun(bool is_gated) noexcept
    : memory_(journal_offset + Journal::size_for(records_max)),
      control_block_(new (memory_.get()) ControlBlock),
      journal_(static_cast<std::byte*>(memory_.get()) + journal_offset, records_max) {
  const int kept = ::dup2(memory_.descriptor(), harness_fd::run);
  LASTREF_ASSERT(kept == harness_fd::run);
  control_block_->is_gated = is_gated;
  make_lock(*control_block_);
}

SharedRun::SharedRun(Inherited) noexcept
    : memory_(journal_offset + Journal::size_for(records_max), harness_fd::run),
      control_block_(static_cast<ControlBlock*>(memory_.get())),
      journal_(static_cast<std::byte*>(memory_.get()) + journal_offset, records_max) {}

void SharedRun::reset() noexcept {
  ControlBlock& control_block = *control_block_;
  for (ActorId at = 0; at < control_block.actors_used; ++at) {
    Actor& actor = control_block.actors[at];
    actor.turn.store(0, std::memory_order_relaxed);
    actor.state = ActorState::unused;
  }
  control_block.controller_turn.store(0, std::memory_order_relaxed);
  control_block.request = Request::quiet;
  control_block.current = 0;
  control_block.actors_used = 0;
  control_block.processes_used = 0;
  control_block.interceptors = {};
  control_block.turns_on_end = 0;
  control_block.clock = 0;
  control_block.listener.assign({});
  control_block.records_questions = false;
  control_block.asks_controller = false;
  control_block.choice_events_count = 0;
  control_block.given_count = 0;
  control_block.asked = 0;
  control_block.signals.clear();
  control_block.ungated.has_kills.store(false, std::memory_order_relaxed);
  control_block.ungated.needs_gate.assign({});
  journal_.reset();
}

bool SharedRun::lacks_gate(std::string_view why) noexcept {
  if (is_gated()) {
    return false;
  }
  const UngatedLock held(*control_block_);
  control_block_->ungated.needs_gate.assign(why);
  return true;
}

bool choose_early_end(ControlBlock& control_block) noexcept {
  return control_block.asks_controller
             ? ask_controller(control_block, {}, /*is_preemption=*/true) == 1
             : next_of_list(control_block, 2) == 1;
}

void note_fault(ControlBlock& control_block) noexcept {
  note_event(control_block, {.is_fault = true, .is_preemption = false, .only = {}});
}

std::optional<ActorId> next_actor(ControlBlock& control_block,
                                  bool may_stay,
                                  RunChoices* choices) noexcept {
  std::array<ReadyActor, actors_max> ready{};
  const std::size_t count = list_ready(control_block, may_stay, ready);
  const bool is_observing = control_block.interceptors.observing;
  if (count == 0) {
    const std::optional<ActorId> first =
        is_observing ? std::nullopt : first_deadline(control_block);
    if (!first || !control_block.asks_controller) {
      return first;
    }
    note_event(control_block,
               {.is_fault = false, .is_preemption = false, .only = {.actor = *first}});
    return first;
  }
  const std::uint32_t answer =
      is_observing ? 0
                   : choose_actor(control_block, std::span(ready).first(count), may_stay, choices);
  const auto chosen = static_cast<ActorId>(ready[answer].actor);
  control_block.actors[chosen].late = false;
  control_block.actors[chosen].paused = false;
  control_block.actors[chosen].state = ActorState::ready;
  return chosen;
}

void make_pollers() noexcept {
  const auto make_at = [](int number) {
    move_to(UniqueFd(::epoll_create1(EPOLL_CLOEXEC)), number);
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

void give_turn(ControlBlock& control_block, ActorId actor) noexcept {
  control_block.current = actor;
  control_block.turns_on_end = 0;
  give(control_block.actors[actor].turn);
}

void give_controller(ControlBlock& control_block, Request request) noexcept {
  control_block.request = request;
  give(control_block.controller_turn);
}

void return_turn(ControlBlock& control_block) noexcept {
  give(control_block.actors[control_block.current].turn);
}

void signal_child_ready(ControlBlock& control_block) noexcept {
  give(control_block.child_ready);
}

void wait_until_child_ready(ControlBlock& control_block) noexcept {
  take(control_block.child_ready);
}

void take_turn(ControlBlock& control_block, ActorId actor) noexcept {
  take(control_block.actors[actor].turn);
}

bool take_controller(ControlBlock& control_block, std::chrono::milliseconds timeout) noexcept {
  const timespec time{.tv_sec = timeout.count() / 1000,
                      .tv_nsec = timeout.count() % 1000 * 1'000'000};
  if (control_block.controller_turn.exchange(0, std::memory_order_acquire) == 1) {
    return true;
  }
  futex(control_block.controller_turn, FUTEX_WAIT, 0, &time);
  return control_block.controller_turn.exchange(0, std::memory_order_acquire) == 1;
}

std::string incarnation_of(std::string_view role, std::size_t number) {
  std::string name(role);
  if (number > 1) {
    name.append("#").append(std::to_string(number));
  }
  return name;
}

std::uint16_t new_process(ControlBlock& control_block,
                          std::string_view role,
                          std::uint16_t parent) noexcept {
  LASTREF_ASSERT(control_block.processes_used < processes_max);
  const std::uint16_t index = control_block.processes_used++;
  std::uint16_t incarnation = 1;
  for (std::uint16_t at = 0; at < index; ++at) {
    incarnation = control_block.processes[at].base == RoleText(role).view()
                      ? static_cast<std::uint16_t>(incarnation + 1)
                      : incarnation;
  }
  control_block.ungated.timed_waits[index].store(0, std::memory_order_relaxed);
  Process& process = control_block.processes[index];
  process = {};
  process.live = true;
  process.parent = parent;
  process.incarnation = incarnation;
  process.base.assign(role);
  process.role.assign(incarnation_of(role, incarnation));
  return index;
}

ActorId new_actor(ControlBlock& control_block, std::uint16_t process) noexcept {
  LASTREF_ASSERT(control_block.actors_used < actors_max);
  const ActorId at = control_block.actors_used++;
  Actor& actor = control_block.actors[at];
  actor.turn.store(0, std::memory_order_relaxed);
  actor.state = ActorState::ready;
  actor.late = false;
  actor.doomed = false;
  actor.paused = false;
  actor.has_deadline = false;
  actor.process = process;
  actor.step = {};
  actor.thing = nullptr;
  actor.name.assign("start");
  actor.object.assign({});
  return at;
}

std::optional<ActorId> fail_one_waiter(SharedRun& run) noexcept {
  ControlBlock& control_block = run.control_block();
  for (ActorId at = 0; at < control_block.actors_used; ++at) {
    Actor& actor = control_block.actors[at];
    if (actor.state == ActorState::awaiting && !actor.late &&
        !control_block.signals.was_told(actor.object) &&
        !control_block.processes[actor.process].stopped) {
      actor.late = true;
      note_fact(run, actor.process, fact::let_down, {});
      return at;
    }
  }
  return std::nullopt;
}

void note_fact(SharedRun& run,
               std::uint16_t process,
               std::string_view name,
               std::string_view text,
               std::int64_t value) noexcept {
  Record* record = run.journal().claim();
  if (record == nullptr) {
    return;
  }
  record->kind = RecordKind::fact;
  record->process = process;
  record->role = run.control_block().processes[process].role;
  record->name.assign(name);
  record->text.assign(text);
  record->value = value;
  Journal::publish(*record);
}

}  // namespace lastref::harness
