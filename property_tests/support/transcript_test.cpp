// transcript_test: a text that differs from its section fails, and so does one without a section.
#include "property_tests/support/transcript.hpp"

#include <cstdlib>

#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace lastref::pretend {
namespace {

TEST(Transcript, fails_for_a_text_that_differs_from_its_section_and_for_one_without) {
  ::unsetenv("LASTREF_TRANSCRIPTS");  // The section is wrong, and must remain so.
  EXPECT_NONFATAL_FAILURE(expect_transcript("one\nthree"), " one\n-two\n+three\n");
  EXPECT_NONFATAL_FAILURE(expect_transcript("one"), "there is no such section");
}

TEST(Transcript, has_a_section_for_each_text_of_a_test) {
  expect_transcript("one\n\n");
  expect_transcript("");
  expect_transcript(std::vector<std::string>{"two", "three"});
}

}  // namespace
}  // namespace lastref::pretend
