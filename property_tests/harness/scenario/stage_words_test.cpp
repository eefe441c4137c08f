// stage_words_test: words between roles and words of the product, in both worlds.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/explore/exhaustive.hpp"
#include "harness/kernel/segment.hpp"
#include "property_tests/harness/scenario/stage_worlds.hpp"

namespace lastref::harness {
namespace {

using testing::IsEmpty;

// Mail.

std::string all_bytes() {
  std::string bytes(mail_size_max, '\0');
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] = static_cast<char>(at * 7);
  }
  return bytes;
}

void mail_root(Stage& stage) {
  static_cast<void>(stage.start("reader"));
  stage.send("parcel", all_bytes());
  stage.send("nothing in it", "");
  stage.tell("told");
  expect(stage, stage.receive("answer") == "first", "a mail arrives");
  stage.send("answered", "");
  expect(stage, stage.receive("answer again") == std::string(), "a told word has no bytes");
  expect(stage, stage.receive("answer") == "second", "a mail may be replaced");
  expect(stage, !stage.receive("never"), "a mail that nobody sends does not arrive");
}

void mail_reader(Stage& stage) {
  for (int time = 0; time < 2; ++time) {
    expect(stage, stage.receive("parcel") == all_bytes(), "a mail has the bytes that were sent");
  }
  expect(stage, stage.await("parcel"), "a mail is a word");
  expect(stage, stage.receive("nothing in it") == std::string(), "a mail may be empty");
  expect(stage, stage.receive("told") == std::string(), "a told word has no bytes");
  stage.send("answer", "first");
  stage.await("answered");
  stage.send("answer", "second");
  stage.tell("answer again");
}

void many_mails_root(Stage& stage) {
  for (std::size_t count = 0; count < mails_max; ++count) {
    stage.send("mail " + std::to_string(count), std::to_string(count));
  }
  for (std::size_t count = 0; count < mails_max; ++count) {
    expect(stage,
           stage.receive("mail " + std::to_string(count)) == std::to_string(count),
           "each word has its own bytes");
  }
}

/// Two who each send their name and then look at what is there: who comes last has both.
void postman(Stage& stage) {
  stage.await("go");
  stage.send("from " + stage.role(), stage.role());
  static_cast<void>(stage.os().user_id());
  stage.send("last", stage.role());
}

void post_root(Stage& stage) {
  static_cast<void>(stage.start("one"));
  static_cast<void>(stage.start("other"));
  stage.tell("go");
  expect(stage, stage.receive("from one") == "one", "one sent its name");
  expect(stage, stage.receive("from other") == "other", "the other sent its name");
  stage.wait_for_quiet();
  if (stage.receive("last") == "one") {
    stage.refute("the other is last", "one is");
  }
}

// Words.

/// All words that must not be crossings.
void silent_root(Stage& stage) {
  stage.send("word", "bytes");
  static_cast<void>(stage.receive("word"));
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
}

void word_root(Stage& stage) {
  const Status done = stage.product().operation("reduce", [&] {
    return stage.product().operation(
        "inner", [&] { return stage.os().remove_folder(stage.folder() + "/a"); });
  });
  expect(stage,
         !done && done.error().code == std::errc::no_such_file_or_directory,
         "a word returns what its act did");
  expect(stage,
         stage.product().operation("reduce", [] { return ok(); }).has_value(),
         "also if it is nothing");
}

const std::vector<Scenario>& toys_of_words() {
  Scenario word = toy("word", {{"root", word_root}});
  word.failing_operations = {"reduce", "inner"};
  static const std::vector<Scenario> all = {
      toy("mail", {{"root", mail_root}, {"reader", mail_reader}}),
      toy("many_mails", {{"root", many_mails_root}}),
      toy("post", {{"root", post_root}, {"one", postman}, {"other", postman}}),
      toy("silent", {{"root", silent_root}}),
      std::move(word),
  };
  return all;
}

class StageWords : public StageWorlds {
 protected:
  StageWords() : StageWorlds(toys_of_words()) {}
};

INSTANTIATE_TEST_SUITE_P(Worlds, StageWords, testing::ValuesIn(both_worlds()), name_of_row);

TEST_P(StageWords, a_mail_arrives_with_its_bytes_and_waits_for_whoever_wants_it) {
  EXPECT_THAT(run("mail").findings, IsEmpty());
}

TEST_P(StageWords, sixteen_mails_fit_into_a_run_and_none_is_left_for_the_next) {
  for (int time = 0; time < 3; ++time) {
    EXPECT_THAT(run("many_mails").findings, IsEmpty());
  }
}

TEST_P(StageWords, who_sends_last_is_a_choice_and_a_run_is_its_choices) {
  bool one_was_last = false;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Outcome drawn = run("post", {.faults = {}, .choices = {}, .seed = seed});
    const Outcome again = run("post", {.faults = {}, .choices = drawn.choices, .seed = {}});
    EXPECT_EQ(again.findings, drawn.findings);
    one_was_last = one_was_last || !drawn.findings.empty();
  }
  EXPECT_TRUE(one_was_last);
}

TEST_P(StageWords, none_of_them_is_a_crossing) {
  const Outcome outcome =
      run("silent", {.faults = {}, .choices = {}, .seed = {}, .wants_crossings = true});
  EXPECT_THAT(outcome.findings, IsEmpty());
  EXPECT_THAT(outcome.crossings, IsEmpty());
}

TEST_P(StageWords, a_word_of_the_scenarios_own_returns_what_was_done) {
  EXPECT_THAT(run("word").findings, IsEmpty());
}

TEST(Mails, are_sent_in_every_order) {
  const Exhausted exhausted = exhaust(toys_of_words()[2], {.preemptions = 1, .ask_after = "go"});
  EXPECT_TRUE(exhausted.complete);
  EXPECT_TRUE(exhausted.deterministic);
  EXPECT_GT(exhausted.violations, 0U);
  for (const Counterexample& each : exhausted.counterexamples) {
    EXPECT_EQ(each.findings.front(), (Finding{"the other is last", "one is"}));
  }
}

TEST(Words, nest_in_the_journal) {
  SimWorld world;
  world.keep_journal(true);
  world.run(toys_of_words()[4], {});
  const std::string& journal = world.journal();
  const auto at = [&](const std::string& text) { return journal.find(text); };
  EXPECT_LT(at("reduce"), at("inner"));
  EXPECT_LT(at("inner"), at("remove_folder"));
  EXPECT_NE(at("remove_folder"), std::string::npos);
}

}  // namespace
}  // namespace lastref::harness
