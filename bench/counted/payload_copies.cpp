// payload_copies: counts copies in memory, in a program that is linked with wrapped copying
// functions (ld(1), --wrap).
//
// The compiler generates a call for every copy of unknown size, and for every large one. A copy of
// less than a page does not count as a payload: it may also be a name or a message.
#include <cstddef>

#include "bench/counted/mark.hpp"

namespace {

constexpr std::size_t payload_size_min = 4096;  // bytes

void count(std::size_t size) noexcept {
  if (size >= payload_size_min) {
    lastref::bench::own_counts.copies.fetch_add(1, std::memory_order_relaxed);
    lastref::bench::own_counts.copied.fetch_add(size, std::memory_order_relaxed);
  }
}

}  // namespace

// The linker requires these names.
// NOLINTBEGIN(bugprone-reserved-identifier,readability-identifier-naming)
extern "C" {
void* __real_memcpy(void* to, const void* from, std::size_t size);
void* __real_memmove(void* to, const void* from, std::size_t size);

void* __wrap_memcpy(void* to, const void* from, std::size_t size);
void* __wrap_memmove(void* to, const void* from, std::size_t size);

void* __wrap_memcpy(void* to, const void* from, std::size_t size) {
  count(size);
  return __real_memcpy(to, from, size);
}

void* __wrap_memmove(void* to, const void* from, std::size_t size) {
  count(size);
  return __real_memmove(to, from, size);
}
}
// NOLINTEND(bugprone-reserved-identifier,readability-identifier-naming)
