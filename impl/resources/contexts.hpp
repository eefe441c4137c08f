// contexts: the state that a manager keeps for a context and its folder.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include <lastref/temporary_resources.hpp>

namespace lastref {

/// Guarded by the manager's monitor, except for `resource`, which never changes.
struct TemporaryResources::Folder {
  Resource resource;
  std::shared_ptr<os::UniqueFd> open;  ///< None when it was removed and has to be made again.
  /// The files that the manager owns, in the order in which they were made.
  std::map<std::uint64_t, std::shared_ptr<const TemporaryFile>> files = {};
  std::uint64_t files_made = 0;
  std::unique_ptr<os::ExitHook> finaliser = {};
  bool is_identified = false;  ///< The tracker knows its identity.
  bool is_finalised = false;   ///< Nothing is made in it any more.
};

/// A hook of the process's exit may run in another thread while the manager is destroyed, and calls
/// of other threads may not be over.
struct TemporaryResources::Life {
  explicit Life(os::Os& os, TemporaryResources* lives)
      : monitor(os.make_monitor()), manager(lives) {}

  std::unique_ptr<os::Monitor> monitor;
  std::atomic<std::size_t> visitors = 0;
  std::atomic<bool> is_closing = false;
  // Guarded by the monitor.
  TemporaryResources* manager;  ///< None after its destruction.
  bool is_at_exit = false;
};

/// A call that the destruction of the manager waits for.
class TemporaryResources::Visit {
 public:
  explicit Visit(std::shared_ptr<Life> life) : life_(std::move(life)) { ++life_->visitors; }
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  Visit(Visit&& other) noexcept = default;
  Visit& operator=(Visit&& other) = delete;
  ~Visit() {
    if (life_ && --life_->visitors == 0 && life_->is_closing) {
      const os::Held held(*life_->monitor);
      life_->monitor->notify_all();
    }
  }

 private:
  std::shared_ptr<Life> life_;
};

struct TemporaryResources::Context {
  std::string id;
  bool is_open = true;
  bool has_file = false;  ///< Has had a file: its location works.
  bool shared_memory_failed = false;
  std::optional<TempFolder> location = {};
  std::shared_ptr<Folder> folder = {};
};

}  // namespace lastref
