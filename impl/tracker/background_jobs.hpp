// BackgroundJobs: a background thread for calls that may block, such as the unlink of a huge file.
// Its owner continues meanwhile, polls `completion_fd`, and collects the results.
//
// Jobs run in the order in which they are given. A job can be taken back until it has begun. So the
// caller knows whether it may still run. If the process is killed during a job, the leftovers are
// those of a kill at the same call without a thread.
#pragma once

#include <cstdint>
#include <functional>
#include <list>
#include <memory>

#include <lastref/owners.hpp>

namespace lastref::tracker {

class BackgroundJobs {
 public:
  using Number = std::uint64_t;
  struct Job {
    Number number = 0;
    std::function<void()> act;
  };

  /// Errors          of make_pipe and start_thread: there is no thread.
  static Result<std::unique_ptr<BackgroundJobs>> start(os::Os& os);
  BackgroundJobs(const BackgroundJobs&) = delete;
  BackgroundJobs& operator=(const BackgroundJobs&) = delete;
  /// Waits for the job that has begun; the remaining jobs are not run.
  ~BackgroundJobs();

  /// `job` may not touch anything that the caller uses before `collect` has returned it. It may
  /// only throw std::bad_alloc, which is caught. If this call throws, the job was not queued.
  void give(Number number, std::function<void()> job);
  /// False if it has begun, or is done.
  bool take_back(Number number);
  /// Readable when `collect` has something to return; none if that cannot be seen any more.
  os::Fd completion_fd() const noexcept {
    return completion_broken_ ? os::Fd::none : completion_read_.get();
  }
  /// The jobs that were done since the last call.
  std::list<Job> collect() noexcept;

 private:
  explicit BackgroundJobs(os::Os& os) : os_(os), monitor_(os.make_monitor()) {}
  void serve();
  void report_completion() LASTREF_REQUIRES(*monitor_);
  void report(const Error& error) noexcept;

  os::Os& os_;
  std::unique_ptr<os::Monitor> monitor_;
  os::UniqueFd completion_read_;
  os::UniqueFd completion_write_;
  std::list<Job> waiting_ LASTREF_GUARDED_BY(*monitor_);
  std::list<Job> done_ LASTREF_GUARDED_BY(*monitor_);
  bool stopping_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool completion_broken_ = false;  // the owner's
  std::unique_ptr<os::Thread> thread_;
};

}  // namespace lastref::tracker
