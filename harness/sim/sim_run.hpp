// SimRun: one run of a scenario on a simulated computer: its machine, plan, journal and processes.
//
// SimInterceptor is what stands around each process's SimOs, as SerialInterceptor does in the
// kernel world.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/instrument/instrumented_os.hpp"
#include "harness/instrument/plan_interceptor.hpp"
#include "harness/instrument/standstill.hpp"
#include "harness/journal/record.hpp"
#include "harness/oracle/file_look.hpp"
#include "harness/scenario/world.hpp"
#include "harness/sim/sim_os.hpp"

namespace lastref::harness::sim {

class SimInterceptor;

/// Whether the product has an entry of that name.
bool is_entry(std::string_view name) noexcept;

/// A process of the run, as the harness sees it.
struct Member {
  std::uint16_t index = 0;
  const Role* part = nullptr;  ///< nothing for an entry of the product's
  std::string base;            ///< "tracker"
  std::string role;            ///< "tracker#2"
  std::uint64_t chance = 0;
  SimOs* system = nullptr;
  std::unique_ptr<SimInterceptor> interceptor;
  std::unique_ptr<InstrumentedOs> os;

  /// Whether it is meant by `name`: "tracker" means all of them, "tracker#2" one.
  bool plays(std::string_view name) const noexcept { return base == name || role == name; }
};

/// Somebody who waits for a signal.
struct Awaiting {
  Scheduler::Index actor = 0;
  const SimProcess* process = nullptr;
  bool in_vain = false;  ///< Nobody will give it.
};

struct SimRun final : Standstill {
  SimRun(const Scenario& the_scenario, const Plan& the_plan, Choices& the_choices);
  SimRun(const SimRun&) = delete;
  SimRun& operator=(const SimRun&) = delete;
  ~SimRun() override;

  /// The role that a process starts in; nothing if it is an entry of the product's, or none.
  const Role* part_of(const os::SpawnOptions& options) const;
  void be_born(SimOs& os, const SimProcess* parent, const os::SpawnOptions& options);
  /// The process of the run that a process is; nothing for others.
  Member* member_of(const SimProcess& process);
  /// One of the ends in namespace fact.
  std::string_view end_of(const SimProcess& process) const;
  /// SIGKILL to all processes of a role, or to all.
  void kill(std::string_view role);
  void kill_all();
  void note(const Member& member,
            RecordKind kind,
            std::string_view name,
            std::string_view text,
            std::int64_t value = 0);
  bool anybody_lives() const;
  /// Whether an allocation of the process that runs fails.
  bool allocation_fails(const void* frame);
  /// The process that runs has ended itself as by abort(3). Does not come back.
  [[noreturn]] void abort();
  /// Keeps what is in the files that are there.
  void look_at_files();
  bool has_moved() override;
  bool ask_tracker() override;
  bool let_doomed_go() override;
  bool let_down_one_who_awaits() override;
  bool let_stopped_go() override;

  const Scenario& scenario;
  const Plan& plan;
  Choices& choices;
  Machine machine;
  std::shared_ptr<SimProcess> maker;  ///< Whose child the root is
  std::vector<Record> journal;
  std::vector<FileLook> files;  ///< as they were looked at
  std::map<const SimProcess*, std::unique_ptr<Member>> members;
  std::vector<Member*> by_index;
  std::string listener;  ///< Path of the socket that was bound last

  std::set<std::string> signals;             ///< that were given
  std::map<std::string, std::string> mails;  ///< bytes that signals carry
  std::string ask_after;
  std::vector<Awaiting*> awaiting;

  InterceptorState interceptors;
  std::uint32_t observed_at = 0;  ///< How many crossings there were when the tracker was asked last
  bool tries_early_timeouts = false;  ///< In exhaustive enumeration
  bool swept = false;                 ///< What dies now is killed by the world.
};

class SimInterceptor final : public PlanInterceptor {
 public:
  SimInterceptor(SimRun& run, Member& member)
      : PlanInterceptor(run.interceptors), run_(run), member_(member) {
    play(run.plan.faults, member.role);
  }

  /// Whoever is planned to die in a call that waits, and waits, does so when it goes on.
  bool strike() noexcept;

  std::string_view role_of(os::Pid pid) const noexcept override;
  void bound(std::string_view path) noexcept override { run_.listener = path; }
  void signalled(os::Fd process, os::Signal signal) noexcept override;

  bool serialises() const noexcept override { return true; }
  void ask() noexcept override;
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
    bool struck = false;  ///< kill_blocked goes on to die
    Waiting* waiting = nullptr;
  };

  /// Who can tell whether the call was made before or after a step of theirs.
  Reach reach_of(const PendingCall& pending_call) const;
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
