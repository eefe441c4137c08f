// How the tracker ends: it removes and reports what was left. The loop is in daemon.cpp.
#include <algorithm>
#include <array>

#include <lastref/probe.hpp>

#include "impl/os/within_memory.hpp"
#include "impl/tracker/daemon.hpp"
#include "impl/tracker/insist.hpp"

namespace lastref::tracker {
namespace {

/// Bytes of names in one line: a pipe takes all of it in one write, or nothing.
constexpr std::size_t leavings_size_max = 4000;
/// A wait may fail so often in a row before the tracker gives up its life.
constexpr int failures_max = 10;
/// So often the tree itself is removed, until nothing of it is left.
constexpr int removals_max = 3;

}  // namespace

/// A line for each type, with the names that were not released.
std::vector<std::string> Daemon::leavings() const {
  std::map<ResourceType, std::vector<const Resource*>> names;
  for (const Resource& resource : abandoned_) {
    if (registry_.knows(resource) && registry_.count_of(resource) == 0) {
      names[resource.type].push_back(&resource);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [type, of_type] : names) {
    std::string line = "lastref tracker: the last process of the tree left " +
                       std::to_string(of_type.size()) + " " + std::string(name_of(type)) +
                       (of_type.size() == 1 ? ":" : "s:");
    std::size_t told = 0;
    for (; told < of_type.size(); ++told) {
      const std::string name = " " + to_text(*of_type[told]);
      if (line.size() + name.size() > leavings_size_max) {
        break;
      }
      line += name;
    }
    if (told < of_type.size()) {
      line += " and " + std::to_string(of_type.size() - told) + " more";
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

/// Tries again to clean up what could not be cleaned up before: it may have been removed with the
/// folder that contained it, or after its name was registered again. Returns whether nothing is
/// left.
bool Daemon::try_again() {
  Cleaner cleaner(os_, {.attempts = 1});
  std::vector<Resource> names = ledger_.names();
  order_for_cleanup(names);
  for (const Resource& name : names) {
    cleaner.add(name, ledger_.identity_of(name));
  }
  bool clean = true;
  while (!cleaner.empty()) {
    for (const Cleaned& cleaned : cleaner.step(os_.now())) {
      if (!cleaned.status) {
        clean = false;
        os::report_quietly(os_, [&] {
          return "lastref tracker: left to the next start: " + to_text(cleaned.resource) + ": " +
                 describe(cleaned.status.error());
        });
        continue;
      }
      os_.saw(Probe::end_cleaned_what_was_put_off);
      if (const Status struck = ledger_.strike(cleaned.resource); !struck) {
        // If all else is clean, the ledger itself goes.
        report_not_struck(cleaned.resource, struck.error());
      }
    }
  }
  return clean;
}

/// For the end, when there is no client left to serve.
Status Daemon::wait_for_clean_up() {
  std::optional<std::chrono::nanoseconds> timeout;
  if (const auto due = cleaner_.due()) {
    timeout = *due - os_.now();
    if (*timeout <= os::Instant(0)) {
      return ok();
    }
  }
  std::array items{os::PollItem{.fd = cleaner_.news(), .want_read = true}};
  const auto waited = os_.poll(items, timeout);
  if (!waited && waited.error().code != std::errc::interrupted &&
      ++poll_failures_ == failures_max) {
    return failure(waited.error());
  }
  return ok();
}

Status Daemon::clean_all() {
  while (!cleaner_.empty()) {
    LASTREF_CHECK(wait_for_clean_up());
    clean();
  }
  return ok();
}

Status Daemon::end() {
  os_.step(Step::tracker_ending);
  // From here on joining is refused. A client that has connected meanwhile sees the end of its
  // connection.
  if (listener_) {
    static_cast<void>(os_.shut_down(listener_.get()));
  }
  std::vector<std::string> lines;
  LASTREF_CHECK(insist(os_, [&] {
    lines = leavings();
    return ok();
  }));
  if (!lines.empty()) {
    os_.saw(Probe::names_left_behind);
  }
  LASTREF_CHECK(insist(os_, [&] {
    std::vector<Resource> names = registry_.doomed();
    names.insert(names.end(), put_off_.begin(), put_off_.end());
    order_for_cleanup(names);
    for (const Resource& name : names) {
      cleaner_.add(name, ledger_.identity_of(name));
    }
    return ok();
  }));
  LASTREF_CHECK(insist(os_, [this] { return clean_all(); }));
  // After the deed, which must not wait for somebody to read.
  for (const std::string& line : lines) {
    os::report_quietly(os_, line);
  }
  if (accept_failures_ > 0) {
    os::report_quietly(os_, "lastref tracker: to the end nobody more could be let in");
  }
  bool is_clean = false;
  LASTREF_CHECK(insist(os_, [&] {
    is_clean = try_again();
    return ok();
  }));
  std::optional<TreeRemoval> removal;
  LASTREF_CHECK(insist(os_, [&] {
    removal.emplace(paths_);
    return ok();
  }));
  if (!is_clean) {
    // The ledger stays, and no process does: the next start tries again.
    os_.saw(Probe::names_left_to_next_start);
    return os::discard(os_, removal->socket());
  }
  Status removed = removal->remove(os_);
  for (int removals = 1; !removed && removals < removals_max; ++removals) {
    os_.saw(Probe::tree_removed_at_second_try);
    removed = removal->remove(os_);  // What is already removed is no error.
  }
  return removed;
}

}  // namespace lastref::tracker
