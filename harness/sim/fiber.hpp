// Fiber: a stack with its own flow of execution, for one thread of a simulated process.
//
// A SIGKILL runs no destructor, and neither does dropping a Fiber: objects on its stack are
// abandoned, and the stack returns to a pool. (boost::context::fiber would unwind it.) The Arena
// frees what the abandoned frames had on the heap.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace lastref::harness::sim {

class Stacks;

class Fiber {
 public:
  /// Nothing runs yet.
  explicit Fiber(std::function<void()> body);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// From outside: runs the body up to its next `leave` or its end.
  void enter() noexcept;
  /// From inside: returns to the caller of `enter`.
  void leave() noexcept;
  bool ended() const noexcept;

 private:
  friend class Stacks;
  friend class StacksImage;
  struct State;

  State* state_;
};

/// The stacks of fibers, which are used again. Fibers of a thread use stacks of the thread, except
/// while a StacksInUse exists.
class Stacks {
 public:
  Stacks() = default;
  Stacks(const Stacks&) = delete;
  Stacks& operator=(const Stacks&) = delete;
  /// No fiber may be left.
  ~Stacks();

  /// No fiber will continue, and none will be destroyed.
  void forget_all() noexcept;

 private:
  friend class Fiber;
  friend class StacksImage;
  struct Stack {
    std::byte* top = nullptr;
    std::size_t size = 0;           ///< bytes
    Fiber::State* fiber = nullptr;  ///< that uses it
  };

  /// The index of a stack that is free until it is given back.
  std::size_t take(Fiber::State& fiber);
  void give_back(std::size_t index) noexcept;

  std::vector<Stack> all_;
  std::vector<std::size_t> free_;
};

/// While it exists, fibers that are made in this thread use these stacks. They end before it.
class StacksInUse {
 public:
  explicit StacksInUse(Stacks& stacks) noexcept;
  StacksInUse(const StacksInUse&) = delete;
  StacksInUse& operator=(const StacksInUse&) = delete;
  ~StacksInUse();

 private:
  Stacks* before_;
};

/// A copy of the stacks of all fibers, each of which is suspended; see ArenaImage, which has the
/// rest of them.
class StacksImage {
 public:
  explicit StacksImage(const Stacks& stacks);

  /// `stacks` are the same, and none of their fibers runs. All fibers that use them now are
  /// forgotten.
  void restore(Stacks& stacks) const;
  /// bytes of memory
  std::size_t size() const noexcept;

 private:
  struct Used {
    std::size_t index = 0;
    Fiber::State* fiber = nullptr;
    std::vector<std::byte> bytes;  ///< up to the top
  };

  std::vector<Used> used_;
};

}  // namespace lastref::harness::sim
