// oracle_test: every oracle accepts evidence of a run in which all is well, and rejects planted
// evidence of what it is there for.
#include <cerrno>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/oracle/evidence.hpp"
#include "harness/oracle/oracles.hpp"
#include "property_tests/printing.hpp"

namespace lastref::harness {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr const char* a_bin = "file:/run/a.bin";
constexpr std::uint16_t root = 0;
constexpr std::uint16_t tracker = 1;
constexpr std::uint16_t client = 2;
constexpr os::Pid pid_of_root = 10;
constexpr os::Pid pid_of_client = 12;

/// A journal, written line by line.
class Story {
 public:
  /// Root, tracker and a client live.
  Story() {
    born(root, "root", pid_of_root);
    born(tracker, "tracker", 11);
    born(client, "client", pid_of_client);
  }

  Story& born(std::uint16_t process, const char* role, os::Pid pid) {
    roles_.resize(std::max<std::size_t>(roles_.size(), process + 1U));
    roles_[process] = role;
    return fact(process, fact::born, "root", pid);
  }
  Story& fact(std::uint16_t process,
              std::string_view place,
              std::string_view text,
              std::int64_t value = 0) {
    Record& record = add(process, Phase::fact, place);
    record.text.assign(text);
    record.value = value;
    return *this;
  }
  Story& died(std::uint16_t process, std::string_view how) {
    return fact(process, fact::died, how);
  }
  Story& begins(std::uint16_t process, const char* word, const char* text = a_bin) {
    add(process, Phase::word_begin, word).text.assign(text);
    return *this;
  }
  Story& ends(std::uint16_t process, const char* word, const char* text = a_bin, int error = 0) {
    Record& record = add(process, Phase::word_end, word);
    record.text.assign(text);
    record.error = error;
    return *this;
  }
  Story& says(std::uint16_t process, const char* word, const char* text = a_bin) {
    return begins(process, word, text).ends(process, word, text);
  }
  /// A call that came back.
  Story& crossed(std::uint16_t process, Call call, const char* text, int error = 0) {
    Record& record = add(process, Phase::end, name_of(call));
    record.call = call;
    record.text.assign(text);
    record.error = error;
    return *this;
  }
  Story& injected(std::uint16_t process, Call call, int error) {
    crossed(process, call, "", error);
    records_.back().injected = true;
    return *this;
  }
  Story& with_mode(std::int64_t mode) {
    records_.back().value = mode;
    return *this;
  }
  Story& on(const char* object) {
    records_.back().object.assign(object);
    return *this;
  }
  /// The tracker's answer at a quiet moment: so many references of one process to a.bin, or of
  /// nobody.
  Story& counted(os::Pid holder, std::int64_t count) {
    if (count > 0) {
      fact(tracker, fact::count, a_bin, count);
      records_.back().k = static_cast<std::uint32_t>(holder);
    }
    return fact(tracker, fact::counted, "", count > 0 ? 1 : 0);
  }
  /// Everybody ends in good order.
  Story& all_end() {
    return died(client, fact::ended).died(root, fact::ended).died(tracker, fact::ended);
  }
  const std::vector<Record>& records() const { return records_; }

 private:
  Record& add(std::uint16_t process, Phase phase, std::string_view place) {
    Record& record = records_.emplace_back();
    record.published = 1;
    record.seq = static_cast<std::uint32_t>(records_.size() - 1);
    record.process = process;
    record.phase = phase;
    record.role.assign(roles_[process]);
    record.place.assign(place);
    return record;
  }

  std::vector<std::string> roles_;
  std::vector<Record> records_;
};

class OracleTest : public testing::Test {
 protected:
  using Oracle = std::vector<Finding> (*)(const Evidence&);

  Evidence evidence_of(const Story& story) const {
    return {.scenario = scenario_,
            .plan = plan_,
            .records = story.records(),
            .left = left_,
            .left_after_sweep = left_after_sweep_,
            .standard_error = standard_error_,
            .runtime_folder = "/run/runtime"};
  }

  std::vector<Finding> judged(Oracle oracle, const Story& story) const {
    return oracle(evidence_of(story));
  }

