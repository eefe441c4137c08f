#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include <lastref/array.hpp>

#include "impl/array/elements.hpp"
#include "impl/array/layout.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

constexpr std::size_t compared_at_once = std::size_t{8} * 1024;  // bytes

tl::unexpected<Error> wrong(const char* reason) {
  return failure(std::errc::invalid_argument, reason);
}

tl::unexpected<Error> outside(const char* reason) {
  return failure(std::errc::result_out_of_range, reason);
}

/// An index of an axis, counted from its start.
Result<std::ptrdiff_t> index_along(std::size_t length, std::ptrdiff_t index) {
  const auto end = static_cast<std::ptrdiff_t>(length);
  if (index < -end || index >= end) {
    return outside("an index beyond its axis");
  }
  return index < 0 ? index + end : index;
}

}  // namespace

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
      const auto& its_listener = (*at)->listener;
      if (its_listener && its_listener->expired()) {
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

/// The shared state of the handles of one array. Only the actions at its end ever change.
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

Result<Array> Array::over(MemoryRef memory, Layout layout) {
  return os::within_memory("an array", [&]() -> Result<Array> {
    const std::size_t itemsize = layout.dtype.itemsize();
    LASTREF_TRY(size, array::size_of(layout.shape, itemsize));
    if (layout.strides && layout.strides->size() != layout.shape.size()) {
      return failure(std::errc::invalid_argument, "not one stride for each axis");
    }
    Strides strides = layout.strides
                          ? std::move(*layout.strides)
                          : array::contiguous_strides(layout.shape, itemsize, layout.order);
    const os::Buffer bytes = memory->bytes();
    const auto extent = array::extent_of(layout.shape, strides, itemsize);
    const bool inside = extent && layout.offset <= bytes.size() &&
                        extent->low >= -static_cast<std::ptrdiff_t>(layout.offset) &&
                        extent->high <= static_cast<std::ptrdiff_t>(bytes.size() - layout.offset);
    if (!inside) {
      return failure(std::errc::result_out_of_range, "an element outside of the memory");
    }
    const bool writable = memory->writable();
    return Array(std::make_shared<const Node>(Node{.dtype = std::move(layout.dtype),
                                                   .shape = std::move(layout.shape),
                                                   .strides = std::move(strides),
                                                   .size = size,
                                                   .data = bytes.data() + layout.offset,
                                                   .writable = writable,
                                                   .memory = std::move(memory)}));
  });
}

Result<Array> Array::fresh(Result<MemoryRef> (*make)(std::size_t), Layout layout) {
  LASTREF_TRY(size, array::size_of(layout.shape, layout.dtype.itemsize()));
  LASTREF_TRY(memory, make(size * layout.dtype.itemsize()));
  return over(std::move(memory), std::move(layout));
}

Result<Array> Array::zeros(DType dtype, Shape shape, Order order) {
  return fresh(Memory::zeros,
               {.dtype = std::move(dtype), .shape = std::move(shape), .order = order});
}

const DType& Array::dtype() const noexcept {
  return node_->dtype;
}

const Shape& Array::shape() const noexcept {
  return node_->shape;
}

const Strides& Array::strides() const noexcept {
  return node_->strides;
}

std::size_t Array::size() const noexcept {
  return node_->size;
}

bool Array::is_contiguous(Order order) const noexcept {
  return array::is_contiguous(shape(), strides(), dtype().itemsize(), order);
}

bool Array::writable() const noexcept {
  return node_->writable && !is_read_only_;
}

bool Array::is_shared() const noexcept {
  const std::optional<FileMap>& file = node_->memory->file();
  return file ? file->mode == MapMode::read_write || file->mode == MapMode::create
              : node_->memory->origin() == Origin::anonymous_map;
}

Array Array::read_only() const noexcept {
  return Array(node_, /*is_read_only=*/true);
}

const std::byte* Array::data() const noexcept {
  return node_->data;
}

Result<std::byte*> Array::mutable_data() const {
  if (!writable()) {
    return failure(std::errc::permission_denied, "a store to an array that may only be read");
  }
  return node_->data;
}

std::size_t Array::offset() const noexcept {
  return static_cast<std::size_t>(node_->data - node_->memory->bytes().data());
}

os::Bytes Array::bounds() const noexcept {
  const auto extent = array::extent_of(shape(), strides(), dtype().itemsize());
  LASTREF_ASSERT(extent.has_value());
  return {data() + extent->low, static_cast<std::size_t>(extent->high - extent->low)};
}

const MemoryRef& Array::memory() const noexcept {
  return node_->memory;
}

std::optional<Array> Array::base() const {
  return node_->base ? std::optional(Array(node_->base, is_read_only_)) : std::nullopt;
}

std::weak_ptr<const void> Array::identity() const noexcept {
  return std::weak_ptr<const void>(std::shared_ptr<const void>(node_));
}

Status Array::when_gone(std::function<void()> action,
                        std::optional<std::weak_ptr<const void>> listener) const {
  return os::within_memory("an action", [&]() -> Status {
    node_->endings.push(std::move(action), std::move(listener));
    return ok();
  });
}

Result<Array> Array::copy(Order order) const {
  return os::within_memory("an array", [&]() -> Result<Array> {
    LASTREF_TRY(made,
                fresh(Memory::uninitialized, {.dtype = dtype(), .shape = shape(), .order = order}));
    array::ElementStream(*this, order).read(made.memory()->bytes());
    return made;
  });
}

bool contents_equal(const Array& one, const Array& other) {
  if (!(one.dtype() == other.dtype()) || one.shape() != other.shape()) {
    return false;
  }
  array::ElementStream left(one, Order::c);
  array::ElementStream right(other, Order::c);
  std::array<std::byte, compared_at_once> first;
  std::array<std::byte, compared_at_once> second;
  for (;;) {
    const std::size_t size = left.read(first);
    right.read(second);
    if (size == 0) {
      return true;
    }
    if (!std::ranges::equal(os::Bytes(first).first(size), os::Bytes(second).first(size))) {
      return false;
    }
  }
}

/// A view that is made from axes, lengths and steps of another is within it by construction; only
/// as_strided has to check.
Array Array::view(Shape shape, Strides strides, std::ptrdiff_t offset) const {
  const auto size = array::size_of(shape, dtype().itemsize());
  LASTREF_ASSERT(size.has_value());
  return Array(std::make_shared<const Node>(Node{.dtype = dtype(),
                                                 .shape = std::move(shape),
                                                 .strides = std::move(strides),
                                                 .size = *size,
                                                 .data = node_->data + offset,
                                                 .writable = node_->writable,
                                                 .memory = node_->memory,
                                                 .base = node_->base ? node_->base : node_}),
               is_read_only_);
}

Result<Array> Array::slice(std::span<const Slice> slices) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    if (slices.size() > ndim()) {
      return wrong("more slices than axes");
    }
    Shape to = shape();
    Strides steps = strides();
    std::ptrdiff_t offset = 0;
    for (std::size_t axis = 0; axis < slices.size(); ++axis) {
      if (slices[axis].step == 0) {
        return wrong("a step of 0");
      }
      const array::Sliced sliced = array::slice_of(to[axis], slices[axis]);
      to[axis] = sliced.count;
      // An array without elements may have any strides, with which no offset can be calculated.
      if (size() > 0) {
        offset += sliced.first * steps[axis];
        steps[axis] *= sliced.count > 1 ? slices[axis].step : 1;
      }
    }
    return view(std::move(to), std::move(steps), offset);
  });
}

