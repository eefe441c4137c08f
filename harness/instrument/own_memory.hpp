// OwnMemory: heap that the harness uses in a process of a run, counted to distinguish it from the
// product's.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory_resource>

namespace lastref::harness {

class OwnMemory final : public std::pmr::memory_resource {
 public:
  /// bytes of the heap, including the overhead of malloc
  std::uint64_t in_use() const noexcept { return in_use_; }

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override;
  void do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) override;
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
    return this == &other;
  }

  std::atomic<std::uint64_t> in_use_ = 0;
};

}  // namespace lastref::harness
