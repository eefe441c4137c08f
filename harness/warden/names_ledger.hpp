// NamesLedger: which names a watched tree has made, and who made them by which call. What it is
// told are calls that are about to be made. Whether they have made anything is looked up when
// their threads come back, or in the end.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace lastref::harness::warden {

/// A name that was not there before the run and is there after it.
struct Leftover {
  std::string path;   ///< Or "shm:5": an object of System V
  std::string kind;   ///< "file", "folder", "symlink", "socket", "fifo", "device", "System V"
  std::string maker;  ///< "child.1/openat(/tmp/a)#3"
  bool operator==(const Leftover&) const = default;
};

/// Whether something has this name, a link to nowhere too; or System V's object "shm:5" is there.
bool is_there(const std::string& path);

class NamesLedger {
 public:
  /// A call of this thread is about to make this name: it is the maker, if there is nothing of the
  /// name, and was nothing before the run.
  void makes(int thread, const std::string& path, const std::function<std::string()>& maker);
  /// A call is about to give `from` the name `to`, with all that is below it; who made the one has
  /// made the other.
  void moves(int thread,
             const std::string& from,
             const std::string& to,
             const std::function<std::string()>& mover);
  /// A call is about to remove it. If the tree did not make it, its name was there before.
  void removes(int thread, const std::string& path);
  /// Whether nothing has this name, or something that the tree has made, and that has no other
  /// name: a link may lead to what was there before.
  bool is_own(const std::string& path) const;
  /// The call of this thread is over. What it should have made and is not there, it did not make.
  void settle(int thread);

  /// What the tree has made and is there now, whatever calls are under way; in the order of their
  /// names.
  std::vector<Leftover> there() const;
  /// The same, when all calls are over.
  std::vector<Leftover> leftovers();
  /// Of all that the tree made, what anybody could write to when it was made, removed, or left.
  std::vector<Leftover> open_to_others() const;

 private:
  using Makers = std::map<std::string, std::string>;

  void note_old(const std::string& path);
  void note_rights(const std::string& path, std::uint32_t mode);
  std::pair<Makers::iterator, Makers::iterator> below(const std::string& folder);

  Makers makers_;
  std::map<std::string, Leftover> open_;
  std::set<std::string> moved_old_;       ///< New names of what was there before
  std::set<std::string> old_;             ///< Names that were there before the run
  std::map<int, std::string> unsettled_;  ///< What the call of each thread makes, or removes
};

}  // namespace lastref::harness::warden
