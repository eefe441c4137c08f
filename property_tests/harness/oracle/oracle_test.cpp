// oracle_test: every oracle accepts the evidence of a run without errors, and rejects planted
// evidence of the error that it must find. This file has the oracles that count and those that
// check the end.
#include <cerrno>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/harness/oracle/oracle_story.hpp"

namespace lastref::harness {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// A run without errors.

TEST_F(OracleTest, a_good_run_has_no_finding_of_any_oracle) {
  Story story;
  story.says(root, "register").says(client, "register").counted(pid_of_root, 1);
  story = Story();
  story.says(root, "register").counted(pid_of_root, 1).says(root, "release");
  story.crossed(tracker, Call::unlink, "/run/a.bin").counted(pid_of_root, 0);
  story.crossed(root, Call::open, "/run/runtime/tree/lock").with_mode(0600).all_end();
  EXPECT_THAT(outcome_of(evidence_of(story)).findings, IsEmpty());
}

// no-leak

TEST_F(OracleTest, a_name_left_while_everybody_lived_is_a_leak) {
  left_ = {"/run/a.bin"};
  EXPECT_THAT(leaks(Story().all_end()), SizeIs(1));
}

TEST_F(OracleTest, a_name_left_by_a_killed_client_is_a_leak_for_the_tracker_lived) {
  left_ = {"/run/a.bin"};
  const Story story = Story().died(client, fact::killed).died(root, fact::ended);
  EXPECT_THAT(leaks(Story(story).died(tracker, fact::ended)), SizeIs(1));
}

TEST_F(OracleTest, what_a_tree_that_was_killed_whole_leaves_is_for_the_next_start) {
  left_ = {"/run/a.bin"};
  const Story story =
      Story().died(root, fact::killed).died(tracker, fact::killed).died(client, fact::killed);
  EXPECT_THAT(leaks(story), IsEmpty());
  left_after_sweep_ = left_;
  EXPECT_THAT(leaks(story), SizeIs(1));
}

TEST_F(OracleTest, a_tracker_that_was_killed_has_to_be_replaced_by_a_root_that_lives) {
  left_ = {"/run/a.bin"};
  const Story story = Story().died(tracker, fact::killed).died(client, fact::ended);
  EXPECT_THAT(leaks(Story(story).died(root, fact::ended)), SizeIs(1));
  EXPECT_THAT(leaks(Story(story).died(root, fact::killed)), IsEmpty());
}

TEST_F(OracleTest, what_a_tracker_was_told_is_gone_it_cannot_remove) {
  left_ = left_after_sweep_ = {"/run/a.bin"};
  const auto told = [](std::uint16_t whom, int what, const char* of) {
    return Story().injected(whom, Call::status_at, what, of).all_end();
  };
  EXPECT_THAT(leaks(told(tracker, ENOENT, "/run/a.bin")), SizeIs(1));  // It has to check again.
  plan_.faults = {parse_fault("tracker/status_at(a.bin)#1 fail_always ENOENT").value()};
  EXPECT_THAT(leaks(told(tracker, ENOENT, "/run/a.bin")), IsEmpty());
  EXPECT_THAT(leaks(told(tracker, ENOENT, "/run/b.bin")), SizeIs(1));
  EXPECT_THAT(leaks(told(tracker, EACCES, "/run/a.bin")), SizeIs(1));
  EXPECT_THAT(leaks(told(client, ENOENT, "/run/a.bin")), SizeIs(1));
}

TEST_F(OracleTest, what_a_tracker_never_can_do_is_left_to_the_next_start) {
  left_ = {"/run/a.bin"};
  plan_.faults = {parse_fault("tracker/unlink(a.bin)#1 fail_always EIO").value()};
  const Story story = Story().injected(tracker, Call::unlink, EIO).all_end();
  EXPECT_THAT(leaks(story), IsEmpty());
  left_after_sweep_ = left_;
  EXPECT_THAT(leaks(story), SizeIs(1));
}

TEST_F(OracleTest, what_failed_once_or_for_others_is_no_reason_to_stay) {
  left_ = {"/run/a.bin"};
  plan_.faults = {parse_fault("tracker/unlink(a.bin)#1 fail_once EIO").value()};
  EXPECT_THAT(leaks(Story().injected(tracker, Call::unlink, EIO).all_end()), SizeIs(1));
  plan_.faults = {parse_fault("client/unlink(a.bin)#1 fail_always EIO").value()};
  EXPECT_THAT(leaks(Story().injected(client, Call::unlink, EIO).all_end()), SizeIs(1));
  plan_.faults = {parse_fault("tracker/write_at(ledger)#1 fail_always EIO").value()};
  EXPECT_THAT(leaks(Story().injected(tracker, Call::write_at, EIO).all_end()), SizeIs(1));
}

TEST_F(OracleTest, what_is_refused_less_often_than_a_tracker_tries_has_to_go_T7) {
  left_ = {"/run/a.bin"};
  const auto leaks_after = [this](const char* first, const char* second) {
    plan_.faults = {parse_fault(first).value(), parse_fault(second).value()};
    return leaks(Story().injected(tracker, Call::unlink, plan_.faults[0].error).all_end());
  };
  constexpr const char* refused = "tracker/unlink(a.bin)#1 fail_once EACCES";
  EXPECT_THAT(leaks_after(refused, "tracker/unlink(a.bin)#2 fail_once EPERM"), SizeIs(1));
  for (const char* another : {"tracker/unlink(a.bin)#2 fail_once EIO",
                              "tracker/unlink(b.bin)#1 fail_once EACCES",
                              "tracker/open(a.bin)#1 fail_once EACCES",
                              "tracker/unlink(a.bin)#2 fail_always EACCES",
                              "root/unlink(a.bin)#1 fail_once EACCES"}) {
    EXPECT_THAT(leaks_after(refused, another), IsEmpty()) << another;
  }
  plan_.faults.assign(10, parse_fault(refused).value());
  EXPECT_THAT(leaks(Story().injected(tracker, Call::unlink, EACCES).all_end()), IsEmpty());
}

TEST_F(OracleTest, a_root_that_cannot_start_another_tracker_leaves_it_to_the_next_start) {
  left_ = {"/run/a.bin"};
  plan_.faults = {parse_fault("root/spawn(tracker)#2 fail_once EAGAIN").value()};
  const Story killed = Story().died(tracker, fact::killed);
  const Story gave_up = Story().fact(tracker, fact::died, fact::ended, /*value=*/1);
  for (const Story& before : {killed, gave_up}) {
    const Story failed = Story(before).injected(root, Call::spawn, EAGAIN);
    EXPECT_THAT(leaks(Story(failed).died(client, fact::ended).died(root, fact::ended)), IsEmpty());
    const Story another = Story(failed).born(3, "tracker", 13);
    EXPECT_THAT(leaks(Story(another).all_end()), SizeIs(1));
  }
  EXPECT_THAT(leaks(Story(gave_up).died(client, fact::ended).died(root, fact::ended)), SizeIs(1));
}

TEST_F(OracleTest, a_tracker_may_not_give_up_because_its_root_was_killed) {
  left_ = {"/run/a.bin"};
  plan_.faults = {parse_fault("root/poll()#1 kill_before").value()};
  const Story orphaned = Story().died(root, fact::killed).died(client, fact::ended);
  EXPECT_THAT(leaks(Story(orphaned).fact(tracker, fact::died, fact::ended, /*value=*/1)),
              SizeIs(1));
}

TEST_F(OracleTest, what_a_scenario_leaves_on_purpose_may_stay) {
  scenario_.stays = {"file:kept.bin", "folder:box", "semlock:/gate", "shm:/pool"};
  left_ = {"/run/kept.bin", "/run/box", "/run/box/in/it", "/dev/shm/sem.gate", "/dev/shm/pool"};
  left_after_sweep_ = left_;
  EXPECT_THAT(leaks(Story().all_end()), IsEmpty());
  left_ = {"/run/not_kept.bin", "/run/boxes/in", "/dev/shm/gate", "/dev/shm/sem.pool"};
  EXPECT_THAT(leaks(Story().all_end()), SizeIs(4));
}

// stays

TEST_F(OracleTest, what_was_made_and_forgotten_has_to_stay_E4_T3) {
  scenario_.stays = {"file:a.bin"};
  for (const Story& story : {Story().says(root, "register").says(root, "make").says(root, "forget"),
                             Story().says(root, "forget").says(root, "make")}) {
    left_after_sweep_ = {};
    EXPECT_THAT(judged("stays", story), SizeIs(1));
    left_after_sweep_ = {"/run/a.bin"};
    EXPECT_THAT(judged("stays", story), IsEmpty());
  }
}

TEST_F(OracleTest, what_is_counted_or_nobody_made_or_leaves_on_purpose_need_not_stay_E4) {
  const Story forgotten = Story().says(root, "make").says(root, "forget");
  EXPECT_THAT(judged("stays", forgotten), IsEmpty());
  scenario_.stays = {"file:a.bin"};
  EXPECT_THAT(judged("stays", Story(forgotten).says(root, "register")), IsEmpty());
  EXPECT_THAT(judged("stays", Story(forgotten).begins(root, "register")), IsEmpty());
  EXPECT_THAT(judged("stays", Story().says(root, "forget")), SizeIs(0));
  EXPECT_THAT(
      judged("stays",
             Story().says(root, "register").says(root, "make").ends(root, "forget", a_bin, EIO)),
      IsEmpty());
}

TEST_F(OracleTest, what_went_with_its_last_holder_is_forgotten_too_late_E4_T3) {
  scenario_.stays = {"file:a.bin"};
  const Story held = Story().says(root, "register").says(root, "make");
  const auto forgotten = [](Story story) { return story.says(client, "forget"); };
  EXPECT_THAT(judged("stays", forgotten(Story(held).died(root, "killed"))), IsEmpty());
  EXPECT_THAT(judged("stays", forgotten(Story(held).crossed(root, Call::close, "").on("lock"))),
              IsEmpty());
  EXPECT_THAT(judged("stays", forgotten(Story(held).died(tracker, "killed"))), SizeIs(1));
  EXPECT_THAT(judged("stays", forgotten(held).died(root, "killed")), SizeIs(1));
  // What is made when its only holder has just died is removed with it.
  const Story too_late = Story().says(client, "register").died(client, "killed").says(root, "make");
  EXPECT_THAT(judged("stays", Story(too_late).says(root, "forget")), IsEmpty());
}

TEST_F(OracleTest, what_is_made_while_another_process_lives_that_holds_it_has_to_stay_E4_T3) {
  scenario_.stays = {"file:a.bin"};
  const Story made = Story().says(client, "register").says(root, "make");
  EXPECT_THAT(judged("stays", Story(made).says(root, "forget")), SizeIs(1));
  EXPECT_THAT(judged("stays", Story(made).died(client, "killed").says(root, "forget")), IsEmpty());
}

TEST_F(OracleTest, what_is_forgotten_while_another_takes_it_need_not_stay_E4_T3) {
  scenario_.stays = {"file:a.bin"};
  const Story story = Story()
                          .says(root, "register")
                          .says(root, "make")
                          .begins(client, "register")
                          .says(root, "forget")
                          .ends(client, "register");
  EXPECT_THAT(judged("stays", Story(story).died(client, fact::killed)), IsEmpty());
}

TEST_F(OracleTest, what_its_user_has_removed_need_not_stay_E4) {
  scenario_.stays = {"file:a.bin"};
  const Story made = Story().says(root, "register").says(root, "make");
  EXPECT_THAT(judged("stays", Story(made).says(root, "unlink").says(root, "forget")), IsEmpty());
  EXPECT_THAT(judged("stays",
                     Story()
                         .begins(root, "unlink")
                         .says(client, "make")
                         .ends(root, "unlink")
                         .says(root, "forget")),
              IsEmpty());
  EXPECT_THAT(judged("stays",
                     Story()
                         .begins(root, "make")
                         .says(client, "unlink")
                         .ends(root, "make")
                         .says(root, "forget")),
              IsEmpty());
}

TEST_F(OracleTest, only_what_was_forgotten_or_made_without_a_reference_may_stay_E4_T3) {
  scenario_.forgotten_stay = true;
  left_ = left_after_sweep_ = {"/run/a.bin"};
  const Story held = Story().says(root, "register").says(root, "make");
  const auto all_end = [](Story story) { return story.all_end(); };
  EXPECT_THAT(leaks(all_end(held)), SizeIs(1));
  EXPECT_THAT(leaks(all_end(Story(held).says(client, "forget"))), IsEmpty());
  EXPECT_THAT(leaks(all_end(Story(held).says(client, "forget").says(root, "register"))), SizeIs(1));
  EXPECT_THAT(
      leaks(all_end(
          Story(held).begins(client, "forget").says(root, "register").ends(client, "forget"))),
      IsEmpty());
  EXPECT_THAT(leaks(all_end(Story().says(root, "make").says(client, "register"))), SizeIs(1));
  EXPECT_THAT(leaks(all_end(Story()
                                .says(root, "register")
                                .says(root, "register")
                                .says(root, "release")
                                .says(root, "make"))),
              SizeIs(1));
  EXPECT_THAT(
      leaks(all_end(Story().says(root, "register").says(root, "release").says(root, "make"))),
      IsEmpty());
  EXPECT_THAT(judged("stays", Story(held).says(client, "forget")), IsEmpty());
  left_after_sweep_ = {};
  EXPECT_THAT(judged("stays", Story(held).says(client, "forget")), SizeIs(1));
}

TEST_F(OracleTest, what_an_outsider_put_in_the_place_of_what_is_known_has_to_stay_E4) {
  scenario_.stays = {"file:a.bin"};
  const Story known = Story().says(root, "register").says(root, "make").says(root, "identify");
  EXPECT_THAT(judged("stays", known), IsEmpty());
  const Story replaced = Story(known).says(root, "replace").says(root, "release");
  EXPECT_THAT(judged("stays", replaced), SizeIs(1));
  left_after_sweep_ = {"/run/a.bin"};
  EXPECT_THAT(judged("stays", replaced), IsEmpty());
  left_after_sweep_ = {};
  EXPECT_THAT(judged("stays", Story().says(root, "register").says(root, "replace")), IsEmpty());
}

// refcount-exact

TEST_F(OracleTest, a_reference_that_the_tracker_lost_is_found) {
  const Story story = Story().says(client, "register").counted(pid_of_client, 0);
  EXPECT_THAT(judged("refcount-exact", story), SizeIs(1));
}

TEST_F(OracleTest, a_reference_that_nobody_has_is_found) {
  EXPECT_THAT(judged("refcount-exact", Story().counted(pid_of_client, 1)), SizeIs(1));
  EXPECT_THAT(judged("refcount-exact", Story().counted(99, 1)), SizeIs(1));
}

TEST_F(OracleTest, a_reference_counted_twice_is_found) {
  const Story story = Story().says(client, "register").counted(pid_of_client, 2);
  EXPECT_THAT(judged("refcount-exact", story), SizeIs(1));
}

TEST_F(OracleTest, a_reference_of_the_wrong_process_is_found) {
  const Story story = Story().says(client, "register").counted(pid_of_root, 1);
  EXPECT_THAT(judged("refcount-exact", story), SizeIs(2));
}

TEST_F(OracleTest, what_is_under_way_may_count_or_not) {
  const Story story = Story().begins(client, "register");
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_client, 0)), IsEmpty());
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_client, 1)), IsEmpty());
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_client, 2)), SizeIs(1));
}

