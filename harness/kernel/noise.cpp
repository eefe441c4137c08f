#include "harness/kernel/noise.hpp"

#include <poll.h>
#include <sched.h>

#include <array>
#include <ctime>

#include "harness/choice/choices.hpp"

namespace lastref::harness {
namespace {

/// What a thread does at the next `places`.
struct Pace {
  enum class Kind : std::uint8_t { run, yield, slow, stop };

  Kind kind = Kind::run;
  std::uint64_t places = 0;
};

/// Most often it runs on: what it then finishes in one go is what others interrupt.
constexpr std::array paces = {
    Pace{Pace::Kind::run, 32},
    Pace{Pace::Kind::run, 8},
    Pace{Pace::Kind::run, 8},
    Pace{Pace::Kind::run, 2},
    Pace{Pace::Kind::yield, 16},
    Pace{Pace::Kind::slow, 16},
    Pace{Pace::Kind::slow, 4},
    Pace{Pace::Kind::stop, 1},
};
constexpr std::uint64_t slow_most = 100'000;    // nanoseconds
constexpr std::uint64_t stop_most = 5'000'000;  // nanoseconds; longer than most operations take
constexpr std::uint64_t runs_on_one_processor = 4;

/// Of a thread.
struct Walk {
  bool has_begun = false;
  std::uint64_t state = 0;
  Pace pace = {};
};

std::uint64_t up_to(std::uint64_t& state, std::uint64_t most) noexcept {
  return 1 + next_random(state) % most;
}

void pause(std::uint64_t nanoseconds) noexcept {
  const timespec time{.tv_sec = 0, .tv_nsec = static_cast<long>(nanoseconds)};
  ::ppoll(nullptr, 0, &time, nullptr);
}

class NoisyMonitor final : public os::Monitor {
 public:
  NoisyMonitor(std::unique_ptr<os::Monitor> inner, Noise& noise) noexcept
      : inner_(std::move(inner)), noise_(noise) {}

  void lock() noexcept LASTREF_ACQUIRES() override {
    noise_.wait();
    inner_->lock();
  }
  void unlock() noexcept LASTREF_RELEASES() override {
    inner_->unlock();
    noise_.wait();
  }
  void wait() noexcept LASTREF_REQUIRES(this) override { inner_->wait(); }
  void notify_all() noexcept override {
    noise_.wait();
    inner_->notify_all();
  }

 private:
  std::unique_ptr<os::Monitor> inner_;
  Noise& noise_;
};

}  // namespace

void Noise::wait() noexcept {
  thread_local Walk walk;
  if (!walk.has_begun) {
    walk.has_begun = true;
    walk.state = seed_ ^ (threads_.fetch_add(1) << 32U);
  }
  if (walk.pace.places == 0) {
    walk.pace = paces[next_random(walk.state) % paces.size()];
    walk.pace.places = up_to(walk.state, walk.pace.places);
  }
  --walk.pace.places;
  switch (walk.pace.kind) {
    case Pace::Kind::run:
      break;
    case Pace::Kind::yield:
      ::sched_yield();
      break;
    case Pace::Kind::slow:
      pause(up_to(walk.state, slow_most));
      break;
    case Pace::Kind::stop:
      pause(up_to(walk.state, stop_most));
      break;
  }
}

void share_processor(std::uint64_t seed) noexcept {
  std::uint64_t state = seed;
  if (next_random(state) % runs_on_one_processor != 0) {
    return;
  }
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
    return;
  }
  auto skipped = next_random(state) % static_cast<std::uint64_t>(CPU_COUNT(&allowed));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (std::size_t processor = 0; processor < CPU_SETSIZE; ++processor) {
    if (CPU_ISSET(processor, &allowed) && skipped-- == 0) {
      CPU_SET(processor, &one);
    }
  }
  ::sched_setaffinity(0, sizeof one, &one);  // Without it the run is as any other.
}

std::unique_ptr<os::Monitor> NoisyOs::make_monitor() noexcept {
  return std::make_unique<NoisyMonitor>(inner().make_monitor(), noise_);
}

void NoisyOs::step(Step step) noexcept {
  noise_.wait();
  inner().step(step);
}

void NoisyOs::touch(const os::WordAccess& access) noexcept {
  noise_.wait();
  inner().touch(access);
}

void NoisyOs::access_atomic(const void* object, bool writes) noexcept {
  noise_.wait();
  inner().access_atomic(object, writes);
}

}  // namespace lastref::harness
