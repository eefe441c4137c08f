// FaultInjector: finds the fault for a call, and applies it to the call, to its process, or to the
// name that the call was given.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/platform/unique_fd.hpp"
#include "harness/warden/call_sites.hpp"
#include "harness/warden/notifier.hpp"
#include "harness/warden/proc_inspect.hpp"
#include "harness/warden/process_names.hpp"
#include "harness/warden/syscalls.hpp"
#include "harness/warden/tree_fault.hpp"

namespace lastref::harness::warden {

/// "child.2/openat(/dev/shm/a)#3": the third such call of this process with this object.
struct CallSeen {
  std::string role;
  std::string_view call;
  std::string object;
  std::uint64_t k = 0;
  std::string second = {};  ///< The call's second name, if it has one and a fault may refer to it
  // The others only in a list of calls
  std::vector<int> errors = {};          ///< Those that can happen there
  std::vector<std::size_t> faults = {};  ///< Those that were injected
  int thread = 0;
  double seconds = 0;  ///< Since the start of the program
  Site site = {};      ///< If it was wanted
};

/// A call that stops, and all that is known about it.
struct StoppedCall {
  const Notification& call;
  const SyscallRow& row;
  const ProcessSeen& who;
  const CallSeen& seen;
  bool is_own_name;    ///< The tree has made it, or it does not exist.
  bool is_own_folder;  ///< The same for the folder that contains it
};

/// Sends the signal to all descendants of this process, including those that start meanwhile, but
/// to no unrelated children. Returns them.
std::set<int> signal_descendants(int signal, const UnrelatedChildren& unrelated = {});

/// What a fault that sends a signal sends.
int signal_of(FaultKind kind) noexcept;

class FaultInjector {
 public:
  /// Errors that no kernel returns for the object's location are injected only if `takes_unlikely`.
  FaultInjector(const std::vector<TreeFault>& faults, bool takes_unlikely);
  void listens_to(Notifier& notifier) noexcept { notifier_ = &notifier; }
  /// Children of ours that are not part of the tree.
  void spares(UnrelatedChildren unrelated) { unrelated_ = std::move(unrelated); }

  /// Whether a fault closes a folder; then any call may be affected.
  bool may_close() const noexcept;
  /// Fails a call that a closed folder would deny if its process did not bypass permissions.
  bool keeps_out(const StoppedCall& at);
  /// The errors that can happen at this call, with its object and flags.
  static std::vector<int> errors_at(const StoppedCall& at);

  /// Whether a fault applies to such calls.
  bool is_at(std::string_view call) const noexcept;

  /// Counts the call and returns the faults that apply to it, by their indices in the list. Any
  /// number that leave the call unanswered come first, then at most one that answers it.
  std::vector<std::size_t> due(const StoppedCall& at);
  /// Whether the fault only acts next to the call, and does not answer it.
  bool is_of_outsider(std::size_t fault) const noexcept;
  /// Whether the fault kills the process, or sends it a signal that may end it.
  bool may_end(std::size_t fault) const noexcept;
  /// The same for all processes.
  bool may_end_all(std::size_t fault) const noexcept { return faults_[fault].action.whole_tree; }
  /// Whether the call is made nevertheless, as far as we know.
  bool lets_be_made(std::size_t fault) const noexcept;
  /// Whether the fault was applied. If it answers the call, the call has its answer then, or gets
  /// it later.
  bool inject(std::size_t fault, const StoppedCall& at);
  /// Whether a thread that dies or waits after its call is repeating it: it had to wait in it, and
  /// our stop interrupted it.
  bool is_stopping(int thread) const { return stopping_.contains(thread); }
  /// A thread has stopped for its tracer; `status` is that of waitpid(2). We trace a thread that is
  /// to die or wait after its call.
  void stopped(int thread, int status);
  /// Continues those that are held until there is no other activity; `now` in seconds.
  void look(double now);
  /// Removes what an outsider has put somewhere, if it still exists, and restores permissions.
  void clean_up() noexcept;

