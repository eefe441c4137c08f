// HangDetector: decides from outside whether a process tree hangs. It hangs if all its threads wait
// without a time limit, each for an event that only another one of them could cause.
//
// If that is not certain, the tree does not count as hung: other processes or a clock may wake a
// thread. It is certain for a thread lock, a child, a file that a process of the tree has locked,
// and unnamed pipes, sockets, eventfds and semaphores that only the tree has. It is not certain if
// the process has a timer, or handles a signal that others may send. proc(5):
// /proc/PID/task/TID/stat and syscall
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "harness/warden/awaited.hpp"

namespace lastref::harness::warden {

/// A thread that waits.
struct Waiting {
  int process = 0;
  int thread = 0;
  std::string call;  ///< "futex"; "a stop", by a signal
  /// What its first argument refers to, if that is a descriptor; for poll, "pipe, pidfd"
  std::string object;
  std::string inside;                  ///< The kernel function that it waits in
  std::vector<std::string> ends = {};  ///< ends_inside
  /// Processes of the tree that have the lock, or the other end; empty: not known
  std::vector<int> holders = {};
  bool operator==(const Waiting&) const = default;
};

/// How long all threads of a tree have waited in the same way.
class HangDetector {
 public:
  explicit HangDetector(std::chrono::seconds patience) noexcept : patience_(patience) {}

  /// `all`: what all threads do at this time; absent: some of them are running. Returns whether
  /// they have waited in the same way for as long as our patience.
  bool persisted(std::optional<std::vector<Waiting>> all, double seconds);
  /// There was activity.
  void reset() noexcept { before_.reset(); }

 private:
  std::chrono::duration<double> patience_;
  std::optional<std::vector<Waiting>> before_;
  double since_ = 0;
};

/// What all its threads do now; absent if one of them runs without help, or can be woken by others.
std::optional<std::vector<Waiting>> all_waiting(const Tree& tree);

/// The same for all of them, whatever they wait for; a running thread is in no call.
std::vector<Waiting> what_all_do(const std::vector<int>& processes);

/// The objects with which these waits can be ended.
std::set<std::string> ends_of(const std::vector<Waiting>& all);

/// Whether none of them runs. A thread that only waits for a clock does not run.
bool all_blocked(const std::vector<Waiting>& all) noexcept;

}  // namespace lastref::harness::warden
