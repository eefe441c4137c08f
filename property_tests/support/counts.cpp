#include "property_tests/support/counts.hpp"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace lastref::pretend {

class Counts::Party final : public References {
 public:
  Party(Counts& counts, std::string holder) : counts_(counts), holder_(std::move(holder)) {}
  using References::register_name;
  Status register_name(const Resource& resource, const std::optional<Identity>& identity) override {
    if (identity) {
      counts_.identities[resource.name] = *identity;
    }
    return counts_.say(holder_, "register", resource);
  }
  Status identify(const Resource& resource, const std::optional<Identity>& identity) override {
    if (identity) {
      counts_.identities[resource.name] = *identity;
    } else {
      counts_.identities.erase(resource.name);
    }
    return ok();
  }
  Status hold(const Resource& resource) override { return counts_.say(holder_, "hold", resource); }
  Status release(const Resource& resource) override {
    return counts_.say(holder_, "release", resource);
  }
  Status forget(const Resource& resource) override {
    return counts_.say(holder_, "forget", resource);
  }
  bool is_attributed() const noexcept override { return counts_.attributed_; }

 private:
  Counts& counts_;
  std::string holder_;
};

std::shared_ptr<References> Counts::party(const std::string& holder) {
  return std::make_shared<Party>(*this, attributed_ ? holder : "anybody");
}

std::size_t Counts::count(const Resource& resource) const {
  std::size_t sum = 0;
  if (const auto found = counts_.find(resource); found != counts_.end()) {
    for (const auto& [holder, count] : found->second) {
      sum += count;
    }
  }
  return sum;
}

std::size_t Counts::of(const std::string& path) const {
  const std::lock_guard held(guard_);
  return count({.type = ResourceType::file, .name = path}) +
         count({.type = ResourceType::folder, .name = path});
}

std::size_t Counts::of(const std::string& path, const std::string& holder) const {
  const std::lock_guard held(guard_);
  const auto found = counts_.find({.type = ResourceType::file, .name = path});
  if (found == counts_.end() || !found->second.contains(holder)) {
    return 0;
  }
  return found->second.at(holder);
}

std::vector<std::string> Counts::names(ResourceType type) const {
  const std::lock_guard held(guard_);
  std::vector<std::string> names;
  for (const auto& [resource, holders] : counts_) {
    if (resource.type == type) {
      names.push_back(resource.name);
    }
  }
  return names;
}

bool Counts::empty() const {
  const std::lock_guard held(guard_);
  return counts_.empty();
}

std::size_t Counts::said(const std::string& operation, const std::string& path) const {
  const std::lock_guard held(guard_);
  return static_cast<std::size_t>(std::ranges::count_if(operations_, [&](const Operation& each) {
    return each.operation == operation && each.resource.name == path;
  }));
}

std::size_t Counts::said(const std::string& operation) const {
  const std::lock_guard held(guard_);
  return static_cast<std::size_t>(
      std::ranges::count(operations_, operation, &Operation::operation));
}

Status Counts::say(const std::string& holder,
                   const std::string& operation,
                   const Resource& resource) {
  if (before) {
    before(operation, resource.name);
  }
  const std::lock_guard held(guard_);
  if (fails && (*fails)-- == 0) {
    fails.reset();
    return failure(std::errc::connection_refused, resource.name, Call::connect);
  }
  operations_.push_back({.operation = operation, .resource = resource});
  const std::size_t before_it = count(resource);
  if (operation == "register") {
    if (before_it != 0) {
      misuse.push_back("registers what is counted: " + to_text(resource));
    }
    ++counts_[resource][holder];
    doomed_folders_.erase(resource.name);
    return ok();
  }
  if (before_it == 0) {
    misuse.push_back(operation + "s what is not known: " + to_text(resource));
    return ok();
  }
  auto& holders = counts_[resource];
  if (operation == "hold") {
    ++holders[holder];
  } else if (operation == "forget") {
    counts_.erase(resource);
    clean_folders();
  } else if (!holders.contains(holder)) {
    misuse.push_back(holder + " releases what it does not hold: " + to_text(resource));
  } else {
    if (--holders[holder] == 0) {
      holders.erase(holder);
    }
    if (before_it == 1) {
      counts_.erase(resource);
      clean(resource);
    }
  }
  return ok();
}

void Counts::clean(const Resource& resource) {
  if (resource.type == ResourceType::file) {
    std::error_code ignored;
    std::filesystem::remove(real ? real(resource.name) : resource.name, ignored);
  } else {
    doomed_folders_.insert(resource.name);
  }
  clean_folders();
}

void Counts::clean_folders() {
  std::erase_if(doomed_folders_, [&](const std::string& folder) {
    const bool waits = attributed_ && std::ranges::any_of(counts_, [&](const auto& each) {
                         return each.first.name.starts_with(folder + '/');
                       });
    if (!waits) {
      std::error_code ignored;
      std::filesystem::remove_all(real ? real(folder) : folder, ignored);
    }
    return !waits;
  });
}

}  // namespace lastref::pretend
