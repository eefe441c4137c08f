#include "impl/cache/owned_file.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include <lastref/probe.hpp>
#include <lastref/process_objects.hpp>
#include <lastref/temp_folder.hpp>

#include "impl/cache/sweep.hpp"
#include "impl/os/folders.hpp"
#include "impl/os/limits.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::cache {
namespace {

constexpr std::size_t name_length_max = 255;   // NAME_MAX
constexpr std::size_t path_length_max = 4095;  // PATH_MAX, without the NUL
/// Of names that are made here: "/<pid>-<32 digits>.cache".
constexpr std::size_t own_name_length_max = 52;

/// File systems with maps and record locks that do not reach other machines. Numbers of statfs(2).
constexpr std::array<std::uint64_t, 13> on_a_network = {
    0x6969,      // NFS
    0xff534d42,  // CIFS
    0xfe534d42,  // SMB 2
    0x517b,      // SMB
    0x5346414f,  // AFS of OpenAFS
    0x6b414653,  // AFS of the kernel
    0x00c36400,  // Ceph
    0x01021997,  // 9P
    0x73757245,  // Coda
    0x564c,      // NCP
    0x0bd00bd0,  // Lustre
    0x47504653,  // GPFS
    0x19830326,  // BeeGFS
};

Result<std::string> default_folder(os::Os& os) {
  // The specification requires that a relative path is ignored.
  if (const auto home = os.environment("XDG_CACHE_HOME"); home && home->starts_with('/')) {
    return *home + "/lastref";
  }
  const auto home = os.environment("HOME");
  if (!home || home->empty()) {
    return failure(std::errc::no_such_file_or_directory,
                   "a folder for caches: neither $XDG_CACHE_HOME nor $HOME is set");
  }
  return *home + "/.cache/lastref";
}

tl::unexpected<Error> too_long(const std::string& path, std::size_t most) {
  return failure(std::errc::filename_too_long,
                 std::to_string(path.size()) + " bytes, where " + std::to_string(most) +
                     " are the most: " + path);
}

/// File systems that rename without replacing; FUSE and old ones do not. Numbers of statfs(2).
constexpr std::array<std::uint64_t, 6> that_rename_new = {
    0x01021994,  // tmpfs
    0xef53,      // ext2, ext3, ext4
    0x58465342,  // XFS
    0x9123683e,  // btrfs
    0x794c7630,  // overlayfs
    0xf2f52010,  // F2FS
};

/// Whether the file system does not support the call.
bool is_unsupported(const Status& status) noexcept {
  return failed_with(status, std::errc::invalid_argument) ||
         failed_with(status, std::errc::operation_not_supported) ||
         failed_with(status, std::errc::function_not_supported);
}

/// Gives the file a name that does not exist. Returns whether it keeps the old name as well: a file
/// system that cannot rename without replacing may support hard links.
///
/// Errors          file_exists; not_supported: it can do neither; of rename_new and link.
Result<bool> give_new_name(os::Os& os, const os::PathAt& from, const os::PathAt& to) {
  const Status renamed = os.rename_new(from, to);
  if (renamed) {
    return false;
  }
  if (!is_unsupported(renamed)) {
    return failure(renamed.error());
  }
  const Status linked = os.link(from, to);
  if (linked) {
    return true;
  }
  if (is_unsupported(linked) || failed_with(linked, std::errc::operation_not_permitted)) {
    return failure(std::errc::not_supported,
                   to.path + " (its file system neither renames nor links without replacing)");
  }
  return failure(linked.error());
}

constexpr os::LockRange whole_file = {.kind = os::LockKind::exclusive, .start = 0, .length = 0};

}  // namespace

tl::unexpected<Error> failure_at(Error error, const std::string& path) {
  if (error.call != Call::none) {
    error.subject = path;
  }
  return failure(std::move(error));
}

Result<std::string> wanted_folder(os::Os& os, const std::optional<std::string>& wanted) {
  std::string named = wanted.value_or("");
  if (named.empty()) {
    LASTREF_TRY(usual, default_folder(os));
    named = std::move(usual);
  }
  LASTREF_TRY(folder, absolute_path(os, named));
  if (folder.size() > path_length_max - own_name_length_max) {
    return too_long(folder, path_length_max - own_name_length_max);
  }
  return folder;
}

Result<std::string> cache_folder(os::Os& os, const std::optional<std::string>& wanted) {
  LASTREF_TRY(folder, wanted_folder(os, wanted));
  if (Status made = os::make_with_parents(os, folder);
      !made && made.error().code != std::errc::file_exists) {
    return failure(std::move(made).error());
  }
  LASTREF_CHECK(os::check_is_safe(os, folder));
  LASTREF_TRY(kind, os.file_system(folder));
  if (std::ranges::find(on_a_network, kind) != on_a_network.end()) {
    return failure(std::errc::not_supported, folder + " (on a network)");
  }
  return folder;
}

