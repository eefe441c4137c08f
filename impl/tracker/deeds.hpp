// Deeds: a background thread for calls that may block, such as the unlink of a huge file. Its owner
// continues meanwhile, polls `news`, and collects the results.
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

class Deeds {
 public:
  using Number = std::uint64_t;
  struct Deed {
    Number number = 0;
    std::function<void()> act;
  };

  /// Errors          of make_pipe and start_thread: there is no thread.
  static Result<std::unique_ptr<Deeds>> start(os::Os& os);
  Deeds(const Deeds&) = delete;
  Deeds& operator=(const Deeds&) = delete;
  /// Waits for the job that has begun; the remaining jobs are not run.
  ~Deeds();

  /// `deed` may not touch anything that the caller uses before `collect` has returned it. It may
  /// only throw std::bad_alloc, which is caught. If this call throws, the job was not queued.
  void give(Number number, std::function<void()> deed);
  /// False if it has begun, or is done.
  bool take_back(Number number);
  /// Readable when `collect` has something to return; none if that cannot be seen any more.
  os::Fd news() const noexcept { return news_broken_ ? os::Fd::none : news_.get(); }
  /// The jobs that were done since the last call.
  std::list<Deed> collect() noexcept;

 private:
  explicit Deeds(os::Os& os) : os_(os), monitor_(os.make_monitor()) {}
  void serve();
  void tell_news();
  void report(const Error& error) noexcept;

  os::Os& os_;
  std::unique_ptr<os::Monitor> monitor_;
  os::UniqueFd news_;
  os::UniqueFd tell_;
  std::list<Deed> waiting_;
  std::list<Deed> done_;
  bool stopping_ = false;
  bool news_broken_ = false;  // the owner's
  std::unique_ptr<os::Thread> thread_;
};

}  // namespace lastref::tracker
