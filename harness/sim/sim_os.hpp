// SimOs: the answers of a SimKernel to one simulated process.
//
// No call waits, and none lets another process run. InstrumentedOs and SimInterceptor wrap it: in
// them a call is a step at which the run may be switched, killed or failed. They handle waiting,
// the clock, entropy, processors and exit hooks; SimOs is not called for these.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <lastref/os.hpp>

#include "harness/instrument/call_object.hpp"
#include "harness/instrument/every_call.hpp"
#include "harness/sim/scheduler.hpp"
#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {

class SimOs;

/// One simulated computer: a kernel, the processes that run on it, and the programs that they can
/// run.
struct Machine {
  explicit Machine(Choices& its_choices, SimLimits limits = {})
      : kernel(limits), scheduler(kernel, its_choices) {}
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() = default;

  /// Starts a process, with or without a parent, and without a call of the parent.
  std::shared_ptr<SimProcess> boot(const std::shared_ptr<SimProcess>& parent,
                                   const os::SpawnOptions& options);
  /// Gives a new process its Os and its main actor.
  void begin(const std::shared_ptr<SimProcess>& process,
             const SimProcess* parent,
             const os::SpawnOptions& options);

  bool late_words = false;  ///< Whether the choices are asked if a stored word is seen late.
  SimKernel kernel;
  Scheduler scheduler;
  /// Whether the program to start exists; spawn fails with ENOENT if not.
  std::function<bool(const os::SpawnOptions& options)> knows;
  /// The body of a process. It is called on the process's own fiber and returns the exit code.
  std::function<int(SimOs& os, const os::SpawnOptions& options)> live;
  /// Called for a new process before it runs.
  std::function<void(SimOs& os, const SimProcess* parent, const os::SpawnOptions& options)>
      on_birth;
  /// The Os of every process. Parts of it on fibers that were killed are never destroyed.
  std::map<const SimProcess*, std::unique_ptr<SimOs>> systems;
};

/// The Error of a call on this subject.
tl::unexpected<Error> failed(int error, Call call, const CallObject& object);

/// Converts an Answer for the caller: an errno becomes an Error.
template <typename T>
Result<T> told(Answer<T> answer, Call call, const CallObject& object) {
  if (!answer) {
    return failed(answer.error(), call, object);
  }
  if constexpr (std::is_void_v<T>) {
    return ok();
  } else {
    return *std::move(answer);
  }
}

/// Whether the kernel notes all that the call accesses; see Accesses.
constexpr bool notes_its_accesses(Call call) noexcept {
  switch (call) {
    case Call::open:
    case Call::close:
    case Call::read:
    case Call::read_at:
    case Call::write:
    case Call::write_at:
    case Call::sync:
    case Call::allocate:
    case Call::punch_hole:
    case Call::status:
    case Call::status_at:
    case Call::unlink:
    case Call::rename:
    case Call::rename_new:
    case Call::link:
    case Call::read_link:
    case Call::change_mode:
    case Call::make_folder:
    case Call::remove_folder:
    case Call::read_folder:
    case Call::file_system:
    case Call::map:
    case Call::unmap:
    case Call::create_shm:
    case Call::unlink_shm:
    case Call::create_semaphore:
    case Call::unlink_semaphore:
    case Call::lock_range:
    case Call::lock_folder:
    case Call::find_lock:
    case Call::make_socket:
    case Call::bind:
    case Call::listen:
    case Call::accept:
    case Call::connect:
    case Call::send:
    case Call::receive:
    case Call::shut_down:
    case Call::peer_of:
    case Call::make_pipe:
    case Call::open_process:
    case Call::wait_child:
    case Call::ignore_signal:
      return true;
    default:
      return false;
  }
}

class SimOs final : public EveryCall<SimOs> {
 public:
  SimOs(Machine& machine, std::shared_ptr<SimProcess> process) noexcept;
  SimOs(const SimOs&) = delete;
  SimOs& operator=(const SimOs&) = delete;
  ~SimOs() override;

  SimProcess& process() const noexcept { return *process_; }
  Machine& machine() const noexcept { return machine_; }
  /// Every call except those below: returns the kernel's answer, an errno as an Error.
  template <Call call, typename... Given>
  AnswerOf<call> every(Given&&... given) noexcept {
    orders(call);
    const CallObject object = object_of_call(given...);
    if (!notes_its_accesses(call)) {
      machine_.kernel.accesses.touch_all();
    }
    return told(CallOf<call>::make(machine_.kernel, *process_, given...), call, object);
  }

  // They may end or start a process, or are not handled by a SimKernel.
  Result<std::string> working_folder() noexcept override;
  /// Accepts no timeout except 0.
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override;
  Result<os::Child> spawn(const os::SpawnOptions& options) noexcept override;
  Status signal_process(os::Fd process, os::Signal signal) noexcept override;
  os::Pid process_id() noexcept override;
  std::uint32_t user_id() noexcept override;
  Status unblock_signal(os::Signal signal) noexcept override;
  Result<std::unique_ptr<os::Thread>> start_thread(std::function<void()> body,
                                                   os::ThreadKind kind) noexcept override;
  os::Pid thread_id() noexcept override;
  std::optional<std::string> environment(const std::string& name) noexcept override;

  void touch(const os::WordAccess& access) noexcept override;
  void hide_from_children(std::span<const os::Fd> fds,
                          const std::string& variable) noexcept override;
  std::uint64_t process_token() noexcept override;

  unsigned processors() noexcept override { not_asked_here(); }
  os::Instant now() noexcept override { not_asked_here(); }
  Status entropy(os::Buffer /*into*/) noexcept override { not_asked_here(); }
  std::unique_ptr<os::Monitor> make_monitor() noexcept override { not_asked_here(); }
  std::unique_ptr<os::ExitHook> at_exit(std::function<void()> /*action*/) noexcept override {
    not_asked_here();
  }
  os::ProcessObjects& objects() noexcept override { not_asked_here(); }

 private:
  [[noreturn]] static void not_asked_here() noexcept { LASTREF_ASSERT(false); }
  /// The effect of each call on the order in which stores are seen; see LateStores.
  void orders(Call call) noexcept;
  /// What that means for the order of steps.
  void note_visibility(bool releases, bool acquires) noexcept;

  Machine& machine_;
  std::shared_ptr<SimProcess> process_;
  std::map<Scheduler::Index, os::Pid> threads_;  ///< All except the first
};

}  // namespace lastref::harness::sim
