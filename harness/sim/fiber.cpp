#include "harness/sim/fiber.hpp"

#include <cxxabi.h>

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

// A free stack stores the pool's list node at its own top, so the pool allocates nothing.
struct Spare {
  StackMemory memory;
  Spare* next = nullptr;
};
thread_local constinit Spare* spares = nullptr;

StackMemory take_stack() {
  if (spares == nullptr) {
    return boost::context::protected_fixedsize_stack(stack_size).allocate();
  }
  const StackMemory memory = spares->memory;
  spares = spares->next;
#if defined(__SANITIZE_ADDRESS__)
  // Abandoned frames have left their red zones.
  __asan_unpoison_memory_region(static_cast<char*>(memory.sp) - memory.size, memory.size);
#endif
  return memory;
}

void give_back(const StackMemory& memory) noexcept {
#if defined(__SANITIZE_ADDRESS__)
  __asan_unpoison_memory_region(static_cast<char*>(memory.sp) - memory.size, memory.size);
#endif
  void* top = static_cast<char*>(memory.sp) - 256;
  spares = new (top) Spare{memory, spares};
}

struct NoDeallocation {
  StackMemory allocate() const noexcept { return {}; }
  void deallocate(StackMemory&) const noexcept {}
};

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
  explicit State(std::function<void()> the_body) : body(std::move(the_body)) {}

  std::function<void()> body;
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

  void swap_what_threads_have() noexcept {
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
  state_->memory = take_stack();
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
  give_back(state_->memory);
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

}  // namespace lastref::harness::sim
