// growth_kinds: the kinds of calls that growth makes a million times, each in a process of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>

#include <lastref/kernel_os.hpp>
#include <lastref/task.hpp>

#include "bench/other_process.hpp"

namespace lastref::bench {

/// Counts the calls of a kind, and has everything examined after the first thousand and the last.
class Calls {
 public:
  struct Plan {
    std::uint64_t first = 1000;
    std::uint64_t last = 1'000'000;
    std::chrono::seconds time_max{120};  ///< Fewer calls if they take longer.
  };
  /// `inspect` returns when the state after `done` calls has been examined.
  Calls(const Plan& plan, std::function<void(std::uint64_t done)> inspect);

  /// Whether to make another call; `done` calls have been made.
  bool go_on(std::uint64_t done);
  const Plan& plan() const noexcept { return plan_; }
  /// For callers that count their calls themselves.
  void inspect(std::uint64_t done) { inspect_(done); }

 private:
  Plan plan_;
  std::function<void(std::uint64_t)> inspect_;
  std::chrono::steady_clock::time_point end_;
  std::chrono::steady_clock::time_point told_;
  bool is_first_over_ = false;
};

/// Where calls are made.
struct Site {
  os::KernelOs& os;
  std::shared_ptr<const Functions> functions;
  std::string folder;  ///< for files of this kind only
};

inline constexpr std::uint64_t unlimited = ~std::uint64_t{0};

struct CallKind {
  const char* name;
  const char* what;
  std::uint64_t calls_max;  ///< An upper limit, however many are requested.
  bool is_quick;            ///< Ten thousand of them take about a second.
  void (*make)(const Site&, Calls&);
  /// Bytes that a process may keep in buffers for large messages.
  std::uint64_t buffers = 0;
  /// Bytes of fragmented pages that a million simultaneous results may leave.
  std::uint64_t fragments = 0;
};

std::span<const CallKind> kinds();

/// Receives arrays, and holds and releases references, for a sender at the other end of standard
/// input and output, until the sender ends.
int receive_for(os::Os& os, const std::string& tree);

/// The functions that the tasks of these kinds call.
std::shared_ptr<const Functions> functions_of_growth();

/// Bytes that this process has allocated and not freed.
std::size_t live_bytes();

}  // namespace lastref::bench
