#include "harness/program/arena.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <bit>
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
constexpr std::size_t small_classes = 64;  // of 16 bytes each; above, a class has twice the size
constexpr std::size_t classes = 64 + 24;
/// Freed memory is filled with it, so that a use after free is not taken for a valid value: a
/// pointer that is read there is not an address.
constexpr int poison = 0xdb;
/// The first bytes are enough.
constexpr std::size_t poisoned_max = small_classes * 16;

struct Freed {
  Freed* next;
};

// One per thread: runs do not share memory.
struct Block {
  std::byte* begin = nullptr;
  std::byte* next = nullptr;
  std::byte* end = nullptr;
  bool open = false;
  std::byte* of_thread = nullptr;  ///< For arenas without a memory of their own
  std::array<Freed*, classes> freed{};
};

thread_local constinit Block block;
thread_local constinit AllocationFails allocation_fails = nullptr;
thread_local constinit bool is_products = true;

#if !LASTREF_SANITIZED
bool holds(const void* memory) noexcept {
  return memory >= block.begin && memory < block.end;
}

std::size_t class_of(std::size_t size) noexcept {
  const std::size_t index = (size + 15U) / 16U;
  return index < small_classes
             ? index
             : small_classes + static_cast<std::size_t>(std::bit_width((size - 1) / poisoned_max));
}

std::size_t size_of(std::size_t index) noexcept {
  return index < small_classes ? index * 16U : poisoned_max << (index - small_classes);
}

// The header keeps the class, so that a plain delete can return the memory.
void* take(std::size_t size) noexcept {
  if (size > block_size) {
    return nullptr;
  }
  const std::size_t index = class_of(size);
  if (block.freed[index] != nullptr) {
    return std::exchange(block.freed[index], block.freed[index]->next);
  }
  const std::size_t rounded = size_of(index);
  if (static_cast<std::size_t>(block.end - block.next) < rounded + header_size) {
    return nullptr;
  }
  std::byte* start = block.next;
  block.next += rounded + header_size;
  *reinterpret_cast<std::size_t*>(start) = index;
  return start + header_size;
}

/// Of class 0, which is not used again: there are few.
void* take_aligned(std::size_t size, std::size_t alignment) noexcept {
  if (alignment <= header_size) {
    return take(size);
  }
  const auto space = static_cast<std::size_t>(block.end - block.next);
  if (size > space || alignment > space || size + alignment + 2 * header_size > space) {
    return nullptr;
  }
  const auto first = reinterpret_cast<std::uintptr_t>(block.next) + header_size;
  std::byte* const memory = block.next + header_size + (alignment - first % alignment) % alignment;
  *reinterpret_cast<std::size_t*>(memory - header_size) = 0;
  block.next = memory + (size + 15U) / 16U * 16U;
  return memory;
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
    std::memset(memory, poison, std::min(size_of(index), poisoned_max));
  }
  if (block.open && index > 0) {
    block.freed[index] = new (memory) Freed{block.freed[index]};
  }
}
#endif

/// Reserves the memory of a block, unless it was done.
void reserve(std::byte*& begin) noexcept {
#if !LASTREF_SANITIZED
  if (begin == nullptr) {
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
    begin = static_cast<std::byte*>(made);
  }
#else
  static_cast<void>(begin);
#endif
}

void open_block(std::byte* begin) noexcept {
  block.begin = begin;
  block.end = begin == nullptr ? nullptr : begin + block_size;
  block.next = begin;
  block.freed = {};
  block.open = true;
}

}  // namespace

ArenaMemory::~ArenaMemory() {
  if (begin_ != nullptr) {
    ::munmap(begin_, block_size);
  }
}

bool ArenaMemory::can_be_copied() noexcept {
  return LASTREF_SANITIZED == 0;
}

void ArenaMemory::reserve() noexcept {
  harness::reserve(begin_);
}

