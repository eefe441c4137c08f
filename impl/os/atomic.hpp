// Atomic: a std::atomic that threads of one process race on.
//
// Its operations are steps, as those of a SharedWord, so that the harness can switch threads
// between any two of them. The product only pays an empty virtual call.
#pragma once

#include <atomic>

#include <lastref/os.hpp>

namespace lastref::os {

template <typename T>
class Atomic {
 public:
  Atomic(Os& os, T value) noexcept : os_(os), value_(value) {}

  T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    return accessed(/*writes=*/false).load(order);
  }
  void store(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    accessed(/*writes=*/true).store(value, order);
  }
  T exchange(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return accessed(/*writes=*/true).exchange(value, order);
  }
  T fetch_add(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return accessed(/*writes=*/true).fetch_add(value, order);
  }
  T fetch_sub(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return accessed(/*writes=*/true).fetch_sub(value, order);
  }
  T fetch_or(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return accessed(/*writes=*/true).fetch_or(value, order);
  }
  T fetch_and(T value, std::memory_order order = std::memory_order_seq_cst) noexcept {
    return accessed(/*writes=*/true).fetch_and(value, order);
  }
  /// If the value is `expected`, stores `wanted` and returns true; else sets `expected` to it.
  bool change(T& expected,
              T wanted,
              std::memory_order order = std::memory_order_seq_cst,
              std::memory_order order_if_unchanged = std::memory_order_seq_cst) noexcept {
    return accessed(/*writes=*/true)
        .compare_exchange_strong(expected, wanted, order, order_if_unchanged);
  }

 private:
  std::atomic<T>& accessed(bool writes) const noexcept {
    os_.access_atomic(&value_, writes);
    return value_;
  }

  Os& os_;
  mutable std::atomic<T> value_;
};

}  // namespace lastref::os
