#include "property_tests/support/array_model.hpp"

#include <algorithm>
#include <ostream>

namespace lastref {

void PrintTo(const Slice& slice, std::ostream* out) {
  if (slice.start) {
    *out << *slice.start;
  }
  *out << ':';
  if (slice.stop) {
    *out << *slice.stop;
  }
  *out << ':' << slice.step;
}

std::ostream& operator<<(std::ostream& out, const Slice& slice) {
  PrintTo(slice, &out);
  return out;
}

}  // namespace lastref

namespace lastref::pretend {

std::size_t count_of(const Shape& shape) {
  std::size_t count = 1;
  for (const std::size_t length : shape) {
    count *= length;
  }
  return count;
}

Index index_of(const Shape& shape, std::size_t k, Order order) {
  Index index(shape.size());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t axis = order == Order::f ? i : shape.size() - 1 - i;
    index[axis] = k % shape[axis];
    k /= shape[axis];
  }
  return index;
}

std::ptrdiff_t Model::at_index(const Index& index) const {
  std::size_t k = 0;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    k = k * shape[axis] + index[axis];
  }
  return at.at(k);
}

std::vector<std::ptrdiff_t> Model::counted(Order order) const {
  std::vector<std::ptrdiff_t> counted;
  for (std::size_t k = 0; k < at.size(); ++k) {
    counted.push_back(at_index(index_of(shape, k, order)));
  }
  return counted;
}

Model Model::with(const Shape& other, const std::function<Index(const Index&)>& index_here) const {
  Model made{.shape = other, .at = {}};
  for (std::size_t k = 0; k < count_of(other); ++k) {
    made.at.push_back(at_index(index_here(index_of(other, k))));
  }
  return made;
}

Model Model::slice(const std::vector<Slice>& slices) const {
  Shape to = shape;
  std::vector<std::vector<std::size_t>> taken;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    taken.push_back(indices_of(shape[axis], axis < slices.size() ? slices[axis] : Slice{}));
    to[axis] = taken.back().size();
  }
  return with(to, [&](Index index) {
    for (std::size_t axis = 0; axis < index.size(); ++axis) {
      index[axis] = taken[axis][index[axis]];
    }
    return index;
  });
}

Model Model::pick(std::size_t axis, std::size_t picked) const {
  Shape to = shape;
  to.erase(to.begin() + static_cast<std::ptrdiff_t>(axis));
  return with(to, [&](Index index) {
    index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis), picked);
    return index;
  });
}

Model Model::transpose(const std::vector<std::size_t>& axes) const {
  Shape to;
  for (const std::size_t axis : axes) {
    to.push_back(shape[axis]);
  }
  return with(to, [&](const Index& index) {
    Index here(index.size());
    for (std::size_t i = 0; i < axes.size(); ++i) {
      here[axes[i]] = index[i];
    }
    return here;
  });
}

Model Model::broadcast_to(const Shape& other) const {
  return with(other, [&](const Index& index) {
    Index here;
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      here.push_back(shape[axis] == 1 ? 0 : index[other.size() - shape.size() + axis]);
    }
    return here;
  });
}

Model Model::reshape(const Shape& other, Order order) const {
  const auto elements = counted(order);
  Model made{.shape = other, .at = {}};
  for (std::size_t k = 0; k < count_of(other); ++k) {
    // The index of the k-th element in C order, then its number in `order`.
    const Index index = index_of(other, k);
    std::size_t number = 0;
    for (std::size_t i = 0; i < other.size(); ++i) {
      const std::size_t axis = order == Order::c ? i : other.size() - 1 - i;
      number = number * other[axis] + index[axis];
    }
    made.at.push_back(elements[number]);
  }
  return made;
}

bool Model::is_strided() const {
  for (std::size_t k = 0; k < at.size(); ++k) {
    const Index index = index_of(shape, k);
    std::ptrdiff_t expected = at.front();
    for (std::size_t axis = 0; axis < shape.size(); ++axis) {
      Index one(shape.size());
      if (shape[axis] > 1) {
        one[axis] = 1;
        expected += (at_index(one) - at.front()) * static_cast<std::ptrdiff_t>(index[axis]);
      }
    }
    if (at[k] != expected) {
      return false;
    }
  }
  return true;
}

bool Model::is_contiguous(std::size_t itemsize, Order order) const {
  const auto elements = counted(order);
  for (std::size_t k = 0; k < elements.size(); ++k) {
    if (elements[k] != elements[0] + static_cast<std::ptrdiff_t>(k * itemsize)) {
      return false;
    }
  }
  return true;
}

Model model_of(const Array& array) {
  Model model{.shape = array.shape(), .at = {}};
  for (std::size_t k = 0; k < array.size(); ++k) {
    const Index index = index_of(array.shape(), k);
    const std::vector<std::ptrdiff_t> wanted(index.begin(), index.end());
    model.at.push_back(static_cast<std::ptrdiff_t>(array.offset()) +
                       must(array.item_offset(wanted)));
  }
  return model;
}

std::vector<std::size_t> indices_of(std::size_t length, const Slice& slice) {
  const auto end = static_cast<std::ptrdiff_t>(length);
  const bool forward = slice.step > 0;
  std::ptrdiff_t index = slice.start.value_or(forward ? 0 : end - 1);
  index += slice.start && index < 0 ? end : 0;
  index = forward ? std::max<std::ptrdiff_t>(index, 0) : std::min(index, end - 1);
  std::ptrdiff_t stop = slice.stop.value_or(forward ? end : -1);
  stop += slice.stop && stop < 0 ? end : 0;
  std::vector<std::size_t> taken;
  while (index >= 0 && index < end && (forward ? index < stop : index > stop)) {
    taken.push_back(static_cast<std::size_t>(index));
    if (slice.step >= end || slice.step <= -end) {
      break;  // The next index would be past the axis, and maybe past the largest number.
    }
    index += slice.step;
  }
  return taken;
}

std::vector<std::byte> elements_of(const Array& array) {
  std::vector<std::byte> bytes;
  for (const std::ptrdiff_t at : model_of(array).at) {
    const os::Bytes element = os::Bytes(array.memory()->bytes())
                                  .subspan(static_cast<std::size_t>(at), array.dtype().itemsize());
    bytes.insert(bytes.end(), element.begin(), element.end());
  }
  return bytes;
}

std::byte pattern(std::size_t at) {
  return static_cast<std::byte>((at * 37 + at / 256 + 11) % 256);
}

void fill_with_pattern(os::Buffer bytes) {
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] = pattern(at);
  }
}

DType dtype_of(std::string_view text) {
  return must(DType::parse(text));
}

}  // namespace lastref::pretend