TEST_F(OracleTest, the_dead_hold_nothing_at_once) {
  const Story story = Story().says(client, "register").died(client, fact::killed);
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_client, 0)), IsEmpty());
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_client, 1)), SizeIs(1));
}

TEST_F(OracleTest, right_after_a_kill_the_dead_hold_nothing_and_the_living_all_T9) {
  const Story story =
      Story().says(client, "register").says(root, "hold").died(client, fact::killed);
  EXPECT_THAT(judged("refcount-exact", Story(story).counted_at_once(pid_of_root, 1)), IsEmpty());
  EXPECT_THAT(judged("refcount-exact", Story(story).counted_at_once(pid_of_root, 0)), SizeIs(1));
  EXPECT_THAT(judged("refcount-exact", Story(story).counted_at_once(pid_of_client, 1)), SizeIs(2));
}

TEST_F(OracleTest, a_release_may_be_on_its_way_right_after_a_kill_but_not_when_all_is_quiet) {
  const Story story = Story().says(root, "register").says(root, "release");
  EXPECT_THAT(judged("refcount-exact", Story(story).counted_at_once(pid_of_root, 1)), IsEmpty());
  EXPECT_THAT(judged("refcount-exact", Story(story).counted_at_once(pid_of_root, 2)), SizeIs(1));
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_root, 1)), SizeIs(1));
  // An answer comes after all messages that were sent before the question.
  const Story answered = Story(story).says(root, "register", "file:/run/b.bin");
  EXPECT_THAT(judged("refcount-exact", Story(answered).counted_at_once(pid_of_root, 1)), SizeIs(2));
}

