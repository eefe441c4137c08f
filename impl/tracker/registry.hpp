// Registry: who holds which name, and which names nobody holds any more. Pure: it decides, the
// daemon acts.
//
// A name at 0 is not ended at once. It is doomed, with a stamp, and can be revived; only
// `take_doomed` with a later stamp ends it. The daemon stamps one full round of reading between the
// two, because the hold that would save the name may already lie in another connection (T9). And a
// folder waits until no name in it is known any more: what somebody holds is never taken away with
// the folder that it lies in.
//
// Nothing here but `doomed`, `holdings` and what has "all" in its name costs more because there are
// many names: what a holder leaves is dropped, and what is doomed is taken, as many at a time as
// the caller wants. A folder that waits is looked at again when one name in it has ended.
//
// What takes something away needs no memory: a name is doomed by the node that it was made with.
// What throws std::bad_alloc has changed nothing, or has done some of its names whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <list>
#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include <lastref/resource.hpp>

namespace lastref::tracker {

/// One membership of one process. Never used twice in the life of a tracker.
using MemberId = std::uint32_t;

/// The holder of references that are not attributed (loky mode), and of what an earlier tracker
/// left.
inline constexpr MemberId nobody = 0;

enum class Released : std::uint8_t { still_held, last, not_held, unknown };

struct Holding {
  Resource resource;
  MemberId holder = nobody;
  std::uint64_t count = 0;

  auto operator<=>(const Holding&) const = default;
};

class Registry {
 public:
  using Stamp = std::uint64_t;
  static constexpr std::size_t no_limit = std::numeric_limits<std::size_t>::max();

  Registry() = default;
  ~Registry() = default;
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// Counts +1 for `member`, at 1 if the name is new. Revives a doomed name.
  void add(MemberId member, const Resource& resource, std::uint64_t count = 1);
  /// Makes a name known that nobody holds yet: doomed from now on.
  void adopt(const Resource& resource);
  /// Takes `count` from what `member` holds; at 0 the name is doomed. `not_held` if it holds less:
  /// then it holds nothing more.
  Released release(MemberId member, const Resource& resource, std::uint64_t count = 1);
  std::vector<MemberId> holders_of(const Resource& resource) const;
  /// Ends the name, whatever its count. False if it is unknown.
  bool forget(const Resource& resource);
  /// Releases everything that `member` holds, but for no more than `most` names; returns those that
  /// nobody holds because of it.
  std::vector<Resource> drop(MemberId member, std::size_t most = no_limit);
  /// The same, handing each such name to `abandon`, which does not throw.
  using Abandon = std::function<void(const Resource&)>;
  void drop(MemberId member, std::size_t most, const Abandon& abandon);
  bool holds_anything(MemberId member) const {
    const auto held = held_by_.find(member);
    return held != held_by_.end() && !held->second.empty();
  }

  bool knows(const Resource& resource) const { return entries_.contains(resource); }
  bool empty() const noexcept { return entries_.empty(); }
  /// Whether a later `take_doomed` may end something, if nothing else happens.
  bool has_doomed() const noexcept { return !doomed_.empty() || !doomed_folders_.empty(); }
  std::uint64_t count_of(const Resource& resource) const;
  /// What `member` holds of it.
  std::uint64_t count_of(MemberId member, const Resource& resource) const;

  /// The moment now: what is doomed later gets a greater stamp.
  Stamp now() noexcept { return ++clock_; }
  /// Ends and returns the names that have been at 0 without a break since before `before`; folders
  /// last, and only if no name in them is left, else in the order of their names. About `most` of
  /// them, those that were doomed first.
  std::vector<Resource> take_doomed(Stamp before, std::size_t most = no_limit);
  /// The same, handing each name to `take` before it ends. If that throws, the name stays.
  using Take = std::function<void(const Resource&)>;
  void take_doomed(Stamp before, std::size_t most, const Take& take);
  /// All names at 0, folders with whatever lies in them.
  std::vector<Resource> take_all_doomed();
  void take_all_doomed(const Take& take);
  /// The names at 0, in the same order, without ending them.
  std::vector<Resource> doomed() const;
  /// Everything held, ordered by resource and holder.
  std::vector<Holding> holdings() const;

 private:
  struct Entry;
  using Entries = std::map<Resource, Entry>;
  /// A name with its entry stays where it is as long as it is known.
  using Known = std::pair<const Resource, Entry>;
  using KnownList = std::list<Known*>;
  using Queue = std::map<Stamp, Known*>;

  struct Hold {
    std::uint64_t count = 0;
    KnownList::iterator position;  ///< In what the holder holds.
  };
  struct Entry {
    std::map<MemberId, Hold> holders;
    std::uint64_t total = 0;
    Stamp doomed_at = 0;
    Queue::node_type place;  ///< In the queue of the doomed; here while it is not in that.
  };

  static Entries::iterator make_in(Entries& entries, const Resource& resource);
  Queue& queue_of(const Known& known) noexcept;
  void doom(Known& known) noexcept;
  void revive(Known& known) noexcept;
  void end(Known& known) noexcept;
  Known* first_in(const Resource& folder);
  static std::vector<Known*> due_in(const Queue& queue, Stamp before, std::size_t most);
  void take_folders(Stamp before, std::size_t most, const Take& take);
  void let_wait(Known& folder, Known& for_name);

  Entries entries_;
  /// So that a death costs what it held, in the order in which it came to hold it. Who holds
  /// nothing at this moment is here until it is dropped: most come to hold something again.
  std::map<MemberId, KnownList> held_by_;
  Queue doomed_;
  Queue doomed_folders_;              // but for those that wait
  std::map<Known*, Known*> waiting_;  // doomed folder → a name that is known and lies in it
  std::map<Known*, std::set<Known*>> awaited_;  // the other way round
  Stamp clock_ = 0;
};

/// Orders for clean-up: every other type first, folders last, and below each other's order by name,
/// deepest folder first.
void order_for_cleanup(std::vector<Resource>& resources);

}  // namespace lastref::tracker
