// tree_fault_test: what a fault at a call of a process tree reads as.
#include "harness/warden/tree_fault.hpp"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "harness/warden/syscalls.hpp"

namespace lastref::harness::warden {
namespace {

TEST(TreeFaults, read_as_they_are_written) {
  struct Row {
    const char* text;
    TreeFault fault;
  };
  const Row rows[] = {
      {"child.2/openat(/dev/shm/*)#3 fail ENOSPC",
       {.role = "child.2",
        .call = "openat",
        .object = "/dev/shm/*",
        .k = 3,
        .strike = Strike::fail,
        .error = ENOSPC}},
      {"unlink kill",
       {.role = "*", .call = "unlink", .object = "*", .k = 1, .strike = Strike::kill}},
      {"root/rename kill_after",
       {.role = "root", .call = "rename", .object = "*", .k = 1, .strike = Strike::kill_after}},
      {"root/exit_group#2 kill_tree",
       {.role = "root", .call = "exit_group", .object = "*", .k = 2, .strike = Strike::kill_tree}},
      {"write(/tmp/a (1)#2) fail_always EDQUOT",
       {.role = "*",
        .call = "write",
        .object = "/tmp/a (1)#2",
        .k = 1,
        .strike = Strike::fail_always,
        .error = EDQUOT}},
      {"openat:error=ENOSPC:when=3",
       {.role = "*",
        .call = "openat",
        .object = "*",
        .k = 3,
        .strike = Strike::fail,
        .error = ENOSPC}},
      {"openat:error=EIO",
       {.role = "*",
        .call = "openat",
        .object = "*",
        .k = 1,
        .strike = Strike::fail_always,
        .error = EIO}},
      {"rename:signal=KILL:when=2",
       {.role = "*", .call = "rename", .object = "*", .k = 2, .strike = Strike::kill}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.text);
    const auto fault = parse_tree_fault(row.text);
    ASSERT_TRUE(fault) << fault.error().subject;
    EXPECT_EQ(to_text(*fault), to_text(row.fault));
    EXPECT_EQ(*fault, row.fault);
  }
}

TEST(TreeFaults, that_are_none_say_what_is_wrong) {
  for (const char* text : {"",
                           "kill",
                           "openat",
                           "openat fail",
                           "openat kill EIO",
                           "openat fail EWHAT",
                           "opanat kill",
                           "openat#0 kill",
                           "openat#x kill",
                           "openat)#1 kill",
                           "root/(/a)#1 kill",
                           "exit_group fail EIO",
                           "openat:when=2",
                           "openat:error=EWHAT",
                           "openat:error=EIO:when=0",
                           "openat:error=EIO:delay=3",
                           "close:error=EIO"}) {
    const auto fault = parse_tree_fault(text);
    ASSERT_FALSE(fault) << text;
    EXPECT_EQ(fault.error().code, std::errc::invalid_argument);
    EXPECT_GT(fault.error().subject.size(), std::string_view(text).size() + 2);
  }
}

RC_GTEST_PROP(TreeFaults, what_is_printed_is_parsed, ()) {
  TreeFault fault;
  fault.role = *rc::gen::element<std::string>("*", "root", "child.*", "child.12.1", "orphan.1");
  fault.call = (*rc::gen::elementOf(syscalls())).name;
  fault.object = *rc::gen::element<std::string>("*", "", "/a b", "/a(b)", "/a#1", "pipe:[7]", ")(");
  fault.k = *rc::gen::inRange<std::uint64_t>(1, 1000);
  fault.strike = *rc::gen::element(
      Strike::fail, Strike::fail_always, Strike::kill, Strike::kill_after, Strike::kill_tree);
  const bool fails = fault.strike == Strike::fail || fault.strike == Strike::fail_always;
  RC_PRE(!fails || fault.call != "exit_group");
  fault.error = fails ? *rc::gen::element(EIO, ENOSPC, EINTR, EACCES) : 0;
  const auto parsed = parse_tree_fault(to_text(fault));
  RC_ASSERT(parsed.has_value());
  RC_ASSERT(*parsed == fault);
}

RC_GTEST_PROP(TreeFaults, no_text_ends_the_program, (const std::string& text)) {
  parse_tree_fault(text);
  parse_tree_fault("root/openat(" + text + ")#1 kill");
  parse_tree_fault("openat:" + text);
}

}  // namespace
}  // namespace lastref::harness::warden
