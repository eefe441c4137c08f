// Matrix: all useful faults at the sites of one clean run.
//
// Pure: the same crossings, in any order, give the same list. So the total is known before the
// first fault is injected, and no budget changes it.
//
// A site gets
// - kill_before, kill_after, kill_before of the whole tree, and a pause after it; a call that never
//   returned in the clean run (the scenario itself kills there) has no "after";
// - kill_amid, where it writes bytes that a death can cut;
// - kill_blocked, where the crossing waited;
// - for each errno of its row fail_once and fail_always, but EINTR only once: endless signals would
//   be a livelock caused by the fault model, and no program can escape it;
// - fail_in_all, for each errno that may come permanently, where it is the first crossing on its
//   object of a process that is restarted after its death: a tracker, a worker;
// - shorten, where the row's traits allow fewer bytes;
// - time_out and time_out_always, where the crossing waited and had a time limit;
// - interrupt, in a tracker.
// An allocation of the product gets only fail_once and fail_always with ENOMEM. Steps are no calls:
// they get the kills, the pause and the interrupts. For example, a clean run with the single
// crossing "tracker/find_lock(lock)#1" (errno ENOLCK), which did not wait, has eight faults.
#pragma once

#include <span>
#include <vector>

#include "harness/scenario/fault.hpp"
#include "harness/scenario/world.hpp"

namespace lastref::harness {

/// The matrix of one scenario, sorted, without duplicates.
std::vector<Fault> matrix_of(std::span<const Crossing> clean);

}  // namespace lastref::harness