  bool keeps_somebody() const noexcept { return !held_.empty(); }
  /// By a signal, which interrupts what the threads of the process wait in; the kernel restarts
  /// such calls itself.
  bool has_stopped_somebody() const noexcept;
  bool has_killed(int process) const noexcept { return killed_.contains(process); }
  /// Whether a signal that was sent may have ended it, or has interrupted its calls.
  bool has_sent_to(int process) const noexcept { return sent_to_.contains(process); }
  /// Per fault: whether it was applied.
  const std::vector<bool>& struck() const noexcept { return struck_; }
  /// Per fault: why it was not applied at some call; empty if it always was. `all` are the
  /// processes of the tree.
  std::vector<std::string> reasons(const std::vector<ProcessSeen>& all) const;
  /// The first call that each fault was applied to, as "root/mkdir(/a)#1", and the number of
  /// further ones.
  std::vector<std::string> struck_at() const;

 private:
  /// A thread that waits after its call, or a process that was stopped.
  struct Held {
    int thread = 0;
    int process = 0;         ///< 0: the thread
    void* signal = nullptr;  ///< For the thread, when it continues; as ptrace(2) takes it
    double since = 0;
    double seconds = 0;  ///< 0: until there is no other activity
  };

  /// A thread that stops when its call is over.
  struct Stopping {
    int process = 0;
    const TreeFault* fault = nullptr;
  };

  /// What an outsider has put there. By now, the name may belong to another object.
  struct Touched {
    std::string path;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
  };

  /// A file or folder of which an outsider has removed the permissions, whatever its name is by
  /// now.
  struct Locked {
    UniqueFd file;
    std::uint32_t rights = 0;
  };

  /// How a call compares with a fault, in the order in which it is checked.
  enum class Fit : std::uint8_t { other_call, other_role, other_object, one_byte, fits };
  static Fit fit_of(const TreeFault& fault, const StoppedCall& at);
  /// Counts the call; the number that the fault compares with its own.
  std::uint64_t count(std::size_t fault, const StoppedCall& at);
  /// The largest number that count() has returned
  std::uint64_t most_counted(std::size_t fault) const;
  std::string why_never_due(std::size_t fault, const std::vector<ProcessSeen>& all) const;
  /// Why this fault does not apply to this call; empty: it applies.
  std::string refusal_of(const TreeFault& fault, const StoppedCall& at) const;
  bool apply(std::size_t index, const StoppedCall& at);
  bool cut(std::size_t fault, const StoppedCall& at);
  bool stop_after(std::size_t fault, const StoppedCall& at);
  /// The number of bytes written; 0: it could not be done without waiting.
  std::int64_t write_half(const Notification& call, const SyscallRow& row, int process);
  bool clear_permissions(const std::string& path);
  bool plant(FaultKind kind, const std::string& path);
  bool close_parent(const StoppedCall& at);
  bool outsider_acts(std::size_t fault, const StoppedCall& at);
  void kill(const TreeFault& fault, int process);
  void send(const TreeFault& fault, int process);

  const std::vector<TreeFault>& faults_;
  bool takes_unlikely_;
  Notifier* notifier_ = nullptr;
  UnrelatedChildren unrelated_;
  /// Per fault: the number of calls with each result of the comparison.
  std::vector<std::array<std::uint64_t, 5>> seen_;
  /// Per fault that counts per thread: the number of calls of each, by its process and its number
  std::vector<std::map<std::pair<std::string, int>, std::uint64_t>> seen_of_threads_;
  std::vector<bool> struck_;
  std::vector<std::string> first_struck_;
  std::vector<std::uint64_t> strikes_;
  std::vector<std::string> reasons_;
  std::unordered_map<int, Stopping> stopping_;  ///< By thread
  std::unordered_set<int> killed_;
  std::set<int> sent_to_;
  std::vector<Held> held_;
  std::vector<Touched> touched_;
  std::vector<Locked> locked_;
  std::vector<std::string> closed_;  ///< Folders
  double last_call_at_ = 0;
};

}  // namespace lastref::harness::warden
