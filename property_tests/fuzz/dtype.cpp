// dtype: the text of an element's type.
#include <lastref/dtype.hpp>
#include <lastref/npy.hpp>

#include "impl/array/python_literal.hpp"
#include "property_tests/fuzz/fuzz.hpp"

namespace lastref::fuzz {
namespace {

constexpr std::size_t itemsize_max = 0x7fff'ffff;

void expect_same(const DType& one, const DType& other) {
  expect(one == other, "a dtype is what its text says");
  expect(one.itemsize() == other.itemsize(), "its size too");
  expect(one.kind() == other.kind(), "its kind too");
  expect(one.byte_order() == other.byte_order(), "its byte order too");
  expect(one.has_object() == other.has_object(), "and whether it points into one Python");
}

}  // namespace

void check(os::Bytes input) {
  // Fields are items of literals: see python_literal.
  const auto dtype = [&] {
    const Allowance allowance(input.size(), 6 * sizeof(array::Literal));
    return DType::parse(text_of(input));
  }();
  if (!dtype) {
    expect_refused(dtype.error(), std::errc::invalid_argument, std::errc::value_too_large);
    return;
  }
  expect(dtype->itemsize() <= itemsize_max, "an element has less than 2 GiB");
  const auto again = DType::parse(dtype->text());
  expect(again.has_value(), "the text of a dtype is one");
  expect_same(*again, *dtype);
  const auto literal = array::parse_literal(dtype->literal());
  expect(literal.has_value(), "the literal of a dtype is one");
  const auto header = npy_header(*dtype, {2, 3}, Order::c);
  expect(header.has_value() != dtype->has_object(), "any dtype that means something can be saved");
  if (header) {
    const auto saved = parse_npy_header(*header);
    expect(saved.has_value(), "a dtype that was saved can be read");
    expect_same(saved->dtype, *dtype);
  }
}

}  // namespace lastref::fuzz