TEST_F(OracleTest, what_could_not_be_held_is_not_rebuilt_R7) {
  const Story story = Story().begins(client, "rebuild").begins(client, "hold");
  const Story failed = Story(story).ends(client, "hold", a_bin, EIO);
  EXPECT_THAT(judged("held-first", Story(failed).ends(client, "rebuild")), SizeIs(1));
  EXPECT_THAT(judged("held-first", Story(failed).ends(client, "rebuild", a_bin, EIO)), IsEmpty());
  EXPECT_THAT(judged("held-first", Story(failed).says(client, "hold").ends(client, "rebuild")),
              IsEmpty());
  EXPECT_EQ(look_of("held-first", Story(failed)), (Look{.seen = 1, .filled = 1}));
  EXPECT_EQ(look_of("held-first", Story(story).ends(client, "hold")),
            (Look{.seen = 1, .filled = 0}));
}

TEST_F(OracleTest, what_is_mapped_is_not_let_go_of_R7) {
  const auto map = [](Story story, std::uint16_t whom) {
    return story.begins(whom, "rebuild")
        .says(whom, "hold")
        .crossed(whom, Call::map, "/run/a.bin")
        .on("a.bin")
        .ends(whom, "rebuild");
  };
  const auto unmap = [](Story story, int error = 0) {
    return story.crossed(client, Call::unmap, "", error).on("a.bin");
  };
  const auto findings_of_release = [&](Story story) {
    return judged("held-first", story.says(client, "release"));
  };
  const Story mapped = map(Story(), client);
  EXPECT_THAT(findings_of_release(mapped), SizeIs(1));
  EXPECT_THAT(findings_of_release(map(Story(), root)), IsEmpty());
  EXPECT_THAT(findings_of_release(unmap(mapped)), IsEmpty());
  EXPECT_THAT(findings_of_release(unmap(mapped, EIO)), IsEmpty());
  // Another reference of the same process, to send with it.
  EXPECT_THAT(findings_of_release(Story(mapped).says(client, "hold")), IsEmpty());
  const Story twice = map(mapped, client);
  EXPECT_THAT(findings_of_release(twice), SizeIs(1));
  EXPECT_THAT(findings_of_release(unmap(twice)), IsEmpty());
}

