// sessions_test: a process has one place in one tree, however many of its parts ask for it.
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/backends/ground.hpp"

namespace lastref {
namespace {

using pretend::Ground;
using pretend::must;
using testing::SizeIs;

std::set<std::string> trees_in(const Ground& ground) {
  std::set<std::string> trees;
  for (const auto& entry : std::filesystem::directory_iterator(ground.folder.path("runtime"))) {
    trees.insert(entry.path().string());
  }
  return trees;
}

TEST(Sessions, of_one_process_are_one_with_one_tracker_E3_T1) {
  Ground ground;
  std::vector<std::unique_ptr<Parallel>> parallels;
  for (int i = 0; i < 5; ++i) {
    parallels.push_back(std::make_unique<Parallel>(
        Session::lead(ground.os), ground.functions, ParallelOptions{.n_jobs = 2}));
    const auto results = parallels.back()->run({Task{"echo", {i}}});
    ASSERT_TRUE(results) << describe(results.error());
    EXPECT_THAT(trees_in(ground), SizeIs(1));
  }
}

TEST(Sessions, that_begin_when_the_last_has_ended_are_new_E3) {
  Ground ground;
  const std::string first = must(ground.session.tree());
  ground.session = {};
  ground.session = Session::lead(ground.os);
  EXPECT_NE(must(ground.session.tree()), first);
}

TEST(Sessions, of_a_worker_are_in_the_tree_of_its_parent_E3_T1) {
  Ground ground;
  Parallel parallel(ground.session, ground.functions, {.n_jobs = 2});
  const auto results = parallel.run({Task{"lead_a_tree", {}}, Task{"lead_a_tree", {}}});
  ASSERT_TRUE(results) << describe(results.error());
  for (const Value& each : *results) {
    EXPECT_EQ(must(each.as<std::string>()), must(ground.session.tree()));
  }
}

}  // namespace
}  // namespace lastref