  Scenario scenario_;
  Plan plan_;
  std::vector<std::string> left_;
  std::vector<std::string> left_after_sweep_;
  std::string standard_error_;
};

// A run in which all is well.

TEST_F(OracleTest, a_good_run_has_no_finding_of_any_oracle) {
  Story story;
  story.says(root, "register").says(client, "register").counted(pid_of_root, 1);
  story = Story();
  story.says(root, "register").counted(pid_of_root, 1).says(root, "release");
  story.crossed(tracker, Call::unlink, "/run/a.bin").counted(pid_of_root, 0);
  story.crossed(root, Call::open, "/run/runtime/tree/lock").with_mode(0600).all_end();
  EXPECT_THAT(judge(evidence_of(story)), IsEmpty());
}

// no-leak

TEST_F(OracleTest, a_name_left_while_everybody_lived_is_a_leak) {
  left_ = {"/run/a.bin"};
  EXPECT_THAT(judged(oracle::no_leak, Story().all_end()), SizeIs(1));
}

TEST_F(OracleTest, a_name_left_by_a_killed_client_is_a_leak_for_the_tracker_lived) {
  left_ = {"/run/a.bin"};
  const Story story = Story().died(client, fact::killed).died(root, fact::ended);
  EXPECT_THAT(judged(oracle::no_leak, Story(story).died(tracker, fact::ended)), SizeIs(1));
}

TEST_F(OracleTest, what_a_tree_that_was_killed_whole_leaves_is_for_the_next_start) {
  left_ = {"/run/a.bin"};
  const Story story =
      Story().died(root, fact::killed).died(tracker, fact::killed).died(client, fact::killed);
  EXPECT_THAT(judged(oracle::no_leak, story), IsEmpty());
  left_after_sweep_ = left_;
  EXPECT_THAT(judged(oracle::no_leak, story), SizeIs(1));
}

TEST_F(OracleTest, a_tracker_that_was_killed_has_to_be_replaced_by_a_root_that_lives) {
  left_ = {"/run/a.bin"};
  const Story story = Story().died(tracker, fact::killed).died(client, fact::ended);
  EXPECT_THAT(judged(oracle::no_leak, Story(story).died(root, fact::ended)), SizeIs(1));
  EXPECT_THAT(judged(oracle::no_leak, Story(story).died(root, fact::killed)), IsEmpty());
}

TEST_F(OracleTest, after_a_call_that_failed_the_next_start_may_clean_up) {
  left_ = {"/run/a.bin"};
  const Story story = Story().injected(tracker, Call::unlink, EIO).all_end();
  EXPECT_THAT(judged(oracle::no_leak, story), IsEmpty());
  left_after_sweep_ = left_;
  EXPECT_THAT(judged(oracle::no_leak, story), SizeIs(1));
}

TEST_F(OracleTest, what_a_scenario_leaves_on_purpose_may_stay) {
  scenario_.stays = {"file:kept.bin", "folder:box", "semlock:/gate", "shm:/pool"};
  left_ = {"/run/kept.bin", "/run/box", "/run/box/in/it", "/dev/shm/sem.gate", "/dev/shm/pool"};
  left_after_sweep_ = left_;
  EXPECT_THAT(judged(oracle::no_leak, Story().all_end()), IsEmpty());
  left_ = {"/run/not_kept.bin", "/run/boxes/in", "/dev/shm/gate", "/dev/shm/sem.pool"};
  EXPECT_THAT(judged(oracle::no_leak, Story().all_end()), SizeIs(4));
}

// refcount-exact

TEST_F(OracleTest, a_reference_that_the_tracker_lost_is_found) {
  const Story story = Story().says(client, "register").counted(pid_of_client, 0);
  EXPECT_THAT(judged(oracle::refcount_exact, story), SizeIs(1));
}

TEST_F(OracleTest, a_reference_that_nobody_has_is_found) {
  EXPECT_THAT(judged(oracle::refcount_exact, Story().counted(pid_of_client, 1)), SizeIs(1));
  EXPECT_THAT(judged(oracle::refcount_exact, Story().counted(99, 1)), SizeIs(1));
}

TEST_F(OracleTest, a_reference_counted_twice_is_found) {
  const Story story = Story().says(client, "register").counted(pid_of_client, 2);
  EXPECT_THAT(judged(oracle::refcount_exact, story), SizeIs(1));
}

TEST_F(OracleTest, a_reference_of_the_wrong_process_is_found) {
  const Story story = Story().says(client, "register").counted(pid_of_root, 1);
  EXPECT_THAT(judged(oracle::refcount_exact, story), SizeIs(2));
}

TEST_F(OracleTest, what_is_under_way_may_count_or_not) {
  const Story story = Story().begins(client, "register");
  EXPECT_THAT(judged(oracle::refcount_exact, Story(story).counted(pid_of_client, 0)), IsEmpty());
  EXPECT_THAT(judged(oracle::refcount_exact, Story(story).counted(pid_of_client, 1)), IsEmpty());
  EXPECT_THAT(judged(oracle::refcount_exact, Story(story).counted(pid_of_client, 2)), SizeIs(1));
}

TEST_F(OracleTest, the_dead_hold_nothing_at_once) {
  const Story story = Story().says(client, "register").died(client, fact::killed);
  EXPECT_THAT(judged(oracle::refcount_exact, Story(story).counted(pid_of_client, 0)), IsEmpty());
  EXPECT_THAT(judged(oracle::refcount_exact, Story(story).counted(pid_of_client, 1)), SizeIs(1));
}

TEST_F(OracleTest, a_register_that_failed_counted_nothing) {
  const Story story = Story().begins(client, "register").ends(client, "register", a_bin, ENOSPC);
  EXPECT_THAT(judged(oracle::refcount_exact, Story(story).counted(pid_of_client, 0)), IsEmpty());
  EXPECT_THAT(judged(oracle::refcount_exact, Story(story).counted(pid_of_client, 1)), SizeIs(1));
}

TEST_F(OracleTest, a_forgotten_name_is_held_by_nobody) {
  const Story story = Story().says(root, "register").says(client, "register").says(root, "forget");
  EXPECT_THAT(judged(oracle::refcount_exact, Story(story).counted(pid_of_root, 0)), IsEmpty());
  EXPECT_THAT(judged(oracle::refcount_exact, Story(story).counted(pid_of_client, 1)), SizeIs(1));
}

// no-premature-unlink

TEST_F(OracleTest, a_clean_up_of_what_is_held_is_found) {
  const Story story = Story().says(client, "register").crossed(tracker, Call::unlink, "/run/a.bin");
  EXPECT_THAT(judged(oracle::no_premature_unlink, story), SizeIs(1));
}

TEST_F(OracleTest, a_clean_up_after_the_last_release_is_right) {
  const Story story = Story()
                          .says(client, "register")
                          .begins(client, "release")
                          .crossed(tracker, Call::unlink, "/run/a.bin");
  EXPECT_THAT(judged(oracle::no_premature_unlink, story), IsEmpty());
}

TEST_F(OracleTest, a_clean_up_after_the_holders_death_is_right) {
  const Story story = Story()
                          .says(client, "register")
                          .died(client, fact::killed)
                          .crossed(tracker, Call::unlink, "/run/a.bin");
  EXPECT_THAT(judged(oracle::no_premature_unlink, story), IsEmpty());
}

TEST_F(OracleTest, a_clean_up_inside_of_a_held_folder_is_found) {
  const Story story = Story()
                          .says(client, "register", "folder:/run/box")
                          .crossed(tracker, Call::unlink, "/run/box/in/it");
  EXPECT_THAT(judged(oracle::no_premature_unlink, story), SizeIs(1));
  const Story beside = Story()
                           .says(client, "register", "folder:/run/box")
                           .crossed(tracker, Call::unlink, "/run/boxes/in");
  EXPECT_THAT(judged(oracle::no_premature_unlink, beside), IsEmpty());
}

TEST_F(OracleTest, a_failed_clean_up_removes_nothing) {
  const Story story =
      Story().says(client, "register").crossed(tracker, Call::unlink, "/run/a.bin", EBUSY);
  EXPECT_THAT(judged(oracle::no_premature_unlink, story), IsEmpty());
}

TEST_F(OracleTest, shared_memory_and_semaphores_are_names_too) {
  const Story shm =
      Story().says(client, "register", "shm:/pool").crossed(tracker, Call::unlink_shm, "/pool");
  EXPECT_THAT(judged(oracle::no_premature_unlink, shm), SizeIs(1));
  const Story semaphore = Story()
                              .says(client, "register", "semlock:/gate")
                              .crossed(tracker, Call::unlink_semaphore, "/gate");
  EXPECT_THAT(judged(oracle::no_premature_unlink, semaphore), SizeIs(1));
}

// How it ended.

TEST_F(OracleTest, a_hang_a_crash_a_stray_and_an_open_descriptor_are_found) {
  EXPECT_THAT(judged(oracle::no_hang, Story().fact(root, fact::hang, "root in poll")), SizeIs(1));
  EXPECT_THAT(judged(oracle::no_crash, Story().died(client, fact::crashed)), SizeIs(1));
  EXPECT_THAT(judged(oracle::no_stray_process, Story().fact(root, fact::stray, "9")), SizeIs(1));
  EXPECT_THAT(judged(oracle::no_fd_leak, Story().fact(root, fact::fd_left, "").on("lock")),
              SizeIs(1));
}

TEST_F(OracleTest, a_map_that_nobody_unmapped_is_found) {
  Story story;
  story.crossed(root, Call::unmap, "").on("b.npy").fact(root, fact::fd_left, "").on("map:a.npy");
  EXPECT_THAT(judged(oracle::no_fd_leak, story), SizeIs(1));
}

TEST_F(OracleTest, a_map_that_could_not_be_unmapped_is_excused) {
  Story story;
  story.injected(root, Call::unmap, ENOMEM).on("a.npy");
  story.fact(root, fact::fd_left, "").on("map:a.npy");
  EXPECT_THAT(judged(oracle::no_fd_leak, story), IsEmpty());
  story.fact(client, fact::fd_left, "").on("map:a.npy");
  EXPECT_THAT(judged(oracle::no_fd_leak, story), SizeIs(1));
}

TEST_F(OracleTest, a_planned_kill_is_no_crash) {
  const Story story = Story().died(client, fact::killed).died(root, fact::swept);
  EXPECT_THAT(judged(oracle::no_crash, story), IsEmpty());
}

TEST_F(OracleTest, what_the_scenario_found_is_told_with_what_it_saw) {
  const Story story =
      Story().fact(root, fact::refuted, "T3: it is gone").fact(root, fact::seen, "it is there");
  const auto findings = judged(oracle::refuted, story);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_EQ(findings[0], (Finding{"T3: it is gone", "it is there"}));
}

// private

TEST_F(OracleTest, a_mode_that_lets_others_in_is_found) {
  const Story file = Story().crossed(root, Call::open, "/run/runtime/tree/lock").with_mode(0644);
  const auto findings = judged(oracle::is_private, file);
  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].seen, HasSubstr("0644"));
  const Story folder = Story().crossed(root, Call::make_folder, "/run/runtime").with_mode(0755);
  EXPECT_THAT(judged(oracle::is_private, folder), SizeIs(1));
}

