// oracle_telling_test: the oracles on visible state and on output, with planted evidence.
#include <cerrno>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/oracle/leftovers.hpp"
#include "property_tests/harness/oracle/oracle_story.hpp"

namespace lastref::harness {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

// private

TEST_F(OracleTest, a_mode_that_lets_others_in_is_found) {
  const Story file = Story().crossed(root, Call::open, "/run/runtime/tree/lock").with_mode(0644);
  const auto findings = judged("private", file);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].seen, HasSubstr("0644"));
  const Story folder = Story().crossed(root, Call::make_folder, "/run/runtime").with_mode(0755);
  EXPECT_THAT(judged("private", folder), SizeIs(1));
}

TEST_F(OracleTest, a_mode_that_lets_others_in_is_found_wherever_it_is) {
  const Story story = Story()
                          .crossed(root, Call::open, "/tmp/a.npy")
                          .with_mode(0604)
                          .crossed(root, Call::make_folder, "/dev/shm/arrays")
                          .with_mode(02700);
  EXPECT_THAT(judged("private", story), SizeIs(2));
}

TEST_F(OracleTest, what_is_opened_and_not_made_has_any_mode) {
  const Story story = Story()
                          .crossed(root, Call::open, "/run/runtime/tree/lock")
                          .with_mode(-1)
                          .crossed(root, Call::open, "/run/a.bin", EEXIST)
                          .with_mode(0644);
  EXPECT_THAT(judged("private", story), IsEmpty());
}

// no-corruption

constexpr const char* arrays = "/dev/shm/lastref_memmapping_folder_1_ab_fit";
constexpr const char* array = "/dev/shm/lastref_memmapping_folder_1_ab_fit/1-2-ab.npy";
constexpr const char* part = "/dev/shm/lastref_memmapping_folder_1_ab_fit/1-2-ab.npy.part";

constexpr Call renames[] = {Call::rename, Call::rename_new};

TEST_F(OracleTest, a_file_that_is_renamed_when_it_is_whole_is_right) {
  for (const Call rename : renames) {
    const Story story = Story()
                            .crossed(root, Call::make_folder, arrays)
                            .with_mode(0700)
                            .crossed(root, Call::open, part)
                            .with_mode(0600)
                            .crossed(root, rename, array)
                            .crossed(client, Call::open, array)
                            .with_mode(-1);
    EXPECT_THAT(judged("no-corruption", story), IsEmpty()) << name_of(rename);
  }
}

TEST_F(OracleTest, a_file_that_is_created_under_its_final_name_is_found) {
  const Story story = Story().crossed(root, Call::open, array).with_mode(0600);
  const auto findings = judged("no-corruption", story);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].seen, HasSubstr("1-2-ab.npy"));
  const Story again =
      Story().crossed(root, Call::rename, array).crossed(root, Call::open, array).with_mode(0600);
  EXPECT_THAT(judged("no-corruption", again), SizeIs(1));
}

TEST_F(OracleTest, a_file_that_has_its_final_name_without_a_rename_is_found) {
  const Story story = Story().crossed(client, Call::open, array).with_mode(-1);
  EXPECT_THAT(judged("no-corruption", story), SizeIs(1));
  const Story gone = Story()
                         .crossed(root, Call::rename, array)
                         .crossed(tracker, Call::unlink, array)
                         .crossed(client, Call::open, array);
  EXPECT_THAT(judged("no-corruption", Story(gone).with_mode(-1)), SizeIs(1));
  for (const Call rename : renames) {
    const Story failed = Story()
                             .crossed(root, rename, array, ENOSPC)
                             .crossed(client, Call::open, array)
                             .with_mode(-1);
    EXPECT_THAT(judged("no-corruption", failed), SizeIs(1)) << name_of(rename);
  }
}

