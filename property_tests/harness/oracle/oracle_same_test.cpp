// oracle_same_test: the results of a run, and how they are compared with those of clean ones.
#include <cerrno>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/oracle/results.hpp"
#include "property_tests/harness/oracle/oracle_story.hpp"

namespace lastref::harness {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

const Site read_site{.role = "client", .name = "read", .object = "lock", .k = 1};

class Same : public OracleTest {
 protected:
  Same() { plan_.faults = {{.site = read_site, .kind = FaultKind::fail_once, .error = EINTR}}; }

  void learn(const Story& story) { possible_.add(oracle::results_of(evidence_of(story))); }
  Judgement of(const Story& story) const {
    return oracle::compare(oracle::results_of(evidence_of(story)), possible_);
  }
  Waiver waiver_of(const Story& story) const {
    return judge_by("same", evidence_of(story)).look.waiver;
  }

  PossibleResults possible_;
};

TEST_F(Same, results_have_no_pid_and_no_chance_in_them) {
  const std::string hex(32, 'a');
  const std::string array =
      "file:/run/lastref_memmapping_folder_12_" + hex + "_call/1-2-" + hex + ".npy";
  const Story story = Story().says(client, "hold", array.c_str());
  EXPECT_THAT(oracle::results_of(evidence_of(story)),
              ElementsAre(Pair("client hold file:/run/arrays:call/array#1",
                               "file:/run/arrays:call/array")));
}

TEST_F(Same, results_of_worlds_that_share_a_machine_are_alike) {
  const auto of_world = [this](const char* path) {
    const Story story = Story().says(client, "hold", path);
    return oracle::results_of(evidence_of(story));
  };
  EXPECT_EQ(of_world("file:/dev/shm/lastref-world-DJSIRo/files/a"),
            of_world("file:/dev/shm/lastref-world-x72Jk1/files/a"));
}

TEST_F(Same, a_word_that_fails_is_found) {
  learn(Story().says(client, "hold"));
  EXPECT_THAT(of(Story().says(client, "hold")).findings, IsEmpty());
  const Judgement judgement = of(Story().begins(client, "hold").ends(client, "hold", a_bin, EINTR));
  ASSERT_THAT(judgement.findings, SizeIs(1));
  EXPECT_THAT(judgement.findings[0].seen, HasSubstr("\"EINTR\""));
  EXPECT_EQ(judgement.look, (Look{.seen = 1, .filled = 1}));
}

TEST_F(Same, a_word_too_few_and_one_too_many_are_found) {
  learn(Story().says(client, "hold"));
  EXPECT_THAT(of(Story()).findings, SizeIs(1));
  EXPECT_THAT(of(Story().says(client, "hold").says(client, "hold")).findings, SizeIs(1));
}

TEST_F(Same, a_file_with_other_bytes_is_found) {
  left_ = {"/run/kept"};
  const Story story;
  Evidence clean = evidence_of(story);
  clean.files = {{.path = "/run/kept", .bytes = "bytes", .moment = clean.records.size()}};
  possible_.add(oracle::results_of(clean));
  Evidence disturbed = evidence_of(story);
  disturbed.files = {{.path = "/run/kept", .bytes = "byte", .moment = disturbed.records.size()}};
  EXPECT_THAT(oracle::compare(oracle::results_of(disturbed), possible_).findings, SizeIs(1));
  left_.clear();
  EXPECT_THAT(of(story).findings, SizeIs(1));
}

TEST_F(Same, what_a_file_has_in_it_when_the_run_is_over_counts_and_not_after_the_next_start) {
  left_ = {"/run/kept"};
  const Story story = Story().born(3, next_start_role, 13).says(3, "sweep");
  const auto results = [&](std::size_t moment) {
    Evidence evidence = evidence_of(story);
    evidence.files = {{.path = "/run/kept", .bytes = "bytes", .moment = moment}};
    return oracle::results_of(evidence);
  };
  const std::size_t end = Story().records().size();
  EXPECT_NE(results(end)["left /run/kept"], "");
  EXPECT_EQ(results(end - 1)["left /run/kept"], "");
  EXPECT_EQ(results(story.records().size())["left /run/kept"], "");
}

TEST_F(Same, what_two_orders_come_to_is_possible) {
  learn(Story().says(client, "hold"));
  learn(Story());
  const Judgement judgement = of(Story());
  EXPECT_THAT(judgement.findings, IsEmpty());
  EXPECT_EQ(judgement.look, (Look{.seen = 1, .filled = 0}));
}

TEST_F(Same, judges_what_nobody_may_notice) {
  EXPECT_EQ(waiver_of(Story()), Waiver::none);
  EXPECT_TRUE(outcome_of(evidence_of(Story())).results.has_value());
}

TEST_F(Same, a_pause_is_another_order) {
  plan_.faults = {{.site = read_site, .kind = FaultKind::pause}};
  EXPECT_EQ(waiver_of(Story()), Waiver::has_order);
}

TEST_F(Same, what_may_be_noticed_is_not_compared) {
  plan_.faults.push_back({.site = read_site, .kind = FaultKind::kill_before});
  EXPECT_EQ(waiver_of(Story()), Waiver::has_fault);
  EXPECT_FALSE(outcome_of(evidence_of(Story())).results.has_value());
  plan_.faults.clear();
  EXPECT_EQ(waiver_of(Story()), Waiver::no_fault);
}

TEST_F(Same, an_ambient_is_not_compared_with_usual_processes) {
  plan_.ambient = "exec";
  EXPECT_EQ(waiver_of(Story()), Waiver::ambient);
}

}  // namespace
}  // namespace lastref::harness