TEST_F(OracleTest, a_relative_name_is_counted_as_one_that_says_where_it_is_E2) {
  const auto held_as = [&](const char* name) {
    return judged("refcount-exact", Story().says(root, "register", name).counted(pid_of_root, 1));
  };
  EXPECT_THAT(held_as("file:a.bin"), IsEmpty());
  EXPECT_THAT(held_as("file:run/a.bin"), IsEmpty());
  EXPECT_THAT(held_as("file:bin"), SizeIs(2));
  EXPECT_THAT(held_as("shm:a.bin"), SizeIs(2));
}

TEST_F(OracleTest, a_register_that_failed_counted_nothing) {
  const Story story = Story().begins(client, "register").ends(client, "register", a_bin, ENOSPC);
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_client, 0)), IsEmpty());
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_client, 1)), SizeIs(1));
}

TEST_F(OracleTest, a_forgotten_name_is_held_by_nobody) {
  const Story story = Story().says(root, "register").says(client, "register").says(root, "forget");
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_root, 0)), IsEmpty());
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_client, 1)), SizeIs(1));
}

TEST_F(OracleTest, a_register_counts_or_not_if_a_forget_was_in_progress) {
  const Story forgets = Story().begins(root, "forget").begins(client, "register");
  for (const Story& story :
       {Story(forgets).ends(client, "register").ends(root, "forget"),
        Story(forgets).ends(root, "forget").ends(client, "register"),
        Story()
            .begins(client, "register")
            .begins(root, "forget")
            .ends(root, "forget")
            .ends(client, "register"),
        // The message of a process that died may still arrive.
        Story().begins(root, "forget").died(root, fact::killed).says(client, "register")}) {
    for (const std::int64_t counted : {0, 1}) {
      EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_client, counted)),
                  IsEmpty());
    }
    EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_client, 2)), SizeIs(1));
    EXPECT_THAT(
        judged("no-premature-unlink", Story(story).crossed(tracker, Call::unlink, "/run/a.bin")),
        IsEmpty());
  }
}

