// tree_test: how a tree is made, joined, distinguished from a dead one, and removed; failed and
// killed at any point, with others at work in the same runtime folder.
#include "impl/tracker/tree.hpp"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "impl/tracker/ledger.hpp"
#include "property_tests/impl/tracker/tree_fixture.hpp"
#include "property_tests/support/exclusive_lock.hpp"
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

unsigned mode_of(const std::string& path) {
  return static_cast<unsigned>(fs::symlink_status(path).permissions());
}

TEST(Tree, has_its_parts_and_they_are_private_T2) {
  TreeFixture fixture;
  PretendProcess root(fixture.locks);
  const auto tree = make_tree(root, fixture.runtime());
  ASSERT_TRUE(tree);
  const std::string name = fs::path(tree->paths.folder).filename().string();
  EXPECT_EQ(name.size(), 32U);
  EXPECT_EQ(name.find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(mode_of(fixture.runtime()), 01700U);  // With the mark of folders that the library made.
  EXPECT_EQ(mode_of(tree->paths.folder), 0700U);
  EXPECT_EQ(mode_of(tree->paths.lock()), 0600U);
  EXPECT_EQ(mode_of(tree->paths.ledger()), 0600U);
  EXPECT_TRUE(fs::is_socket(tree->paths.socket()));
  EXPECT_EQ(root.open_fds(), 4U) << "of the folder, the lock, the ledger and the socket";
  EXPECT_TRUE(remove_tree(root, tree->paths));
  EXPECT_FALSE(fs::exists(fixture.runtime()));
}

TEST(Tree, is_passed_over_by_what_removes_by_age_M7) {
  TreeFixture fixture;
  PretendProcess root(fixture.locks);
  const auto tree = make_tree(root, fixture.runtime());
  ASSERT_TRUE(tree);
  EXPECT_FALSE(pretend::ExclusiveLock(tree->paths.folder).can_be_had());
  EXPECT_TRUE(remove_tree(root, tree->paths));
}

TEST(Tree, is_alive_as_long_as_any_process_of_it_is_T5) {
  TreeFixture fixture;
  PretendProcess root(fixture.locks, 100);
  PretendProcess member(fixture.locks, 200);
  PretendProcess tracker(fixture.locks, 300);
  const auto tree = make_tree(root, fixture.runtime());
  ASSERT_TRUE(tree);
  const auto joined = join_lock(member, tree->paths);
  ASSERT_TRUE(joined);
  auto lock = os::open_file(tracker, tree->paths.lock(), {.write = true});
  ASSERT_TRUE(lock);
  ASSERT_TRUE(lock_as_tracker(tracker, lock->get()));
  for (PretendProcess* const process : {&root, &tracker, &member}) {
    EXPECT_EQ(fixture.sweep().alive, 1U);
    EXPECT_TRUE(fs::exists(tree->paths.socket()));
    process->die();
  }
  EXPECT_EQ(fixture.sweep().trees, 1U);
  EXPECT_FALSE(fs::exists(fixture.runtime()));
}

RC_GTEST_PROP(TreeProperties, its_members_are_those_who_have_joined_and_live_T6, ()) {
  TreeFixture fixture;
  PretendProcess root(fixture.locks, 1);
  PretendProcess tracker(fixture.locks, 2);
  auto tree = make_tree(root, fixture.runtime());
  RC_ASSERT(tree.has_value());
  auto lock = os::open_file(tracker, tree->paths.lock(), {.write = true});
  RC_ASSERT(lock.has_value());
  RC_ASSERT(lock_as_tracker(tracker, lock->get()).has_value());
  std::vector<KnownMember> expected{{.pid = 1, .nonce = tree->membership.nonce}};
  std::vector<std::unique_ptr<PretendProcess>> members;
  std::vector<Membership> joined_ones;
  for (const os::Pid pid : *rc::gen::container<std::set<os::Pid>>(rc::gen::oneOf(
           rc::gen::inRange<os::Pid>(3, 40), rc::gen::inRange<os::Pid>(3, 0x7fffffff)))) {
    auto& member = members.emplace_back(std::make_unique<PretendProcess>(fixture.locks, pid));
    const bool dies = *rc::gen::inRange(0, 3) == 0;
    for (int left = *rc::gen::inRange(1, 4); left > 0; --left) {
      auto joined = join_lock(*member, tree->paths);
      RC_ASSERT(joined.has_value());
      joined_ones.push_back(*std::move(joined));
      if (*rc::gen::inRange(0, 3) == 0) {
        joined_ones.back().lock.close_quietly();
      } else if (!dies) {
        expected.push_back({.pid = pid, .nonce = joined_ones.back().nonce});
      }
    }
    if (dies) {
      member->die();
    }
  }
  auto found = members_of(tracker, lock->get());
  RC_ASSERT(found.has_value());
  std::ranges::sort(*found, {}, &KnownMember::nonce);
  std::ranges::sort(expected, {}, &KnownMember::nonce);
  RC_ASSERT(*found == expected);
  for (const Membership& joined : joined_ones) {
    const auto is_this = [&](const KnownMember& each) { return each.nonce == joined.nonce; };
    RC_ASSERT(is_member(tracker, lock->get(), joined.nonce) ==
              std::ranges::any_of(expected, is_this));
  }
  RC_ASSERT(remove_tree(root, tree->paths).has_value());
}

TEST(Tree, has_one_tracker_T6) {
  TreeFixture fixture;
  PretendProcess root(fixture.locks, 100);
  PretendProcess first(fixture.locks, 200);
  PretendProcess second(fixture.locks, 300);
  const auto tree = make_tree(root, fixture.runtime());
  ASSERT_TRUE(tree);
  auto lock = os::open_file(first, tree->paths.lock(), {.write = true});
  auto again = os::open_file(second, tree->paths.lock(), {.write = true});
  ASSERT_TRUE(lock_as_tracker(first, lock->get()));
  const Status refused = lock_as_tracker(second, again->get());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, std::errc::device_or_resource_busy);
  first.die();
  EXPECT_TRUE(lock_as_tracker(second, again->get()));
  EXPECT_TRUE(remove_tree(root, tree->paths));
}

