// Interceptor: where an instrumented call stops before it is made and after it came back.
//
// An interceptor decides what happens at a crossing; InstrumentedOs does it. An interceptor that
// serialises also decides who runs: then nothing below it ever waits, and threads, monitors, clock
// and chance are the interceptor's. The base class is the null interceptor: it lets everybody
// through.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include <lastref/os.hpp>

namespace lastref::harness {

/// A call or step on its way.
struct PendingCall {
  Call call = Call::none;      ///< `none` for a step
  std::string_view name = {};  ///< the method, or the step's name
  std::string_view object = {};
  std::string_view text = {};  ///< what it was given, in full
  std::int64_t value = 0;      ///< see Record
  std::uint32_t k = 0;         ///< 0 while the interceptor does not count
  bool asks = true;            ///< whether somebody else may be asked to go first
  bool waited = false;         ///< set by whoever waits in it
};

/// What shall happen at a crossing. Deaths do not come back.
struct Injection {
  int error = 0;         ///< errno to fail with
  bool shorten = false;  ///< take about half of the bytes
  bool late = false;     ///< if nothing is ready, its time is over
};

/// How it came back.
struct CallResult {
  int error = 0;
  bool injected = false;
};

/// A thread of a run.
using ActorId = std::uint16_t;

/// How many processors a process of a run sees, whatever the machine has.
inline constexpr unsigned processors_of_a_run = 2;

/// Why an actor does not go on, other than in `poll`.
enum class Wait : std::uint8_t { lock, notice, thread };

class Interceptor {
 public:
  Interceptor() = default;
  Interceptor(const Interceptor&) = delete;
  Interceptor& operator=(const Interceptor&) = delete;
  virtual ~Interceptor() = default;

  virtual Injection before(const PendingCall& pending_call) noexcept;
  virtual void after(const PendingCall& pending_call, const CallResult& how) noexcept;
  /// A condition was met that a campaign has to meet.
  virtual void saw(Probe probe) noexcept;
  /// Whether crossings are counted at this moment.
  virtual bool counts() const noexcept { return true; }
  /// The role of a process of the run, or nothing.
  virtual std::string_view role_of(os::Pid pid) const noexcept;
  /// A descriptor is about to be closed.
  virtual void closes(os::Fd fd) noexcept;
  /// A socket got its place in the file system.
  virtual void bound(std::string_view path) noexcept;
  /// A signal is about to be sent. Does not come back if it kills the caller's own process.
  virtual void signals(os::Fd process, os::Signal signal) noexcept;
  /// A signal was sent. Comes back when it has had its effect.
  virtual void signalled(os::Fd process, os::Signal signal) noexcept;

  /// Whether one thread of the run goes at a time. The rest is called only if so.
  virtual bool serialises() const noexcept { return false; }
  /// Somebody else may go first.
  virtual void ask() noexcept;
  /// Comes back when an item may be ready; false when the deadline came first.
  virtual bool wait_ready(std::span<const os::PollItem> items,
                          std::optional<os::Instant> deadline) noexcept;
  /// Whether the time that the calling thread would wait for is over at once, with nothing planned.
  virtual bool is_time_over() noexcept;
  /// Nobody waits: the time is over that the calling thread would wait for.
  virtual void time_is_over(os::Instant deadline) noexcept;
  /// Comes back after `wake` for the same reason and thing.
  virtual void wait_for(Wait reason, const void* thing) noexcept;
  virtual void wake(Wait reason, const void* thing) noexcept;
  virtual os::Instant now() noexcept;
  virtual void fill(os::Buffer into) noexcept;

  virtual ActorId new_actor() noexcept;
  virtual void drop_actor(ActorId actor) noexcept;
  /// In the thread that started one: comes back when the new one waits for its turn. Until then it
  /// may hold locks of the C library or of a sanitizer, and a fork would copy them.
  virtual void actor_begun() noexcept;
  /// In the new thread: comes back when it is its turn.
  virtual void actor_begins(ActorId actor) noexcept;
  /// In the thread, as its last act.
  virtual void actor_ends() noexcept;
  virtual void join(ActorId actor) noexcept;
};

}  // namespace lastref::harness
