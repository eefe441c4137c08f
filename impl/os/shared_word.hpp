// SharedWord: a word in a shared map that processes race on.
//
// Its operations are steps: the harness can switch or kill between any two of them, and delay the
// visibility of a store as far as its memory order allows. The product only pays an empty virtual
// call. All other code accesses such a word as plain bytes, and only before it is shared.
#pragma once

#include <atomic>
#include <cstdint>

#include <lastref/os.hpp>

namespace lastref::os {

/// The bytes exist while this object is used, at a multiple of 8.
class SharedWord {
 public:
  SharedWord(Os& os, std::byte* at) noexcept
      : os_(os), word_(*static_cast<std::uint64_t*>(static_cast<void*>(at))) {}

  /// All that its writer did before is seen after.
  std::uint64_t load() const noexcept {
    constexpr auto order = std::memory_order_acquire;
    os_.touch({.step = Step::word_load, .at = at(), .order = order});
    return std::atomic_ref(word_).load(order);
  }

  void store(std::uint64_t value) noexcept {
    constexpr auto order = std::memory_order_release;
    os_.touch({.step = Step::word_store, .at = at(), .order = order, .wanted = value});
    std::atomic_ref(word_).store(value, order);
  }

  /// If the value is `expected`, stores `wanted` and returns true; else sets `expected` to the
  /// value.
  bool change(std::uint64_t& expected, std::uint64_t wanted) noexcept {
    constexpr auto order = std::memory_order_acq_rel;
    constexpr auto order_if_unchanged = std::memory_order_acquire;
    os_.touch({.step = Step::word_change,
               .at = at(),
               .order = order,
               .order_if_unchanged = order_if_unchanged,
               .expected = expected,
               .wanted = wanted});
    return std::atomic_ref(word_).compare_exchange_strong(
        expected, wanted, order, order_if_unchanged);
  }

 private:
  const std::byte* at() const noexcept {
    return static_cast<const std::byte*>(static_cast<const void*>(&word_));
  }

  static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

  Os& os_;
  std::uint64_t& word_;
};

}  // namespace lastref::os