TEST(Tree, a_process_that_joins_during_a_sweep_is_in_or_is_told_that_the_tree_has_ended_T5) {
  // The sweep comes before the first call of the joining process, before its second, and so on.
  for (std::size_t at = 0;; ++at) {
    TreeFixture fixture;
    PretendProcess root(fixture.locks, 100);
    PretendProcess late(fixture.locks, 200);
    const auto tree = make_tree(root, fixture.runtime());
    ASSERT_TRUE(tree);
    root.die();
    std::size_t crossed = 0;
    late.director = [&](const Crossing&) {
      if (crossed++ == at) {
        fixture.sweep();
      }
      return Decision{};
    };
    const auto joined = join_lock(late, tree->paths);
    const bool was_swept = crossed > at;
    late.director = {};
    if (joined) {
      EXPECT_EQ(fixture.sweep().alive, 1U);
      EXPECT_TRUE(fs::exists(tree->paths.lock()));
      EXPECT_TRUE(remove_tree(late, tree->paths));
    } else {
      EXPECT_EQ(joined.error().code, std::errc::no_such_file_or_directory);
      EXPECT_EQ(late.open_fds(), 0U);
    }
    EXPECT_FALSE(fs::exists(fixture.runtime()));
    if (!was_swept) {
      EXPECT_TRUE(joined);
      EXPECT_GT(at, 3U);
      break;
    }
  }
}

