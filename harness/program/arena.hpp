// Arena: memory of one run, freed in bulk.
//
// Killed fibers of a simulation run no destructors, so their heap objects would leak, about 20 KiB
// per kill. While an Arena is open, `operator new` of this thread serves from one block instead,
// and closing it frees everything at once. That is also several times faster than malloc, and
// leaves no holes in the heap: a process forked from this one fills such holes first, and each of
// them is on another page that has to be copied for it.
//
// Limits: a run must leave nothing behind that it allocated. Allocate what outlives it inside an
// ArenaPause; a function's static object that is first reached inside a run is made in one. In
// sanitizer builds nothing is replaced: the memory of killed fibers leaks
// there, and the leak checker is told so. A forked child finds the block full of zeros: it has to
// stay in an ArenaPause, and must not use the block.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

namespace lastref::harness {

/// The memory of arenas that are open one after another, in any thread. Without one an Arena uses
/// memory of its thread, which is kept until the program ends.
class ArenaMemory {
 public:
  ArenaMemory() noexcept = default;
  ArenaMemory(const ArenaMemory&) = delete;
  ArenaMemory& operator=(const ArenaMemory&) = delete;
  ~ArenaMemory();

  /// Whether an ArenaImage can be made of it: not in sanitizer builds.
  static bool can_be_copied() noexcept;

 private:
  friend class Arena;
  void reserve() noexcept;

  std::byte* begin_ = nullptr;
};

class Arena {
 public:
  /// Not nested. An Arena that does not serve leaves the memory to the usual heap, and only makes
  /// the leak checker of a sanitizer ignore leaks from now on.
  explicit Arena(bool serves) noexcept;
  /// Serves from this memory, which outlives it.
  explicit Arena(ArenaMemory& memory) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena();

  /// Bytes handed out so far in the open arena.
  static std::size_t used() noexcept;
};

/// A copy of what an open arena has handed out. Another run that continues from there finds every
/// object at its address.
class ArenaImage {
 public:
  /// Copies the open arena. Pages that are the same as in `before` are shared with it.
  explicit ArenaImage(const ArenaImage* before);

  /// Call it while an arena with the same ArenaMemory is open: it then holds what it held.
  void restore() const noexcept;
  /// bytes of memory that it does not share
  std::size_t size() const noexcept { return own_pages_ * page_size; }

 private:
  static constexpr std::size_t page_size = 4096;
  using Page = std::array<std::byte, page_size>;

  std::vector<std::shared_ptr<const Page>> pages_;  ///< nullptr for one that is zero
  std::size_t own_pages_ = 0;
  std::size_t used_ = 0;
  std::vector<void*> freed_;
};

/// Whether an allocation fails; `frame` is the frame of operator new, for a walk up the stack.
using AllocationFails = bool (*)(const void* frame) noexcept;

/// Sets the function called before each `operator new` of the calling thread; nullptr: none fails.
/// Not in sanitizer builds.
void decide_allocations(AllocationFails fails) noexcept;

/// Sets, while it exists, whether allocations of the calling thread are the product's and may be
/// made to fail. By default they are; the bookkeeping of a scenario is not.
class AllocationScope {
 public:
  explicit AllocationScope(bool is_products) noexcept;
  AllocationScope(const AllocationScope&) = delete;
  AllocationScope& operator=(const AllocationScope&) = delete;
  ~AllocationScope();

  static bool is_products() noexcept;
  /// For fibers, which share a thread: exchanges the setting.
  static void swap(bool& is_products) noexcept;

 private:
  bool before_;
};

/// While it exists, allocations come from the usual heap again.
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
