// sweep_test: a sweep removes everything of an orphaned tree and nothing of a live one, whatever
// call fails and whichever process is killed meanwhile.
#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <utility>

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
using pretend::Director;
using pretend::Fate;
using pretend::FreshFolder;
using pretend::PretendProcess;
using pretend::TreeFixture;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace fs = std::filesystem;

TEST(Sweep, does_nothing_where_no_tree_ever_was_M7) {
  TreeFixture fixture;
  PretendProcess sweeper(fixture.locks);
  for (const std::string& runtime : {fixture.runtime(), fixture.folder.path("no/such/folder")}) {
    const auto swept = sweep(sweeper, runtime);
    ASSERT_TRUE(swept) << describe(swept.error());
    EXPECT_EQ(swept->trees, 0U);
  }
  EXPECT_EQ(sweeper.count_of(Call::make_folder), 0U);
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
}

/// One existing resource of every type, and a missing one of each.
class Things {
 public:
  explicit Things(const FreshFolder& folder) : folder_(folder) {
    plant();
    for (const std::string name : {"a", "gone"}) {
      names_.push_back({.type = ResourceType::file, .name = folder.path(name)});
      names_.push_back({.type = ResourceType::folder, .name = folder.path("folder_" + name)});
      names_.push_back({.type = ResourceType::shm, .name = shm_ + name});
      names_.push_back({.type = ResourceType::semlock, .name = shm_ + name});
      names_.push_back({.type = ResourceType::noop, .name = "b"});
    }
  }

  void plant() {
    folder_.write("a");
    folder_.write("b");
    folder_.make_folder("folder_a/deep");
    folder_.write("folder_a/deep/file");
    const auto fd = os_.create_shm(shm_ + "a", 0600);
    LASTREF_ASSERT(fd.has_value());
    LASTREF_ASSERT(os_.close(*fd).has_value());
    LASTREF_ASSERT(os_.create_semaphore(shm_ + "a", 0600).has_value());
  }
  const std::vector<Resource>& names() const { return names_; }
  /// The number of distinct names.
  static constexpr std::size_t count = 9;

  /// Returns and removes the leftovers.
  std::vector<std::string> take_what_is_left() {
    std::vector<std::string> left;
    for (const std::string name : {"a", "folder_a"}) {
      if (folder_.exists(name)) {
        left.push_back(name);
        folder_.remove(name);
      }
    }
    if (os_.unlink_shm(shm_ + "a")) {
      left.push_back("shm");
    }
    if (os_.unlink_semaphore(shm_ + "a")) {
      left.push_back("semlock");
    }
    LASTREF_ASSERT(folder_.exists("b"));
    folder_.remove("b");
    return left;
  }

 private:
  const FreshFolder& folder_;
  os::KernelOs os_;
  std::string shm_ = "/" + pretend::unique_text();
  std::vector<Resource> names_;
};

TEST(Sweep, cleans_up_what_the_ledger_of_a_dead_tree_says_and_nothing_else_T5_M7) {
  TreeFixture fixture;
  Things things(fixture.folder);
  fixture.dead_tree(things.names());
  const Swept swept = fixture.sweep();
  EXPECT_EQ(swept.trees, 1U);
  EXPECT_EQ(swept.names, Things::count);
  EXPECT_EQ(swept.kept, 0U);
  EXPECT_EQ(swept.alive, 0U);
  EXPECT_THAT(things.take_what_is_left(), IsEmpty());
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
}

TEST(Sweep, takes_folders_last_and_the_deeper_one_first_T5_M7) {
  TreeFixture fixture;
  fixture.folder.make_folder("d/e");
  fixture.folder.write("d/e/f");
  const std::string shm = "/" + pretend::unique_text();
  fixture.dead_tree({{.type = ResourceType::folder, .name = fixture.folder.path("d")},
                     {.type = ResourceType::folder, .name = fixture.folder.path("d/e")},
                     {.type = ResourceType::file, .name = fixture.folder.path("d/e/f")},
                     {.type = ResourceType::shm, .name = shm},
                     {.type = ResourceType::semlock, .name = shm}});
  PretendProcess sweeper(fixture.locks);
  ASSERT_TRUE(sweep(sweeper, fixture.runtime()));
  std::vector<Crossing> removals;
  for (const Crossing& crossing : sweeper.crossings) {
    if (crossing.call == Call::unlink || crossing.call == Call::unlink_shm ||
        crossing.call == Call::unlink_semaphore || crossing.call == Call::remove_folder) {
      removals.push_back(crossing);
    }
  }
  ASSERT_GE(removals.size(), 5U);
  removals.resize(5);
  const std::vector<Crossing> expected{{Call::unlink, fixture.folder.path("d/e/f")},
                                       {Call::unlink_semaphore, shm},
                                       {Call::unlink_shm, shm},
                                       {Call::remove_folder, fixture.folder.path("d/e")},
                                       {Call::remove_folder, fixture.folder.path("d")}};
  EXPECT_EQ(removals, expected);
}

