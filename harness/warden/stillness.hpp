// Stillness: whether a process tree hangs, seen from outside. All its threads wait, each without a
// limit, and each for something that only another one of them could bring.
//
// Where that is not sure, nobody hangs: what is waited for may come from others, or from a clock.
// It is sure of a lock of threads, of a child, of a file that one of the tree has locked, and of a
// pipe without a name that the program made itself; unless the process has a timer, or hears a
// signal that others may send.
// proc(5): /proc/PID/task/TID/stat and syscall
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lastref::harness::warden {

/// A thread that waits.
struct Waiting {
  int process = 0;
  int thread = 0;
  std::string call;    ///< "futex"; "a stop", by a signal
  std::string object;  ///< Of its first argument, if that is a descriptor
  std::string inside;  ///< The function of the kernel that it waits in
  bool operator==(const Waiting&) const = default;
};

/// How long all threads of a tree have waited in the same way.
class Stillness {
 public:
  explicit Stillness(std::chrono::seconds patience) noexcept : patience_(patience) {}

  /// What all threads do at this time, or that some go on. Whether they have waited so for as long
  /// as our patience.
  bool lasts(std::optional<std::vector<Waiting>> all, double seconds);
  /// Something went on.
  void renew() noexcept { before_.reset(); }

 private:
  std::chrono::duration<double> patience_;
  std::optional<std::vector<Waiting>> before_;
  double since_ = 0;
};

/// What is known of a tree.
struct Tree {
  std::vector<int> processes;
  /// What the program was started with, as "pipe:[7]": others may be at its other end.
  std::set<std::string> outside = {};
  std::set<int> clocks = {};  ///< Processes that a clock may wake which nobody sees
  std::set<int> ever = {};    ///< All that were of it, dead ones too
};

/// What all its threads do now; nothing if one of them goes on without help, or hears from others.
std::optional<std::vector<Waiting>> all_waiting(const Tree& tree);

/// The same of all of them, whatever they wait for; who runs is in no call.
std::vector<Waiting> what_all_do(const std::vector<int>& processes);

/// Whether none of them runs. Who only waits for a clock does not.
bool nobody_runs(const std::vector<Waiting>& all) noexcept;

}  // namespace lastref::harness::warden
