// Matrix: every fault that is worth planning at the points of one clean run.
//
// Pure: the same crossings, in whatever order, give the same list. So the total is known before the
// first fault strikes, and no budget changes it.
//
// A point gets
// - kill_before, kill_after, kill_before of the whole tree, and a pause after it; a call that never
//   came back in the clean run (the scenario itself kills there) has no "after";
// - kill_blocked, where the crossing waited;
// - for each errno of its row fail_once and fail_always, but EINTR only once: signals without an
//   end would be a livelock of the fault model's making, and no program can get out of it;
// - shorten, where the row's traits say that it may take or give fewer bytes;
// - interrupt, if it is a tracker's.
// Steps are no calls: they get the kills, the pause and the interrupts. For example, a clean run
// that crosses nothing but "tracker/find_lock(lock)#1" (errno ENOLCK) without waiting has seven.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "harness/explore/world.hpp"
#include "harness/scenario/fault.hpp"

namespace lastref::harness {

/// The matrix of one scenario, sorted, each fault once.
std::vector<Fault> matrix_of(std::span<const Crossing> clean);

/// "tracker" for "tracker#2": a role whatever its incarnation.
std::string_view base_of(std::string_view role) noexcept;
/// The column of a fault: its kind, or "kill_whole_tree".
std::string_view column_of(const Fault& fault) noexcept;

/// Planned, and struck.
struct Count {
  std::size_t total = 0;
  std::size_t executed = 0;

  bool operator==(const Count&) const = default;
};

/// Sums over matrices.
struct MatrixCount {
  Count all;
  std::map<std::string, Count, std::less<>> by_role;
  std::map<std::string, Count, std::less<>> by_fault;

  void plan(const Fault& fault);
  void execute(const Fault& fault);
  bool operator==(const MatrixCount&) const = default;
};

}  // namespace lastref::harness
