// Effects: what the calls of a watched tree do to names and objects if they succeed, and which of
// them have effects that cannot be seen from outside.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/warden/fault_injector.hpp"
#include "harness/warden/names_ledger.hpp"
#include "harness/warden/notifier.hpp"
#include "harness/warden/process_names.hpp"
#include "harness/warden/syscalls.hpp"
#include "harness/warden/sysv_makers.hpp"

namespace lastref::harness::warden {

class Effects {
 public:
  /// The first name that a call was given, or what its descriptor refers to; empty: neither.
  std::string object_of(const Notification& call, const SyscallRow& row);
  /// Absent: the name cannot be read.
  std::optional<std::string> name_at(const Notification& call, const NameAt& name);
  /// The previous call of the thread is over.
  void settle(int thread) {
    names_.settle(thread);
    sysv_.settle(thread);
  }
  /// Whether nothing has this name, or something that the tree has made.
  bool is_own(const std::string& path) const { return names_.is_own(path); }
  bool is_own_folder_of(const std::string& path) const {
    return names_.is_own(path.substr(0, std::min(path.rfind('/'), path.size())));
  }
  const NamesLedger& names() const noexcept { return names_; }
  /// To be called when the call is about to be made.
  void note(const Notification& call,
            const SyscallRow& row,
            const CallSeen& seen,
            ProcessSeen& caller);
  /// Records an action with effects that we cannot see.
  void note_blind(std::string what);
  /// The process was started in a mount namespace of its own.
  void note_own_mounts(const ProcessSeen& process);
  /// Records that a name could not be read.
  void note_unread() noexcept { ++unread_; }

  /// Leftover names and System V objects
  std::vector<Leftover> leftovers();
  std::set<int> own_semaphores() { return sysv_.own_semaphores(); }
  /// Empty if our own umask lets others write.
  std::vector<Leftover> open_to_others() const;
  const std::vector<std::string>& blind() const noexcept { return blind_; }
  std::uint64_t unread() const noexcept { return unread_; }

 private:
  void note_names(const Notification& call, const SyscallRow& row, const CallSeen& seen);
  void note_new_root(const SyscallRow& row, const ProcessSeen& caller);

  NamesLedger names_;
  SysvMakers sysv_;
  bool other_roots_ = false;  ///< A process may have changed its root.
  std::vector<std::string> blind_;
  std::uint64_t unread_ = 0;
};

}  // namespace lastref::harness::warden
