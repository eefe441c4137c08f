#include "harness/instrument/own_memory.hpp"

#include <algorithm>
#include <new>

namespace lastref::harness {
namespace {

/// The size that glibc's malloc uses for it: one more word before it, in steps of two words, and at
/// least four. malloc/malloc.c, "request2size"
std::uint64_t piece_of(std::size_t bytes) noexcept {
  constexpr std::size_t word = sizeof(void*);
  return std::max(4 * word, (bytes + word + 2 * word - 1) / (2 * word) * (2 * word));
}

}  // namespace

void* OwnMemory::do_allocate(std::size_t bytes, std::size_t alignment) {
  void* const memory = std::pmr::new_delete_resource()->allocate(bytes, alignment);
  in_use_ += piece_of(bytes);
  return memory;
}

void OwnMemory::do_deallocate(void* memory, std::size_t bytes, std::size_t alignment) {
  in_use_ -= piece_of(bytes);
  std::pmr::new_delete_resource()->deallocate(memory, bytes, alignment);
}

}  // namespace lastref::harness