TEST_F(OracleTest, a_register_of_a_thread_counts_or_not_if_two_others_forget_at_once) {
  const Story story = Story()
                          .begins(root, "forget")
                          .by(1)
                          .begins(root, "register")
                          .by(2)
                          .begins(root, "forget")
                          .by(3)
                          .ends(root, "forget")
                          .by(1)
                          .ends(root, "register")
                          .by(2)
                          .ends(root, "forget")
                          .by(3);
  for (const std::int64_t counted : {0, 1}) {
    EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_root, counted)), IsEmpty());
  }
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_root, 2)), SizeIs(1));
}

TEST_F(OracleTest, what_a_thread_forgets_while_another_registers_it_need_not_stay_E4_T3) {
  scenario_.forgotten_stay = true;
  const auto forgets = [](Story story) {
    return story.says(root, "make").says(root, "forget").all_end();
  };
  const Story alone = forgets(Story().says(root, "register"));
  EXPECT_THAT(judged("stays", alone), SizeIs(1));
  const Story with_another = forgets(
      Story().begins(root, "register").by(1).says(root, "register").ends(root, "probe").by(2));
  EXPECT_THAT(judged("stays", with_another), IsEmpty());
}

// one-computation

TEST_F(OracleTest, a_value_that_is_computed_twice_at_a_time_is_found_L12) {
  const char* const word = "compute a value";
  const Story first = Story().begins(root, word, "k").by(1);
  EXPECT_THAT(judged("one-computation", Story(first).says(client, word, "l")), IsEmpty());
  EXPECT_THAT(
      judged("one-computation", Story(first).ends(root, word, "k").by(1).says(client, word, "k")),
      IsEmpty());
  EXPECT_THAT(
      judged("one-computation", Story(first).died(root, fact::killed).says(client, word, "k")),
      IsEmpty());
  EXPECT_THAT(judged("one-computation", Story(first).says(client, word, "k")), SizeIs(1));
  EXPECT_THAT(judged("one-computation", Story(first).begins(root, word, "k").by(2)), SizeIs(1));
}

TEST_F(OracleTest, a_hold_of_what_no_process_holds_counts_or_not_even_if_another_forgets_it) {
  const Story held = Story().says(client, "hold").says(root, "forget");
  for (const std::int64_t counted : {0, 1}) {
    EXPECT_THAT(judged("refcount-exact", Story(held).counted(pid_of_client, counted)), IsEmpty());
  }
  for (const Story& gone : {Story(held).says(client, "release"),
                            Story(held).says(client, "forget"),
                            Story(held).died(client, fact::killed)}) {
    EXPECT_THAT(judged("refcount-exact", Story(gone).counted(pid_of_client, 1)), SizeIs(1));
  }
}

TEST_F(OracleTest, words_around_a_register_count_nothing_themselves) {
  const Story story = Story()
                          .begins(client, "reduce", a_bin)
                          .says(client, "register")
                          .begins(client, "load", a_bin)
                          .ends(client, "reduce", a_bin)
                          .ends(client, "load", a_bin, ENOENT);
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_client, 1)), IsEmpty());
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_client, 0)), SizeIs(1));
  EXPECT_THAT(judged("refcount-exact", Story(story).counted(pid_of_client, 2)), SizeIs(1));
}

// no-premature-unlink

TEST_F(OracleTest, a_clean_up_of_what_is_held_is_found) {
  const Story story = Story().says(client, "register").crossed(tracker, Call::unlink, "/run/a.bin");
  EXPECT_THAT(judged("no-premature-unlink", story), SizeIs(1));
}

