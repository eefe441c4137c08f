#include "impl/tracker/background_jobs.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "impl/os/within_memory.hpp"

namespace lastref::tracker {

Result<std::unique_ptr<BackgroundJobs>> BackgroundJobs::start(os::Os& os) {
  std::unique_ptr<BackgroundJobs> jobs(new BackgroundJobs(os));
  LASTREF_TRY(ends, os.make_pipe());
  jobs->completion_read_ = os::UniqueFd(os, ends.read);
  jobs->completion_write_ = os::UniqueFd(os, ends.write);
  LASTREF_TRY(thread, os.start_thread([served = jobs.get()] { served->serve(); }));
  jobs->thread_ = std::move(thread);
  return jobs;
}

BackgroundJobs::~BackgroundJobs() {
  if (thread_) {
    {
      const os::MonitorLock held(*monitor_);
      stopping_ = true;
      monitor_->notify_all();
    }
    thread_->join();
  }
}

void BackgroundJobs::serve() {
  const os::MonitorLock held(*monitor_);
  for (;;) {
    while (waiting_.empty() && !stopping_) {
      monitor_->wait();
    }
    if (stopping_) {
      return;
    }
    std::list<Job> job;
    job.splice(job.begin(), waiting_, waiting_.begin());
    monitor_->unlock();
    static_cast<void>(os::had_memory(job.front().act));
    monitor_->lock();
    done_.splice(done_.end(), job);
    if (done_.size() == 1) {
      report_completion();
    }
  }
}

/// The pipe contains at most one byte.
void BackgroundJobs::report_completion() {
  const std::byte byte{1};
  const auto written = os::retry_interrupted(
      [&] { return os_.write(completion_write_.get(), std::span(&byte, 1)); });
  if (!written) {
    completion_write_.close_quietly();  // The end of the pipe is also an event, the last one.
    report(written.error());
  }
}

void BackgroundJobs::report(const Error& error) noexcept {
  os::report_quietly(os_, [&] { return "lastref tracker: background thread: " + describe(error); });
}

void BackgroundJobs::give(Number number, std::function<void()> job) {
  std::list<Job> given;
  given.push_back({.number = number, .act = std::move(job)});
  const os::MonitorLock held(*monitor_);
  waiting_.splice(waiting_.end(), given);
  monitor_->notify_all();
}

bool BackgroundJobs::take_back(Number number) {
  const os::MonitorLock held(*monitor_);
  return std::erase_if(waiting_, [&](const Job& job) { return job.number == number; }) > 0;
}

std::list<BackgroundJobs::Job> BackgroundJobs::collect() noexcept {
  const os::MonitorLock held(*monitor_);
  if (done_.empty()) {
    return {};
  }
  std::array<std::byte, 1> byte{};
  const auto read = os::retry_interrupted([&] { return os_.read(completion_read_.get(), byte); });
  completion_broken_ = completion_broken_ || !read || *read == 0;
  if (!read) {
    report(read.error());
  }
  std::list<Job> done;
  done.swap(done_);
  return done;
}

}  // namespace lastref::tracker
