// PlanInterceptor: applies the plan of a run at each crossing, the same in every world: it counts
// the crossing, offers the turn to others, injects the planned faults, and writes records.
//
// A world provides the mechanisms: scheduling, the death of a process, the storage of records.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "harness/instrument/interceptor.hpp"
#include "harness/instrument/limits.hpp"
#include "harness/journal/record.hpp"
#include "harness/scenario/fault.hpp"
#include "harness/scenario/points.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// Whether the tracker is asked directly after each kill, and not only when no thread can continue.
/// True for about three of four plans with faults: a tracker that had always received everything
/// would hide the effects of its lag.
bool looks_at_kills(std::span<const Fault> faults) noexcept;

/// State shared by all interceptors of a run. Plain bytes, for memory shared by many processes.
struct InterceptorState {
  std::uint32_t crossings = 0;
  std::uint32_t crossings_allowed = crossings_max;
  PointSet reached = {};
  ProbeSet probes = {};
  bool observing = false;  ///< Only the tracker runs, and nothing counts.
  bool looks = false;      ///< The tracker is asked directly after each kill.
  bool notes_allocations = false;
  bool counts_allocations = false;  ///< Even if no fault needs their number.
  bool notes_callers = false;       ///< From the start, or
  bool notes_aftermath = false;     ///< after the first fault was injected.
  std::array<bool, faults_max> fired = {};
  /// A fault was injected that the caller of the product may notice. It does not notice another
  /// order, and the product hides that a call transfers fewer bytes.
  bool is_disturbed = false;

  /// Applies what the plan says about all processes together. Call it before the first of them
  /// starts.
  void follow(const Plan& plan);
  bool has_fired() const noexcept;
  bool wants_callers() const noexcept { return notes_callers || (notes_aftermath && has_fired()); }
  /// Whether the tracker is to be asked at such a moment. Not before the first fault: the run up to
  /// it has to be the same as without it.
  bool wants_look() const noexcept { return looks && !observing && has_fired(); }
};

/// Faults planned for the current call of a thread and not yet injected.
struct PendingFaults {
  const Fault* kill_after = nullptr;
  const Fault* kill_blocked = nullptr;
  const Fault* pause = nullptr;
  const Fault* time_out = nullptr;
};

class PlanInterceptor : public Interceptor {
 public:
  Injection before(const PendingCall& pending_call) noexcept final;
  void after(const PendingCall& pending_call, const CallResult& how) noexcept final;
  void hit(Probe probe) noexcept final;
  bool is_time_over() noexcept final;
  void time_is_over(os::Instant deadline) noexcept final;
  bool counts() const noexcept final { return !state_.observing; }
  /// An operation of a role is about to begin.
  void begins(std::string_view operation) noexcept;
  /// Whether an allocation fails. `frame` is that of its operator new.
  bool allocation_fails(const void* frame) noexcept;
  /// The number of allocations so far, if they are counted.
  std::uint32_t allocations() const noexcept { return allocations_; }

 protected:
  explicit PlanInterceptor(InterceptorState& state) noexcept : state_(state) {}

  /// From now on this is the interceptor of a process in that role. `faults` are those of the plan.
  void play(std::span<const Fault> faults, std::string_view role);
  /// From now on `faults` are those of the plan. No fault has been injected yet.
  void change_faults(std::span<const Fault> faults, std::string_view role);
  /// Whether a fault is planned for that name, at any object.
  bool strikes_at(std::string_view name) const noexcept;
  /// In a call that has waited: does not return if the calling thread is to die in it.
  void strike_if_blocked() noexcept;
  /// Makes a record of it with everything except its result, or nullptr; to be published.
  Record* record(const PendingCall& pending_call, RecordKind kind) noexcept;

  virtual PendingFaults& pending() noexcept = 0;
  /// The calling thread is in this crossing from now on; in none with nullptr.
  virtual void crosses(const PendingCall* pending_call) noexcept;
  virtual void let_others_go_first(const PendingCall& pending_call) noexcept = 0;
  /// A new record with the process, actor and role of the calling thread, or nullptr where there is
  /// no space.
  virtual Record* claim() noexcept = 0;
  virtual void publish(Record& record) noexcept = 0;
  virtual std::size_t records() const noexcept = 0;
  virtual void note_fired(FaultKind kind, std::size_t index) noexcept = 0;
  /// Delivers SIGINT, SIGTERM, SIGHUP and SIGQUIT. Does not return if the process dies of one of
  /// them.
  virtual void interrupt() noexcept = 0;
  virtual void pause() noexcept = 0;
  /// Whether a time limit ends early: a choice with the usual answer no.
  virtual bool ends_early() noexcept = 0;
  /// Moves the run's clock forward to that time at least.
  virtual void move_clock(os::Instant to) noexcept = 0;
  /// Returns when the tracker has been asked for its counts.
  virtual void look() noexcept = 0;
  [[noreturn]] virtual void die(bool whole_tree) noexcept = 0;
  /// Ends a run that does not end by itself.
  virtual void give_up() noexcept = 0;

 private:
  /// Whether this call stack is seen for the first time.
  bool is_new_chain(std::uint32_t callers);
  bool is_hit(std::size_t index, const PendingCall& pending_call) const noexcept;
  void fire(const Fault& fault) noexcept;
  /// Plans the death of the process at the phase of the fault, or sets `dies`.
  void plan_kill(const Fault& fault,
                 const PendingCall& pending_call,
                 Injection& injection,
                 const Fault*& dies) noexcept;
  /// Applies the plan at this point. Sets `dies` if the process is to die before the call.
  Injection apply_faults(const PendingCall& pending_call, const Fault*& dies) noexcept;
  bool has_space_for_crossings() const noexcept { return records() < records_of_crossings_max; }

  InterceptorState& state_;
  std::span<const Fault> faults_;
  RoleText role_;
  std::vector<std::size_t> mine_;  ///< Indices of the faults that apply to this role.
  bool counts_allocations_ = false;
  bool notes_allocations_ = false;
  std::uint32_t allocations_ = 0;
  bool has_told_failure_ = false;      ///< Whether the first failed allocation was reported; there
                                       ///< may be many.
  std::vector<std::uint32_t> chains_;  ///< Call stacks that led to an allocation. Sorted.
};

}  // namespace lastref::harness
