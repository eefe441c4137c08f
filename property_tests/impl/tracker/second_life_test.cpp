// second_life_test: a name that could not be cleaned up, and what happens when it is used again.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/tracker/tracker_in_a_copy.hpp"

namespace lastref::tracker {
namespace {

using testing::HasSubstr;

/// The name of a file at which there is a folder: its clean-up fails, and is not tried again before
/// the end of the tree.
class SecondLife : public pretend::TrackerInACopy {
 protected:
  SecondLife() {
    folder_.make_folder("name");
    EXPECT_EQ(announce(), std::errc{});
    EXPECT_EQ(ask_for(Verb::register_, 2, name_), std::errc{});
    say({.verb = Verb::release, .entries = {{.resource = name_}}});
    let_rounds_pass();
    folder_.remove("name");
  }
};

TEST_F(SecondLife, that_is_forgotten_is_left_alone_E4_T3) {
  EXPECT_EQ(ask_for(Verb::register_, 3, name_), std::errc{});
  folder_.write("name");
  EXPECT_EQ(ask_for(Verb::forget, 4, name_), std::errc{});
  EXPECT_THAT(end(), HasSubstr("could not clean up"));
  EXPECT_TRUE(folder_.exists("name"));
  folder_.remove("name");
}

TEST_F(SecondLife, of_a_name_that_was_forgotten_in_between_is_nobodys_business_E4_T3) {
  EXPECT_EQ(ask_for(Verb::forget, 3, name_), std::errc{});
  folder_.write("name");
  EXPECT_THAT(end(), HasSubstr("could not clean up"));
  EXPECT_TRUE(folder_.exists("name"));
  folder_.remove("name");
}

TEST_F(SecondLife, that_was_cleaned_up_is_over_E4) {
  EXPECT_EQ(ask_for(Verb::register_, 3, name_), std::errc{});
  folder_.write("name");
  say({.verb = Verb::release, .entries = {{.resource = name_}}});
  let_rounds_pass();
  EXPECT_FALSE(folder_.exists("name"));
  folder_.write("name");
  end();
  EXPECT_TRUE(folder_.exists("name"));
  folder_.remove("name");
}

}  // namespace
}  // namespace lastref::tracker