TEST(Tree, of_a_process_lives_on_whatever_else_that_process_leads_joins_or_sweeps_E3) {
  const std::function<void(TreeFixture&, PretendProcess&, const TreePaths&)> deeds[] = {
      [](TreeFixture& fixture, PretendProcess& self, const TreePaths&) {
        EXPECT_EQ(sweep(self, fixture.runtime())->alive, 1U);
      },
      [](TreeFixture& fixture, PretendProcess& self, const TreePaths&) {
        const auto second = make_tree(self, fixture.runtime());
        ASSERT_TRUE(second);
        EXPECT_TRUE(remove_tree(self, second->paths));
      },
      [](TreeFixture&, PretendProcess& self, const TreePaths& paths) {
        EXPECT_TRUE(join_lock(self, paths));  // And closes it again.
      },
      [](TreeFixture&, PretendProcess& self, const TreePaths& paths) {
        Swept swept;
        EXPECT_TRUE(reclaim_tree(self, paths, swept));
        EXPECT_EQ(swept.alive, 1U);
      },
  };
  for (const auto& deed : deeds) {
    TreeFixture fixture;
    PretendProcess root(fixture.locks, 100);
    PretendProcess worker(fixture.locks, 200);
    const auto tree = make_tree(root, fixture.runtime());
    ASSERT_TRUE(tree);
    const auto member = join_lock(worker, tree->paths);
    ASSERT_TRUE(member);
    deed(fixture, worker, tree->paths);
    deed(fixture, root, tree->paths);
    root.die();
    EXPECT_TRUE(fixture.is_alive(tree->paths));
    EXPECT_TRUE(remove_tree(worker, tree->paths));
  }
}

TEST(Tree, cannot_be_joined_by_a_lock_that_is_no_longer_its_own_T5) {
  TreeFixture fixture;
  PretendProcess root(fixture.locks, 100);
  PretendProcess late(fixture.locks, 200);
  const auto tree = make_tree(root, fixture.runtime());
  ASSERT_TRUE(tree);
  late.director = [&](const Crossing& crossing) {
    if (crossing.call == Call::lock_range) {
      fs::rename(tree->paths.lock(), fixture.folder.path("old"));
      const auto other = os::open_file(root, tree->paths.lock(), {.write = true, .create = true});
      LASTREF_ASSERT(other.has_value());
    }
    return Decision{};
  };
  const auto joined = join_lock(late, tree->paths);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, std::errc::no_such_file_or_directory);
  fixture.folder.remove("old");
  EXPECT_TRUE(remove_tree(root, tree->paths));
}

TEST(Tree, has_no_root_once_that_has_left_though_its_process_stays_E9) {
  TreeFixture fixture;
  PretendProcess root(fixture.locks, 100);
  PretendProcess other(fixture.locks, 200);
  auto tree = make_tree(root, fixture.runtime());
  ASSERT_TRUE(tree);
  const auto stays = join_lock(root, tree->paths);
  ASSERT_TRUE(stays);
  const auto joined = join_lock(other, tree->paths);
  ASSERT_TRUE(joined);
  EXPECT_EQ(can_be_served(other, joined->lock.get()), Result<bool>(true));
  tree->membership.lock.close_quietly();
  EXPECT_EQ(can_be_served(other, joined->lock.get()), Result<bool>(false));
  EXPECT_TRUE(is_member(other, joined->lock.get(), stays->nonce));
  EXPECT_TRUE(remove_tree(root, tree->paths));
}

