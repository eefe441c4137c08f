#include "harness/sim/sim_world.hpp"

#include <exception>
#include <optional>
#include <utility>

#include <lastref/temporary_resources.hpp>
#include <lastref/tracker.hpp>

#include "harness/oracle/evidence.hpp"
#include "harness/program/arena.hpp"
#include "harness/sim/sim_observer.hpp"
#include "harness/sim/sim_run.hpp"
#include "harness/sim/sim_stage.hpp"

namespace lastref::harness {
namespace {

using sim::Member;
using sim::SimRun;

constexpr const char* root_role = "root";
constexpr const char* later_start = "later_start";
// As in the kernel world.
constexpr const char* world_folder = "/dev/shm/world";

thread_local constinit SimRun* running = nullptr;

/// During its lifetime the allocations of this run may fail, and what would end this program ends
/// the simulated process instead. At most one per thread.
class RunUnderWay {
 public:
  explicit RunUnderWay(SimRun& run) noexcept {
    static const std::terminate_handler before = std::set_terminate([] {
      if (running != nullptr && running->machine.scheduler.is_inside()) {
        running->abort();
      }
      before();
    });
    running = &run;
    decide_allocations([](const void* frame) noexcept { return running->allocation_fails(frame); });
  }
  RunUnderWay(const RunUnderWay&) = delete;
  RunUnderWay& operator=(const RunUnderWay&) = delete;
  ~RunUnderWay() {
    decide_allocations(nullptr);
    running = nullptr;
  }
};

/// The body of one process, on its own fiber.
int live(SimRun& run, sim::SimOs& system, const os::SpawnOptions& options) {
  if (options.entry == later_start) {  // It does not belong to the run, but to the world.
    Member sweeper;
    sweeper.base = sweeper.role = later_start;
    sweeper.system = &system;
    sim::SimInterceptor interceptor(run, sweeper);
    InstrumentedOs os(system, interceptor);
    static_cast<void>(lastref::sweep(os, {}));
    return 0;
  }
  Member& member = *run.member_of(system.process());
  int code = 0;
  if (member.part == nullptr) {
    code = tracker::run(*member.os, options.arguments);
    member.os->run_exit_hooks();
  } else {
    sim::SimStage stage(run, member, options.arguments);
    stage.note_end(run_body(*member.part, stage));
    member.os->run_exit_hooks();
    if (stage.product().has_client()) {
      stage.product().leave();  // Recorded: from here on its references may disappear.
    }
  }
  for (const std::string& name : member.os->still_open()) {
    run.note(member, RecordKind::fact, fact::fd_left, {});
    run.journal.back().object.assign(name);
  }
  return code;
}

void prepare(SimRun& run, const SimOptions& options) {
  run.machine.scheduler.split_deaths = options.split_deaths;
  run.tries_early_timeouts = options.tries_early_timeouts;
  run.machine.late_words = options.late_words;
  run.machine.knows = [&run](const os::SpawnOptions& how) {
    return sim::is_entry(how.entry) || run.part_of(how) != nullptr;
  };
  run.machine.live = [&run](sim::SimOs& os, const os::SpawnOptions& how) {
    return live(run, os, how);
  };
  const auto maker = run.machine.kernel.make_process(nullptr, "world");
  maker->umask = 0;
  maker->environment["LASTREF_RUNTIME_FOLDER"] = sim::runtime_folder;
  maker->environment["TMPDIR"] = sim::spare_folder_of_run;
  for (const char* folder : {world_folder, sim::files_folder}) {
    static_cast<void>(run.machine.kernel.make_folder(*maker, folder, 0700));
  }
  static_cast<void>(run.machine.kernel.make_folder(*maker, sim::spare_folder_of_run, 01777));
  for (const char* folder : {sim::spare_folder_of_run, "/tmp", "/var/tmp"}) {
    run.machine.kernel.mount(folder);
  }
  maker->working_folder = sim::spare_folder_of_run;
  run.machine.kernel.keep_what_is_there();
  run.maker = maker;
}

/// From the start of a process in `role` to the last death.
void see_through(SimRun& run, const char* role) {
  sim::Scheduler& scheduler = run.machine.scheduler;
  run.machine.boot(run.maker, {.entry = role, .arguments = {}, .fds = {}, .blocked = {}});
  for (;;) {
    const sim::Scheduler::Rest rest = scheduler.run();
    if (rest == sim::Scheduler::Rest::ended) {
      return;
    }
    if (rest == sim::Scheduler::Rest::look) {
      sim::observe_at_once(run);
      if (run.anybody_lives()) {
        run.look_at_files();
      }
      continue;
    }
    const bool endless = rest == sim::Scheduler::Rest::endless;
    if (endless || !run.resolve()) {
      run.note(*run.by_index.front(),
               RecordKind::fact,
               fact::hang,
               (endless ? "no end: " : "") + scheduler.waiting());
      run.swept = true;
      run.kill_all();
      scheduler.steps_max = ~std::uint64_t{0};
      scheduler.run();
      return;
    }
  }
}

std::vector<std::string> left_by(const SimRun& run) {
  std::vector<std::string> paths = run.machine.kernel.leftovers();
  std::erase(paths, sim::runtime_folder);
  return paths;
}

/// The next start, which sweeps; if a fault was applied to it, another one after it without faults.
void start_again(SimRun& run) {
  run.machine.kernel.free_storage();
  const auto before = run.interceptors.fired;
  see_through(run, next_start_role);
  if (run.interceptors.fired != before) {
    run.interceptors.observing = true;
    run.machine.scheduler.steps_max = ~std::uint64_t{0};
    run.machine.boot(run.maker, {.entry = later_start, .arguments = {}, .fds = {}, .blocked = {}});
    run.machine.scheduler.run();
  }
}

std::string text_of(const std::vector<Record>& records) {
  std::string text;
  for (const Record& record : records) {
    text += to_text(record);
    text += '\n';
  }
  return text;
}

std::shared_ptr<const RunEstimate> estimate_of(const sim::Scheduler& scheduler) {
  auto estimate = std::make_shared<RunEstimate>();
  for (const auto& [of, steps] : scheduler.steps_taken) {
    estimate->push_back({.actor = of.first, .object = of.second, .steps = steps});
  }
  return estimate;
}

/// A copy of the vector in newly allocated memory, outside the arena of the run.
template <typename T>
std::vector<T> copy(const std::vector<T>& from) {
  return {from.begin(), from.end()};
}

}  // namespace

Outcome SimWorld::run(const Scenario& scenario, const Plan& plan) {
  if (!plan.switches.empty()) {
    SwitchChoices choices(plan.switches);
    return run(scenario, plan, choices);
  }
  if (plan.seed && plan.choices.empty() && plan.policy != PolicyName::sticky) {
    PolicyChoices choices(
        plan.policy, *plan.seed, plan.estimate == nullptr ? RunEstimate() : *plan.estimate);
    return run(scenario, plan, choices);
  }
  ListedChoices choices(plan.choices, plan.seed);
  return run(scenario, plan, choices);
}

Outcome SimWorld::run(const Scenario& scenario, const Plan& plan, Choices& choices) {
  choices.begin();
  const bool in_arena =
      options_.arena && !warm_.insert(scenario.name + ' ' + to_text(plan.parameters)).second;
  const Arena arena(in_arena);
  auto run = std::make_unique<SimRun>(scenario, plan, choices);
  prepare(*run, options_);
  std::optional<RunUnderWay> under_way(std::in_place, *run);
  run->machine.scheduler.counts_steps = plan.wants_estimate;
  run->ask_after = options_.ask_after;
  choices.hold(!options_.ask_after.empty());
  see_through(*run, root_role);
  steps_ = run->machine.scheduler.steps();

  run->look_at_files();
  std::vector<std::string> left = left_by(*run);
  std::vector<std::string> left_after_sweep;
  std::string standard_error = run->machine.kernel.standard_error;
  if (!left.empty()) {
    start_again(*run);
    left_after_sweep = left_by(*run);
  }
  under_way.reset();
  const Evidence evidence{.scenario = scenario,
                          .plan = plan,
                          .records = run->journal,
                          .left = std::move(left),
                          .left_after_sweep = std::move(left_after_sweep),
                          .standard_error = std::move(standard_error),
                          .files = std::move(run->files)};

  const ArenaPause outlives_the_run;
  Outcome outcome = outcome_of(evidence);
  outcome.reached = run->interceptors.reached;
  outcome.probes = run->interceptors.probes;
  outcome.choices = copy(choices.answers());
  outcome.options = copy(choices.options());
  outcome.switches = copy(choices.switches());
  if (plan.wants_estimate) {
    outcome.estimate = estimate_of(run->machine.scheduler);
    const auto& conflicts = run->machine.scheduler.conflicts;
    outcome.conflicts.assign(conflicts.begin(), conflicts.end());
  }
  if (outcome.log != nullptr) {
    outcome.log->steps = copy(run->steps);
  }
  journal_ = keeps_journal_ ? text_of(run->journal) : std::string();
  if (in_arena) {
    // The run is not destroyed: its memory is freed with the arena. Stacks are not in the arena.
    run->machine.scheduler.forget_everybody();
    static_cast<void>(run.release());
  }
  return outcome;
}

}  // namespace lastref::harness
