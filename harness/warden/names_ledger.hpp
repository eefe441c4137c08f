// NamesLedger: which names a watched tree has made, and who made them by which call. What it knows
// are calls that were about to be made: whether a name is there in the end is looked up then.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace lastref::harness::warden {

/// A name that was not there before the run and is there after it.
struct Leftover {
  std::string path;
  std::string kind;   ///< "file", "folder", "symlink", "socket", "fifo", "device"
  std::string maker;  ///< "child.1/openat#3"
  bool operator==(const Leftover&) const = default;
};

class NamesLedger {
 public:
  /// A call is about to make this name: it is the maker, if there is nothing of the name.
  void makes(const std::string& path, const std::function<std::string()>& maker);
  /// A call is about to give `from` the name `to`; who made the one has made the other.
  void moves(const std::string& from,
             const std::string& to,
             const std::function<std::string()>& mover);

  /// In the order of their names.
  std::vector<Leftover> leftovers() const;

 private:
  std::map<std::string, std::string> makers_;
};

}  // namespace lastref::harness::warden