TEST_F(OracleTest, a_clean_up_after_the_last_release_is_right) {
  const Story story = Story()
                          .says(client, "register")
                          .begins(client, "release")
                          .crossed(tracker, Call::unlink, "/run/a.bin");
  EXPECT_THAT(judged("no-premature-unlink", story), IsEmpty());
}

TEST_F(OracleTest, a_clean_up_after_the_holders_death_is_right) {
  const Story story = Story()
                          .says(client, "register")
                          .died(client, fact::killed)
                          .crossed(tracker, Call::unlink, "/run/a.bin");
  EXPECT_THAT(judged("no-premature-unlink", story), IsEmpty());
}

TEST_F(OracleTest, a_clean_up_inside_of_a_held_folder_is_found) {
  const Story story = Story()
                          .says(client, "register", "folder:/run/box")
                          .crossed(tracker, Call::unlink, "/run/box/in/it");
  EXPECT_THAT(judged("no-premature-unlink", story), SizeIs(1));
  const Story beside = Story()
                           .says(client, "register", "folder:/run/box")
                           .crossed(tracker, Call::unlink, "/run/boxes/in");
  EXPECT_THAT(judged("no-premature-unlink", beside), IsEmpty());
}

TEST_F(OracleTest, a_failed_clean_up_removes_nothing) {
  const Story story =
      Story().says(client, "register").crossed(tracker, Call::unlink, "/run/a.bin", EBUSY);
  EXPECT_THAT(judged("no-premature-unlink", story), IsEmpty());
}

TEST_F(OracleTest, shared_memory_and_semaphores_are_names_too) {
  const Story shm =
      Story().says(client, "register", "shm:/pool").crossed(tracker, Call::unlink_shm, "/pool");
  EXPECT_THAT(judged("no-premature-unlink", shm), SizeIs(1));
  const Story semaphore = Story()
                              .says(client, "register", "semlock:/gate")
                              .crossed(tracker, Call::unlink_semaphore, "/gate");
  EXPECT_THAT(judged("no-premature-unlink", semaphore), SizeIs(1));
}

// folders-last

constexpr const char* box = "folder:/run/box";

/// The root holds a.bin, a folder and a semaphore, and is the last process to end.
Story last_of_three() {
  return Story()
      .says(root, "register", box)
      .says(root, "register")
      .says(root, "register", "semlock:/gate")
      .died(client, fact::ended)
      .died(root, fact::killed);
}

TEST_F(OracleTest, a_folder_that_is_removed_before_another_name_is_found_T5) {
  Story story = last_of_three();
  story.crossed(tracker, Call::unlink, "/run/a.bin")
      .crossed(tracker, Call::remove_folder, "/run/box");
  EXPECT_THAT(judged("folders-last", story), IsEmpty());
  story.crossed(tracker, Call::unlink_semaphore, "/gate");
  EXPECT_THAT(judged("folders-last", story), SizeIs(1));
}

TEST_F(OracleTest, a_name_that_could_not_be_removed_may_go_after_the_folders_T5) {
  const Story last = last_of_three();
  EXPECT_THAT(judged("folders-last",
                     Story(last)
                         .crossed(tracker, Call::unlink, "/run/a.bin", EBUSY)
                         .crossed(tracker, Call::remove_folder, "/run/box")
                         .crossed(tracker, Call::unlink, "/run/a.bin")),
              IsEmpty());
  EXPECT_THAT(judged("folders-last",
                     Story(last)
                         .injected(tracker, Call::status_at, EIO, "/run/a.bin")
                         .crossed(tracker, Call::remove_folder, "/run/box")
                         .crossed(tracker, Call::unlink, "/run/a.bin")),
              IsEmpty());
}

TEST_F(OracleTest, only_what_the_last_process_held_goes_in_order_T5) {
  const Story live = Story().says(root, "register", box).says(root, "register");
  const auto removed = [](Story story) {
    return story.crossed(tracker, Call::remove_folder, "/run/box")
        .crossed(tracker, Call::unlink, "/run/a.bin");
  };
  // Others are still there, have held the folder, or come again; or it was released before.
  EXPECT_THAT(judged("folders-last", removed(Story(live).died(root, fact::killed))), IsEmpty());
  EXPECT_THAT(judged("folders-last",
                     removed(Story()
                                 .says(root, "register")
                                 .says(client, "register", box)
                                 .died(client, fact::killed)
                                 .died(root, fact::killed))),
              IsEmpty());
  EXPECT_THAT(judged("folders-last",
                     removed(Story(live)
                                 .died(client, fact::ended)
                                 .died(root, fact::ended)
                                 .born(root, "root", pid_of_root))),
              IsEmpty());
  EXPECT_THAT(judged("folders-last",
                     removed(Story(live)
                                 .says(root, "release", box)
                                 .died(client, fact::ended)
                                 .died(root, fact::killed))),
              IsEmpty());
}

// The exit of the process.

