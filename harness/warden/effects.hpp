// Effects: what the calls of a watched tree do to names and objects, if they succeed, and what they
// do that nobody can see from outside.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/warden/names_ledger.hpp"
#include "harness/warden/notifier.hpp"
#include "harness/warden/roles_of_tree.hpp"
#include "harness/warden/striker.hpp"
#include "harness/warden/syscalls.hpp"
#include "harness/warden/sysv.hpp"

namespace lastref::harness::warden {

class Effects {
 public:
  /// The name that a call was given first, or what its descriptor is; empty: neither.
  std::string object_of(const Notification& call, const SyscallRow& row);
  /// None: it cannot be read.
  std::optional<std::string> name_at(const Notification& call, const NameAt& name);
  /// The call before this one of the thread is over.
  void settle(int thread) { names_.settle(thread); }
  /// Whether nothing has this name, or something that the tree has made.
  bool is_own(const std::string& path) const { return names_.is_own(path); }
  bool is_own_folder_of(const std::string& path) const {
    return names_.is_own(path.substr(0, std::min(path.rfind('/'), path.size())));
  }
  const NamesLedger& names() const noexcept { return names_; }
  /// The call is about to be made.
  void note(const Notification& call,
            const SyscallRow& row,
            const CallSeen& seen,
            ProcessSeen& who);
  /// Something was done that we cannot see.
  void note_blind(std::string what);
  /// A name could not be read.
  void note_unread() noexcept { ++unread_; }

  /// Of names, and of System V; these are all of the tree's processes.
  std::vector<Leftover> leftovers(const std::vector<ProcessSeen>& processes);
  /// Nothing, if our own umask lets others write.
  std::vector<Leftover> open_to_others() const;
  const std::vector<std::string>& blind() const noexcept { return blind_; }
  std::uint64_t unread() const noexcept { return unread_; }

 private:
  void note_names(const Notification& call, const SyscallRow& row, const CallSeen& seen);
  void note_new_root(const SyscallRow& row, const ProcessSeen& who);

  NamesLedger names_;
  std::map<std::string, int> sysv_before_ = sysv_objects();
  std::map<std::string, std::string> sysv_makers_;  ///< The last call, by "shm", "sem", "msg"
  bool other_roots_ = false;                        ///< Somebody may have moved his root.
  std::vector<std::string> blind_;
  std::uint64_t unread_ = 0;
};

}  // namespace lastref::harness::warden