TEST(Sweep, leaves_a_live_tree_and_its_names_alone_M7) {
  TreeFixture fixture;
  fixture.folder.write("a");
  PretendProcess root(fixture.locks);
  const auto tree = make_tree(root, fixture.runtime());
  ASSERT_TRUE(tree);
  {
    auto ledger = Ledger::open(root, tree->paths.ledger());
    ASSERT_TRUE(ledger);
    ASSERT_TRUE(ledger->enter({.type = ResourceType::file, .name = fixture.folder.path("a")}));
  }
  const auto before = fixture.folder.names();
  fixture.dead_tree();
  const Swept swept = fixture.sweep();
  EXPECT_EQ(swept.alive, 1U);
  EXPECT_EQ(swept.trees, 1U);
  EXPECT_EQ(fixture.folder.names(), before);
  EXPECT_TRUE(remove_tree(root, tree->paths));
  fixture.folder.remove("a");
}

TEST(Sweep, leaves_what_a_live_tree_counts_to_that_E4_M7) {
  TreeFixture fixture;
  const Resource file{.type = ResourceType::file, .name = fixture.folder.path("a")};
  const Resource inner{.type = ResourceType::file, .name = fixture.folder.path("d/b")};
  const Resource folder{.type = ResourceType::folder, .name = fixture.folder.path("d")};
  fixture.folder.make_folder("d");
  for (const char* name : {"a", "d/b", "d/c", "e"}) {
    fixture.folder.write(name);
  }
  const TreePaths dead = fixture.dead_tree(
      {file, inner, folder, {.type = ResourceType::file, .name = fixture.folder.path("e")}});
  PretendProcess root(fixture.locks);
  root.director = [](const Crossing& crossing) {  // It does not sweep.
    return crossing.call == Call::read_folder ? Decision{.fate = Fate::fail} : Decision{};
  };
  const auto live = make_tree(root, fixture.runtime());
  root.director = {};
  ASSERT_TRUE(live);
  {
    auto ledger = Ledger::open(root, live->paths.ledger());
    ASSERT_TRUE(ledger);
    ASSERT_TRUE(ledger->enter(file));
    ASSERT_TRUE(ledger->enter(inner));
  }
  for (int times = 0; times < 2; ++times) {
    const Swept swept = fixture.sweep();
    EXPECT_EQ(swept.names, times == 0 ? 1U : 0U);
    EXPECT_EQ(swept.kept, 0U);
    EXPECT_FALSE(fixture.folder.exists("e"));
    for (const char* name : {"a", "d/b", "d/c"}) {
      EXPECT_TRUE(fixture.folder.exists(name)) << name;
    }
    // The folder still has to be removed, once no name in it is needed.
    EXPECT_TRUE(fs::exists(dead.ledger()));
  }
  EXPECT_TRUE(remove_tree(root, live->paths));
  root.die();
  EXPECT_EQ(fixture.sweep().names, 1U);
  EXPECT_TRUE(fixture.folder.exists("a"));
  fixture.folder.remove("a");
}

TEST(Sweep, leaves_names_alone_that_do_not_say_where_they_are_E2_M7) {
  TreeFixture fixture;
  fixture.folder.write("a");
  fixture.folder.make_folder("d");
  fixture.folder.write("d/b");
  fixture.dead_tree(
      {{.type = ResourceType::file, .name = "a"}, {.type = ResourceType::folder, .name = "d"}});
  const pretend::WorkingFolder here(fixture.folder.path());
  EXPECT_EQ(fixture.sweep().trees, 1U);
  EXPECT_TRUE(fixture.folder.exists("a"));
  EXPECT_TRUE(fixture.folder.exists("d/b"));
  fixture.clear();
}

