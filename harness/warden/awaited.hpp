// awaited: the events that end a wait of a thread, and whether only processes of its tree can cause
// them. In doubt, others can. proc(5): /proc/PID/task/TID/syscall, fd and fdinfo
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace lastref::harness::warden {

/// The call that a thread is in.
struct InCall {
  int number = -1;  ///< -1: the thread is in no call.
  std::array<std::uint64_t, 6> arguments{};
};

/// What is known about a tree.
struct Tree {
  std::vector<int> processes = {};
  /// What the program was started with, such as "pipe:[7]": other processes may use its other end.
  std::set<std::string> outside = {};
  std::set<int> clocks = {};  ///< Processes that a clock may wake which cannot be seen
  std::set<int> ever = {};    ///< All processes that were ever part of it, dead ones included
  /// Semaphores of System V that it made without a key, so that others do not find them
  std::set<int> semaphores = {};
};

/// The descriptors that the call may wait for.
std::vector<int> descriptors_awaited(int process, const InCall& call);

/// Whether a time limit of the call itself ends it. The limit of a socket is not among them.
bool has_time_limit(const InCall& call) noexcept;

/// The objects with which an event of this descriptor can be caused: "pipe:[7]", "socket:[8]",
/// "eventfd 9"; none are needed for a process of the tree. Absent: others may cause one.
std::optional<std::vector<std::string>> ends_inside(int process, int descriptor, const Tree& tree);

/// The processes that can cause an event of these objects, for a thread that writes or reads.
std::vector<int> holders_of(const std::vector<std::string>& ends,
                            bool writes,
                            const std::vector<int>& processes);

/// Whether a process that is not part of the tree has one of these objects.
bool is_held_outside(const std::set<std::string>& ends, const std::vector<int>& processes);

/// Whether these signals come from children, or from a terminal, and the process has a child.
bool come_from_children(int process, std::uint64_t signals);

}  // namespace lastref::harness::warden
