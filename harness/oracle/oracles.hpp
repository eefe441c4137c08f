// The oracles. Each is a pure function that returns its findings and what it has checked; the claim
// of a finding starts with the name of the oracle.
#pragma once

#include <vector>

#include "harness/oracle/evidence.hpp"

namespace lastref::harness::oracle {

/// The judgement on a run that is not judged.
inline Judgement waived(Waiver waiver) {
  return {.look = {.waiver = waiver}};
}

/// Every name that was created is removed when the last process has ended, if root or tracker
/// survived and could do it: no call needed for that failed permanently.
Judgement no_leak(const Evidence& evidence);

/// Every name that was created is removed after the next start, whatever happened.
Judgement no_leak_at_next_start(const Evidence& evidence);

/// Names that remain after the next start.
struct Leftovers {
  std::uint32_t promised = 0;  ///< The product promised to remove them.
  UnpromisedCount<std::uint32_t> unpromised = {};
};
Leftovers leftovers_of(const Evidence& evidence);

/// A name that was forgotten, or that an outsider replaced after it was identified, still exists
/// after the next start, if the scenario leaves it on purpose. The operation `make`, or `replace`,
/// has created it.
Judgement stays(const Evidence& evidence);

/// At each quiet moment the tracker's counts agree with the operations of the processes in the
/// journal. Operations in progress may count or not; a dead process holds nothing.
Judgement refcount_exact(const Evidence& evidence);

/// A receiver rebuilds no array from a file that it could not hold, and releases no file that it
/// still has mapped.
Judgement held_first(const Evidence& evidence);

/// A tracker removes nothing that a live process certainly holds.
Judgement no_premature_unlink(const Evidence& evidence);

/// No worker is alive when its parent is dead and no process of the run can continue.
Judgement workers_follow(const Evidence& evidence);

/// The run ended by itself.
Judgement no_hang(const Evidence& evidence);

/// A process dies only of planned faults.
Judgement no_crash(const Evidence& evidence);

/// A process that ends in an orderly way has closed what it opened, and reaped its children.
Judgement no_fd_leak(const Evidence& evidence);

/// When the run is over, no process remains.
Judgement no_stray_process(const Evidence& evidence);

/// Files are created with mode 0600 and folders with 0700, from the start.
Judgement is_private(const Evidence& evidence);

/// A file of an array has its final name only when it is whole: it is created under another name
/// and renamed. Writes by an outside party are exempt.
Judgement no_corruption(const Evidence& evidence);

// At quiet moments, after a kill that leaves a process alive, and when the run is over, each file
// under its final name is whole according to our own reader, and contains only what was written.
// Files that an outside party overwrote are exempt.

/// The files of arrays. If the scenario announces what it sends, each has the data of something
/// sent.
Judgement arrays_are_whole(const Evidence& evidence);
/// The files of live caches, as soon as their maker has made them: each slot has a value that was
/// put there.
Judgement live_caches_are_whole(const Evidence& evidence);
/// The same for preserved caches.
Judgement preserved_caches_are_whole(const Evidence& evidence);
/// The ledgers of trees: what the tracker counts is recorded, and only a record that a kill or a
/// failed write interrupted is cut short.
Judgement ledgers_are_whole(const Evidence& evidence);

/// The answers of a cache to its callers have an order that write-once slots allow.
Judgement caches_are_linearizable(const Evidence& evidence);

/// An injected error is retried, handled as documented, or reported.
Judgement error_surfaced(const Evidence& evidence);

/// A durable cache syncs a value before others see it, and its place before the operation returns.
Judgement synced_first(const Evidence& evidence);

/// In an undisturbed run the expected messages are written, and no others.
Judgement quiet(const Evidence& evidence);

/// In an undisturbed run in the usual order every operation does what it promises, except those
/// that the scenario means to fail, and every role ends without an error. Without this oracle a
/// scenario that stops at its first error would silently test nothing.
Judgement works(const Evidence& evidence);

/// Benign errors, short counts and ignored signals change no result: every answer, and every
/// leftover file, also occurs in a clean run in some order. A pause is not judged: it is another
/// order, and no sample of clean runs has all orders. This function decides only whether the run is
/// judged: the results of clean runs are not in its evidence, so ComparedWorld calls `compare`.
Judgement same(const Evidence& evidence);

/// The findings of the scenario itself.
Judgement refuted(const Evidence& evidence);

}  // namespace lastref::harness::oracle