TEST_F(OracleTest, what_is_opened_and_not_made_or_made_elsewhere_has_any_mode) {
  const Story story = Story()
                          .crossed(root, Call::open, "/run/runtime/tree/lock")
                          .with_mode(-1)
                          .crossed(root, Call::open, "/run/a.bin")
                          .with_mode(0644);
  EXPECT_THAT(judged(oracle::is_private, story), IsEmpty());
}

// error-surfaced

TEST_F(OracleTest, an_error_that_nobody_hears_of_is_found) {
  const Story swallowed = Story()
                              .begins(client, "register")
                              .injected(client, Call::write_at, ENOSPC)
                              .ends(client, "register")
                              .all_end();
  EXPECT_THAT(judged(oracle::error_surfaced, swallowed), SizeIs(1));
  const Story unsaid = Story().injected(tracker, Call::write_at, ENOSPC).all_end();
  EXPECT_THAT(judged(oracle::error_surfaced, unsaid), SizeIs(1));
}

TEST_F(OracleTest, an_error_that_is_retried_away_is_fine) {
  const Story story =
      Story().injected(tracker, Call::accept, EMFILE).crossed(tracker, Call::accept, "").all_end();
  EXPECT_THAT(judged(oracle::error_surfaced, story), IsEmpty());
}