Arena::Arena(bool serves) noexcept {
  LASTREF_ASSERT(!block.open);
#if defined(__SANITIZE_ADDRESS__)
  __lsan_disable();
#endif
  if (serves) {
    reserve(block.of_thread);
    open_block(block.of_thread);
  }
}

Arena::Arena(ArenaMemory& memory) noexcept {
  LASTREF_ASSERT(!block.open);
#if defined(__SANITIZE_ADDRESS__)
  __lsan_disable();
#endif
  memory.reserve();
  open_block(memory.begin_);
}

Arena::~Arena() {
  block.open = false;
  if (block.begin != block.of_thread) {
    // Its memory may end before the thread does.
    block.begin = block.next = block.end = nullptr;
  }
#if defined(__SANITIZE_ADDRESS__)
  __lsan_enable();
#endif
}

std::size_t Arena::used() noexcept {
  return static_cast<std::size_t>(block.next - block.begin);
}

ArenaImage::ArenaImage(const ArenaImage* before) : used_(Arena::used()) {
  const std::size_t count = (used_ + page_size - 1) / page_size;
  pages_.reserve(count);
  static constexpr Page zeros{};
  for (std::size_t at = 0; at < count; ++at) {
    const std::byte* const from = block.begin + at * page_size;
    if (std::memcmp(from, zeros.data(), page_size) == 0) {
      pages_.push_back(nullptr);
      continue;
    }
    const std::shared_ptr<const Page> known =
        before == nullptr || at >= before->pages_.size() ? nullptr : before->pages_[at];
    if (known != nullptr && std::memcmp(from, known->data(), page_size) == 0) {
      pages_.push_back(known);
      continue;
    }
    auto page = std::make_shared<Page>();
    std::memcpy(page->data(), from, page_size);
    pages_.push_back(std::move(page));
    ++own_pages_;
  }
  freed_.assign(block.freed.begin(), block.freed.end());
}

void ArenaImage::restore() const noexcept {
  LASTREF_ASSERT(block.open);
  std::byte* into = block.begin;
  for (const std::shared_ptr<const Page>& page : pages_) {
    if (page == nullptr) {
      std::memset(into, 0, page_size);
    } else {
      std::memcpy(into, page->data(), page_size);
    }
    into += page_size;
  }
  block.next = block.begin + used_;
  for (std::size_t at = 0; at < freed_.size(); ++at) {
    block.freed[at] = static_cast<Freed*>(freed_[at]);
  }
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

namespace {

/// Static objects that this thread is making, one inside the other.
thread_local constinit std::size_t statics_under_way = 0;
thread_local constinit bool was_open_before_statics = false;

void static_begins() noexcept {
  if (statics_under_way++ == 0) {
    was_open_before_statics = std::exchange(block.open, false);
  }
}

void static_ends() noexcept {
  if (--statics_under_way == 0) {
    block.open = was_open_before_statics;
  }
}

}  // namespace

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
  if (lastref::harness::block.open) {
    if (void* memory = lastref::harness::take_aligned(size, step); memory != nullptr) {
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

// The linker replaces calls of __cxa_guard_acquire, with which the making of a function's static
// object begins, by the second of these, and so on: option --wrap of ld(1).
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming)
extern "C" int __real___cxa_guard_acquire(long long* guard) noexcept;
extern "C" int __wrap___cxa_guard_acquire(long long* guard) noexcept {
  const int makes = __real___cxa_guard_acquire(guard);
  if (makes != 0) {
    lastref::harness::static_begins();
  }
  return makes;
}

extern "C" void __real___cxa_guard_release(long long* guard) noexcept;
extern "C" void __wrap___cxa_guard_release(long long* guard) noexcept {
  lastref::harness::static_ends();
  __real___cxa_guard_release(guard);
}

extern "C" void __real___cxa_guard_abort(long long* guard) noexcept;
extern "C" void __wrap___cxa_guard_abort(long long* guard) noexcept {
  lastref::harness::static_ends();
  __real___cxa_guard_abort(guard);
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming)
