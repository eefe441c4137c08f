// Interceptor: stops an instrumented call before it is made and after it has returned.
//
// An interceptor decides what happens at a crossing; InstrumentedOs does it. An interceptor that
// serialises also decides which thread runs: then nothing below it ever waits, and it provides
// threads, monitors, clock and entropy. The base class is the null interceptor, which changes
// nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <lastref/os.hpp>

namespace lastref::harness {

/// A call or step in progress.
struct PendingCall {
  Call call = Call::none;      ///< `none` for a step
  std::string_view name = {};  ///< the method, or the step's name
  std::string_view object = {};
  std::string_view text = {};  ///< its argument, in full
  std::int64_t value = 0;      ///< see Record
  std::uint32_t k = 0;         ///< 0 while the interceptor does not count
  bool asks = true;            ///< whether another thread may be offered the turn first
  bool waited = false;         ///< set by code that waits in it
};

/// What happens at a crossing. Deaths do not return.
struct Injection {
  int error = 0;         ///< errno to fail with
  bool shorten = false;  ///< take about half of the bytes
  bool late = false;     ///< if nothing is ready, its time limit is over
};

/// The result of a crossing.
struct CallResult {
  int error = 0;
  bool injected = false;
};

/// A thread of a run.
using ActorId = std::uint16_t;

/// The number of processors that a process of a run sees, on any machine.
inline constexpr unsigned processors_of_a_run = 2;

/// A step on an object that only the threads of one process share: a monitor, or an atomic.
/// `unlock` is after its effect, the others are before it.
enum class ThreadStep : std::uint8_t { lock, unlock, wait, notify, load, store };

/// Why an actor waits, other than in `poll`.
enum class Wait : std::uint8_t { lock, notice, thread };

class Interceptor {
 public:
  Interceptor() = default;
  Interceptor(const Interceptor&) = delete;
  Interceptor& operator=(const Interceptor&) = delete;
  virtual ~Interceptor() = default;

  virtual Injection before(const PendingCall& pending_call) noexcept;
  virtual void after(const PendingCall& pending_call, const CallResult& how) noexcept;
  /// A condition was met that a campaign has to cover.
  virtual void hit(Probe probe) noexcept;
  /// Whether crossings are counted at present.
  virtual bool counts() const noexcept { return true; }
  /// The role of a process of the run, or nothing.
  virtual std::string_view role_of(os::Pid pid) const noexcept;
  /// A descriptor is about to be closed.
  virtual void closes(os::Fd fd) noexcept;
  /// A socket was bound to its path.
  virtual void bound(std::string_view path) noexcept;
  /// A signal is about to be sent. Does not return if it kills the caller's own process.
  virtual void signals(os::Fd process, os::Signal signal) noexcept;
  /// A signal was sent. Returns when it has had its effect.
  virtual void signalled(os::Fd process, os::Signal signal) noexcept;

  /// Whether only one thread of the run runs at a time. The functions below are called only then.
  virtual bool serialises() const noexcept { return false; }
  /// Offers the turn to other threads. `object` is a number of the object in its process.
  virtual void ask(ThreadStep step, std::uint64_t object) noexcept;
  /// Returns when an item may be ready; false if the deadline came first.
  virtual bool wait_ready(std::span<const os::PollItem> items,
                          std::optional<os::Instant> deadline) noexcept;
  /// Whether the time limit of the calling thread's wait ends at once, without a planned fault.
  virtual bool is_time_over() noexcept;
  /// No thread is waited for: the time limit of the calling thread's wait is over.
  virtual void time_is_over(os::Instant deadline) noexcept;
  /// Returns after `wake` for the same reason and thing.
  virtual void wait_for(Wait reason, const void* thing) noexcept;
  virtual void wake(Wait reason, const void* thing) noexcept;
  virtual os::Instant now() noexcept;
  virtual void fill(os::Buffer into) noexcept;

  virtual ActorId new_actor() noexcept;
  virtual void drop_actor(ActorId actor) noexcept;
  /// In the thread that started another: returns when the new one waits for its turn. Until then
  /// the new one may hold locks of the C library or of a sanitizer, which a fork would copy.
  virtual void actor_begun() noexcept;
  /// In the new thread: returns when it has the turn.
  virtual void actor_begins(ActorId actor) noexcept;
  /// In the thread, as its last action.
  virtual void actor_ends() noexcept;
  virtual void join(ActorId actor) noexcept;
};

}  // namespace lastref::harness
