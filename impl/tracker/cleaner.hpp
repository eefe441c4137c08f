// Cleaner: clean-up a few calls at a time, so that a huge folder or a retry never keeps the tracker
// from its clients.
//
// A file, semaphore or shared memory object is one unlink. A folder is deleted through descriptors,
// entry by entry, without following a symlink. A folder of ours below it whose mode is in the way
// becomes 0700. What is refused is tried 10 times, 0.2 s apart; what
// is gone is clean, whoever removed it. Where it is known which file or folder was meant, another
// one of the same name is left alone; a first attempt that fails learns it for those that follow.
// One call may take long too: the unlink of a huge file gives all its pages back. So on demand what
// is not small is done by a thread beside (see Deeds), and here only asked about; without a thread
// to be had it is done in a step.
//
// What one name costs does not depend on how many there are. Where there is no memory, an attempt
// fails, and is made again as any other; what throws std::bad_alloc has changed nothing.
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

#include "impl/tracker/deeds.hpp"

namespace lastref::tracker {

/// Source: joblib _memmapping_reducer.py, unlink_file: ten times, 200 ms apart.
inline constexpr int attempts_max = 10;
inline constexpr std::chrono::milliseconds pause_between_attempts{200};

/// How one name ended.
struct Cleaned {
  Resource resource;
  Status status;
  std::optional<Identity> identity = {};  ///< Of what could not be removed.
  bool was_anothers = false;              ///< Something else has the name, and was left alone.
};

class Cleaner {
 public:
  struct Options {
    int attempts = attempts_max;
    std::chrono::nanoseconds pause = pause_between_attempts;
    bool aside = false;  ///< What may take long is done by a thread.
  };
  explicit Cleaner(os::Os& os, const Options& options) noexcept : os_(os), options_(options) {}
  explicit Cleaner(os::Os& os) noexcept : Cleaner(os, Options()) {}

  /// Queues a name, unless it is queued. A folder waits for every name queued before it.
  void add(Resource resource, const std::optional<Identity>& identity = {});
  /// Whether some of it may be gone already, or go at any moment: a folder that was entered, or
  /// what the thread has begun.
  bool is_under_way(const Resource& resource);
  /// Takes a name back, if it is queued and nothing is under way for it.
  void cancel(const Resource& resource);
  /// As cancel; and what is under way is not tried again, nor is a folder whose last attempt
  /// failed. False as long as something is under way.
  bool renounce(const Resource& resource);
  bool empty() const noexcept { return jobs_.empty(); }

  /// When there is next something to do here; no value if there is nothing.
  std::optional<os::Instant> due() const;
  /// Readable when the thread has done something, and there is something to do here; or none.
  os::Fd news() const noexcept { return deeds_ ? deeds_->news() : os::Fd::none; }
  /// Makes at most some dozens of calls for what is due at `now`. Returns the names that ended.
  std::vector<Cleaned> step(os::Instant now);

 private:
  using Number = Deeds::Number;
  struct Level {
    os::UniqueFd folder;
    std::string name;  // in the level above, or the whole path
    std::deque<os::FolderEntry> entries = {};
    bool read_to_end = false;
    bool is_opened_up = false;  // its mode was in the way
  };
  /// What is due, but for what is aside, and folders that wait: each has its place ready.
  using Due = std::set<std::pair<os::Instant, Number>>;
  struct Job {
    Resource resource;
    std::optional<Identity> identity = {};
    std::optional<os::FileStatus> seen = {};  // just now, at what has the name
    int attempts = 0;
    os::Instant due{0};
    bool is_aside = false;              // The thread has it: only it touches what follows.
    bool is_last_attempt = false;       // Nobody wants another one.
    std::vector<Level> levels = {};     // of a folder that is being deleted
    std::optional<Error> refused = {};  // the first refusal of this attempt
    bool is_no_folder = false;          // something else has the name of one
    bool is_anothers = false;           // something else has the name of what was meant
    std::optional<Status> end = {};     // of an attempt
    Due::node_type place = {};          // in what is due, while it is not in that
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
  bool is_meant(Job& job, const os::FileStatus& status);
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
  Options options_;
  Jobs jobs_;  // in the order in which they were queued
  std::map<Resource, Number> numbers_;
  Due due_;
  Number last_number_ = 0;
  os::Instant last_step_{0};
  std::size_t aside_ = 0;
  os::Instant alone_until_{0};    // no thread could be had
  std::unique_ptr<Deeds> deeds_;  // the last, so that its thread ends first
};

}  // namespace lastref::tracker
