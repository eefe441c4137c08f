// Draw: the same seed draws the same mutants, equally from all rooms, and each of them only once.
#include "harness/mutant/draw.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace lastref::harness {
namespace {

std::vector<Source> three_rooms() {
  const std::string body = "void f() {\n  a();\n  b();\n  if (c < 1) {\n    d();\n  }\n}\n";
  return {{"impl/cache/x.cpp", body + body},
          {"impl/os/y.hpp", body},
          {"impl/tracker/z.cpp", body + "int g() {\n  LASTREF_CHECK(h());\n}\n"}};
}

std::vector<std::string> names_drawn(std::uint64_t seed, std::size_t count) {
  Draw draw(three_rooms(), seed);
  std::vector<std::string> drawn_names;
  for (std::size_t i = 0; i < count; ++i) {
    const std::optional<Drawn> drawn = draw.next();
    if (!drawn) {
      break;
    }
    drawn_names.push_back(drawn->name);
  }
  return drawn_names;
}

RC_GTEST_PROP(DrawProperties, the_same_seed_draws_the_same, (std::uint64_t seed)) {
  RC_ASSERT(names_drawn(seed, 20) == names_drawn(seed, 20));
}

TEST(Draw, another_seed_draws_others) {
  EXPECT_NE(names_drawn(1, 12), names_drawn(2, 12));
}

RC_GTEST_PROP(DrawProperties, each_is_drawn_once_and_all_in_the_end, (std::uint64_t seed)) {
  std::size_t offered = 0;
  for (const Source& source : three_rooms()) {
    offered += edits_of(source.text).size();
  }
  const std::vector<std::string> all = names_drawn(seed, offered + 1);
  RC_ASSERT(all.size() == offered);
  RC_ASSERT(std::set<std::string>(all.begin(), all.end()).size() == offered);
}

RC_GTEST_PROP(DrawProperties, rooms_and_operators_have_their_turns, (std::uint64_t seed)) {
  Draw draw(three_rooms(), seed);
  std::map<std::string_view, int> of_room;
  std::set<Operator> used;
  for (int i = 0; i < 9; ++i) {
    const std::optional<Drawn> drawn = draw.next();
    RC_ASSERT(drawn.has_value());
    ++of_room[room_of_source(drawn->source->path)];
    used.insert(drawn->edit.by);
  }
  RC_ASSERT((of_room == std::map<std::string_view, int>{{"cache", 3}, {"os", 3}, {"tracker", 3}}));
  RC_ASSERT(used.size() >= 5U);
}

RC_GTEST_PROP(DrawProperties, a_refused_one_is_made_up_for_in_its_room, (std::uint64_t seed)) {
  Draw draw(three_rooms(), seed);
  std::map<std::string_view, int> kept;
  for (int i = 0; i < 6;) {
    const std::optional<Drawn> drawn = draw.next();
    RC_ASSERT(drawn.has_value());
    if (drawn->edit.by == Operator::drop_statement) {
      draw.refuse(*drawn);
    } else {
      ++kept[room_of_source(drawn->source->path)];
      ++i;
    }
  }
  RC_ASSERT((kept == std::map<std::string_view, int>{{"cache", 2}, {"os", 2}, {"tracker", 2}}));
}

TEST(Draw, gives_a_patch_that_is_read_as_any_other) {
  Draw draw(three_rooms(), 7);
  for (std::optional<Drawn> drawn = draw.next(); drawn; drawn = draw.next()) {
    const auto mutant = parse_mutant(drawn->name, patch_of(*drawn, 7));
    ASSERT_TRUE(mutant) << drawn->name << ": " << describe(mutant.error());
    EXPECT_EQ(mutant->files, std::vector<std::string>{drawn->source->path});
    EXPECT_EQ(mutant->origin, "drawn with seed 7");
    EXPECT_THAT(mutant->claim, testing::HasSubstr(drawn->source->path + ":"));
  }
}

TEST(Draw, claims_what_the_line_was) {
  const Source source = {"impl/os/x.cpp", "void f() {\n  LASTREF_CHECK(g());\n}\n"};
  const Drawn drawn = {
      .name = "n",
      .source = &source,
      .edit = {.by = Operator::ignore_result, .begin = 13, .end = 26, .text = "static_cast<void>"}};
  EXPECT_THAT(
      patch_of(drawn, 1),
      testing::HasSubstr("Claim: ignore_result at impl/os/x.cpp:2: LASTREF_CHECK(g());\n\n--- a/"));
}

TEST(Draw, knows_the_room_of_a_source) {
  EXPECT_EQ(room_of_source("impl/tracker/x.cpp"), "tracker");
  EXPECT_EQ(room_of_source("impl/include/lastref/os.hpp"), "");
  EXPECT_EQ(room_of_source("impl/osx/y.cpp"), "");
}

TEST(Draw, finds_all_rooms_in_the_checkout) {
  const auto read = read_sources(LASTREF_CHECKOUT);
  ASSERT_TRUE(read);
  std::set<std::string_view> seen;
  for (const Source& source : *read) {
    seen.insert(room_of_source(source.path));
  }
  EXPECT_THAT(
      seen,
      testing::ElementsAre("array", "backends", "cache", "os", "reducers", "resources", "tracker"));
}

}  // namespace
}  // namespace lastref::harness