TEST_F(OracleTest, a_final_name_is_not_that_of_others_files_failures_and_outside_parties) {
  const Story story = Story()
                          .crossed(root, Call::open, array, ENOSPC)
                          .with_mode(0600)
                          .crossed(root, Call::open, "/run/a.npy")
                          .with_mode(0600)
                          .crossed(root, Call::open, "/tmp/lastref_memmapping_folder_1.npy")
                          .with_mode(0600)
                          .fact(root, fact::outside, array)
                          .crossed(client, Call::open, array)
                          .with_mode(-1);
  EXPECT_THAT(judged("no-corruption", story), IsEmpty());
}

// leftovers

TEST_F(OracleTest, leftovers_are_what_no_scenario_leaves_and_somebody_promised_to_remove) {
  left_ = {"/dev/shm/a.bin", "/dev/shm/b.bin"};
  left_after_sweep_ = left_;
  scenario_.stays = {"file:/dev/shm/b.bin"};
  const Story good = Story().all_end();
  EXPECT_EQ(oracle::leftovers_of(evidence_of(good)).promised, 1U);
  scenario_.no_ledger = true;
  EXPECT_EQ(oracle::leftovers_of(evidence_of(good)).promised, 1U);
  const Story bad = Story().died(tracker, fact::killed).died(root, fact::ended);
  const oracle::Leftovers left = oracle::leftovers_of(evidence_of(bad));
  EXPECT_EQ(left.promised, 0U);
  EXPECT_EQ(left.permitted.count(WhyPermitted::no_ledger, NameKind::shared_memory), 1U);
  EXPECT_EQ(left.permitted.count(WhyPermitted::scenario, NameKind::shared_memory), 1U);
  EXPECT_EQ(left.permitted.total(), 2U);
}

TEST_F(OracleTest, a_leftover_that_was_said_to_be_gone_each_time_is_told_apart) {
  left_after_sweep_ = {"/dev/shm/sem.a"};
  const Story story =
      Story().injected(tracker, Call::status_at, ENOENT, "/dev/shm/sem.a").all_end();
  EXPECT_EQ(oracle::leftovers_of(evidence_of(story)).promised, 1U);
  plan_.faults = {parse_fault("tracker/status_at(sem.a)#1 fail_always ENOENT").value()};
  const oracle::Leftovers leftovers = oracle::leftovers_of(evidence_of(story));
  EXPECT_EQ(leftovers.promised, 0U);
  EXPECT_EQ(leftovers.permitted.count(WhyPermitted::said_to_be_gone, NameKind::semaphore), 1U);
}

TEST_F(OracleTest, another_role_that_leads_the_tree_cleans_up_as_a_root_does) {
  left_after_sweep_ = {"/dev/shm/sem.a"};
  plan_.faults = {parse_fault("client/status_at(sem.a)#1 fail_always ENOENT").value()};
  const auto leftovers = [&](Story story, std::uint16_t process) {
    story.injected(process, Call::status_at, ENOENT, "/dev/shm/sem.a").all_end();
    return oracle::leftovers_of(evidence_of(story))
        .permitted.count(WhyPermitted::said_to_be_gone, NameKind::semaphore);
  };
  const Story client_leads = Story().begins(client, "lead");
  EXPECT_EQ(leftovers(client_leads, client), 1U);
  EXPECT_EQ(leftovers(client_leads, root), 0U);
  const Story both_lead = Story(client_leads).begins(root, "lead");
  EXPECT_EQ(leftovers(both_lead, client), 0U);
  EXPECT_EQ(leftovers(both_lead, root), 1U);
}

TEST_F(OracleTest, the_next_start_is_told_once_that_something_is_gone) {
  left_after_sweep_ = {"/dev/shm/sem.a"};
  const Story born = Story().born(3, next_start_role, 13);
  const auto leftovers = [&](std::uint16_t process, const char* path) {
    return oracle::leftovers_of(
               evidence_of(Story(born).injected(process, Call::status_at, ENOENT, path)))
        .permitted.count(WhyPermitted::said_to_be_gone, NameKind::semaphore);
  };
  EXPECT_EQ(leftovers(3, "/dev/shm/sem.a"), 1U);
  EXPECT_EQ(leftovers(3, "/dev/shm/sem.b"), 0U);
  EXPECT_EQ(leftovers(tracker, "/dev/shm/sem.a"), 0U);
}