Result<std::string> path_in(const std::string& folder, const std::string& name) {
  if (name.size() > name_length_max) {
    return failure(std::errc::invalid_argument,
                   "not a file name, which has at most " + std::to_string(name_length_max) +
                       " bytes: " + name);
  }
  if (name.empty() || name == "." || name == ".." || name.find('/') != std::string::npos ||
      name.find('\0') != std::string::npos) {
    return failure(std::errc::invalid_argument, "not a file name: " + name);
  }
  std::string path = folder + '/' + name;
  if (path.size() > path_length_max) {
    return too_long(path, path_length_max);
  }
  return path;
}

Result<OwnedFile> OwnedFile::create(os::Os& os,
                                    std::shared_ptr<References> references,
                                    std::string path,
                                    bool is_lock) {
  OwnedFile made(os, std::move(references), path);
  Resource resource = {.type = ResourceType::file, .name = std::move(path)};
  LASTREF_CHECK(made.references_->register_name(resource));
  made.reference_ = Reference(os, made.references_, std::move(resource));
  made.is_lock_ = is_lock;
  Status opened = ok();
  if (is_lock) {
    // A sweep of this process must not run in between, and close the file that will be locked.
    const os::MonitorLock held(os.objects().monitor());
    opened = made.open_new();
    if (opened) {
      os.objects().locked_files.emplace(made.status_.device, made.status_.inode);
    }
  } else {
    opened = made.open_new();
  }
  if (!opened) {
    // Not with the monitor held: these wait for a client, and its thread needs the monitor to close
    // the lock of its tree.
    if (made.open_) {
      static_cast<void>(made.reference_.release());  // What could not be removed, the tracker does.
    } else {
      made.release_ownership();  // The name belongs to no file of ours.
    }
    return failure(std::move(opened).error());
  }
  const Status identified =
      made.references_->identify(made.reference_.resource(), os::identity_of(made.status_));
  if (!identified) {  // No reason not to use it.
    os::report_quietly(os, [&] {
      return "lastref: " + made.path() +
             " is known by its name alone: " + describe(identified.error());
    });
  }
  return made;
}

/// On an error nothing is left at the name that this call could have created, which is still
/// registered.
Status OwnedFile::open_new() {
  LASTREF_TRY(open, os::open_file(*os_, where_, {.write = true, .create = true}));
  open_ = std::move(open);
  auto status = os_->status(open_.get());
  if (!status) {
    static_cast<void>(os::discard(*os_, where_));  // It is ours, but cannot be used.
    return failure(std::move(status).error());
  }
  status_ = *status;
  return ok();
}

/// A sweep may remove it before it is locked, as if its process had died just then.
Result<OwnedFile> OwnedFile::make_lock(os::Os& os,
                                       const std::shared_ptr<References>& references,
                                       const std::string& folder) {
  const int tries = os::limits_of(os).cache_lock_attempts;
  for (int n = 1;; ++n) {
    LASTREF_TRY(chance, os::random_hex(os));
    std::string base = folder;
    base.append("/").append(std::to_string(os.process_id())).append("-").append(chance);
    LASTREF_TRY(made, create(os, references, base + lock_ending, /*is_lock=*/true));
    const Status locked =
        os::retry_interrupted([&] { return os.lock_range(made.open_.get(), whole_file); });
    const bool is_swept =
        !locked && (locked.error().code == std::errc::permission_denied ||
                    locked.error().code == std::errc::resource_unavailable_try_again);
    if (!locked && (!is_swept || n == tries)) {
      return failure_at(locked.error(), made.path());
    }
    const auto there = os.status_at(made.path());
    if (locked && there && is_same(*there, made.status_)) {
      return made;
    }
    const bool is_gone = there || there.error().code == std::errc::no_such_file_or_directory;
    if (!is_gone || n == tries) {
      return is_gone ? failure(std::errc::device_or_resource_busy, made.path() + " (swept)")
                     : failure(there.error());
    }
    os.hit(Probe::new_cache_swept);
  }
}

Result<OwnedFile> OwnedFile::make(os::Os& os,
                                  std::shared_ptr<References> references,
                                  const std::string& folder,
                                  const char* ending) {
  LASTREF_TRY(lock, make_lock(os, references, folder));
  LASTREF_TRY(made, make_at(os, std::move(references), folder + '/' + lock.base() + ending));
  made.lock_ = std::make_unique<OwnedFile>(std::move(lock));
  return made;
}

std::string OwnedFile::base() const {
  const std::string& whole = path();
  const std::size_t start = whole.rfind('/') + 1;
  return whole.substr(start, whole.rfind('.') - start);
}

