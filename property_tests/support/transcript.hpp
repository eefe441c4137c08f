// transcript: texts that people read, such as help, reports and errors, compared with a file that
// one command writes and a diff reviews.
//
// The texts that tests of x_test.cpp expect are next to it, in x_test.transcript. A section has a
// heading and a text: "== Suite.test", and "== Suite.test 2" for the second text of one test.
// Where the environment has LASTREF_TRANSCRIPTS=write, tests write their sections instead, and
// sections without a test are removed. Otherwise a test that leaves a section of its own unread
// fails. A fact that is in a text, such as a number or a name, needs an assertion of its own:
// nothing else keeps a careless reviewer from accepting a wrong one.
//
// A program that uses this links lastref_transcripts: that adds a test which finds sections
// without a test, and the label by which ctest selects the program.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lastref::pretend {

/// Expects that the text is the next section of the running test. One newline at its end does not
/// count.
void expect_transcript(std::string_view text,
                       const char* file = __builtin_FILE(),
                       int line = __builtin_LINE());

/// The same for a text of one line each.
void expect_transcript(const std::vector<std::string>& lines,
                       const char* file = __builtin_FILE(),
                       int line = __builtin_LINE());

/// The text with each occurrence of a first replaced by its second, in order: for what differs
/// between runs, such as a path.
std::string with_replacements(std::string text,
                              const std::vector<std::pair<std::string, std::string>>& replacements);

}  // namespace lastref::pretend