TEST_F(OracleTest, an_error_that_a_word_returns_or_somebody_prints_is_fine) {
  const Story returned = Story()
                             .begins(client, "register")
                             .injected(client, Call::write_at, ENOSPC)
                             .ends(client, "register", a_bin, ENOSPC)
                             .all_end();
  EXPECT_THAT(judged(oracle::error_surfaced, returned), IsEmpty());
  const Story printed = Story()
                            .injected(tracker, Call::unlink, EIO)
                            .crossed(tracker, Call::write, "")
                            .on("stderr")
                            .all_end();
  EXPECT_THAT(judged(oracle::error_surfaced, printed), IsEmpty());
}

TEST_F(OracleTest, an_error_of_another_process_does_not_count_as_told) {
  const Story story = Story()
                          .injected(tracker, Call::unlink, EIO)
                          .crossed(client, Call::write, "")
                          .on("stderr")
                          .all_end();
  EXPECT_THAT(judged(oracle::error_surfaced, story), SizeIs(1));
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
  const oracle::Leftovers unpromised = oracle::leftovers_of(evidence_of(bad));
  EXPECT_EQ(unpromised.promised, 0U);
  EXPECT_EQ(unpromised.unpromised, 1U);
}

// quiet

TEST_F(OracleTest, noise_in_a_clean_run_is_found) {
  standard_error_ = "something\n";
  EXPECT_THAT(judged(oracle::quiet, Story().all_end()), SizeIs(1));
}

