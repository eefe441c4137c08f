// Fiber: a stack with its own flow of execution, for one thread of a simulated process.
//
// A SIGKILL runs no destructor, and neither does dropping a Fiber: objects on its stack are
// abandoned, and the stack returns to a pool. (boost::context::fiber would unwind it.) The Arena
// frees what the abandoned frames had on the heap.
#pragma once

#include <functional>
#include <memory>

namespace lastref::harness::sim {

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
  struct State;

  State* state_;
};

}  // namespace lastref::harness::sim
