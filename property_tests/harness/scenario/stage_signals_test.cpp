// stage_signals_test: signals between roles, operations of the product, and how roles end, in both
// worlds.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/explore/exhaustive.hpp"
#include "harness/kernel/control_block.hpp"
#include "property_tests/harness/scenario/stage_worlds.hpp"

namespace lastref::harness {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::IsEmpty;
using testing::StartsWith;

// Mail.

std::string all_bytes() {
  std::string bytes(mail_size_max, '\0');
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] = static_cast<char>(at * 7);
  }
  return bytes;
}

Status mail_root(Stage& stage) {
  LASTREF_CHECK(stage.start("reader"));
  stage.send("parcel", all_bytes());
  stage.send("nothing in it", "");
  stage.tell("told");
  expect(stage, stage.receive("answer") == "first", "a mail arrives");
  stage.send("answered", "");
  expect(
      stage, stage.receive("answer again") == std::string(), "a signal that was told has no bytes");
  expect(stage, stage.receive("answer") == "second", "a mail may be replaced");
  expect(stage, !stage.receive("never"), "a message that no role sends does not arrive");
  return ok();
}

Status mail_reader(Stage& stage) {
  for (int time = 0; time < 2; ++time) {
    expect(stage, stage.receive("parcel") == all_bytes(), "a mail has the bytes that were sent");
  }
  expect(stage, stage.await("parcel"), "a mail is a signal");
  expect(stage, stage.receive("nothing in it") == std::string(), "a mail may be empty");
  expect(stage, stage.receive("told") == std::string(), "a signal that was told has no bytes");
  stage.send("answer", "first");
  stage.await("answered");
  stage.send("answer", "second");
  stage.tell("answer again");
  return ok();
}

Status many_mails_root(Stage& stage) {
  for (std::size_t count = 0; count < mails_max; ++count) {
    stage.send("mail " + std::to_string(count), std::to_string(count));
  }
  for (std::size_t count = 0; count < mails_max; ++count) {
    expect(stage,
           stage.receive("mail " + std::to_string(count)) == std::to_string(count),
           "each signal has its own bytes");
  }
  return ok();
}

/// Two roles each send their name, and then both send "last": the mail of the later one remains.
Status postman(Stage& stage) {
  stage.await("go");
  stage.send("from " + stage.role(), stage.role());
  static_cast<void>(stage.os().user_id());
  stage.send("last", stage.role());
  return ok();
}

Status post_root(Stage& stage) {
  LASTREF_CHECK(stage.start("one"));
  LASTREF_CHECK(stage.start("other"));
  stage.tell("go");
  expect(stage, stage.receive("from one") == "one", "one sent its name");
  expect(stage, stage.receive("from other") == "other", "the other sent its name");
  stage.wait_for_quiet();
  if (stage.receive("last") == "one") {
    stage.refute("the other is last", "one is");
  }
  return ok();
}

// Operations.

/// Actions that must not be a crossing.
Status silent_root(Stage& stage) {
  stage.send("signal", "bytes");
  may_fail(stage.receive("signal"));
  stage.limits().storage(4096, 9);
  stage.limits().free_storage();
  stage.limits().file_size(4096);
  stage.limits().obey_modes();
  stage.outside().make_folder(stage.folder() + "/a", 0700);
  stage.outside().change_mode(stage.folder() + "/a", 0);
  stage.outside().rmdir(stage.folder() + "/a");
  stage.outside().write(stage.folder() + "/b", "x");
  stage.outside().symlink("b", stage.folder() + "/c");
  static_cast<void>(stage.outside().list(stage.folder()));
  stage.outside().unlink(stage.folder() + "/b");
  stage.outside().unlink(stage.folder() + "/c");
  return ok();
}

Status operation_root(Stage& stage) {
  const Status done = stage.product().operation("reduce", [&] {
    return stage.product().operation(
        "inner", [&] { return stage.os().remove_folder(stage.folder() + "/a"); });
  });
  expect(stage,
         !done && done.error().code == std::errc::no_such_file_or_directory,
         "an operation returns what its act did");
  expect(stage,
         stage.product().operation("reduce", [] { return ok(); }).has_value(),
         "also if it is nothing");
  return ok();
}

// How roles end.

/// Returns its status, as roles do: success, unless a fault is injected.
Status honest(Stage& stage) {
  const std::string path = stage.folder() + "/honest";
  LASTREF_CHECK(stage.os().make_folder(path, 0700));
  return stage.os().remove_folder(path);
}

Status root_of_honest(Stage& stage) {
  return stage.start("honest");
}

Status failing(Stage& stage) {
  return stage.os().remove_folder(stage.folder() + "/never made");
}

Status root_of_failing(Stage& stage) {
  return stage.start("failing");
}

