// Products: how files are named and compared.
#include "harness/warden/product.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/support/fresh_folder.hpp"

namespace lastref::harness::warden {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Product, is_a_file_and_perhaps_its_content) {
  const Product plain = parse_product("/a/b=c").value_or(Product{});
  EXPECT_EQ(plain.path, "/a/b=c");
  EXPECT_EQ(plain.expected, "");
  const Product with = parse_product("/a/b=c=0123456789abcdef").value_or(Product{});
  EXPECT_EQ(with.path, "/a/b=c");
  EXPECT_EQ(with.expected, "0123456789abcdef");
  EXPECT_EQ(parse_product("/a=none").value_or(Product{}).expected, "none");
  EXPECT_EQ(parse_product("a").value_or(Product{}).path,
            (std::filesystem::current_path() / "a").string());
  EXPECT_FALSE(parse_product(""));
  EXPECT_FALSE(parse_product("=none"));
}

TEST(Product, differs_when_a_byte_of_it_differs) {
  pretend::FreshFolder folder;
  const std::string path = folder.path() + "/product";
  const std::string absent = content_of(path);
  EXPECT_EQ(absent, "none");
  const std::string large(1 << 17, 'a');
  folder.write("product", large);
  const std::string first = content_of(path);
  EXPECT_NE(first, absent);
  EXPECT_EQ(content_of(path), first);
  for (const std::size_t at : {std::size_t{0}, large.size() / 2, large.size() - 1}) {
    std::string other = large;
    other[at] = 'b';
    folder.write("product", other);
    EXPECT_NE(content_of(path), first) << at;
  }
  folder.write("product", large + 'a');
  const std::string longer = content_of(path);
  EXPECT_NE(longer, first);

  const Product product{.path = path, .expected = first};
  EXPECT_THAT(difference_of(product, first), IsEmpty());
  EXPECT_THAT(difference_of(product, longer), HasSubstr("has another content"));
  EXPECT_THAT(difference_of(product, absent), HasSubstr("does not exist"));
  EXPECT_THAT(difference_of({.path = path, .expected = absent}, first), HasSubstr("exists"));
  EXPECT_THAT(difference_of({.path = path, .expected = ""}, first), IsEmpty());
  std::filesystem::remove(path);
}

TEST(Product, is_no_folder_and_no_pipe) {
  pretend::FreshFolder folder;
  EXPECT_EQ(content_of(folder.path()), "none");
}

}  // namespace
}  // namespace lastref::harness::warden
