// Noise: threads of an ungated run wait for random times at random places, so that they meet in
// orders that are rare otherwise.
//
// After rr's chaos mode (O'Callahan 2016): a random wait at each place changes little, because
// waits of all threads are alike. So a thread draws its pace for several places at a time: it runs
// on, yields, is slow, or stops once for as long as others need to finish what they are doing.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <utility>

#include <lastref/os.hpp>
#include <lastref/process_objects.hpp>

#include "harness/instrument/interceptor.hpp"
#include "harness/instrument/os_around.hpp"

namespace lastref::harness {

/// The waits of the threads of one process. Which they are depends on the seed, and on the order in
/// which the threads come to their first place.
class Noise {
 public:
  explicit Noise(std::uint64_t seed) noexcept : seed_(seed) {}

  /// A place at which the calling thread may wait.
  void wait() noexcept;

 private:
  std::uint64_t seed_;
  std::atomic<std::uint64_t> threads_ = 0;
};

/// In one of four runs all processes share one processor, so that a thread that waits lets another
/// one run just there.
void share_processor(std::uint64_t seed) noexcept;

/// An Os with noise before each call and each step, and around the monitors.
class NoisyOs final : public OsAround<NoisyOs> {
 public:
  NoisyOs(os::Os& inner, std::uint64_t seed) noexcept : OsAround(inner), noise_(seed) {}

  template <Call call, typename... Given>
  AnswerOf<call> every(Given&&... given) noexcept {
    noise_.wait();
    return CallOf<call>::make(inner(), std::forward<Given>(given)...);
  }

  /// As in a gated run: backends depend on it, and the noise may leave only one.
  unsigned processors() noexcept override { return processors_of_a_run; }
  std::unique_ptr<os::Monitor> make_monitor() noexcept override;
  os::ProcessObjects& objects() noexcept override { return objects_.of(*this, process_token()); }
  void step(Step step) noexcept override;
  void touch(const os::WordAccess& access) noexcept override;
  void access_atomic(const void* object, bool writes) noexcept override;

 private:
  Noise noise_;
  os::GenerationsOfObjects objects_;
};

}  // namespace lastref::harness
