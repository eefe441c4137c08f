#include "impl/backends/auto_batching.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include <lastref/owners.hpp>

#include "impl/os/within_memory.hpp"

namespace lastref::backends {
namespace {

constexpr double ideal_min = 0.2;  ///< seconds
constexpr double ideal_max = 2.0;  ///< seconds
constexpr double weight_of_old = 0.8;
/// tasks; keeps the arithmetic in range, whatever the clock returns.
constexpr double size_max = 1e9;
constexpr int tells = 10;

std::string line_about(const char* what, double seconds, std::size_t size) {
  std::array<char, 128> text{};
  const int length = std::snprintf(text.data(),
                                   text.size(),
                                   "lastref: a batch took %.4f s, which is too %s: %zu tasks a "
                                   "batch from now on",
                                   seconds,
                                   what,
                                   size);
  return {text.data(), static_cast<std::size_t>(length)};
}

}  // namespace

std::size_t AutoBatching::compute_batch_size(int verbose) {
  std::string line;
  std::size_t size = 0;
  {
    const os::MonitorLock held(*monitor_);
    const std::size_t old = size_;
    const char* what = "";
    if (smoothed_ > 0 && smoothed_ < ideal_min) {
      const double ideal = std::min(static_cast<double>(old) * ideal_min / smoothed_, size_max);
      size_ = std::max<std::size_t>(2 * static_cast<std::size_t>(ideal), 1);
      what = "short";
    } else if (smoothed_ > ideal_max && old >= 2) {
      size_ = old / 2;
      what = "long";
    }
    size = size_;
    if (size != old) {
      if (verbose >= tells) {
        static_cast<void>(
            os::had_memory([&, smoothed = smoothed_] { line = line_about(what, smoothed, size); }));
      }
      smoothed_ = 0;
    }
  }
  if (!line.empty()) {
    os::report_quietly(os_, line);
  }
  return size;
}

void AutoBatching::batch_completed(std::size_t size, std::chrono::nanoseconds duration) {
  const double seconds = std::chrono::duration<double>(duration).count();
  const os::MonitorLock held(*monitor_);
  if (size == size_) {
    smoothed_ =
        smoothed_ == 0 ? seconds : weight_of_old * smoothed_ + (1 - weight_of_old) * seconds;
  }
}

void AutoBatching::restart() {
  const os::MonitorLock held(*monitor_);
  size_ = 1;
  smoothed_ = 0;
}

}  // namespace lastref::backends
