// References: the operations that arrays in flight need from a tracker of any kind.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>

#include <lastref/error.hpp>
#include <lastref/os.hpp>
#include <lastref/resource.hpp>

namespace lastref {

namespace tracker {
class Client;
}  // namespace tracker

/// All methods may be called from any thread.
///
/// Errors          of all methods: errors of the tracker's client; nothing has changed then.
class References {
 public:
  References() = default;
  References(const References&) = delete;
  References& operator=(const References&) = delete;
  virtual ~References() = default;

  /// Counts +1 on a name that may be new; when it returns, create the thing. If the thing already
  /// exists under another name, `identity` is its identity, as for `identify`.
  ///
  /// Errors          as above.
  virtual Status register_name(const Resource& resource,
                               const std::optional<Identity>& identity) = 0;
  /// As above, for a thing that does not exist yet.
  ///
  /// Errors          as above.
  Status register_name(const Resource& resource) { return register_name(resource, std::nullopt); }
  /// Sets the identity of the thing with a name that is held here: if another thing gets the name
  /// later, it is not removed. Without an identity, the name means any thing that has it from now
  /// on; pass none before the thing is created again. A tracker without support for identities uses
  /// the name only.
  ///
  /// Errors          as above.
  virtual Status identify(const Resource& resource, const std::optional<Identity>& identity) {
    static_cast<void>(resource);
    static_cast<void>(identity);
    return ok();
  }
  /// Counts +1 on a name that is held now.
  ///
  /// Errors          as above.
  virtual Status hold(const Resource& resource) = 0;
  /// Counts -1; at 0 the thing is cleaned up.
  ///
  /// Errors          as above.
  virtual Status release(const Resource& resource) = 0;
  /// Ends the name whatever its count, and does not remove the thing.
  ///
  /// Errors          as above.
  virtual Status forget(const Resource& resource) = 0;
  /// Whether a reference belongs to the process that took it and ends with that process, and a
  /// folder at 0 is kept while names in it are held. If not, any process may release a reference.
  virtual bool is_attributed() const noexcept = 0;
};

/// References counted by the tracker of this process's tree.
std::shared_ptr<References> references_of(std::shared_ptr<tracker::Client> client);

/// A reference that a process owns. It is released once, at the latest by the destructor. A copy in
/// a forked child releases nothing.
class Reference {
 public:
  Reference() noexcept = default;
  /// Owns a reference that was already taken. Once `ended` is true, the name was forgotten, and the
  /// reference is not released.
  Reference(os::Os& os,
            std::shared_ptr<References> references,
            Resource resource,
            std::shared_ptr<const std::atomic<bool>> ended = nullptr) noexcept
      : os_(&os),
        process_(os.process_token()),
        references_(std::move(references)),
        resource_(std::move(resource)),
        ended_(std::move(ended)) {}
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  Reference(Reference&& other) noexcept = default;
  Reference& operator=(Reference&& other) noexcept;
  ~Reference() { static_cast<void>(release()); }

  explicit operator bool() const noexcept { return references_ != nullptr; }
  const Resource& resource() const noexcept { return resource_; }

  /// Errors          those of the tracker's client: then it is not counted any more.
  Status release() noexcept;
  /// Gives up ownership: another owner has the reference from now on.
  void release_ownership() noexcept { references_.reset(); }

 private:
  os::Os* os_ = nullptr;
  std::uint64_t process_ = 0;  ///< The token of the process that took it.
  std::shared_ptr<References> references_;
  Resource resource_;
  std::shared_ptr<const std::atomic<bool>> ended_;
};

}  // namespace lastref
