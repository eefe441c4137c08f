// Code: the tokens of a source, and which of its statements do something.
#include "harness/mutant/code.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lastref::harness {
namespace {

std::vector<std::string> texts_of(std::string_view source) {
  std::vector<std::string> texts;
  for (const Token& token : tokens_of(source)) {
    texts.emplace_back(token.text);
  }
  return texts;
}

using Texts = std::vector<std::string>;

TEST(Tokens, leave_out_comments_and_the_preprocessor) {
  EXPECT_EQ(texts_of("a // b\n/* c\n d */ e\n#define f \\\n  g\nh"), (Texts{"a", "e", "h"}));
}

TEST(Tokens, are_in_preprocessor_lines_if_these_are_asked_for) {
  const auto tokens = tokens_of("#define f g // h\n", Directives::are_tokens);
  EXPECT_EQ(tokens.size(), 4U);
  EXPECT_EQ(tokens.back().text, "g");
}

TEST(Tokens, keep_a_text_whole) {
  EXPECT_EQ(texts_of(R"(f("a \" // b", '"');)"),
            (Texts{"f", "(", R"("a \" // b")", ",", "'\"'", ")", ";"}));
  EXPECT_EQ(texts_of("x = R\"y(a\" // )\")y\";"), (Texts{"x", "=", "R\"y(a\" // )\")y\"", ";"}));
}

TEST(Tokens, keep_a_number_and_a_long_mark_whole) {
  EXPECT_EQ(texts_of("a<=1'000U&&b->c"), (Texts{"a", "<=", "1'000U", "&&", "b", "->", "c"}));
}

/// Statements that do something, as they are written.
Texts actions_of(std::string_view source) {
  const Code code = code_of(source);
  Texts texts;
  for (const Statement& each : code.statements) {
    if (is_action(code, each)) {
      const std::size_t begin = code.tokens[each.first].begin;
      texts.emplace_back(source.substr(begin, code.tokens[each.last].end() - begin));
    }
  }
  return texts;
}

TEST(Actions, are_what_stands_in_a_body_and_does_something) {
  EXPECT_EQ(actions_of("int x = 1;\nvoid f() { a(); int b = 2; ++b; return; }"),
            (Texts{"a();", "++b;"}));
  EXPECT_EQ(actions_of("class A final : B {\n  int c = f();\n  void g() const { c = 2; }\n};"),
            (Texts{"c = 2;"}));
  EXPECT_EQ(actions_of("namespace a {\nauto f() -> std::vector<int> { b(); }\n}  // namespace a"),
            (Texts{"b();"}));
  EXPECT_EQ(actions_of("A::A() : b_(1), c_{2} { d(); }"), (Texts{"d();"}));
}

TEST(Actions, stand_in_blocks_and_lambdas_too) {
  EXPECT_EQ(actions_of("void f() { if (a) { b(); } else { c(); } for (;;) { d(); } e(); }"),
            (Texts{"b();", "c();", "d();", "e();"}));
  EXPECT_EQ(actions_of("void f() { g([&] { a(); }); b(); }"),
            (Texts{"a();", "g([&] { a(); });", "b();"}));
  EXPECT_EQ(actions_of("void f() { switch (a) { case 1: b(); break; default: c(); } }"),
            (Texts{"b();", "c();"}));
}

TEST(Actions, are_no_declarations_and_nothing_that_only_tells) {
  EXPECT_EQ(
      actions_of(
          "void f() { std::map<int, A>::iterator& a = b; LASTREF_TRY(c, d()); "
          "const A e{1}; LASTREF_ASSERT(g); report_quietly(h); os_.hit(j); LASTREF_CHECK(i()); }"),
      (Texts{"LASTREF_CHECK(i());"}));
}

TEST(Statements, know_what_their_function_returns) {
  const auto returns = [](std::string_view source) {
    return code_of(source).statements.front().returns;
  };
  EXPECT_EQ(returns("void f() { if (a) { b(); } }"), Returns::nothing);
  EXPECT_EQ(returns("Status f(void* a) { b(); }"), Returns::something);
  EXPECT_EQ(returns("void f() { g([&] { a(); }); }"), Returns::unknown);
}

/// The usual parts of sources, and parts that break them.
std::string jumble() {
  const auto words = *rc::gen::container<Texts>(rc::gen::element<std::string>("{",
                                                                              "}",
                                                                              "(",
                                                                              ")",
                                                                              ";",
                                                                              "if",
                                                                              " ",
                                                                              "\n",
                                                                              "\"",
                                                                              "'",
                                                                              "R\"",
                                                                              "//",
                                                                              "/*",
                                                                              "*/",
                                                                              "#",
                                                                              "\\",
                                                                              "a",
                                                                              "::",
                                                                              "<",
                                                                              ">",
                                                                              "->",
                                                                              "case",
                                                                              ":",
                                                                              "1",
                                                                              "LASTREF_CHECK",
                                                                              "final",
                                                                              "]",
                                                                              "[",
                                                                              "else",
                                                                              "void"));
  std::string text;
  for (const std::string& word : words) {
    text += word;
  }
  return text;
}

RC_GTEST_PROP(CodeProperties, any_text_is_cut_into_tokens_in_their_order, ()) {
  const std::string source = jumble();
  std::size_t at = 0;
  for (const Token& token : tokens_of(source)) {
    RC_ASSERT(token.begin >= at);
    RC_ASSERT(!token.text.empty());
    RC_ASSERT(token.end() <= source.size());
    at = token.end();
  }
}

RC_GTEST_PROP(CodeProperties, a_statement_of_any_text_ends_with_its_semicolon, ()) {
  const std::string source = jumble();
  const Code code = code_of(source);
  RC_ASSERT(code.is_run.size() == code.tokens.size());
  for (const Statement& each : code.statements) {
    RC_ASSERT(each.first < each.last);
    RC_ASSERT(code.tokens.at(each.last).text == ";");
    static_cast<void>(is_action(code, each));
  }
}

}  // namespace
}  // namespace lastref::harness
