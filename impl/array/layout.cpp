#include "impl/array/layout.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

namespace lastref::array {
namespace {

constexpr std::size_t bytes_max = std::numeric_limits<std::ptrdiff_t>::max();

tl::unexpected<Error> too_many_axes(std::size_t count) {
  return failure(std::errc::value_too_large,
                 std::to_string(count) + " axes, more than " + std::to_string(dims_max));
}

tl::unexpected<Error> too_many_bytes(ShapeView shape, std::size_t itemsize) {
  return failure(std::errc::value_too_large,
                 to_text(shape) + " of " + std::to_string(itemsize) + "-byte elements, more than " +
                     std::to_string(bytes_max) + " bytes");
}

std::ptrdiff_t to_signed(std::size_t number) noexcept {
  return static_cast<std::ptrdiff_t>(number);
}

bool has_none(ShapeView shape) noexcept {
  return std::ranges::find(shape, std::size_t{0}) != shape.end();
}

/// An axis of a length other than 1.
struct Axis {
  std::size_t length = 0;
  std::ptrdiff_t stride = 0;
};

/// The axes of a length other than 1, slowest first. On the stack, for callers that are noexcept.
class Axes {
 public:
  Axes(ShapeView shape, StridesView strides) noexcept {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] != 1) {
        axes_[size_++] = {.length = shape[i], .stride = strides[i]};
      }
    }
  }

  std::span<Axis> all() noexcept { return std::span(axes_).first(size_); }

 private:
  std::array<Axis, dims_max> axes_;
  std::size_t size_ = 0;
};

/// Whether a step along each axis equals the length of the next axis times that axis's step.
bool is_one_run(std::span<const Axis> axes) noexcept {
  for (std::size_t i = 0; i + 1 < axes.size(); ++i) {
    if (axes[i].stride != to_signed(axes[i + 1].length) * axes[i + 1].stride) {
      return false;
    }
  }
  return true;
}

/// In C order. There are elements, and their number stays the same.
std::optional<Strides> reshaped_in_c(std::span<const Axis> axes,
                                     std::size_t itemsize,
                                     ShapeView other) {
  Strides strides(other.size());
  std::ptrdiff_t stride = to_signed(itemsize);
  std::size_t old_end = axes.size();
  std::size_t new_end = other.size();
  while (old_end > 0) {
    // The shortest runs of last axes, old and new, with the same number of elements.
    std::size_t old_begin = old_end - 1;
    std::size_t new_begin = new_end;
    std::size_t old_count = axes[old_begin].length;
    std::size_t new_count = 1;
    while (old_count != new_count) {
      if (new_count < old_count) {
        new_count *= other[--new_begin];
      } else {
        old_count *= axes[--old_begin].length;
      }
    }
    if (!is_one_run(axes.subspan(old_begin, old_end - old_begin))) {
      return std::nullopt;
    }
    stride = axes[old_end - 1].stride;
    for (std::size_t i = new_end; i > new_begin; --i) {
      strides[i - 1] = stride;
      stride *= to_signed(other[i - 1]);
    }
    old_end = old_begin;
    new_end = new_begin;
  }
  std::fill_n(strides.begin(), new_end, stride);  // These have length 1.
  return strides;
}

}  // namespace

std::string to_text(ShapeView shape) {
  std::string lengths;
  for (const std::size_t length : shape) {
    lengths += (lengths.empty() ? "" : ", ") + std::to_string(length);
  }
  return "shape (" + lengths + ')';
}

Result<std::size_t> size_of(ShapeView shape, std::size_t itemsize) {
  if (shape.size() > dims_max) {
    return too_many_axes(shape.size());
  }
  std::size_t size = 1;
  std::size_t bytes = std::max<std::size_t>(itemsize, 1);
  for (const std::size_t length : shape) {
    size *= length;
    if (length > 0 && bytes > bytes_max / length) {
      return too_many_bytes(shape, itemsize);
    }
    bytes *= std::max<std::size_t>(length, 1);
  }
  return size;
}

Strides contiguous_strides(ShapeView shape, std::size_t itemsize, Order order) {
  Strides strides(shape.size());
  std::ptrdiff_t stride = to_signed(itemsize);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = order == Order::f ? i : shape.size() - 1 - i;
    strides[axis] = stride;
    stride *= to_signed(std::max<std::size_t>(shape[axis], 1));
  }
  return strides;
}

bool is_contiguous(ShapeView shape,
                   StridesView strides,
                   std::size_t itemsize,
                   Order order) noexcept {
  if (has_none(shape)) {
    return true;
  }
  Axes found(shape, strides);
  const std::span<Axis> axes = found.all();
  if (order == Order::f) {
    std::ranges::reverse(axes);
  }
  return axes.empty() || (axes.back().stride == to_signed(itemsize) && is_one_run(axes));
}

std::optional<Extent> extent_of(ShapeView shape,
                                StridesView strides,
                                std::size_t itemsize) noexcept {
  Extent extent;
  if (has_none(shape)) {
    return extent;
  }
  extent.high = to_signed(itemsize);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    std::ptrdiff_t reach = 0;
    std::ptrdiff_t& end = strides[i] < 0 ? extent.low : extent.high;
    if (shape[i] > bytes_max ||
        __builtin_mul_overflow(to_signed(shape[i]) - 1, strides[i], &reach) ||
        __builtin_add_overflow(end, reach, &end)) {
      return std::nullopt;
    }
  }
  // The negative of the lowest number does not exist.
  return extent.low < -to_signed(bytes_max) ? std::nullopt : std::optional(extent);
}

Sliced slice_of(std::size_t length, const Slice& slice) {
  LASTREF_ASSERT(slice.step != 0);
  const std::ptrdiff_t end = to_signed(length);
  const bool forward = slice.step > 0;
  const std::ptrdiff_t lowest = forward ? 0 : -1;
  const std::ptrdiff_t highest = forward ? end : end - 1;
  const auto clamped = [&](std::ptrdiff_t index) {
    return std::clamp(index < 0 ? index + end : index, lowest, highest);
  };
  const std::ptrdiff_t start = slice.start ? clamped(*slice.start) : forward ? 0 : end - 1;
  const std::ptrdiff_t stop = slice.stop ? clamped(*slice.stop) : forward ? end : -1;
  const std::ptrdiff_t way = forward ? stop - start : start - stop;
  if (way <= 0) {
    return {};
  }
  // Does not use -step, which does not exist for the lowest number.
  const std::ptrdiff_t steps = (way - 1) / slice.step;
  return {.count = static_cast<std::size_t>(forward ? steps : -steps) + 1, .first = start};
}

std::optional<Strides> reshaped(
    ShapeView shape, StridesView strides, std::size_t itemsize, ShapeView other, Order order) {
  if (has_none(shape)) {
    return contiguous_strides(other, itemsize, order);
  }
  Axes found(shape, strides);
  const std::span<Axis> axes = found.all();
  if (order == Order::c) {
    return reshaped_in_c(axes, itemsize, other);
  }
  std::ranges::reverse(axes);
  auto reversed = reshaped_in_c(axes, itemsize, Shape(other.rbegin(), other.rend()));
  if (reversed) {
    std::ranges::reverse(*reversed);
  }
  return reversed;
}

}  // namespace lastref::array
