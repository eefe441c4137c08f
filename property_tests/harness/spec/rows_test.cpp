// Rows: each has a test, a scenario and a mutant, and none of these names a row that does not
// exist. What belongs to which row is read from the checkout as `lastref list --rows` reads it.
#include "harness/spec/rows.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "property_tests/support/transcript.hpp"

namespace lastref::harness {
namespace {

using pretend::expect_transcript;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

const std::string checkout = LASTREF_CHECKOUT;

TEST(Rows, have_a_test_a_scenario_and_a_mutant_each_and_nobody_shows_another) {
  const auto tests = read_tests(checkout + "/property_tests");
  const auto mutants = read_mutants(checkout + "/fault_scenarios/mutants");
  ASSERT_TRUE(tests) << describe(tests.error());
  ASSERT_TRUE(mutants) << describe(mutants.error());
  const RowProof proof =
      prove(all_rows(),
            {.tests = *tests, .scenarios = catalog(), .ambients = ambients(), .mutants = *mutants});
  EXPECT_THAT(complaints(proof), IsEmpty());
}

TEST(Catalog, has_each_scenario_of_each_file) {
  const std::filesystem::path folder = checkout + "/fault_scenarios";
  std::map<std::string, std::ptrdiff_t> defined;
  std::map<std::string, std::ptrdiff_t> registered;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string family = file.path().parent_path().filename();
    const bool is_in_family = file.path().parent_path().parent_path() == folder;
    if (file.path().extension() == ".cpp" && is_in_family && family != "support") {
      std::ifstream source(file.path());
      const std::string text(std::istreambuf_iterator<char>(source), {});
      static const std::regex definition("\nconst RegisteredScenario [a-z_]+\\(");
      const auto number = std::distance(std::sregex_iterator(text.begin(), text.end(), definition),
                                        std::sregex_iterator());
      EXPECT_GT(number, 0) << file.path();
      defined[family] += number;
    }
  }
  for (const Scenario& scenario : catalog()) {
    ++registered[scenario.name.substr(0, scenario.name.find('/'))];
  }
  EXPECT_EQ(registered, defined);
}

TEST(Catalog, has_the_scenarios_that_an_ambient_leaves_out) {
  for (const Ambient& ambient : ambients()) {
    EXPECT_TRUE(ambient.without.empty() ||
                !std::ranges::all_of(
                    catalog(),
                    [&](const std::string& name) { return ambient.can_play(name); },
                    &Scenario::name))
        << ambient.name << " leaves out " << ambient.without;
  }
}

TEST(Catalog, is_ordered_and_says_each_name_once) {
  EXPECT_EQ(std::ranges::adjacent_find(catalog(), std::greater_equal<>(), &Scenario::name),
            catalog().end());
}

TEST(Rows, have_an_id_and_a_name_of_their_own) {
  std::set<std::string_view> ids;
  std::set<std::string_view> names;
  for (const Row& row : all_rows()) {
    EXPECT_TRUE(ids.insert(row.id).second) << row.id;
    EXPECT_TRUE(names.insert(row.name).second) << row.name;
    EXPECT_FALSE(row.name.empty()) << row.id;
  }
  EXPECT_TRUE(std::ranges::is_sorted(all_rows(), [](const Row& one, const Row& other) {
    return one.id.front() == other.id.front() && row_is_before(one.id, other.id);
  }));
}

struct Named {
  const char* name;
  std::vector<std::string> rows;
};

TEST(RowTags, are_words_of_a_test_that_read_like_rows) {
  const Named named[] = {
      {"Suite.a_sentence_T9", {"T9"}},
      {"Suite.a_sentence_T3_T12", {"T3", "T12"}},
      {"Suite.T9_is_no_tag_before_the_first_word", {}},
      {"Suite.it_T9_goes_on", {"T9"}},
      {"Suite_E10.a_sentence", {"E10"}},
      {"Suite_E10.T9_a_sentence_T3", {"E10", "T3"}},
      {"Suite.none_T", {}},
      {"Suite.none_t9_9T_Tx_T9x_TT9", {}},
      {"Suite", {}},
      {"", {}},
  };
  for (const Named& each : named) {
    EXPECT_EQ(rows_of_test(each.name), each.rows) << each.name;
  }
}

RC_GTEST_PROP(RowTags, are_what_ctest_is_given_to_run_a_row, ()) {
  const auto words = *rc::gen::container<std::vector<std::string>>(
      rc::gen::element<std::string>("it", "T1", "T12", "T2", "R1", "xT1", "T1x", "", "T"));
  std::string name = *rc::gen::element<std::string>("Suite.it", "Suite_T1.it", "Suite_T1.T2_it");
  for (const std::string& word : words) {
    name += "_" + word;
  }
  const std::vector<std::string> rows = rows_of_test(name);
  for (const char* row : {"T1", "T12", "T2", "R1"}) {
    const bool is_run = std::regex_search(name, std::regex(pattern_of_tests(row)));
    RC_ASSERT(is_run == (std::ranges::find(rows, row) != rows.end()));
  }
}

TEST(RowTags, are_read_from_definitions_of_every_kind) {
  const std::string source =
      "TEST(A, one_T1) {}\n"
      "TEST_F(B, two_T2) {\n"
      "TEST_P(C, three_T3) {}\n"
      "TYPED_TEST(D, four_T4) {}\n"
      "RC_GTEST_PROP(E,\n              five_T5,\n              ()) {\n"
      "RC_GTEST_FIXTURE_PROP(F, six_T6, (int number)) {\n"
      "  TEST(G, seven_T7) {}\n"
      "// TEST(H, eight_T8) {}\n"
      "INSTANTIATE_TEST_SUITE_P(I, nine_T9, values);\n"
      "TEST(J, ten_T10) {}";
  EXPECT_THAT(
      tests_of_source(source),
      ElementsAre(
          "A.one_T1", "B.two_T2", "C.three_T3", "D.four_T4", "E.five_T5", "F.six_T6", "J.ten_T10"));
  EXPECT_THAT(tests_of_source(""), IsEmpty());
  EXPECT_THAT(tests_of_source("TEST("), ElementsAre("."));
}

TEST(RowTags, of_a_folder_without_tests_are_an_error) {
  EXPECT_FALSE(read_tests(checkout + "/property_tests/repo/tidy"));
  EXPECT_FALSE(read_tests(checkout + "/no_such_folder"));
}

/// A table of two rows, one of which is not built, with the tests, scenarios and mutants that show
/// them.
class TwoRows : public testing::Test {
 protected:
  RowProof proof() const {
    return prove(
        table, {.tests = tests, .scenarios = scenarios, .ambients = ambients, .mutants = mutants});
  }
  std::vector<std::string> complaints() const { return harness::complaints(proof()); }

