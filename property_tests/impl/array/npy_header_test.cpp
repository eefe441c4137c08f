// npy_header_test: headers of .npy files: good, damaged and forged. Under AddressSanitizer, every
// parse also checks that nothing beyond the bytes is read.
#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <set>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/npy.hpp>
#include <lastref/owners.hpp>

#include "property_tests/support/array_generators.hpp"
#include "property_tests/support/array_model.hpp"

namespace lastref {
namespace {

using pretend::dtype_of;
using pretend::must;
using HeaderBytes = std::vector<std::byte>;

/// From heap memory that ends where the bytes end.
Result<NpyHeader> parse_exactly(os::Bytes bytes) {
  const std::unique_ptr<std::byte[]> alone(new std::byte[bytes.size()]);
  std::ranges::copy(bytes, alone.get());
  return parse_npy_header(os::Bytes(alone.get(), bytes.size()));
}

/// A header with any text at all.
HeaderBytes forged(const std::string& text, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i) {
    bytes += static_cast<char>(text.size() >> (8 * i) & 0xffU);
  }
  bytes += text;
  const os::Bytes view = os::bytes_of(bytes);
  return {view.begin(), view.end()};
}

TEST(NpyHeader, is_written_as_its_header_comment_shows_R4) {
  const auto header = must(npy_header(dtype_of("<f8"), {3}, Order::c));
  std::string text = "{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }";
  text.resize(117, ' ');
  EXPECT_EQ(header, forged(text + '\n'));
  EXPECT_EQ(header.size(), 128U);
}

RC_GTEST_PROP(NpyHeaderProperties, any_header_reads_as_it_was_written_R4, ()) {
  const DType dtype = dtype_of(*pretend::any_dtype_text());
  const Shape shape = *pretend::any_shape(5, 1000);
  const Order order = *pretend::any_order();
  const auto bytes = must(npy_header(dtype, shape, order));
  RC_ASSERT(bytes.size() % 64 == 0);
  RC_ASSERT(bytes.back() == std::byte{'\n'});
  const auto header = parse_exactly(bytes);
  RC_ASSERT(header.has_value());
  RC_ASSERT(header->dtype == dtype);
  RC_ASSERT(header->shape == shape);
  RC_ASSERT(header->order == order);
  RC_ASSERT(header->version == 1);
  RC_ASSERT(header->data_offset == bytes.size());
  RC_ASSERT(header->nbytes == pretend::count_of(shape) * dtype.itemsize());
}

RC_GTEST_PROP(NpyHeaderProperties, a_header_that_was_cut_is_refused_R12, ()) {
  const auto bytes = must(npy_header(dtype_of(*pretend::any_dtype_text()), {2, 3}, Order::c));
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    const auto header = parse_exactly(os::Bytes(bytes).first(size));
    RC_ASSERT(!header.has_value());
    RC_ASSERT(header.error().code == std::errc::bad_message);
    RC_ASSERT(header.error().subject == "the header is cut short");
  }
}

/// An accepted header can be written, and then means the same.
void refused_or_consistent(os::Bytes bytes) {
  const auto header = parse_exactly(bytes);
  if (!header) {
    const auto code = header.error().code;
    RC_ASSERT(code == std::errc::bad_message || code == std::errc::value_too_large);
    RC_ASSERT(!header.error().subject.empty());
    return;
  }
  RC_ASSERT(header->data_offset <= bytes.size());
  RC_ASSERT(header->shape.size() <= dims_max);
  RC_ASSERT(header->nbytes == pretend::count_of(header->shape) * header->dtype.itemsize());
  if (header->dtype.has_object()) {
    return;
  }
  const auto again = npy_header(header->dtype, header->shape, header->order);
  RC_ASSERT(again.has_value());
  auto second = parse_exactly(*again);
  RC_ASSERT(second.has_value());
  second->version = header->version;
  second->data_offset = header->data_offset;
  RC_ASSERT(*second == *header);
}

