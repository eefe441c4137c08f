// Cleaner: clean-up in steps of a few calls, so that a huge folder or a retry never delays the
// tracker's clients.
//
// A file, semaphore or shared memory object needs one unlink. A folder is deleted through
// descriptors, entry by entry, without following a symlink. If the mode of a folder of ours below
// it forbids the deletion, it becomes 0700. A refused clean-up is tried 10 times, 0.2 s apart. A
// name that no longer exists is clean, even if another process removed it. If the identity of the
// file or folder is known, another one of the same name is left alone; a failed first attempt
// records the identity for later ones. One call may take long too: the unlink of a huge file frees
// all its pages. So, as an option, a thread (see BackgroundJobs) does the long jobs, and only its
// results are collected here. If no thread can be started, the job is done in a step.
//
// The cost of one name does not depend on the number of names. If there is no memory, an attempt
// fails, and is repeated like any other; a call that throws std::bad_alloc has changed nothing.
// Limits: a folder needs one descriptor for each level of its depth.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <lastref/owners.hpp>
#include <lastref/resource.hpp>

#include "impl/os/limits.hpp"
#include "impl/tracker/background_jobs.hpp"
#include "impl/tracker/tracker_ports.hpp"

namespace lastref::tracker {

/// Source: joblib _memmapping_reducer.py, unlink_file: ten times, 200 ms apart.
inline constexpr std::chrono::milliseconds pause_between_attempts{200};

class Cleaner final : public CleanUpQueue {
 public:
  struct Options {
    std::optional<int> attempts = {};  ///< None: as many as the limits allow.
    std::chrono::nanoseconds pause = pause_between_attempts;
    bool aside = false;  ///< A thread does what may take long.
  };
  explicit Cleaner(os::Os& os, const Options& options) noexcept
      : os_(os),
        limits_(os::limits_of(os)),
        options_(options),
        attempts_(options.attempts.value_or(limits_.clean_up_attempts)) {}
  explicit Cleaner(os::Os& os) noexcept : Cleaner(os, Options()) {}

  void add(Resource resource, const std::optional<Identity>& identity) override;
  void add(Resource resource) { add(std::move(resource), std::nullopt); }
  bool is_under_way(const Resource& resource) override;
  void cancel(const Resource& resource) override;
  bool stop_retrying(const Resource& resource) override;
  bool empty() const noexcept { return jobs_.empty(); }

  /// When the next step is due here; no value if there is none.
  std::optional<os::Instant> due() const;
  /// Readable when the thread has done something, and a step is due here; or none.
  os::Fd completion_fd() const noexcept {
    return background_ ? background_->completion_fd() : os::Fd::none;
  }
  /// Makes at most some dozens of calls for the jobs that are due at `now`. Returns the names that
  /// ended.
  std::vector<Cleaned> step(os::Instant now);

 private:
  using Number = BackgroundJobs::Number;
  struct Level {
    os::UniqueFd folder;
    std::string name;  // in the level above, or the whole path
    std::deque<os::FolderEntry> entries = {};
    bool read_to_end = false;
    bool is_opened_up = false;  // its mode forbade the deletion
  };
  /// The jobs that are due, without those of the thread and waiting folders. Each has its node
  /// ready.
  using Due = std::set<std::pair<os::Instant, Number>>;
  struct Job {
    Resource resource;
    std::optional<Identity> identity = {};
    std::optional<os::FileStatus> seen = {};  // the latest status of the file with that name
    bool was_found = false;                   // by a look before it went to the thread
    int attempts = 0;
    os::Instant due{0};
    bool is_aside = false;              // The thread has it: only the thread uses the members
                                        // below.
    bool is_last_attempt = false;       // Another one is not wanted.
    std::vector<Level> levels = {};     // of a folder that is being deleted
    std::optional<Error> refused = {};  // the first refusal of this attempt
    bool is_no_folder = false;          // the name belongs to something else
    bool identity_mismatch = false;     // the name belongs to another file or folder
    std::optional<Status> end = {};     // of an attempt
    Due::node_type place = {};          // its node of the due jobs, while it is not among them
  };
  using Jobs = std::map<Number, Job>;

  Jobs::iterator find(const Resource& resource);
  void queue(Jobs::iterator job) noexcept;
  void remove(Jobs::iterator job) noexcept;
  bool attempt(Jobs::iterator job, int& budget) noexcept;
  void attempt_here(Job& job, int& budget) noexcept;
  bool goes_aside(Job& job, int& budget);
  void give_aside(Jobs::iterator job);
  void conclude(Jobs::iterator job, os::Instant now, std::vector<Cleaned>& ended) noexcept;

  std::optional<Status> work(Job& job, int& budget);
  Status remove_file(Job& job);
  bool is_absent(const Job& job, const Status& status);
  bool matches_identity(Job& job, const os::FileStatus& status);
  std::optional<Status> work_on_folder(Job& job, int& budget);
  std::optional<Status> advance(Job& job);
  Status enter(Job& job, const os::PathAt& where, std::string name);
  Status enter_below(Job& job, const os::PathAt& where, const std::string& name);
  bool open_up(Job& job);
  bool open_up_whole(Job& job, const std::string& path);
  void remove_entry(Job& job);
  Status remove(const Resource& resource);
  static void note(Job& job, const Status& status);

  os::Os& os_;
  const os::Limits& limits_;
  Options options_;
  int attempts_;
  Jobs jobs_;  // in the order in which they were queued
  std::map<Resource, Number> numbers_;
  Due due_;
  Number last_number_ = 0;
  os::Instant last_step_{0};
  std::size_t aside_ = 0;
  os::Instant alone_until_{0};                  // no thread could be started
  std::unique_ptr<BackgroundJobs> background_;  // the last member, so that its thread ends first
};

}  // namespace lastref::tracker
