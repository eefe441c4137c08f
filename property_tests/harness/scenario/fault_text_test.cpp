// fault_text_test: every fault has a text that reads back, and garbage has none.
#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <lastref/call.hpp>

#include "harness/scenario/fault.hpp"

namespace lastref::harness {
namespace {

std::vector<int> errors_of_table() {
  std::vector<int> errors;
  for (const CallRow& row : call_rows()) {
    std::ranges::transform(row.errors, std::back_inserter(errors), &ErrorRow::error);
  }
  return errors;
}

rc::Gen<Fault> faults() {
  return rc::gen::exec([] {
    Fault fault;
    fault.site.role = *rc::gen::element<std::string>("root", "tracker", "tracker#2", "client_a");
    fault.site.name = *rc::gen::element<std::string>("unlink", "open", "tracker_doomed");
    fault.site.object = *rc::gen::arbitrary<std::string>();
    fault.site.k = *rc::gen::positive<std::uint32_t>();
    fault.kind = *rc::gen::element(FaultKind::kill_before,
                                   FaultKind::kill_after,
                                   FaultKind::kill_amid,
                                   FaultKind::kill_blocked,
                                   FaultKind::fail_once,
                                   FaultKind::fail_always,
                                   FaultKind::fail_in_all,
                                   FaultKind::shorten,
                                   FaultKind::time_out,
                                   FaultKind::time_out_always,
                                   FaultKind::interrupt,
                                   FaultKind::pause);
    if (takes_error(fault.kind)) {
      fault.error = *rc::gen::elementOf(errors_of_table());
    } else if (is_kill(fault.kind)) {
      fault.whole_tree = *rc::gen::arbitrary<bool>();
    }
    return fault;
  });
}

/// Texts near those of faults, whole or with one byte changed, omitted or inserted.
rc::Gen<std::string> nearly_faults() {
  return rc::gen::exec([] {
    std::string text = to_text(*faults());
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        text[at] = *rc::gen::arbitrary<char>();
        break;
      case 1:
        text.erase(at, 1);
        break;
      case 2:
        text.insert(at, 1, *rc::gen::elementOf(std::string("()# /1_kE")));
        break;
      default:
        text.resize(at);
    }
    return text;
  });
}

RC_GTEST_PROP(FaultText, reads_back_as_the_same_fault, ()) {
  const Fault fault = *faults();
  RC_ASSERT((parse_fault(to_text(fault)) == fault));
}

RC_GTEST_PROP(FaultText, tells_any_two_faults_apart, ()) {
  const Fault one = *faults();
  const Fault other = *faults();
  RC_ASSERT((one == other) == (to_text(one) == to_text(other)));
}

RC_GTEST_PROP(FaultText, that_is_read_is_the_one_that_its_text_says, ()) {
  const std::string text = *rc::gen::oneOf(nearly_faults(), rc::gen::arbitrary<std::string>());
  const Result<Fault> read = parse_fault(text);
  if (read) {
    RC_ASSERT((parse_fault(to_text(*read)) == read));
  }
}

TEST(FaultText, death_can_cut_what_goes_into_a_file_or_is_too_long_for_a_pipe) {
  EXPECT_TRUE(may_be_cut("write", "ledger", 2));
  EXPECT_TRUE(may_be_cut("write_at", "cache", 100));
  EXPECT_FALSE(may_be_cut("write", "ledger", 1));
  EXPECT_FALSE(may_be_cut("send", "tracker", 100));
  EXPECT_FALSE(may_be_cut("read", "ledger", 100));
  for (const char* const pipe : {"pipe.write", "passed", "stderr"}) {
    EXPECT_FALSE(may_be_cut("write", pipe, 4096)) << pipe;
    EXPECT_TRUE(may_be_cut("write", pipe, 4097)) << pipe;
  }
}

TEST(FaultText, what_fails_for_ever_does_in_one_process_or_in_all_of_its_role) {
  const Fault always = parse_fault("tracker/unlink(a)#1 fail_always EIO").value();
  EXPECT_TRUE(fails_for_ever(always, "tracker", "unlink"));
  EXPECT_FALSE(fails_for_ever(always, "tracker#2", "unlink"));
  const Fault in_all = parse_fault("tracker#2/unlink(a)#1 fail_in_all EIO").value();
  EXPECT_TRUE(fails_for_ever(in_all, "tracker", "unlink"));
  EXPECT_TRUE(fails_for_ever(in_all, "tracker#3", "unlink"));
  EXPECT_FALSE(fails_for_ever(in_all, "tracker#3", "open"));
  EXPECT_FALSE(fails_for_ever(in_all, "worker", "unlink"));
  const Fault once = parse_fault("tracker/unlink(a)#1 fail_once EIO").value();
  EXPECT_FALSE(fails_for_ever(once, "tracker", "unlink"));
}

class NoFault : public testing::TestWithParam<const char*> {};

TEST_P(NoFault, is_refused) {
  const Result<Fault> fault = parse_fault(GetParam());
  ASSERT_FALSE(fault);
  EXPECT_EQ(fault.error().code, std::errc::invalid_argument);
}

const char* const no_faults[] = {
    "",
    "kill_before",
    "tracker/unlink(a)#1",
    "tracker/unlink(a)#0 kill_before",
    "tracker/unlink(a)#-1 kill_before",
    "tracker/unlink(a)#99999999999 kill_before",
    "tracker/unlink(a) kill_before",
    "tracker/unlink#1 kill_before",
    "/unlink(a)#1 kill_before",
    "tracker/(a)#1 kill_before",
    "tracker/unlink(a)#1 kill",
    "tracker/unlink(a)#1 fail_once",
    "tracker/unlink(a)#1 fail_once EWRONG",
    "tracker/unlink(a)#1 fail_once 13",
    "tracker/unlink(a)#1 fail_once EACCES whole_tree",
    "tracker/unlink(a)#1 shorten whole_tree",
    "tracker/unlink(a)#1 interrupt whole_tree",
    "tracker/unlink(a)#1 kill_before EACCES",
    "tracker/unlink(a)#1 kill_before whole_tree again",
};

INSTANTIATE_TEST_SUITE_P(FaultText, NoFault, testing::ValuesIn(no_faults), [](const auto& each) {
  return "row_" + std::to_string(each.index);
});

}  // namespace
}  // namespace lastref::harness
