#include "harness/sim/sim_run.hpp"

#include <algorithm>

#include <lastref/tracker.hpp>

#include "harness/instrument/next_step.hpp"
#include "harness/platform/hash.hpp"
#include "harness/program/arena.hpp"
#include "harness/scenario/product_limits.hpp"
#include "harness/sim/sim_observer.hpp"

namespace lastref::harness::sim {
namespace {

constexpr int number_of_abort = 6;  // signal(7), SIGABRT

const char* name_of(Wait reason) {
  switch (reason) {
    case Wait::lock:
      return "a monitor's lock";
    case Wait::notice:
      return "a monitor's notice";
    case Wait::thread:
      return "a thread's end";
  }
  return "";
}

std::string_view name_of(ThreadStep step) {
  switch (step) {
    case ThreadStep::lock:
      return "lock";
    case ThreadStep::unlock:
      return "unlock";
    case ThreadStep::wait:
      return "wait";
    case ThreadStep::notify:
      return "notify";
    case ThreadStep::load:
      return "load";
    case ThreadStep::store:
      return "store";
  }
  return "";
}

bool is_atomic(ThreadStep step) {
  return step == ThreadStep::load || step == ThreadStep::store;
}

}  // namespace

bool is_entry(std::string_view name) noexcept {
  return name == tracker::entry_point;
}

SimRun::SimRun(const Scenario& the_scenario,
               const Plan& the_plan,
               Choices& choices,
               RunJournal& the_journal)
    : scenario(the_scenario),
      plan(&the_plan),
      parameters(the_plan.parameters),
      machine(choices),
      journal(the_journal) {
  if (!scenario.in_matrix()) {
    interceptors.crossings_allowed = crossings_max_at_scale;
    machine.scheduler.steps_max = ~std::uint64_t{0};
  }
  machine.scheduler.on_end_max = turns_on_end_max;
  interceptors.follow(*plan);
  machine.scheduler.shows_deaths = [this] { return interceptors.wants_look() && !swept; };
  journal.clear();
  if (plan->wants_log) {
    machine.scheduler.on_switch = [this](Scheduler::Index usual, Scheduler::Index to) {
      log_switch(usual, to);
    };
  }
  machine.on_birth = [this](SimOs& os, const SimProcess* parent, const os::SpawnOptions& options) {
    be_born(os, parent, options);
  };
  machine.scheduler.on_death = [this](SimProcess& process) {
    Accesses& accesses = machine.kernel.accesses;
    if (const Member* member = member_of(process); member != nullptr) {
      accesses.touch(Shared::operations, Access::write);
      accesses.touch(Shared::judged, Access::read);
      note(*member, RecordKind::fact, fact::died, end_of(process), process.exit.code);
    }
    for (const Member* each : by_index) {
      if (SimProcess& other = each->system->process(); other.stopped_by == process.token) {
        accesses.touch_all();
        machine.kernel.deliver(other, os::Signal::resume);
      }
    }
  };
}

SimRun::~SimRun() = default;

void SimRun::continue_with(const Plan& the_plan, Choices& choices) {
  plan = &the_plan;
  machine.scheduler.ask_instead(choices);
  machine.scheduler.checkpoints = nullptr;
  interceptors.follow(*plan);
  for (const Member* member : by_index) {
    member->interceptor->follow_plan();
  }
}

std::string_view SimRun::end_of(const SimProcess& process) const {
  if (!process.exit.killed || swept) {
    return process.exit.killed ? fact::swept : fact::ended;
  }
  // No plan contains a death by another signal.
  const bool is_planned = process.exit.code == number_of(os::Signal::kill);
  const bool was_sent = std::ranges::any_of(
      process.sent, [&](os::Signal signal) { return number_of(signal) == process.exit.code; });
  return is_planned || was_sent ? fact::killed : fact::crashed;
}

void SimRun::be_born(SimOs& os, const SimProcess* parent, const os::SpawnOptions& options) {
  if (interceptors.observing) {
    return;  // It does not belong to the run, but to the world.
  }
  auto member = std::make_unique<Member>();
  member->index = static_cast<std::uint16_t>(by_index.size());
  member->part = part_of(options);
  member->base = member->part == nullptr ? options.entry : member->part->name;
  const auto before = std::ranges::count(by_index, member->base, &Member::base);
  member->role = before == 0 ? member->base : member->base + '#' + std::to_string(before + 1);
  member->chance = hash_of(member->role);
  member->system = &os;
  member->interceptor = std::make_unique<SimInterceptor>(*this, *member);
  member->os = std::make_unique<InstrumentedOs>(os, *member->interceptor, limits_in(parameters));
  for (const os::PassedFd& passed : options.fds) {
    member->os->adopt(os::Fd{passed.number_there}, "passed");
  }
  os.process().role = member->role;
  const Member* starter = parent == nullptr ? nullptr : member_of(*parent);
  by_index.push_back(member.get());
  const Member& born = *members.emplace(&os.process(), std::move(member)).first->second;
  const std::string_view started_by = (starter == nullptr ? *by_index.front() : *starter).role;
  note(born, RecordKind::fact, fact::born, started_by, os.process().pid);
}

const Role* SimRun::part_of(const os::SpawnOptions& options) const {
  return is_entry(options.entry) ? nullptr
                                 : role_started_as(scenario, options.entry, options.arguments);
}

Member* SimRun::member_of(const SimProcess& process) {
  const auto found = members.find(&process);
  return found == members.end() ? nullptr : found->second.get();
}

void SimRun::kill(std::string_view role) {
  for (const Member* member : by_index) {
    if (member->plays(role)) {
      machine.kernel.deliver(member->system->process(), os::Signal::kill);
    }
  }
}

void SimRun::kill_all() {
  for (const Member* member : by_index) {
    machine.kernel.deliver(member->system->process(), os::Signal::kill);
  }
}

void SimRun::note(const Member& member,
                  RecordKind kind,
                  std::string_view name,
                  std::string_view text,
                  std::int64_t value) {
  Record& record = journal.emplace_back();
  record.published = 1;
  record.seq = static_cast<std::uint32_t>(journal.size() - 1);
  record.value = value;
  record.process = member.index;
  record.actor = machine.scheduler.current();
  record.kind = kind;
  record.observed = interceptors.observing;
  record.role.assign(member.role);
  record.name.assign(name);
  record.text.assign(text);
}

RunStep* SimRun::log_step() {
  const Member* member = member_of(machine.scheduler.process_of(machine.scheduler.current()));
  if (!plan->wants_log || interceptors.observing || member == nullptr) {
    return nullptr;
  }
  const AllocationScope is_the_harness(/*is_products=*/false);
  RunStep& made = steps.emplace_back();
  made.record = static_cast<std::uint32_t>(journal.size());
  made.process = member->index;
  made.actor = machine.scheduler.current();
  made.role.assign(member->role);
  return &made;
}

void SimRun::log_switch(Scheduler::Index usual, Scheduler::Index to) {
  if (RunStep* const made = log_step(); made != nullptr) {
    made->is_switch = true;
    made->to = to;
    made->usual = usual;
    made->to_role.assign(machine.scheduler.process_of(to).role);
    made->usual_role.assign(machine.scheduler.process_of(usual).role);
  }
}

bool SimRun::has_moved() {
  return interceptors.crossings != observed_at;
}

/// The scheduler has to find out whether an actor can continue now.
bool SimRun::ask_tracker() {
  observed_at = interceptors.crossings;
  observe(*this, fact::counted);
  if (anybody_lives()) {
    look_at_files();
  }
  return true;
}

bool SimRun::anybody_lives() const {
  return std::ranges::any_of(by_index, [](const Member* member) {
    const SimProcess& process = member->system->process();
    return process.state == SimProcess::State::running && !process.doomed;
  });
}

bool SimRun::allocation_fails(const void* frame) {
  if (!machine.scheduler.is_inside()) {
    return false;
  }
  Member* member = member_of(machine.scheduler.process_of(machine.scheduler.current()));
  return member != nullptr && member->interceptor->allocation_fails(frame);
}

void SimRun::abort() {
  SimProcess& process = machine.scheduler.process_of(machine.scheduler.current());
  process.doomed = true;
  process.exit = {.code = number_of_abort, .killed = true};
  machine.scheduler.exit_if_killed();
  LASTREF_ASSERT(false);
}

void SimRun::look_at_files() {
  machine.kernel.for_each_file([this](const std::string& path, const std::string& bytes) {
    if (may_be_published(path) && bytes.size() <= looked_at_size_max) {
      files.push_back({.path = path, .bytes = bytes, .moment = journal.size()});
    }
  });
}

bool SimRun::let_doomed_go() {
  for (Member* member : by_index) {
    if (!member->system->process().stopped && member->interceptor->strike()) {
      return true;
    }
  }
  return false;
}

bool SimRun::fail_one_waiter() {
  Awaiting* first = nullptr;
  for (Awaiting* each : awaiting) {
    const bool waits = !each->process->stopped &&
                       each->process->state == SimProcess::State::running && !each->in_vain;
    if (waits && (first == nullptr || each->actor < first->actor)) {
      first = each;
    }
  }
  if (first != nullptr) {
    first->in_vain = true;
    note(*member_of(*first->process), RecordKind::fact, fact::let_down, {});
  }
  return first != nullptr;
}

bool SimRun::let_stopped_go() {
  bool any = false;
  for (const Member* member : by_index) {
    SimProcess& process = member->system->process();
    any = any || (process.stopped && process.state == SimProcess::State::running);
    machine.kernel.deliver(process, os::Signal::resume);
  }
  return any;
}

void SimInterceptor::note_fired(FaultKind kind, std::size_t index) noexcept {
  run_.note(member_,
            RecordKind::fact,
            fact::fired,
            harness::name_of(kind),
            static_cast<std::int64_t>(index));
  const ArenaPause answers_outlive_the_run;
  run_.machine.scheduler.choices().fault_struck();
}

void SimInterceptor::interrupt() noexcept {
  for (const os::Signal signal :
       {os::Signal::interrupt, os::Signal::terminate, os::Signal::hang_up, os::Signal::quit}) {
    run_.machine.kernel.deliver(member_.system->process(), signal);
  }
  run_.machine.scheduler.exit_if_killed();
}

void SimInterceptor::look() noexcept {
  run_.machine.scheduler.look(/*goes_on=*/member_.base != tracker::entry_point);
}

void SimInterceptor::pause() noexcept {
  run_.machine.scheduler.pause();
}

bool SimInterceptor::ends_early() noexcept {
  const ArenaPause answers_outlive_the_run;
  return run_.machine.scheduler.choices().pick(
             {.options = 2,
              .cost = Cost::preemption,
              .worthwhile = run_.tries_early_timeouts ? ~std::uint64_t{0} : 0}) == 1;
}

void SimInterceptor::move_clock(os::Instant to) noexcept {
  run_.machine.kernel.clock = std::max(run_.machine.kernel.clock, to);
}

Record* SimInterceptor::claim() noexcept {
  Record& made = run_.journal.emplace_back();
  made.seq = static_cast<std::uint32_t>(run_.journal.size() - 1);
  made.process = member_.index;
  made.actor = run_.machine.scheduler.current();
  made.role.assign(member_.role);
  return &made;
}

void SimInterceptor::publish(Record& record) noexcept {
  record.published = 1;
}

void SimInterceptor::die(bool whole_tree) noexcept {
  run_.machine.kernel.accesses.touch_all();
  if (whole_tree) {
    run_.kill_all();
  } else {
    run_.machine.kernel.deliver(member_.system->process(), os::Signal::kill);
  }
  run_.machine.scheduler.exit_if_killed();
  LASTREF_ASSERT(false);
}

void SimInterceptor::give_up() noexcept {
  run_.machine.scheduler.give_up();
}

Reach SimInterceptor::reach_of(const PendingCall& pending_call) const {
  if (strikes_at(pending_call.name)) {
    return Reach::all;  // A death here concerns all processes.
  }
  if (pending_call.call == Call::none) {
    return Reach::all;
  }
  const CallRow& row = row_of(pending_call.call);
  const bool is_private_object =
      (pending_call.object.starts_with("pipe.") && !run_.machine.kernel.pipes_travel) ||
      pending_call.object.starts_with("process:");
  const bool is_private = has(row.traits, Traits::process_private) ||
                          (has(row.traits, Traits::private_on_pipes) && is_private_object);
  return is_private ? Reach::process : Reach::all;
}

void SimInterceptor::let_others_go_first(const PendingCall& pending_call) noexcept {
  run_.machine.scheduler.ask(reach_of(pending_call), step_of(pending_call));
}

std::string_view SimInterceptor::role_of(os::Pid pid) const noexcept {
  // The last one: pids are reused.
  const auto found =
      std::find_if(run_.by_index.rbegin(), run_.by_index.rend(), [pid](const Member* member) {
        return member->system->process().pid == pid;
      });
  return found == run_.by_index.rend() ? std::string_view() : std::string_view((*found)->role);
}

bool SimInterceptor::strike() noexcept {
  for (auto& [actor, each] : doing_) {
    if (each.pending.kill_blocked != nullptr && !each.struck) {
      each.struck = true;
      return true;
    }
  }
  return false;
}

void SimInterceptor::signalled(os::Fd, os::Signal) noexcept {
  run_.machine.scheduler.exit_if_killed();
}

void SimInterceptor::ask(ThreadStep step, std::uint64_t object) noexcept {
  // What another thread does at an unlock it can equally do before the next step of this one,
  // unless one of them accesses the guarded data without the lock.
  const Reach reach = step == ThreadStep::unlock ? Reach::none : Reach::process;
  const bool has_effect = step == ThreadStep::unlock;
  if (has_effect) {
    log(step, object);
  }
  run_.machine.scheduler.ask(reach, step_of(step, member_.index, object));
  if (!has_effect) {
    log(step, object);
  }
}

void SimInterceptor::log(ThreadStep step, std::uint64_t object) noexcept {
  if (RunStep* const made = run_.log_step(); made != nullptr) {
    made->writes = step != ThreadStep::load;
    made->name.assign(name_of(step));
    made->object.assign((is_atomic(step) ? "atomic " : "monitor ") + std::to_string(object));
  }
}

bool SimInterceptor::wait_ready(std::span<const os::PollItem> items,
                                std::optional<os::Instant> deadline) noexcept {
  const SimKernel& kernel = run_.machine.kernel;
  SimProcess& process = member_.system->process();
  Doing& mine = doing();
  mine.struck = false;
  std::uint64_t looked_at = kernel.changes;
  bool seen = kernel.is_ready(process, items);
  const std::function<bool()> ready = [&] {
    if (std::exchange(looked_at, kernel.changes) != kernel.changes) {
      seen = kernel.is_ready(process, items);
    }
    return seen || mine.struck;
  };
  const bool in_time = run_.machine.scheduler.wait_until(ready, deadline, "poll");
  strike_if_blocked();
  return in_time;
}

void SimInterceptor::wait_for(Wait reason, const void* thing) noexcept {
  Waiting waiting{.reason = reason, .thing = thing};
  doing().waiting = &waiting;
  const std::function<bool()> woken = [&] { return waiting.woken; };
  run_.machine.scheduler.wait_until(woken, std::nullopt, name_of(reason));
  doing().waiting = nullptr;
}

void SimInterceptor::wake(Wait reason, const void* thing) noexcept {
  for (auto& [actor, each] : doing_) {
    if (each.waiting != nullptr && each.waiting->reason == reason && each.waiting->thing == thing) {
      each.waiting->woken = true;
    }
  }
}

os::Instant SimInterceptor::now() noexcept {
  return run_.machine.kernel.clock += tick;
}

void SimInterceptor::fill(os::Buffer into) noexcept {
  for (std::byte& each : into) {
    member_.chance = member_.chance * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX
    each = static_cast<std::byte>(member_.chance >> 56U);
  }
}

ActorId SimInterceptor::new_actor() noexcept {
  return static_cast<ActorId>(run_.machine.scheduler.actors());
}

void SimInterceptor::join(ActorId actor) noexcept {
  Scheduler& scheduler = run_.machine.scheduler;
  const std::function<bool()> ended = [&] { return scheduler.is_gone(actor); };
  if (!ended()) {
    scheduler.wait_until(ended, std::nullopt, name_of(Wait::thread));
  }
}

}  // namespace lastref::harness::sim
