// fault_text_test: every fault has a text that reads back, and garbage has none.
#include "harness/scenario/fault_text.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <lastref/call.hpp>

#include "harness/scenario/fault.hpp"

namespace lastref::harness {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

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

/// With an errno if the kind needs one.
std::string action_of(const FaultRow& row) {
  return std::string(row.name) + (takes_error(row.kind) ? " EIO" : "");
}

TEST(FaultText, has_the_same_kinds_everywhere_or_says_where_a_kind_exists) {
  for (const FaultRow& row : fault_rows()) {
    const std::string text = "root/write(a)#2 " + action_of(row);
    SCOPED_TRACE(text);
    const auto gated = parse_fault_text(text, FaultWhere::gated);
    const auto watched = parse_fault_text(text, FaultWhere::watched);
    EXPECT_EQ(gated.has_value(), row.where != FaultWhere::watched);
    EXPECT_EQ(watched.has_value(), row.where != FaultWhere::gated);
    if (gated && watched) {
      EXPECT_EQ(to_text(*gated), text);
      EXPECT_EQ(to_text(*watched), text);
    } else {
      const std::string why = (gated ? watched : gated).error().subject;
      EXPECT_THAT(why, HasSubstr(gated ? "only in lastref gate" : "only in lastref run"));
    }
  }
}

TEST(FaultText, of_another_verb_is_refused_with_the_name_of_that_verb) {
  for (const char* const text : {"write shorten",
                                 "write(a)#1 shorten",
                                 "root/write#1 shorten",
                                 "root/write(a) shorten",
                                 "root/write(a)#1-2 shorten",
                                 "root/write(a)#1- shorten",
                                 "write:error=EIO"}) {
    EXPECT_TRUE(parse_fault_text(text, FaultWhere::watched)) << text;
    const Result<Fault> fault = parse_fault(text);
    ASSERT_FALSE(fault) << text;
    EXPECT_THAT(fault.error().subject, HasSubstr("only lastref run")) << text;
  }
}

TEST(FaultText, with_another_word_for_a_kind_is_refused_with_the_name_of_the_kind) {
  struct Row {
    std::string_view other;
    std::string_view kind;
  };
  const Row rows[] = {
      {"fail EIO", "fail_once"},
      {"kill", "kill_before"},
      {"kill_tree", "kill_before whole_tree"},
      {"outsider closes_folder", "outsider_chmod_parent"},
      {"outsider plants_link", "outsider_symlink"},
      {"outsider replaces", "outsider_replace"},
      {"outsider takes_rights", "outsider_chmod_000"},
      {"outsider truncates", "outsider_truncate"},
      {"outsider unlinks", "outsider_unlink"},
  };
  for (const Row& row : rows) {
    const std::string text = "root/write(a)#1 " + std::string(row.other);
    for (const FaultWhere where : {FaultWhere::gated, FaultWhere::watched}) {
      const auto fault = parse_fault_text(text, where);
      ASSERT_FALSE(fault) << text;
      EXPECT_THAT(fault.error().subject, EndsWith("write " + std::string(row.kind)));
    }
  }
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
