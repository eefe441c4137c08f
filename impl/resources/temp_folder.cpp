#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

#include <lastref/owners.hpp>
#include <lastref/probe.hpp>
#include <lastref/references.hpp>
#include <lastref/temp_folder.hpp>

#include "impl/os/folders.hpp"
#include "impl/os/limits.hpp"
#include "impl/os/within_memory.hpp"
#include "impl/tracker/cleaner.hpp"

namespace lastref {
namespace {

constexpr std::string_view probe_start = "lastref_probe_";

bool is_gone(const Status& status) {
  return failed_with(status, std::errc::no_such_file_or_directory);
}

std::string join(const std::string& folder, const std::string& name) {
  return folder.ends_with('/') ? folder + name : folder + '/' + name;
}

/// Expands "~" and "~/...", as a shell does. Another user's home stays as it is written.
std::string without_tilde(os::Os& os, const std::string& path) {
  if (path != "~" && !path.starts_with("~/")) {
    return path;
  }
  const auto home = os.environment("HOME");
  return home && !home->empty() ? *home + path.substr(1) : path;
}

/// Makes a folder and removes it. If it is missing then, a sweep has removed it as a dead
/// process's.
Status make_and_remove(os::Os& os, const os::PathAt& path) {
  LASTREF_CHECK(os.make_folder(path, os::private_folder));
  Status removed = os.remove_folder(path);
  return is_gone(removed) ? ok() : std::move(removed);
}

/// Whether a folder can be made and removed there, and only by us.
///
/// Errors          of the tracker; an unusable location is no error.
Result<bool> probe(os::Os& os, const std::string& location, References* references) {
  if (!os::check_is_safe(os, location)) {
    return false;
  }
  const auto chance = os::random_hex(os);
  if (!chance) {
    return false;
  }
  const Resource folder{.type = ResourceType::folder,
                        .name = join(location, std::string(probe_start) + *chance)};
  const os::PathAt path = folder.name;
  if (references != nullptr) {
    LASTREF_CHECK(references->register_name(folder));
  }
  const Status done = make_and_remove(os, path);
  if (references != nullptr) {
    // A folder that could not be removed is left to the tracker.
    LASTREF_CHECK(done ? references->forget(folder) : references->release(folder));
  }
  return done.has_value();
}

/// Whether more than `least` bytes of shared memory are free, and a folder can be created there.
Result<bool> has_shared_memory(os::Os& os, const TempFolderOptions& options, std::uint64_t least) {
  const auto free = os.free_space(shared_memory_folder);
  if (!free || *free <= least) {
    return false;
  }
  return probe(os, shared_memory_folder, options.references);
}

TempFolder on_shared_memory(const std::string& name) {
  return {.path = join(shared_memory_folder, name), .use_shared_mem = true};
}

std::optional<std::string> named_by_a_variable(os::Os& os) {
  for (const char* variable : temp_folder_variables) {
    if (auto named = os.environment(variable); named && !named->empty()) {
      return named;
    }
  }
  return std::nullopt;
}

/// The locations of Python's tempfile, in its order; the working folder is the last.
std::vector<std::string> usual_locations(os::Os& os) {
  std::vector<std::string> locations;
  for (const char* variable : {"TMPDIR", "TEMP", "TMP"}) {
    if (auto named = os.environment(variable); named && !named->empty()) {
      locations.push_back(*std::move(named));
    }
  }
  for (const char* location : {"/tmp", "/var/tmp", "/usr/tmp"}) {
    locations.emplace_back(location);
  }
  locations.emplace_back(".");
  return locations;
}

constexpr std::chrono::milliseconds pause{100};

/// Waits on the clock of the Os. A wait that fails is over.
void wait(os::Os& os, os::Instant until) {
  for (os::Instant now = os.now(); now < until; now = os.now()) {
    const auto waited = os.poll({}, until - now);
    if (!waited && waited.error().code != std::errc::interrupted) {
      return;
    }
  }
}

/// What there is no folder to delete for.
bool is_absent(const Error& error) {
  return error.code == std::errc::no_such_file_or_directory ||
         error.code == std::errc::not_a_directory ||
         error.code == std::errc::too_many_symbolic_link_levels;
}

Status delete_empty(os::Os& os, const std::string& path) {
  for (int attempts = 1;; ++attempts) {
    Status removed = os.remove_folder(path);
    if (removed || is_absent(removed.error())) {
      return ok();
    }
    if (attempts == os::limits_of(os).deletion_attempts) {
      return removed;
    }
    os.hit(Probe::deletion_tried_again);
    wait(os, os.now() + pause);
  }
}

Status delete_with_contents(os::Os& os, const std::string& path) {
  tracker::Cleaner cleaner(os, {.attempts = os::limits_of(os).deletion_attempts, .pause = pause});
  cleaner.add({.type = ResourceType::folder, .name = path});
  Status done = ok();
  while (const auto due = cleaner.due()) {
    wait(os, *due);
    for (tracker::Cleaned& cleaned : cleaner.step(std::max(*due, os.now()))) {
      done = std::move(cleaned.status);
    }
  }
  return done || !is_absent(done.error()) ? done : ok();
}

}  // namespace

Result<std::string> absolute_path(os::Os& os, const std::string& path) {
  return os::within_memory("a path", [&]() -> Result<std::string> {
    std::string whole = without_tilde(os, path);
    if (!whole.starts_with('/')) {
      LASTREF_TRY(working, os.working_folder());
      whole = join(working, whole);
    }
    std::string normal;
    for (std::size_t at = 0; at < whole.size();) {
      const std::size_t end = std::min(whole.find('/', at), whole.size());
      const std::string_view part = std::string_view(whole).substr(at, end - at);
      if (part == "..") {
        normal.erase(std::min(normal.rfind('/'), normal.size()));
      } else if (!part.empty() && part != ".") {
        normal.append("/").append(part);
      }
      at = end + 1;
    }
    return os::not_too_long(normal.empty() ? "/" : std::move(normal));
  });
}

bool is_on_shared_memory(const std::string& path) noexcept {
  const std::string_view start = shared_memory_folder;
  return path.starts_with(start) && (path.size() == start.size() || path[start.size()] == '/');
}

Result<TempFolder> temp_dir(os::Os& os,
                            const std::string& name,
                            const std::optional<std::string>& root,
                            const TempFolderOptions& options) {
  return os::within_memory("a folder", [&]() -> Result<TempFolder> {
    if (const auto chosen = root ? root : named_by_a_variable(os)) {
      LASTREF_TRY(path, absolute_path(os, *chosen));
      return TempFolder{.path = join(path, name)};
    }
    if (options.try_shared_memory) {
      LASTREF_TRY(usable, has_shared_memory(os, options, options.shared_memory_min));
      if (usable) {
        return on_shared_memory(name);
      }
      os.hit(Probe::shared_memory_passed_over);
    }
    for (const std::string& location : usual_locations(os)) {
      const auto path = absolute_path(os, location);
      if (!path) {
        continue;
      }
      LASTREF_TRY(usable, probe(os, *path, options.references));
      if (usable) {
        return TempFolder{.path = join(*path, name)};
      }
    }
    // The last location: if there is too little space, the write returns the error.
    LASTREF_TRY(usable, has_shared_memory(os, options, 0));
    if (usable) {
      return on_shared_memory(name);
    }
    return failure(std::errc::no_such_file_or_directory,
                   "no folder for temporary files; set LASTREF_TEMP_FOLDER");
  });
}

std::vector<std::string> temp_locations(os::Os& os) {
  std::vector<std::string> locations = usual_locations(os);
  locations.insert(locations.begin(), shared_memory_folder);
  return locations;
}

Status remove_probes(os::Os& os, const std::string& location) {
  return os::within_memory("a folder", [&]() -> Status {
    auto folder = os::open_file(os, location, {.folder = true});
    if (!folder) {
      const bool absent = folder.error().code == std::errc::no_such_file_or_directory;
      return absent ? ok() : status_of(folder);
    }
    for (;;) {
      LASTREF_TRY(entries, os.read_folder(folder->get()));
      if (entries.empty()) {
        return ok();
      }
      for (const os::FolderEntry& entry : entries) {
        if (entry.kind != os::FileKind::folder || !entry.name.starts_with(probe_start)) {
          continue;
        }
        // Root could remove those of other users, too; only their owners may decide about them.
        const os::PathAt probe(folder->get(), entry.name);
        const auto status = os.status_at(probe);
        if (status && status->owner == os.user_id()) {
          // Only if it is empty: then it is worth nothing, even to a process that is alive.
          if (os.remove_folder(probe)) {
            os.hit(Probe::dead_probe_removed);
          }
        }
      }
    }
  });
}

Status delete_folder(os::Os& os, const std::string& path, bool allow_non_empty) {
  return os::within_memory("a folder", [&]() -> Status {
    return allow_non_empty ? delete_with_contents(os, path) : delete_empty(os, path);
  });
}

}  // namespace lastref