// works

TEST_F(OracleTest, an_operation_that_fails_with_nothing_wrong_is_found) {
  const Story story =
      Story().begins(client, "reduce").ends(client, "reduce", a_bin, ENOSPC).all_end();
  EXPECT_THAT(judged("works", story), SizeIs(1));
  scenario_.failing_operations = {"reduce"};
  EXPECT_THAT(judged("works", story), IsEmpty());
}

TEST_F(OracleTest, operations_and_roles_may_fail_in_another_order_and_under_faults) {
  const Story story = Story()
                          .begins(client, "make")
                          .ends(client, "make", a_bin, EEXIST)
                          .fact(client, fact::failed, "open a.bin: File exists")
                          .all_end();
  EXPECT_THAT(judged("works", story), SizeIs(2));
  plan_.seed = 1;
  EXPECT_THAT(judged("works", story), IsEmpty());
  plan_.seed.reset();
  plan_.faults.push_back(parse_fault("root/unlink(a.bin)#1 fail_once EIO").value());
  EXPECT_THAT(judged("works", story), SizeIs(2));  // It was not injected.
  const Story struck = Story(story).fact(root, fact::fired, "fail_once");
  EXPECT_THAT(judged("works", struck), IsEmpty());
}

TEST_F(OracleTest, nobody_may_notice_what_is_benign) {
  const auto noticed = [&](const char* fault) {
    plan_.faults = {parse_fault(fault).value()};
    standard_error_ = "something\n";
    const Story story = Story()
                            .fact(root, fact::fired, name_of(plan_.faults.front().kind))
                            .begins(client, "make")
                            .ends(client, "make", a_bin, EINTR)
                            .all_end();
    return std::pair(judged("works", story).size(), judged("quiet", story).size());
  };
  EXPECT_EQ(noticed("root/open(a.bin)#1 fail_once EINTR"), std::pair(1UL, 1UL));
  EXPECT_EQ(noticed("root/send(tracker)#1 fail_once EAGAIN"), std::pair(1UL, 1UL));
  EXPECT_EQ(noticed("root/write(a.bin)#1 shorten"), std::pair(1UL, 1UL));
  EXPECT_EQ(noticed("tracker/poll()#1 interrupt"), std::pair(1UL, 1UL));
  EXPECT_EQ(noticed("root/poll()#1 pause"), std::pair(0UL, 1UL));  // A process may be too late.
  EXPECT_EQ(noticed("root/open(a.bin)#1 fail_always EINTR"), std::pair(0UL, 0UL));
  EXPECT_EQ(noticed("root/map(a.bin)#1 fail_once EAGAIN"), std::pair(0UL, 0UL));
  EXPECT_EQ(noticed("root/open(a.bin)#1 kill_before"), std::pair(0UL, 0UL));
}

TEST_F(OracleTest, who_was_told_early_that_its_time_was_over_may_say_so_and_nothing_else) {
  plan_.faults = {parse_fault("client/poll()#1 time_out").value()};
  standard_error_ = "something\n";
  const auto found = [&](Story story, int error) {
    story.begins(client, "make").ends(client, "make", a_bin, error).all_end();
    return std::pair(judged("works", story).size(), judged("quiet", story).size());
  };
  const Story planned = Story().fact(client, fact::fired, "time_out");
  EXPECT_EQ(found(planned, ETIMEDOUT), std::pair(0UL, 0UL));
  EXPECT_EQ(found(planned, EIO), std::pair(1UL, 0UL));
  plan_.faults = {};
  const Story chosen = Story().fact(client, fact::early, "");
  EXPECT_EQ(found(chosen, ETIMEDOUT), std::pair(0UL, 0UL));
  EXPECT_EQ(found(chosen, EIO), std::pair(1UL, 0UL));
  EXPECT_EQ(found(Story(), ETIMEDOUT), std::pair(1UL, 1UL));
}

