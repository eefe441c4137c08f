// auto_batching: the number of tasks that should travel together.
//
// A batch should take from 0.2 to 2 seconds: shorter ones are not worth the transport, longer ones
// leave workers idle at the end.
// Source: joblib _parallel_backends.py, AutoBatchingMixin.
#pragma once

#include <chrono>
#include <cstddef>
#include <memory>

#include <lastref/os.hpp>

namespace lastref::backends {

class AutoBatching {
 public:
  explicit AutoBatching(os::Os& os) : os_(os), monitor_(os.make_monitor()) {}

  /// The number of tasks for the next batch. Reports each change if `verbose` is 10 or more.
  std::size_t compute_batch_size(int verbose);
  /// Counts only batches of the current size.
  void batch_completed(std::size_t size, std::chrono::nanoseconds duration);
  void restart();

 private:
  os::Os& os_;
  std::unique_ptr<os::Monitor> monitor_;
  std::size_t size_ LASTREF_GUARDED_BY(*monitor_) = 1;
  /// Seconds; 0 before the first sample of a size.
  double smoothed_ LASTREF_GUARDED_BY(*monitor_) = 0;
};

}  // namespace lastref::backends
