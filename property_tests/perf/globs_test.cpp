// globs: which names a glob matches.
#include "bench/perf/globs.hpp"

#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace lastref::perf {
namespace {

/// Few letters, so that names are often equal, and the letters that are special in globs.
rc::Gen<std::string> a_name() {
  return rc::gen::container<std::string>(rc::gen::elementOf(std::string(R"(ab/*?[]\!-)")));
}

RC_GTEST_PROP(Globs, of_a_name_match_that_name_alone, ()) {
  const std::string name = *a_name();
  const std::string other = *a_name();
  RC_ASSERT(match({glob_for(name)}, name));
  RC_ASSERT(match({glob_for(name)}, other) == (name == other));
}

TEST(Globs, are_of_whole_names_and_any_of_them_may_match) {
  EXPECT_TRUE(match({"put/*"}, "put/bytes:4096/real_time"));
  EXPECT_FALSE(match({"put"}, "put/4096"));
  EXPECT_TRUE(match({"put", "*_and_*/51?"}, "hold_and_release/512"));
  EXPECT_FALSE(match({"put", "*_and_*/51?"}, "hold_and_release/64"));
  EXPECT_TRUE(match({}, "put/4096"));
}

TEST(Globs, that_match_nothing_say_how_a_part_of_a_name_is_meant) {
  EXPECT_EQ(no_benchmark_matches({"put", "get"}),
            "no benchmark matches put or get; a pattern is of whole names: 'put/*' or '*put*' may "
            "do");
  EXPECT_EQ(no_benchmark_matches({}), "there is no benchmark");
}

}  // namespace
}  // namespace lastref::perf
