#include "harness/sim/fiber.hpp"

#include <cxxabi.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>

#include <boost/context/fiber.hpp>
#include <boost/context/protected_fixedsize_stack.hpp>

#include <lastref/error.hpp>

#include "harness/program/arena.hpp"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#endif

namespace lastref::harness::sim {
namespace {

using Context = boost::context::fiber;
using StackMemory = boost::context::stack_context;

constexpr std::size_t stack_size = 256UL * 1024;

thread_local constinit Stacks* in_use = nullptr;

Stacks& stacks_in_use() {
  thread_local Stacks of_thread;
  return in_use == nullptr ? of_thread : *in_use;
}

struct NoDeallocation {
  StackMemory allocate() const noexcept { return {}; }
  void deallocate(StackMemory&) const noexcept {}
};

/// The place on its stack where a context is suspended; nullptr if it is not. A context is a
/// pointer to it: boost/context/fiber_fcontext.hpp
const std::byte* place_of(const Context& context) noexcept {
  static_assert(sizeof(Context) == sizeof(void*));
  const std::byte* place = nullptr;
  std::memcpy(&place, &context, sizeof(place));
  return place;
}

// Keeps the context suspended permanently: nothing on its stack is unwound.
void forget(Context&& context) noexcept {
  alignas(Context) std::byte storage[sizeof(Context)];
  new (storage) Context(std::move(context));
}

}  // namespace

/// The exception state of a thread, as the C++ ABI lays it out: each fiber has its own.
/// itanium-cxx-abi, "Exception Handling", 2.2.2
struct Exceptions {
  void* caught = nullptr;
  unsigned uncaught = 0;
};

struct Fiber::State {
  explicit State(std::function<void()> the_body)
      : body(std::move(the_body)), stacks(stacks_in_use()), stack(stacks.take(*this)) {
    memory.sp = stacks.all_[stack].top;
    memory.size = stacks.all_[stack].size;
  }

  std::function<void()> body;
  Stacks& stacks;
  std::size_t stack;  ///< index
  StackMemory memory;
  Context inside;
  Context outside;
  bool ended = false;
  Exceptions exceptions_elsewhere;    ///< While it runs, the state outside; otherwise its own.
  bool is_products_elsewhere = true;  ///< The same for its AllocationScope.
#if defined(__SANITIZE_ADDRESS__)
  void* fake_inside = nullptr;
  void* fake_outside = nullptr;
  const void* outside_bottom = nullptr;
  std::size_t outside_size = 0;
#endif
#if defined(__SANITIZE_THREAD__)
  void* tsan_inside = __tsan_create_fiber(0);
  void* tsan_outside = nullptr;
#endif

  Context run(Context&& from) noexcept {
    outside = std::move(from);
    arrived_inside();
    body();
    ended = true;
    go_out();
    LASTREF_ASSERT(false);
  }

  void arrived_inside() noexcept {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_inside, &outside_bottom, &outside_size);
#endif
  }

  void go_out() noexcept {
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_start_switch_fiber(&fake_inside, outside_bottom, outside_size);
#endif
#if defined(__SANITIZE_THREAD__)
    __tsan_switch_to_fiber(tsan_outside, 0);
#endif
    outside = std::move(outside).resume();
    arrived_inside();
  }

  // Not inlined: another thread may return from the switch between two of these calls, so their
  // caller must not keep the address of what a thread has.
  [[gnu::noinline]] void swap_what_threads_have() noexcept {
    std::swap(*reinterpret_cast<Exceptions*>(abi::__cxa_get_globals()), exceptions_elsewhere);
    AllocationScope::swap(is_products_elsewhere);
  }

  void go_in() noexcept {
#if defined(__SANITIZE_ADDRESS__)
    const char* bottom = static_cast<char*>(memory.sp) - memory.size;
    __sanitizer_start_switch_fiber(&fake_outside, bottom, memory.size);
#endif
#if defined(__SANITIZE_THREAD__)
    tsan_outside = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(tsan_inside, 0);
#endif
    swap_what_threads_have();
    inside = std::move(inside).resume();
    swap_what_threads_have();
#if defined(__SANITIZE_ADDRESS__)
    __sanitizer_finish_switch_fiber(fake_outside, nullptr, nullptr);
#endif
  }
};