TEST(Tree, shares_the_lock_of_another_that_was_put_in_its_place_E3) {
  TreeFixture fixture;
  PretendProcess root(fixture.locks, 100);
  auto tree = make_tree(root, fixture.runtime());
  auto other = make_tree(root, fixture.runtime());
  ASSERT_TRUE(tree);
  ASSERT_TRUE(other);
  other->membership.lock.close_quietly();
  const std::size_t before = root.open_fds();
  root.director = [&](const Crossing& crossing) {
    if (crossing.call == Call::open && fs::exists(tree->paths.lock())) {
      fs::rename(tree->paths.lock(), other->paths.lock());
    }
    return Decision{};
  };
  {
    const auto joined = join_lock(root, other->paths);
    ASSERT_TRUE(joined);
    EXPECT_EQ(joined->lock.get(), tree->membership.lock.get());
  }
  // Closing it would drop all locks of the process on the file.
  EXPECT_EQ(root.open_fds(), before + 1);
  PretendProcess sweeper(fixture.locks, 200);
  Swept swept;
  EXPECT_TRUE(reclaim_tree(sweeper, other->paths, swept));
  EXPECT_EQ(swept.alive, 1U);
  tree->membership.lock.close_quietly();
  EXPECT_EQ(root.open_fds(), before - 1);
  EXPECT_TRUE(remove_tree(root, tree->paths));
  EXPECT_TRUE(remove_tree(root, other->paths));
}

struct Location {
  const char* name;
  void (*plant)(const TreeFixture& fixture);
  std::errc code;
};

void PrintTo(const Location& location, std::ostream* out) {
  *out << location.name;
}

const Location locations[] = {
    {"a_file",
     [](const TreeFixture& fixture) { fixture.folder.write("runtime"); },
     std::errc::not_a_directory},
    {"a_symlink_to_a_folder",
     [](const TreeFixture& fixture) {
       fixture.folder.make_folder("elsewhere");
       fs::permissions(fixture.folder.path("elsewhere"), fs::perms::owner_all);
       fixture.folder.link("runtime", fixture.folder.path("elsewhere"));
     },
     std::errc::not_a_directory},
    {"a_dangling_symlink",
     [](const TreeFixture& fixture) { fixture.folder.link("runtime", "nowhere"); },
     std::errc::not_a_directory},
    {"a_folder_open_to_all",
     [](const TreeFixture& fixture) {
       fixture.folder.make_folder("runtime");
       fs::permissions(fixture.runtime(), fs::perms::all);
     },
     std::errc::permission_denied},
    {"a_folder_that_the_group_may_enter",
     [](const TreeFixture& fixture) {
       fixture.folder.make_folder("runtime");
       fs::permissions(fixture.runtime(), fs::perms::owner_all | fs::perms::group_exec);
     },
     std::errc::permission_denied},
};

class PlantedRuntimeFolder : public testing::TestWithParam<Location> {};

TEST_P(PlantedRuntimeFolder, is_refused_with_its_error_and_left_as_it_is_M7) {
  for (const std::string slashes : {"", "/"}) {
    TreeFixture fixture;
    GetParam().plant(fixture);
    const auto before = fixture.folder.names();
    PretendProcess root(fixture.locks);
    const auto tree = make_tree(root, fixture.runtime() + slashes);
    ASSERT_FALSE(tree);
    EXPECT_EQ(tree.error().code, GetParam().code);
    const auto swept = sweep(root, fixture.runtime() + slashes);
    ASSERT_FALSE(swept);
    EXPECT_EQ(swept.error().code, GetParam().code);
    EXPECT_EQ(fixture.folder.names(), before);
    EXPECT_EQ(root.open_fds(), 0U);
    fixture.clear();
  }
}

INSTANTIATE_TEST_SUITE_P(Tree,
                         PlantedRuntimeFolder,
                         testing::ValuesIn(locations),
                         [](const auto& each) { return std::string(each.param.name); });

/// Another user, that inspects folders of this one.
class Stranger final : public os::KernelOs {
 public:
  std::uint32_t user_id() noexcept override { return KernelOs::user_id() + 1; }
};

TEST(Tree, is_not_made_in_a_folder_of_another_user_M7) {
  TreeFixture fixture;
  fixture.folder.make_folder("runtime");
  fs::permissions(fixture.runtime(), fs::perms::owner_all);
  Stranger stranger;
  const auto tree = make_tree(stranger, fixture.runtime());
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, std::errc::permission_denied);
  const auto swept = sweep(stranger, fixture.runtime());
  ASSERT_FALSE(swept);
  EXPECT_EQ(swept.error().code, std::errc::permission_denied);
  fixture.clear();
}

