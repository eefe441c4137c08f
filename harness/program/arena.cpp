#include "harness/program/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

#include <lastref/error.hpp>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#define LASTREF_SANITIZED 1
#elif defined(__SANITIZE_THREAD__)
#define LASTREF_SANITIZED 1
#else
#define LASTREF_SANITIZED 0
#endif

namespace lastref::harness {
namespace {

constexpr std::size_t block_size = std::size_t{1} << 28U;  // bytes; only touched pages cost memory
constexpr std::size_t header_size = 16;
constexpr std::size_t classes = 64;  // of 16 bytes each
/// Freed memory is filled with it, so that a use after free is not taken for a valid value: a
/// pointer that is read there is not an address.
constexpr int poison = 0xdb;
/// Larger blocks are not used again. Their first bytes are enough.
constexpr std::size_t poisoned_max = 64 * 16;

struct Freed {
  Freed* next;
};

// One per thread: runs do not share memory.
struct Block {
  std::byte* begin = nullptr;
  std::byte* next = nullptr;
  std::byte* end = nullptr;
  bool open = false;
  std::array<Freed*, classes> freed{};
};

thread_local constinit Block block;
thread_local constinit AllocationFails allocation_fails = nullptr;
thread_local constinit bool is_products = true;

#if !LASTREF_SANITIZED
bool holds(const void* memory) noexcept {
  return memory >= block.begin && memory < block.end;
}

// The header keeps the class, so that a plain delete can return the memory.
void* take(std::size_t size) noexcept {
  const std::size_t rounded = (size + 15U) / 16U * 16U;
  const std::size_t index = rounded / 16U;
  if (index < classes && block.freed[index] != nullptr) {
    return std::exchange(block.freed[index], block.freed[index]->next);
  }
  if (static_cast<std::size_t>(block.end - block.next) < rounded + header_size) {
    return nullptr;
  }
  std::byte* start = block.next;
  block.next += rounded + header_size;
  *reinterpret_cast<std::size_t*>(start) = index;
  return start + header_size;
}

/// Throws if this allocation is to fail. The deciding function may allocate freely.
void let_fail(const void* frame) {
  if (!is_products) {
    return;
  }
  if (AllocationFails fails = std::exchange(allocation_fails, nullptr); fails != nullptr) {
    const bool is_failure = fails(frame);
    allocation_fails = fails;
    if (is_failure) {
      throw std::bad_alloc();
    }
  }
}

void give_back(void* memory) noexcept {
  std::byte* start = static_cast<std::byte*>(memory) - header_size;
  const std::size_t index = *reinterpret_cast<std::size_t*>(start);
  if (index > 0) {
    std::memset(memory, poison, std::min(index * 16U, poisoned_max));
  }
  if (block.open && index > 0 && index < classes) {
    block.freed[index] = new (memory) Freed{block.freed[index]};
  }
}
#endif

}  // namespace

Arena::Arena(bool serves) noexcept {
  LASTREF_ASSERT(!block.open);
#if defined(__SANITIZE_ADDRESS__)
  __lsan_disable();
#endif
  if (!serves) {
    return;
  }
#if !LASTREF_SANITIZED
  if (block.begin == nullptr) {
    void* const made = ::mmap(nullptr,
                              block_size,
                              PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                              -1,
                              0);
    LASTREF_ASSERT(made != MAP_FAILED);
    // A forked child does not use it, and a fork copies the page tables of all other memory.
    // madvise(2)
    ::madvise(made, block_size, MADV_WIPEONFORK);
    block.begin = static_cast<std::byte*>(made);
    block.end = block.begin + block_size;
  }
#endif
  block.next = block.begin;
  block.freed = {};
  block.open = true;
}

Arena::~Arena() {
  block.open = false;
#if defined(__SANITIZE_ADDRESS__)
  __lsan_enable();
#endif
}

std::size_t Arena::used() noexcept {
  return static_cast<std::size_t>(block.next - block.begin);
}

void decide_allocations(AllocationFails fails) noexcept {
  allocation_fails = fails;
}

AllocationScope::AllocationScope(bool is_products) noexcept
    : before_(std::exchange(harness::is_products, is_products)) {}

AllocationScope::~AllocationScope() {
  harness::is_products = before_;
}

bool AllocationScope::is_products() noexcept {
  return harness::is_products;
}

void AllocationScope::swap(bool& is_products) noexcept {
  std::swap(harness::is_products, is_products);
}

ArenaPause::ArenaPause() noexcept : was_open_(std::exchange(block.open, false)) {}

ArenaPause::~ArenaPause() {
  block.open = was_open_;
}

}  // namespace lastref::harness

#if !LASTREF_SANITIZED
// The other forms of new and delete in the C++ library call these.

void* operator new(std::size_t size) {
  lastref::harness::let_fail(__builtin_frame_address(0));
  if (lastref::harness::block.open) {
    if (void* memory = lastref::harness::take(size); memory != nullptr) {
      return memory;
    }
  }
  if (void* memory = std::malloc(size == 0 ? 1 : size); memory != nullptr) {
    return memory;
  }
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept {
  if (memory == nullptr) {
    return;
  }
  if (lastref::harness::holds(memory)) {
    lastref::harness::give_back(memory);
  } else {
    std::free(memory);
  }
}

void operator delete(void* memory, std::size_t) noexcept {
  operator delete(memory);
}

void* operator new(std::size_t size, std::align_val_t alignment) {
  lastref::harness::let_fail(__builtin_frame_address(0));
  const auto step = static_cast<std::size_t>(alignment);
  // Resources of std::pmr give the alignment of all that they allocate.
  if (lastref::harness::block.open && step <= lastref::harness::header_size) {
    if (void* memory = lastref::harness::take(size); memory != nullptr) {
      return memory;
    }
  }
  void* memory = std::aligned_alloc(step, (size + step - 1) / step * step);
  if (memory == nullptr) {
    throw std::bad_alloc();
  }
  return memory;
}

void operator delete(void* memory, std::align_val_t) noexcept {
  operator delete(memory);
}

void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  operator delete(memory);
}
#endif