Fiber::Fiber(std::function<void()> body) : state_(new State(std::move(body))) {
  const StackMemory& memory = state_->memory;
  state_->inside =
      Context(std::allocator_arg,
              boost::context::preallocated(memory.sp, memory.size, memory),
              NoDeallocation{},
              [state = state_](Context&& from) { return state->run(std::move(from)); });
}

Fiber::~Fiber() {
  forget(std::move(state_->inside));
  forget(std::move(state_->outside));
#if defined(__SANITIZE_THREAD__)
  __tsan_destroy_fiber(state_->tsan_inside);
#endif
  state_->stacks.give_back(state_->stack);
  if (state_->ended) {
    delete state_;
  }
  // Otherwise it is abandoned with its body; a killed process would not destroy the captures
  // either.
}

void Fiber::enter() noexcept {
  LASTREF_ASSERT(!state_->ended);
  state_->go_in();
}

void Fiber::leave() noexcept {
  state_->go_out();
}

bool Fiber::ended() const noexcept {
  return state_->ended;
}

Stacks::~Stacks() {
  for (const Stack& each : all_) {
    StackMemory memory;
    memory.sp = each.top;
    memory.size = each.size;
    boost::context::protected_fixedsize_stack(stack_size).deallocate(memory);
  }
}

std::size_t Stacks::take(Fiber::State& fiber) {
  const ArenaPause outlives_the_run;
  if (free_.empty()) {
    const StackMemory made = boost::context::protected_fixedsize_stack(stack_size).allocate();
    free_.push_back(all_.size());
    all_.push_back({.top = static_cast<std::byte*>(made.sp), .size = made.size});
    free_.reserve(all_.size());  // To be given back without an allocation.
  }
  const std::size_t index = free_.back();
  free_.pop_back();
  all_[index].fiber = &fiber;
#if defined(__SANITIZE_ADDRESS__)
  // Abandoned frames have left their red zones.
  __asan_unpoison_memory_region(all_[index].top - all_[index].size, all_[index].size);
#endif
  return index;
}

void Stacks::give_back(std::size_t index) noexcept {
  all_[index].fiber = nullptr;
  free_.push_back(index);
}

void Stacks::forget_all() noexcept {
  free_.clear();
  for (std::size_t index = all_.size(); index > 0; --index) {
    all_[index - 1].fiber = nullptr;
    free_.push_back(index - 1);
  }
}

StacksInUse::StacksInUse(Stacks& stacks) noexcept : before_(std::exchange(in_use, &stacks)) {}

StacksInUse::~StacksInUse() {
  in_use = before_;
}

StacksImage::StacksImage(const Stacks& stacks) {
  std::vector<const std::byte*> suspended;
  for (const Stacks::Stack& each : stacks.all_) {
    if (each.fiber != nullptr) {
      suspended.push_back(place_of(each.fiber->inside));
      suspended.push_back(place_of(each.fiber->outside));
    }
  }
  for (std::size_t index = 0; index < stacks.all_.size(); ++index) {
    const Stacks::Stack& stack = stacks.all_[index];
    if (stack.fiber == nullptr) {
      continue;
    }
    Used& used = used_.emplace_back();
    used.index = index;
    used.fiber = stack.fiber;
    // A fiber that has entered another one is suspended in that.
    const auto place = std::ranges::find_if(suspended, [&](const std::byte* each) {
      return each > stack.top - stack.size && each < stack.top;
    });
    if (place != suspended.end()) {
      used.bytes.assign(*place, static_cast<const std::byte*>(stack.top));
    }
  }
}

void StacksImage::restore(Stacks& stacks) const {
  stacks.forget_all();
  for (const Used& used : used_) {
    Stacks::Stack& stack = stacks.all_[used.index];
    stack.fiber = used.fiber;
    std::ranges::copy(used.bytes, stack.top - used.bytes.size());
  }
  std::erase_if(stacks.free_,
                [&](std::size_t index) { return stacks.all_[index].fiber != nullptr; });
}

std::size_t StacksImage::size() const noexcept {
  std::size_t sum = 0;
  for (const Used& each : used_) {
    sum += each.bytes.size();
  }
  return sum;
}

}  // namespace lastref::harness::sim
