// UnlinkingReferences: a count in this process that removes each file without a holder. It records
// nothing else, so that it can be used a million times.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include <lastref/os.hpp>
#include <lastref/owners.hpp>
#include <lastref/references.hpp>

namespace lastref::pretend {

class UnlinkingReferences final : public References {
 public:
  explicit UnlinkingReferences(os::Os& os) noexcept : os_(os) {}

  using References::register_name;
  Status register_name(const Resource& resource,
                       const std::optional<Identity>& /*identity*/) override {
    return hold(resource);
  }
  Status hold(const Resource& resource) override {
    const std::lock_guard held(guard_);
    ++counts_[resource];
    return ok();
  }
  Status release(const Resource& resource) override {
    const std::lock_guard held(guard_);
    const auto found = counts_.find(resource);
    if (found == counts_.end() || --found->second > 0) {
      return ok();
    }
    counts_.erase(found);
    return resource.type == ResourceType::folder ? os_.remove_folder(resource.name)
                                                 : os::discard(os_, resource.name);
  }
  Status forget(const Resource& resource) override {
    const std::lock_guard held(guard_);
    counts_.erase(resource);
    return ok();
  }
  bool is_attributed() const noexcept override { return true; }

  std::size_t size() const {
    const std::lock_guard held(guard_);
    return counts_.size();
  }

 private:
  os::Os& os_;
  mutable std::mutex guard_;
  std::map<Resource, std::size_t> counts_;
};

}  // namespace lastref::pretend
