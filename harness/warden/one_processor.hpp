// OneProcessor: puts the calling and the answering thread on one processor where the kernel has no
// synchronous wake-up. A call that stops costs several times as much across two processors.
#pragma once

#include <memory>
#include <optional>

namespace lastref::harness::warden {

class OneProcessor {
 public:
  OneProcessor() noexcept;
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;
  /// This thread may again run on the processors that it could use before.
  ~OneProcessor();

  /// Pins this thread and a process, with all that it starts later, to this processor. Absent: not
  /// pinned; they run wherever they may.
  std::optional<int> share_with(int process) noexcept;

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

}  // namespace lastref::harness::warden
