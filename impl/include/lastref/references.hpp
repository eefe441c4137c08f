// References: the words of a tracker, whichever it is, that arrays on their way need.
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
class LokyClient;
}  // namespace tracker

/// All methods may be called from any thread.
///
/// Errors          of all words, what the tracker's client says; nothing has changed then.
class References {
 public:
  References() = default;
  References(const References&) = delete;
  References& operator=(const References&) = delete;
  virtual ~References() = default;

  /// Counts +1 on a name that may be new; when it returns, create the thing. If it is there already
  /// under another name, `identity` is which one, as `identify` would say.
  ///
  /// Errors          as above.
  virtual Status register_name(const Resource& resource,
                               const std::optional<Identity>& identity) = 0;
  /// Of a thing that is not there yet.
  ///
  /// Errors          as above.
  Status register_name(const Resource& resource) { return register_name(resource, std::nullopt); }
  /// Says which thing it is that has a name which is held here: nothing else that comes to have it
  /// is removed. Without one, it is whatever has the name from now on: to be said before the thing
  /// is made anew. A tracker that does not listen to that goes by the name.
  ///
  /// Errors          as above.
  virtual Status identify(const Resource& resource, const std::optional<Identity>& identity) {
    static_cast<void>(resource);
    static_cast<void>(identity);
    return ok();
  }
  /// Counts +1 on a name that somebody holds now.
  ///
  /// Errors          as above.
  virtual Status hold(const Resource& resource) = 0;
  /// Counts -1; at 0 the thing is cleaned up.
  ///
  /// Errors          as above.
  virtual Status release(const Resource& resource) = 0;
  /// Ends the name whatever its count, and leaves the thing alone.
  ///
  /// Errors          as above.
  virtual Status forget(const Resource& resource) = 0;
  /// Whether a reference belongs to the process that took it and goes with that, and a folder at 0
  /// waits for what others hold in it. If not, a reference is anybody's who gives it back.
  virtual bool is_attributed() const noexcept = 0;
};

/// Kept by the tracker of this process's tree.
std::shared_ptr<References> references_of(std::shared_ptr<tracker::Client> client);

/// Kept by somebody else's tracker.
std::shared_ptr<References> references_of(std::shared_ptr<tracker::LokyClient> client);

/// A reference that a process answers for: released once, at the latest when this is destroyed. A
/// copy in a forked child releases nothing.
class Reference {
 public:
  Reference() noexcept = default;
  /// One that was taken already. Once `ended` is true, the name was forgotten, and nobody lets go.
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

  /// Errors          what the tracker's client says: then it is not counted any more.
  Status release() noexcept;
  /// Somebody else answers for it from now on.
  void hand_over() noexcept { references_.reset(); }

 private:
  os::Os* os_ = nullptr;
  std::uint64_t process_ = 0;  ///< The token of the one that took it.
  std::shared_ptr<References> references_;
  Resource resource_;
  std::shared_ptr<const std::atomic<bool>> ended_;
};

}  // namespace lastref
