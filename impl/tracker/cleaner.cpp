#include "impl/tracker/cleaner.hpp"

#include <algorithm>
#include <utility>

#include <lastref/probe.hpp>

#include "impl/os/within_memory.hpp"

namespace lastref::tracker {
namespace {

/// Of a folder that is being deleted, where its own mode is in the way.
constexpr std::uint32_t opened_up = 0700;
/// Between checks of a thread that cannot report that it has done something.
constexpr std::chrono::milliseconds pause_between_looks{20};
/// Between attempts to start a thread.
constexpr std::chrono::seconds pause_between_starts{1};

bool is_gone(const Status& status) {
  return failed_with(status, std::errc::no_such_file_or_directory);
}

/// Errors that another attempt may avoid. Any other error is final for a file; a folder may also
/// have been filled again meanwhile.
bool is_refusal(std::errc code) {
  return code == std::errc::permission_denied || code == std::errc::operation_not_permitted ||
         code == std::errc::not_enough_memory;
}

/// Whether something other than a folder has its name, which will not change by itself.
bool is_no_folder(const Error& error) {
  return error.code == std::errc::not_a_directory ||
         error.code == std::errc::too_many_symbolic_link_levels;
}

/// Removes the slashes at the end: with them, a symlink would be followed.
std::string path_of(const Resource& resource) {
  const std::size_t last = resource.name.find_last_not_of('/');
  return last == std::string::npos ? resource.name : resource.name.substr(0, last + 1);
}

/// Makes space for one more, so that adding it needs no memory.
void make_space(std::vector<Cleaned>& ended) {
  constexpr std::size_t first = 8;
  if (ended.size() == ended.capacity()) {
    ended.reserve(std::max(first, 2 * ended.size()));
  }
}

}  // namespace

Cleaner::Jobs::iterator Cleaner::find(const Resource& resource) {
  const auto found = numbers_.find(resource);
  return found == numbers_.end() ? jobs_.end() : jobs_.find(found->second);
}

/// From now on it runs when it is due, unless it is a folder after others. Folders keep their order
/// among themselves too: the deeper one was queued first.
void Cleaner::queue(Jobs::iterator job) noexcept {
  auto& [number, queued] = *job;
  const bool waits = queued.resource.type == ResourceType::folder && job != jobs_.begin();
  if (!waits && !queued.place.empty()) {
    queued.place.value() = {queued.due, number};
    due_.insert(std::move(queued.place));
  }
}

void Cleaner::remove(Jobs::iterator job) noexcept {
  due_.erase({job->second.due, job->first});
  numbers_.erase(job->second.resource);
  const bool was_first = job == jobs_.begin();
  jobs_.erase(job);
  if (was_first && !jobs_.empty() && !jobs_.begin()->second.is_aside) {
    queue(jobs_.begin());
  }
}

void Cleaner::add(Resource resource, const std::optional<Identity>& identity) {
  if (const auto known = find(resource); known != jobs_.end()) {
    known->second.is_last_attempt = false;
    return;
  }
  const Number number = last_number_ + 1;
  std::map<Resource, Number> name;
  name.emplace(resource, number);
  Due place;
  place.emplace(os::Instant(0), number);
  Job job{.resource = std::move(resource), .identity = identity};
  job.place = place.extract(place.begin());
  queue(jobs_.try_emplace(number, std::move(job)).first);
  numbers_.merge(name);
  last_number_ = number;
}

bool Cleaner::is_under_way(const Resource& resource) {
  const auto job = find(resource);
  if (job == jobs_.end()) {
    return false;
  }
  if (job->second.is_aside) {
    if (!background_->take_back(job->first)) {
      return true;
    }
    os_.hit(Probe::clean_up_taken_back);
    job->second.is_aside = false;
    --aside_;
    queue(job);
  }
  return resource.type == ResourceType::folder &&
         (!job->second.levels.empty() || job->second.attempts > 0);
}

void Cleaner::cancel(const Resource& resource) {
  if (!is_under_way(resource)) {
    if (const auto job = find(resource); job != jobs_.end()) {
      os_.hit(Probe::clean_up_canceled);
      remove(job);
    }
  }
}

bool Cleaner::stop_retrying(const Resource& resource) {
  const bool is_busy = is_under_way(resource);
  const auto job = find(resource);
  if (job == jobs_.end()) {
    return true;
  }
  if (is_busy && (job->second.is_aside || !job->second.levels.empty())) {
    job->second.is_last_attempt = true;
    return false;
  }
  remove(job);
  return true;
}

std::optional<os::Instant> Cleaner::due() const {
  if (!due_.empty() && aside_ < limits_.jobs_aside) {
    return due_.begin()->first;
  }
  // The thread cannot report when it has done something.
  const bool is_unheard = aside_ > 0 && background_->completion_fd() == os::Fd::none;
  return is_unheard ? std::optional(last_step_ + pause_between_looks) : std::nullopt;
}

std::vector<Cleaned> Cleaner::step(os::Instant now) {
  last_step_ = now;
  std::vector<Cleaned> ended;
  if (aside_ > 0) {
    ended.reserve(aside_);
    for (const BackgroundJobs::Job& done : background_->collect()) {
      const auto job = jobs_.find(done.number);
      job->second.is_aside = false;
      --aside_;
      conclude(job, now, ended);
    }
  }
  if (background_ && aside_ == 0 && background_->completion_fd() == os::Fd::none) {
    background_.reset();  // Another one may be able to report.
  }
  for (int budget = limits_.calls_per_step;
       budget > 0 && !due_.empty() && due_.begin()->first <= now && aside_ < limits_.jobs_aside;) {
    if (ended.empty()) {
      make_space(ended);
    } else if (!os::had_memory([&] { make_space(ended); })) {
      break;  // First return what has ended.
    }
    const auto job = jobs_.find(due_.begin()->second);
    job->second.place = due_.extract(due_.begin());
    if (attempt(job, budget)) {
      conclude(job, now, ended);
    }
  }
  return ended;
}

/// False if it was given to the thread.
bool Cleaner::attempt(Jobs::iterator job, int& budget) noexcept {
  bool is_given = false;
  const bool is_tried = os::had_memory([&] {
    is_given = goes_aside(job->second, budget);
    if (is_given) {
      give_aside(job);
    }
  });
  if (!is_tried) {
    --budget;
    job->second.end = os::no_memory("clean-up");
  } else if (!is_given && !job->second.end) {
    attempt_here(job->second, budget);
  }
  return !is_tried || !is_given;
}

void Cleaner::attempt_here(Job& job, int& budget) noexcept {
  if (!os::had_memory([&] { job.end = work(job, budget); })) {
    job.levels.clear();
    job.end = os::no_memory("clean-up");
  }
}

/// Whether it may take long, and there is a thread for it. If its status fails, that is an attempt.
bool Cleaner::goes_aside(Job& job, int& budget) {
  const bool is_deaf = background_ && background_->completion_fd() == os::Fd::none;
  if (!options_.aside || is_deaf || (!background_ && last_step_ < alone_until_)) {
    return false;
  }
  switch (job.resource.type) {
    case ResourceType::noop:
    case ResourceType::semlock:
      return false;
    case ResourceType::file: {
      --budget;
      const auto status = os_.status_at(job.resource.name);
      if (!status && !is_gone(status_of(status))) {
        job.end = status_of(status);  // A process that may not read the status may not unlink
                                      // either.
      }
      // It is removed about as fast as a few other calls are made: 10 us on tmpfs.
      if (!status || status->size <= limits_.removed_here) {
        job.seen = status ? std::optional(*status) : std::nullopt;
        return false;
      }
      job.was_found = true;
      break;
    }
    case ResourceType::folder:
    case ResourceType::shm:
      break;
  }
  if (!background_) {
    --budget;
    auto started = BackgroundJobs::start(os_);
    if (started) {
      background_ = *std::move(started);
    } else {
      os_.hit(Probe::clean_up_without_thread);
      alone_until_ = last_step_ + pause_between_starts;
      os::report_quietly(os_, [&] {
        return "lastref tracker: clean-up may delay its clients: " + describe(started.error());
      });
    }
  }
  return background_ != nullptr;
}

void Cleaner::give_aside(Jobs::iterator job) {
  background_->give(job->first, [this, &given = job->second] {
    int budget = limits_.calls_per_step;
    attempt_here(given, budget);
  });
  ++aside_;
  job->second.is_aside = true;
}

/// Decides about a job that is neither queued nor with the thread: it continues, is tried again, or
/// ends. `ended` has space for it.
void Cleaner::conclude(Jobs::iterator job, os::Instant now, std::vector<Cleaned>& ended) noexcept {
  Job& done = job->second;
  std::optional<Status> end = std::exchange(done.end, std::nullopt);
  if (!end) {
    queue(job);
    return;
  }
  if (!*end && !done.is_last_attempt && done.attempts + 1 < attempts_ &&
      (is_refusal(end->error().code) ||
       (done.resource.type == ResourceType::folder && !done.is_no_folder))) {
    os_.hit(Probe::clean_up_tried_again);
    ++done.attempts;
    done.due = now + options_.pause;
    queue(job);
    return;
  }
  const bool is_clean = end->has_value();
  ended.push_back({.resource = {},
                   .status = *std::move(end),
                   .identity = is_clean ? std::nullopt : done.identity,
                   .identity_mismatch = done.identity_mismatch});
  numbers_.erase(done.resource);
  ended.back().resource = std::move(done.resource);
  remove(job);
}

std::optional<Status> Cleaner::work(Job& job, int& budget) {
  if (job.resource.type == ResourceType::folder) {
    return work_on_folder(job, budget);
  }
  --budget;
  Status removed =
      job.resource.type == ResourceType::file ? remove_file(job) : remove(job.resource);
  return is_absent(job, removed) ? ok() : std::move(removed);
}

/// Also if something above it is no folder.
bool Cleaner::is_absent(const Job& job, const Status& status) {
  return is_gone(status) ||
         (failed_with(status, std::errc::not_a_directory) &&
          failed_with(os_.status_at(path_of(job.resource)), std::errc::not_a_directory));
}

/// Whether the file is the one to be removed, as far as is known. From now on only this one is.
bool Cleaner::matches_identity(Job& job, const os::FileStatus& status) {
  const Identity seen = os::identity_of(status);
  job.identity_mismatch = job.identity && !is_same(*job.identity, seen);
  if (job.identity_mismatch) {
    os_.hit(Probe::anothers_thing_spared);
  }
  if (!job.identity) {
    job.identity = seen;
  }
  return !job.identity_mismatch;
}

/// Between this check and the unlink, another process may still put another file there: no system
/// call removes a name only if it is that of a given inode.
Status Cleaner::remove_file(Job& job) {
  const std::string& path = job.resource.name;
  const std::optional<os::FileStatus> seen = std::exchange(job.seen, std::nullopt);
  if (job.identity) {
    auto status = seen ? Result<os::FileStatus>(*seen) : os_.status_at(path);
    if (std::exchange(job.was_found, false) && is_gone(status_of(status))) {
      status = os_.status_at(path);  // What was there a moment ago is not given up at one look.
    }
    LASTREF_CHECK(status_of(status));
    if (!matches_identity(job, *status)) {
      return ok();
    }
  }
  Status removed = os_.unlink(path);
  if (!removed && !job.identity && is_refusal(removed.error().code)) {
    if (const auto status = os_.status_at(path)) {
      matches_identity(job, *status);
    }
  }
  return removed;
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

Status Cleaner::enter(Job& job, const os::PathAt& where, std::string name) {
  LASTREF_TRY(folder, os::open_file(os_, where, {.folder = true}));
  job.levels.push_back({.folder = std::move(folder), .name = std::move(name)});
  return ok();
}

std::optional<Status> Cleaner::work_on_folder(Job& job, int& budget) {
  if (job.levels.empty()) {
    --budget;
    job.refused.reset();
    const std::string path = path_of(job.resource);
    Status entered = enter(job, path, path);
    if (failed_with(entered, std::errc::permission_denied) && open_up_whole(job, path)) {
      entered = enter(job, path, path);
    }
    if (!entered) {
      if (is_absent(job, entered)) {
        return ok();
      }
      job.is_no_folder = is_no_folder(entered.error());
      return entered;
    }
    auto status = os_.status(job.levels.back().folder.get());
    if (!status || !matches_identity(job, *status)) {
      job.levels.clear();
      return status_of(status);
    }
  }
  while (budget > 0) {
    --budget;
    if (std::optional<Status> end = advance(job)) {
      return end;
    }
  }
  os_.hit(Probe::clean_up_in_many_steps);
  return std::nullopt;
}

/// Whether the folder that is to be deleted could not be read, and can now. Only the right one.
bool Cleaner::open_up_whole(Job& job, const std::string& path) {
  const auto status = os_.status_at(path);
  return status && status->kind == os::FileKind::folder && matches_identity(job, *status) &&
         (status->mode & opened_up) != opened_up && os_.change_mode(path, opened_up);
}

/// Enters a folder that is inside the one being deleted, whatever its mode, if we own it.
Status Cleaner::enter_below(Job& job, const os::PathAt& where, const std::string& name) {
  Status entered = enter(job, where, name);
  if (failed_with(entered, std::errc::permission_denied) && os_.change_mode(where, opened_up)) {
    entered = enter(job, where, name);
  }
  // What may not be entered may still be empty.
  const bool is_refused = !entered && is_refusal(entered.error().code);
  return is_refused && os_.remove_folder(where) ? ok() : std::move(entered);
}

/// Makes the folder writable; true if its entries can be removed now. Tried only once: a later
/// refusal has another reason.
bool Cleaner::open_up(Job& job) {
  Level& level = job.levels.back();
  if (std::exchange(level.is_opened_up, true)) {
    return false;
  }
  if (os_.change_mode({level.folder.get(), "."}, opened_up)) {
    return true;
  }
  // A folder without search permission is reached through the one above.
  if (job.levels.size() == 1) {
    return open_up_whole(job, level.name);
  }
  return os_.change_mode({job.levels[job.levels.size() - 2].folder.get(), level.name}, opened_up)
      .has_value();
}

/// One entry of the folder that is being deleted, in at most a few calls.
void Cleaner::remove_entry(Job& job) {
  const os::FolderEntry entry = std::move(job.levels.back().entries.front());
  job.levels.back().entries.pop_front();
  const os::PathAt where(job.levels.back().folder.get(), entry.name);
  const auto attempt = [&] {
    return entry.kind == os::FileKind::folder ? enter_below(job, where, entry.name)
                                              : os_.unlink(where);
  };
  Status done = attempt();
  if (failed_with(done, std::errc::permission_denied) && open_up(job)) {
    done = attempt();
  }
  note(job, done);
}

/// At most one entry or one call of a recursive delete.
std::optional<Status> Cleaner::advance(Job& job) {
  Level& level = job.levels.back();
  if (!level.entries.empty()) {
    remove_entry(job);
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
  const os::PathAt where =
      job.levels.empty() ? os::PathAt(name) : os::PathAt(job.levels.back().folder.get(), name);
  Status removed = os_.remove_folder(where);
  if (!job.levels.empty()) {
    if (failed_with(removed, std::errc::permission_denied) && open_up(job)) {
      removed = os_.remove_folder(where);
    }
    note(job, removed);
    return std::nullopt;
  }
  if (removed || is_gone(removed)) {
    return ok();
  }
  return job.refused ? Status(failure(*job.refused)) : std::move(removed);
}

}  // namespace lastref::tracker
