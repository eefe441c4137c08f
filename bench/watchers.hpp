// watchers: the warden, and other ways to watch the system calls of a program without acting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bench/measured_calls.hpp"

namespace lastref::bench {

/// Whether this machine stops calls for a supervisor, and where the caller and the supervisor run.
enum class Notification : std::uint8_t { none, between_processors, in_turn };
Notification notification_here();

/// The measured call, its count, and the call that is watched.
struct Measured {
  const MeasuredCall& call;
  std::size_t count = 0;
  const MeasuredCall& watched = call;
};

/// Starts the program that makes the call, and returns the seconds per call; nothing if that is not
/// possible here.
using Watcher = std::optional<double> (*)(const Measured& what);

std::optional<double> with_nobody(const Measured& what);
/// With a filter that allows everything: the cost of having a filter.
std::optional<double> with_a_filter(const Measured& what);
/// Receives each watched call and lets it continue: the cost of a notification.
std::optional<double> with_bare_notification(const Measured& what);
std::optional<double> with_warden(const Measured& what);
/// Stops before and after each call of any kind.
std::optional<double> with_ptrace(const Measured& what);
/// With an injection that is due after more calls than are made.
std::optional<double> with_strace(const Measured& what);
/// The same with a filter that selects the calls.
std::optional<double> with_strace_and_filter(const Measured& what);

}  // namespace lastref::bench
