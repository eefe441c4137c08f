// reference: a reference that its object releases. In a file apart from those that use the clients
// of trackers.
#include <utility>

#include <lastref/references.hpp>

namespace lastref {

Reference& Reference::operator=(Reference&& other) noexcept {
  if (this != &other) {
    static_cast<void>(release());
    os_ = other.os_;
    process_ = other.process_;
    references_ = std::move(other.references_);
    resource_ = std::move(other.resource_);
    ended_ = std::move(other.ended_);
  }
  return *this;
}

Status Reference::release() noexcept {
  const std::shared_ptr<References> references = std::exchange(references_, nullptr);
  const bool is_counted = references && !(ended_ && *ended_) && os_->process_token() == process_;
  return is_counted ? references->release(resource_) : ok();
}

}  // namespace lastref
