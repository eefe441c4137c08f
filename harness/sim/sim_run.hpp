// SimRun: one run of a scenario on a simulated computer: its machine, plan, journal and processes.
//
// SimGate is what stands around each process's SimOs: it journals crossings, fires planned faults,
// and asks the scheduler. It is the twin of the kernel world's SerialGate, and asks the same
// questions.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "harness/instrument/instrumented_os.hpp"
#include "harness/instrument/limits.hpp"
#include "harness/journal/record.hpp"
#include "harness/scenario/world.hpp"
#include "harness/sim/sim_os.hpp"

namespace lastref::harness::sim {

class SimGate;

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
  std::unique_ptr<SimGate> gate;
  std::unique_ptr<InstrumentedOs> os;

  /// Whether it is meant by `name`: "tracker" means all of them, "tracker#2" one.
  bool plays(std::string_view name) const noexcept { return base == name || role == name; }
};

/// Somebody who waits for a word.
struct Awaiting {
  Scheduler::Index actor = 0;
  const Task* task = nullptr;
  bool in_vain = false;  ///< Nobody will say it.
};

struct SimRun {
  SimRun(const Scenario& the_scenario, const Plan& the_plan, Choices& the_choices);
  SimRun(const SimRun&) = delete;
  SimRun& operator=(const SimRun&) = delete;
  ~SimRun();

  /// The role that a process starts in; nothing if it is an entry of the product's, or none.
  const Role* part_of(const os::SpawnOptions& options) const;
  void be_born(SimOs& os, const Task* parent, const os::SpawnOptions& options);
  /// The process of the run that a task is; nothing for others.
  Member* member_of(const Task& task);
  /// One of the ends in namespace fact.
  std::string_view end_of(const Task& task) const;
  /// SIGKILL to all processes of a role, or to all.
  void kill(std::string_view role);
  void kill_all();
  void note(const Member& member,
            RecordKind kind,
            std::string_view place,
            std::string_view text,
            std::int64_t value = 0);
  // When nobody can go on: true if somebody can now.
  bool let_doomed_go();
  bool let_down_one_who_awaits();
  bool let_stopped_go();

  const Scenario& scenario;
  const Plan& plan;
  Choices& choices;
  Machine machine;
  std::shared_ptr<Task> maker;  ///< Whose child the root is
  std::vector<Record> journal;
  std::map<const Task*, std::unique_ptr<Member>> members;
  std::vector<Member*> by_index;
  std::vector<bool> fired;  ///< One for each planned fault
  std::string listener;     ///< Path of the socket that was bound last

  std::set<std::string> words;               ///< that were said
  std::map<std::string, std::string> mails;  ///< bytes that words carry
  std::string ask_after;
  std::vector<Awaiting*> awaiting;

  std::uint32_t crossings = 0;
  PointSet reached;
  std::uint32_t crossings_allowed = crossings_max;
  std::uint32_t observed_at = 0;  ///< That number when the tracker was asked last
  bool observing = false;
  bool swept = false;  ///< What dies now is killed by the world.
};

class SimGate final : public Gate {
 public:
  SimGate(SimRun& run, Member& member) : run_(run), member_(member) {}

  /// Whoever is planned to die in a call that waits, and waits, does so when it goes on.
  bool strike() noexcept;

  Passage before(const Approach& approach) noexcept override;
  void after(const Approach& approach, const Return& how) noexcept override;
  bool counts() const noexcept override { return !run_.observing; }
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
    const Fault* kill_after = nullptr;
    const Fault* kill_blocked = nullptr;
    const Fault* pause = nullptr;
    bool struck = false;  ///< kill_blocked goes on to die
    Waiting* waiting = nullptr;
  };

  /// Who can tell whether the call was made before or after a step of theirs.
  Reach reach_of(const Approach& approach) const;
  Doing& doing() { return doing_[run_.machine.scheduler.current()]; }
  bool is_hit(const Fault& fault, std::size_t index, const Approach& approach) const;
  Passage apply_faults(const Approach& approach, const Fault*& dies);
  void fire(const Fault& fault);
  void record(const Approach& approach, RecordKind kind, const Return& how);
  [[noreturn]] void die(const Fault& fault);

  SimRun& run_;
  Member& member_;
  std::map<Scheduler::Index, Doing> doing_;
};

}  // namespace lastref::harness::sim