std::string runtime_of(const Result<OwnTree>& tree) {
  return fs::path(tree->paths.folder).parent_path();
}

TEST(Tree, takes_its_runtime_folder_from_the_environment_unless_told_otherwise_M7) {
  TreeFixture fixture;
  PretendProcess root(fixture.locks);
  root.variables["LASTREF_RUNTIME_FOLDER"] = fixture.folder.path("from_environment");
  for (const std::string& wanted : {std::string(), fixture.runtime()}) {
    const auto tree = make_tree(root, wanted);
    ASSERT_TRUE(tree) << describe(tree.error());
    EXPECT_EQ(runtime_of(tree),
              wanted.empty() ? fixture.folder.path("from_environment") : fixture.runtime());
    EXPECT_TRUE(remove_tree(root, tree->paths));
  }
}

TEST(Tree, is_where_a_relative_folder_was_when_it_was_made_wherever_the_program_goes_E2) {
  TreeFixture fixture;
  fixture.folder.make_folder("here");
  fixture.folder.make_folder("there");
  PretendProcess root(fixture.locks);
  const auto tree = [&] {
    const pretend::WorkingFolder here(fixture.folder.path("here"));
    return make_tree(root, "runtime");
  }();
  ASSERT_TRUE(tree) << describe(tree.error());
  EXPECT_EQ(runtime_of(tree), fs::canonical(fixture.folder.path("here")).string() + "/runtime");
  const pretend::WorkingFolder there(fixture.folder.path("there"));
  PretendProcess member(fixture.locks, 2000);
  EXPECT_TRUE(join_lock(member, tree->paths));
  EXPECT_TRUE(remove_tree(root, tree->paths));
  fixture.clear();
}

TEST(Tree, that_finds_its_best_location_full_is_made_in_the_next_E10_M7) {
  TreeFixture fixture;
  fixture.folder.make_folder("shm");
  fixture.folder.make_folder("tmp");
  PretendProcess root(fixture.locks);
  root.mounts = {{"/dev/shm", fixture.folder.path("shm")}, {"/tmp", fixture.folder.path("tmp")}};
  bool is_full_everywhere = false;
  root.director = [&](const Crossing& crossing) {
    const auto& before = root.crossings;
    const bool in_tmp = std::ranges::any_of(before, [](const Crossing& each) {
      return each.call == Call::open && each.subject.starts_with("/tmp");
    });
    return crossing.call == Call::write && (is_full_everywhere || !in_tmp)
               ? Decision{.fate = pretend::Fate::fail, .code = std::errc::no_space_on_device}
               : Decision{};
  };
  const auto tree = make_tree(root, "");
  ASSERT_TRUE(tree) << describe(tree.error());
  EXPECT_TRUE(tree->paths.folder.starts_with("/tmp/lastref-")) << tree->paths.folder;
  EXPECT_TRUE(remove_tree(root, tree->paths));
  is_full_everywhere = true;
  const auto none = make_tree(root, "");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code, std::errc::no_space_on_device);
  EXPECT_TRUE(none.error().subject.starts_with("/dev/shm/lastref-")) << none.error().subject;
  fixture.clear();
}

TEST(Tree, a_path_too_long_for_a_socket_is_an_error_that_says_the_limit_and_leaves_nothing_E2_T2) {
  TreeFixture fixture;
  PretendProcess root(fixture.locks);
  const auto tree = make_tree(root, fixture.runtime() + std::string(80, 'x'));
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, std::errc::filename_too_long);
  EXPECT_THAT(tree.error().subject, testing::HasSubstr("at most 67 bytes"));
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_EQ(root.open_fds(), 0U);
}

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
    for (const auto& [code, in_tracker, elsewhere] : row_of(clean[at].call).errors) {
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
      root.director = at_crossing(at, Decision{.fate = fate});
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