Result<Array> Array::pick(std::size_t axis, std::ptrdiff_t index) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    if (axis >= ndim()) {
      return wrong("no such axis");
    }
    LASTREF_TRY(picked, index_along(shape()[axis], index));
    Shape to = shape();
    Strides steps = strides();
    to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis));
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(axis));
    return view(std::move(to), std::move(steps), size() == 0 ? 0 : picked * strides()[axis]);
  });
}

Result<Array> Array::transpose() const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    return view(
        Shape(shape().rbegin(), shape().rend()), Strides(strides().rbegin(), strides().rend()), 0);
  });
}

Result<Array> Array::transpose(std::span<const std::size_t> axes) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    if (axes.size() != ndim()) {
      return wrong("not each axis once");
    }
    Shape to;
    Strides steps;
    for (const std::size_t axis : axes) {
      if (axis >= ndim() || std::ranges::count(axes, axis) != 1) {
        return wrong("not each axis once");
      }
      to.push_back(shape()[axis]);
      steps.push_back(strides()[axis]);
    }
    return view(std::move(to), std::move(steps), 0);
  });
}

Result<Array> Array::swapaxes(std::size_t one, std::size_t other) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    if (one >= ndim() || other >= ndim()) {
      return wrong("no such axis");
    }
    Shape to = shape();
    Strides steps = strides();
    std::swap(to[one], to[other]);
    std::swap(steps[one], steps[other]);
    return view(std::move(to), std::move(steps), 0);
  });
}

