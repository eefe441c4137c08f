#include "impl/tracker/registry.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace lastref::tracker {

void Registry::doom(const Resource& resource, Entry& entry) {
  entry.doomed_at = ++clock_;
  doomed_.insert(resource);
  waiting_ = 0;
}

void Registry::revive(const Resource& resource, Entry& entry) {
  entry.doomed_at = 0;
  doomed_.erase(resource);
  waiting_ = 0;
}

/// Whether a name that lies in the folder is known.
bool Registry::is_occupied(const Resource& folder) const {
  const std::size_t last = folder.name.find_last_not_of('/');
  const std::string inside = folder.name.substr(0, last == std::string::npos ? 0 : last + 1) + '/';
  return std::ranges::any_of(std::array{ResourceType::file, ResourceType::folder}, [&](auto type) {
    auto found = entries_.lower_bound({.type = type, .name = inside});
    if (found != entries_.end() && found->first == folder) {
      ++found;  // It was named with a slash behind it.
    }
    return found != entries_.end() && found->first.type == type &&
           found->first.name.starts_with(inside);
  });
}

void Registry::add(MemberId member, const Resource& resource, std::uint64_t count) {
  LASTREF_ASSERT(count > 0);
  Entry& entry = entries_[resource];
  if (entry.doomed_at != 0) {
    revive(resource, entry);
  }
  entry.holders[member] += count;
  entry.total += count;
  held_by_[member][resource] += count;
}

void Registry::adopt(const Resource& resource) {
  const auto [found, is_new] = entries_.try_emplace(resource);
  if (is_new) {
    doom(resource, found->second);
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
    doom(resource, entry);
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
    revive(resource, found->second);
  }
  entries_.erase(found);
  waiting_ = 0;
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
      doom(resource, entry);
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

std::uint64_t Registry::count_of(MemberId member, const Resource& resource) const {
  const auto held = held_by_.find(member);
  if (held == held_by_.end()) {
    return 0;
  }
  const auto found = held->second.find(resource);
  return found == held->second.end() ? 0 : found->second;
}

std::vector<Resource> Registry::doomed() const {
  std::vector<Resource> names(doomed_.begin(), doomed_.end());
  order_for_cleanup(names);
  return names;
}

std::vector<Resource> Registry::take_doomed(Stamp before) {
  std::vector<Resource> taken;
  if (!has_doomed()) {
    return taken;
  }
  waiting_ = 0;
  for (const Resource& resource : doomed()) {
    const auto found = entries_.find(resource);
    if (found->second.doomed_at >= before) {
      continue;
    }
    if (resource.type == ResourceType::folder && is_occupied(resource)) {
      ++waiting_;
      continue;
    }
    entries_.erase(found);
    doomed_.erase(resource);
    taken.push_back(resource);
  }
  return taken;
}

std::vector<Resource> Registry::take_all_doomed() {
  std::vector<Resource> taken = doomed();
  for (const Resource& resource : taken) {
    entries_.erase(resource);
  }
  doomed_.clear();
  waiting_ = 0;
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
