#include <utility>

#include <lastref/loky_client.hpp>
#include <lastref/references.hpp>
#include <lastref/tracker_client.hpp>

namespace lastref {
namespace {

class NativeReferences final : public References {
 public:
  explicit NativeReferences(std::shared_ptr<tracker::Client> client) noexcept
      : client_(std::move(client)) {}

  Status register_name(const Resource& resource) override {
    return client_->register_name(resource);
  }
  Status hold(const Resource& resource) override { return client_->hold(resource); }
  Status release(const Resource& resource) override { return client_->release(resource); }
  Status forget(const Resource& resource) override { return client_->forget(resource); }
  bool is_attributed() const noexcept override { return true; }

 private:
  std::shared_ptr<tracker::Client> client_;
};

class LokyReferences final : public References {
 public:
  explicit LokyReferences(std::shared_ptr<tracker::LokyClient> client) noexcept
      : client_(std::move(client)) {}

  Status register_name(const Resource& resource) override {
    return client_->register_name(resource);
  }
  Status hold(const Resource& resource) override { return client_->register_name(resource); }
  Status release(const Resource& resource) override { return client_->maybe_unlink(resource); }
  Status forget(const Resource& resource) override { return client_->unregister(resource); }
  bool is_attributed() const noexcept override { return false; }

 private:
  std::shared_ptr<tracker::LokyClient> client_;
};

}  // namespace

std::shared_ptr<References> references_of(std::shared_ptr<tracker::Client> client) {
  return std::make_shared<NativeReferences>(std::move(client));
}

std::shared_ptr<References> references_of(std::shared_ptr<tracker::LokyClient> client) {
  return std::make_shared<LokyReferences>(std::move(client));
}

Reference& Reference::operator=(Reference&& other) noexcept {
  if (this != &other) {
    static_cast<void>(release());
    references_ = std::move(other.references_);
    resource_ = std::move(other.resource_);
    ended_ = std::move(other.ended_);
  }
  return *this;
}

Status Reference::release() noexcept {
  const std::shared_ptr<References> references = std::exchange(references_, nullptr);
  const bool is_counted = references && !(ended_ && *ended_);
  return is_counted ? references->release(resource_) : ok();
}

}  // namespace lastref
