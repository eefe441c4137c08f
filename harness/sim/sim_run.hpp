// SimRun: one run of a scenario on a simulated computer: its machine, plan, journal and processes.
//
// SimInterceptor wraps each process's SimOs, as SerialInterceptor does in the kernel world.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/instrument/deadlock_resolver.hpp"
#include "harness/instrument/instrumented_os.hpp"
#include "harness/instrument/plan_interceptor.hpp"
#include "harness/journal/record.hpp"
#include "harness/journal/run_log.hpp"
#include "harness/oracle/file_look.hpp"
#include "harness/scenario/world.hpp"
#include "harness/sim/run_journal.hpp"
#include "harness/sim/sim_os.hpp"

namespace lastref::harness::sim {

class SimInterceptor;

/// Whether the product has an entry with this name.
bool is_entry(std::string_view name) noexcept;

/// A process of the run, as the harness sees it.
struct Member {
  std::uint16_t index = 0;
  const Role* part = nullptr;  ///< nullptr for an entry of the product
  std::string base;            ///< "tracker"
  std::string role;            ///< "tracker#2"
  std::uint64_t chance = 0;
  SimOs* system = nullptr;
  std::unique_ptr<SimInterceptor> interceptor;
  std::unique_ptr<InstrumentedOs> os;

  /// Whether `name` refers to it: "tracker" refers to all of them, "tracker#2" to one.
  bool plays(std::string_view name) const noexcept { return base == name || role == name; }
};

/// An actor that waits for a signal.
struct Awaiting {
  Scheduler::Index actor = 0;
  const SimProcess* process = nullptr;
  bool in_vain = false;  ///< No actor will give the signal.
};

struct SimRun final : DeadlockResolver {
  SimRun(const Scenario& the_scenario,
         const Plan& the_plan,
         Choices& choices,
         RunJournal& the_journal);
  SimRun(const SimRun&) = delete;
  SimRun& operator=(const SimRun&) = delete;
  ~SimRun() override;

  /// From here on the run has this plan, with the same parameters, and asks these choices. None of
  /// the faults could have been injected before.
  void continue_with(const Plan& the_plan, Choices& choices);

  /// The role that a process starts in; nullptr if it is an entry of the product, or unknown.
  const Role* part_of(const os::SpawnOptions& options) const;
  void be_born(SimOs& os, const SimProcess* parent, const os::SpawnOptions& options);
  /// The run's record of a process; nullptr for others.
  Member* member_of(const SimProcess& process);
  /// One of the ends in namespace fact.
  std::string_view end_of(const SimProcess& process) const;
  /// Sends SIGKILL to all processes of a role, or to all.
  void kill(std::string_view role);
  void kill_all();
  void note(const Member& member,
            RecordKind kind,
            std::string_view name,
            std::string_view text,
            std::int64_t value = 0);
  /// A new step of the running actor, to be filled in; nullptr if none is wanted.
  RunStep* log_step();
  bool anybody_lives() const;
  /// Whether an allocation of the running process fails.
  bool allocation_fails(const void* frame);
  /// The running process has ended itself, as by abort(3). Does not return.
  [[noreturn]] void abort();
  /// Saves the contents of the existing files.
  void look_at_files();
  bool has_moved() override;
  bool ask_tracker() override;
  bool let_doomed_go() override;
  bool fail_one_waiter() override;
  bool let_stopped_go() override;

  const Scenario& scenario;
  const Plan* plan;
  ParameterValues parameters;
  Machine machine;
  std::shared_ptr<SimProcess> maker;  ///< The parent of the root
  RunJournal& journal;
  std::vector<RunStep> steps;   ///< If a log is wanted
  std::vector<FileLook> files;  ///< in the states in which they were read
  std::map<const SimProcess*, std::unique_ptr<Member>> members;
  std::vector<Member*> by_index;
  std::string listener;  ///< Path of the socket that was bound last

  std::set<std::string> signals;             ///< the given ones
  std::map<std::string, std::string> mails;  ///< bytes that signals carry
  std::string ask_after;
  std::vector<Awaiting*> awaiting;

  InterceptorState interceptors;
  std::uint32_t observed_at = 0;      ///< The number of crossings when the tracker was last asked
  bool tries_early_timeouts = false;  ///< In exhaustive enumeration
  bool swept = false;                 ///< A process that dies now is killed by the world.

 private:
  void log_switch(Scheduler::Index usual, Scheduler::Index to);
};

class SimInterceptor final : public PlanInterceptor {
 public:
  SimInterceptor(SimRun& run, Member& member)
      : PlanInterceptor(run.interceptors), run_(run), member_(member) {
    play(run.plan->faults, member.role);
  }

  /// The plan of the run has changed.
  void follow_plan() { change_faults(run_.plan->faults, member_.role); }

  /// Applies a planned kill to an actor that is blocked in a call: it dies when it continues.
  /// False: there is none.
  bool strike() noexcept;

  std::string_view role_of(os::Pid pid) const noexcept override;
  void bound(std::string_view path) noexcept override { run_.listener = path; }
  void signalled(os::Fd process, os::Signal signal) noexcept override;

  bool serialises() const noexcept override { return true; }
  void ask(ThreadStep step, std::uint64_t object) noexcept override;
  bool wait_ready(std::span<const os::PollItem> items,
                  std::optional<os::Instant> deadline) noexcept override;
  void wait_for(Wait reason, const void* thing) noexcept override;
  void wake(Wait reason, const void* thing) noexcept override;
  os::Instant now() noexcept override;
  void fill(os::Buffer into) noexcept override;
  ActorId new_actor() noexcept override;
  void drop_actor(ActorId) noexcept override {}
  void actor_begun() noexcept override {}
  void actor_begins(ActorId) noexcept override {}
  void actor_ends() noexcept override {}
  void join(ActorId actor) noexcept override;

 private:
  struct Waiting {
    Wait reason;
    const void* thing;
    bool woken = false;
  };
  /// What an actor of this process is doing.
  struct Doing {
    PendingFaults pending = {};
    bool struck = false;  ///< kill_blocked: it continues only to die
    Waiting* waiting = nullptr;
  };

  /// Which actors can observe whether the call was made before or after a step of theirs.
  Reach reach_of(const PendingCall& pending_call) const;
  void log(ThreadStep step, std::uint64_t object) noexcept;
  Doing& doing() { return doing_[run_.machine.scheduler.current()]; }
  PendingFaults& pending() noexcept override { return doing().pending; }
  void let_others_go_first(const PendingCall& pending_call) noexcept override;
  Record* claim() noexcept override;
  void publish(Record& record) noexcept override;
  std::size_t records() const noexcept override { return run_.journal.size(); }
  void note_fired(FaultKind kind, std::size_t index) noexcept override;
  void look() noexcept override;
  void interrupt() noexcept override;
  void pause() noexcept override;
  bool ends_early() noexcept override;
  void move_clock(os::Instant to) noexcept override;
  [[noreturn]] void die(bool whole_tree) noexcept override;
  void give_up() noexcept override;

  SimRun& run_;
  Member& member_;
  std::map<Scheduler::Index, Doing> doing_;
};

}  // namespace lastref::harness::sim
