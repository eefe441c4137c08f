// OneProcessor: puts threads that take turns on one processor. A message to a thread on another one
// costs several times as much.
#pragma once

#include <memory>
#include <optional>

namespace lastref::harness {

class OneProcessor {
 public:
  OneProcessor() noexcept;
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;
  /// This thread may again run on the processors that it could use before.
  ~OneProcessor();

  /// Pins this thread and a process, with all that they start later, to this processor. Absent: not
  /// pinned; they run wherever they may.
  std::optional<int> share_with(int process) noexcept;
  /// The same without another process.
  std::optional<int> stay() noexcept { return share_with(0); }

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

}  // namespace lastref::harness
