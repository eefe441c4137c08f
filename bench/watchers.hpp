// watchers: the warden, and others who watch the system calls of a program, doing nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "bench/measured_calls.hpp"

namespace lastref::bench {

/// Whether this machine stops calls for a supervisor, and who of the two runs where.
enum class Notification : std::uint8_t { none, between_processors, in_turn };
Notification notification_here();

/// What is measured, and which call the watcher is told to watch.
struct Measured {
  const MeasuredCall& call;
  std::size_t count = 0;
  const MeasuredCall& watched = call;
};

/// Each starts the program that makes the call, and says how many seconds it took each time; none
/// if that cannot be done here.
using Watcher = std::optional<double> (*)(const Measured& what);

std::optional<double> with_nobody(const Measured& what);
/// A filter that lets everything pass: what the kernel asks for having one.
std::optional<double> with_a_filter(const Measured& what);
/// Each of these calls is received, and let go: what the kernel asks for telling us of it.
std::optional<double> with_bare_notification(const Measured& what);
std::optional<double> with_warden(const Measured& what);
/// Stops before and after each call, whichever it is.
std::optional<double> with_ptrace(const Measured& what);
/// With an injection that comes after more calls than are made.
std::optional<double> with_strace(const Measured& what);
/// The same, and a filter picks the calls for it.
std::optional<double> with_strace_and_filter(const Measured& what);

}  // namespace lastref::bench
