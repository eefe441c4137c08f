// ElementStream: the elements of an array one after the other, as bytes, whatever its strides.
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include <lastref/array.hpp>

namespace lastref::array {

class ElementStream {
 public:
  /// The array must outlive it.
  ElementStream(const Array& array, Order order) noexcept;

  /// Reads as many of the next bytes as fit; returns 0 at the end. May stop in the middle of an
  /// element.
  std::size_t read(os::Buffer into) noexcept;

 private:
  struct Axis {
    std::size_t length = 0;
    std::ptrdiff_t stride = 0;
    std::size_t index = 0;
  };

  Axis& last_axis() noexcept { return axes_[axes_count_ - 1]; }
  void read_runs(os::Buffer into, std::size_t count) noexcept;
  void advance(std::size_t count) noexcept;

  std::array<Axis, dims_max> axes_;  // slowest first; without those inside of a run
  std::size_t axes_count_ = 0;
  const std::byte* at_;    // start of the current run
  std::size_t run_ = 0;    // bytes that are contiguous
  std::size_t taken_ = 0;  // bytes of the current run that were read
  std::size_t left_ = 0;   // bytes of the array that were not read
};

}  // namespace lastref::array
