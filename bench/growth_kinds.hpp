// What growth does a million times: each kind of call, in a process of its own.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lastref/kernel_os.hpp>
#include <lastref/task.hpp>
#include <lastref/tracker_client.hpp>

#include "bench/growth_receiver.hpp"

namespace lastref::bench {

/// Counts the calls of a kind, and has everything looked at after the first thousand and after the
/// last.
class Calls {
 public:
  struct Plan {
    std::uint64_t first = 1000;
    std::uint64_t last = 1'000'000;
    std::chrono::seconds time_max{120};  ///< Fewer calls if they take longer.
  };
  /// `look` returns when somebody has looked at what there is after so many calls.
  Calls(const Plan& plan, std::function<void(std::uint64_t done)> look);

  /// Whether another one is to be made; `done` have been.
  bool go_on(std::uint64_t done);
  const Plan& plan() const noexcept { return plan_; }
  /// Of who counts by himself.
  void look(std::uint64_t done) { look_(done); }

 private:
  Plan plan_;
  std::function<void(std::uint64_t)> look_;
  std::chrono::steady_clock::time_point end_;
  std::chrono::steady_clock::time_point told_;
  bool is_first_over_ = false;
};

/// Where calls are made.
struct Site {
  os::KernelOs& os;
  std::shared_ptr<const Functions> functions;
  std::string folder;  ///< for files that nobody else makes
};

/// A process that leads a tree.
struct Led {
  explicit Led(const Site& site) : client(tracker::Client::lead(site.os)) {
    tree = must(client->tree());
  }
  std::shared_ptr<tracker::Client> client;
  std::string tree;
};

inline constexpr std::uint64_t unlimited = ~std::uint64_t{0};

struct Kind {
  const char* name;
  const char* what;
  std::uint64_t calls_max;  ///< More are not made, however many are wanted.
  bool is_quick;            ///< Ten thousand of them take about a second.
  void (*make)(const Site&, Calls&);
  /// Bytes that a process may keep for messages as large as they come.
  std::uint64_t buffers = 0;
  /// Bytes of pages that are free but in places: what a million results at a time leave.
  std::uint64_t fragments = 0;
};

/// All of them.
std::vector<Kind> kinds();
std::span<const Kind> kinds_of_names();
std::span<const Kind> kinds_of_calls();
std::span<const Kind> kinds_of_caches();

/// What the tasks of these kinds call.
std::shared_ptr<const Functions> functions_of_growth();

/// Bytes that the allocator has given to this process and not got back.
std::size_t live_bytes();

}  // namespace lastref::bench