Result<Array> Array::broadcast_to(const Shape& to) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    LASTREF_CHECK(array::size_of(to, dtype().itemsize()));
    if (to.size() < ndim()) {
      return wrong("fewer axes than before");
    }
    Strides steps(to.size(), 0);
    const std::size_t more = to.size() - ndim();
    for (std::size_t axis = 0; axis < ndim(); ++axis) {
      const std::size_t length = shape()[axis];
      if (length == to[more + axis]) {
        steps[more + axis] = strides()[axis];
      } else if (length != 1) {
        return wrong("an axis of another length");
      }
    }
    const Array made = view(to, std::move(steps), 0);
    Node node = *made.node_;
    node.writable = false;  // Elements at the same address would change together.
    return Array(std::make_shared<const Node>(std::move(node)), is_read_only_);
  });
}

Result<Array> Array::reshape(const Shape& to, Order order) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    LASTREF_TRY(count, array::size_of(to, dtype().itemsize()));
    if (count != size()) {
      return wrong("another number of elements");
    }
    auto steps = array::reshaped(shape(), strides(), dtype().itemsize(), to, order);
    if (!steps) {
      return failure(std::errc::not_supported, "it takes a copy");
    }
    return view(to, std::move(*steps), 0);
  });
}

Result<Array> Array::as_strided(Shape to, Strides steps, std::ptrdiff_t offset) const {
  return os::within_memory("a view", [&]() -> Result<Array> {
    LASTREF_CHECK(array::size_of(to, dtype().itemsize()));
    if (to.size() != steps.size()) {
      return wrong("not one stride for each axis");
    }
    const auto mine = array::extent_of(shape(), strides(), dtype().itemsize());
    const auto extent = array::extent_of(to, steps, dtype().itemsize());
    const bool starts_inside = offset >= mine->low && offset <= mine->high;
    if (!starts_inside || !extent || extent->low < mine->low - offset ||
        extent->high > mine->high - offset) {
      return outside("an element outside of the bounds");
    }
    return view(std::move(to), std::move(steps), offset);
  });
}

Result<std::ptrdiff_t> Array::item_offset(std::span<const std::ptrdiff_t> index) const {
  return os::within_memory("an index", [&]() -> Result<std::ptrdiff_t> {
    if (index.size() != ndim()) {
      return wrong("not one index for each axis");
    }
    std::ptrdiff_t offset = 0;
    for (std::size_t axis = 0; axis < ndim(); ++axis) {
      LASTREF_TRY(along, index_along(shape()[axis], index[axis]));
      offset += size() == 0 ? 0 : along * strides()[axis];
    }
    return offset;
  });
}

}  // namespace lastref
