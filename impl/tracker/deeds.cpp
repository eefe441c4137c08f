#include "impl/tracker/deeds.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "impl/os/within_memory.hpp"

namespace lastref::tracker {

Result<std::unique_ptr<Deeds>> Deeds::start(os::Os& os) {
  std::unique_ptr<Deeds> deeds(new Deeds(os));
  LASTREF_TRY(ends, os.make_pipe());
  deeds->news_ = os::UniqueFd(os, ends.read);
  deeds->tell_ = os::UniqueFd(os, ends.write);
  LASTREF_TRY(thread, os.start_thread([served = deeds.get()] { served->serve(); }));
  deeds->thread_ = std::move(thread);
  return deeds;
}

Deeds::~Deeds() {
  if (thread_) {
    {
      const os::Held held(*monitor_);
      stopping_ = true;
      monitor_->notify_all();
    }
    thread_->join();
  }
}

void Deeds::serve() {
  const os::Held held(*monitor_);
  for (;;) {
    while (waiting_.empty() && !stopping_) {
      monitor_->wait();
    }
    if (stopping_) {
      return;
    }
    std::list<Deed> deed;
    deed.splice(deed.begin(), waiting_, waiting_.begin());
    monitor_->unlock();
    static_cast<void>(os::had_memory(deed.front().act));
    monitor_->lock();
    done_.splice(done_.end(), deed);
    if (done_.size() == 1) {
      tell_news();
    }
  }
}

/// Called with the monitor held. The pipe contains at most one byte.
void Deeds::tell_news() {
  const std::byte byte{1};
  const auto told =
      os::retry_interrupted([&] { return os_.write(tell_.get(), std::span(&byte, 1)); });
  if (!told) {
    tell_.close_quietly();  // The end of the pipe is also an event, the last one.
    report(told.error());
  }
}

void Deeds::report(const Error& error) noexcept {
  os::report_quietly(os_, [&] { return "lastref tracker: background thread: " + describe(error); });
}

void Deeds::give(Number number, std::function<void()> deed) {
  std::list<Deed> given;
  given.push_back({.number = number, .act = std::move(deed)});
  const os::Held held(*monitor_);
  waiting_.splice(waiting_.end(), given);
  monitor_->notify_all();
}

bool Deeds::take_back(Number number) {
  const os::Held held(*monitor_);
  return std::erase_if(waiting_, [&](const Deed& deed) { return deed.number == number; }) > 0;
}

std::list<Deeds::Deed> Deeds::collect() noexcept {
  const os::Held held(*monitor_);
  if (done_.empty()) {
    return {};
  }
  std::array<std::byte, 1> byte{};
  const auto read = os::retry_interrupted([&] { return os_.read(news_.get(), byte); });
  news_broken_ = news_broken_ || !read || *read == 0;
  if (!read) {
    report(read.error());
  }
  std::list<Deed> done;
  done.swap(done_);
  return done;
}

}  // namespace lastref::tracker
