#include "property_tests/impl/tracker/pretend_process.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace lastref::pretend {

using os::Fd;

const RecordLocks::Lock* RecordLocks::in_the_way_of(const Lock& wanted) {
  std::vector<const Lock*> found;
  for (const Lock& lock : locks_) {
    const bool same_file = lock.device == wanted.device && lock.inode == wanted.inode;
    const bool overlaps = lock.start < wanted.end && wanted.start < lock.end;
    const bool collides =
        lock.kind == os::LockKind::exclusive || wanted.kind == os::LockKind::exclusive;
    if (lock.pid != wanted.pid && same_file && overlaps && collides) {
      found.push_back(&lock);
    }
  }
  return found.empty() ? nullptr : found[turn_++ % found.size()];
}

void RecordLocks::set(const Lock& wanted) {
  std::vector<Lock> kept;
  for (const Lock& lock : locks_) {
    if (lock.pid != wanted.pid || lock.device != wanted.device || lock.inode != wanted.inode) {
      kept.push_back(lock);
      continue;
    }
    Lock left = lock;
    left.end = std::min(lock.end, wanted.start);
    Lock right = lock;
    right.start = std::max(lock.start, wanted.end);
    for (const Lock& part : {left, right}) {
      if (part.start < part.end) {
        kept.push_back(part);
      }
    }
  }
  if (wanted.kind != os::LockKind::none) {
    kept.push_back(wanted);
  }
  locks_ = std::move(kept);
}

void RecordLocks::drop(os::Pid pid, const os::FileStatus& file) {
  std::erase_if(locks_, [&](const Lock& lock) {
    return lock.pid == pid && lock.device == file.device && lock.inode == file.inode;
  });
}

void RecordLocks::drop(os::Pid pid) {
  std::erase_if(locks_, [&](const Lock& lock) { return lock.pid == pid; });
}

void PretendProcess::die() {
  dead_ = true;
  for (const Fd fd : std::exchange(fds_, {})) {
    static_cast<void>(kernel_.close(fd));
  }
  locks_.drop(pid_);
}

Decision PretendProcess::decide(const Crossing& crossing) {
  if (dead_) {
    return {.fate = Fate::fail};
  }
  crossings.push_back(crossing);
  const Decision decision = director ? director(crossing) : Decision{};
  if (decision.fate == Fate::die_before) {
    die();
  }
  return dead_ ? Decision{.fate = Fate::fail} : decision;
}

bool PretendProcess::arrives(const Crossing&, const Decision& decision) {
  if (decision.fate == Fate::die_midway || decision.fate == Fate::die_after) {
    die();
  }
  return !dead_;
}

Status PretendProcess::close(Fd fd) noexcept {
  const Crossing crossing{.call = Call::close, .subject = {}};
  const Decision decision = decide(crossing);
  if (dead_) {
    return failure(decision.code, {}, Call::close);
  }
  // The descriptor is closed, whatever close returns.
  if (const auto file = kernel_.status(fd)) {
    locks_.drop(pid_, *file);
  }
  std::erase(fds_, fd);
  Status closed = kernel_.close(fd);
  const bool told = arrives(crossing, decision) && decision.fate != Fate::fail;
  return told ? closed : failure(decision.code, {}, Call::close);
}

Result<RecordLocks::Lock> PretendProcess::lock_of(Fd fd, const os::LockRange& range) {
  LASTREF_TRY(file, kernel_.status(fd));
  return RecordLocks::Lock{
      .device = file.device,
      .inode = file.inode,
      .pid = pid_,
      .kind = range.kind,
      .start = range.start,
      .end = range.length == 0 ? std::numeric_limits<std::uint64_t>::max()
                               : range.start + range.length,
  };
}

Status PretendProcess::lock_range(Fd fd, const os::LockRange& range) noexcept {
  return cross(Call::lock_range, {}, [&](auto&) -> Status {
    LASTREF_TRY(wanted, lock_of(fd, range));
    if (locks_.in_the_way_of(wanted) != nullptr) {
      return failure(std::errc::resource_unavailable_try_again, {}, Call::lock_range);
    }
    locks_.set(wanted);
    return ok();
  });
}

Result<std::optional<os::LockHolder>> PretendProcess::find_lock(
    Fd fd, const os::LockRange& range) noexcept {
  return cross(Call::find_lock, {}, [&](auto&) -> Result<std::optional<os::LockHolder>> {
    LASTREF_TRY(wanted, lock_of(fd, range));
    const RecordLocks::Lock* const found = locks_.in_the_way_of(wanted);
    if (found == nullptr) {
      return std::nullopt;
    }
    const bool to_the_end = found->end == std::numeric_limits<std::uint64_t>::max();
    return os::LockHolder{.pid = found->pid,
                          .range = {.kind = found->kind,
                                    .start = found->start,
                                    .length = to_the_end ? 0 : found->end - found->start}};
  });
}

Result<std::size_t> PretendProcess::poll(std::span<os::PollItem> items,
                                         std::optional<std::chrono::nanoseconds> timeout) noexcept {
  return cross(Call::poll, {}, [&](auto&) -> Result<std::size_t> {
    LASTREF_TRY(ready, kernel_.poll(items, std::chrono::nanoseconds(0)));
    if (ready == 0) {
      // Nothing else runs meanwhile, so a wait without a timeout would never end.
      LASTREF_ASSERT(timeout.has_value());
      clock += *timeout;
    }
    return ready;
  });
}

}  // namespace lastref::pretend
