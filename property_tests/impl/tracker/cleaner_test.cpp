// cleaner_test: clean-up of real names, with a clock that only the test moves.
#include "impl/tracker/cleaner.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "property_tests/impl/tracker/generators.hpp"
#include "property_tests/impl/tracker/pretend_process.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::tracker {
namespace {

using namespace std::chrono_literals;
using pretend::Crossing;
using pretend::Decision;
using pretend::Fate;
using pretend::FreshFolder;
using pretend::PretendProcess;
using pretend::RecordLocks;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

constexpr Decision fail_with(std::errc code) {
  return {.fate = Fate::fail, .code = code};
}

class Cleaning : public testing::Test {
 protected:
  /// Steps until nothing is left to do; the clock moves from one due time to the next.
  std::vector<Cleaned> finish() {
    std::vector<Cleaned> all;
    while (const auto due = cleaner_.due()) {
      os_.clock = std::max(os_.clock, *due);
      for (Cleaned& cleaned : cleaner_.step(os_.clock)) {
        all.push_back(std::move(cleaned));
      }
    }
    EXPECT_TRUE(cleaner_.empty());
    return all;
  }
  Resource file(const std::string& name) const {
    return {.type = ResourceType::file, .name = folder_.path(name)};
  }
  Resource folder(const std::string& name) const {
    return {.type = ResourceType::folder, .name = folder_.path(name)};
  }
  /// Every removal of `name` fails with these codes in turn, then works.
  void refuse(const std::string& name, std::vector<std::errc> codes) {
    os_.director = [this, name, codes, next = std::size_t{0}](const Crossing& crossing) mutable {
      const bool removes = crossing.call == Call::unlink || crossing.call == Call::unlink_shm ||
                           crossing.call == Call::unlink_semaphore;
      if (!removes || crossing.subject != name) {
        return Decision{};
      }
      times_.push_back(os_.clock);
      return next < codes.size() ? fail_with(codes[next++]) : Decision{};
    };
  }

  FreshFolder folder_;
  RecordLocks locks_;
  PretendProcess os_{locks_};
  Cleaner cleaner_{os_};
  std::vector<os::Instant> times_;
};

TEST_F(Cleaning, a_file_is_unlinked_by_one_call_T4) {
  folder_.write("a");
  cleaner_.add(file("a"));
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(1));
  EXPECT_EQ(cleaned[0].resource, file("a"));
  EXPECT_TRUE(cleaned[0].status);
  EXPECT_EQ(os_.crossings, std::vector({Crossing{Call::unlink, folder_.path("a")}}));
}

TEST_F(Cleaning, shared_memory_and_semaphores_are_unlinked_by_one_call_T4) {
  const std::string name = "/" + pretend::unique_text();
  const auto fd = os_.create_shm(name, 0600);
  ASSERT_TRUE(fd);
  const os::UniqueFd owner(os_, *fd);
  ASSERT_TRUE(os_.create_semaphore(name, 0600));
  cleaner_.add({.type = ResourceType::shm, .name = name});
  cleaner_.add({.type = ResourceType::semlock, .name = name});
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(2));
  EXPECT_TRUE(cleaned[0].status);
  EXPECT_TRUE(cleaned[1].status);
  EXPECT_EQ(os_.count_of(Call::unlink_shm), 1U);
  EXPECT_EQ(os_.count_of(Call::unlink_semaphore), 1U);
  EXPECT_FALSE(os_.unlink_shm(name));
  EXPECT_FALSE(os_.unlink_semaphore(name));
}

TEST_F(Cleaning, a_probe_is_never_cleaned_T4) {
  folder_.write("a");
  cleaner_.add({.type = ResourceType::noop, .name = folder_.path("a")});
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(1));
  EXPECT_TRUE(cleaned[0].status);
  EXPECT_THAT(os_.crossings, IsEmpty());
  folder_.remove("a");
}

TEST_F(Cleaning, a_missing_name_is_clean_after_one_call_T7) {
  const std::string nobodys = "/" + pretend::unique_text();
  for (const Resource& missing : {file("a"),
                                  file("no/such/folder"),
                                  Resource{.type = ResourceType::shm, .name = nobodys},
                                  Resource{.type = ResourceType::semlock, .name = nobodys},
                                  folder("d")}) {
    os_.crossings.clear();
    cleaner_.add(missing);
    const auto cleaned = finish();
    ASSERT_THAT(cleaned, SizeIs(1));
    EXPECT_TRUE(cleaned[0].status);
    EXPECT_THAT(os_.crossings, SizeIs(1)) << to_text(missing);
  }
  EXPECT_EQ(os_.clock, 0s);
}

