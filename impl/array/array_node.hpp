// Array::Node: the shared state of the handles of one array. It never changes, except for the
// actions at its end.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include <lastref/array.hpp>

namespace lastref {

namespace array {

/// The actions at the end of an array. A stack without a lock: an array has no Os to get one from,
/// and in a forked child it could be held permanently. A push removes the actions of listeners that
/// no longer exist, so that an array may outlive any number of listeners.
class Endings {
 public:
  Endings() noexcept = default;
  /// A copy belongs to another array, which has no actions yet.
  Endings(const Endings&) noexcept {}
  Endings& operator=(const Endings&) = delete;
  ~Endings() {
    for (std::unique_ptr<Each> each(top_.load()); each; each = std::move(each->below)) {
      each->action();
    }
  }

  void push(std::function<void()> action, std::optional<std::weak_ptr<const void>> listener) {
    // Allocates first: if that fails, the other actions are still in the stack.
    auto made = std::make_unique<Each>(
        Each{.action = std::move(action), .listener = std::move(listener), .below = nullptr});
    std::unique_ptr<Each> waiting(top_.exchange(nullptr));
    for (std::unique_ptr<Each>* at = &waiting; *at;) {
      const auto& who = (*at)->listener;
      if (who && who->expired()) {
        *at = std::move((*at)->below);
      } else {
        at = &(*at)->below;
      }
    }
    made->below = std::move(waiting);
    put(std::move(made));
  }

 private:
  struct Each {
    std::function<void()> action;
    std::optional<std::weak_ptr<const void>> listener;
    std::unique_ptr<Each> below;
  };

  /// Puts them on top of what others have pushed meanwhile.
  void put(std::unique_ptr<Each> first) {
    Each* last = first.get();
    while (last->below) {
      last = last->below.get();
    }
    Each* below = top_.load();
    do {
      static_cast<void>(last->below.release());
      last->below.reset(below);
    } while (!top_.compare_exchange_weak(below, first.get()));
    // The stack owns it now.
    static_cast<void>(first.release());
  }

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