TEST(Sweep, that_cannot_remove_a_thing_keeps_its_name_and_its_tree_for_the_next_M7) {
  TreeFixture fixture;
  fixture.folder.write("a");
  fixture.folder.write("b");
  fixture.dead_tree({{.type = ResourceType::file, .name = fixture.folder.path("a")},
                     {.type = ResourceType::file, .name = fixture.folder.path("b")}});
  PretendProcess sweeper(fixture.locks);
  sweeper.director = [&](const Crossing& crossing) {
    return crossing == Crossing{Call::unlink, fixture.folder.path("a")}
               ? Decision{.fate = Fate::fail, .code = std::errc::permission_denied}
               : Decision{};
  };
  const auto swept = sweep(sweeper, fixture.runtime());
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->trees, 0U);
  EXPECT_EQ(swept->names, 1U);
  EXPECT_EQ(swept->kept, 1U);
  EXPECT_EQ(sweeper.clock, os::Instant(0));
  EXPECT_TRUE(fixture.folder.exists("a"));
  // A new file at a name that was cleaned up is not touched again.
  fixture.folder.write("b");
  const Swept next = fixture.sweep();
  EXPECT_EQ(next.trees, 1U);
  EXPECT_EQ(next.names, 1U);
  EXPECT_FALSE(fixture.folder.exists("a"));
  EXPECT_TRUE(fixture.folder.exists("b"));
  fixture.folder.remove("b");
}

TEST(Sweep, leaves_alone_what_it_could_not_look_at_E4) {
  TreeFixture fixture;
  fixture.folder.write("a");
  fixture.dead_tree({{.type = ResourceType::file, .name = fixture.folder.path("a")}});
  PretendProcess sweeper(fixture.locks);
  bool has_looked = false;
  sweeper.director = [&](const Crossing& crossing) {
    const bool looks = crossing == Crossing{Call::status_at, fixture.folder.path("a")};
    return looks && !std::exchange(has_looked, true)
               ? Decision{.fate = Fate::fail, .code = std::errc::permission_denied}
               : Decision{};
  };
  const auto swept = sweep(sweeper, fixture.runtime());
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->kept, 1U);
  EXPECT_TRUE(fixture.folder.exists("a"));
  EXPECT_EQ(fixture.sweep().names, 1U);
  EXPECT_FALSE(fixture.folder.exists("a"));
}

TEST(Sweep, names_the_first_of_what_it_could_not_remove_and_says_why_T7) {
  TreeFixture fixture;
  std::vector<Resource> names;
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    fixture.folder.make_folder(name);
    names.push_back({.type = ResourceType::file, .name = fixture.folder.path(name)});
  }
  fixture.dead_tree(names);
  os::KernelOs kernel;
  testing::internal::CaptureStderr();
  const auto swept = sweep(kernel, fixture.runtime());
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(swept);
  EXPECT_EQ(swept->kept, names.size());
  EXPECT_EQ(std::ranges::count(said, '\n'), 3) << said;
  EXPECT_THAT(said, HasSubstr("could not clean up " + to_text(names.front())));
  EXPECT_THAT(said, HasSubstr("Is a directory"));
  for (const char* name : {"a", "b", "c", "d", "e"}) {
    fixture.folder.remove(name);
  }
  EXPECT_EQ(fixture.sweep().names, names.size());
}

