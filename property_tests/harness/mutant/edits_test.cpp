// Edits: which small changes are offered, and that each is a patch that can be applied.
#include "harness/mutant/edits.hpp"

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "harness/mutant/draw.hpp"

namespace lastref::harness {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

/// The results of all changes of one kind to a body.
std::vector<std::string> changed(Operator by, const std::string& body) {
  const std::string before = "void f() { ";
  const std::string source = before + body + " }\n";
  std::vector<std::string> bodies;
  for (const Edit& edit : edits_of(source)) {
    if (edit.by == by) {
      const std::string whole = changed_by(edit, source);
      bodies.push_back(whole.substr(before.size(), whole.size() - before.size() - 3));
    }
  }
  return bodies;
}

TEST(Edits, drop_a_statement) {
  EXPECT_THAT(changed(Operator::drop_statement, "a(); b();"), ElementsAre(" b();", "a(); "));
  EXPECT_THAT(changed(Operator::drop_statement, "int a = 1; return a;"), IsEmpty());
}

TEST(Edits, drop_a_statement_with_its_line) {
  const std::string source = "void f() {\n  a();\n  b();\n}\n";
  EXPECT_EQ(changed_by(edits_of(source).front(), source), "void f() {\n  b();\n}\n");
}

TEST(Edits, swap_neighbours_of_one_block) {
  EXPECT_THAT(changed(Operator::swap_statements, "a(); b(); int c; d();"),
              ElementsAre("b(); a(); int c; d();"));
  EXPECT_THAT(changed(Operator::swap_statements, "a(); { b(); } c();"), IsEmpty());
  EXPECT_THAT(changed(Operator::swap_statements, "a(); a();"), IsEmpty());
}

TEST(Edits, negate_a_condition) {
  EXPECT_THAT(changed(Operator::negate_condition, "if (a && b) { c(); }"),
              ElementsAre("if (!(a && b)) { c(); }"));
  EXPECT_THAT(changed(Operator::negate_condition, "if (auto a = b([] { c(); }); a.d()) { }"),
              ElementsAre("if (auto a = b([] { c(); }); !(a.d())) { }"));
  EXPECT_THAT(changed(Operator::negate_condition, "if (const auto a = b()) { }"), IsEmpty());
  EXPECT_THAT(changed(Operator::negate_condition, "if constexpr (a) { }"), IsEmpty());
}

TEST(Edits, miss_by_one) {
  EXPECT_THAT(changed(Operator::off_by_one, "g(a < b);"), ElementsAre("g(a <= b);"));
  EXPECT_THAT(changed(Operator::off_by_one, "g(a >= b);"), ElementsAre("g(a > b);"));
  EXPECT_THAT(changed(Operator::off_by_one, "g(a + 9U);"), ElementsAre("g(a + 10U);"));
  EXPECT_THAT(changed(Operator::off_by_one, "g<int>(0x10, 1.5, 007, \"1\");"), IsEmpty());
}

TEST(Edits, miss_a_constant_by_one) {
  const std::string source = "namespace a {\nconstexpr int most = 64;\nint other = 64;\n}\n";
  ASSERT_EQ(edits_of(source).size(), 1U);
  EXPECT_THAT(changed_by(edits_of(source).front(), source), testing::HasSubstr("most = 65;"));
}

TEST(Edits, ignore_a_result) {
  EXPECT_THAT(changed(Operator::ignore_result, "LASTREF_CHECK(a());"),
              ElementsAre("static_cast<void>(a());"));
}

TEST(Edits, drop_a_retry) {
  EXPECT_THAT(changed(Operator::drop_retry, "return os::retry_interrupted([&] { return a(b); });"),
              ElementsAre("return ([&] { return a(b); })();"));
}

TEST(Edits, weaken_an_order_of_memory) {
  EXPECT_THAT(changed(Operator::weaken_order, "a.store(1, std::memory_order_release);"),
              ElementsAre("a.store(1, std::memory_order_relaxed);"));
  EXPECT_THAT(changed(Operator::weaken_order, "b(a.load());"),
              ElementsAre("b(a.load(std::memory_order_relaxed));"));
  EXPECT_THAT(changed(Operator::weaken_order, "b(a.load(std::memory_order_relaxed));"), IsEmpty());
}

TEST(Edits, return_early) {
  EXPECT_THAT(changed(Operator::return_early, "a(); b();"),
              ElementsAre("return; b();", "a(); return;"));
  const std::string source = "Status f() { a(); return ok(); }\n";
  std::vector<std::string> results;
  for (const Edit& edit : edits_of(source)) {
    results.push_back(changed_by(edit, source));
  }
  EXPECT_THAT(results, Contains("Status f() { return {}; return ok(); }\n"));
}

std::vector<std::string> lines_with_ends(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    lines.push_back(line + "\n");
  }
  return lines;
}

/// The result of applying the patch strictly to a text; empty if it does not fit.
std::string patched(const std::string& patch, const std::string& text) {
  const std::vector<std::string> old = lines_with_ends(text);
  const std::vector<std::string> lines = lines_with_ends(patch);
  std::size_t at = std::stoul(lines.at(2).substr(4)) - 1;
  std::string made;
  for (std::size_t i = 0; i < at; ++i) {
    made += old.at(i);
  }
  for (std::size_t i = 3; i < lines.size(); ++i) {
    const std::string line = lines[i].substr(1);
    if (lines[i].front() == '+') {
      made += line;
      continue;
    }
    if (old.at(at++) != line) {
      return {};
    }
    made += lines[i].front() == ' ' ? line : "";
  }
  for (; at < old.size(); ++at) {
    made += old[at];
  }
  return made;
}

std::vector<Source> product_sources() {
  auto read = read_sources(LASTREF_CHECKOUT);
  EXPECT_TRUE(read);
  return read ? *std::move(read) : std::vector<Source>();
}

TEST(Edits, of_the_product_change_it_and_are_patches) {
  std::set<Operator> used;
  for (const Source& source : product_sources()) {
    for (const Edit& edit : edits_of(source.text)) {
      const std::string after = changed_by(edit, source.text);
      ASSERT_NE(after, source.text) << source.path << ": " << name_of(edit.by) << edit.begin;
      ASSERT_EQ(patched(unified_diff(source.path, source.text, after), source.text), after)
          << source.path << ": " << name_of(edit.by) << edit.begin;
      used.insert(edit.by);
    }
  }
  EXPECT_EQ(used.size(), operators_count);
}

std::string any_lines() {
  return *rc::gen::map(rc::gen::container<std::vector<std::string>>(
                           rc::gen::element<std::string>("a\n", "b\n", "\n")),
                       [](const std::vector<std::string>& lines) {
                         std::string text = "begin\n";
                         for (const std::string& line : lines) {
                           text += line;
                         }
                         return text;
                       });
}

RC_GTEST_PROP(DiffProperties, a_diff_makes_one_text_of_the_other, ()) {
  const std::string before = any_lines();
  const std::string after = any_lines();
  RC_PRE(before != after);
  RC_ASSERT(patched(unified_diff("impl/x.cpp", before, after), before) == after);
}

}  // namespace
}  // namespace lastref::harness
