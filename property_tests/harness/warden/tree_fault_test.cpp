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
      {"child.2/openat(/dev/shm/*)#3 fail_once ENOSPC",
       {.role = "child.2",
        .call = "openat",
        .object = "/dev/shm/*",
        .k = 3,
        .last = 3,
        .action = {.kind = FaultKind::fail_once, .error = ENOSPC}}},
      {"unlink kill_before", {.role = "*", .call = "unlink", .object = "*", .k = 1}},
      {"root/rename kill_after",
       {.role = "root",
        .call = "rename",
        .object = "*",
        .k = 1,
        .action = {.kind = FaultKind::kill_after}}},
      {"root/exit_group#2 kill_before whole_tree",
       {.role = "root",
        .call = "exit_group",
        .object = "*",
        .k = 2,
        .last = 2,
        .action = {.whole_tree = true}}},
      {"write(/tmp/a (1)#2) fail_always EDQUOT",
       {.role = "*",
        .call = "write",
        .object = "/tmp/a (1)#2",
        .k = 1,
        .last = TreeFault::no_end,
        .action = {.kind = FaultKind::fail_always, .error = EDQUOT}}},
      {"fsync#2-4 fail_once EIO",
       {.call = "fsync",
        .k = 2,
        .last = 4,
        .action = {.kind = FaultKind::fail_once, .error = EIO}}},
      {"fsync#5- kill_before whole_tree",
       {.call = "fsync", .k = 5, .last = TreeFault::no_end, .action = {.whole_tree = true}}},
      {"openat(/tmp/x) outsider_symlink",
       {.call = "openat", .object = "/tmp/x", .action = {.kind = FaultKind::outsider_symlink}}},
      {"openat:error=ENOSPC:when=3",
       {.role = "*",
        .call = "openat",
        .object = "*",
        .k = 3,
        .last = 3,
        .action = {.kind = FaultKind::fail_once, .error = ENOSPC},
        .is_of_strace = true}},
      {"openat:error=EIO",
       {.role = "*",
        .call = "openat",
        .object = "*",
        .k = 1,
        .last = TreeFault::no_end,
        .action = {.kind = FaultKind::fail_always, .error = EIO},
        .is_of_strace = true}},
      {"write:error=EIO:when=3+",
       {.call = "write",
        .k = 3,
        .last = TreeFault::no_end,
        .action = {.kind = FaultKind::fail_always, .error = EIO},
        .is_of_strace = true}},
      {"write:error=EIO:when=3..7",
       {.call = "write",
        .k = 3,
        .last = 7,
        .action = {.kind = FaultKind::fail_once, .error = EIO},
        .is_of_strace = true}},
      {"*-m job one*/unlink#2 fail_once EIO",
       {.role = "*-m job one*",
        .call = "unlink",
        .object = "*",
        .k = 2,
        .last = 2,
        .action = {.kind = FaultKind::fail_once, .error = EIO}}},
      {"root/connect pause 5",
       {.role = "root",
        .call = "connect",
        .object = "*",
        .k = 1,
        .last = 1,
        .action = {.kind = FaultKind::pause, .seconds = 5}}},
      {"rename:signal=KILL:when=2",
       {.role = "*", .call = "rename", .object = "*", .k = 2, .last = 2, .is_of_strace = true}},
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
                           "openat kill",
                           "openat kill_tree",
                           "openat fail EIO",
                           "openat outsider unlinks",
                           "openat kill_blocked",
                           "openat fail_once",
                           "openat kill_before EIO",
                           "openat fail_once EWHAT",
                           "opanat kill_before",
                           "openat#0 kill_before",
                           "openat#x kill_before",
                           "openat)#1 kill_before",
                           "root/(/a)#1 kill_before",
                           "exit_group fail_once EIO",
                           "exit_group kill_after",
                           "exit_group pause",
                           "openat pause 0",
                           "openat pause 3601",
                           "openat pause soon",
                           "openat shorten",
                           "openat outsider",
                           "openat outsider_sing",
                           "openat kill_before unlinks",
                           "getrandom outsider_unlink",
                           "openat#3-2 kill_before",
                           "openat#3-x kill_before",
                           "openat#-3 kill_before",
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
  fault.last = *rc::gen::element(fault.k, fault.k + 5, TreeFault::no_end);
  const FaultRow row =
      *rc::gen::suchThat(rc::gen::elementOf(fault_rows()),
                         [](const FaultRow& each) { return each.where != FaultWhere::gated; });
  fault.action.kind = row.kind;
  if (row.effect == FaultEffect::fail) {
    fault.action.error = *rc::gen::element(EIO, ENOSPC, EINTR, EACCES);
    // What has no end is always, and the other way round.
    fault.action.kind =
        fault.last == TreeFault::no_end ? FaultKind::fail_always : FaultKind::fail_once;
  }
  fault.action.whole_tree = row.effect == FaultEffect::kill && *rc::gen::arbitrary<bool>();
  const bool is_for_strace = row.effect == FaultEffect::fail || row.kind == FaultKind::kill_before;
  if (is_for_strace && *rc::gen::arbitrary<bool>()) {
    fault.is_of_strace = true;
    fault.role = fault.object = "*";
    fault.action.whole_tree = false;
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
  static_cast<void>(parse_tree_fault("root/openat(" + text + ")#1 kill_before"));
  static_cast<void>(parse_tree_fault("openat:" + text));
}

}  // namespace
}  // namespace lastref::harness::warden
