// warden: runs a program that nobody here wrote, and sees from outside which names its whole tree
// of processes makes, moves and removes; strikes a call of one of them with a fault; and says what
// was left behind, and by whom.
//
// Only calls that a filter names stop for the warden, and all else runs at native speed. It looks
// at what they were given, and lets the kernel go on with them; it never writes to another's
// memory. It sees calls, and no store to memory that is mapped.
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

#include "harness/warden/attendant.hpp"
#include "harness/warden/growth.hpp"
#include "harness/warden/kept_calls.hpp"
#include "harness/warden/launch.hpp"
#include "harness/warden/names_ledger.hpp"
#include "harness/warden/refusal.hpp"
#include "harness/warden/roles_of_tree.hpp"
#include "harness/warden/stillness.hpp"
#include "harness/warden/striker.hpp"
#include "harness/warden/tree_fault.hpp"
#include "harness/warden/user_command.hpp"

namespace lastref::harness::warden {

/// A thread that waited when nobody was left who would go on, or when the time was over.
struct Hung {
  std::string role;
  Waiting waiting;
};

struct WatchOptions {
  std::vector<std::string> command;  ///< Looked up as a shell does
  std::vector<TreeFault> faults = {};
  /// Errors that no kernel gives at such a place strike, too.
  bool takes_unlikely = false;
  std::vector<Limit> limits = {};
  /// In a pid namespace: its processes have other numbers for each other than for us.
  bool has_own_pids = false;
  /// Takes the kernel's turns on one processor. False: as if it had none
  bool may_wake_in_turn = true;
  bool wants_calls = false;
  std::vector<std::string> also = {};  ///< Calls that are watched, frequent or not
  /// Keeps calls from being made, as long as it likes; none: no call.
  MayBeMade may_be_made = {};
  /// What is left of the tree may live so long after its root.
  std::chrono::milliseconds grace{5000};
  /// All of it may take so long.
  std::optional<std::chrono::milliseconds> time_limit = {};
  /// Asked now and then: the signal by which somebody wants it to end now; 0: nobody does. What a
  /// terminal has not sent to the program itself, it gets from us, and the grace to end by itself.
  std::function<int()> interrupted_by = [] { return 0; };
  /// If it is a server: what others ask of it. Then it is told to end, by SIGTERM.
  ServerWork server = {};
  /// Told once, when all threads have waited in the same way for 30 s: it is no hang, or nobody can
  /// be sure.
  std::function<void(const std::vector<Hung>&)> tell_rest = [](const std::vector<Hung>&) {};
};

struct Stayed {
  ProcessSeen who;
  bool is_zombie = false;          ///< Dead, and its parent does not ask how it ended.
  std::vector<std::string> locks;  ///< What it held a lock of
};

/// A process that a signal ended as it ends a broken program, and nobody here sent it.
struct Crash {
  std::string role;
  int signal = 0;
};

struct Watched {
  os::ChildExit root;            ///< How it ended
  bool root_was_killed = false;  ///< By us
  std::vector<ProcessSeen> processes;
  std::vector<CallSeen> calls;  ///< If they were wanted
  std::vector<Leftover> leftovers;
  /// What anybody could write to, though our umask keeps others from that.
  std::vector<Leftover> open_to_others;
  std::vector<Stayed> stayed;                  ///< Lived longer than they may, and were killed.
  std::vector<Hung> hung;                      ///< Nobody would have gone on, or they were to end.
  bool is_too_long = false;                    ///< The time limit was over, and all were killed.
  std::vector<Growth> growing;                 ///< From one round of a server's work to the next
  std::optional<CommandFailure> work_failure;  ///< Of what gives a server its work
  bool told_to_end = false;                    ///< A server, when its work was done or had failed
  std::vector<Crash> crashes;          ///< Of the root, and of those whose parents had ended
  std::vector<bool> struck;            ///< One a fault
  std::vector<std::string> struck_at;  ///< One a fault: the first call that it struck
  std::vector<std::string> reasons;    ///< One a fault: why it would not strike, if there was one
  std::vector<std::string> blind;      ///< What was done that we cannot see
  std::vector<Refusal> refused = {};   ///< Who asked for what we had to refuse
  std::vector<std::string> inherited;  ///< Descriptors besides 0, 1 and 2 that it was started with
  /// That all of it had to share with us, as this kernel has no turns; none: it was left alone.
  std::optional<int> processor = {};
  std::uint64_t stops = 0;  ///< Calls that stopped for the warden
  /// Those that a signal took back while they waited. A signal may do what it does not do to a
  /// program that nobody watches, so such a run says nothing.
  std::uint64_t perturbed = 0;
  std::uint64_t unread = 0;  ///< Names that calls were given and that nobody could read
  bool interrupted = false;
  double seconds = 0;  ///< From its start to the end of the last of its processes
};

/// Fails if the program cannot be run, or cannot be watched here.
Result<Watched> watch(const WatchOptions& options);

}  // namespace lastref::harness::warden
