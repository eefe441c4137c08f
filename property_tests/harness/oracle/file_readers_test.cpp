// file_readers_test: a file of each kind: whole, torn, short, and with something wrong in it.
#include "harness/oracle/file_readers.hpp"

#include <array>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/harness/oracle/planted_bytes.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref::harness::oracle {
namespace {

using pretend::expect_transcript;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// An array's file with this dictionary and that many bytes of data.
std::string array_file(std::string text, std::size_t data_size) {
  constexpr std::size_t start = 10;
  text.append(127 - start - text.size(), ' ');
  text += '\n';
  return std::string("\x93NUMPY\x01\x00", 8) + word(text.size(), 2) + text +
         std::string(data_size, 'd');
}

const std::string three_by_two = "{'descr': '<i4', 'fortran_order': False, 'shape': (3, 2), }";

template <typename T>
std::string why(const ReadFile<T>& read) {
  return read ? "whole" : read.error();
}

TEST(ArrayFileReader, takes_an_array_whose_data_are_all_there) {
  const std::string bytes = array_file(three_by_two, 24);
  EXPECT_EQ(read_array_file(bytes).value(), std::string(24, 'd'));
}

TEST(ArrayFileReader, knows_types_of_other_sizes_and_shapes) {
  const struct {
    const char* text;
    std::size_t size;
  } rows[] = {
      {"{'descr': '<U3', 'fortran_order': True, 'shape': (2,), }", 24},
      {"{'descr': '|b1', 'fortran_order': False, 'shape': (), }", 1},
      {"{'descr': '>f8', 'fortran_order': False, 'shape': (0, 9), }", 0},
      {"{'descr': [('a', '<i4')], 'fortran_order': False, 'shape': (5,), }", 20},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(why(read_array_file(array_file(row.text, row.size))), "whole") << row.text;
    EXPECT_NE(why(read_array_file(array_file(row.text, row.size + 1))), "whole") << row.text;
  }
}

TEST(ArrayFileReader, refuses_one_that_is_cut_off_anywhere) {
  const std::string bytes = array_file(three_by_two, 24);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(why(read_array_file(bytes.substr(0, size))), "whole") << size;
  }
}

TEST(ArrayFileReader, refuses_another_magic_another_version_and_a_header_that_says_too_little) {
  std::string magic = array_file(three_by_two, 24);
  magic[0] = 'x';
  expect_transcript(why(read_array_file(magic)));
  std::string version = array_file(three_by_two, 24);
  version[6] = 9;
  expect_transcript(why(read_array_file(version)));
  expect_transcript(why(read_array_file(array_file("{'descr': '<i4', 'shape': (6,), }", 24))));
}

/// A live cache of three slots. The first has a value.
class LiveCacheReader : public testing::Test {
 protected:
  static constexpr std::size_t record_at = 288;

  LiveCacheReader() {
    bytes_ = "lastrefC" + word(2) + word(3) + word(0) + word(0) + std::string(32, 'a');
    bytes_.resize(256);
    put(128, 320);  // the end
    bytes_ += word(record_at) + word(0) + word(0);
    bytes_.resize(record_at);
    bytes_ += word(5) + word(0) + "value" + std::string(11, '\0');
  }
  void put(std::size_t at, std::uint64_t number) { bytes_.replace(at, 8, word(number)); }
  std::string told() const { return why(read_live_cache(bytes_)); }

  std::string bytes_;
};

TEST_F(LiveCacheReader, takes_what_is_in_the_slots) {
  const LiveCache cache = read_live_cache(bytes_).value();
  ASSERT_EQ(cache.values.size(), 1U);
  EXPECT_EQ(cache.values[0].slot, 0U);
  EXPECT_EQ(cache.values[0].bytes, "value");
  EXPECT_FALSE(cache.is_frozen);
}

TEST_F(LiveCacheReader, takes_space_that_is_taken_and_not_yet_written) {
  put(128, 4096);
  EXPECT_EQ(told(), "whole");
}

TEST_F(LiveCacheReader, refuses_a_value_or_slots_that_are_cut_off) {
  for (std::size_t size = 0; size < record_at + 16 + 5; ++size) {
    EXPECT_NE(why(read_live_cache(std::string_view(bytes_).substr(0, size))), "whole") << size;
  }
}

