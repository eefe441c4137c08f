#include "impl/tracker/registry.hpp"

#include <algorithm>
#include <string>
#include <utility>

namespace lastref::tracker {

void Registry::doom(const Resource& resource, Entry& entry) {
  entry.doomed_at = ++clock_;
  auto& queue = resource.type == ResourceType::folder ? doomed_folders_ : doomed_;
  queue.emplace(entry.doomed_at, resource);
}

void Registry::revive(const Resource& resource, Entry& entry) {
  auto& queue = resource.type == ResourceType::folder ? doomed_folders_ : doomed_;
  queue.erase(entry.doomed_at);
  entry.doomed_at = 0;
  if (const auto waits = waiting_.find(resource); waits != waiting_.end()) {
    const auto awaited = awaited_.find(waits->second);
    awaited->second.erase(resource);
    if (awaited->second.empty()) {
      awaited_.erase(awaited);
    }
    waiting_.erase(waits);
  }
}

/// The name is known no more; folders that waited for that are looked at again.
void Registry::end(Entries::iterator entry) {
  if (entry->second.doomed_at != 0) {
    revive(entry->first, entry->second);
  }
  const auto node = entries_.extract(entry);
  const auto awaited = awaited_.find(node.key());
  if (awaited == awaited_.end()) {
    return;
  }
  for (const Resource& folder : awaited->second) {
    doomed_folders_.emplace(entries_.at(folder).doomed_at, folder);
    waiting_.erase(folder);
  }
  awaited_.erase(awaited);
}

void Registry::let_wait(const Resource& folder, const Resource& for_name) {
  waiting_.emplace(folder, for_name);
  awaited_[for_name].insert(folder);
}

/// A name that is known and lies in the folder, if there is any.
const Resource* Registry::first_in(const Resource& folder) const {
  const std::size_t last = folder.name.find_last_not_of('/');
  const std::string inside = folder.name.substr(0, last == std::string::npos ? 0 : last + 1) + '/';
  for (const ResourceType type : {ResourceType::file, ResourceType::folder}) {
    auto found = entries_.lower_bound({.type = type, .name = inside});
    if (found != entries_.end() && found->first == folder) {
      ++found;  // It was named with a slash behind it.
    }
    if (found != entries_.end() && found->first.type == type &&
        found->first.name.starts_with(inside)) {
      return &found->first;
    }
  }
  return nullptr;
}

void Registry::add(MemberId member, const Resource& resource, std::uint64_t count) {
  LASTREF_ASSERT(count > 0);
  Known& known = *entries_.try_emplace(resource).first;
  Entry& entry = known.second;
  if (entry.doomed_at != 0) {
    revive(resource, entry);
  }
  const auto [holder, is_new] = entry.holders.try_emplace(member);
  if (is_new) {
    KnownList& held = held_by_[member];
    holder->second.position = held.insert(held.end(), &known);
  }
  holder->second.count += count;
  entry.total += count;
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
  end(found);
  return true;
}

std::vector<Resource> Registry::drop(MemberId member, std::size_t most) {
  std::vector<Resource> abandoned;
  const auto held = held_by_.find(member);
  if (held == held_by_.end()) {
    return abandoned;
  }
  KnownList& names = held->second;
  for (; most > 0 && !names.empty(); --most) {
    auto& [resource, entry] = *names.front();
    names.pop_front();
    const auto holder = entry.holders.find(member);
    entry.total -= holder->second.count;
    entry.holders.erase(holder);
    if (entry.total == 0) {
      doom(resource, entry);
      abandoned.push_back(resource);
    }
  }
  if (names.empty()) {
    held_by_.erase(held);
  }
  return abandoned;
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
    for (const auto& [stamp, resource] : *queue) {
      names.push_back(resource);
    }
  }
  for (const auto& [folder, name] : waiting_) {
    names.push_back(folder);
  }
  order_for_cleanup(names);
  return names;
}

std::vector<Resource> Registry::take_doomed(Stamp before, std::size_t most) {
  std::vector<Resource> taken;
  while (taken.size() < most && !doomed_.empty() && doomed_.begin()->first < before) {
    taken.push_back(doomed_.begin()->second);
    end(entries_.find(taken.back()));
  }
  order_for_cleanup(taken);
  take_folders(before, most, taken);
  return taken;
}

/// What goes may let another one go that it lay in. To look at a folder in vain counts as well.
void Registry::take_folders(Stamp before, std::size_t most, std::vector<Resource>& taken) {
  std::size_t looked_at = taken.size();
  for (std::vector<Resource> due; looked_at < most; looked_at += due.size()) {
    due.clear();
    while (looked_at + due.size() < most && !doomed_folders_.empty() &&
           doomed_folders_.begin()->first < before) {
      due.push_back(std::move(doomed_folders_.begin()->second));
      doomed_folders_.erase(doomed_folders_.begin());
    }
    if (due.empty()) {
      return;
    }
    order_for_cleanup(due);
    for (Resource& folder : due) {
      if (const Resource* const name = first_in(folder)) {
        let_wait(folder, *name);
      } else {
        end(entries_.find(folder));
        taken.push_back(std::move(folder));
      }
    }
  }
}

std::vector<Resource> Registry::take_all_doomed() {
  std::vector<Resource> taken = doomed();
  for (const Resource& resource : taken) {
    end(entries_.find(resource));
  }
  return taken;
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
