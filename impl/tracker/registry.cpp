#include "impl/tracker/registry.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

namespace lastref::tracker {
namespace {

/// Whether `left` is cleaned up before `right`.
bool goes_before(const Resource& left, const Resource& right) {
  const bool left_folder = left.type == ResourceType::folder;
  const bool right_folder = right.type == ResourceType::folder;
  if (left_folder != right_folder) {
    return right_folder;
  }
  // A folder's name is a prefix of the names in it, so the greater name is the deeper one.
  return left_folder ? right < left : left < right;
}

}  // namespace

Registry::Queue& Registry::queue_of(const NamedEntry& known) noexcept {
  return known.first.type == ResourceType::folder ? doomed_folders_ : doomed_;
}

void Registry::doom(NamedEntry& known) noexcept {
  Entry& entry = known.second;
  entry.doomed_at = ++clock_;
  entry.place.key() = entry.doomed_at;
  queue_of(known).insert(std::move(entry.place));
}

void Registry::revive(NamedEntry& known) noexcept {
  Entry& entry = known.second;
  if (const auto waits = waiting_.find(&known); waits != waiting_.end()) {
    const auto awaited = awaited_.find(waits->second);
    awaited->second.erase(&known);
    if (awaited->second.empty()) {
      awaited_.erase(awaited);
    }
    waiting_.erase(waits);
  } else {
    entry.place = queue_of(known).extract(entry.doomed_at);
  }
  entry.doomed_at = 0;
}

/// The name is no longer known; folders that waited for that are checked again.
void Registry::end(NamedEntry& known) noexcept {
  if (known.second.doomed_at != 0) {
    revive(known);
  }
  if (const auto awaited = awaited_.find(&known); awaited != awaited_.end()) {
    for (NamedEntry* const folder : awaited->second) {
      doomed_folders_.insert(std::move(folder->second.place));
      waiting_.erase(folder);
    }
    awaited_.erase(awaited);
  }
  entries_.erase(entries_.find(known.first));
}

void Registry::let_wait(NamedEntry& folder, NamedEntry& for_name) {
  std::map<NamedEntry*, NamedEntry*> waits;
  waits.emplace(&folder, &for_name);
  awaited_[&for_name].insert(&folder);
  waiting_.merge(waits);
  folder.second.place = doomed_folders_.extract(folder.second.doomed_at);
}

/// A known name in the folder, if there is any.
Registry::NamedEntry* Registry::first_in(const Resource& folder) {
  const std::size_t last = folder.name.find_last_not_of('/');
  const std::string inside = folder.name.substr(0, last == std::string::npos ? 0 : last + 1) + '/';
  for (const ResourceType type : {ResourceType::file, ResourceType::folder}) {
    auto found = entries_.lower_bound({.type = type, .name = inside});
    if (found != entries_.end() && found->first == folder) {
      ++found;  // Its own name has a trailing slash.
    }
    if (found != entries_.end() && found->first.type == type &&
        found->first.name.starts_with(inside)) {
      return &*found;
    }
  }
  return nullptr;
}

void Registry::add(MemberId member, const Resource& resource, std::uint64_t count) {
  LASTREF_ASSERT(count > 0);
  Entries made;
  auto found = entries_.find(resource);
  if (found == entries_.end()) {
    found = make_in(made, resource);
  }
  NamedEntry& known = *found;
  Entry& entry = known.second;
  auto holder = entry.holders.find(member);
  if (holder == entry.holders.end()) {
    NamedEntries position{&known};
    NamedEntries& held = held_by_[member];
    holder = entry.holders.try_emplace(member).first;
    held.splice(held.end(), position);
    holder->second.position = std::prev(held.end());
  }
  // Nothing fails from here on.
  entries_.merge(made);
  if (entry.doomed_at != 0) {
    revive(known);
  }
  holder->second.count += count;
  entry.total += count;
}

/// With its node for the queue of the doomed.
Registry::Entries::iterator Registry::make_in(Entries& entries, const Resource& resource) {
  const auto made = entries.try_emplace(resource).first;
  Queue place;
  place.emplace(0, &*made);
  made->second.place = place.extract(place.begin());
  return made;
}

void Registry::adopt(const Resource& resource) {
  if (!entries_.contains(resource)) {
    Entries made;
    NamedEntry& known = *make_in(made, resource);
    entries_.merge(made);
    doom(known);
  }
}

Released Registry::release(MemberId member, const Resource& resource, std::uint64_t count) {
  LASTREF_ASSERT(count > 0);
  const auto found = entries_.find(resource);
  if (found == entries_.end()) {
    return Released::unknown;
  }
  Entry& entry = found->second;
  const auto holder = entry.holders.find(member);
  if (holder == entry.holders.end()) {
    return Released::not_held;
  }
  Hold& hold = holder->second;
  const bool holds_less = hold.count < count;
  const std::uint64_t taken = std::min(hold.count, count);
  hold.count -= taken;
  if (hold.count == 0) {
    held_by_.at(member).erase(hold.position);
    entry.holders.erase(holder);
  }
  entry.total -= taken;
  if (entry.total == 0) {
    doom(*found);
  }
  if (holds_less) {
    return Released::not_held;
  }
  return entry.total == 0 ? Released::last : Released::still_held;
}

std::vector<MemberId> Registry::holders_of(const Resource& resource) const {
  std::vector<MemberId> holders;
  if (const auto found = entries_.find(resource); found != entries_.end()) {
    for (const auto& [member, hold] : found->second.holders) {
      holders.push_back(member);
    }
  }
  return holders;
}

bool Registry::forget(const Resource& resource) {
  const auto found = entries_.find(resource);
  if (found == entries_.end()) {
    return false;
  }
  for (const auto& [member, hold] : found->second.holders) {
    held_by_.at(member).erase(hold.position);
  }
  end(*found);
  return true;
}

std::vector<Resource> Registry::drop(MemberId member, std::size_t most) {
  std::vector<Resource> abandoned;
  drop(member, most, [&](const Resource& name) { abandoned.push_back(name); });
  return abandoned;
}

void Registry::drop(MemberId member, std::size_t most, const Abandon& abandon) {
  const auto held = held_by_.find(member);
  if (held == held_by_.end()) {
    return;
  }
  NamedEntries& names = held->second;
  for (; most > 0 && !names.empty(); --most) {
    NamedEntry& known = *names.front();
    Entry& entry = known.second;
    names.pop_front();
    const auto holder = entry.holders.find(member);
    entry.total -= holder->second.count;
    entry.holders.erase(holder);
    if (entry.total == 0) {
      doom(known);
      abandon(known.first);
    }
  }
  if (names.empty()) {
    held_by_.erase(held);
  }
}

std::uint64_t Registry::count_of(const Resource& resource) const {
  const auto found = entries_.find(resource);
  return found == entries_.end() ? 0 : found->second.total;
}

std::uint64_t Registry::count_of(MemberId member, const Resource& resource) const {
  const auto found = entries_.find(resource);
  if (found == entries_.end()) {
    return 0;
  }
  const auto holder = found->second.holders.find(member);
  return holder == found->second.holders.end() ? 0 : holder->second.count;
}

std::vector<Resource> Registry::doomed() const {
  std::vector<Resource> names;
  for (const auto* queue : {&doomed_, &doomed_folders_}) {
    for (const auto& [stamp, known] : *queue) {
      names.push_back(known->first);
    }
  }
  for (const auto& [folder, name] : waiting_) {
    names.push_back(folder->first);
  }
  order_for_cleanup(names);
  return names;
}

/// The names that were doomed first.
std::vector<Registry::NamedEntry*> Registry::due_in(const Queue& queue,
                                                    Stamp before,
                                                    std::size_t most) {
  std::vector<NamedEntry*> due;
  for (auto next = queue.begin(); due.size() < most && next != queue.end() && next->first < before;
       ++next) {
    due.push_back(next->second);
  }
  std::ranges::sort(
      due, goes_before, [](const NamedEntry* known) -> const Resource& { return known->first; });
  return due;
}

std::vector<Resource> Registry::take_doomed(Stamp before, std::size_t most) {
  std::vector<Resource> taken;
  take_doomed(before, most, [&](const Resource& name) { taken.push_back(name); });
  return taken;
}

void Registry::take_doomed(Stamp before, std::size_t most, const Take& take) {
  const std::vector<NamedEntry*> due = due_in(doomed_, before, most);
  for (NamedEntry* const known : due) {
    take(known->first);
    end(*known);
  }
  take_folders(before, most - due.size(), take);
}

/// The end of a name may allow the end of a folder that contained it. A folder that cannot end yet
/// counts as well.
void Registry::take_folders(Stamp before, std::size_t most, const Take& take) {
  while (most > 0) {
    const std::vector<NamedEntry*> due = due_in(doomed_folders_, before, most);
    if (due.empty()) {
      return;
    }
    most -= due.size();
    for (NamedEntry* const folder : due) {
      if (NamedEntry* const name = first_in(folder->first)) {
        let_wait(*folder, *name);
      } else {
        take(folder->first);
        end(*folder);
      }
    }
  }
}

std::vector<Resource> Registry::take_all_doomed() {
  std::vector<Resource> taken;
  take_all_doomed([&](const Resource& name) { taken.push_back(name); });
  return taken;
}

void Registry::take_all_doomed(const Take& take) {
  for (const Resource& resource : doomed()) {
    take(resource);
    end(*entries_.find(resource));
  }
}

std::vector<Holding> Registry::holdings() const {
  std::vector<Holding> all;
  for (const auto& [resource, entry] : entries_) {
    for (const auto& [member, hold] : entry.holders) {
      all.push_back({.resource = resource, .holder = member, .count = hold.count});
    }
  }
  return all;
}

void order_for_cleanup(std::vector<Resource>& resources) {
  std::ranges::sort(resources, goes_before);
}

}  // namespace lastref::tracker
