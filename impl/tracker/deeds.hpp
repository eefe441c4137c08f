// Deeds: a thread for what may block, such as the unlink of a huge file. Its owner goes on
// meanwhile, polls `news`, and takes back what has been done.
//
// What is given is done in its order. What has not begun can be taken back; there is no middle, so
// whoever asks knows whether the deed may still come. A process that is killed leaves what it would
// have left at the same call without a thread.
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
  /// Waits for what has begun; the rest is not done.
  ~Deeds();

  /// `deed` may not touch what its giver touches before `collect` has named it. Of what it throws,
  /// std::bad_alloc alone is caught. What throws here has given nothing.
  void give(Number number, std::function<void()> deed);
  /// False if it has begun, or is done.
  bool take_back(Number number);
  /// Readable when `collect` has something to tell; none if that cannot be seen any more.
  os::Fd news() const noexcept { return news_broken_ ? os::Fd::none : news_.get(); }
  /// What has been done since it was last asked.
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
