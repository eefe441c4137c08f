// parameter_test: texts of values are read back or refused with the reason, and draws are a
// function of their arguments.
#include "harness/scenario/parameter.hpp"

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include "harness/platform/named_enum.hpp"

namespace lastref::harness {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

LASTREF_NAMED_ENUM(Kind, (process, "process"), (thread, "thread"));

constexpr Parameter<int> jobs = {
    .name = "jobs", .usual = -1, .values = {-1, 1, 3}, .unit = "workers"};
constexpr Parameter<bool> durable = {.name = "durable", .usual = false};
constexpr Parameter<Kind> kind = {.name = "kind", .usual = Kind::process};

/// Letters a to c, such as "abba".
constexpr TextForm letters = {
    .sentence = "letters",
    .check = [](std::string_view text) -> tl::expected<void, FormError> {
      const std::size_t at = text.find_first_not_of("abc");
      if (at != std::string_view::npos) {
        return tl::unexpected(
            FormError{.part = std::string(text.substr(at, 1)), .allowed = "a, b, c"});
      }
      return {};
    },
    .draw = [](std::uint64_t seed) { return std::string(1 + seed % 5, 'c'); },
    .smaller =
        [](std::string_view text) {
          return text.empty() ? std::vector<std::string>()
                              : std::vector{std::string(text.substr(1))};
        },
};
constexpr TextParameter word = {.name = "word", .usual = "abc", .form = letters};

const std::vector<DeclaredParameter> declared = {jobs, durable, kind, word};

tl::expected<ParameterValues, ParameterError> parsed(const std::vector<std::string>& texts) {
  return parse_parameters(declared, texts);
}

TEST(Parameter, has_the_texts_and_numbers_of_its_values) {
  EXPECT_EQ(declared[0].usual, "-1");
  EXPECT_EQ(declared[0].value_named("3")->number, 3);
  EXPECT_EQ(declared[1].value_named("yes")->number, 1);
  EXPECT_EQ(declared[2].value_named("thread")->number, 1);
  EXPECT_EQ(declared[2].value_named("2"), nullptr);
}

TEST(Parameter, may_be_any_text_of_its_form) {
  EXPECT_TRUE(declared[3].may_be("cabba"));
  EXPECT_TRUE(declared[3].may_be(""));
  EXPECT_FALSE(declared[3].may_be("cabbage"));
  EXPECT_TRUE(declared[0].may_be("3"));
  EXPECT_FALSE(declared[0].may_be("4"));
  const ParameterValues values = {{.name = "word", .value = "cabba"}};
  EXPECT_EQ(parsed({"word=cabba"}), values);
  EXPECT_TRUE(has_text(declared, values));
  EXPECT_FALSE(has_text(declared, {{.name = "jobs", .value = "3"}}));
  EXPECT_THAT(unusual(declared, {{.name = "word", .value = "abc"}}), IsEmpty());
  EXPECT_EQ(parsed({"word=cabbage"}).error(),
            (ParameterError{ParameterMistake::wrong_form, "word: g", "a, b, c"}));
  EXPECT_EQ(describe(parsed({"word=cabbage"}).error()), "word: g; there may be: a, b, c");
}

TEST(Parameter, is_read_and_sorted_by_name) {
  const ParameterValues values = {{.name = "durable", .value = "no"},
                                  {.name = "jobs", .value = "3"}};
  EXPECT_EQ(parsed({"jobs=3", "durable=no"}), values);
  EXPECT_EQ(to_text(values), "durable=no jobs=3");
  EXPECT_THAT(unusual(declared, values), ElementsAre(values[1]));
}

TEST(Parameter, is_refused_with_the_reason_and_what_there_is) {
  EXPECT_EQ(parsed({"jobs"}).error(),
            (ParameterError{ParameterMistake::no_assignment, "jobs", {}}));
  EXPECT_EQ(
      parsed({"slots=1"}).error(),
      (ParameterError{ParameterMistake::unknown_name, "slots=1", "jobs, durable, kind, word"}));
  EXPECT_EQ(parsed({"jobs=2"}).error(),
            (ParameterError{ParameterMistake::unknown_value, "jobs=2", "-1, 1, 3"}));
  EXPECT_EQ(parsed({"jobs=1", "jobs=3"}).error(),
            (ParameterError{ParameterMistake::repeated, "jobs=3", {}}));
  EXPECT_EQ(parse_parameters({}, std::vector<std::string>{"jobs=1"}).error(),
            (ParameterError{ParameterMistake::unknown_name, "jobs=1", "none"}));
}

TEST(Parameter, of_all_scenarios_is_asked_for) {
  EXPECT_TRUE(has_all(declared, {}));
  EXPECT_TRUE(has_all(declared, {{.name = "jobs", .value = "3"}}));
  EXPECT_FALSE(has_all(declared, {{.name = "jobs", .value = "2"}}));
  EXPECT_FALSE(has_all({}, {{.name = "jobs", .value = "3"}}));
}

RC_GTEST_PROP(Draw, is_a_function_of_the_seed, (std::uint64_t seed)) {
  const ParameterValues drawn = draw_parameters(declared, {}, seed);
  RC_ASSERT(drawn == draw_parameters(declared, {}, seed));
}

RC_GTEST_PROP(Draw, has_unusual_values_that_are_read_back, (std::uint64_t seed)) {
  const ParameterValues drawn = draw_parameters(declared, {}, seed);
  std::vector<std::string> texts;
  for (const ParameterValue& each : drawn) {
    texts.push_back(to_text(each));
  }
  RC_ASSERT(parsed(texts) == drawn);
  RC_ASSERT(unusual(declared, drawn) == drawn);
}

RC_GTEST_PROP(Draw, keeps_what_is_fixed, (std::uint64_t seed)) {
  const ParameterValue one = {.name = "jobs", .value = "1"};
  const ParameterValue usual = {.name = "durable", .value = "no"};
  const ParameterValues drawn = draw_parameters(declared, {usual, one}, seed);
  RC_ASSERT(std::ranges::count(drawn, one) == 1);
  RC_ASSERT(std::ranges::count(drawn, "durable", &ParameterValue::name) == 0);
}

RC_GTEST_PROP(Draw, of_one_parameter_does_not_depend_on_the_others, (std::uint64_t seed)) {
  const ParameterValues alone = draw_parameters(std::span(declared).first(1), {}, seed);
  ParameterValues all = draw_parameters(declared, {}, seed);
  std::erase_if(all, [](const ParameterValue& each) { return each.name != "jobs"; });
  RC_ASSERT(alone == all);
}

TEST(Draw, has_all_values_and_the_usual_ones_among_few_seeds) {
  std::set<std::string> seen;
  constexpr std::uint64_t seeds = 100;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    const ParameterValues drawn = draw_parameters(declared, {}, seed);
    seen.insert(drawn.empty() ? "usual" : "");
    for (const ParameterValue& each : drawn) {
      seen.insert(to_text(each));
    }
  }
  EXPECT_THAT(seen,
              testing::IsSupersetOf({"usual", "jobs=1", "jobs=3", "durable=yes", "kind=thread"}));
  EXPECT_THAT(draw_parameters({}, {}, 1), IsEmpty());
}

}  // namespace
}  // namespace lastref::harness
