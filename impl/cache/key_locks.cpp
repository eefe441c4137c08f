#include "impl/cache/key_locks.hpp"

#include <algorithm>
#include <chrono>

#include <lastref/owners.hpp>
#include <lastref/probe.hpp>
#include <lastref/process_objects.hpp>

#include "impl/os/limits.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::cache {
namespace {

constexpr std::chrono::milliseconds pause_max{16};

Result<tracker::LockFile> open_or_create(os::Os& os, const std::string& path) {
  const int tries = os::limits_of(os).cache_lock_attempts;
  for (int contradictions = 1;; ++contradictions) {
    auto opened = tracker::LockFile::open(os, path);
    if (!failed_with(opened, std::errc::no_such_file_or_directory)) {
      return opened;
    }
    auto created = tracker::LockFile::create(os, path);
    if (!failed_with(created, std::errc::file_exists) || contradictions == tries) {
      return created;
    }
  }
}

bool is_held_elsewhere(const Status& locked) {
  return failed_with(locked, std::errc::permission_denied) ||
         failed_with(locked, std::errc::resource_unavailable_try_again);
}

}  // namespace

Result<std::shared_ptr<KeyLocks>> KeyLocks::open(os::Os& os, const std::string& path) {
  LASTREF_TRY(file, open_or_create(os, path));
  LASTREF_TRY(status, os.status(file.get()));
  const auto made = std::make_shared<KeyLocks>(os, path, std::move(file));
  os::ProcessObjects& objects = os.objects();
  const os::MonitorLock held(objects.monitor());
  std::erase_if(objects.shared_locks, [](const auto& each) { return each.second.expired(); });
  std::weak_ptr<void>& shared = objects.shared_locks[{&os, {status.device, status.inode}}];
  if (const auto known = std::static_pointer_cast<KeyLocks>(shared.lock())) {
    return known;
  }
  shared = made;
  return made;
}

Result<KeyLocks::Held> KeyLocks::lock(std::uint64_t number) {
  const os::Pid thread = os_.thread_id();
  {
    const os::MonitorLock guard(*monitor_);
    for (auto other = uses_.find(number); other != uses_.end(); other = uses_.find(number)) {
      if (other->second.thread == thread) {
        return failure(std::errc::resource_deadlock_would_occur,
                       "the value of a key is requested while this thread computes it");
      }
      os_.hit(Probe::key_awaited_in_process);
      monitor_->wait();
    }
    uses_.emplace(number, Use{.thread = thread});
  }
  Held held(shared_from_this(), number);
  int contradictions = 0;
  for (std::chrono::milliseconds pause{1};; pause = std::min(2 * pause, pause_max)) {
    LASTREF_TRY(locked, lock_byte(number));
    if (locked) {
      return held;
    }
    const auto holder =
        os_.find_lock(file_.get(), {.kind = os::LockKind::exclusive, .start = number, .length = 1});
    contradictions = holder && *holder ? 0 : contradictions + 1;
    if (contradictions == os::limits_of(os_).cache_lock_attempts) {
      return failure(std::errc::resource_unavailable_try_again,
                     "a lock that no process holds cannot be taken",
                     Call::lock_range);
    }
    os_.hit(Probe::key_awaited);
    static_cast<void>(os_.poll({}, pause));
  }
}

Result<std::optional<KeyLocks::Held>> KeyLocks::try_lock(std::uint64_t number) {
  const os::Pid thread = os_.thread_id();
  {
    const os::MonitorLock guard(*monitor_);
    if (!uses_.emplace(number, Use{.thread = thread}).second) {
      return std::optional<Held>();
    }
  }
  Held held(shared_from_this(), number);
  LASTREF_TRY(locked, lock_byte(number));
  return locked ? std::optional<Held>(std::move(held)) : std::nullopt;
}

Result<bool> KeyLocks::lock_byte(std::uint64_t number) {
  const os::MonitorLock guard(*monitor_);
  Status locked = file_.lock(number);
  if (is_held_elsewhere(locked)) {
    return false;
  }
  LASTREF_CHECK(std::move(locked));
  uses_.find(number)->second.is_locked = true;
  return true;
}

void KeyLocks::unlock(std::uint64_t number) noexcept {
  if (!is_here()) {
    return;  // The parent holds it. This child has a copy of the parent's monitor.
  }
  const os::MonitorLock guard(*monitor_);
  Status unlocked = file_.unlock(number);
  for (int tries = os::limits_of(os_).cache_lock_attempts; !unlocked && tries > 1; --tries) {
    unlocked = file_.unlock(number);
  }
  if (!unlocked) {
    is_stuck_ = true;
    os::report_quietly(os_, [&] {
      return "lastref cache: other processes wait for a lock until this one has none: " +
             describe(unlocked.error());
    });
  }
  uses_.erase(number);
  const bool has_none =
      std::ranges::none_of(uses_, [](const auto& each) { return each.second.is_locked; });
  if (is_stuck_ && has_none) {
    is_stuck_ = !drop_all();
  }
  monitor_->notify_all();
}

/// Closing any descriptor of a file drops all record locks that the process has in it. fcntl(2)
Status KeyLocks::drop_all() noexcept {
  return os::within_memory("a lock", [&]() -> Status {
    LASTREF_TRY(other, os::open_file(os_, path_, {}));
    return other.close();
  });
}

}  // namespace lastref::cache
