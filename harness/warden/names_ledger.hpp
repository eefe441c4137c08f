// NamesLedger: which names a watched tree has made, and by which call of which process. It is
// notified of calls that are about to be made. It checks whether they made anything when their
// threads make the next call, or at the end of the run.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lastref::harness::warden {

/// A name that did not exist before the run and exists after it.
struct Leftover {
  std::string path;   ///< Or "shm:5": an object of System V
  std::string kind;   ///< "file", "folder", "symlink", "socket", "fifo", "device", "System V"
  std::string maker;  ///< "child.1/openat(/tmp/a)#3"
  bool operator==(const Leftover&) const = default;
};

/// Whether something has this name, including a dangling link; or the System V object "shm:5"
/// exists.
bool is_there(const std::string& path);

class NamesLedger {
 public:
  /// A call of this thread is about to make this name. It is the maker if nothing has the name, and
  /// nothing had it before the run.
  void makes(int thread, const std::string& path, const std::function<std::string()>& maker);
  /// A call is about to rename `from`, and everything below it, to `to`. The maker of `from`
  /// becomes the maker of `to`.
  void moves(int thread,
             const std::string& from,
             const std::string& to,
             const std::function<std::string()>& mover);
  /// A call is about to remove it. If the tree did not make it, the name existed before.
  void removes(int thread, const std::string& path);
  /// Whether nothing has this name, or something that the tree has made and that has no other name:
  /// a hard link may refer to a file that existed before.
  bool is_own(const std::string& path) const;
  /// The call of this thread is over. A name that it should have made and that does not exist was
  /// not made.
  void settle(int thread);

  /// What the tree has made and exists now, even while calls are in progress; in the order of
  /// names.
  std::vector<Leftover> there() const;
  /// The same, after all calls have ended.
  std::vector<Leftover> leftovers();
  /// What the tree made and every user could write to when it was made, removed, or left.
  std::vector<Leftover> open_to_others() const;

 private:
  using Makers = std::map<std::string, std::string>;

  void note_old(const std::string& path);
  void note_rights(const std::string& path, std::uint32_t mode);
  std::pair<Makers::iterator, Makers::iterator> below(const std::string& folder);

  Makers makers_;
  std::map<std::string, Leftover> open_;
  std::set<std::string> moved_old_;       ///< New names of objects that existed before the run
  std::set<std::string> old_;             ///< Names that existed before the run
  std::map<int, std::string> unsettled_;  ///< What the call of each thread makes or removes
};

}  // namespace lastref::harness::warden