TEST_F(Cleaning, a_successor_of_a_missing_file_survives_T7) {
  refuse(folder_.path("a"), {std::errc::no_such_file_or_directory});
  cleaner_.add(file("a"));
  cleaner_.step(os_.clock);
  folder_.write("a");
  os_.clock += 10s;
  cleaner_.step(os_.clock);
  EXPECT_THAT(times_, SizeIs(1));
  EXPECT_TRUE(cleaner_.empty());
  EXPECT_TRUE(folder_.exists("a"));
  folder_.remove("a");
}

TEST_F(Cleaning, a_file_that_vanishes_between_attempts_ends_there_and_its_successor_survives_T7) {
  refuse(folder_.path("a"), {std::errc::permission_denied, std::errc::no_such_file_or_directory});
  folder_.write("a");
  cleaner_.add(file("a"));
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(1));
  EXPECT_TRUE(cleaned[0].status);
  EXPECT_THAT(times_, ElementsAre(0ms, 200ms));
  EXPECT_TRUE(folder_.exists("a"));
  folder_.remove("a");
}

struct Refusal {
  const char* name;
  std::errc code;
  std::size_t attempts;
};

void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}

const Refusal refusals[] = {
    {"permission_denied", std::errc::permission_denied, 10},
    {"operation_not_permitted", std::errc::operation_not_permitted, 10},
    {"busy", std::errc::device_or_resource_busy, 1},
    {"io_error", std::errc::io_error, 1},
    {"read_only", std::errc::read_only_file_system, 1},
    {"is_a_folder", std::errc::is_a_directory, 1},
};

class RefusedCleaning : public Cleaning, public testing::WithParamInterface<Refusal> {};

TEST_P(RefusedCleaning, is_tried_so_often_two_tenths_of_a_second_apart_and_reported_T7) {
  const std::string shm = "/" + pretend::unique_text();
  for (const Resource& resource : {file("a"),
                                   Resource{.type = ResourceType::shm, .name = shm},
                                   Resource{.type = ResourceType::semlock, .name = shm}}) {
    os_.clock = 0s;
    times_.clear();
    refuse(resource.name, std::vector(20, GetParam().code));
    cleaner_.add(resource);
    const auto cleaned = finish();
    ASSERT_THAT(cleaned, SizeIs(1));
    EXPECT_EQ(cleaned[0].resource, resource);
    ASSERT_FALSE(cleaned[0].status);
    EXPECT_EQ(cleaned[0].status.error().code, GetParam().code);
    std::vector<os::Instant> expected;
    for (std::size_t attempt = 0; attempt < GetParam().attempts; ++attempt) {
      expected.push_back(attempt * 200ms);
    }
    EXPECT_EQ(times_, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Cleaner,
                         RefusedCleaning,
                         testing::ValuesIn(refusals),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_F(Cleaning, a_refused_file_goes_as_soon_as_it_may_T7) {
  for (std::size_t refused = 0; refused < 10; ++refused) {
    os_.clock = 0s;
    times_.clear();
    folder_.write("a");
    refuse(folder_.path("a"), std::vector(refused, std::errc::permission_denied));
    cleaner_.add(file("a"));
    const auto cleaned = finish();
    ASSERT_THAT(cleaned, SizeIs(1));
    EXPECT_TRUE(cleaned[0].status);
    EXPECT_THAT(times_, SizeIs(refused + 1));
    EXPECT_FALSE(folder_.exists("a"));
  }
}

TEST_F(Cleaning, a_pause_is_not_cut_short_by_steps_in_between_T7) {
  refuse(folder_.path("a"), std::vector(20, std::errc::permission_denied));
  cleaner_.add(file("a"));
  for (; !cleaner_.empty(); os_.clock += 1ms) {
    cleaner_.step(os_.clock);
  }
  ASSERT_THAT(times_, SizeIs(10));
  EXPECT_EQ(times_.back(), 1800ms);
}

TEST_F(Cleaning, a_refused_file_keeps_no_other_from_its_end_T10) {
  folder_.write("b");
  refuse(folder_.path("a"), std::vector(20, std::errc::permission_denied));
  cleaner_.add(file("a"));
  cleaner_.add(file("b"));
  const auto cleaned = cleaner_.step(os_.clock);
  ASSERT_THAT(cleaned, SizeIs(1));
  EXPECT_EQ(cleaned[0].resource, file("b"));
  EXPECT_EQ(cleaner_.due(), std::optional<os::Instant>(200ms));
  finish();
}

TEST_F(Cleaning, a_folder_waits_for_every_name_queued_before_it_T5) {
  folder_.make_folder("d");
  folder_.write("d/a");
  folder_.write("d/b");
  refuse(folder_.path("d/a"), std::vector(3, std::errc::permission_denied));
  cleaner_.add(file("d/a"));
  cleaner_.add(file("d/b"));
  cleaner_.add(folder("d"));
  std::vector<Resource> order;
  for (const Cleaned& cleaned : finish()) {
    EXPECT_TRUE(cleaned.status);
    order.push_back(cleaned.resource);
  }
  EXPECT_THAT(order, ElementsAre(file("d/b"), file("d/a"), folder("d")));
  EXPECT_EQ(os_.clock, 600ms);
}

TEST_F(Cleaning, a_folder_waits_even_for_a_name_that_stays_and_goes_then_T5) {
  folder_.make_folder("d");
  refuse(folder_.path("a"), std::vector(20, std::errc::permission_denied));
  cleaner_.add(file("a"));
  cleaner_.add(folder("d"));
  os_.clock = 1s;
  cleaner_.step(os_.clock);
  EXPECT_TRUE(folder_.exists("d"));
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(2));
  EXPECT_FALSE(cleaned[0].status);
  EXPECT_TRUE(cleaned[1].status);
}

TEST_F(Cleaning, a_queued_name_is_taken_back_and_left_alone_T6) {
  folder_.write("a");
  folder_.write("b");
  folder_.make_folder("d");
  for (const Resource& resource : {file("a"), file("b"), folder("d")}) {
    cleaner_.add(resource);
    EXPECT_FALSE(cleaner_.is_under_way(resource));
  }
  cleaner_.cancel(file("a"));
  cleaner_.cancel(folder("d"));
  cleaner_.cancel(file("unknown"));
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(1));
  EXPECT_EQ(cleaned[0].resource, file("b"));
  EXPECT_THAT(folder_.names(), ElementsAre("a", "d"));
  folder_.remove("a");
  folder_.remove("d");
}

TEST_F(Cleaning, a_refused_file_is_taken_back_between_attempts_T6) {
  folder_.write("a");
  refuse(folder_.path("a"), {std::errc::permission_denied});
  cleaner_.add(file("a"));
  cleaner_.step(os_.clock);
  EXPECT_FALSE(cleaner_.is_under_way(file("a")));
  cleaner_.cancel(file("a"));
  EXPECT_TRUE(cleaner_.empty());
  EXPECT_EQ(cleaner_.due(), std::nullopt);
  EXPECT_TRUE(folder_.exists("a"));
  folder_.remove("a");
}

TEST_F(Cleaning, a_folder_that_was_entered_is_under_way_until_it_ends_T6) {
  folder_.make_folder("d");
  for (int i = 0; i < 200; ++i) {
    folder_.write("d/" + std::to_string(i));
  }
  cleaner_.add(folder("d"));
  int steps = 0;
  while (!cleaner_.empty()) {
    EXPECT_EQ(cleaner_.is_under_way(folder("d")), steps > 0);
    EXPECT_FALSE(cleaner_.is_under_way(file("d")));
    if (steps > 0) {
      cleaner_.cancel(folder("d"));
    }
    cleaner_.step(os_.clock);
    ++steps;
  }
  EXPECT_GT(steps, 3);
  EXPECT_FALSE(cleaner_.is_under_way(folder("d")));
}

TEST_F(Cleaning, a_folder_that_was_refused_is_under_way_between_attempts_T6) {
  folder_.make_folder("d");
  folder_.write("d/a");
  refuse("a", {std::errc::operation_not_permitted});
  cleaner_.add(folder("d"));
  EXPECT_THAT(cleaner_.step(os_.clock), IsEmpty());
  EXPECT_EQ(cleaner_.due(), std::optional<os::Instant>(200ms));
  EXPECT_TRUE(cleaner_.is_under_way(folder("d")));
  cleaner_.cancel(folder("d"));
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(1));
  EXPECT_TRUE(cleaned[0].status);
  EXPECT_FALSE(folder_.exists("d"));
}

