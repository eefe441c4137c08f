// every_call_test: a class that is written once for all calls gets each of them, and its object.
#include "harness/instrument/every_call.hpp"

#include <array>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/call.hpp>

#include "harness/instrument/call_object.hpp"
#include "property_tests/harness/instrument/told_os.hpp"

namespace lastref::harness {
namespace {

TEST(EveryCall, is_told_each_call_of_the_table_but_what_its_class_overrides) {
  pretend::ToldOs os;
  std::vector<Call> expected;
  for (const CallRow& row : call_rows()) {
    static_cast<void>(pretend::make_call(os, row.call));
    if (row.call != Call::thread_id) {
      expected.push_back(row.call);
    }
  }
  EXPECT_EQ(os.told, expected);
  EXPECT_EQ(os.thread_id(), 7);
}

TEST(EveryCall, takes_fewer_bytes_only_where_its_row_says_so) {
  std::array<std::byte, 6> bytes{};
  const os::Buffer whole = bytes;
  const auto third = [](std::size_t size) { return size / 3; };
  EXPECT_EQ(part_of<Call::read>(whole, third).size(), 2U);
  EXPECT_EQ(part_of<Call::write_at>(os::Bytes(whole), third).size(), 2U);
  EXPECT_EQ(part_of<Call::send>(os::Bytes(whole), third).size(), 6U);
  EXPECT_EQ(part_of<Call::read_at>(std::uint64_t{9}, third), 9U);
}

TEST(CallObject, is_the_last_path_and_else_the_descriptor) {
  const os::PathAt from = "/from";
  const os::PathAt to = "/to";
  const std::string socket = "/socket";
  EXPECT_EQ(object_of_call(from, to).path(), "/to");
  EXPECT_EQ(object_of_call(os::Fd{4}, socket).path(), "/socket");
  EXPECT_EQ(object_of_call(os::Fd{4}, std::uint64_t{1}).path(), std::nullopt);
  EXPECT_EQ(object_of_call(os::Fd{4}, std::uint64_t{1}).fd, os::Fd{4});
  EXPECT_EQ(object_of_call(to, os::OpenOptions{.create = true, .mode = 0640}).mode, 0640);
  EXPECT_EQ(object_of_call(to, os::OpenOptions{}).mode, -1);
  EXPECT_EQ(object_of_call().path(), std::nullopt);
}

}  // namespace
}  // namespace lastref::harness
