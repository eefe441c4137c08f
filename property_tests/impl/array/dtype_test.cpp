// dtype_test: numpy's descriptions of elements, valid ones and hostile ones.
#include <ostream>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/dtype.hpp>

#include "impl/array/python_literal.hpp"
#include "impl/array/utf8.hpp"
#include "property_tests/support/array_generators.hpp"
#include "property_tests/support/array_model.hpp"

namespace lastref {
namespace {

using array::Literal;
using array::parse_literal;

struct Read {
  const char* text;
  const char* canonical;
  DTypeKind kind;
  ByteOrder order;
  std::size_t itemsize;
};

void PrintTo(const Read& row, std::ostream* out) {
  *out << row.text;
}

constexpr auto little = ByteOrder::little;
constexpr auto big = ByteOrder::big;
constexpr auto none = ByteOrder::none;

// As numpy 1.24 reads and prints them on a little-endian machine.
const Read read_texts[] = {
    {"|b1", "|b1", DTypeKind::boolean, none, 1},
    {"<b1", "|b1", DTypeKind::boolean, none, 1},
    {"<i1", "|i1", DTypeKind::signed_integer, none, 1},
    {">u1", "|u1", DTypeKind::unsigned_integer, none, 1},
    {"<i2", "<i2", DTypeKind::signed_integer, little, 2},
    {">i4", ">i4", DTypeKind::signed_integer, big, 4},
    {"=i8", "<i8", DTypeKind::signed_integer, little, 8},
    {"|u4", "<u4", DTypeKind::unsigned_integer, little, 4},
    {"u8", "<u8", DTypeKind::unsigned_integer, little, 8},
    {"<f2", "<f2", DTypeKind::floating, little, 2},
    {">f4", ">f4", DTypeKind::floating, big, 4},
    {"f08", "<f8", DTypeKind::floating, little, 8},
    {"<f16", "<f16", DTypeKind::floating, little, 16},
    {"<c8", "<c8", DTypeKind::complex, little, 8},
    {">c16", ">c16", DTypeKind::complex, big, 16},
    {"<c32", "<c32", DTypeKind::complex, little, 32},
    {"|S5", "|S5", DTypeKind::bytes, none, 5},
    {"<S5", "|S5", DTypeKind::bytes, none, 5},
    {"S", "|S0", DTypeKind::bytes, none, 0},
    {"|S2147483647", "|S2147483647", DTypeKind::bytes, none, 2147483647},
    {">U3", ">U3", DTypeKind::unicode, big, 12},
    {"|U0", "<U0", DTypeKind::unicode, little, 0},
    {"<V3", "|V3", DTypeKind::raw, none, 3},
    {"<M8", "<M8", DTypeKind::datetime, little, 8},
    {"M8[generic]", "<M8", DTypeKind::datetime, little, 8},
    {">M8[ns]", ">M8[ns]", DTypeKind::datetime, big, 8},
    {"M8[1s]", "<M8[s]", DTypeKind::datetime, little, 8},
    {"<m8[25s]", "<m8[25s]", DTypeKind::timedelta, little, 8},
    {"<m8[2147483647as]", "<m8[2147483647as]", DTypeKind::timedelta, little, 8},
    {"<O", "|O", DTypeKind::object, none, 8},
    {"|O8", "|O", DTypeKind::object, none, 8},
    {"[]", "[]", DTypeKind::raw, none, 0},
    {"[('a', '<i4')]", "[('a', '<i4')]", DTypeKind::raw, none, 4},
    {"[ ('a','<i4',3 ) , ]", "[ ('a','<i4',3 ) , ]", DTypeKind::raw, none, 12},
    {"[('a', '<i4', (2, 3)), ('', '|V4')]",
     "[('a', '<i4', (2, 3)), ('', '|V4')]",
     DTypeKind::raw,
     none,
     28},
    {"[('', '|V1'), ('', '|V2')]", "[('', '|V1'), ('', '|V2')]", DTypeKind::raw, none, 3},
    {"[(('t', 'a'), [('b', '>f8'), ('c', '|S3')], (2,))]",
     "[(('t', 'a'), [('b', '>f8'), ('c', '|S3')], (2,))]",
     DTypeKind::raw,
     none,
     22},
    {"[('a', ('<f4', (2,)))]", "[('a', ('<f4', (2,)))]", DTypeKind::raw, none, 8},
    {"[('a', '<f4', (0,)), ('b', '<f4', ())]",
     "[('a', '<f4', (0,)), ('b', '<f4', ())]",
     DTypeKind::raw,
     none,
     4},
    {"[('\\u00e9\\'', '|u1')]", "[('\\u00e9\\'', '|u1')]", DTypeKind::raw, none, 1},
};

class ReadText : public testing::TestWithParam<Read> {};

TEST_P(ReadText, is_a_dtype_as_in_numpy_R3) {
  const Read& row = GetParam();
  const auto dtype = DType::parse(row.text);
  ASSERT_TRUE(dtype) << describe(dtype.error());
  EXPECT_EQ(dtype->text(), row.canonical);
  EXPECT_EQ(dtype->kind(), row.kind);
  EXPECT_EQ(dtype->byte_order(), row.order);
  EXPECT_EQ(dtype->itemsize(), row.itemsize);
  EXPECT_EQ(dtype->has_object(), row.kind == DTypeKind::object);
  EXPECT_EQ(DType::parse(dtype->text()), dtype);
}

INSTANTIATE_TEST_SUITE_P(DType, ReadText, testing::ValuesIn(read_texts));

struct Refused {
  std::string text;
  const char* reason;
};

void PrintTo(const Refused& row, std::ostream* out) {
  *out << row.text.substr(0, 40);
}

const char* const large = "an element of 2 GiB or more";

const Refused refused_texts[] = {
    {"", "an unknown kind of element"},
    {"<", "an unknown kind of element"},
    {"float64", "there is text after the size"},
    {"int32", "there is text after the size"},
    {"?", "an unknown kind of element"},
    {" f8", "an unknown kind of element"},
    {"<f8 ", "there is text after the size"},
    {"<<f8", "an unknown kind of element"},
    {"i", "a size that this kind does not have"},
    {"<i3", "a size that this kind does not have"},
    {"<f12", "a size that this kind does not have"},
    {"<c4", "a size that this kind does not have"},
    {"<M4", "a size that this kind does not have"},
    {"|b2", "a size that this kind does not have"},
    {"|S-1", "there is text after the size"},
    {"|S2147483648", large},
    {"|S99999999999999999999999999", large},
    {"<U536870912", large},
    {"<M8[", "a unit that is not in brackets"},
    {"<M8[]", "an unknown unit of time"},
    {"<M8[25]", "an unknown unit of time"},
    {"<M8[B]", "an unknown unit of time"},
    {"<M8[ns]]", "an unknown unit of time"},
    {"<M8[0s]", "an impossible count of units"},
    {"<M8[2147483648s]", "an impossible count of units"},
    {"<M8[99999999999999999999s]", "an impossible count of units"},
    {"<M8[2generic]", "an unknown unit of time"},
    {"<M8[/s]", "an unknown unit of time"},
    {"<f8[s]", "there is text after the size"},
    {"[", "a literal is missing"},
    {"[('a', '<i4')] ", "white space after the list"},
    {"['<i4']", "a field is no tuple of name, type and maybe shape"},
    {"[('a',)]", "a field is no tuple of name, type and maybe shape"},
    {"[('a', '<i4', 1, 1)]", "a field is no tuple of name, type and maybe shape"},
    {"[(1, '<i4')]", "the name of a field is no string"},
    {"[(('a',), '<i4')]", "the name of a field is no string"},
    {"[(('a', 1), '<i4')]", "the name of a field is no string"},
    {"[('a', 1)]", "the type of a field is no string"},
    {"[('a', '[(\\'b\\', \\'<i4\\')]')]", "a list in quotes"},
    {"[('a', '<i3')]", "a size that this kind does not have"},
    {"[('a', ('<i4', 1, 1))]", "a tuple that is no type and shape"},
    {"[('a', '<i4', [2])]", "the shape of a field is no tuple"},
    {"[('a', '<i4', ('2',))]", "the shape of a field is not made of sizes"},
    {"[('a', '<i4', -1)]", "the shape of a field is not made of sizes"},
    {"[('a', '<i4', (2147483648,))]", large},
    {"[('a', '<i4', (65536, 65536))]", large},
    {"[('a', '|V2147483647'), ('b', '|V1')]", large},
    {"[('a', '<i4'), ('a', '<i4')]", "two fields have the same name"},
    {"[(('b', 'a'), '<i4'), ('b', '<i4')]", "two fields have the same name"},
    {"[('', '<i4'), ('', '<i4')]", "two fields have the same name"},
    {std::string(1000, '['), "brackets in brackets, too deep"},
    {"[('\xff', '<i4')]", "not UTF-8"},
};

class RefusedText : public testing::TestWithParam<Refused> {};

TEST_P(RefusedText, is_no_dtype_and_the_error_says_why_R3) {
  const auto dtype = DType::parse(GetParam().text);
  ASSERT_FALSE(dtype) << dtype->text();
  EXPECT_EQ(dtype.error().subject, GetParam().reason);
  EXPECT_EQ(dtype.error().code,
            GetParam().reason == large ? std::errc::value_too_large : std::errc::invalid_argument);
}

INSTANTIATE_TEST_SUITE_P(DType, RefusedText, testing::ValuesIn(refused_texts));

TEST(DType, knows_an_object_wherever_it_hides_R4) {
  for (const char* const text :
       {"|O", "[('a', '<i4'), ('b', '|O')]", "[('a', [('b', '|O')])]", "[('a', ('|O', (2,)))]"}) {
    EXPECT_TRUE(DType::parse(text)->has_object()) << text;
  }
  EXPECT_FALSE(DType::parse("[('O', '|S3')]")->has_object());
}

TEST(DType, is_a_python_literal) {
  EXPECT_EQ(DType::parse("f8")->literal(), "'<f8'");
  EXPECT_EQ(DType::parse("[('a', '<i4')]")->literal(), "[('a', '<i4')]");
}

RC_GTEST_PROP(DTypeProperties, any_text_is_refused_or_reads_as_it_prints_R3, ()) {
  std::string text = *pretend::any_dtype_text();
  const auto changes = *rc::gen::inRange(0, 4);
  for (int change = 0; change < changes; ++change) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size() + 1);
    const auto letter = *rc::gen::element('<', '|', '8', '0', '[', '(', ')', ',', '\'', 'O', '\\');
    if (*rc::gen::arbitrary<bool>() && at < text.size()) {
      text[at] = letter;
    } else {
      text.insert(text.begin() + static_cast<std::ptrdiff_t>(at), letter);
    }
  }
  const auto dtype = DType::parse(text);
  if (dtype) {
    RC_ASSERT(pretend::dtype_of(dtype->text()) == *dtype);
    RC_ASSERT(dtype->itemsize() <= 2147483647U);
  } else {
    RC_ASSERT(!dtype.error().subject.empty());
  }
}

