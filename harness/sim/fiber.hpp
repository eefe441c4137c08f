// Fiber: a stack with its own course of execution, for one thread of a simulated process.
//
// A SIGKILL runs no destructor, so neither does dropping a Fiber: whatever lives on its stack is
// forgotten, and the stack goes back to a pool. (boost::context::fiber would unwind it.) What the
// forgotten frames had on the heap is the Arena's to take back.
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
  /// From inside: goes back to whoever entered.
  void leave() noexcept;
  bool ended() const noexcept;

 private:
  struct State;

  State* state_;
};

}  // namespace lastref::harness::sim
