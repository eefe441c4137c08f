// Cleaner: clean-up a few calls at a time, so that a huge folder or a retry never keeps the tracker
// from its clients.
//
// A file, semaphore or shared memory object is one unlink. A folder is deleted through descriptors,
// entry by entry, without following a symlink. What is refused is tried 10 times, 0.2 s apart; what
// is gone is clean, whoever removed it.
// Limits: a folder needs one descriptor for each level of its depth.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include <lastref/owners.hpp>
#include <lastref/resource.hpp>

namespace lastref::tracker {

/// Source: joblib _memmapping_reducer.py, unlink_file: ten times, 200 ms apart.
inline constexpr int attempts_max = 10;
inline constexpr std::chrono::milliseconds pause_between_attempts{200};

/// How one name ended.
struct Cleaned {
  Resource resource;
  Status status;
};

class Cleaner {
 public:
  explicit Cleaner(os::Os& os,
                   int attempts = attempts_max,
                   std::chrono::nanoseconds pause = pause_between_attempts) noexcept
      : os_(os), attempts_(attempts), pause_(pause) {}

  /// Queues a name. A folder waits for every name queued before it.
  void add(Resource resource);
  /// Whether some of it may be gone already: a folder that was entered.
  bool is_under_way(const Resource& resource) const;
  /// Takes a name back, if it is queued and nothing is under way for it.
  void cancel(const Resource& resource);
  bool empty() const noexcept { return jobs_.empty(); }

  /// When there is next something to do; no value if there is nothing.
  std::optional<os::Instant> due() const;
  /// Makes at most some dozens of calls for what is due at `now`. Returns the names that ended.
  std::vector<Cleaned> step(os::Instant now);

 private:
  struct Level {
    os::UniqueFd folder;
    std::string name;  // in the level above, or the whole path
    std::deque<os::FolderEntry> entries = {};
    bool read_to_end = false;
  };
  struct Job {
    Resource resource;
    int attempts = 0;
    os::Instant due{0};
    std::vector<Level> levels = {};     // of a folder that is being deleted
    std::optional<Error> refused = {};  // the first refusal of this attempt
    bool is_no_folder = false;          // something else has the name of one
  };

  bool may_run(std::size_t index) const;
  std::optional<Status> work(Job& job, int& budget);
  std::optional<Status> work_on_folder(Job& job, int& budget);
  std::optional<Status> advance(Job& job);
  Status enter(Job& job, const os::Place& place, std::string name);
  Status remove(const Resource& resource);
  static void note(Job& job, const Status& status);

  os::Os& os_;
  int attempts_;
  std::chrono::nanoseconds pause_;
  std::deque<Job> jobs_;
};

}  // namespace lastref::tracker
