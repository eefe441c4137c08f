// Array::Node: what the handles of one array share. It never changes.
#pragma once

#include <memory>

#include <lastref/array.hpp>

namespace lastref {

struct Array::Node {
  DType dtype;
  Shape shape;
  Strides strides;
  std::size_t size = 0;       ///< elements
  std::byte* data = nullptr;  ///< the element at index 0
  bool writable = true;
  MemoryRef memory;
  std::shared_ptr<const Node> base = nullptr;  ///< A root; none in a root.
};

}  // namespace lastref
