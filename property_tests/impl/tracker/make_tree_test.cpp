// make_tree_test: a tree is made, or not, whatever call fails, whichever process is killed, and
// whichever process sweeps or leaves meanwhile.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "impl/tracker/ledger.hpp"
#include "impl/tracker/tree.hpp"
#include "property_tests/impl/tracker/tree_fixture.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::tracker {
namespace {

using pretend::at_crossing;
using pretend::Crossing;
using pretend::Decision;
using pretend::Fate;
using pretend::PretendProcess;
using pretend::TreeFixture;
using testing::IsEmpty;

namespace fs = std::filesystem;

TEST(RuntimeFolder, of_another_program_stays_after_a_sweep_and_the_last_tree_E4) {
  TreeFixture fixture;
  fs::create_directory(fixture.runtime());
  fs::permissions(fixture.runtime(), fs::perms(02700));
  PretendProcess root(fixture.locks);
  ASSERT_TRUE(sweep(root, fixture.runtime()));
  EXPECT_TRUE(fs::exists(fixture.runtime()));
  const auto tree = make_tree(root, fixture.runtime());
  ASSERT_TRUE(tree);
  ASSERT_TRUE(remove_tree(root, tree->paths));
  EXPECT_TRUE(fs::is_empty(fixture.runtime()));
  fs::remove(fixture.runtime());
}

/// The calls of make_tree without interference.
std::vector<Crossing> crossings_of_making() {
  TreeFixture fixture;
  PretendProcess process(fixture.locks);
  const auto tree = make_tree(process, fixture.runtime());
  LASTREF_ASSERT(tree.has_value());
  std::vector<Crossing> crossings = process.crossings;
  LASTREF_ASSERT(remove_tree(process, tree->paths).has_value());
  return crossings;
}

TEST(MakeTree, that_fails_at_any_call_with_any_errno_leaves_nothing_M7) {
  const std::vector<Crossing> clean = crossings_of_making();
  for (std::size_t at = 0; at < clean.size(); ++at) {
    for (const int code : row_of(clean[at].call).errnos) {
      SCOPED_TRACE(testing::PrintToString(clean[at]) + ": " + std::to_string(code));
      TreeFixture fixture;
      PretendProcess root(fixture.locks);
      root.director = at_crossing(at, {.fate = Fate::fail, .code = static_cast<std::errc>(code)});
      const auto tree = make_tree(root, fixture.runtime());
      root.director = {};
      if (tree) {
        EXPECT_TRUE(fixture.is_alive(tree->paths));
        root.die();
        fixture.sweep();
      } else {
        EXPECT_EQ(root.open_fds(), 0U);
        // Before any sweep.
        EXPECT_THAT(fixture.folder.names(), IsEmpty());
      }
      EXPECT_THAT(fixture.folder.names(), IsEmpty());
    }
  }
}

TEST(MakeTree, that_is_killed_at_any_call_leaves_nothing_past_a_sweep_M7) {
  const std::vector<Crossing> clean = crossings_of_making();
  std::set<std::vector<std::string>> kinds;
  for (std::size_t at = 0; at < clean.size(); ++at) {
    for (const Fate fate : {Fate::die_before, Fate::die_after}) {
      SCOPED_TRACE(testing::PrintToString(clean[at]));
      TreeFixture fixture;
      PretendProcess root(fixture.locks);
      root.director = at_crossing(at, {.fate = fate});
      // Some of its calls may fail; the result in a dead process does not matter.
      static_cast<void>(make_tree(root, fixture.runtime()));
      EXPECT_TRUE(root.is_dead());
      std::vector<std::string> parts;
      for (const std::string& name : fixture.folder.names()) {
        parts.push_back(fs::path(name).filename().string().substr(0, 31));
        if (parts.back().size() == 31) {
          parts.back() = "tree";
        }
      }
      kinds.insert(parts);
      fixture.sweep();
      EXPECT_THAT(fixture.folder.names(), IsEmpty());
    }
  }
  // Nothing, the runtime folder, the tree's folder, and then one part after the other.
  EXPECT_EQ(kinds.size(), 6U);
}

TEST(MakeTree, works_whenever_a_sweep_comes_in_between_M7) {
  const std::size_t clean = crossings_of_making().size();
  for (std::size_t at = 0; at < clean; ++at) {
    TreeFixture fixture;
    PretendProcess root(fixture.locks);
    root.director = at_crossing(at, [&] { fixture.sweep(); });
    const auto tree = make_tree(root, fixture.runtime());
    ASSERT_TRUE(tree) << at << ": " << describe(tree.error());
    root.director = {};
    EXPECT_TRUE(fixture.is_alive(tree->paths));
    EXPECT_TRUE(remove_tree(root, tree->paths));
  }
}

RC_GTEST_PROP(MakeTreeProperties, works_whenever_up_to_seven_sweeps_come_in_between_M7, ()) {
  TreeFixture fixture;
  PretendProcess root(fixture.locks);
  auto sweeps = *rc::gen::container<std::vector<std::size_t>>(*rc::gen::inRange<std::size_t>(0, 8),
                                                              rc::gen::inRange<std::size_t>(0, 60));
  std::size_t crossed = 0;
  root.director = [&](const Crossing&) {
    const bool now = std::erase(sweeps, crossed++) > 0;
    if (now) {
      fixture.sweep();
    }
    return Decision{};
  };
  const auto tree = make_tree(root, fixture.runtime());
  RC_ASSERT(tree.has_value());
  root.director = {};
  RC_ASSERT(fixture.sweep().alive == 1U);
  RC_ASSERT(fs::is_socket(tree->paths.socket()));
  RC_ASSERT(remove_tree(root, tree->paths).has_value());
}

TEST(MakeTree, works_whenever_another_tree_begins_or_ends_in_between_M7) {
  const std::size_t clean = crossings_of_making().size();
  for (const bool other_ends : {false, true}) {
    for (std::size_t at = 0; at < clean + 20; ++at) {
      TreeFixture fixture;
      PretendProcess root(fixture.locks, 100);
      PretendProcess other(fixture.locks, 200);
      Result<OwnTree> others = failure(std::errc::no_such_process, "");
      if (other_ends) {
        others = make_tree(other, fixture.runtime());
      }
      root.director = at_crossing(at, [&] {
        if (other_ends) {
          LASTREF_ASSERT(remove_tree(other, others->paths).has_value());
        } else {
          others = make_tree(other, fixture.runtime());
        }
      });
      const auto tree = make_tree(root, fixture.runtime());
      ASSERT_TRUE(tree) << at << ": " << describe(tree.error());
      root.director = {};
      EXPECT_TRUE(fs::is_socket(tree->paths.socket()));
      for (PretendProcess* const process : {&root, &other}) {
        process->die();
      }
      fixture.sweep();
      EXPECT_THAT(fixture.folder.names(), IsEmpty());
    }
  }
}

}  // namespace
}  // namespace lastref::tracker