TEST_F(OracleTest, a_hang_a_crash_a_stray_and_an_open_descriptor_are_found) {
  EXPECT_THAT(judged("no-hang", Story().fact(root, fact::hang, "root in poll")), SizeIs(1));
  EXPECT_THAT(judged("no-crash", Story().died(client, fact::crashed)), SizeIs(1));
  EXPECT_THAT(judged("no-stray-process", Story().fact(root, fact::stray, "9")), SizeIs(1));
  EXPECT_THAT(judged("no-fd-or-map-leak", Story().fact(root, fact::fd_left, "").on("lock")),
              SizeIs(1));
}

TEST_F(OracleTest, a_map_that_nobody_unmapped_is_found) {
  Story story;
  story.crossed(root, Call::unmap, "").on("b.npy").fact(root, fact::fd_left, "").on("map:a.npy");
  EXPECT_THAT(judged("no-fd-or-map-leak", story), SizeIs(1));
}

TEST_F(OracleTest, a_map_that_could_not_be_unmapped_is_excused) {
  Story story;
  story.injected(root, Call::unmap, ENOMEM).on("a.npy");
  story.fact(root, fact::fd_left, "").on("map:a.npy");
  EXPECT_THAT(judged("no-fd-or-map-leak", story), IsEmpty());
  story.fact(client, fact::fd_left, "").on("map:a.npy");
  EXPECT_THAT(judged("no-fd-or-map-leak", story), SizeIs(1));
}

TEST_F(OracleTest, a_child_that_nobody_reaped_is_found_if_it_could_be_reaped) {
  const auto left_after = [this](Call call, const char* child) {
    Story story;
    story.injected(root, call, ECHILD).on(child);
    story.fact(root, fact::fd_left, "").on("child:process:worker_1");
    return judged("no-fd-or-map-leak", story);
  };
  EXPECT_THAT(left_after(Call::poll, "process:worker_1"), SizeIs(1));
  EXPECT_THAT(left_after(Call::wait_child, "process:worker_2"), SizeIs(1));
  EXPECT_THAT(left_after(Call::wait_child, "process:worker_1"), IsEmpty());
  EXPECT_THAT(left_after(Call::signal_process, "process:worker_1"), IsEmpty());
}

TEST_F(OracleTest, a_worker_that_lives_on_without_its_parent_is_found_B9) {
  const Story orphan = Story().begins(client, "serve").died(root, fact::killed);
  EXPECT_EQ(look_of("workers-follow", orphan), (Look{.seen = 1, .filled = 1}));
  EXPECT_THAT(judged("workers-follow", Story(orphan).fact(client, fact::let_down, "")), SizeIs(1));
  EXPECT_THAT(judged("workers-follow", Story(orphan).fact(root, fact::hang, "")), SizeIs(1));
  // The run is over, and it is still running.
  EXPECT_THAT(judged("workers-follow", orphan), SizeIs(1));
  for (const std::string_view how : {fact::killed, fact::ended}) {
    EXPECT_THAT(
        judged("workers-follow", Story(orphan).died(client, how).fact(tracker, fact::let_down, "")),
        IsEmpty());
  }
  // It began to serve only after its parent had died.
  const Story late = Story().died(root, fact::killed).begins(client, "serve");
  EXPECT_EQ(look_of("workers-follow", late), (Look{.seen = 1, .filled = 1}));
  EXPECT_THAT(judged("workers-follow", Story(late).fact(tracker, fact::let_down, "")), SizeIs(1));
  EXPECT_THAT(judged("workers-follow", Story(late).died(client, fact::killed)), IsEmpty());
  // A process that does not serve may outlive the root, and so may one that serves another process.
  EXPECT_THAT(judged("workers-follow", Story().died(root, fact::killed)), IsEmpty());
  EXPECT_THAT(judged("workers-follow", Story().says(client, "serve").died(root, fact::killed)),
              IsEmpty());
  EXPECT_THAT(judged("workers-follow", Story().begins(client, "serve").died(tracker, fact::killed)),
              IsEmpty());
}

TEST_F(OracleTest, a_worker_that_may_not_end_itself_is_excused) {
  plan_.faults = {parse_fault("client/signal_process(process:client)#1 fail_always EPERM").value()};
  const Story orphan = Story().begins(client, "serve").died(root, fact::killed);
  EXPECT_THAT(judged("workers-follow", orphan), IsEmpty());
  plan_.faults = {parse_fault("client/signal_process(process:client)#1 fail_once EPERM").value()};
  EXPECT_THAT(judged("workers-follow", orphan), SizeIs(1));
}

TEST_F(OracleTest, a_planned_kill_is_no_crash) {
  const Story story = Story().died(client, fact::killed).died(root, fact::swept);
  EXPECT_THAT(judged("no-crash", story), IsEmpty());
}

TEST_F(OracleTest, what_the_scenario_found_is_told_with_what_it_saw) {
  const Story story =
      Story().fact(root, fact::refuted, "T3: it is gone").fact(root, fact::seen, "it is there");
  const auto findings = judged("refuted", story);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0], (Finding{"T3: it is gone", "it is there"}));
}

// The journal as crossings.

