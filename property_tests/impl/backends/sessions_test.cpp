// sessions_test: a process has one membership in one tree, however many of its parts use it.
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/backends/fixture.hpp"

namespace lastref {
namespace {

using pretend::Fixture;
using pretend::must;
using testing::SizeIs;

std::set<std::string> trees_in(const Fixture& fixture) {
  std::set<std::string> trees;
  for (const auto& entry : std::filesystem::directory_iterator(fixture.folder.path("runtime"))) {
    trees.insert(entry.path().string());
  }
  return trees;
}

TEST(Sessions, of_one_process_are_one_with_one_tracker_E3_T1) {
  Fixture fixture;
  std::vector<std::unique_ptr<Parallel>> parallels;
  for (int i = 0; i < 5; ++i) {
    parallels.push_back(std::make_unique<Parallel>(
        Session::lead(fixture.os), fixture.functions, ParallelOptions{.n_jobs = 2}));
    const auto results = parallels.back()->run({Task{"echo", {i}}});
    ASSERT_TRUE(results) << describe(results.error());
    EXPECT_THAT(trees_in(fixture), SizeIs(1));
  }
}

TEST(Sessions, that_begin_when_the_last_has_ended_are_new_E3) {
  Fixture fixture;
  const std::string first = must(fixture.session.tree());
  fixture.session = {};
  fixture.session = Session::lead(fixture.os);
  EXPECT_NE(must(fixture.session.tree()), first);
}

TEST(Sessions, of_a_worker_are_in_the_tree_of_its_parent_E3_T1) {
  Fixture fixture;
  Parallel parallel(fixture.session, fixture.functions, {.n_jobs = 2});
  const auto results = parallel.run({Task{"lead_a_tree", {}}, Task{"lead_a_tree", {}}});
  ASSERT_TRUE(results) << describe(results.error());
  for (const Value& each : *results) {
    EXPECT_EQ(must(each.as<std::string>()), must(fixture.session.tree()));
  }
}

TEST(Sessions, continue_when_everything_in_their_runtime_folder_is_removed_T6) {
  Fixture fixture;
  const auto run = [&](Parallel& parallel, bool removes) {
    int asked = 0;
    const auto results = parallel.run([&]() -> std::optional<Task> {
      if (++asked == 3 && removes) {
        fixture.folder.remove("runtime");
      }
      return asked <= 9 ? std::optional(Task{"echo", {asked}}) : std::nullopt;
    });
    EXPECT_TRUE(results) << describe(results.error());
  };
  Parallel parallel(fixture.session, fixture.functions, {.n_jobs = 2, .batch_size = 1});
  const auto joined =
      parallel.run({Task{"mark_and_wait", {fixture.mark("one"), fixture.mark("two")}},
                    Task{"mark_and_wait", {fixture.mark("two"), fixture.mark("one")}}});
  ASSERT_TRUE(joined) << describe(joined.error());
  for (const bool removes : {true, false, true}) {
    run(parallel, removes);
    Parallel later(fixture.session, fixture.functions, {.n_jobs = 2});
    run(later, /*removes=*/false);
    EXPECT_THAT(trees_in(fixture), SizeIs(1)) << "made again, under the same name";
  }
}

}  // namespace
}  // namespace lastref
