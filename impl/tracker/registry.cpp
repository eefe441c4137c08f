#include "impl/tracker/registry.hpp"

#include <algorithm>

namespace lastref::tracker {

void Registry::doom(Entry& entry) noexcept {
  entry.doomed_at = ++clock_;
  ++doomed_;
}

void Registry::revive(Entry& entry) noexcept {
  entry.doomed_at = 0;
  --doomed_;
}

void Registry::add(MemberId member, const Resource& resource, std::uint64_t count) {
  LASTREF_ASSERT(count > 0);
  Entry& entry = entries_[resource];
  if (entry.doomed_at != 0) {
    revive(entry);
  }
  entry.holders[member] += count;
  entry.total += count;
  held_by_[member][resource] += count;
}

void Registry::adopt(const Resource& resource) {
  const auto [found, is_new] = entries_.try_emplace(resource);
  if (is_new) {
    doom(found->second);
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
  const bool holds_less = holder->second < count;
  const std::uint64_t taken = std::min(holder->second, count);
  if (holder->second == taken) {
    entry.holders.erase(holder);
    held_by_[member].erase(resource);
  } else {
    holder->second -= taken;
    held_by_[member][resource] -= taken;
  }
  entry.total -= taken;
  if (entry.total == 0) {
    doom(entry);
  }
  if (holds_less) {
    return Released::not_held;
  }
  return entry.total == 0 ? Released::last : Released::still_held;
}

std::vector<MemberId> Registry::holders_of(const Resource& resource) const {
  std::vector<MemberId> holders;
  if (const auto found = entries_.find(resource); found != entries_.end()) {
    for (const auto& [member, count] : found->second.holders) {
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
  for (const auto& [member, count] : found->second.holders) {
    held_by_[member].erase(resource);
  }
  if (found->second.doomed_at != 0) {
    revive(found->second);
  }
  entries_.erase(found);
  return true;
}

std::vector<Resource> Registry::drop(MemberId member) {
  std::vector<Resource> abandoned;
  const auto held = held_by_.find(member);
  if (held == held_by_.end()) {
    return abandoned;
  }
  for (const auto& [resource, count] : held->second) {
    Entry& entry = entries_.at(resource);
    entry.holders.erase(member);
    entry.total -= count;
    if (entry.total == 0) {
      doom(entry);
      abandoned.push_back(resource);
    }
  }
  held_by_.erase(held);
  return abandoned;
}

std::uint64_t Registry::count_of(const Resource& resource) const {
  const auto found = entries_.find(resource);
  return found == entries_.end() ? 0 : found->second.total;
}

std::vector<Resource> Registry::doomed() const {
  std::vector<Resource> names;
  for (const auto& [resource, entry] : entries_) {
    if (entry.doomed_at != 0) {
      names.push_back(resource);
    }
  }
  order_for_cleanup(names);
  return names;
}

std::vector<Resource> Registry::take_doomed(Stamp before) {
  std::vector<Resource> taken;
  if (doomed_ == 0) {
    return taken;
  }
  std::erase_if(entries_, [&](const auto& item) {
    const bool due = item.second.doomed_at != 0 && item.second.doomed_at < before;
    if (due) {
      taken.push_back(item.first);
    }
    return due;
  });
  doomed_ -= taken.size();
  order_for_cleanup(taken);
  return taken;
}

std::vector<Holding> Registry::holdings() const {
  std::vector<Holding> all;
  for (const auto& [resource, entry] : entries_) {
    for (const auto& [member, count] : entry.holders) {
      all.push_back({.resource = resource, .holder = member, .count = count});
    }
  }
  return all;
}

void order_for_cleanup(std::vector<Resource>& resources) {
  std::ranges::sort(resources, [](const Resource& left, const Resource& right) {
    const bool left_folder = left.type == ResourceType::folder;
    const bool right_folder = right.type == ResourceType::folder;
    if (left_folder != right_folder) {
      return right_folder;
    }
    // A folder's name is a prefix of what lies in it, so the greater name is the deeper one.
    return left_folder ? right < left : left < right;
  });
}

}  // namespace lastref::tracker
