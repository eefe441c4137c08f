// resource_test: names as text, and which names can be sent.
#include <algorithm>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/resource.hpp>

namespace lastref {
namespace {

/// Any bytes at all.
rc::Gen<std::string> bytes() {
  return rc::gen::container<std::string>(rc::gen::arbitrary<char>());
}

/// Mostly characters that quoting could get wrong.
rc::Gen<std::string> tricky_bytes() {
  return rc::gen::container<std::string>(rc::gen::weightedOneOf<char>(
      {{1, rc::gen::arbitrary<char>()}, {3, rc::gen::elementOf(std::string("\\x5c:a\n 0", 9))}}));
}

ResourceType any_type() {
  return *rc::gen::element(ResourceType::file,
                           ResourceType::folder,
                           ResourceType::semlock,
                           ResourceType::shm,
                           ResourceType::noop);
}

/// Reverses what to_text makes of the name.
std::string unquoted(const std::string& text) {
  std::string name;
  for (std::size_t i = text.find(':') + 1; i < text.size(); ++i) {
    if (text[i] != '\\') {
      name += text[i];
      continue;
    }
    name += static_cast<char>(std::stoi(text.substr(i + 2, 2), nullptr, 16));
    i += 3;
  }
  return name;
}

TEST(ResourceText, every_type_has_the_word_of_loky) {
  EXPECT_EQ(name_of(ResourceType::file), "file");
  EXPECT_EQ(name_of(ResourceType::folder), "folder");
  EXPECT_EQ(name_of(ResourceType::semlock), "semlock");
  EXPECT_EQ(name_of(ResourceType::shm), "shm");
  EXPECT_EQ(name_of(ResourceType::noop), "noop");
}

TEST(ResourceText, shows_what_is_not_printable_as_hexadecimal) {
  EXPECT_EQ(to_text({.type = ResourceType::file, .name = "/tmp/a b"}), "file:/tmp/a b");
  EXPECT_EQ(to_text({.type = ResourceType::shm, .name = "/a\n\xc3\\"}), R"(shm:/a\x0a\xc3\x5c)");
}

TEST(ResourceText, no_other_word_is_a_type) {
  for (const char* const word : {"", "File", "files", "fil", "file:", "mutex"}) {
    EXPECT_EQ(type_of(word), std::nullopt) << word;
  }
}

RC_GTEST_PROP(ResourceText, a_word_gives_its_type_back, ()) {
  const ResourceType type = any_type();
  RC_ASSERT(type_of(name_of(type)) == type);
}

RC_GTEST_PROP(ResourceText, is_printable_ascii_whatever_the_name, ()) {
  const std::string text = to_text({.type = any_type(), .name = *bytes()});
  RC_ASSERT(std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; }));
}

RC_GTEST_PROP(ResourceText, says_exactly_which_name_it_is, ()) {
  const Resource resource{.type = any_type(), .name = *tricky_bytes()};
  const std::string text = to_text(resource);
  RC_ASSERT(text.starts_with(std::string(name_of(resource.type)) + ":"));
  RC_ASSERT(unquoted(text) == resource.name);
}

RC_GTEST_PROP(ResourceNames, any_bytes_but_nul_can_be_carried, ()) {
  const Resource resource{.type = any_type(),
                          .name = *rc::gen::container<std::string>(rc::gen::nonZero<char>())};
  RC_PRE(!resource.name.empty());
  RC_ASSERT(check_name(resource).has_value());
}

RC_GTEST_PROP(ResourceNames, a_nul_anywhere_cannot, ()) {
  std::string name = *bytes();
  name.insert(*rc::gen::inRange<std::size_t>(0, name.size() + 1), 1, '\0');
  const Status status = check_name({.type = any_type(), .name = name});
  RC_ASSERT(!status.has_value());
  RC_ASSERT(status.error().code == std::errc::invalid_argument);
}

RC_GTEST_PROP(ResourceNames, sizes_from_one_to_the_longest_path_can, ()) {
  const auto size = *rc::gen::weightedOneOf<std::size_t>(
      {{1, rc::gen::inRange<std::size_t>(0, 2 * name_size_max)},
       {1, rc::gen::inRange<std::size_t>(name_size_max - 2, name_size_max + 3)}});
  const Status status = check_name({.type = any_type(), .name = std::string(size, 'n')});
  RC_ASSERT(status.has_value() == (size >= 1 && size <= name_size_max));
  RC_ASSERT(size <= name_size_max || status.error().code == std::errc::filename_too_long);
}

TEST(ResourceNames, an_empty_one_cannot) {
  const Status status = check_name({.type = ResourceType::file, .name = ""});
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, std::errc::invalid_argument);
  EXPECT_EQ(describe(status.error()), "file:: Invalid argument");
}

TEST(ResourceNames, the_error_shows_the_start_of_an_overlong_one) {
  const Status status =
      check_name({.type = ResourceType::file, .name = std::string(2 * name_size_max, 'n')});
  ASSERT_FALSE(status);
  EXPECT_TRUE(status.error().subject.starts_with("file:nnn"));
  EXPECT_TRUE(status.error().subject.ends_with("n..."));
  EXPECT_LT(status.error().subject.size(), 300U);
}

}  // namespace
}  // namespace lastref
