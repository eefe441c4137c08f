// agreement_test: what the judge of ledgers and counts must reject.
#include "property_tests/harness/warden/agreement.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/support/transcript.hpp"

namespace lastref::harness::warden {
namespace {

using pretend::expect_transcript;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int the_root = 10;
constexpr int the_reader = 11;
constexpr const char* array_folder = "/f/temp/a";
constexpr const char* array_file = "/f/temp/a/1.npy";

std::vector<Leftover> names_there(const std::vector<std::string>& names) {
  std::vector<Leftover> all;
  for (const std::string& name : names) {
    all.push_back({.path = name, .kind = "file", .maker = "root"});
  }
  return all;
}

tracker::Count count_of(const std::string& name, int holder, std::uint64_t count = 1) {
  return {.resource = {.type = ResourceType::file, .name = name}, .holder = holder, .count = count};
}

/// An array that one reader is about to open.
Look look_at_opening() {
  return {.at = array_file,
          .before = names_there({array_folder, array_file}),
          .after = names_there({array_folder, array_file}),
          .counts = {count_of(array_folder, the_root),
                     count_of(array_file, the_root, 3),
                     count_of(array_file, the_reader)},
          .root = the_root,
          .opened_by = {{array_file, {the_reader}}},
          .is_opened = true};
}

/// A file that the root is about to make in a cache.
Look look_at_making() {
  return {.at = "made",
          .counts = {count_of("/f/cache/lastref/1.lock", the_root)},
          .root = the_root,
          .made = "/f/cache/lastref/1.lock"};
}

std::vector<std::string> complaints_of(const std::vector<Look>& looks) {
  Agreement agreement("/f");
  for (const Look& look : looks) {
    agreement.judge(look);
  }
  return agreement.complaints();
}

/// The complaints name this; their text is a section.
void expect_complaint(const std::vector<std::string>& complaints, const std::string& name) {
  EXPECT_THAT(complaints, Contains(HasSubstr(name)));
  expect_transcript(complaints);
}

TEST(AgreementOfNames, has_nothing_to_say_of_what_is_right) {
  EXPECT_THAT(complaints_of({look_at_opening()}), IsEmpty());
  Look after = look_at_making();
  after.made.clear();
  after.before = after.after = names_there({"/f/cache/lastref/1.lock"});
  EXPECT_THAT(complaints_of({look_at_making(), after}), IsEmpty());
}

TEST(AgreementOfNames, lets_a_file_begin_in_a_folder_that_is_counted) {
  Look look = look_at_opening();
  look.is_opened = false;
  look.after.push_back(names_there({"/f/temp/a/2.npy.part"}).front());
  EXPECT_THAT(complaints_of({look}), IsEmpty());
  look.counts.erase(look.counts.begin());
  expect_complaint(complaints_of({look}), "2.npy.part");
}

TEST(AgreementOfNames, rejects_a_name_that_is_not_counted) {
  Look look = look_at_opening();
  look.after.push_back(names_there({"/f/temp/b"}).front());
  expect_complaint(complaints_of({look}), "/f/temp/b");
  look = look_at_making();
  look.counts.clear();
  expect_complaint(complaints_of({look}), "1.lock");
}

TEST(AgreementOfNames, lets_a_name_end_but_not_while_it_is_used) {
  Look ended = look_at_opening();
  ended.is_opened = false;
  ended.counts.clear();
  EXPECT_THAT(complaints_of({look_at_opening(), ended}), IsEmpty());
  ended.is_opened = true;
  expect_complaint(complaints_of({look_at_opening(), ended}), "1.npy");
}

TEST(AgreementOfNames, rejects_a_count_of_nothing) {
  Look look = look_at_opening();
  look.counts.push_back(count_of("/f/temp/b", the_root));
  expect_complaint(complaints_of({look}), "/f/temp/b");
  expect_complaint(complaints_of({look_at_making(), look_at_opening()}), "/f/");
}

TEST(AgreementOfNames, rejects_holders_that_are_dead_or_were_not_seen) {
  Look look = look_at_opening();
  look.dead = {the_reader};
  expect_complaint(complaints_of({look}), "11 ");
  look = look_at_opening();
  look.counts.push_back(count_of(array_file, 12));
  expect_complaint(complaints_of({look}), "12 ");
  look = look_at_opening();
  look.counts.pop_back();
  expect_complaint(complaints_of({look}), "/f/temp/a/1.npy");
  look = look_at_opening();
  look.counts.back().count = 2;
  expect_complaint(complaints_of({look}), "11 ");
}

TEST(AgreementOfNames, rejects_what_the_tracker_leaves_and_what_nobody_expected) {
  Agreement agreement("/f");
  agreement.judge_end(names_there({"/f/cache/lastref", "/f/runtime/1/socket"}));
  EXPECT_THAT(agreement.complaints(), IsEmpty());
  agreement.judge_end(names_there({array_folder, "/f/other"}));
  EXPECT_THAT(agreement.complaints(), Contains(HasSubstr("/f/temp/a")));
  expect_complaint(agreement.complaints(), "/f/other");
}

}  // namespace
}  // namespace lastref::harness::warden
