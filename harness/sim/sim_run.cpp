#include "harness/sim/sim_run.hpp"

#include <algorithm>

#include <lastref/tracker.hpp>

namespace lastref::harness::sim {
namespace {

const char* word_of(Wait reason) {
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

}  // namespace

bool is_entry(std::string_view name) noexcept {
  return name == tracker::entry_point;
}

SimRun::SimRun(const Scenario& the_scenario, const Plan& the_plan, Choices& the_choices)
    : scenario(the_scenario), plan(the_plan), choices(the_choices), machine(the_choices) {
  if (!scenario.in_matrix) {
    crossings_allowed = crossings_max_at_scale;
    machine.scheduler.steps_max = ~std::uint64_t{0};
  }
  machine.scheduler.on_end_max = turns_on_end_max;
  fired.resize(plan.faults.size());
  journal.reserve(1024);
  machine.on_birth = [this](SimOs& os, const Task* parent, const os::SpawnOptions& options) {
    be_born(os, parent, options);
  };
  machine.scheduler.on_death = [this](Task& task) {
    if (const Member* member = member_of(task); member != nullptr) {
      note(*member, RecordKind::fact, fact::died, end_of(task), task.exit.code);
    }
  };
}

SimRun::~SimRun() = default;

std::string_view SimRun::end_of(const Task& task) const {
  if (!task.exit.killed || swept) {
    return task.exit.killed ? fact::swept : fact::ended;
  }
  // Nobody plans a death of another signal.
  const bool is_planned = task.exit.code == number_of(os::Signal::kill);
  const bool was_sent = std::ranges::any_of(
      task.sent, [&](os::Signal signal) { return number_of(signal) == task.exit.code; });
  return is_planned || was_sent ? fact::killed : fact::crashed;
}

void SimRun::be_born(SimOs& os, const Task* parent, const os::SpawnOptions& options) {
  if (observing) {
    return;  // Not of the run, but the world's own.
  }
  auto member = std::make_unique<Member>();
  member->index = static_cast<std::uint16_t>(by_index.size());
  member->part = part_of(options);
  member->base = member->part == nullptr ? options.entry : member->part->name;
  const auto before = std::ranges::count(by_index, member->base, &Member::base);
  member->role = before == 0 ? member->base : member->base + '#' + std::to_string(before + 1);
  member->chance = hash_of(member->role);
  member->system = &os;
  member->gate = std::make_unique<SimGate>(*this, *member);
  member->os = std::make_unique<InstrumentedOs>(os, *member->gate);
  for (const os::PassedFd& passed : options.fds) {
    member->os->adopt(os::Fd{passed.number_there}, "passed");
  }
  os.task().role = member->role;
  const Member* starter = parent == nullptr ? nullptr : member_of(*parent);
  by_index.push_back(member.get());
  const Member& born = *members.emplace(&os.task(), std::move(member)).first->second;
  const std::string_view started_by = starter == nullptr ? born.role : starter->role;
  note(born, RecordKind::fact, fact::born, started_by, os.task().pid);
}

const Role* SimRun::part_of(const os::SpawnOptions& options) const {
  return is_entry(options.entry) ? nullptr
                                 : role_started_as(scenario, options.entry, options.arguments);
}

Member* SimRun::member_of(const Task& task) {
  const auto found = members.find(&task);
  return found == members.end() ? nullptr : found->second.get();
}

void SimRun::kill(std::string_view role) {
  for (const Member* member : by_index) {
    if (member->plays(role)) {
      machine.kernel.deliver(member->system->task(), os::Signal::kill);
    }
  }
}

void SimRun::kill_all() {
  for (const Member* member : by_index) {
    machine.kernel.deliver(member->system->task(), os::Signal::kill);
  }
}

void SimRun::note(const Member& member,
                  RecordKind kind,
                  std::string_view place,
                  std::string_view text,
                  std::int64_t value) {
  Record& record = journal.emplace_back();
  record.published = 1;
  record.seq = static_cast<std::uint32_t>(journal.size() - 1);
  record.value = value;
  record.process = member.index;
  record.actor = machine.scheduler.current();
  record.kind = kind;
  record.observed = observing;
  record.role.assign(member.role);
  record.place.assign(place);
  record.text.assign(text);
}

bool SimRun::let_doomed_go() {
  for (Member* member : by_index) {
    if (!member->system->task().stopped && member->gate->strike()) {
      return true;
    }
  }
  return false;
}

bool SimRun::let_down_one_who_awaits() {
  Awaiting* first = nullptr;
  for (Awaiting* each : awaiting) {
    const bool waits =
        !each->task->stopped && each->task->life == Task::Life::running && !each->in_vain;
    if (waits && (first == nullptr || each->actor < first->actor)) {
      first = each;
    }
  }
  if (first != nullptr) {
    first->in_vain = true;
  }
  return first != nullptr;
}

bool SimRun::let_stopped_go() {
  bool any = false;
  for (const Member* member : by_index) {
    Task& task = member->system->task();
    any = any || (task.stopped && task.life == Task::Life::running);
    machine.kernel.deliver(task, os::Signal::resume);
  }
  return any;
}

bool SimGate::is_hit(const Fault& fault, std::size_t index, const Approach& approach) const {
  if (fault.point.role != member_.role || fault.point.place != approach.place) {
    return false;
  }
  if (fault.kind == FaultKind::fail_always && run_.fired[index]) {
    return true;
  }
  return !run_.fired[index] && fault.point.k == approach.k &&
         ObjectText(fault.point.object) == ObjectText(approach.object).view();
}

void SimGate::fire(const Fault& fault) {
  const auto index = static_cast<std::size_t>(&fault - run_.plan.faults.data());
  if (!run_.fired[index]) {
    run_.fired[index] = true;
    run_.note(member_,
              RecordKind::fact,
              fact::fired,
              harness::name_of(fault.kind),
              static_cast<std::int64_t>(index));
  }
}

Passage SimGate::apply_faults(const Approach& approach, const Fault*& dies) {
  Passage passage;
  for (std::size_t index = 0; index < run_.plan.faults.size(); ++index) {
    const Fault& fault = run_.plan.faults[index];
    if (!is_hit(fault, index, approach)) {
      continue;
    }
    switch (fault.kind) {
      case FaultKind::kill_before:
        fire(fault);
        dies = &fault;
        break;
      case FaultKind::kill_after:
        doing().kill_after = &fault;
        break;
      case FaultKind::kill_blocked:
        doing().kill_blocked = &fault;
        break;
      case FaultKind::fail_once:
      case FaultKind::fail_always:
        fire(fault);
        passage.error = fault.error;
        break;
      case FaultKind::shorten:
        fire(fault);
        passage.shorten = true;
        break;
      case FaultKind::interrupt:
        fire(fault);
        for (const os::Signal signal : {os::Signal::interrupt,
                                        os::Signal::terminate,
                                        os::Signal::hang_up,
                                        os::Signal::quit}) {
          run_.machine.kernel.deliver(member_.system->task(), signal);
        }
        run_.machine.scheduler.mind_death();
        break;
      case FaultKind::pause:
        doing().pause = &fault;
        break;
    }
  }
  return passage;
}

void SimGate::record(const Approach& approach, RecordKind kind, const Return& how) {
  if (run_.journal.size() >= records_of_crossings_max && !how.injected) {
    return;
  }
  Record& made = run_.journal.emplace_back();
  made.published = 1;
  made.seq = static_cast<std::uint32_t>(run_.journal.size() - 1);
  made.value = approach.value;
  made.k = approach.k;
  made.error = how.error;
  made.process = member_.index;
  made.actor = run_.machine.scheduler.current();
  made.kind = kind;
  made.call = approach.call;
  made.injected = how.injected;
  made.waited = approach.waited;
  made.observed = run_.observing;
  made.role.assign(member_.role);
  made.place.assign(approach.place);
  made.object.assign(approach.object);
  made.text.assign(approach.text);
}

void SimGate::die(const Fault& fault) {
  if (fault.whole_tree) {
    run_.kill_all();
  } else {
    run_.machine.kernel.deliver(member_.system->task(), os::Signal::kill);
  }
  run_.machine.scheduler.mind_death();
  LASTREF_ASSERT(false);
}

Reach SimGate::reach_of(const Approach& approach) const {
  // A death here is everybody's business.
  const auto strikes_here = [&](const Fault& fault) {
    return fault.point.role == member_.role && fault.point.place == approach.place;
  };
  if (std::any_of(run_.plan.faults.begin(), run_.plan.faults.end(), strikes_here)) {
    return Reach::everybody;
  }
  const bool is_pipe = approach.object.starts_with("pipe.") && !run_.machine.kernel.pipes_travel;
  switch (approach.call) {
    case Call::make_socket:
    case Call::make_pipe:
    case Call::start_thread:
    case Call::entropy:
    case Call::peer_of:
    case Call::working_folder:
    case Call::sync:
      return Reach::process;
    case Call::read:
    case Call::write:
      return is_pipe ? Reach::process : Reach::everybody;
    case Call::close:
      return is_pipe || approach.object.starts_with("process:") ? Reach::process : Reach::everybody;
    default:
      return Reach::everybody;
  }
}

Passage SimGate::before(const Approach& approach) noexcept {
  Passage passage;
  const Fault* dies = nullptr;
  if (!run_.observing) {
    if (++run_.crossings > run_.crossings_allowed) {
      run_.machine.scheduler.give_up();
    }
    if (const std::size_t point = point_of(approach.call, approach.place); point < points_max) {
      run_.reached.set(point);
    }
    if (approach.asks) {
      run_.machine.scheduler.ask(reach_of(approach));
    }
    if (!run_.plan.faults.empty()) {
      passage = apply_faults(approach, dies);
    }
  }
  record(approach, RecordKind::begin, {});
  if (dies != nullptr) {
    die(*dies);
  }
  return passage;
}

void SimGate::after(const Approach& approach, const Return& how) noexcept {
  record(approach, RecordKind::end, how);
  if (doing_.empty()) {
    return;
  }
  doing().kill_blocked = nullptr;
  if (const Fault* fault = std::exchange(doing().kill_after, nullptr); fault != nullptr) {
    fire(*fault);
    die(*fault);
  }
  if (const Fault* fault = std::exchange(doing().pause, nullptr); fault != nullptr) {
    fire(*fault);
    run_.machine.scheduler.pause();
  }
}

std::string_view SimGate::role_of(os::Pid pid) const noexcept {
  // The last one: pids are used again.
  const auto found =
      std::find_if(run_.by_index.rbegin(), run_.by_index.rend(), [pid](const Member* member) {
        return member->system->task().pid == pid;
      });
  return found == run_.by_index.rend() ? std::string_view() : std::string_view((*found)->role);
}

bool SimGate::strike() noexcept {
  for (auto& [actor, each] : doing_) {
    if (each.kill_blocked != nullptr && !each.struck) {
      each.struck = true;
      return true;
    }
  }
  return false;
}

void SimGate::signalled(os::Fd, os::Signal) noexcept {
  run_.machine.scheduler.mind_death();
}

// Before a monitor's lock.
void SimGate::ask() noexcept {
  run_.machine.scheduler.ask(Reach::process);
}

bool SimGate::wait_ready(std::span<const os::PollItem> items,
                         std::optional<os::Instant> deadline) noexcept {
  const SimKernel& kernel = run_.machine.kernel;
  Task& task = member_.system->task();
  Doing& mine = doing();
  mine.struck = false;
  const bool strikes = mine.kill_blocked != nullptr;
  std::uint64_t looked_at = kernel.changes;
  bool seen = kernel.is_ready(task, items);
  const std::function<bool()> ready = [&] {
    if (std::exchange(looked_at, kernel.changes) != kernel.changes) {
      seen = kernel.is_ready(task, items);
    }
    return seen || mine.struck;
  };
  const bool in_time = run_.machine.scheduler.wait_until(ready, deadline, "poll");
  if (strikes) {
    const Fault& fault = *std::exchange(doing().kill_blocked, nullptr);
    fire(fault);
    die(fault);
  }
  return in_time;
}

void SimGate::wait_for(Wait reason, const void* thing) noexcept {
  Waiting waiting{.reason = reason, .thing = thing};
  doing().waiting = &waiting;
  const std::function<bool()> woken = [&] { return waiting.woken; };
  run_.machine.scheduler.wait_until(woken, std::nullopt, word_of(reason));
  doing().waiting = nullptr;
}

void SimGate::wake(Wait reason, const void* thing) noexcept {
  for (auto& [actor, each] : doing_) {
    if (each.waiting != nullptr && each.waiting->reason == reason && each.waiting->thing == thing) {
      each.waiting->woken = true;
    }
  }
}

os::Instant SimGate::now() noexcept {
  return run_.machine.kernel.clock += tick;
}

void SimGate::fill(os::Buffer into) noexcept {
  for (std::byte& each : into) {
    member_.chance = member_.chance * 6364136223846793005U + 1442695040888963407U;  // Knuth's MMIX
    each = static_cast<std::byte>(member_.chance >> 56U);
  }
}

ActorId SimGate::new_actor() noexcept {
  return static_cast<ActorId>(run_.machine.scheduler.actors());
}

void SimGate::join(ActorId actor) noexcept {
  Scheduler& scheduler = run_.machine.scheduler;
  const std::function<bool()> ended = [&] { return scheduler.is_gone(actor); };
  if (!ended()) {
    scheduler.wait_until(ended, std::nullopt, word_of(Wait::thread));
  }
}

}  // namespace lastref::harness::sim
