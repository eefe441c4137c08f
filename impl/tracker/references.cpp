#include <utility>

#include <lastref/loky.hpp>
#include <lastref/references.hpp>
#include <lastref/tracker_client.hpp>

namespace lastref {
namespace {

class NativeReferences final : public References {
 public:
  explicit NativeReferences(std::shared_ptr<tracker::Client> client) noexcept
      : client_(std::move(client)) {}

  using References::register_name;
  Status register_name(const Resource& resource, const std::optional<Identity>& identity) override {
    return client_->register_name(resource, identity);
  }
  Status identify(const Resource& resource, const std::optional<Identity>& identity) override {
    return client_->identify(resource, identity);
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

  using References::register_name;
  Status register_name(const Resource& resource,
                       const std::optional<Identity>& /*identity*/) override {
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

}  // namespace lastref