RC_GTEST_PROP(NpyHeaderProperties, a_damaged_header_is_refused_or_means_what_it_says_R12, ()) {
  auto bytes = must(npy_header(
      dtype_of(*pretend::any_dtype_text()), *pretend::any_shape(), *pretend::any_order()));
  const auto changes = *rc::gen::inRange(1, 5);
  for (int change = 0; change < changes && !bytes.empty(); ++change) {
    const auto at = *rc::gen::weightedOneOf<std::size_t>(
        {{3, rc::gen::inRange<std::size_t>(0, std::min<std::size_t>(bytes.size(), 90))},
         {1, rc::gen::inRange<std::size_t>(0, bytes.size())}});
    const auto place = bytes.begin() + static_cast<std::ptrdiff_t>(std::min(at, bytes.size() - 1));
    const auto letter = static_cast<std::byte>(*rc::gen::oneOf(
        rc::gen::element('0', '9', '-', '(', ')', ',', '\'', '"', '\\', '[', ' ', '\n', 'L', '<'),
        rc::gen::arbitrary<char>()));
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        *place = letter;
        break;
      case 1:
        bytes.insert(place, letter);
        break;
      case 2:
        bytes.erase(place);
        break;
      default:
        bytes.resize(at);
        break;
    }
  }
  refused_or_consistent(bytes);
}

RC_GTEST_PROP(NpyHeaderProperties, any_text_is_refused_or_means_what_it_says_R12, ()) {
  const auto pieces = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("{",
                                    "}",
                                    "(",
                                    ")",
                                    "[",
                                    "]",
                                    ",",
                                    ":",
                                    "'",
                                    "'descr'",
                                    "'fortran_order'",
                                    "'shape'",
                                    "'<f8'",
                                    "True",
                                    "3",
                                    "-",
                                    " ",
                                    "None",
                                    "\\",
                                    "\xe9",
                                    "18446744073709551615"));
  std::string text;
  for (const std::string& piece : pieces) {
    text += piece;
  }
  refused_or_consistent(forged(text, *rc::gen::inRange(0, 5)));
}

TEST(NpyHeader, is_read_however_python_may_have_written_it_R4) {
  for (const char* const text : {
           "{'shape': (3, 4), 'fortran_order': True, 'descr': '<f8'}",
           "{\"descr\":\"<f8\",\"fortran_order\":True,\"shape\":(3,4)}",
           "  {\n'descr' : '<f8' ,\t'fortran_order' : True , 'shape' : ( 3 , 4 , ) , }  \n",
           "{'descr': '<f8', 'fortran_order': True, 'shape': (3L, 4L)}",
           "{'descr': '\\x3cf8', 'fortran_order': (True), 'shape': ((3), 4)}",
       }) {
    const auto header = parse_exactly(forged(text));
    ASSERT_TRUE(header) << text << header.error().subject;
    EXPECT_EQ(header->dtype.text(), "<f8");
    EXPECT_EQ(header->order, Order::f);
    EXPECT_EQ(header->shape, (Shape{3, 4}));
    EXPECT_EQ(header->nbytes, 96U);
  }
}

TEST(NpyHeader, has_the_second_version_when_its_text_is_too_long_for_the_first_R4) {
  // Fields of 20 letters each: the first version is full at some 3,270 of them.
  std::string fields = "[";
  std::set<int> versions;
  for (int field = 1; field <= 3300; ++field) {
    fields += "('" + std::to_string(1000000 + field) + "', '|u1'), ";
    if (field < 3200 || field % 20 != 0) {
      continue;
    }
    const DType dtype = dtype_of(fields + "]");
    const auto bytes = must(npy_header(dtype, {7}, Order::c));
    const auto header = must(parse_exactly(bytes));
    EXPECT_EQ(header.dtype, dtype);
    EXPECT_EQ(header.version, bytes.size() - 10 <= 65535 ? 1 : 2);
    EXPECT_EQ(bytes.size() % 64, 0U);
    versions.insert(header.version);
  }
  EXPECT_EQ(versions, (std::set<int>{1, 2}));
}