TEST(Literal, is_what_python_reads) {
  const auto literal = parse_literal(
      " {'a': (1, -2, 3L), \"b'\" : [True, False, None], 'c': (4), 'd': (5,), 'e': (), } ");
  ASSERT_TRUE(literal) << literal.error().subject;
  ASSERT_EQ(literal->items.size(), 10U);
  EXPECT_EQ(literal->items[1].items[1].number, 2U);
  EXPECT_TRUE(literal->items[1].items[1].negative);
  EXPECT_EQ(literal->items[1].source, "(1, -2, 3L)");
  EXPECT_EQ(literal->items[2].text, "b'");
  EXPECT_TRUE(literal->items[3].items[0].truth);
  EXPECT_EQ(literal->items[3].items[2].kind, Literal::Kind::none);
  EXPECT_EQ(literal->items[5].kind, Literal::Kind::number);
  EXPECT_EQ(literal->items[5].source, "(4)");
  EXPECT_EQ(literal->items[7].kind, Literal::Kind::tuple);
  EXPECT_EQ(literal->items[9].kind, Literal::Kind::tuple);
}

TEST(Literal, reads_escapes_as_utf8) {
  const auto literal = parse_literal(R"('\\\'\"\a\b\f\n\r\t\v\0\101\1011\x41\u20ac\U0001f600é')");
  ASSERT_TRUE(literal) << literal.error().subject;
  EXPECT_EQ(literal->text,
            std::string("\\'\"\a\b\f\n\r\t\v\0AA1A\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9", 24));
}