Status OwnedFile::remove() noexcept {
  open_.close_quietly();
  // One that was moved away has no name left.
  if (std::exchange(is_lock_, false) && reference_ && is_ours()) {
    const os::MonitorLock held(os_->objects().monitor());
    os_->objects().locked_files.erase({status_.device, status_.inode});
  }
  if (!reference_ && !lock_) {
    return ok();
  }
  const bool is_here = is_ours();
  Status removed = ok();
  if (reference_) {
    if (is_here) {
      removed = remove_name();
    } else {
      reference_.release_ownership();
    }
  }
  if (const auto lock = std::exchange(lock_, nullptr)) {
    if (!is_here) {
      lock->reference_.release_ownership();
    }
    // The name is removed before the file is closed: without the lock any sweep may remove it.
    os::UniqueFd open = lock->take_open();
    Status unlocked = lock->remove();
    if (removed) {
      removed = std::move(unlocked);
    }
  }
  return removed;
}

Status OwnedFile::remove_name() noexcept {
  auto there = os_->status_at(where_);
  if (there && !is_same(*there, status_)) {
    // Another process has put another file there, which the tracker would take for ours.
    os_->hit(Probe::anothers_cache_spared);
    release_ownership();
    return ok();
  }
  Status removed = ok();
  if (there) {
    removed = os::discard(*os_, where_);
  } else if (there.error().code != std::errc::no_such_file_or_directory) {
    removed = failure(std::move(there).error());
  }
  Status released = reference_.release();
  return removed ? std::move(released) : std::move(removed);
}

void OwnedFile::remove_quietly() noexcept {
  if (const Status removed = remove(); !removed) {
    os::report_quietly(
        *os_, [&] { return "lastref cache: left to the tracker: " + describe(removed.error()); });
  }
}

void OwnedFile::release_ownership() noexcept {
  if (reference_) {
    static_cast<void>(references_->forget(reference_.resource()));
    reference_.release_ownership();
  }
}

namespace {

/// Whether a file there can be renamed without replacing, tried with `file` and another name of the
/// same process.
///
/// Errors          as give_new_name; of file_system and register_name.
Status rehearse(os::Os& os,
                References& references,
                const OwnedFile& file,
                const std::string& folder) {
  LASTREF_TRY(kind, os.file_system(folder));
  if (std::ranges::find(that_rename_new, kind) != that_rename_new.end()) {
    return ok();
  }
  const Resource other{.type = ResourceType::file,
                       .name = folder + '/' + file.base() + live_ending};
  const os::PathAt own_path = file.path();
  const os::PathAt other_path = other.name;
  LASTREF_CHECK(references.register_name(other));
  Status named = os::within_memory(
      "a cache", [&] { return status_of(give_new_name(os, own_path, other_path)); });
  if (named) {
    named = os.rename(other_path, own_path);
  }
  Status removed = os::discard(os, other_path);  // A second name of the file.
  Status released = references.release(other);
  return !named ? std::move(named) : !removed ? std::move(removed) : std::move(released);
}

}  // namespace

Result<bool> publish(os::Os& os,
                     const std::shared_ptr<References>& references,
                     const std::string& path,
                     const PublishOptions& options,
                     const std::function<Status(os::Fd)>& write) {
  const std::string folder = path.substr(0, path.rfind('/'));
  LASTREF_TRY(file, OwnedFile::make(os, references, folder, part_ending));
  os::UniqueFd open = file.take_open();
  if (!options.overwrite) {
    LASTREF_CHECK(rehearse(os, *references, file, folder));
  }
  if (Status written = write(open.get()); !written) {
    return failure_at(std::move(written).error(), file.path());
  }
  os::UniqueFd open_folder;
  if (options.is_durable) {
    if (Status synced = os::sync_file(os, open.get()); !synced) {
      return failure_at(std::move(synced).error(), file.path());
    }
    // Opened now, when an error leaves nothing.
    LASTREF_TRY(opened, os::open_file(os, folder, {.folder = true}));
    open_folder = std::move(opened);
  }
  LASTREF_CHECK(open.close());
  const os::PathAt from = file.path();
  const os::PathAt to = path;
  bool has_old_name = false;
  Status renamed = ok();
  if (options.overwrite) {
    renamed = os.rename(from, to);
  } else if (const auto named = give_new_name(os, from, to); named) {
    has_old_name = *named;
  } else {
    renamed = failure(named.error());
  }
  if (renamed) {
    if (!has_old_name) {
      file.release_ownership();
    }
    if (Status synced = open_folder ? os::sync_file(os, open_folder.get()) : ok(); !synced) {
      return failure_at(std::move(synced).error(), folder);
    }
    return true;
  }
  if (!options.overwrite && renamed.error().code == std::errc::file_exists) {
    os.hit(Probe::preserve_lost);
    return false;
  }
  return failure(renamed.error());
}

}  // namespace lastref::cache