TEST_F(OracleTest, noise_about_an_interrupt_is_found_T1) {
  standard_error_ = "something\n";
  EXPECT_THAT(judged(oracle::quiet, Story().fact(root, fact::fired, "interrupt")), SizeIs(1));
}

TEST_F(OracleTest, noise_about_a_pause_is_found) {
  standard_error_ = "something\n";
  EXPECT_THAT(judged(oracle::quiet, Story().fact(root, fact::fired, "pause")), SizeIs(1));
}

TEST_F(OracleTest, expected_noise_that_is_not_there_is_missed) {
  scenario_.expected_noise = {"tracker died"};
  EXPECT_THAT(judged(oracle::quiet, Story().all_end()), SizeIs(1));
  EXPECT_THAT(judged(oracle::quiet, Story().fact(root, fact::fired, "kill_before")), IsEmpty());
}

TEST_F(OracleTest, expected_noise_and_noise_about_a_fault_are_fine) {
  standard_error_ = "the tracker died\n";
  EXPECT_THAT(judged(oracle::quiet, Story().fact(root, fact::fired, "kill_before")), IsEmpty());
  scenario_.expected_noise = {"tracker died"};
  EXPECT_THAT(judged(oracle::quiet, Story().all_end()), IsEmpty());
  scenario_.expected_noise = {};
  scenario_.possible_noise = {"tracker died"};
  EXPECT_THAT(judged(oracle::quiet, Story().all_end()), IsEmpty());
  standard_error_ = {};
  EXPECT_THAT(judged(oracle::quiet, Story().all_end()), IsEmpty());
}

// The journal as crossings.

TEST(Crossings, are_a_begin_and_its_end_or_no_end_at_all) {
  std::vector<Record> records(3);
  for (Record& record : records) {
    record.role.assign("root");
    record.place.assign("open");
    record.object.assign("a.bin");
    record.k = 1;
    record.phase = Phase::begin;
  }
  records[1].phase = Phase::end;
  records[1].error = ENOENT;
  records[1].waited = true;
  records[2].k = 2;
  const auto crossings = crossings_of(records);
  ASSERT_THAT(crossings, SizeIs(2));
  EXPECT_EQ(crossings[0].error, ENOENT);
  EXPECT_TRUE(crossings[0].waited);
  EXPECT_EQ(crossings[1].error, -1);
  EXPECT_EQ(crossings[1].point, (Point{"root", "open", "a.bin", 2}));
}

TEST(Crossings, that_only_the_world_caused_do_not_count) {
  std::vector<Record> records(1);
  records[0].phase = Phase::begin;
  records[0].observed = true;
  EXPECT_THAT(crossings_of(records), IsEmpty());
}

}  // namespace
}  // namespace lastref::harness
