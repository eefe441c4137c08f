#include "impl/tracker/cleaner.hpp"

#include <algorithm>

namespace lastref::tracker {
namespace {

constexpr int calls_per_step = 64;

bool is_gone(const Status& status) {
  return !status && status.error().code == std::errc::no_such_file_or_directory;
}

/// What another attempt may cure. Anything else is final for a file; a folder may also have been
/// filled again behind us.
bool is_refusal(std::errc code) {
  return code == std::errc::permission_denied || code == std::errc::operation_not_permitted;
}

/// That there is something else under a folder's name will not change by itself.
bool is_no_folder(const Error& error) {
  return error.code == std::errc::not_a_directory ||
         error.code == std::errc::too_many_symbolic_link_levels;
}

/// Without slashes at its end, which would have a symlink followed.
std::string path_of(const Resource& folder) {
  const std::size_t last = folder.name.find_last_not_of('/');
  return last == std::string::npos ? folder.name : folder.name.substr(0, last + 1);
}

}  // namespace

void Cleaner::add(Resource resource) {
  jobs_.push_back({.resource = std::move(resource)});
}

bool Cleaner::is_under_way(const Resource& resource) const {
  return std::ranges::any_of(jobs_, [&](const Job& job) {
    return job.resource == resource && job.resource.type == ResourceType::folder &&
           (!job.levels.empty() || job.attempts > 0);
  });
}

void Cleaner::cancel(const Resource& resource) {
  if (!is_under_way(resource)) {
    std::erase_if(jobs_, [&](const Job& job) { return job.resource == resource; });
  }
}

bool Cleaner::may_run(std::size_t index) const {
  if (jobs_[index].resource.type != ResourceType::folder || index == 0) {
    return true;
  }
  // Folders keep their order among themselves too: the deeper one was queued first.
  return false;
}

std::optional<os::Instant> Cleaner::due() const {
  std::optional<os::Instant> first;
  for (std::size_t index = 0; index < jobs_.size(); ++index) {
    if (may_run(index) && (!first || jobs_[index].due < *first)) {
      first = jobs_[index].due;
    }
  }
  return first;
}

std::vector<Cleaned> Cleaner::step(os::Instant now) {
  std::vector<Cleaned> ended;
  int budget = calls_per_step;
  for (std::size_t index = 0; index < jobs_.size() && budget > 0;) {
    Job& job = jobs_[index];
    if (!may_run(index) || job.due > now) {
      ++index;
      continue;
    }
    std::optional<Status> end = work(job, budget);
    if (!end) {
      ++index;
      continue;
    }
    if (!*end && job.attempts + 1 < attempts_ &&
        (is_refusal(end->error().code) ||
         (job.resource.type == ResourceType::folder && !job.is_no_folder))) {
      ++job.attempts;
      job.due = now + pause_;
      ++index;
      continue;
    }
    ended.push_back({.resource = job.resource, .status = std::move(*end)});
    jobs_.erase(jobs_.begin() + static_cast<std::ptrdiff_t>(index));
  }
  return ended;
}

std::optional<Status> Cleaner::work(Job& job, int& budget) {
  if (job.resource.type == ResourceType::folder) {
    return work_on_folder(job, budget);
  }
  --budget;
  Status removed = remove(job.resource);
  return is_gone(removed) ? ok() : removed;
}

Status Cleaner::remove(const Resource& resource) {
  switch (resource.type) {
    case ResourceType::file:
      return os_.unlink(resource.name);
    case ResourceType::semlock:
      return os_.unlink_semaphore(resource.name);
    case ResourceType::shm:
      return os_.unlink_shm(resource.name);
    case ResourceType::folder:
    case ResourceType::noop:
      return ok();
  }
  LASTREF_ASSERT(false);
}

void Cleaner::note(Job& job, const Status& status) {
  if (!status && !is_gone(status) && !job.refused) {
    job.refused = status.error();
  }
}

Status Cleaner::enter(Job& job, const os::Place& place, std::string name) {
  LASTREF_TRY(folder, os::open_file(os_, place, {.folder = true}));
  job.levels.push_back({.folder = std::move(folder), .name = std::move(name)});
  return ok();
}

std::optional<Status> Cleaner::work_on_folder(Job& job, int& budget) {
  if (job.levels.empty()) {
    --budget;
    job.refused.reset();
    const std::string path = path_of(job.resource);
    if (Status entered = enter(job, path, path); !entered) {
      job.is_no_folder = is_no_folder(entered.error());
      return is_gone(entered) ? ok() : entered;
    }
  }
  while (budget > 0) {
    --budget;
    if (std::optional<Status> end = advance(job)) {
      return end;
    }
  }
  return std::nullopt;
}

/// One call's worth of a recursive delete.
std::optional<Status> Cleaner::advance(Job& job) {
  Level& level = job.levels.back();
  if (!level.entries.empty()) {
    const os::FolderEntry entry = std::move(level.entries.front());
    level.entries.pop_front();
    const os::Place place(level.folder.get(), entry.name);
    const bool is_folder = entry.kind == os::FileKind::folder;
    Status done = is_folder ? enter(job, place, entry.name) : os_.unlink(place);
    // What may not be entered may still be empty.
    if (is_folder && !done && is_refusal(done.error().code) && os_.remove_folder(place)) {
      done = ok();
    }
    note(job, done);
    return std::nullopt;
  }
  if (!level.read_to_end) {
    auto more = os_.read_folder(level.folder.get());
    if (!more) {
      note(job, failure(more.error().code, more.error().subject, more.error().call));
    }
    level.read_to_end = !more || more->empty();
    if (more) {
      level.entries.assign(more->begin(), more->end());
    }
    return std::nullopt;
  }
  const std::string name = level.name;
  job.levels.pop_back();
  const os::Place place =
      job.levels.empty() ? os::Place(name) : os::Place(job.levels.back().folder.get(), name);
  Status removed = os_.remove_folder(place);
  if (!job.levels.empty()) {
    note(job, removed);
    return std::nullopt;
  }
  if (removed || is_gone(removed)) {
    return ok();
  }
  return job.refused ? Status(tl::unexpected<Error>(*job.refused)) : removed;
}

}  // namespace lastref::tracker