TEST(Literal, refuses_what_it_does_not_know) {
  for (const char* const text :
       {"",       "1 2",   "01",        "1.5",           "0x1",   "1_0", "+1",
        "-",      "True1", "print",     "'a' 'b'",       "b'a'",  "'a",  "'\\",
        "'\\x4'", "'\\q'", "'\\ud800'", "'\\U00110000'", "(1 2)", "(,)", "[1,,]",
        "{1}",    "{1: }", "(1]",       "# a",           "'\n'",  "1e5", "18446744073709551616"}) {
    EXPECT_FALSE(parse_literal(text)) << text;
  }
  EXPECT_TRUE(parse_literal("18446744073709551615"));
}

TEST(Utf8, is_refused_when_it_is_malformed) {
  for (const char* const text : {"\x80",
                                 "\xc3",
                                 "\xc0\x80",
                                 "\xe0\x80\x80",
                                 "\xed\xa0\x80",
                                 "\xf4\x90\x80\x80",
                                 "\xf8\x88\x80\x80\x80",
                                 "\xc3(",
                                 "\xff"}) {
    EXPECT_FALSE(array::is_utf8(text));
  }
}

RC_GTEST_PROP(Utf8Properties, every_latin1_text_is_there_and_back, (const std::string& text)) {
  const std::string utf8 = array::utf8_from_latin1(text);
  RC_ASSERT(array::is_utf8(utf8));
  RC_ASSERT(array::latin1_from_utf8(utf8) == text);
}

TEST(Utf8, has_characters_that_latin1_has_not) {
  EXPECT_EQ(array::latin1_from_utf8("\xc3\xbf"), "\xff");
  EXPECT_EQ(array::latin1_from_utf8("\xc4\x80"), std::nullopt);
}

}  // namespace
}  // namespace lastref
