#include "impl/tracker/tree.hpp"

#include <algorithm>
#include <array>
#include <optional>

#include <lastref/probe.hpp>

#include "impl/os/folders.hpp"
#include "impl/os/limits.hpp"
#include "impl/os/within_memory.hpp"
#include "impl/tracker/ledger.hpp"

namespace lastref::tracker {
namespace {

/// Marks a runtime folder that we made: only a folder with this mark is removed.
constexpr std::uint32_t made_here = 01000;
constexpr std::uint64_t tracker_byte = 0;
constexpr std::uint64_t root_byte = 1ULL << 32U;
constexpr std::uint64_t first_member_byte = 1ULL << 33U;
constexpr std::uint64_t member_bytes = 1ULL << 31U;
/// Bytes of members are drawn at random: a longer run of them belongs to no member.
/// bytes; so that a tree is made where there is space for its first names.

/// Makes or finds a folder of ours that no other user can enter.
Status usable_folder(os::Os& os, const os::PathAt& where) {
  for (int tries = 1;; ++tries) {
    Status made = os.make_folder(where, os::private_folder | made_here);
    if (!made && made.error().code != std::errc::file_exists) {
      return made;
    }
    Status usable = os::within_memory("a tree", [&] { return check_private(os, where.path); });
    if (usable) {
      return usable;
    }
    if (made) {
      static_cast<void>(os.remove_folder(where));
    }
    // Another process has removed it with its last tree, between our two checks.
    if (tries == os::limits_of(os).tree_attempts ||
        usable.error().code != std::errc::no_such_file_or_directory) {
      return usable;
    }
  }
}

/// Whether `path` still names the file that `fd` has open: a sweep may have removed it between our
/// opening and our locking.
Result<bool> still_there(os::Os& os, os::Fd fd, const std::string& path) {
  LASTREF_TRY(open, os.status(fd));
  auto named = os.status_at(path);
  if (!named) {
    if (named.error().code == std::errc::no_such_file_or_directory) {
      return false;
    }
    return failure(named.error());
  }
  return named->device == open.device && named->inode == open.inode;
}

constexpr std::uint64_t byte_of(std::uint32_t nonce) {
  return first_member_byte + (nonce & ~nonce_bit);
}

constexpr std::uint32_t nonce_of(std::uint64_t byte) {
  return static_cast<std::uint32_t>(byte - first_member_byte) | nonce_bit;
}

/// A nonce that no other membership has, of this process or of another.
Result<std::uint32_t> new_nonce(os::Os& os) {
  std::array<std::byte, sizeof(std::uint32_t)> chance{};
  LASTREF_CHECK(os::retry_interrupted([&] { return os.entropy(chance); }));
  std::uint32_t nonce = 0;
  for (const std::byte byte : chance) {
    nonce = nonce << 8U | std::to_integer<std::uint32_t>(byte);
  }
  return nonce | nonce_bit;
}

Result<bool> is_locked(os::Os& os, os::Fd lock, std::uint64_t byte) {
  LASTREF_TRY(holder,
              os.find_lock(lock, {.kind = os::LockKind::exclusive, .start = byte, .length = 1}));
  return holder.has_value();
}

Result<LostParts> look_for_lost(os::Os& os,
                                const TreePaths& paths,
                                const LockFile& lock,
                                const TreeParts& parts) {
  LASTREF_TRY(has_lock, lock.is_at(paths.lock()));
  LASTREF_TRY(has_ledger,
              parts.ledger ? still_there(os, parts.ledger.get(), paths.ledger()) : false);
  const auto socket = os.status_at(paths.socket());
  if (!socket && socket.error().code != std::errc::no_such_file_or_directory) {
    return failure(socket.error());
  }
  return LostParts{.lock = !has_lock,
                   .ledger = !has_ledger,
                   .socket = !socket || socket->kind != os::FileKind::socket};
}

/// Locks the root's byte and, unless the nonce is 0, the one of its membership.
Result<LockFile> make_lock(os::Os& os, const TreePaths& paths, std::uint32_t nonce) {
  LASTREF_TRY(lock, LockFile::create(os, paths.lock()));
  if (nonce != 0) {
    LASTREF_CHECK(lock.lock(byte_of(nonce)));
  }
  LASTREF_CHECK(lock.lock(root_byte));
  LASTREF_TRY(ours, still_there(os, lock.get(), paths.lock()));
  if (!ours) {
    return failure(std::errc::no_such_file_or_directory, paths.lock());
  }
  return lock;
}

/// The parts of a tree, in the order in which they are made.
Result<OwnTree> fill_tree(os::Os& os, const TreePaths& paths, const TreeRemoval& removal) {
  LASTREF_TRY(nonce, new_nonce(os));
  LASTREF_TRY(lock, make_lock(os, paths, nonce));
  LASTREF_TRY(ledger, make_ledger(os, paths));
  LASTREF_TRY(listener, make_listener(os, paths));
  LASTREF_TRY(folder, open_tree_folder(os, paths));
  return OwnTree{.paths = paths,
                 .membership = {.lock = std::move(lock), .nonce = nonce},
                 .parts = {.folder = std::move(folder),
                           .ledger = std::move(ledger),
                           .listener = std::move(listener)},
                 .removal = removal};
}

/// On an error nothing of the tree is left, and the runtime folder is removed if it is empty.
Result<OwnTree> make_tree_in(os::Os& os, const std::string& runtime) {
  const os::PathAt runtime_folder(runtime);
  for (int tries = 1;; ++tries) {
    LASTREF_TRY(name, os::random_hex(os));
    const TreePaths paths{.folder = std::string(runtime).append("/").append(name)};
    const TreeRemoval removal(paths);
    LASTREF_CHECK(usable_folder(os, runtime_folder));
    Status made = os.make_folder(removal.folder(), os::private_folder);
    if (made) {
      Result<OwnTree> tree =
          os::within_memory("a tree", [&] { return fill_tree(os, paths, removal); });
      if (tree) {
        return tree;
      }
      made = failure(std::move(tree.error()));
      // What cannot be removed now belongs to no live process, so the next start removes it.
      static_cast<void>(removal.remove(os));
    }
    if (tries == os::limits_of(os).tree_attempts || !is_worth_another_try(made.error())) {
      remove_runtime(os, runtime_folder);
      return failure(std::move(made.error()));
    }
    os.hit(Probe::tree_made_again);
  }
}

Status collect_members(os::Os& os,
                       os::Fd lock,
                       std::uint64_t first,
                       std::uint64_t last,
                       std::vector<KnownMember>& members) {
  if (first > last) {
    return ok();
  }
  LASTREF_TRY(
      holder,
      os.find_lock(lock,
                   {.kind = os::LockKind::exclusive, .start = first, .length = last - first + 1}));
  if (!holder) {
    return ok();
  }
  // The kernel returns any lock in the range, not the lowest: search on both sides of it. It merges
  // adjacent locks of one process. A lock on all bytes is that of a sweep, which is no member.
  const auto [kind, start, length] = holder->range;
  if (length == 0 || length > os::limits_of(os).adjacent_locks || start < first ||
      start + length - 1 > last) {
    return ok();
  }
  for (std::uint64_t byte = start; byte < start + length; ++byte) {
    members.push_back({.pid = holder->pid, .nonce = nonce_of(byte)});
  }
  LASTREF_CHECK(collect_members(os, lock, first, start - 1, members));
  return collect_members(os, lock, start + length, last, members);
}

}  // namespace

Result<std::vector<std::string>> runtime_locations(os::Os& os, const std::string& wanted) {
  std::string only = wanted;
  if (only.empty()) {
    only = os.environment("LASTREF_RUNTIME_FOLDER").value_or("");
  }
  // With a trailing slash, a symlink would be followed.
  while (only.size() > 1 && only.ends_with('/')) {
    only.pop_back();
  }
  if (only.empty()) {
    const std::string name = "/lastref-" + std::to_string(os.user_id());
    return std::vector{"/dev/shm" + name, "/tmp" + name};
  }
  if (!only.starts_with('/')) {
    LASTREF_TRY(working, os.working_folder());
    only = working + (working.ends_with('/') ? "" : "/") + only;
  }
  if (only.size() > runtime_size_max) {
    return failure(std::errc::filename_too_long,
                   only + " (the path of a runtime folder has at most " +
                       std::to_string(runtime_size_max) + " bytes)");
  }
  return std::vector{only};
}

Status check_private(os::Os& os, const std::string& path) {
  LASTREF_TRY(status, os.status_at(path));
  if (status.kind != os::FileKind::folder) {
    return failure(std::errc::not_a_directory, path);
  }
  if (status.owner != os.user_id()) {
    return failure(std::errc::permission_denied, path + " (another user's)");
  }
  if ((status.mode & 077U) != 0) {
    return failure(std::errc::permission_denied, path + " (open to others)");
  }
  return os::check_parent(os, path);
}

Result<OwnTree> make_tree(os::Os& os, const std::string& wanted_runtime_folder) {
  LASTREF_TRY(locations, runtime_locations(os, wanted_runtime_folder));
  // A later sweep does what this one could not: a failure is no reason not to start. It is not
  // reported either if another user has taken the name of a default location first.
  const auto swept = os::within_memory("a sweep", [&] {
    return sweep_locations(os, locations, /*minds_others=*/locations.size() == 1);
  });
  if (!swept || swept->kept > 0) {
    os::report_quietly(os, [&] {
      return "lastref: a dead tree is left to the next start: " +
             (swept ? std::to_string(swept->kept) + " things could not be removed"
                    : describe(swept.error()));
    });
  }
  std::optional<Error> why;
  for (const std::string& location : locations) {
    Result<OwnTree> tree = make_tree_in(os, location);
    if (tree) {
      return tree;
    }
    if (!why || why->code != std::errc::no_space_on_device) {
      why = std::move(tree.error());
    }
  }
  return failure(*std::move(why));
}

bool is_worth_another_try(const Error& error) noexcept {
  return error.code == std::errc::no_such_file_or_directory ||
         error.code == std::errc::resource_unavailable_try_again ||
         error.code == std::errc::file_exists;
}

Result<LostParts> find_lost(os::Os& os,
                            const TreePaths& paths,
                            const LockFile& lock,
                            const TreeParts& parts) {
  LASTREF_TRY(lost, look_for_lost(os, paths, lock, parts));
  // A part that seems to be lost will be removed: check twice.
  return lost.any() ? look_for_lost(os, paths, lock, parts) : lost;
}

Result<LockFile> make_lock_again(os::Os& os, const TreePaths& paths, std::uint32_t nonce) {
  LASTREF_CHECK(usable_folder(os, paths.folder.substr(0, paths.folder.rfind('/'))));
  if (Status made = os.make_folder(paths.folder, os::private_folder);
      !made && made.error().code != std::errc::file_exists) {
    return failure(made.error());
  }
  LASTREF_CHECK(check_private(os, paths.folder));
  LASTREF_CHECK(os::discard(os, paths.ledger()));
  LASTREF_CHECK(os::discard(os, paths.lock()));
  return make_lock(os, paths, nonce);
}

Result<os::UniqueFd> open_tree_folder(os::Os& os, const TreePaths& paths) {
  LASTREF_TRY(folder, os::open_file(os, paths.folder, {.folder = true}));
  // Without the lock the tree may lose files, which it survives.
  static_cast<void>(os.lock_folder(folder.get()));
  return folder;
}

Result<os::UniqueFd> make_ledger(os::Os& os, const TreePaths& paths) {
  LASTREF_TRY(ledger, os::open_file(os, paths.ledger(), {.write = true, .create = true}));
  constexpr std::array<std::byte, os::usual_limits.ledger_reserve> space{};
  const os::Bytes reserved = os::Bytes(space).first(os::limits_of(os).ledger_reserve);
  if (Status written = os::write_all(os, ledger.get(), reserved); !written) {
    return failure(written.error().code, paths.ledger(), written.error().call);
  }
  return ledger;
}

Result<os::UniqueFd> make_listener(os::Os& os, const TreePaths& paths) {
  LASTREF_TRY(socket, os.make_socket());
  os::UniqueFd listener(os, socket);
  LASTREF_CHECK(os.bind(socket, paths.socket()));
  LASTREF_CHECK(os.listen(socket));
  return listener;
}

Status follow_lock(os::Os& os, const TreePaths& paths, LockFile& lock, std::uint32_t nonce) {
  LASTREF_TRY(is_there, lock.is_at(paths.lock()));
  if (is_there) {
    return ok();
  }
  LASTREF_TRY(made, LockFile::open(os, paths.lock()));
  if (made.get() == lock.get()) {
    return ok();
  }
  // Not before its maker has locked it: a lock without a root or tracker belongs to a tree that
  // ends.
  LASTREF_TRY(future, can_be_served(os, made.get()));
  if (!future) {
    return failure(std::errc::no_such_file_or_directory, paths.lock());
  }
  LASTREF_CHECK(made.lock(byte_of(nonce)));
  LASTREF_TRY(stays, made.is_at(paths.lock()));
  if (!stays) {
    return failure(std::errc::no_such_file_or_directory, paths.lock());
  }
  os.hit(Probe::lock_followed);
  lock = std::move(made);
  return ok();
}

Status leave_lock(LockFile& lock, std::uint32_t nonce) {
  return !lock ? ok() : lock.unlock(byte_of(nonce));
}

Result<Membership> join_lock(os::Os& os, const TreePaths& paths) {
  LASTREF_TRY(nonce, new_nonce(os));
  LASTREF_TRY(lock, LockFile::open(os, paths.lock()));
  LASTREF_TRY(status, os.status(lock.get()));
  if (status.owner != os.user_id()) {
    return failure(std::errc::permission_denied, paths.folder + " (another user's)");
  }
  if (Status locked = lock.lock(byte_of(nonce)); !locked) {
    if (locked.error().code == std::errc::resource_unavailable_try_again) {
      // Only a sweep of an orphaned tree ever holds a byte that is not its own.
      os.hit(Probe::joined_too_late);
      return failure(std::errc::no_such_file_or_directory, paths.folder, Call::lock_range);
    }
    return failure(locked.error());
  }
  LASTREF_TRY(there, still_there(os, lock.get(), paths.lock()));
  if (!there) {
    return failure(std::errc::no_such_file_or_directory, paths.folder);
  }
  return Membership{.lock = std::move(lock), .nonce = nonce};
}

Status lock_as_tracker(os::Os& os, os::Fd lock) {
  Status locked = os::retry_interrupted([&] {
    return os.lock_range(lock,
                         {.kind = os::LockKind::exclusive, .start = tracker_byte, .length = 1});
  });
  if (failed_with(locked, std::errc::resource_unavailable_try_again)) {
    return failure(std::errc::device_or_resource_busy, "the tracker's lock", Call::lock_range);
  }
  return locked;
}

Result<bool> can_be_served(os::Os& os, os::Fd lock) {
  // In this order: a live root may start a tracker, and leave, before our next check.
  LASTREF_TRY(root_lives, is_locked(os, lock, root_byte));
  LASTREF_TRY(tracker_lives, is_locked(os, lock, tracker_byte));
  return root_lives || tracker_lives;
}

bool is_member(os::Os& os, os::Fd lock, std::uint32_t nonce) noexcept {
  return is_locked(os, lock, byte_of(nonce)).value_or(true);
}

Result<std::vector<KnownMember>> members_of(os::Os& os, os::Fd lock) {
  std::vector<KnownMember> members;
  LASTREF_CHECK(
      collect_members(os, lock, first_member_byte, first_member_byte + member_bytes - 1, members));
  return members;
}

void remove_runtime(os::Os& os, const os::PathAt& where) noexcept {
  const auto status = os.status_at(where);
  if (status && (status->mode & made_here) != 0) {
    static_cast<void>(os.remove_folder(where));  // Refused while any tree is left in it.
  } else if (!status && status.error().code != std::errc::no_such_file_or_directory) {
    os::report_quietly(os, [&] {
      return "lastref: an empty runtime folder may stay: " + describe(status.error());
    });
  }
}

TreeRemoval::TreeRemoval(const TreePaths& paths)
    : socket_(paths.socket()),
      ledger_(paths.ledger()),
      lock_(paths.lock()),
      folder_(paths.folder),
      runtime_(paths.folder.substr(0, paths.folder.rfind('/'))) {}

Status TreeRemoval::remove(os::Os& os) const noexcept {
  // The lock is the last file to be removed: while it exists, a sweep can distinguish live trees
  // from dead ones.
  LASTREF_CHECK(os::discard(os, socket_));
  LASTREF_CHECK(os::discard(os, ledger_));
  LASTREF_CHECK(os::discard(os, lock_));
  if (Status removed = os.remove_folder(folder_);
      !removed && removed.error().code != std::errc::no_such_file_or_directory) {
    return removed;
  }
  remove_runtime(os, runtime_);
  return ok();
}

Status remove_tree(os::Os& os, const TreePaths& paths) {
  return TreeRemoval(paths).remove(os);
}

}  // namespace lastref::tracker