  static Scenario scenario(std::vector<std::string> rows) {
    return {.name = "family/story", .sentence = {}, .rows = std::move(rows), .roles = {}};
  }
  static Mutant mutant(std::string row) {
    return {.name = "bug", .row = std::move(row), .origin = {}, .claim = {}, .files = {}};
  }

  std::vector<Row> table = {{"X1", "is built"}, {"X2", "is to come", false}};
  std::vector<std::string> tests = {"A.test_X1"};
  std::vector<Scenario> scenarios = {scenario({"X1"})};
  std::vector<Ambient> ambients;
  std::vector<Mutant> mutants = {mutant("X1")};
};

TEST_F(TwoRows, with_all_parts_where_there_should_be_some_are_fine) {
  EXPECT_THAT(complaints(), IsEmpty());
  ASSERT_EQ(proof().rows.size(), 2U);
  EXPECT_THAT(proof().rows[0].tests, ElementsAre("A.test_X1"));
  EXPECT_THAT(proof().rows[0].scenarios, ElementsAre("family/story"));
  EXPECT_THAT(proof().rows[0].mutants, ElementsAre("bug"));
}

TEST_F(TwoRows, lack_each_part_by_its_name) {
  tests.clear();
  EXPECT_THAT(complaints(), SizeIs(1));
  expect_transcript(complaints());
  scenarios.clear();
  mutants.clear();
  EXPECT_THAT(complaints(), SizeIs(3));
  expect_transcript(complaints());
}

TEST_F(TwoRows, may_be_half_built_and_not_all_built_without_saying_so) {
  tests.emplace_back("A.test_X2");
  scenarios.push_back(scenario({"X1", "X2"}));
  EXPECT_THAT(complaints(), IsEmpty());
  mutants.push_back(mutant("X2"));
  EXPECT_THAT(complaints(), ElementsAre(HasSubstr("X2")));
  expect_transcript(complaints());
}

TEST_F(TwoRows, are_shown_by_an_ambient) {
  constexpr std::string_view shown[] = {"X1"};
  scenarios.clear();
  ambients = {{.name = "noise", .sentence = {}, .rows = shown}};
  EXPECT_THAT(complaints(), IsEmpty());
  EXPECT_THAT(proof().rows[0].scenarios, ElementsAre("ambient noise"));
  ambients.clear();
  EXPECT_THAT(complaints(), ElementsAre(HasSubstr("X1")));
  expect_transcript(complaints());
}

TEST_F(TwoRows, are_not_three) {
  tests.emplace_back("A.test_X1_X3");
  scenarios.push_back(scenario({"X4"}));
  mutants.push_back(mutant("X5"));
  constexpr std::string_view shown[] = {"X6"};
  ambients = {{.name = "noise", .sentence = {}, .rows = shown}};
  EXPECT_THAT(complaints(),
              ElementsAre(HasSubstr("X3"), HasSubstr("X4"), HasSubstr("X6"), HasSubstr("X5")));
  expect_transcript(complaints());
}

TEST_F(TwoRows, are_listed_with_what_was_seen_and_with_what_was_not) {
  const RowListing seen = {.proof = proof(), .checkout = "here"};
  expect_transcript(to_text(seen));
  expect_transcript(names_to_text(seen));
  EXPECT_THAT(to_json(seen), HasSubstr("\"complaints\": []"));
  const RowListing unseen = {.proof = proof(), .checkout = {}};
  expect_transcript(to_text(unseen));
  expect_transcript(names_to_text(unseen));
  EXPECT_THAT(to_json(unseen), HasSubstr("\"tests\": null"));
  EXPECT_THAT(to_json(unseen), Not(HasSubstr("A.test_X1")));
}

}  // namespace
}  // namespace lastref::harness
