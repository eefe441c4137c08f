#include "impl/tracker/lock_file.hpp"

#include <utility>

#include <lastref/probe.hpp>

#include "impl/os/within_memory.hpp"

namespace lastref::tracker {
namespace {

os::ProcessObjects::FileId id_of(const os::FileStatus& status) {
  return {status.device, status.inode};
}

}  // namespace

LockFile::LockFile(LockFile&& other) noexcept
    : os_(std::exchange(other.os_, nullptr)),
      id_(std::move(other.id_)),
      fd_(std::exchange(other.fd_, os::Fd::none)),
      bytes_(std::exchange(other.bytes_, {})) {}

LockFile& LockFile::operator=(LockFile&& other) noexcept {
  if (this != &other) {
    close_quietly();
    os_ = std::exchange(other.os_, nullptr);
    id_ = other.id_;
    fd_ = std::exchange(other.fd_, os::Fd::none);
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

Result<LockFile> LockFile::create(os::Os& os, const std::string& path) {
  const os::MonitorLock held(os.objects().monitor());
  LASTREF_TRY(file, os::open_file(os, path, {.write = true, .create = true}));
  LASTREF_TRY(made, enter(os, std::move(file), Use::membership));
  if (!made) {
    return failure(std::errc::no_such_file_or_directory, path);
  }
  return *std::move(made);
}

Result<LockFile> LockFile::open(os::Os& os, const std::string& path) {
  const os::MonitorLock held(os.objects().monitor());
  for (;;) {
    LASTREF_TRY(found, find_or_open(os, path, Use::membership));
    if (found) {
      return *std::move(found);
    }
    os.objects().monitor().wait();
  }
}

Result<std::optional<LockFile>> LockFile::open_to_sweep(os::Os& os, const std::string& path) {
  const os::MonitorLock held(os.objects().monitor());
  return find_or_open(os, path, Use::sweep);
}

/// None if another use of the open file forbids this one.
Result<std::optional<LockFile>> LockFile::find_or_open(os::Os& os,
                                                       const std::string& path,
                                                       Use use) {
  close_unused(os, os.objects());
  LASTREF_TRY(named, os.status_at(path));
  auto& files = os.objects().lock_files;
  const auto known = files.find(id_of(named));
  if (known == files.end()) {
    if (use == Use::sweep && os.objects().is_locked_by_another_copy(id_of(named), {})) {
      return std::nullopt;
    }
    LASTREF_TRY(file, os::open_file(os, path, {.write = true}));
    return enter(os, std::move(file), use);
  }
  return share(os, *known, use);
}

/// Keeps files that another copy of the library has locks on, which a close would drop.
void LockFile::close_unused(os::Os& os, os::ProcessObjects& objects) {
  std::erase_if(objects.lock_files, [&](const OpenFile& known) {
    const auto& [id, file] = known;
    if (file.users > 0 || objects.is_locked_by_another_copy(id, file.fds)) {
      return false;
    }
    for (const os::Fd fd : file.fds) {
      os::UniqueFd(os, fd).close_quietly();
    }
    return true;
  });
}

std::optional<LockFile> LockFile::share(os::Os& os, OpenFile& known, Use use) {
  auto& [id, open] = known;
  if (use == Use::sweep || open.is_swept) {
    return std::nullopt;
  }
  os.hit(Probe::lock_shared_in_process);
  ++open.users;
  return LockFile(os, id, open.fds.front());
}

/// The file may already be open here, if it was renamed into this place between a check and the
/// opening. Then the new descriptor is kept too, because a close would drop the locks.
Result<std::optional<LockFile>> LockFile::enter(os::Os& os, os::UniqueFd file, Use use) {
  LASTREF_TRY(status, os.status(file.get()));
  const auto made =
      os.objects().lock_files.try_emplace(id_of(status), os::ProcessObjects::OpenLockFile{});
  const auto entry = made.first;
  std::vector<os::Fd>& fds = entry->second.fds;
  if (!made.second) {
    // Without memory it stays open all the same.
    static_cast<void>(os::had_memory([&fds, fd = file.release()] { fds.push_back(fd); }));
    return share(os, *entry, use);
  }
  if (!os::had_memory([&fds] { fds.reserve(1); })) {
    os.objects().lock_files.erase(entry);
    return os::no_memory("a lock");
  }
  fds.push_back(file.release());
  entry->second.is_swept = use == Use::sweep;
  return LockFile(os, entry->first, fds.front());
}

Status LockFile::lock(std::uint64_t byte) {
  bytes_.reserve(bytes_.size() + 1);
  LASTREF_CHECK(os::retry_interrupted([&] {
    return os_->lock_range(fd_, {.kind = os::LockKind::exclusive, .start = byte, .length = 1});
  }));
  bytes_.push_back(byte);
  return ok();
}

Status LockFile::unlock(std::uint64_t byte) noexcept {
  LASTREF_CHECK(
      os::retry_interrupted([&] { return os_->lock_range(fd_, {.start = byte, .length = 1}); }));
  std::erase(bytes_, byte);
  return ok();
}

Result<bool> LockFile::is_at(const std::string& path) const {
  auto named = os_->status_at(path);
  if (!named && named.error().code != std::errc::no_such_file_or_directory) {
    return failure(std::move(named).error());
  }
  return named && id_of(*named) == id_;
}

void LockFile::close_quietly() noexcept {
  if (fd_ == os::Fd::none) {
    return;
  }
  fd_ = os::Fd::none;
  const std::vector<std::uint64_t> bytes = std::exchange(bytes_, {});
  os::ProcessObjects* known = nullptr;
  if (!os::had_memory([&] { known = &os_->objects(); })) {
    return;  // The process has none yet, as a forked child.
  }
  os::ProcessObjects& objects = *known;
  const os::MonitorLock held(objects.monitor());
  const auto entry = objects.lock_files.find(id_);
  if (entry == objects.lock_files.end()) {
    return;  // A forked child has only a copy of a descriptor that its parent needs.
  }
  if (--entry->second.users > 0) {
    unlock(entry->second.fds.front(), bytes);
    return;
  }
  const os::Fd fd = entry->second.fds.front();
  entry->second.is_swept = false;
  close_unused(*os_, objects);
  if (objects.lock_files.contains(id_)) {
    unlock(fd, bytes);
  }
  objects.monitor().notify_all();
}

void LockFile::unlock(os::Fd fd, const std::vector<std::uint64_t>& bytes) {
  for (const std::uint64_t byte : bytes) {
    const Status given_up =
        os::retry_interrupted([&] { return os_->lock_range(fd, {.start = byte, .length = 1}); });
    if (!given_up) {
      os::report_quietly(*os_, [&] {
        return "lastref: a lock stays until the last client of this process leaves: " +
               describe(given_up.error());
      });
    }
  }
}

}  // namespace lastref::tracker
