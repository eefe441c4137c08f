// Matrix: every fault that is worth planning at the sites of one clean run.
//
// Pure: the same crossings, in whatever order, give the same list. So the total is known before the
// first fault strikes, and no budget changes it.
//
// A site gets
// - kill_before, kill_after, kill_before of the whole tree, and a pause after it; a call that never
//   came back in the clean run (the scenario itself kills there) has no "after";
// - kill_amid, where it writes what death can cut;
// - kill_blocked, where the crossing waited;
// - for each errno of its row fail_once and fail_always, but EINTR only once: signals without an
//   end would be a livelock of the fault model's making, and no program can get out of it;
// - fail_in_all, for each errno that may come for ever, where it is the first crossing on its
//   object of a process that is started again when it has gone: a tracker, a worker;
// - shorten, where the row's traits say that it may take or give fewer bytes;
// - time_out and time_out_always, where the crossing waited and had a limit;
// - interrupt, if it is a tracker's.
// An allocation of the product gets fail_once and fail_always with ENOMEM, and nothing else.
// Steps are no calls: they get the kills, the pause and the interrupts. For example, a clean run
// that crosses nothing but "tracker/find_lock(lock)#1" (errno ENOLCK) without waiting has eight.
#pragma once

#include <span>
#include <vector>

#include "harness/scenario/fault.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// The matrix of one scenario, sorted, each fault once.
std::vector<Fault> matrix_of(std::span<const Crossing> clean);

}  // namespace lastref::harness
