// pfio_format_test: others read the files that we preserve, and we load those that they preserve.
// The others are a reader and a writer in Python that know only the format, and pfio itself where
// it is installed.
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>

#include "property_tests/impl/cache/cache_fixture.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref {
namespace {

using pretend::CacheFixture;
using pretend::CacheKind;
using pretend::get_all_ways;
using pretend::must;
using pretend::put;
using pretend::wait_for;

constexpr std::uint64_t length = 6;
constexpr int no_pfio = 77;

std::string hex_of(const std::string& text) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string hex;
  for (const char each : text) {
    const auto byte = static_cast<unsigned char>(each);
    hex += digits[byte >> 4U];
    hex += digits[byte & 0xfU];
  }
  return hex;
}

/// Empty slots at both ends, an empty value, and one of more than a page.
std::map<std::uint64_t, std::string> values() {
  return {{1, "one"}, {2, ""}, {3, std::string("\0\xff\n\t", 4)}, {4, std::string(5000, 'x')}};
}

class PfioFormat : public testing::TestWithParam<CacheKind> {
 protected:
  std::string path(const std::string& name) const { return fixture_.folder.path(name); }

  /// Runs it in Python; returns the exit code.
  int perform(std::vector<std::string> words, bool with_values) {
    if (with_values) {
      for (const auto& [slot, value] : values()) {
        words.push_back(std::to_string(slot));
        words.push_back(hex_of(value));
      }
    }
    std::string plan;
    for (const std::string& word : words) {
      plan += word + (&word == &words.back() ? '\n' : '\t');
    }
    fixture_.folder.write("plan", plan);
    os::KernelOs os({.program = LASTREF_PYTHON});
    const os::Child child = must(os.spawn(
        {.entry = LASTREF_PFIO_FORMAT, .arguments = {path("plan")}, .fds = {}, .blocked = {}}));
    const os::UniqueFd process(os, child.process);
    const os::ChildExit exit = must(wait_for(os, process.get()));
    fixture_.folder.remove("plan");
    return exit.killed ? -1 : exit.code;
  }

  void preserve_ours() {
    const auto cache = fixture_.make(GetParam(), length);
    // Not in the order of the slots.
    for (const std::uint64_t slot :
         {std::uint64_t{4}, std::uint64_t{1}, std::uint64_t{3}, std::uint64_t{2}}) {
      ASSERT_TRUE(put(*cache, slot, values().at(slot)));
    }
    ASSERT_TRUE(must(cache->preserve("kept", false)));
  }

  void expect_theirs_is_read() {
    const auto cache = fixture_.make(GetParam(), length);
    ASSERT_TRUE(must(cache->preload("kept")));
    for (std::uint64_t slot = 0; slot < length; ++slot) {
      EXPECT_EQ(get_all_ways(*cache, slot),
                values().contains(slot) ? std::optional(values().at(slot)) : std::nullopt);
    }
  }

  void expect_ours_was_read() {
    std::istringstream read(fixture_.folder.read("read"));
    for (std::uint64_t slot = 0; slot < length; ++slot) {
      std::string line;
      std::getline(read, line);
      EXPECT_EQ(line, values().contains(slot) ? hex_of(values().at(slot)) : "none") << slot;
    }
    fixture_.folder.remove("read");
  }

  CacheFixture fixture_;
};

INSTANTIATE_TEST_SUITE_P(On,
                         PfioFormat,
                         testing::ValuesIn(pretend::cache_kinds),
                         [](const auto& each) { return pretend::name_of(each.param); });

TEST_P(PfioFormat, that_we_write_is_read_by_whoever_knows_it_C1_C7) {
  preserve_ours();
  ASSERT_EQ(perform({"read", path("kept"), std::to_string(length), path("read")}, false), 0);
  expect_ours_was_read();
  fixture_.folder.remove("kept");
}

TEST_P(PfioFormat, that_others_write_is_read_C1_C7) {
  ASSERT_EQ(perform({"write", path("kept"), std::to_string(length)}, true), 0);
  expect_theirs_is_read();
  fixture_.folder.remove("kept");
}

TEST_P(PfioFormat, is_that_of_pfio_itself_both_ways_C1_C7) {
  preserve_ours();
  const int read = perform(
      {"preload", fixture_.folder.path(), "kept", std::to_string(length), path("read")}, false);
  fixture_.folder.remove("kept");
  if (read == no_pfio) {
    GTEST_SKIP() << "there is no pfio in PYTHONPATH";
  }
  ASSERT_EQ(read, 0);
  expect_ours_was_read();
  ASSERT_EQ(perform({"preserve", fixture_.folder.path(), "kept", std::to_string(length)}, true), 0);
  expect_theirs_is_read();
  fixture_.folder.remove("kept");
}

}  // namespace
}  // namespace lastref
