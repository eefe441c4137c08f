// warden: runs an unmodified program, and observes from outside which names its process tree makes,
// moves and removes. It injects a fault into a call of one of the processes, and reports leftovers
// with their makers.
//
// Only calls that a filter names stop for the warden; all others run at native speed. The warden
// reads their arguments and lets the kernel execute them; it never writes to another process's
// memory. It sees calls, but not stores to mapped memory.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <lastref/error.hpp>
#include <lastref/os.hpp>

#include "harness/warden/fault_injector.hpp"
#include "harness/warden/growth.hpp"
#include "harness/warden/hang_detector.hpp"
#include "harness/warden/kept_calls.hpp"
#include "harness/warden/launch.hpp"
#include "harness/warden/names_ledger.hpp"
#include "harness/warden/process_names.hpp"
#include "harness/warden/refusal.hpp"
#include "harness/warden/tree_fault.hpp"
#include "harness/warden/user_command.hpp"
#include "harness/warden/workload_driver.hpp"

namespace lastref::harness::warden {

/// A thread that waited when no process could make progress, or when the time limit was reached.
struct Hung {
  std::string role;
  Waiting waiting;
  std::vector<std::string> holders = {};  ///< The roles of its holders
};

struct WatchOptions {
  std::vector<std::string> command;  ///< Looked up in PATH, as a shell does
  std::vector<TreeFault> faults = {};
  /// Also injects errors that no kernel returns for such an object.
  bool takes_unlikely = false;
  std::vector<Limit> limits = {};
  /// In a pid namespace: its processes see other process numbers than we do.
  bool has_own_pids = false;
  /// Uses the kernel's synchronous wake-ups on one processor. False: as if the kernel had none
  bool may_wake_in_turn = true;
  bool wants_calls = false;
  bool wants_sites = false;            ///< Of these calls; it takes time.
  std::vector<std::string> also = {};  ///< Calls that are watched even if they are frequent
  /// Holds calls back for any length of time; absent: holds none.
  MayBeMade may_be_made = {};
  /// Remaining processes of the tree may run for this time after the root has ended.
  std::chrono::milliseconds grace{5000};
  /// The time limit for the whole tree.
  std::optional<std::chrono::milliseconds> time_limit = {};
  /// Called periodically: the signal that asks us to end now; 0: none. A signal that the terminal
  /// does not send to the program itself, we forward. The program then has the grace time to end.
  std::function<int()> interrupted_by = [] { return 0; };
  /// For a server: its workload. After it the server is ended by SIGTERM.
  ServerWork server = {};
  /// Called once, when all threads have waited in the same way for 30 s: it is no certain hang.
  std::function<void(const std::vector<Hung>&)> tell_rest = [](const std::vector<Hung>&) {};
  /// Called with the processes of a tree that hangs, or takes too long, before they are killed.
  std::function<void(const std::vector<int>&)> tell_hang = [](const std::vector<int>&) {};
};

struct Stayed {
  ProcessSeen process;
  bool is_zombie = false;          ///< Dead, and its parent has not waited for it.
  std::vector<std::string> locks;  ///< The files on which it held locks
};

/// A process that was ended by a signal of the kind that ends a broken program, and that we did not
/// send.
struct Crash {
  std::string role;
  int signal = 0;
};

struct Watched {
  os::ChildExit root;            ///< Its exit status
  bool root_was_killed = false;  ///< By us
  std::vector<ProcessSeen> processes;
  std::vector<CallSeen> calls;  ///< If they were wanted
  std::vector<Leftover> leftovers;
  /// What others can write to, although our umask denies that by default.
  std::vector<Leftover> open_to_others;
  std::vector<Stayed> stayed;                  ///< Exceeded the grace time, and were killed.
  std::vector<Hung> hung;                      ///< Made no progress, or were told to end.
  bool is_too_long = false;                    ///< The time limit was reached, and all were killed.
  std::vector<Growth> growing;                 ///< From one round of a server's work to the next
  std::optional<CommandFailure> work_failure;  ///< Of a command of the server's workload
  bool told_to_end = false;                    ///< A server, when its work was done or had failed
  std::vector<Crash> crashes;                  ///< Of others than orphans since Linux 6.15
  std::vector<bool> struck;                    ///< Per fault
  std::vector<std::string> struck_at;          ///< Per fault: the first call that it was applied to
  std::vector<std::string> reasons;    ///< Per fault: why it was not applied, if there was a reason
  std::vector<std::string> blind;      ///< Actions with effects that we cannot see
  std::vector<Refusal> refused = {};   ///< Processes that made a call which we had to deny
  std::vector<std::string> inherited;  ///< Descriptors that it was started with, except 0, 1 and 2
  /// The processor that the whole tree had to share with us, because this kernel has no synchronous
  /// wake-ups; absent: not pinned.
  std::optional<int> processor = {};
  std::uint64_t stops = 0;  ///< Calls that stopped for the warden
  /// Bytes of address space that any process has had, of those that ended by themselves
  std::uint64_t peak_memory = 0;
  /// Calls that a signal interrupted while they waited. There the signal may act differently than
  /// in an unwatched program, so such a run has no verdict.
  std::uint64_t perturbed = 0;
  std::uint64_t unread = 0;  ///< Names of calls that could not be read
  bool interrupted = false;
  double seconds = 0;  ///< From its start to the end of the last of its processes
};

/// Fails if the program cannot be run, or cannot be watched here.
Result<Watched> watch(const WatchOptions& options);

}  // namespace lastref::harness::warden
