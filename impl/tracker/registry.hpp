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
#pragma once

#include <cstddef>
#include <cstdint>
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
  /// All names at 0, folders with whatever lies in them.
  std::vector<Resource> take_all_doomed();
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

  struct Hold {
    std::uint64_t count = 0;
    KnownList::iterator position;  ///< In what the holder holds.
  };
  struct Entry {
    std::map<MemberId, Hold> holders;
    std::uint64_t total = 0;
    Stamp doomed_at = 0;
  };

  void doom(const Resource& resource, Entry& entry);
  void revive(const Resource& resource, Entry& entry);
  void end(Entries::iterator entry);
  const Resource* first_in(const Resource& folder) const;
  void take_folders(Stamp before, std::size_t most, std::vector<Resource>& taken);
  void let_wait(const Resource& folder, const Resource& for_name);

  Entries entries_;
  /// So that a death costs what it held, in the order in which it came to hold it. Who holds
  /// nothing at this moment is here until it is dropped: most come to hold something again.
  std::map<MemberId, KnownList> held_by_;
  std::map<Stamp, Resource> doomed_;
  std::map<Stamp, Resource> doomed_folders_;  // but for those that wait
  std::map<Resource, Resource> waiting_;  // doomed folder → a name that is known and lies in it
  std::map<Resource, std::set<Resource>> awaited_;  // the other way round
  Stamp clock_ = 0;
};

/// Orders for clean-up: every other type first, folders last, and below each other's order by name,
/// deepest folder first.
void order_for_cleanup(std::vector<Resource>& resources);

}  // namespace lastref::tracker
