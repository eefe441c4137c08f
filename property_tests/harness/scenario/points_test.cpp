// points_test: the table of calls has what os.hpp declares, method by method.
//
// The header is read as text, so a method without a row cannot be hidden by a row without a method.
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include <lastref/call.hpp>

namespace lastref {
namespace {

std::string read_header() {
  std::ifstream in(LASTREF_OS_HEADER);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Class Os from its first brace to its end.
std::string class_os(const std::string& header) {
  const std::size_t from = header.find("\nclass Os {");
  const std::size_t end = header.find("\n};", from);
  return from == std::string::npos ? "" : header.substr(from, end - from);
}

/// Names of the methods that every Os has to implement.
std::set<std::string> methods_of(const std::string& body) {
  const std::regex method(R"(virtual\s[^;()]*?(\w+)\([^;]*\)\s*(?:noexcept\s*)?=\s*0\s*;)");
  std::set<std::string> names;
  for (auto found = std::sregex_iterator(body.begin(), body.end(), method);
       found != std::sregex_iterator();
       ++found) {
    names.insert((*found)[1]);
  }
  return names;
}

TEST(Points, every_method_of_os_is_a_row_and_every_row_a_method) {
  std::set<std::string> methods = methods_of(class_os(read_header()));
  ASSERT_GT(methods.size(), 30U);
  // They cannot fail, and have no effect outside the process.
  EXPECT_EQ(methods.erase("make_monitor"), 1U);
  EXPECT_EQ(methods.erase("at_exit"), 1U);
  EXPECT_EQ(methods.erase("objects"), 1U);
  EXPECT_EQ(methods.erase("process_token"), 1U);
  EXPECT_EQ(methods.erase("hide_from_children"), 1U);
  std::set<std::string> rows;
  for (const CallRow& row : call_rows()) {
    rows.emplace(row.method);
  }
  EXPECT_EQ(rows, methods);
}

TEST(Points, a_method_that_is_only_virtual_is_no_row) {
  EXPECT_EQ(methods_of("virtual Status one(Fd fd, int a) noexcept = 0;\n"
                       "virtual Result<std::size_t>\n    two(\n  Fd fd) noexcept = 0;\n"
                       "virtual void step(Step) noexcept {}\n"
                       "virtual ~Os() = default;\n"),
            (std::set<std::string>{"one", "two"}));
}

TEST(Points, a_row_whose_name_is_that_of_a_step_would_be_ambiguous) {
  for (const StepRow& step : step_rows()) {
    for (const CallRow& call : call_rows()) {
      EXPECT_NE(step.name, call.method);
    }
  }
}

}  // namespace
}  // namespace lastref
