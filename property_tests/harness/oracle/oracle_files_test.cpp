// oracle_files_test: the findings of the oracles of whole files on planted contents.
#include <cerrno>
#include <string>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/harness/oracle/oracle_story.hpp"
#include "property_tests/harness/oracle/planted_bytes.hpp"

namespace lastref::harness {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr const char* array_path = "/run/lastref_memmapping_folder_1_a_call/1-1-a.npy";
constexpr const char* cache_path = "/run/10-a.cache";
constexpr const char* ledger_path = "/run/a/ledger";

class WholeFiles : public OracleTest {
 protected:
  /// The judgement if this exists after the whole story.
  Judgement of(std::string_view oracle,
               const Story& story,
               const std::string& path,
               std::string bytes) const {
    Evidence evidence = evidence_of(story);
    evidence.files.push_back(
        {.path = path, .bytes = std::move(bytes), .moment = story.records().size()});
    return judge_by(oracle, evidence);
  }
};

TEST_F(WholeFiles, a_torn_array_is_found) {
  const Judgement judgement = of("whole: arrays", Story(), array_path, "torn");
  ASSERT_THAT(judgement.findings, SizeIs(1));
  EXPECT_THAT(judgement.findings[0].seen, HasSubstr(array_path));
  EXPECT_EQ(judgement.look, (Look{.seen = 1, .filled = 0}));
}

TEST_F(WholeFiles, what_an_outside_party_wrote_is_its_own_until_it_is_replaced) {
  const Story planted = Story().fact(client, fact::outside, array_path);
  EXPECT_THAT(of("whole: arrays", planted, array_path, "torn").findings, IsEmpty());
  const Story replaced = Story(planted).crossed(root, Call::rename, array_path);
  EXPECT_THAT(of("whole: arrays", replaced, array_path, "torn").findings, SizeIs(1));
}

TEST_F(WholeFiles, other_files_are_of_no_kind) {
  for (const auto oracle :
       {"whole: arrays", "whole: live caches", "whole: preserved caches", "whole: ledgers"}) {
    EXPECT_EQ(of(oracle, Story(), "/run/a.bin", "torn").look, Look());
  }
}

/// The calls of a put or a preserve of a durable cache, as far as they are made.
Story& shown(Story& story, bool is_synced, bool is_placed) {
  story.begins(root, "make a cache", "durable cache").ends(root, "make a cache", "");
  story.begins(root, "put", "cache 0 1").crossed(root, Call::write_at, cache_path).on("cache");
  if (is_synced) {
    story.crossed(root, Call::sync, cache_path).on("cache");
  }
  story.crossed(root, Call::rename, "/run/kept").on("kept");
  if (is_placed) {
    story.crossed(root, Call::sync, "/run").on("run");
  }
  return story;
}

TEST_F(WholeFiles, what_a_durable_cache_shows_was_synced_before_and_after_C9) {
  for (const bool is_synced : {false, true}) {
    for (const bool is_placed : {false, true}) {
      Story story;
      shown(story, is_synced, is_placed);
      const std::size_t wrong = (is_synced ? 0U : 1U) + (is_placed ? 0U : 1U);
      EXPECT_THAT(judged("synced-first", Story(story).ends(root, "put", "true")), SizeIs(wrong));
      EXPECT_THAT(judged("synced-first", Story(story).ends(root, "put", "false")), IsEmpty());
      EXPECT_THAT(judged("synced-first", Story(story).ends(root, "put", "", EIO)), IsEmpty());
    }
  }
}

TEST_F(WholeFiles, a_sync_that_fails_is_none_C9) {
  Story story;
  shown(story, /*is_synced=*/true, /*is_placed=*/false);
  story.crossed(root, Call::sync, "/run", EIO).on("run").ends(root, "put", "true");
  EXPECT_THAT(judged("synced-first", story), SizeIs(1));
}

TEST_F(WholeFiles, a_cache_that_is_not_durable_syncs_nothing) {
  const Story story = Story()
                          .says(root, "make a cache", "")
                          .begins(root, "put", "cache 0 1")
                          .crossed(root, Call::write_at, cache_path)
                          .crossed(root, Call::rename, "/run/kept")
                          .ends(root, "put", "true");
  EXPECT_EQ(look_of("synced-first", story), Look());
}

TEST_F(WholeFiles, a_live_cache_is_nobodys_until_it_is_made) {
  const Story begun = Story().begins(root, "make a cache", "");
  EXPECT_THAT(of("whole: live caches", begun, cache_path, "").findings, IsEmpty());
  const Story made = Story(begun).ends(root, "make a cache", "");
  EXPECT_THAT(of("whole: live caches", made, cache_path, "").findings, SizeIs(1));
  const Story another = Story(made).begins(root, "make a cache", "");
  EXPECT_THAT(of("whole: live caches", another, cache_path, "").findings, IsEmpty());
}

TEST_F(WholeFiles, a_preserved_cache_is_what_was_renamed) {
  const std::string one_value = std::string("\x10\0\0\0\0\0\0\0\1\0\0\0\0\0\0\0", 16) + 'v';
  const Story kept = Story().crossed(root, Call::rename_new, "/run/kept");
  EXPECT_EQ(of("whole: preserved caches", Story(), "/run/kept", one_value).look, Look());
  EXPECT_THAT(of("whole: preserved caches", kept, "/run/kept", one_value).findings[0].seen,
              HasSubstr("slot 0 "));
  const std::string put = "cache 0 " + std::to_string(hash_of("v"));
  const Story right =
      Story().says(root, "put", put.c_str()).crossed(root, Call::rename, "/run/kept");
  EXPECT_THAT(of("whole: preserved caches", right, "/run/kept", one_value).findings, IsEmpty());
  EXPECT_THAT(of("whole: preserved caches", right, "/run/kept", "short").findings, SizeIs(1));
}

TEST_F(WholeFiles, what_is_counted_is_on_record) {
  const std::string nothing(64, '\0');
  const Story counted = Story().says(root, "register").counted(pid_of_root, 1);
  const Judgement judgement = of("whole: ledgers", counted, ledger_path, nothing);
  ASSERT_THAT(judgement.findings, SizeIs(1));
  EXPECT_THAT(judgement.findings[0].seen, HasSubstr("file:/run/a.bin"));
  const Story later = Story(counted).says(root, "release");
  EXPECT_THAT(of("whole: ledgers", later, ledger_path, nothing).findings, IsEmpty());
}

TEST_F(WholeFiles, what_a_tracker_writes_behind_its_answer_is_no_part_of_it) {
  const std::string nothing(64, '\0');
  const Story begun = Story().says(root, "register").died(client, fact::killed);
  const Story counted = Story(begun).counted_at_once(pid_of_root, 1);
  EXPECT_THAT(of("whole: ledgers", counted, ledger_path, nothing).findings, SizeIs(1));
  const Story written = Story(begun).crossed(tracker, Call::write_at, ledger_path).observed();
  EXPECT_THAT(
      of("whole: ledgers", Story(written).counted_at_once(pid_of_root, 1), ledger_path, nothing)
          .findings,
      IsEmpty());
  const Story before = Story(begun).crossed(tracker, Call::write_at, ledger_path);
  EXPECT_THAT(
      of("whole: ledgers", Story(before).counted_at_once(pid_of_root, 1), ledger_path, nothing)
          .findings,
      SizeIs(1));
}

TEST_F(WholeFiles, a_ledger_is_cut_short_by_a_kill_of_its_tracker_alone) {
  const std::string torn = std::string("+\0\5\0", 4) + std::string(60, 'x');
  EXPECT_THAT(of("whole: ledgers", Story(), ledger_path, torn).findings, SizeIs(1));
  const Story killed = Story().died(tracker, fact::killed);
  EXPECT_THAT(of("whole: ledgers", killed, ledger_path, torn).findings, IsEmpty());
  const Story another = Story().died(client, fact::killed);
  EXPECT_THAT(of("whole: ledgers", another, ledger_path, torn).findings, SizeIs(1));
}

// no-leak at the next start, where another process removes parts of a tree

class SpoiledLedger : public WholeFiles {
 protected:
  SpoiledLedger() { scenario_.spoils_ledger = true; }

