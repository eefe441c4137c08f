// The oracles, one by one. Each is a pure function, and says all that it finds and at what it has
// looked; a finding's claim starts with the oracle's name.
#pragma once

#include <vector>

#include "harness/oracle/evidence.hpp"

namespace lastref::harness::oracle {

/// Of a run that is not judged.
inline Judgement waived(Waiver waiver) {
  return {.look = {.waiver = waiver}};
}

/// Every name that was created is removed when the last process is gone, if root or tracker lived
/// to do it, and could: no call that it takes was made to fail from then on.
Judgement no_leak(const Evidence& evidence);

/// Every name that was created is removed past the next start, whatever happened.
Judgement no_leak_at_next_start(const Evidence& evidence);

/// Names that are there past the next start.
struct Leftovers {
  std::uint32_t promised = 0;  ///< Somebody promised to remove them.
  UnpromisedCount<std::uint32_t> unpromised = {};
};
Leftovers leftovers_of(const Evidence& evidence);

/// What somebody forgot, and what an outsider put in the place of something that was identified, is
/// there past the next start, if it is among what the scenario leaves on purpose: the operation
/// `make`, or `replace`, has put it there.
Judgement stays(const Evidence& evidence);

/// At each quiet moment the tracker's counts are those that follow from what the processes did, as
/// the journal has it. What was under way may count or not; a dead process holds nothing.
Judgement refcount_exact(const Evidence& evidence);

/// No array is rebuilt of a file that its receiver could not hold, and no receiver lets go of one
/// that it has still mapped.
Judgement held_first(const Evidence& evidence);

/// No clean-up by a tracker removes what a live process holds for certain.
Judgement no_premature_unlink(const Evidence& evidence);

/// Nobody who serves as a worker is alive when its parent is dead and nothing moves any more.
Judgement workers_follow(const Evidence& evidence);

/// The run came to rest by itself.
Judgement no_hang(const Evidence& evidence);

/// No process dies of anything but what was planned.
Judgement no_crash(const Evidence& evidence);

/// A process that ends in good order has closed what it opened, and reaped its children.
Judgement no_fd_leak(const Evidence& evidence);

/// When the run is over, nothing runs.
Judgement no_stray_process(const Evidence& evidence);

/// Files are made 0600 and folders 0700, from their first instant.
Judgement is_private(const Evidence& evidence);

/// A file of an array has its final name only when it is whole: it is made under another, and the
/// one way to the final one is a rename. What an outside party writes is its own.
Judgement no_corruption(const Evidence& evidence);

// Whenever nothing moves, after a kill that leaves somebody alive, and when the run is over, what
// has its final name is whole, by a reader of our own, and has nothing in it that nobody wrote.
// What an outside party wrote over is its own.

/// The files of arrays. Where the scenario says what it sends, each has the data of something sent.
Judgement arrays_are_whole(const Evidence& evidence);
/// The files of live caches, from when their maker has one: each slot has what somebody put there.
Judgement live_caches_are_whole(const Evidence& evidence);
/// The same of preserved ones.
Judgement preserved_caches_are_whole(const Evidence& evidence);
/// The ledgers of trees: what the tracker counts is on record, and only what was cut by a kill or a
/// failed write is cut short.
Judgement ledgers_are_whole(const Evidence& evidence);

/// What callers of a cache were told has an order that write-once slots allow.
Judgement caches_are_linearizable(const Evidence& evidence);

/// An error that was put in is retried away, handled as documented, or told to somebody.
Judgement error_surfaced(const Evidence& evidence);

/// What a durable cache shows was synced before, and its place is before the word comes back.
Judgement synced_first(const Evidence& evidence);

/// With nothing wrong, what the scenario expects is said, and nothing else.
Judgement quiet(const Evidence& evidence);

/// With nothing wrong, and in the usual order, every operation does what it says, but for those
/// that the scenario means to fail, and every role ends without an error. Without this, a scenario
/// that stops at its first error would show nothing, in silence.
Judgement works(const Evidence& evidence);

/// Benign errors, short counts and signals that are ignored change no result: every answer, and
/// every file that is left, is one that a clean run has in some order. Of a pause nothing is said:
/// it is another order, and no sample of clean runs has them all. This says only whether the run is
/// judged: what clean runs come to is not in its evidence, so ComparedWorld asks `compare`.
Judgement same(const Evidence& evidence);

/// What the scenario itself found wrong.
Judgement refuted(const Evidence& evidence);

}  // namespace lastref::harness::oracle