TEST(Crossings, are_a_begin_and_its_end_or_no_end_at_all) {
  std::vector<Record> records(3);
  for (Record& record : records) {
    record.role.assign("root");
    record.name.assign("open");
    record.object.assign("a.bin");
    record.k = 1;
    record.kind = RecordKind::begin;
  }
  records[1].kind = RecordKind::end;
  records[1].error = ENOENT;
  records[1].waited = true;
  records[2].k = 2;
  const auto crossings = crossings_of(records);
  ASSERT_THAT(crossings, SizeIs(2));
  EXPECT_EQ(crossings[0].error, ENOENT);
  EXPECT_TRUE(crossings[0].waited);
  EXPECT_EQ(crossings[1].error, -1);
  EXPECT_EQ(crossings[1].site, (Site{"root", "open", "a.bin", 2}));
}

TEST(Crossings, that_only_the_world_caused_do_not_count) {
  std::vector<Record> records(1);
  records[0].kind = RecordKind::begin;
  records[0].observed = true;
  EXPECT_THAT(crossings_of(records), IsEmpty());
}

TEST_F(OracleTest, each_has_a_name_and_one_look_a_run) {
  const Outcome outcome = outcome_of(evidence_of(Story()));
  EXPECT_EQ(outcome.looks.size(), oracle_names().size());
  for (const std::string_view name : oracle_names()) {
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(std::ranges::count(oracle_names(), name), 1) << name;
  }
}

TEST_F(OracleTest, an_empty_count_was_looked_at_and_is_nothing) {
  const Look nothing = look_of("refcount-exact", Story().counted(pid_of_root, 0));
  EXPECT_EQ(nothing.waiver, Waiver::none);
  EXPECT_EQ(nothing.filled, look_of("refcount-exact", Story()).filled);
}

TEST_F(OracleTest, a_count_that_is_held_is_something) {
  const Story story = Story().says(root, "register").counted(pid_of_root, 1);
  const Look look = look_of("refcount-exact", story);
  EXPECT_EQ(look, (Look{.seen = 1, .filled = 1}));
}

TEST_F(OracleTest, what_was_let_go_of_since_the_last_look_is_something) {
  const Story let_go = Story().says(root, "register").says(root, "release").counted(0, 0);
  EXPECT_EQ(look_of("refcount-exact", let_go), (Look{.seen = 1, .filled = 1}));
  EXPECT_EQ(look_of("refcount-exact", Story(let_go).counted(0, 0)), (Look{.seen = 2, .filled = 1}));
}

TEST_F(OracleTest, a_name_that_was_made_could_have_stayed) {
  const Look none = look_of("no-leak", Story().all_end());
  EXPECT_EQ(none, Look());
  const Story made = Story().crossed(root, Call::open, "/run/a.bin").with_mode(0600).all_end();
  EXPECT_EQ(look_of("no-leak", made), (Look{.seen = 1, .filled = 1}));
}

TEST_F(OracleTest, no_leak_says_why_nobody_could_clean_up_at_once) {
  const Story whole = Story().died(tracker, fact::killed).died(root, fact::killed);
  EXPECT_EQ(look_of("no-leak", whole).waiver, Waiver::last_tracker);
  EXPECT_EQ(look_of("no-leak at the next start", whole).waiver, Waiver::none);
  scenario_.leaves_to_the_next_start = true;
  EXPECT_EQ(look_of("no-leak", Story().all_end()).waiver, Waiver::next_start);
}

TEST_F(OracleTest, no_leak_is_waived_when_the_root_has_started_as_many_trackers_as_it_may) {
  constexpr std::uint16_t second = 3;
  constexpr std::uint16_t third = 4;
  Story two = Story().died(tracker, fact::killed).born(second, "tracker#2", 20);
  two.died(second, fact::killed);
  EXPECT_EQ(look_of("no-leak", Story(two).died(root, fact::ended)).waiver, Waiver::none);
  two.born(third, "tracker#3", 21);
  EXPECT_EQ(look_of("no-leak", Story(two).died(root, fact::ended)).waiver, Waiver::none);
  const Story three = Story(two).died(third, fact::killed).died(root, fact::ended);
  EXPECT_EQ(look_of("no-leak", three).waiver, Waiver::last_tracker);
  EXPECT_EQ(look_of("no-leak at the next start", three).waiver, Waiver::none);
}

TEST_F(OracleTest, what_judges_clean_runs_is_waived_in_others) {
  EXPECT_EQ(look_of("works", Story()).waiver, Waiver::none);
  plan_.seed = 7;
  EXPECT_EQ(look_of("works", Story()).waiver, Waiver::has_order);
  plan_.faults.resize(2);
  EXPECT_EQ(look_of("works", Story().fact(root, fact::fired, "kill_before")).waiver,
            Waiver::has_fault);
  EXPECT_EQ(look_of("error-surfaced", Story()).waiver, Waiver::two_faults);
  plan_.faults.front().kind = FaultKind::fail_always;
  EXPECT_EQ(look_of("refcount-exact", Story()).waiver, Waiver::fails_for_ever);
}

TEST(Waivers, have_a_sentence_each) {
  for (const std::string_view sentence : names_of(Waiver())) {
    EXPECT_FALSE(sentence.empty());
  }
}

}  // namespace

}  // namespace lastref::harness
