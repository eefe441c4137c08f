#include "harness/sim/sim_world.hpp"

#include <algorithm>
#include <exception>
#include <optional>
#include <utility>

#include <lastref/temporary_resources.hpp>
#include <lastref/tracker.hpp>

#include "harness/oracle/evidence.hpp"
#include "harness/program/arena.hpp"
#include "harness/scenario/plan_choices.hpp"
#include "harness/sim/prefix.hpp"
#include "harness/sim/sim_observer.hpp"
#include "harness/sim/sim_run.hpp"
#include "harness/sim/sim_stage.hpp"

namespace lastref::harness {
namespace {

using sim::Member;
using sim::SimRun;

/// A prefix costs about as much as this many runs.
constexpr std::size_t runs_until_prefix = 4;
/// Values of parameters that are remembered, roughly: texts may be drawn without end.
constexpr std::size_t known_max = 10'000;
constexpr std::size_t bytes_of_prefixes_max = std::size_t{128} << 20U;  // of a world

constexpr const char* root_role = "root";
constexpr const char* later_start = "later_start";
// As in the kernel world.
constexpr const char* world_folder = "/dev/shm/world";

thread_local constinit SimRun* running = nullptr;

/// During its lifetime the allocations of this run may fail, and what would end this program ends
/// the simulated process instead. At most one per thread.
class RunUnderWay {
 public:
  RunUnderWay(SimRun& run, bool watches_allocations) noexcept {
    static const std::terminate_handler before = std::set_terminate([] {
      if (running != nullptr && running->machine.scheduler.is_inside()) {
        running->abort();
      }
      before();
    });
    running = &run;
    if (watches_allocations) {
      decide_allocations(
          [](const void* frame) noexcept { return running->allocation_fails(frame); });
    }
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

void prepare(SimRun& run, const SimOptions& options, const Plan& plan) {
  run.machine.scheduler.counts_steps = plan.wants_estimate;
  if (options.knows_states) {
    run.machine.scheduler.happens_before.emplace();
    run.machine.kernel.accesses.are_noted = true;
  }
  run.ask_after = options.ask_after;
  run.machine.scheduler.choices().hold(!options.ask_after.empty());
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
  run.machine.kernel.accesses.touch_all();  // What was before has ended.
  run.machine.boot(run.maker, {.entry = role, .arguments = {}, .fds = {}, .blocked = {}});
  for (;;) {
    const sim::Scheduler::Rest rest = scheduler.run();
    if (rest == sim::Scheduler::Rest::ended || rest == sim::Scheduler::Rest::cut_off) {
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
    run.machine.kernel.accesses.touch_all();
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

std::string text_of(std::span<const Record> records) {
  std::string text;
  for (const Record& record : records) {
    text += to_text(record);
    text += '\n';
  }
  return text;
}

/// All that happens before the oracles judge.
void play(sim::WholeRun& whole) {
  SimRun& run = whole.run;
  see_through(run, root_role);
  whole.steps = run.machine.scheduler.steps();
  if (run.machine.scheduler.is_cut_off()) {
    whole.is_over = true;
    return;
  }
  run.look_at_files();
  whole.left = left_by(run);
  whole.standard_error = run.machine.kernel.standard_error;
  if (!whole.left.empty()) {
    start_again(run);
    whole.left_after_sweep = left_by(run);
  }
  whole.is_over = true;
}

bool watches_allocations(const Plan& plan) {
  return plan.wants_allocations || std::ranges::any_of(plan.faults, [](const Fault& fault) {
           return is_allocation(fault.site);
         });
}

/// Whether the run may begin like others.
bool may_share(const Scenario& scenario, const Plan& plan) {
  // Another scenario may change, or get the name of one that was destroyed.
  const std::vector<Scenario>& all = catalog();
  const bool stays = &scenario >= all.data() && &scenario < all.data() + all.size();
  // Big ones have few runs. Those that note all calls, steps or allocations do so from the start.
  return stays && scenario.in_matrix() && plan.ambient.empty() && !plan.wants_crossings &&
         !plan.wants_log && !plan.wants_turns && (!plan.wants_allocations || plan.wants_aftermath);
}

}  // namespace

struct SimWorld::Memory {
  ArenaMemory arena;
  sim::Stacks stacks;
  sim::RunJournal journal;
};

struct SimWorld::KnownPrefix {
  std::size_t runs = 0;
  std::unique_ptr<const sim::Prefix> prefix;
};

SimWorld::SimWorld(SimOptions options)
    : options_(std::move(options)), memory_(std::make_unique<Memory>()) {}

SimWorld::~SimWorld() = default;

Outcome SimWorld::run(const Scenario& scenario, const Plan& plan) {
  const std::unique_ptr<Choices> choices = choices_of(plan);
  if (plan.wants_turns) {
    choices->keep_turns();
  }
  return run(scenario, plan, *choices, Sharing::allowed);
}

/// Choices that enumerate need to be asked each question as it is, and once.
Outcome SimWorld::run(const Scenario& scenario, const Plan& plan, Choices& choices) {
  return run(scenario, plan, choices, Sharing::none);
}

sim::WholeRun& SimWorld::start(const Scenario& scenario, const Plan& plan, Choices& choices) {
  memory_->stacks.forget_all();
  // Freed with the arena, and not destroyed.
  auto& whole = *new sim::WholeRun(scenario, plan, choices, memory_->journal);
  prepare(whole.run, options_, plan);
  whole.host = std::make_unique<sim::Fiber>([&whole] { play(whole); });
  return whole;
}

const sim::Prefix* SimWorld::prefix_of(const Scenario& scenario,
                                       const Plan& plan,
                                       KnownPrefix& known) {
  if (known.prefix == nullptr && known.runs >= runs_until_prefix &&
      bytes_of_prefixes_ < bytes_of_prefixes_max) {
    std::optional<RunUnderWay> under_way;
    known.prefix = std::make_unique<const sim::Prefix>(
        plan,
        memory_->arena,
        memory_->stacks,
        [&](const Plan& shared, Choices& choices) -> sim::WholeRun& {
          sim::WholeRun& whole = start(scenario, shared, choices);
          under_way.reset();
          under_way.emplace(whole.run, /*watches_allocations=*/true);
          return whole;
        });
    bytes_of_prefixes_ += known.prefix->size();
  }
  return known.prefix.get();
}

Outcome SimWorld::run(const Scenario& scenario,
                      const Plan& plan,
                      Choices& choices,
                      Sharing sharing) {
  const auto begin = [&] {
    const ArenaPause answers_outlive_the_run;
    choices.begin();
  };
  if (known_.size() > known_max) {
    std::erase_if(known_, [](const auto& each) { return each.second.prefix == nullptr; });
  }
  KnownPrefix& known = known_[scenario.name + ' ' + to_text(plan.parameters) +
                              (plan.wants_estimate ? " estimated" : "")];
  ++known.runs;
  if (!options_.arena || !ArenaMemory::can_be_copied()) {
    const Arena leaks_of_the_killed(/*serves=*/false);
    begin();
    sim::WholeRun whole(scenario, plan, choices, memory_->journal);
    prepare(whole.run, options_, plan);
    {
      const RunUnderWay under_way(whole.run, watches_allocations(plan));
      play(whole);
    }
    return outcome_of_run(whole, plan);
  }
  const bool shares = sharing == Sharing::allowed && options_.shares_prefixes &&
                      options_.ask_after.empty() && may_share(scenario, plan);
  const sim::Prefix* const prefix = shares ? prefix_of(scenario, plan, known) : nullptr;
  const Arena arena(memory_->arena);
  const sim::StacksInUse stacks(memory_->stacks);
  sim::WholeRun* whole = nullptr;
  if (prefix != nullptr) {
    begin();
    whole = prefix->resume(plan, choices, memory_->stacks, memory_->journal);
  }
  continued_ += whole == nullptr ? 0U : 1U;
  if (whole == nullptr) {
    begin();
    whole = &start(scenario, plan, choices);
  }
  {
    const RunUnderWay under_way(whole->run, watches_allocations(plan));
    whole->host->enter();
  }
  return outcome_of_run(*whole, plan);
}

Outcome SimWorld::outcome_of_run(sim::WholeRun& whole, const Plan& plan) {
  SimRun& run = whole.run;
  steps_ = whole.steps;
  if (run.machine.scheduler.is_cut_off()) {
    const ArenaPause outlives_the_run;
    journal_.clear();
    Outcome outcome;
    outcome.is_cut_off = true;
    outcome.choices = run.machine.scheduler.choices().answers();
    outcome.options = run.machine.scheduler.choices().options();
    return outcome;
  }
  const Evidence evidence{.scenario = run.scenario,
                          .plan = plan,
                          .records = run.journal.records(),
                          .left = whole.left,
                          .left_after_sweep = whole.left_after_sweep,
                          .standard_error = whole.standard_error,
                          .files = std::move(run.files)};
  const Outcome judged = outcome_of(evidence);
  // All else is freed with the arena.
  const ArenaPause outlives_the_run;
  Outcome outcome = judged;
  const Choices& choices = run.machine.scheduler.choices();
  outcome.reached = run.interceptors.reached;
  outcome.probes = run.interceptors.probes;
  outcome.choices = choices.answers();
  outcome.options = choices.options();
  outcome.switches = choices.switches();
  if (plan.wants_estimate) {
    outcome.estimate = std::make_shared<RunEstimate>(run.machine.scheduler.steps_taken());
    outcome.conflicts = run.machine.scheduler.conflicts();
  }
  outcome.turns = choices.turns();
  if (judged.log != nullptr) {
    outcome.log = std::make_shared<RunLog>(*judged.log);
    outcome.log->steps = run.steps;
  }
  journal_ = keeps_journal_ ? text_of(run.journal.records()) : std::string();
  return outcome;
}

}  // namespace lastref::harness
