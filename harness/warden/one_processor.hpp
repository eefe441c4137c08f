// OneProcessor: where the kernel cannot wake in turn who waits and who answers, they are put on one
// processor, as a call that stops costs several times as much across two.
#pragma once

#include <memory>
#include <optional>

namespace lastref::harness::warden {

class OneProcessor {
 public:
  OneProcessor() noexcept;
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;
  /// This thread may run where it could before.
  ~OneProcessor();

  /// This thread and a process, with all that it starts later, run on this processor alone; none:
  /// they run wherever they may.
  std::optional<int> share_with(int process) noexcept;

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

}  // namespace lastref::harness::warden