TEST(NpyHeader, has_the_third_version_when_a_name_is_beyond_latin1_R4) {
  const auto version_of = [](const char* text) {
    const auto bytes = must(npy_header(dtype_of(text), {2}, Order::c));
    const auto header = must(parse_exactly(bytes));
    EXPECT_EQ(header.dtype.text(), text);
    return header.version;
  };
  EXPECT_EQ(version_of("[('\xc3\xa9', '<i4')]"), 1);
  EXPECT_EQ(version_of("[('\xe2\x82\xac', '<i4')]"), 3);
  EXPECT_EQ(version_of("[('\\u20ac', '<i4')]"), 1);
}

TEST(NpyHeader, of_what_points_into_python_is_not_written_R4) {
  EXPECT_EQ(npy_header(dtype_of("|O"), {2}, Order::c).error().code, std::errc::not_supported);
  EXPECT_EQ(npy_header(dtype_of("[('a', '|O')]"), {2}, Order::c).error().code,
            std::errc::not_supported);
  // But it is read, so that its contents can be queried.
  EXPECT_TRUE(
      must(parse_exactly(forged("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }")))
          .dtype.has_object());
}

TEST(NpyHeader, that_is_too_large_is_not_written) {
  constexpr auto large = std::errc::value_too_large;
  EXPECT_EQ(npy_header(dtype_of("<f8"), {std::size_t{1} << 60U}, Order::c).error().code, large);
  EXPECT_EQ(npy_header(dtype_of("<f8"), Shape(33, 1), Order::c).error().code, large);
  const std::string name(npy_text_size_max, 'n');
  EXPECT_EQ(npy_header(dtype_of("[('" + name + "', '<i4')]"), {1}, Order::c).error().code, large);
}

struct Forged {
  const char* name;
  HeaderBytes bytes;
  const char* reason;
};

void PrintTo(const Forged& row, std::ostream* out) {
  *out << row.name;
}

HeaderBytes of_shape(const std::string& shape) {
  return forged("{'descr': '<f8', 'fortran_order': False, 'shape': " + shape + ", }");
}
HeaderBytes of_descr(const std::string& descr) {
  return forged("{'descr': " + descr + ", 'fortran_order': False, 'shape': (3,), }");
}
HeaderBytes of_order(const std::string& order) {
  return forged("{'descr': '<f8', 'fortran_order': " + order + ", 'shape': (3,), }");
}
HeaderBytes changed(std::size_t at, int byte) {
  HeaderBytes bytes = of_shape("(3,)");
  bytes.at(at) = static_cast<std::byte>(byte);
  return bytes;
}

