// Registry: who holds which name, and which names nobody holds any more. Pure: it decides, the
// daemon acts.
//
// A name at 0 is not ended at once. It is doomed, with a stamp, and can be revived; only
// `take_doomed` with a later stamp ends it. The daemon stamps one full round of reading between the
// two, because the hold that would save the name may already lie in another connection (T9). And a
// folder waits until no name in it is known any more: what somebody holds is never taken away with
// the folder that it lies in.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <span>
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
  /// Releases everything that `member` holds; returns the names that nobody holds because of it.
  std::vector<Resource> drop(MemberId member);

  bool knows(const Resource& resource) const { return entries_.contains(resource); }
  bool empty() const noexcept { return entries_.empty(); }
  /// Whether a later `take_doomed` may end something, if nothing else happens.
  bool has_doomed() const noexcept { return doomed_.size() > waiting_; }
  std::uint64_t count_of(const Resource& resource) const;
  /// What `member` holds of it.
  std::uint64_t count_of(MemberId member, const Resource& resource) const;

  /// The moment now: what is doomed later gets a greater stamp.
  Stamp now() noexcept { return ++clock_; }
  /// Ends and returns the names that have been at 0 without a break since before `before`; folders
  /// last, and only if no name in them is left, else in the order of their names.
  std::vector<Resource> take_doomed(Stamp before);
  /// All names at 0, folders with whatever lies in them.
  std::vector<Resource> take_all_doomed();
  /// The names at 0, in the same order, without ending them.
  std::vector<Resource> doomed() const;
  /// Everything held, ordered by resource and holder.
  std::vector<Holding> holdings() const;

 private:
  struct Entry {
    std::map<MemberId, std::uint64_t> holders;
    std::uint64_t total = 0;
    Stamp doomed_at = 0;
  };

  void doom(const Resource& resource, Entry& entry);
  void revive(const Resource& resource, Entry& entry);
  bool is_occupied(const Resource& folder) const;

  std::map<Resource, Entry> entries_;
  std::map<MemberId, std::map<Resource, std::uint64_t>>
      held_by_;  // so that a death costs what it held
  std::set<Resource> doomed_;
  std::size_t waiting_ = 0;  // doomed folders that only wait for what others hold in them
  Stamp clock_ = 0;
};

/// Orders for clean-up: every other type first, folders last, and below each other's order by name,
/// deepest folder first.
void order_for_cleanup(std::vector<Resource>& resources);

}  // namespace lastref::tracker
