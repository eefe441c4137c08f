#include <algorithm>
#include <chrono>

#include <lastref/owners.hpp>
#include <lastref/probe.hpp>
#include <lastref/temp_folder.hpp>

#include "impl/os/within_memory.hpp"
#include "impl/tracker/cleaner.hpp"

namespace lastref {
namespace {

constexpr int attempts_max = 10;
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
    if (attempts == attempts_max) {
      return removed;
    }
    os.saw(Probe::deletion_tried_again);
    wait(os, os.now() + pause);
  }
}

Status delete_with_contents(os::Os& os, const std::string& path) {
  tracker::Cleaner cleaner(os, {.attempts = attempts_max, .pause = pause});
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

Status delete_folder(os::Os& os, const std::string& path, bool allow_non_empty) {
  return os::within_memory("a folder", [&]() -> Status {
    return allow_non_empty ? delete_with_contents(os, path) : delete_empty(os, path);
  });
}

}  // namespace lastref
