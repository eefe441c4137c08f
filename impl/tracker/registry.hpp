// Registry: which member holds which name, and which names have no holder. Pure: it decides, the
// daemon acts.
//
// A name at 0 does not end at once. It is doomed, with a stamp, and can be revived; only
// `take_doomed` with a later stamp ends it. The daemon puts one full round of reading between the
// two, because a hold that would save the name may already be in another connection (T9). A folder
// waits until no name in it is known any more: so a held name is never removed with its folder.
//
// The cost of an operation does not depend on the number of names, except for `doomed`, `holdings`
// and the operations with "all" in their names: the caller chooses how many names of a holder are
// dropped, or doomed names are taken, at a time. A waiting folder is checked again when one name in
// it has ended.
//
// Removing needs no memory: a name is doomed with the node that it was created with. A call that
// throws std::bad_alloc has changed nothing, or has completely handled some of its names.
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

/// One membership of one process. A tracker never uses the number again.
using MemberId = std::uint32_t;

/// The holder of references that are not attributed (loky mode), and of the names that an earlier
/// tracker left.
inline constexpr MemberId no_member = 0;

enum class Released : std::uint8_t { still_held, last, not_held, unknown };

struct Holding {
  Resource resource;
  MemberId holder = no_member;
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
  /// Makes a name without a holder known: doomed from now on.
  void adopt(const Resource& resource);
  /// Subtracts `count` from the references of `member`; at 0 the name is doomed. `not_held` if it
  /// has fewer: then it has none any more.
  Released release(MemberId member, const Resource& resource, std::uint64_t count = 1);
  std::vector<MemberId> holders_of(const Resource& resource) const;
  /// Ends the name, whatever its count. False if it is unknown.
  bool forget(const Resource& resource);
  /// Releases at most `most` of the references that `member` holds; returns the names that have no
  /// holder any more because of it.
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
  /// The references that `member` has to it.
  std::uint64_t count_of(MemberId member, const Resource& resource) const;

  /// The current stamp: a name that is doomed later gets a greater one.
  Stamp now() noexcept { return ++clock_; }
  /// Ends and returns about `most` of the names that have been at 0 without a break since before
  /// `before`, those that were doomed first. Folders are last, and only if no name in them is left;
  /// the others are in the order of their names.
  std::vector<Resource> take_doomed(Stamp before, std::size_t most = no_limit);
  /// The same, handing each name to `take` before it ends. If that throws, the name stays.
  using Take = std::function<void(const Resource&)>;
  void take_doomed(Stamp before, std::size_t most, const Take& take);
  /// All names at 0, folders even if a name in them is known.
  std::vector<Resource> take_all_doomed();
  void take_all_doomed(const Take& take);
  /// The names at 0, in the same order, without ending them.
  std::vector<Resource> doomed() const;
  /// All references, ordered by resource and holder.
  std::vector<Holding> holdings() const;

 private:
  struct Entry;
  using Entries = std::map<Resource, Entry>;
  /// A name with its entry does not move while it is known.
  using NamedEntry = std::pair<const Resource, Entry>;
  using NamedEntries = std::list<NamedEntry*>;
  using Queue = std::map<Stamp, NamedEntry*>;

  struct Hold {
    std::uint64_t count = 0;
    NamedEntries::iterator position;  ///< In the list of the holder's names.
  };
  struct Entry {
    std::map<MemberId, Hold> holders;
    std::uint64_t total = 0;
    Stamp doomed_at = 0;
    Queue::node_type place;  ///< Its node of the queue of the doomed, while it is not in that.
  };

  static Entries::iterator make_in(Entries& entries, const Resource& resource);
  Queue& queue_of(const NamedEntry& known) noexcept;
  void doom(NamedEntry& known) noexcept;
  void revive(NamedEntry& known) noexcept;
  void end(NamedEntry& known) noexcept;
  NamedEntry* first_in(const Resource& folder);
  static std::vector<NamedEntry*> due_in(const Queue& queue, Stamp before, std::size_t most);
  void take_folders(Stamp before, std::size_t most, const Take& take);
  void let_wait(NamedEntry& folder, NamedEntry& for_name);

  Entries entries_;
  /// So that the cost of a death depends only on the number of its names. They are in the order in
  /// which the member took them. A member without references stays here until it is dropped,
  /// because most get one again.
  std::map<MemberId, NamedEntries> held_by_;
  Queue doomed_;
  Queue doomed_folders_;                                  // without those that wait
  std::map<NamedEntry*, NamedEntry*> waiting_;            // doomed folder → a known name in it
  std::map<NamedEntry*, std::set<NamedEntry*>> awaited_;  // the reverse
  Stamp clock_ = 0;
};

/// Orders for clean-up: every other type first, folders last. Within a type by name, the deepest
/// folder first.
void order_for_cleanup(std::vector<Resource>& resources);

}  // namespace lastref::tracker
