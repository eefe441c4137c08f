#include "impl/cache/sweep.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <lastref/owners.hpp>
#include <lastref/probe.hpp>
#include <lastref/process_objects.hpp>

#include "impl/cache/layout.hpp"
#include "impl/cache/slot_file.hpp"
#include "impl/os/folders.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::cache {
namespace {

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// "<pid>-<hexadecimal digits>.lock"
bool is_name_of_lock(std::string_view name) {
  const std::string_view ending = lock_ending;
  const std::size_t dash = name.find('-');
  if (!name.ends_with(ending) || dash == std::string_view::npos) {
    return false;
  }
  const std::string_view digits = name.substr(dash + 1, name.size() - dash - 1 - ending.size());
  return digits.size() == id_size &&
         digits.find_first_not_of("0123456789abcdef") == std::string_view::npos &&
         is_number(name.substr(0, dash));
}

/// Whether this process holds the lock, perhaps through another copy of the library: opening and
/// closing the file would drop it.
bool is_locked_here(os::Os& os, const os::FileStatus& file) {
  os::ProcessObjects& objects = os.objects();
  const os::MonitorLock held(objects.monitor());
  return objects.locked_files.contains({file.device, file.inode}) ||
         objects.is_locked_by_another_copy({file.device, file.inode}, {});
}

/// Whether there is a regular file of this user.
bool is_own(os::Os& os, const os::FileStatus& file) {
  return file.kind == os::FileKind::regular && file.owner == os.user_id();
}

/// Errors          of status_at and unlink; none if there is no such file.
Status remove_own(os::Os& os, const std::string& path) {
  const auto there = os.status_at(path);
  if (!there) {
    const bool is_gone = there.error().code == std::errc::no_such_file_or_directory;
    return is_gone ? ok() : status_of(there);
  }
  return is_own(os, *there) ? os::discard(os, path) : ok();
}

/// As above, for the file of a live cache: it starts with the magic, or with the part of it that
/// was written.
Status remove_live(os::Os& os, const std::string& path) {
  auto file = os::open_file(os, path, {});
  if (!file) {
    const bool is_gone = file.error().code == std::errc::no_such_file_or_directory;
    return is_gone ? ok() : status_of(file);
  }
  std::array<std::byte, live_magic.size()> start{};
  LASTREF_TRY(count, os::read_until_full_at(os, file->get(), start, 0));
  const bool is_live =
      std::ranges::equal(os::Bytes(start).first(count), os::bytes_of(live_magic.substr(0, count)));
  return is_live ? remove_own(os, path) : ok();
}

/// Removes the files with the lock's name, if no process holds the lock.
///
/// Errors          of the failed call: some files remain, and so does the lock.
Status sweep_one(os::Os& os, const std::string& folder, const std::string& name) {
  const std::string path = folder + '/' + name;
  LASTREF_TRY(before, os.status_at(path));
  if (!is_own(os, before) || is_locked_here(os, before)) {
    return ok();
  }
  LASTREF_TRY(lock, os::open_file(os, path, {.write = true}));
  LASTREF_CHECK(os::retry_interrupted([&] {
    return os.lock_range(lock.get(), {.kind = os::LockKind::exclusive, .start = 0, .length = 0});
  }));
  // If another sweep was faster, another file may have the name, which must not be swept yet.
  LASTREF_TRY(locked, os.status(lock.get()));
  const auto there = os.status_at(path);
  if (!there || !is_same(locked, *there)) {
    os.hit(Probe::cache_sweep_raced);
    return status_of(there);
  }
  os.hit(Probe::dead_cache_swept);
  const std::string base = name.substr(0, name.size() - std::string_view(lock_ending).size());
  LASTREF_CHECK(remove_live(os, folder + '/' + base + live_ending));
  LASTREF_CHECK(remove_own(os, folder + '/' + base + part_ending));
  for (std::uint64_t folder_number = 1; folder_number <= slot_file_folders.size();
       ++folder_number) {
    LASTREF_CHECK(remove_own(os, slot_file_path(folder_number, base)));
  }
  return os::discard(os, path);
}

/// Whether the error only means that a process is alive, or that another sweep was faster.
bool is_no_news(const Error& error) {
  switch (error.code) {
    case std::errc::permission_denied:
    case std::errc::resource_unavailable_try_again:
    case std::errc::no_such_file_or_directory:
      return true;
    default:
      return false;
  }
}

void sweep_all(os::Os& os, const std::string& folder) {
  const auto names = os::names_in(os, folder);
  if (!names) {
    return;
  }
  for (const std::string& name : *names) {
    if (is_name_of_lock(name)) {
      const Status swept = sweep_one(os, folder, name);
      if (!swept && !is_no_news(swept.error())) {
        os::report_quietly(
            os,
            "lastref cache: leftovers of a dead process are left to the next start: " +
                describe(swept.error()));
      }
    }
  }
}

}  // namespace

/// Without memory, leftovers stay until the next start.
void sweep_dead(os::Os& os, const std::string& folder) {
  static_cast<void>(os::had_memory([&] { sweep_all(os, folder); }));
}

}  // namespace lastref::cache