  /// The findings after the next start on a.bin and the tree, where the ledger has these bytes.
  std::vector<Finding> leaks_past(std::string bytes) const {
    const Story story = Story().died(root, fact::killed).died(tracker, fact::killed);
    return of("no-leak at the next start", story, ledger_path, std::move(bytes)).findings;
  }

  const std::string names_it_ = oracle::ledger_record(0, '+', "/run/a.bin");
  const std::string names_its_folder_ = oracle::ledger_record(0, '+', "/run", 1);
};

TEST_F(SpoiledLedger, that_was_lost_with_its_names_leaves_them_M7) {
  left_after_sweep_ = {"/run/a.bin"};
  left_ = {"/run/a.bin", "/run/a", "/run/a/lock"};
  EXPECT_THAT(leaks_past(names_it_), IsEmpty());
  left_.emplace_back(ledger_path);
  EXPECT_THAT(leaks_past(oracle::ledger_record(0, '-', "/run/a.bin")), IsEmpty());
  EXPECT_THAT(leaks_past(oracle::ledger_record(0, '+', "/run/b.bin")), IsEmpty());
}

TEST_F(SpoiledLedger, that_has_a_name_beside_its_lock_leaves_no_leak_M7) {
  left_after_sweep_ = {"/run/a.bin"};
  left_ = {"/run/a.bin", "/run/a", "/run/a/lock", ledger_path};
  EXPECT_THAT(leaks_past(names_it_), SizeIs(1));
  EXPECT_THAT(leaks_past(names_its_folder_), SizeIs(1));
}

TEST_F(SpoiledLedger, without_a_lock_beside_it_is_not_judged_M7) {
  left_after_sweep_ = {"/run/a.bin", "/run/a", ledger_path};
  left_ = left_after_sweep_;
  EXPECT_THAT(leaks_past(names_it_), IsEmpty());
  left_.emplace_back("/run/a/lock");
  EXPECT_THAT(leaks_past(names_it_), SizeIs(3));
}

}  // namespace
}  // namespace lastref::harness
