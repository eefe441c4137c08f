// oracle_errors_test: the oracle error-surfaced, on planted journals.
#include <cerrno>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/harness/oracle/oracle_story.hpp"

namespace lastref::harness {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

TEST_F(OracleTest, an_error_that_nobody_hears_of_is_found) {
  const Story swallowed = Story()
                              .begins(client, "register")
                              .injected(client, Call::write_at, ENOSPC)
                              .ends(client, "register")
                              .all_end();
  EXPECT_THAT(judged("error-surfaced", swallowed), SizeIs(1));
  const Story unsaid = Story().injected(tracker, Call::write_at, ENOSPC).all_end();
  EXPECT_THAT(judged("error-surfaced", unsaid), SizeIs(1));
}

TEST_F(OracleTest, that_somebody_else_took_the_name_first_is_for_nobody_to_hear) {
  const auto story = [](int error) {
    return Story()
        .begins(client, "register")
        .injected(client, Call::rename_new, error)
        .ends(client, "register")
        .all_end();
  };
  EXPECT_THAT(judged("error-surfaced", story(EEXIST)), IsEmpty());
  EXPECT_THAT(judged("error-surfaced", story(ENOSPC)), SizeIs(1));
}

TEST_F(OracleTest, an_error_that_is_retried_away_is_fine) {
  const Story story =
      Story().injected(tracker, Call::accept, EMFILE).crossed(tracker, Call::accept, "").all_end();
  EXPECT_THAT(judged("error-surfaced", story), IsEmpty());
}

TEST_F(OracleTest, an_error_is_made_good_on_the_same_thing_alone_and_by_success) {
  const auto after = [&](const Story& later) {
    return judged("error-surfaced", Story(later).all_end()).size();
  };
  const Story failed = Story().injected(tracker, Call::unlink, EIO).on("a.bin");
  EXPECT_EQ(after(Story(failed).crossed(tracker, Call::unlink, "").on("a.bin")), 0U);
  EXPECT_EQ(after(Story(failed).crossed(tracker, Call::unlink, "", ENOENT).on("a.bin")), 0U);
  EXPECT_EQ(after(Story(failed).crossed(tracker, Call::unlink, "").on("b.bin")), 1U);
  EXPECT_EQ(after(Story(failed).crossed(tracker, Call::unlink, "", EACCES).on("a.bin")), 1U);
  EXPECT_EQ(after(Story(failed).crossed(root, Call::unlink, "").on("a.bin")), 1U);
}

TEST_F(OracleTest, an_operation_that_takes_another_location_has_fallen_back) {
  const auto after = [&](const Story& inside, int error) {
    return judged("error-surfaced",
                  Story(inside).ends(client, "reduce", "", error).begins(client, "load").all_end())
        .size();
  };
  const Story failed =
      Story().begins(client, "reduce", "").injected(client, Call::open, EMFILE).on("shm");
  EXPECT_EQ(after(Story(failed).crossed(client, Call::open, "").on("tmp"), 0), 0U);
  EXPECT_EQ(after(Story(failed).crossed(client, Call::open, "", EMFILE).on("tmp"), 0), 1U);
  EXPECT_EQ(after(Story(failed).crossed(client, Call::status, "").on("tmp"), 0), 1U);
  EXPECT_EQ(after(failed, EMFILE), 0U);  // It is reported.
}

TEST_F(OracleTest, who_could_not_be_watched_is_known_when_it_comes) {
  const Story failed = Story().injected(tracker, Call::open_process, ENOMEM).on("process:client");
  const auto unheard_after = [&](std::uint16_t process, const char* connection) {
    return judged("error-surfaced",
                  Story(failed).crossed(process, Call::receive, "").on(connection).all_end())
        .size();
  };
  EXPECT_EQ(unheard_after(tracker, "conn:client"), 0U);
  EXPECT_EQ(unheard_after(tracker, "conn:root"), 1U);
  EXPECT_EQ(unheard_after(root, "conn:client"), 1U);
}

TEST_F(OracleTest, a_sweep_says_what_stays_and_another_word_fails_with_it) {
  const auto unheard_of = [&](const char* word, bool speaks) {
    Story story;
    story.begins(client, word, "").injected(client, Call::write_at, EIO).on("ledger");
    if (speaks) {
      story.crossed(client, Call::write, "").on("stderr");
    }
    return judged("error-surfaced", story.ends(client, word, "").begins(client, "load")).size();
  };
  EXPECT_EQ(unheard_of("sweep", /*speaks=*/true), 0U);
  EXPECT_EQ(unheard_of("sweep", /*speaks=*/false), 1U);
  EXPECT_EQ(unheard_of("reduce", /*speaks=*/true), 1U);
}

TEST_F(OracleTest, what_fails_for_ever_is_told_once) {
  plan_.faults = {parse_fault("tracker/unlink(a.bin)#1 fail_always EIO").value()};
  const Story once = Story()
                         .injected(tracker, Call::unlink, EIO)
                         .on("a.bin")
                         .crossed(tracker, Call::write, "could not clean up")
                         .on("stderr");
  EXPECT_THAT(judged("error-surfaced",
                     Story(once).injected(tracker, Call::unlink, EIO).on("a.bin").all_end()),
              IsEmpty());
  EXPECT_THAT(judged("error-surfaced",
                     Story(once).injected(tracker, Call::unlink, EIO).on("b.bin").all_end()),
              SizeIs(1));
}

TEST_F(OracleTest, an_error_that_a_word_returns_or_somebody_prints_is_fine) {
  const Story returned = Story()
                             .begins(client, "register")
                             .injected(client, Call::write_at, ENOSPC)
                             .ends(client, "register", a_bin, ENOSPC)
                             .all_end();
  EXPECT_THAT(judged("error-surfaced", returned), IsEmpty());
  const Story printed = Story()
                            .injected(tracker, Call::unlink, EIO)
                            .crossed(tracker, Call::write, "")
                            .on("stderr")
                            .all_end();
  EXPECT_THAT(judged("error-surfaced", printed), IsEmpty());
}

TEST_F(OracleTest, an_error_between_two_words_inside_of_another_is_not_the_scenarios_own) {
  const Story story = Story()
                          .begins(client, "reduce", "")
                          .says(client, "register")
                          .injected(client, Call::write_at, ENOSPC);
  EXPECT_THAT(judged("error-surfaced", Story(story).ends(client, "reduce", "").all_end()),
              SizeIs(1));
  EXPECT_THAT(judged("error-surfaced", Story(story).ends(client, "reduce", "", ENOSPC).all_end()),
              IsEmpty());
  const Story own = Story().begins(client, "reduce", "").says(client, "register");
  EXPECT_THAT(judged("error-surfaced",
                     Story(own).ends(client, "reduce", "").injected(client, Call::unlink, EIO)),
              IsEmpty());
}

TEST_F(OracleTest, an_error_in_any_word_inside_of_leave_or_end_is_excused) {
  for (const char* last : {"leave", "end"}) {
    const Story story = Story()
                            .begins(client, last, "")
                            .begins(client, "release")
                            .injected(client, Call::unlink, EIO)
                            .ends(client, "release")
                            .ends(client, last, "")
                            .all_end();
    EXPECT_THAT(judged("error-surfaced", story), IsEmpty()) << last;
  }
}

TEST_F(OracleTest, a_word_of_one_thread_may_end_inside_of_anothers) {
  const Story story = Story()
                          .begins(client, "hold")
                          .begins(client, "release")
                          .ends(client, "hold")
                          .injected(client, Call::send, EPIPE)
                          .ends(client, "release")
                          .all_end();
  EXPECT_THAT(judged("error-surfaced", story), SizeIs(1));
}

TEST_F(OracleTest, an_error_of_another_process_does_not_count_as_told) {
  const Story story = Story()
                          .injected(tracker, Call::unlink, EIO)
                          .crossed(client, Call::write, "")
                          .on("stderr")
                          .all_end();
  EXPECT_THAT(judged("error-surfaced", story), SizeIs(1));
}

TEST_F(OracleTest, a_word_that_fails_for_another_reason_has_not_told_this_one) {
  const auto after = [&](int error) {
    const Story story = Story()
                            .begins(client, "rebuild", "")
                            .injected(client, Call::map, EAGAIN)
                            .ends(client, "rebuild", "", error)
                            .all_end();
    return judged("error-surfaced", story).size();
  };
  EXPECT_EQ(after(EAGAIN), 0U);
  EXPECT_EQ(after(EIO), 1U);
  EXPECT_EQ(after(0), 1U);
}

TEST_F(OracleTest, a_word_that_has_to_fail_cannot_print_the_error_instead) {
  const Story story = Story()
                          .begins(client, "rebuild", "")
                          .injected(client, Call::map, EAGAIN)
                          .crossed(client, Call::write, "")
                          .on("stderr")
                          .ends(client, "rebuild", "");
  EXPECT_THAT(judged("error-surfaced", Story(story).all_end()), SizeIs(1));
}

TEST_F(OracleTest, a_word_that_has_to_fail_may_try_again_as_long_as_it_is_under_way) {
  const Story failed =
      Story().begins(client, "rebuild", "").injected(client, Call::map, EAGAIN).on("a");
  const Story within =
      Story(failed).crossed(client, Call::map, "").on("a").ends(client, "rebuild", "").all_end();
  EXPECT_THAT(judged("error-surfaced", within), IsEmpty());
  const Story behind =
      Story(failed).ends(client, "rebuild", "").crossed(client, Call::map, "").on("a").all_end();
  EXPECT_THAT(judged("error-surfaced", behind), SizeIs(1));
}

TEST_F(OracleTest, a_word_around_the_one_that_has_to_fail_may_tell) {
  const Story story = Story()
                          .begins(client, "reduce", "")
                          .begins(client, "register")
                          .injected(client, Call::spawn, EAGAIN)
                          .ends(client, "register", a_bin, 0);
  EXPECT_THAT(judged("error-surfaced", Story(story).ends(client, "reduce", "", EAGAIN).all_end()),
              IsEmpty());
  EXPECT_THAT(judged("error-surfaced", Story(story).ends(client, "reduce", "").all_end()),
              SizeIs(1));
}

TEST_F(OracleTest, what_is_to_be_retried_and_comes_for_ever_is_told_but_what_is_ignored_is_not) {
  const auto unheard = [&](const char* fault, Call call, int error) {
    plan_.faults = {parse_fault(fault).value()};
    const Story story = Story()
                            .begins(client, "hold", "")
                            .injected(client, call, error)
                            .ends(client, "hold", "")
                            .all_end();
    return judged("error-surfaced", story).size();
  };
  EXPECT_EQ(unheard("client/connect(socket)#1 fail_once EAGAIN", Call::connect, EAGAIN), 0U);
  EXPECT_EQ(unheard("client/connect(socket)#1 fail_always EAGAIN", Call::connect, EAGAIN), 1U);
  EXPECT_EQ(unheard("client/connect(socket)#1 fail_always ENOENT", Call::connect, EAGAIN), 0U)
      << "it is another error that occurs permanently";
  EXPECT_EQ(unheard("client/unlink(a.bin)#1 fail_always ENOENT", Call::unlink, ENOENT), 0U);
}

TEST_F(OracleTest, what_another_process_has_removed_is_made_good) {
  const Story failed = Story().injected(tracker, Call::unlink, EIO, "/run/a.bin").on("a.bin");
  const auto after = [&](Call call, const char* path) {
    return judged("error-surfaced", Story(failed).crossed(root, call, path).on("a.bin").all_end())
        .size();
  };
  EXPECT_EQ(after(Call::unlink, "/run/a.bin"), 0U);
  EXPECT_EQ(after(Call::unlink, "/tmp/a.bin"), 1U);
  EXPECT_EQ(after(Call::open, "/run/a.bin"), 1U);
}

TEST_F(OracleTest, a_pipe_that_cannot_be_written_wakes_by_its_end) {
  const auto after = [&](const char* object) {
    const Story story = Story()
                            .begins(client, "release")
                            .injected(client, Call::write, EIO)
                            .on(object)
                            .crossed(client, Call::close, "")
                            .on(object)
                            .ends(client, "release")
                            .all_end();
    return judged("error-surfaced", story).size();
  };
  EXPECT_EQ(after("pipe.write"), 0U);
  EXPECT_EQ(after("a.bin"), 1U);
}

TEST_F(OracleTest, without_any_location_left_a_word_says_that_there_is_none) {
  const auto unheard = [&](const char* fault, int error) {
    plan_.faults = {parse_fault(fault).value()};
    const Story story = Story()
                            .begins(client, "reduce", "")
                            .injected(client, Call::make_folder, EACCES)
                            .ends(client, "reduce", "", error)
                            .all_end();
    return judged("error-surfaced", story).size();
  };
  EXPECT_EQ(unheard("client/make_folder(a)#1 fail_always EACCES", ENOENT), 0U);
  EXPECT_EQ(unheard("client/make_folder(a)#1 fail_always EACCES", EIO), 1U);
  EXPECT_EQ(unheard("client/make_folder(a)#1 fail_once EACCES", ENOENT), 1U);
}

TEST_F(OracleTest, a_word_that_fails_anyhow_may_fall_back_all_the_same) {
  const Story story = Story()
                          .begins(client, "reduce", "")
                          .injected(client, Call::open, EMFILE)
                          .on("shm")
                          .crossed(client, Call::open, "")
                          .on("tmp")
                          .ends(client, "reduce", "", EFBIG)
                          .all_end();
  EXPECT_THAT(judged("error-surfaced", story), SizeIs(1));
  scenario_.failing_operations = {"reduce"};
  EXPECT_THAT(judged("error-surfaced", story), IsEmpty());
}

TEST_F(OracleTest, a_call_that_is_to_fail_may_report_the_death_of_its_worker_instead) {
  constexpr std::uint16_t worker = 3;
  const auto unreported_if = [&](bool dies, int error) {
    Story story = Story().born(worker, "worker_1", 13).begins(root, "call", "");
    story.injected(root, Call::send, EACCES).on("worker_1");
    if (dies) {
      story.died(worker, fact::killed);
    }
    return judged("error-surfaced", story.ends(root, "call", "", error).all_end()).size();
  };
  EXPECT_EQ(unreported_if(/*dies=*/true, EPIPE), 1U);
  scenario_.failing_operations = {"call"};
  EXPECT_EQ(unreported_if(/*dies=*/true, EPIPE), 0U);
  EXPECT_EQ(unreported_if(/*dies=*/true, 0), 1U);
  EXPECT_EQ(unreported_if(/*dies=*/false, EPIPE), 1U);
}

TEST_F(OracleTest, a_call_that_its_process_does_not_make_has_to_be_told) {
  const Story story = Story().injected(tracker, Call::rename, EIO).all_end();
  EXPECT_THAT(judged("error-surfaced", story), SizeIs(1));
}

}  // namespace
}  // namespace lastref::harness
