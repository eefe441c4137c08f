// journal_test: every record that is read back is complete, whichever process was killed while
// writing.
#include "harness/journal/journal.hpp"

#include <set>
#include <string>
#include <utility>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <lastref/kernel_os.hpp>

namespace lastref::harness {
namespace {

constexpr std::uint32_t space_for = 4000;

std::string text_of(std::uint16_t writer, std::uint32_t k) {
  std::string text("writer ");
  text.append(std::to_string(writer)).append(" record ").append(std::to_string(k));
  return text;
}

/// A record with parts that can be checked against each other.
void fill(Record& record, std::uint16_t writer, std::uint32_t k) {
  record.process = writer;
  record.k = k;
  record.text.assign(text_of(writer, k));
}

bool is_whole(const Record& record) {
  const auto writer = static_cast<std::uint16_t>(record.process);
  return record.text == text_of(writer, record.k);
}

class JournalTest : public testing::Test {
 protected:
  SharedMemory memory_{Journal::size_for(space_for)};
  Journal journal_{memory_.get(), space_for};
};

TEST_F(JournalTest, records_come_back_in_order) {
  for (std::uint32_t k = 0; k < 10; ++k) {
    Record* record = journal_.claim();
    ASSERT_NE(record, nullptr);
    fill(*record, 1, k);
    Journal::publish(*record);
  }
  const auto records = journal_.settle();
  ASSERT_EQ(records.size(), 10U);
  for (std::uint32_t k = 0; k < 10; ++k) {
    EXPECT_EQ(records[k].k, k);
    EXPECT_EQ(records[k].seq, k);
  }
}

TEST_F(JournalTest, what_was_never_published_is_passed_over) {
  fill(*journal_.claim(), 1, 0);
  Record& whole = *journal_.claim();
  fill(whole, 1, 1);
  Journal::publish(whole);
  const auto records = journal_.settle();
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].k, 1U);
}

TEST_F(JournalTest, a_full_journal_takes_no_more_and_says_that_something_is_lost) {
  for (std::uint32_t k = 0; k < space_for; ++k) {
    Journal::publish(*journal_.claim());
  }
  EXPECT_FALSE(is_fact(journal_.settle().back(), fact::refuted));
  EXPECT_EQ(journal_.claim(), nullptr);
  EXPECT_EQ(journal_.size(), space_for);
  const auto records = journal_.settle();
  ASSERT_EQ(records.size(), space_for);
  EXPECT_TRUE(is_fact(records.back(), fact::refuted));
  EXPECT_EQ(records.back().value, 1);
  EXPECT_EQ(records.back().seq, space_for - 1);
}

TEST_F(JournalTest, after_a_reset_it_is_empty_and_has_all_its_space) {
  for (std::uint32_t k = 0; k < space_for; ++k) {
    Journal::publish(*journal_.claim());
  }
  journal_.reset();
  EXPECT_EQ(journal_.settle().size(), 0U);
  EXPECT_NE(journal_.claim(), nullptr);
}

/// Writes until it kills itself, between the claim of a record and its publication.
[[noreturn]] void write_and_die(Journal& journal, std::uint16_t writer, std::uint32_t whole) {
  for (std::uint32_t k = 0; k < whole; ++k) {
    Record* record = journal.claim();
    fill(*record, writer, k);
    Journal::publish(*record);
  }
  fill(*journal.claim(), writer, whole);
  os::KernelOs os;
  const auto self = os.open_process(os.process_id());
  static_cast<void>(os.signal_process(*self, os::Signal::kill));
  for (;;) {
  }
}

using JournalDeathTest = JournalTest;

TEST_F(JournalDeathTest, writers_that_are_killed_leave_whole_records_only) {
  constexpr std::uint16_t writers = 8;
  constexpr int sigkill = 9;
  for (std::uint16_t writer = 0; writer < writers; ++writer) {
    EXPECT_EXIT(
        write_and_die(journal_, writer, writer * 20U), testing::KilledBySignal(sigkill), "");
  }
  std::set<std::pair<std::uint16_t, std::uint32_t>> seen;
  for (const Record& record : journal_.settle()) {
    EXPECT_TRUE(is_whole(record));
    seen.emplace(record.process, record.k);
  }
  for (std::uint16_t writer = 0; writer < writers; ++writer) {
    for (std::uint32_t k = 0; k < writer * 20U; ++k) {
      EXPECT_TRUE(seen.contains({writer, k})) << writer << ' ' << k;
    }
    EXPECT_FALSE(seen.contains({writer, writer * 20U}));
  }
}

TEST(RecordTexts, the_path_of_an_array_is_kept_whole) {
  const std::string chance(32, 'f');
  const std::string path = "folder:/dev/shm/world/tmp/lastref_memmapping_folder_4194304_" + chance +
                           '_' + chance + "/4194304-140737488355328-" + chance + ".npy.part";
  EXPECT_EQ(journal_text(path), path);
}

RC_GTEST_PROP(TextProperties, a_text_that_fits_is_kept_as_it_is, ()) {
  const auto text = *rc::gen::arbitrary<std::string>();
  RC_PRE(text.size() < std::size_t{64});
  RC_ASSERT(Text<64>(text).view() == text);
}

RC_GTEST_PROP(TextProperties, texts_that_do_not_fit_still_differ_when_they_differ, ()) {
  const auto tail = *rc::gen::arbitrary<std::string>();
  const auto other = *rc::gen::arbitrary<std::string>();
  const std::string long_one(100, 'x');
  const Text<64> left(long_one + tail);
  const Text<64> right(long_one + other);
  RC_ASSERT((left.view() == right.view()) == (tail == other));
}

}  // namespace
}  // namespace lastref::harness
