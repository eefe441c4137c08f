// traced: traced threads and their processes, as ptrace(2) and proc(5) show them.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <lastref/os.hpp>

namespace lastref::perf {

struct TracedProcess {
  os::Pid pid = 0;
  std::string role;
  bool is_own_program = false;  ///< It has called execve(2), so it shares no memory.
  // When counts were last collected:
  std::uint64_t crossings = 0;
  std::uint64_t copies = 0;
  std::uint64_t copied = 0;
  std::uint64_t faults = 0;
};

enum class Stance : std::uint8_t {
  held,   ///< stopped, and not to be resumed yet
  ready,  ///< stopped, and waits for its turn
  runs,
  asleep,  ///< in a call, until it is woken
  dying,   ///< runs no more code of its own
};

/// The call before which a thread has stopped.
struct CallSeen {
  long number = -1;
  std::array<std::uint64_t, 3> arguments = {};
};

class TracedThread {
 public:
  TracedThread(os::Pid thread, std::size_t number, std::shared_ptr<TracedProcess> of);
  TracedThread(const TracedThread&) = delete;
  TracedThread& operator=(const TracedThread&) = delete;
  ~TracedThread();

  /// Whether it sleeps in its call: until it is woken, or while a child borrows its memory.
  bool is_asleep() const;
  /// Resumes it until its next stop, and delivers its pending signal.
  void go_on();
  /// Resumes it until it ends.
  void go_to_end() const;

  const os::Pid id;
  const std::size_t index;  ///< by age in its tree
  const std::shared_ptr<TracedProcess> process;
  Stance stance = Stance::held;
  std::optional<CallSeen> call = {};  ///< the current call
  bool has_slept = false;             ///< in this call
  bool has_lent_memory = false;       ///< in this call, to a child
  int signal = 0;                     ///< to be delivered to it

 private:
  int stat_ = -1;
  int call_ = -1;
};

/// Starts a stopped program and traces it with all its descendants. The calling process becomes the
/// parent of orphans.
///
/// Throws          std::runtime_error: tracing is not permitted.
os::Pid start_traced(const std::vector<std::string>& command,
                     const std::vector<std::string>& environment);

/// The call that a stopped thread is about to make, or has made; then `result` is set.
struct StopAtCall {
  bool is_entry = false;
  CallSeen call = {};
  std::int64_t result = 0;
};
StopAtCall stop_at_call(os::Pid thread);

/// The thread has stopped before a call. The call is skipped and fails with ENOSYS.
void refuse_call(os::Pid thread);

/// The thread that was just started, in this process or a new one.
os::Pid newcomer_of(os::Pid thread);
bool is_thread_of(os::Pid process, os::Pid thread);
std::string name_of_call(long number);
/// The second word of its command line; empty if there is none.
std::string second_word_of(os::Pid process);
/// The number of minor page faults of all its threads.
std::uint64_t faults_of(os::Pid process);

}  // namespace lastref::perf
