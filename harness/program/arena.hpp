// Arena: memory of one run, taken back in bulk.
//
// Killed fibers of a simulation run no destructor, so what they had on the heap would leak, some
// 20 KiB a kill. While an Arena is open, `operator new` of this thread serves from one block
// instead, and closing it forgets everything at once. That is also several times faster than
// malloc, and leaves no holes in the heap: a process forked from this one fills such holes first,
// and each of them is on another page that has to be copied for it.
//
// Limits: a run must leave nothing behind that it allocated. What outlives it is allocated inside
// an ArenaPause. A function's static object that is first reached inside a run would be lost, so
// whoever opens an Arena makes one run without it first; a static on some rare path still shows as
// a crash, for the block is overwritten. In sanitizer builds nothing is replaced: the memory of
// killed fibers leaks there, and the leak checker is told so. A forked child finds the block full
// of zeros: it has to live in an ArenaPause, and to use nothing from there.
#pragma once

#include <cstddef>

namespace lastref::harness {

class Arena {
 public:
  /// Not nested. One that does not serve leaves the memory to the usual heap, and only tells the
  /// leak checker of a sanitizer that what is lost from now on is meant to be.
  explicit Arena(bool serves) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// Bytes handed out so far in the open arena, or in the last one.
  static std::size_t used() noexcept;
};

/// Whether an allocation fails; `frame` is the frame of operator new, for a walk up the stack.
using AllocationFails = bool (*)(const void* frame) noexcept;

/// From now on asked before each `operator new` of the calling thread; nullptr: none fails. Not in
/// sanitizer builds.
void decide_allocations(AllocationFails fails) noexcept;

/// Says of the calling thread, as long as it lives, whether what it allocates is the product's and
/// may be made to fail. It is, where nothing else is said; a scenario's own bookkeeping is not.
class AllocationScope {
 public:
  explicit AllocationScope(bool is_products) noexcept;
  AllocationScope(const AllocationScope&) = delete;
  AllocationScope& operator=(const AllocationScope&) = delete;
  ~AllocationScope();

  static bool is_products() noexcept;
  /// For fibers, which share a thread: exchanges what is said.
  static void swap(bool& is_products) noexcept;

 private:
  bool before_;
};

/// While it lives, allocations come from the usual heap again.
class ArenaPause {
 public:
  ArenaPause() noexcept;
  ArenaPause(const ArenaPause&) = delete;
  ArenaPause& operator=(const ArenaPause&) = delete;
  ~ArenaPause();

 private:
  bool was_open_;
};

}  // namespace lastref::harness