const Forged forged_headers[] = {
    {"empty", {}, "the header is cut short"},
    {"magic", changed(0, 'N'), "not an .npy file"},
    {"magic_at_its_end", changed(5, 'y'), "not an .npy file"},
    {"zip", {std::byte{'P'}, std::byte{'K'}}, "not an .npy file"},
    {"version_0", changed(6, 0), "an unknown version of the format"},
    {"version_4", changed(6, 4), "an unknown version of the format"},
    {"version_1_1", changed(7, 1), "an unknown version of the format"},
    {"longer_than_it_is", changed(9, 1), "the header is cut short"},
    {"no_text", forged(""), "a literal is missing"},
    {"no_dict", forged("('<f8', False, (3,))"), "the header is no dict"},
    {"no_end", forged("{'descr': '<f8'"), "a comma is missing"},
    {"two_dicts", forged("{} {}"), "there is text after the literal"},
    {"code", forged("__import__('os')"), "neither a string, a number nor a bracket"},
    {"no_keys", forged("{}"), "a key is missing"},
    {"no_shape", forged("{'descr': '<f8', 'fortran_order': False}"), "a key is missing"},
    {"no_descr", forged("{'shape': (), 'fortran_order': False, 'a': 1}"), "a key is missing"},
    {"one_key_more",
     forged("{'descr': '<f8', 'fortran_order': False, 'shape': (), 'a': 1}"),
     "an unknown key"},
    {"one_key_twice",
     forged("{'descr': '<f8', 'fortran_order': False, 'shape': (), 'shape': ()}"),
     "an unknown key"},
    {"descr_is_a_number", of_descr("8"), "descr is neither a string nor a list"},
    {"descr_is_a_tuple", of_descr("('<f8', (2,))"), "descr is neither a string nor a list"},
    {"descr_is_a_list_in_quotes",
     of_descr("\"[('a', '<i4')]\""),
     "descr is neither a string nor a list"},
    {"descr_is_unknown", of_descr("'<q8'"), "an unknown kind of element"},
    {"descr_is_too_large", of_descr("'|V9999999999'"), "an element of 2 GiB or more"},
    {"field_is_unknown", of_descr("[('a', 'float')]"), "there is text after the size"},
    {"order_is_a_number", of_order("0"), "fortran_order is neither True nor False"},
    {"order_is_none", of_order("None"), "fortran_order is neither True nor False"},
    {"shape_is_a_number", of_shape("3"), "shape is no tuple"},
    {"shape_in_brackets_is_a_number", of_shape("(3)"), "shape is no tuple"},
    {"shape_is_a_list", of_shape("[3]"), "shape is no tuple"},
    {"shape_of_texts", of_shape("('3',)"), "shape is not made of numbers"},
    {"shape_of_truths", of_shape("(True,)"), "shape is not made of numbers"},
    {"shape_of_fractions", of_shape("(3.0,)"), "not a decimal number"},
    {"negative_length", of_shape("(-3,)"), "a negative length in shape"},
    {"length_beyond_64_bits", of_shape("(18446744073709551616,)"), "a number that is too large"},
    {"deep", of_shape(std::string(2000, '(')), "brackets in brackets, too deep"},
    {"not_utf8",
     forged("{'descr': [('\xe9', '<f8')], 'fortran_order': False, 'shape': (), }", 3),
     "not UTF-8"},
};

class ForgedNpyHeader : public testing::TestWithParam<Forged> {};

TEST_P(ForgedNpyHeader, is_refused_with_its_reason_R12) {
  const auto header = parse_exactly(GetParam().bytes);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code, std::errc::bad_message);
  EXPECT_EQ(header.error().subject, GetParam().reason);
}

INSTANTIATE_TEST_SUITE_P(Npy,
                         ForgedNpyHeader,
                         testing::ValuesIn(forged_headers),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(NpyHeader, of_an_array_that_no_memory_holds_is_refused_R12) {
  for (const char* const shape :
       {"(18446744073709551615,)",
        "(1152921504606846976,)",
        "(4294967296, 4294967296, 4294967296)",
        "(0, 18446744073709551615)",
        "(9223372036854775807, 0, 2)",
        "(1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1)"}) {
    const auto header = parse_exactly(of_shape(shape));
    ASSERT_FALSE(header) << shape;
    EXPECT_EQ(header.error().code, std::errc::value_too_large);
  }
  EXPECT_TRUE(parse_exactly(of_shape("(0, 1152921504606846975)")));
}

TEST(NpyHeader, beyond_the_limit_is_refused_before_it_is_read_R12) {
  HeaderBytes bytes = forged(std::string(20, ' '), 2);
  bytes[11] = std::byte{0x7f};
  const auto header = parse_exactly(bytes);
  ASSERT_FALSE(header);
  EXPECT_EQ(header.error().code, std::errc::value_too_large);
}

}  // namespace
}  // namespace lastref