TEST_F(OracleTest, what_somebody_had_to_send_when_it_was_killed_is_lost) {
  plan_.faults = {parse_fault("client/send(tracker)#1 fail_once EAGAIN").value()};
  standard_error_ = "something\n";
  const Story story =
      Story().fact(client, fact::fired, "fail_once").injected(client, Call::send, EAGAIN);
  EXPECT_THAT(judged("quiet", Story(story).died(client, fact::ended)), SizeIs(1));
  EXPECT_THAT(judged("quiet", Story(story).died(root, fact::killed)), SizeIs(1));
  EXPECT_THAT(judged("quiet", Story(story).died(client, fact::killed)), IsEmpty());
}

TEST_F(OracleTest, an_error_of_a_call_that_the_scenario_makes_itself_is_noticed_by_it) {
  plan_.faults = {parse_fault("client/poll()#1 fail_once ENOMEM").value()};
  standard_error_ = "something\n";
  const Story own =
      Story().fact(client, fact::fired, "fail_once").injected(client, Call::poll, ENOMEM);
  EXPECT_EQ(look_of("quiet", own).waiver, Waiver::has_fault);
  const Story of_the_product = Story()
                                   .begins(client, "hold")
                                   .fact(client, fact::fired, "fail_once")
                                   .injected(client, Call::poll, ENOMEM)
                                   .ends(client, "hold");
  EXPECT_THAT(judged("quiet", of_the_product), SizeIs(1));
  const Story interrupted =
      Story().fact(client, fact::fired, "fail_once").injected(client, Call::poll, EINTR);
  EXPECT_THAT(judged("quiet", interrupted), SizeIs(1));
}

TEST_F(OracleTest, a_role_that_ends_with_an_error_is_found_whatever_its_scenario_means_to_fail) {
  const Story story = Story().fact(client, fact::failed, "unlink a.bin: No such file").all_end();
  scenario_.failing_operations = {"reduce"};
  const auto findings = judged("works", story);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].seen, HasSubstr("client: unlink a.bin: No such file"));
}

// quiet

TEST_F(OracleTest, noise_in_a_clean_run_is_found) {
  standard_error_ = "something\n";
  EXPECT_THAT(judged("quiet", Story().all_end()), SizeIs(1));
}

TEST_F(OracleTest, noise_about_an_interrupt_is_found_T1) {
  plan_.faults = {parse_fault("root/poll()#1 interrupt").value()};
  standard_error_ = "something\n";
  EXPECT_THAT(judged("quiet", Story().fact(root, fact::fired, "interrupt")), SizeIs(1));
}

TEST_F(OracleTest, noise_about_a_pause_is_found) {
  plan_.faults = {parse_fault("root/poll()#1 pause").value()};
  standard_error_ = "something\n";
  EXPECT_THAT(judged("quiet", Story().fact(root, fact::fired, "pause")), SizeIs(1));
}

TEST_F(OracleTest, expected_noise_that_is_not_there_is_missed) {
  scenario_.expected_noise = {"tracker died"};
  EXPECT_THAT(judged("quiet", Story().all_end()), SizeIs(1));
  EXPECT_THAT(judged("quiet", Story().fact(root, fact::fired, "kill_before")), IsEmpty());
}

TEST_F(OracleTest, expected_noise_and_noise_about_a_fault_are_fine) {
  standard_error_ = "the tracker died\n";
  EXPECT_THAT(judged("quiet", Story().fact(root, fact::fired, "kill_before")), IsEmpty());
  scenario_.expected_noise = {"tracker died"};
  EXPECT_THAT(judged("quiet", Story().all_end()), IsEmpty());
  scenario_.expected_noise = {};
  scenario_.possible_noise = {"tracker died"};
  EXPECT_THAT(judged("quiet", Story().all_end()), IsEmpty());
  standard_error_ = {};
  EXPECT_THAT(judged("quiet", Story().all_end()), IsEmpty());
}

}  // namespace
}  // namespace lastref::harness
