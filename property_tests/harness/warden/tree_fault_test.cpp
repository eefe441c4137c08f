// tree_fault_test: the text of a fault at a call of a process tree.
#include "harness/warden/tree_fault.hpp"

#include <cerrno>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "harness/warden/syscalls.hpp"
#include "property_tests/support/transcript.hpp"

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
        .last = 3,
        .strike = Strike::fail,
        .error = ENOSPC}},
      {"unlink kill",
       {.role = "*", .call = "unlink", .object = "*", .k = 1, .strike = Strike::kill}},
      {"root/rename kill_after",
       {.role = "root", .call = "rename", .object = "*", .k = 1, .strike = Strike::kill_after}},
      {"root/exit_group#2 kill_tree",
       {.role = "root",
        .call = "exit_group",
        .object = "*",
        .k = 2,
        .last = 2,
        .strike = Strike::kill_tree}},
      {"write(/tmp/a (1)#2) fail_always EDQUOT",
       {.role = "*",
        .call = "write",
        .object = "/tmp/a (1)#2",
        .k = 1,
        .last = TreeFault::for_ever,
        .strike = Strike::fail,
        .error = EDQUOT}},
      {"fsync#2-4 fail EIO",
       {.call = "fsync", .k = 2, .last = 4, .strike = Strike::fail, .error = EIO}},
      {"fsync#5- kill_tree",
       {.call = "fsync", .k = 5, .last = TreeFault::for_ever, .strike = Strike::kill_tree}},
      {"openat(/tmp/x) outsider plants_link",
       {.call = "openat",
        .object = "/tmp/x",
        .strike = Strike::outsider,
        .deed = Deed::plants_link}},
      {"openat:error=ENOSPC:when=3",
       {.role = "*",
        .call = "openat",
        .object = "*",
        .k = 3,
        .last = 3,
        .strike = Strike::fail,
        .error = ENOSPC}},
      {"openat:error=EIO",
       {.role = "*",
        .call = "openat",
        .object = "*",
        .k = 1,
        .last = TreeFault::for_ever,
        .strike = Strike::fail,
        .error = EIO}},
      {"write:error=EIO:when=3+",
       {.call = "write",
        .k = 3,
        .last = TreeFault::for_ever,
        .strike = Strike::fail,
        .error = EIO}},
      {"write:error=EIO:when=3..7",
       {.call = "write", .k = 3, .last = 7, .strike = Strike::fail, .error = EIO}},
      {"rename:signal=KILL:when=2",
       {.role = "*", .call = "rename", .object = "*", .k = 2, .last = 2, .strike = Strike::kill}},
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
  std::string refusals;
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
                           "exit_group kill_after",
                           "openat shorten",
                           "openat outsider",
                           "openat outsider sings",
                           "openat kill unlinks",
                           "getrandom outsider unlinks",
                           "openat#3-2 kill",
                           "openat#3-x kill",
                           "openat#-3 kill",
                           "openat:error=EIO:when=3+2",
                           "openat:error=EIO:when=5..2",
                           "openat:when=2",
                           "openat:error=EWHAT",
                           "openat:error=EIO:when=0",
                           "openat:error=EIO:delay=3",
                           "close:error=EIO"}) {
    const auto fault = parse_tree_fault(text);
    ASSERT_FALSE(fault) << text;
    EXPECT_EQ(fault.error().code, std::errc::invalid_argument);
    EXPECT_GT(fault.error().subject.size(), std::string_view(text).size() + 2);
    refusals += fault.error().subject + "\n";
  }
  pretend::expect_transcript(refusals);
}

RC_GTEST_PROP(TreeFaults, what_is_printed_is_parsed, ()) {
  TreeFault fault;
  fault.role = *rc::gen::element<std::string>("*", "root", "child.*", "child.12.1", "orphan.1");
  fault.call = (*rc::gen::elementOf(syscalls())).name;
  fault.object = *rc::gen::element<std::string>("*", "", "/a b", "/a(b)", "/a#1", "pipe:[7]", ")(");
  fault.k = *rc::gen::inRange<std::uint64_t>(1, 1000);
  fault.last = *rc::gen::element(fault.k, fault.k + 5, TreeFault::for_ever);
  fault.strike = *rc::gen::element(Strike::fail,
                                   Strike::shorten,
                                   Strike::kill,
                                   Strike::kill_after,
                                   Strike::kill_amid,
                                   Strike::kill_tree,
                                   Strike::pause,
                                   Strike::stop,
                                   Strike::outsider);
  if (fault.strike == Strike::fail) {
    fault.error = *rc::gen::element(EIO, ENOSPC, EINTR, EACCES);
  } else if (fault.strike == Strike::outsider) {
    fault.deed = *rc::gen::element(Deed::unlinks,
                                   Deed::truncates,
                                   Deed::replaces,
                                   Deed::takes_rights,
                                   Deed::plants_link,
                                   Deed::closes_folder);
  }
  const auto parsed = parse_tree_fault(to_text(fault));
  if (!parsed) {
    // Not every call can have such a fault.
    RC_ASSERT(parsed.error().subject.starts_with(to_text(fault) + ": " + fault.call));
    return;
  }
  RC_ASSERT(*parsed == fault);
}

RC_GTEST_PROP(TreeFaults, no_text_ends_the_program, (const std::string& text)) {
  // Either result is allowed.
  static_cast<void>(parse_tree_fault(text));
  static_cast<void>(parse_tree_fault("root/openat(" + text + ")#1 kill"));
  static_cast<void>(parse_tree_fault("openat:" + text));
}

}  // namespace
}  // namespace lastref::harness::warden
