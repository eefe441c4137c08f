// Striker: finds the fault that is at a call, and does to the call, to its process, or to the name
// that it was given what the fault says.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "harness/warden/notifier.hpp"
#include "harness/warden/peek.hpp"
#include "harness/warden/roles_of_tree.hpp"
#include "harness/warden/syscalls.hpp"
#include "harness/warden/tree_fault.hpp"

namespace lastref::harness::warden {

/// "child.2/openat(/dev/shm/a)#3": the third such call of this process with this object.
struct CallSeen {
  std::string role;
  std::string_view call;
  std::string object;
  std::uint64_t k = 0;
  std::string second = {};  ///< Its other name, if it has one, and a fault may ask for it
};

/// A call that stops, and all that is known of it.
struct StoppedCall {
  const Notification& call;
  const SyscallRow& row;
  const ProcessSeen& who;
  const CallSeen& seen;
  bool is_own_name;    ///< The tree has made it, or nobody has.
  bool is_own_folder;  ///< The same of the folder that it is in
};

/// Kills all that descend from this process, and who is born meanwhile; but no strangers.
void kill_descendants(const Strangers& strangers = {});

class Striker {
 public:
  /// What no kernel gives where the object is, is struck only by who `takes_unlikely`.
  Striker(const std::vector<TreeFault>& faults, bool takes_unlikely);
  Striker(const Striker&) = delete;
  Striker& operator=(const Striker&) = delete;
  ~Striker();
  void listens_to(Notifier& notifier) noexcept { notifier_ = &notifier; }
  /// Children of ours that are not of the tree.
  void spares(Strangers strangers) { strangers_ = std::move(strangers); }

  /// Whether one of them closes a folder, which any call may then be about.
  bool may_close() const noexcept;
  /// Fails a call that a closed folder would fail, if its process had not the right to ignore that.
  bool keeps_out(const StoppedCall& at);

  /// Whether a fault is at such calls.
  bool is_at(std::string_view call) const noexcept;

  /// Counts the call, and says which faults strike it, by their places in the list: any number
  /// that leave it without an answer, and then one that gives it.
  std::vector<std::size_t> due(const StoppedCall& at);
  /// Who does something beside the call, and gives it no answer.
  bool is_of_outsider(std::size_t fault) const noexcept {
    return faults_[fault].strike == Strike::outsider;
  }
  /// Whether the process dies of it, or all of them.
  bool kills(std::size_t fault) const noexcept;
  bool kills_all(std::size_t fault) const noexcept {
    return faults_[fault].strike == Strike::kill_tree;
  }
  /// Whether the call is made all the same, so far as we know.
  bool lets_be_made(std::size_t fault) const noexcept;
  /// Strikes; true if the call has its answer, or gets it later.
  bool strike(std::size_t fault, const StoppedCall& at);
  /// A thread that dies after its call makes it anew: it had to wait, and our stop disturbed it.
  bool is_doomed(int thread) const { return doomed_.contains(thread); }
  /// A thread has stopped for its tracer, who we are if it is to die after its call.
  void stopped(int thread);
  /// Lets those go on who wait until nobody else does anything; `now` in seconds.
  void look(double now);
  /// What an outsider has put somewhere goes, if it is still there, and rights come back.
  void clean_up() noexcept;

  bool keeps_somebody() const noexcept { return !held_.empty(); }
  /// By a signal, which takes back what the threads of the process wait in; the kernel makes such
  /// calls again by itself.
  bool has_stopped_somebody() const noexcept;
  bool has_killed(int process) const noexcept { return killed_.contains(process); }
  /// One a fault: whether it struck, and why it would not; empty: there was no reason.
  const std::vector<bool>& struck() const noexcept { return struck_; }
  const std::vector<std::string>& reasons() const noexcept { return reasons_; }
  /// The first call that each struck, as "root/mkdir(/a)#1", and how many more.
  std::vector<std::string> struck_at() const;

 private:
  /// A call that waits for us, or a process that was stopped.
  struct Held {
    std::uint64_t id = 0;
    int stopped = 0;  ///< The process; 0: the call
    double since = 0;
  };

  /// What an outsider has put there. A name may be somebody else's by now.
  struct Touched {
    std::string path;
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
  };

  /// What an outsider has taken the rights of, whatever it is called by now.
  struct Locked {
    int file = -1;
    std::uint32_t rights = 0;
  };

  bool fits(const TreeFault& fault, const StoppedCall& at) const;
  /// Why this fault does not strike this call; empty: it does.
  std::string refusal_of(const TreeFault& fault, const StoppedCall& at) const;
  bool does(std::size_t index, const StoppedCall& at);
  bool cut(std::size_t fault, const StoppedCall& at);
  bool hold(const TreeFault& fault, const StoppedCall& at);
  /// How much was written; 0: it could not be done at once.
  std::int64_t write_half(const Notification& call, const SyscallRow& row, int process);
  bool take_rights(const std::string& path);
  bool plant(Deed deed, const std::string& path);
  bool close_folder(const StoppedCall& at);
  bool outsider_does(std::size_t fault, const StoppedCall& at);
  void kill(int process);
  bool kill_after(const Notification& call, int process);

  const std::vector<TreeFault>& faults_;
  bool takes_unlikely_;
  Notifier* notifier_ = nullptr;
  Strangers strangers_;
  std::vector<std::uint64_t> hits_;  ///< Calls that each fault fits
  std::vector<bool> struck_;
  std::vector<std::string> first_struck_;
  std::vector<std::uint64_t> strikes_;
  std::vector<std::string> reasons_;
  std::unordered_map<int, int> doomed_;  ///< The processes that die, by the threads that come back
  std::unordered_set<int> killed_;
  std::vector<Held> held_;
  std::vector<Touched> touched_;
  std::vector<Locked> locked_;
  std::vector<std::string> closed_;  ///< Folders
  double last_call_at_ = 0;
};

}  // namespace lastref::harness::warden
