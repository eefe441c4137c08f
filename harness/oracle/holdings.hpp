// Holdings: the number of references of each process, counted from the journal alone.
//
// A count is a range: an operation that has begun and has not returned may or may not have had its
// effect. For example: register begins 0..1, returns 1..1; release begins 0..1, returns 0..0; and a
// process that dies holds 0..0, whatever it was doing. A hold counts for certain only if another
// process held the name from beginning to end: hold requires that of its caller, and a kill may
// take it away.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <lastref/os.hpp>

#include "harness/journal/record.hpp"

namespace lastref::harness::oracle {

/// Whether a process closes its lock: with that it leaves the tree, and its references end.
inline bool gives_up_lock(const Record& record) noexcept {
  return record.kind == RecordKind::end && record.call == Call::close && record.object == "lock";
}

struct Range {
  std::int64_t least = 0;
  std::int64_t most = 0;
};

class Holdings {
 public:
  /// A process and a resource, in the format of the journal.
  using Key = std::pair<std::uint16_t, std::string_view>;

  /// The next record of the journal. Views into it are kept.
  void read(const Record& record);

  const std::map<Key, Range>& counts() const noexcept { return counts_; }
  /// The same at a moment that is not quiet: a release that has returned may still be in transit.
  Range count_at_once(const Key& key) const;
  /// Everything sent so far has been received.
  void all_heard() noexcept;
  /// Whether any process has held a reference since the last check.
  bool was_anything_held() const noexcept;
  void looked_at() noexcept { was_held_ = false; }
  bool is_alive(std::uint16_t process) const noexcept;
  /// The name under which the process took the resource counted as `counted`: a relative name is
  /// counted under its absolute path (E2).
  std::string_view name_of(std::uint16_t process, std::string_view counted) const noexcept;
  /// The role that a process is in.
  std::string role_of(std::uint16_t process) const;
  /// The process that has this pid, or had it last.
  std::optional<std::uint16_t> process_of(os::Pid pid) const noexcept;

 private:
  struct Lifetime {
    os::Pid pid = 0;
    bool alive = false;
    std::string_view role;
  };
  /// A forget that has begun. A reference taken meanwhile may precede or follow it.
  struct Forgetting {
    std::string_view resource;
    bool raced = false;
    bool is_posthumous = false;  ///< Its process has died, and the message may still arrive.
  };

  Lifetime& life(std::uint16_t process);
  void read_fact(const Record& record);
  void read_operation(const Record& record);
  void take(const Key& key, const Record& record);
  void let_go(const Key& key, const Record& record);
  void forget(const Key& key, const Record& record);
  void drop_all(std::uint16_t process, bool certainly);
  bool is_held(std::string_view resource) const;
  void heard(std::uint16_t process);
  void note_lost_ground();

  std::map<Key, Range> counts_;
  std::map<Key, int> taking_;    ///< register and hold in progress
  std::set<Key> raced_takings_;  ///< Those that a forget may precede or follow.
  /// Releases since the last answer of the tracker to the process.
  std::map<Key, std::int64_t> posted_;
  /// References of which the answer could not be read without memory. They count until the process
  /// has another connection.
  std::map<Key, std::int64_t> unread_;
  /// Holds of names that no other process may have held: they may count from the next tracker on.
  std::map<Key, std::int64_t> unfounded_;
  std::map<Key, bool>
      founded_;  ///< hold in progress: whether another process has held the name throughout
  std::map<std::pair<Key, std::uint16_t>, Forgetting> forgetting_;  ///< By key and actor
  std::vector<Lifetime> lives_;
  bool was_held_ = false;  ///< since the last check; excludes what is still held
};

}  // namespace lastref::harness::oracle
