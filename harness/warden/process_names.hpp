// ProcessNames: names for the processes of a watched tree. They are the same in every run of a
// program that starts the same processes. The first process is "root", its second child "child.2",
// the first child of that one "child.2.1".
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <lastref/os.hpp>

#include "harness/platform/unique_fd.hpp"

namespace lastref::harness::warden {

struct ProcessSeen {
  std::string role;
  std::string title;  ///< When it was last seen
  std::string words;  ///< Its arguments at that time
  int process = 0;
  bool is_title_old = false;  ///< It may be running another program by now.
  bool has_ended = false;     ///< By a call of its own
  /// The first in a mount namespace that is not that of the root
  bool has_own_mounts = false;
  bool is_gone = false;
  std::uint64_t threads = 0;    ///< Those that made calls
  std::uint64_t last_stop = 0;  ///< The number of its last call that stopped
  /// That of the last call before it was known to be gone
  std::uint64_t gone_at_stop = std::numeric_limits<std::uint64_t>::max() - 1;
  /// Absent: it has not ended, or this kernel does not tell about children of others.
  std::optional<int> wait_status = {};
  std::string born;  ///< Its start time as reported by the kernel; its number may be reused later.
};

/// Of a process, from its wait status
os::ChildExit exit_of(int wait_status) noexcept;

class ProcessNames {
 public:
  explicit ProcessNames(int root);

  /// The process of a thread that waits for the warden. Numbers the children of its parent up to
  /// this one. That includes earlier siblings, which may not have made a call yet.
  /// nullptr: the thread has exited, or nothing can be read about it.
  ProcessSeen* of(int thread);
  /// The process is about to end. Its children are numbered while their parent is still known.
  void ends(int process);
  /// Forgets the numbers of processes and threads that have exited: they may be reused soon. So far
  /// this many calls have stopped.
  void forget_the_gone(std::uint64_t stops);

  /// In the order in which they were first seen.
  std::vector<ProcessSeen> all() const;
  /// The numbers that its processes have, or had.
  std::set<int> ever() const;
  /// The role of a running process; "a process" if it was never seen.
  std::string role_of(int process) const;

 private:
  void number_children(int parent);
  ProcessSeen& add(int process, std::string role);

  bool is_known(int process);
  /// The process with this index in all_ has ended.
  void settle(std::size_t at);

  std::set<std::string> mounts_;     ///< Mount namespaces of its processes
  std::map<int, int> process_of_;    ///< By thread
  std::map<int, std::size_t> seen_;  ///< Their indices in all_
  std::map<int, int> children_;      ///< How many children of each process have a number.
  std::deque<ProcessSeen> all_;
  /// Whether this kernel tells how a child of another process ended: until the first one ends
  bool may_tell_status_ = true;
  std::map<std::size_t, UniqueFd> running_;  ///< Their pidfds, by their indices in all_
  int orphans_ = 0;
};

}  // namespace lastref::harness::warden