/// If a scenario declares an operation as failing, its body has to check the result.
Status careless_root(Stage& stage) {
  return stage.product().operation("fail", [&] { return failing(stage); });
}

const std::vector<Scenario>& toys_of_signals() {
  Scenario operation = toy("operation", {{"root", operation_root}});
  operation.failing_operations = {"reduce", "inner"};
  Scenario careless = toy("careless", {{"root", careless_root}});
  careless.failing_operations = {"fail"};
  static const std::vector<Scenario> all = {
      toy("mail", {{"root", mail_root}, {"reader", mail_reader}}),
      toy("many_mails", {{"root", many_mails_root}}),
      toy("post", {{"root", post_root}, {"one", postman}, {"other", postman}}),
      toy("silent", {{"root", silent_root}}),
      std::move(operation),
      toy("honest", {{"root", root_of_honest}, {"honest", honest}}),
      toy("failing", {{"root", root_of_failing}, {"failing", failing}}),
      std::move(careless),
  };
  return all;
}

class StageSignals : public StageWorlds {
 protected:
  StageSignals() : StageWorlds(toys_of_signals()) {}
};

INSTANTIATE_TEST_SUITE_P(Worlds, StageSignals, testing::ValuesIn(both_worlds()), name_of_row);

TEST_P(StageSignals, a_mail_arrives_with_its_bytes_and_waits_for_whoever_wants_it) {
  EXPECT_THAT(run("mail").findings, IsEmpty());
}

TEST_P(StageSignals, sixteen_mails_fit_into_a_run_and_none_is_left_for_the_next) {
  for (int time = 0; time < 3; ++time) {
    EXPECT_THAT(run("many_mails").findings, IsEmpty());
  }
}

TEST_P(StageSignals, who_sends_last_is_a_choice_and_a_run_is_its_choices) {
  bool one_was_last = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Outcome drawn = run("post", {.faults = {}, .choices = {}, .seed = seed});
    const Outcome again = run("post", {.faults = {}, .choices = drawn.choices, .seed = {}});
    EXPECT_EQ(again.findings, drawn.findings);
    one_was_last = one_was_last || !drawn.findings.empty();
  }
  EXPECT_TRUE(one_was_last);
}

TEST_P(StageSignals, none_of_them_is_a_crossing) {
  const Outcome outcome =
      run("silent", {.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true});
  EXPECT_THAT(outcome.findings, IsEmpty());
  EXPECT_THAT(outcome.crossings, IsEmpty());
}

TEST_P(StageSignals, an_operation_of_the_scenarios_own_returns_what_was_done) {
  EXPECT_THAT(run("operation").findings, IsEmpty());
}

TEST_P(StageSignals, a_role_that_ends_without_an_error_is_no_finding) {
  EXPECT_THAT(run("honest").findings, IsEmpty());
}

TEST_P(StageSignals, a_role_that_ends_with_an_error_is_found_and_named_with_it) {
  EXPECT_THAT(run("failing").findings,
              ElementsAre(AllOf(Field(&Finding::claim, StartsWith("works: ")),
                                Field(&Finding::seen, StartsWith("failing: remove_folder")))));
}

TEST_P(StageSignals, an_operation_that_is_meant_to_fail_excuses_no_role) {
  EXPECT_THAT(run("careless").findings,
              ElementsAre(AllOf(Field(&Finding::claim, StartsWith("works: ")),
                                Field(&Finding::seen, StartsWith("root: remove_folder")))));
}

TEST_P(StageSignals, a_role_that_a_fault_makes_end_with_an_error_is_no_finding) {
  Plan plan;
  plan.faults.push_back(parse_fault("honest/make_folder(honest)#1 fail_once ENOSPC").value());
  const Outcome outcome = run("honest", plan);
  EXPECT_EQ(outcome.faults_fired, 1U);
  EXPECT_THAT(outcome.findings, IsEmpty());
}

TEST(Mails, are_sent_in_every_order) {
  const Exhausted exhausted = exhaust(toys_of_signals()[2], {.preemptions = 1, .ask_after = "go"});
  EXPECT_TRUE(exhausted.complete);
  EXPECT_TRUE(exhausted.deterministic);
  EXPECT_GT(exhausted.violations, 0U);
  for (const Counterexample& each : exhausted.counterexamples) {
    EXPECT_EQ(each.findings.front(), (Finding{"the other is last", "one is"}));
  }
}

TEST(Operations, nest_in_the_journal) {
  SimWorld world;
  world.keep_journal(true);
  world.run(toys_of_signals()[4], {});
  const std::string& journal = world.journal();
  const auto at = [&](const std::string& text) { return journal.find(text); };
  EXPECT_LT(at("reduce"), at("inner"));
  EXPECT_LT(at("inner"), at("remove_folder"));
  EXPECT_NE(at("remove_folder"), std::string::npos);
}

}  // namespace
}  // namespace lastref::harness