TEST_F(Cleaning, a_step_makes_a_bounded_number_of_calls_on_many_files_T10) {
  constexpr std::size_t files = 1000;
  for (std::size_t i = 0; i < files; ++i) {
    cleaner_.add(file(std::to_string(i)));
  }
  std::size_t ended = 0;
  while (!cleaner_.empty()) {
    os_.crossings.clear();
    ended += cleaner_.step(os_.clock).size();
    ASSERT_LE(os_.crossings.size(), 100U);
    ASSERT_GT(os_.crossings.size(), 0U);
  }
  EXPECT_EQ(ended, files);
}

TEST_F(Cleaning, a_step_makes_a_bounded_number_of_calls_on_a_huge_folder_T10) {
  folder_.make_folder("d");
  for (int i = 0; i < 10'000; ++i) {
    folder_.write("d/" + std::to_string(i), "");
  }
  cleaner_.add(folder("d"));
  while (!cleaner_.empty()) {
    os_.crossings.clear();
    for (const Cleaned& cleaned : cleaner_.step(os_.clock)) {
      EXPECT_TRUE(cleaned.status);
    }
    ASSERT_LE(os_.crossings.size(), 100U);
    ASSERT_GT(os_.crossings.size(), 0U);
  }
  EXPECT_EQ(os_.clock, 0s);
  EXPECT_EQ(os_.open_fds(), 0U);
}

}  // namespace
}  // namespace lastref::tracker