TEST(Sweep, that_fails_or_is_killed_at_any_call_is_finished_by_the_next_M7) {
  const auto act = [](TreeFixture& fixture, PretendProcess& sweeper, const Director& director) {
    Things things(fixture.folder);
    PretendProcess root(fixture.locks, 7);
    const auto live = make_tree(root, fixture.runtime());
    fixture.dead_tree(things.names());
    sweeper.director = director;
    static_cast<void>(sweep(sweeper, fixture.runtime()));
    sweeper.director = {};
    EXPECT_EQ(sweeper.open_fds(), 0U);
    std::vector<Crossing> crossings = sweeper.crossings;
    EXPECT_TRUE(fixture.is_alive(live->paths));
    EXPECT_TRUE(remove_tree(root, live->paths));
    EXPECT_THAT(things.take_what_is_left(), IsEmpty());
    EXPECT_THAT(fixture.folder.names(), IsEmpty());
    return crossings;
  };
  std::vector<Crossing> clean;
  {
    TreeFixture fixture;
    PretendProcess sweeper(fixture.locks);
    clean = act(fixture, sweeper, {});
  }
  for (std::size_t at = 0; at < clean.size(); ++at) {
    std::vector<Decision> decisions{{.fate = Fate::die_before}, {.fate = Fate::die_after}};
    for (const auto& [code, in_tracker, elsewhere] : row_of(clean[at].call).errors) {
      // A sweep may rely on an error that reports that the file does not exist.
      if (static_cast<std::errc>(code) != std::errc::no_such_file_or_directory) {
        decisions.push_back({.fate = Fate::fail, .code = static_cast<std::errc>(code)});
      }
    }
    for (const Decision& decision : decisions) {
      SCOPED_TRACE(std::to_string(at) + " " + testing::PrintToString(clean[at]) + " fate " +
                   std::to_string(static_cast<int>(decision.fate)) + " " +
                   std::to_string(static_cast<int>(decision.code)));
      TreeFixture fixture;
      PretendProcess sweeper(fixture.locks);
      act(fixture, sweeper, at_crossing(at, decision));
    }
  }
}

TEST(Sweep, that_another_sweep_overtakes_removes_nothing_twice_M7) {
  std::size_t at = 0;
  for (bool overtaken = true; overtaken; ++at) {
    SCOPED_TRACE(at);
    TreeFixture fixture;
    Things things(fixture.folder);
    fixture.dead_tree(things.names());
    PretendProcess sweeper(fixture.locks);
    std::size_t others = 0;
    overtaken = false;
    sweeper.director = at_crossing(at, [&] {
      overtaken = true;
      others = fixture.sweep().names;
      if (others > 0) {
        // A new file or folder for each.
        EXPECT_THAT(Things::count, others);
        things.plant();
      }
    });
    const auto swept = sweep(sweeper, fixture.runtime());
    ASSERT_TRUE(swept) << describe(swept.error());
    EXPECT_EQ(swept->names + others, Things::count);
    EXPECT_EQ(things.take_what_is_left().size(), others > 0 ? 4U : 0U);
    fixture.sweep();
    EXPECT_THAT(fixture.folder.names(), IsEmpty());
  }
  EXPECT_GT(at, 30U);
}

TEST(Sweep, does_not_touch_what_is_no_tree_M7) {
  TreeFixture fixture;
  fixture.dead_tree();
  const std::string hex = "runtime/0123456789abcdef0123456789abcde";
  fixture.folder.write(hex + "0");
  fixture.folder.link(hex + "1", fixture.folder.path("elsewhere"));
  fixture.folder.make_folder("elsewhere");
  fixture.folder.write("elsewhere/lock");
  fixture.folder.make_folder(hex);
  fixture.folder.make_folder(hex + "22");
  fixture.folder.make_folder(hex + "A");
  fixture.folder.make_folder("runtime/other");
  // A folder with a tree's name that contains a foreign file.
  fixture.folder.make_folder(hex + "3");
  fixture.folder.write(hex + "3/file");
  auto before = fixture.folder.names();
  std::erase_if(before, [](const std::string& name) {
    const fs::path path(name);
    return path.has_parent_path() && name.find("0123456789abcdef") == std::string::npos &&
           name.starts_with("runtime/") && name != "runtime/other";
  });
  EXPECT_EQ(fixture.sweep().trees, 1U);
  EXPECT_EQ(fixture.folder.names(), before);
  fixture.clear();
}

TEST(Sweep, lists_a_tree_that_has_lost_its_lock_and_leaves_it_alone_M7) {
  TreeFixture fixture;
  fixture.folder.write("counted");
  const Resource counted = {.type = ResourceType::file, .name = fixture.folder.path("counted")};
  const TreePaths paths = fixture.dead_tree({counted});
  fs::remove(paths.lock());
  const Swept swept = fixture.sweep();
  EXPECT_THAT(swept.unjudged, ElementsAre(paths.folder));
  EXPECT_EQ(swept.trees, 0U);
  EXPECT_TRUE(fs::exists(paths.ledger()));
  EXPECT_TRUE(fixture.folder.exists("counted")) << "a tree that may be alive counts it";
  fixture.clear();
}

