#include <algorithm>
#include <array>
#include <utility>

#include <lastref/array.hpp>

#include "impl/array/array_node.hpp"
#include "impl/array/elements.hpp"
#include "impl/array/layout.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

constexpr std::size_t compared_at_once = std::size_t{8} * 1024;  // bytes

}  // namespace

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

}  // namespace lastref
