// Array::Node: what the handles of one array share. It never changes, but for who wants to know of
// its end.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include <lastref/array.hpp>

namespace lastref {

namespace array {

/// What is to be done when an array ends. A stack without a lock: an array has no Os to get one
/// from.
class Endings {
 public:
  Endings() noexcept = default;
  /// A copy is another array's, whose end nobody has asked about.
  Endings(const Endings&) noexcept {}
  Endings& operator=(const Endings&) = delete;
  ~Endings() {
    for (std::unique_ptr<Each> each(top_.load()); each; each = std::move(each->below)) {
      each->action();
    }
  }

  void push(std::function<void()> action) {
    auto each = std::make_unique<Each>(Each{.action = std::move(action), .below = nullptr});
    Each* below = top_.load();
    while (!top_.compare_exchange_weak(below, each.get())) {
    }
    each->below.reset(below);
    // The stack owns it now, and only its end looks at it.
    static_cast<void>(each.release());
  }

 private:
  struct Each {
    std::function<void()> action;
    std::unique_ptr<Each> below;
  };

  std::atomic<Each*> top_ = nullptr;
};

}  // namespace array

struct Array::Node {
  DType dtype;
  Shape shape;
  Strides strides;
  std::size_t size = 0;       ///< elements
  std::byte* data = nullptr;  ///< the element at index 0
  bool writable = true;
  MemoryRef memory;
  std::shared_ptr<const Node> base = nullptr;  ///< A root; none in a root.
  mutable array::Endings endings = {};
};

}  // namespace lastref
