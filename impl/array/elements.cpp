#include "impl/array/elements.hpp"

#include <algorithm>
#include <cstring>

namespace lastref::array {
namespace {

/// Gathers runs of a size that is known at compile time.
template <std::size_t size>
void gather(std::byte* to, const std::byte* from, std::size_t count, std::ptrdiff_t stride) {
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(to + i * size, from + static_cast<std::ptrdiff_t>(i) * stride, size);
  }
}

}  // namespace

ElementStream::ElementStream(const Array& array, Order order) noexcept
    : at_(array.data()), run_(array.dtype().itemsize()), left_(array.nbytes()) {
  if (left_ == 0) {
    return;
  }
  for (std::size_t i = 0; i < array.ndim(); ++i) {
    const std::size_t axis = order == Order::c ? i : array.ndim() - 1 - i;
    const std::size_t length = array.shape()[axis];
    const std::ptrdiff_t stride = array.strides()[axis];
    if (length == 1) {
      continue;
    }
    // Merges two axes if their elements are at the distances of a single one.
    if (axes_count_ > 0 && last_axis().stride == static_cast<std::ptrdiff_t>(length) * stride) {
      last_axis() = {.length = last_axis().length * length, .stride = stride};
    } else {
      axes_[axes_count_++] = {.length = length, .stride = stride};
    }
  }
  if (axes_count_ > 0 && last_axis().stride == static_cast<std::ptrdiff_t>(run_)) {
    run_ *= last_axis().length;
    --axes_count_;
  }
}

void ElementStream::advance(std::size_t count) noexcept {
  for (std::size_t i = axes_count_; i > 0 && count > 0; --i) {
    Axis& axis = axes_[i - 1];
    const std::size_t index = axis.index + count;
    const std::size_t wrapped = index % axis.length;
    at_ += (static_cast<std::ptrdiff_t>(wrapped) - static_cast<std::ptrdiff_t>(axis.index)) *
           axis.stride;
    axis.index = wrapped;
    count = index / axis.length;
  }
}

void ElementStream::read_runs(os::Buffer into, std::size_t count) noexcept {
  const std::ptrdiff_t stride = last_axis().stride;
  switch (run_) {
    case 1:
      return gather<1>(into.data(), at_, count, stride);
    case 2:
      return gather<2>(into.data(), at_, count, stride);
    case 4:
      return gather<4>(into.data(), at_, count, stride);
    case 8:
      return gather<8>(into.data(), at_, count, stride);
    case 16:
      return gather<16>(into.data(), at_, count, stride);
    default:
      for (std::size_t i = 0; i < count; ++i) {
        std::memcpy(&into[i * run_], at_ + static_cast<std::ptrdiff_t>(i) * stride, run_);
      }
  }
}

std::size_t ElementStream::read(os::Buffer into) noexcept {
  std::size_t size = 0;
  while (size < into.size() && left_ > 0) {
    const os::Buffer space = into.subspan(size);
    std::size_t count = 0;
    if (taken_ == 0 && axes_count_ > 0 && space.size() >= run_) {
      const std::size_t runs =
          std::min(space.size() / run_, last_axis().length - last_axis().index);
      read_runs(space, runs);
      count = runs * run_;
      advance(runs);
    } else {
      count = std::min(space.size(), run_ - taken_);
      std::memcpy(space.data(), at_ + taken_, count);
      taken_ += count;
      if (taken_ == run_) {
        taken_ = 0;
        advance(1);
      }
    }
    size += count;
    left_ -= count;
  }
  return size;
}

}  // namespace lastref::array
