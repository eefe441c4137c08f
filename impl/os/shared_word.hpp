// SharedWord: a word in a shared map that processes race on.
//
// Its operations are steps, so the harness can switch or kill between any two of them; the product
// pays an empty virtual call. Nothing else touches such a word but as plain bytes, before anybody
// shares it.
#pragma once

#include <atomic>
#include <cstdint>

#include <lastref/os.hpp>

namespace lastref::os {

/// The bytes are there as long as it is used, and lie at a multiple of 8.
class SharedWord {
 public:
  SharedWord(Os& os, std::byte* at) noexcept
      : os_(os), word_(*static_cast<std::uint64_t*>(static_cast<void*>(at))) {}

  /// All that its writer did before is seen after.
  std::uint64_t load() const noexcept {
    os_.step(Step::word_load);
    return std::atomic_ref(word_).load(std::memory_order_acquire);
  }

  void store(std::uint64_t value) noexcept {
    os_.step(Step::word_store);
    std::atomic_ref(word_).store(value, std::memory_order_release);
  }

  /// Makes it `wanted` if it is `expected`, and says whether; else `expected` is what it was.
  bool change(std::uint64_t& expected, std::uint64_t wanted) noexcept {
    os_.step(Step::word_change);
    return std::atomic_ref(word_).compare_exchange_strong(
        expected, wanted, std::memory_order_acq_rel, std::memory_order_acquire);
  }

 private:
  static_assert(std::atomic_ref<std::uint64_t>::is_always_lock_free);

  Os& os_;
  std::uint64_t& word_;
};

}  // namespace lastref::os