TEST(Sweep, removes_a_tree_whose_ledger_is_garbage_and_nothing_else_M7) {
  TreeFixture fixture;
  fixture.folder.write("a");
  const TreePaths paths = fixture.dead_tree();
  const std::string name = fixture.folder.path("a");
  // Looks like a record, but its checksum is wrong.
  std::string record = "+";
  record += '\0';
  record += static_cast<char>(name.size());
  record += '\0';
  record += "12345678" + name;
  fixture.folder.write(fs::path(paths.ledger()).lexically_relative(fixture.folder.path()).string(),
                       record);
  const Swept swept = fixture.sweep();
  EXPECT_EQ(swept.trees, 1U);
  EXPECT_EQ(swept.names, 0U);
  EXPECT_TRUE(fixture.folder.exists("a"));
  fixture.folder.remove("a");
}

/// Where no location for trees is given: /dev/shm, or /tmp when that is refused.
class DefaultLocations {
 public:
  DefaultLocations() {
    fixture.folder.make_folder("shm");
    fixture.folder.make_folder("tmp");
  }
  DefaultLocations(const DefaultLocations&) = delete;
  DefaultLocations& operator=(const DefaultLocations&) = delete;
  ~DefaultLocations() {
    fixture.folder.remove("shm");
    fixture.folder.remove("tmp");
  }

  std::unique_ptr<PretendProcess> process(bool shm_is_refused) {
    auto made = std::make_unique<PretendProcess>(fixture.locks, ++last_pid_);
    made->mounts = {{"/dev/shm", fixture.folder.path("shm")}, {"/tmp", fixture.folder.path("tmp")}};
    if (shm_is_refused) {
      made->director = [](const Crossing& crossing) {
        return crossing.subject.starts_with("/dev/shm")
                   ? Decision{.fate = Fate::fail, .code = std::errc::permission_denied}
                   : Decision{};
      };
    }
    return made;
  }
  std::string runtime(const std::string& location) const {
    return location + "/lastref-" + std::to_string(os::KernelOs().user_id());
  }

  TreeFixture fixture;

 private:
  os::Pid last_pid_ = 0;
};

TEST(Sweep, of_the_default_locations_finds_a_tree_that_was_made_where_shm_was_refused_M7) {
  DefaultLocations locations;
  locations.fixture.folder.write("a");
  const auto root = locations.process(/*shm_is_refused=*/true);
  const auto tree = make_tree(*root, "");
  ASSERT_TRUE(tree);
  EXPECT_TRUE(tree->paths.folder.starts_with(locations.runtime("/tmp"))) << tree->paths.folder;
  root->die();
  const auto sweeper = locations.process(/*shm_is_refused=*/false);
  const auto swept = sweep(*sweeper, "");
  ASSERT_TRUE(swept) << describe(swept.error());
  EXPECT_EQ(swept->trees, 1U);
  locations.fixture.folder.remove("a");
  EXPECT_FALSE(locations.fixture.folder.exists(locations.runtime("tmp")));
}

TEST(MakeTree, sweeps_the_other_default_location_too_M7) {
  DefaultLocations locations;
  const auto dead = locations.process(/*shm_is_refused=*/true);
  ASSERT_TRUE(make_tree(*dead, ""));
  dead->die();
  const auto root = locations.process(/*shm_is_refused=*/false);
  const auto tree = make_tree(*root, "");
  ASSERT_TRUE(tree);
  EXPECT_TRUE(tree->paths.folder.starts_with(locations.runtime("/dev/shm"))) << tree->paths.folder;
  EXPECT_FALSE(locations.fixture.folder.exists(locations.runtime("tmp")));
  EXPECT_TRUE(remove_tree(*root, tree->paths));
}

TEST(Sweep, of_the_default_locations_touches_no_folder_that_is_open_to_others_M7) {
  DefaultLocations locations;
  const auto root = locations.process(/*shm_is_refused=*/true);
  const auto tree = make_tree(*root, "");
  ASSERT_TRUE(tree);
  root->die();
  fs::permissions(locations.fixture.folder.path(locations.runtime("tmp")), fs::perms::all);
  const auto before = locations.fixture.folder.names();
  const auto sweeper = locations.process(/*shm_is_refused=*/false);
  const auto swept = sweep(*sweeper, "");
  ASSERT_FALSE(swept);
  EXPECT_EQ(swept.error().code, std::errc::permission_denied);
  EXPECT_EQ(locations.fixture.folder.names(), before);
}

}  // namespace
}  // namespace lastref::tracker