TEST_F(LiveCacheReader, refuses_a_slot_that_points_before_its_value_is_there) {
  put(264, 304);
  EXPECT_THAT(told(), HasSubstr("slot 1"));
  expect_transcript(told());
}

TEST_F(LiveCacheReader, refuses_the_record_of_another_slot) {
  put(264, record_at);
  EXPECT_THAT(told(), HasSubstr("slot 1"));
  expect_transcript(told());
}

TEST_F(LiveCacheReader, refuses_a_value_behind_the_end_of_what_was_taken) {
  put(128, 304);
  EXPECT_THAT(told(), HasSubstr("slot 0"));
  expect_transcript(told());
}

TEST_F(LiveCacheReader, refuses_an_open_slot_of_a_frozen_cache) {
  put(192, 2);
  EXPECT_THAT(told(), HasSubstr("slot 1"));
  expect_transcript(told());
  put(264, 1);
  put(272, 1);
  EXPECT_EQ(told(), "whole");
}

TEST_F(LiveCacheReader, refuses_another_magic_and_another_version) {
  put(8, 3);
  expect_transcript(told());
  bytes_[0] = 'x';
  expect_transcript(told());
}

TEST(PreservedCacheReader, takes_values_and_empty_slots) {
  const std::string bytes =
      word(48) + word(2) + word(0) + word(~0ULL) + word(50) + word(3) + "abcde";
  const auto values = read_preserved_cache(bytes).value();
  ASSERT_EQ(values.size(), 2U);
  EXPECT_EQ(values[0].bytes, "ab");
  EXPECT_EQ(values[1].slot, 2U);
  EXPECT_EQ(values[1].bytes, "cde");
  for (std::size_t size = 1; size < bytes.size(); ++size) {
    EXPECT_NE(why(read_preserved_cache(bytes.substr(0, size))), "whole") << size;
  }
  EXPECT_NE(why(read_preserved_cache(bytes + "x")), "whole");
}

TEST(PreservedCacheReader, takes_one_without_values) {
  EXPECT_THAT(read_preserved_cache(word(0) + word(~0ULL)).value(), IsEmpty());
}

TEST(PreservedCacheReader, refuses_values_that_share_bytes_and_entries_that_say_nothing) {
  expect_transcript(why(read_preserved_cache(word(32) + word(2) + word(33) + word(2) + "abc")));
  expect_transcript(why(read_preserved_cache(word(7) + word(~0ULL))));
}

TEST(LedgerReader, takes_the_names_that_are_alive) {
  std::string bytes = ledger_record(0, '+', "/a");
  bytes += ledger_record(bytes.size(), '-', "/dead");
  bytes += ledger_record(bytes.size(), '!', "/forgotten");
  bytes += ledger_record(bytes.size(), '+', "/b\n", 1);
  bytes +=
      ledger_record(bytes.size(), '+', word(1) + word(2) + word(3) + "/c", static_cast<char>(128));
  const LedgerContent content = read_ledger(bytes + std::string(100, '\0')).value();
  EXPECT_THAT(content.names, ElementsAre("file:/a", "folder:/b\\x0a", "file:/c"));
  EXPECT_FALSE(content.is_cut_short);
}

TEST(LedgerReader, stops_at_a_record_that_is_cut_short) {
  std::string bytes = ledger_record(0, '+', "/a");
  const std::size_t second = bytes.size();
  bytes += ledger_record(second, '+', "/b");
  bytes[second + 13] = '/';
  const LedgerContent content = read_ledger(bytes).value();
  EXPECT_THAT(content.names, ElementsAre("file:/a"));
  EXPECT_TRUE(content.is_cut_short);
  EXPECT_TRUE(read_ledger(bytes.substr(0, bytes.size() - 1)).value().is_cut_short);
}

TEST(LedgerReader, takes_no_record_that_was_written_for_another_place) {
  EXPECT_TRUE(read_ledger(ledger_record(16, '+', "/a")).value().is_cut_short);
}

TEST(LedgerReader, refuses_what_is_no_record_and_what_names_nothing) {
  expect_transcript(why(read_ledger("garbage of some length")));
  expect_transcript(why(read_ledger(ledger_record(0, '+', "/a", 9))));
}

}  // namespace
}  // namespace lastref::harness::oracle
