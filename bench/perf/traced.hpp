// Traced threads and their processes, as ptrace(2) and proc(5) show them.
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
  bool is_own_program = false;  ///< It has executed one, so its memory is nobody else's.
  // When counts were last collected:
  std::uint64_t crossings = 0;
  std::uint64_t copies = 0;
  std::uint64_t copied = 0;
  std::uint64_t faults = 0;
};

enum class Stance : std::uint8_t {
  held,   ///< stopped, and nobody lets it go yet
  ready,  ///< stopped, and waits for its turn
  runs,
  asleep,  ///< in a call, until somebody wakes it
  dying,   ///< does nothing of its own any more
};

/// Of a thread that has stopped before a call.
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

  /// Whether it sleeps in its call: for somebody else, or as long as its child borrows its memory.
  bool is_asleep() const;
  /// Until its next stop, with a signal that it was about to get.
  void go_on();
  /// To its end.
  void go_to_end() const;

  const os::Pid id;
  const std::size_t index;  ///< by age in its tree
  const std::shared_ptr<TracedProcess> process;
  Stance stance = Stance::held;
  std::optional<CallSeen> call = {};  ///< that it is in
  bool has_slept = false;             ///< in this call
  bool has_lent_memory = false;       ///< in this call, to a child
  int signal = 0;                     ///< to be given to it

 private:
  int stat_ = -1;
  int call_ = -1;
};

/// A program that waits to be traced, and is: with all that it starts. The calling process becomes
/// the parent of whoever loses his own.
///
/// Throws          std::runtime_error: tracing is not permitted.
os::Pid start_traced(const std::vector<std::string>& command,
                     const std::vector<std::string>& environment);

/// What a stopped thread is about to call, or has called: with its result then.
struct StopAtCall {
  bool is_entry = false;
  CallSeen call = {};
  std::int64_t result = 0;
};
StopAtCall stop_at_call(os::Pid thread);

/// A thread that has stopped before a call does not make it: it fails with ENOSYS.
void refuse_call(os::Pid thread);

/// What has just been started; of this process or a new one.
os::Pid newcomer_of(os::Pid thread);
bool is_thread_of(os::Pid process, os::Pid thread);
std::string name_of_call(long number);
/// The second word of its command line; nothing if there is none.
std::string second_word_of(os::Pid process);
/// Pages that all of its threads have touched and that were not there.
std::uint64_t faults_of(os::Pid process);

}  // namespace lastref::perf
