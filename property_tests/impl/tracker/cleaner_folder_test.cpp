// cleaner_folder_test: the recursive delete, with other processes at work in the same folder.
#include <algorithm>
#include <filesystem>
#include <ostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "impl/tracker/cleaner.hpp"
#include "property_tests/impl/tracker/pretend_process.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::tracker {
namespace {

using namespace std::chrono_literals;
using pretend::Crossing;
using pretend::Decision;
using pretend::Fate;
using pretend::FreshFolder;
using pretend::PretendProcess;
using pretend::RecordLocks;

namespace fs = std::filesystem;

/// A folder "d" to delete, and a folder "precious" next to it.
class Fixture {
 public:
  Fixture() {
    folder.make_folder("precious/deep");
    folder.write("precious/file", "kept");
    folder.write("precious/deep/file", "kept");
    folder.make_folder("d");
  }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;
  ~Fixture() {
    folder.remove("precious");
    folder.remove("d");
  }

  bool precious_is_whole() const {
    return folder.read("precious/file") == "kept" && folder.read("precious/deep/file") == "kept";
  }
  /// The result of the delete of `name`.
  Status clean(const std::string& name) {
    Cleaner cleaner(os);
    cleaner.add({.type = ResourceType::folder, .name = name});
    Status status = ok();
    while (const auto due = cleaner.due()) {
      os.clock = std::max(os.clock, *due);
      for (Cleaned& cleaned : cleaner.step(os.clock)) {
        status = std::move(cleaned.status);
      }
    }
    return status;
  }
  Status clean() { return clean(folder.path("d")); }

  FreshFolder folder;
  RecordLocks locks;
  PretendProcess os{locks};
};

enum class Kind : std::uint8_t { file, folder, link_to_file, link_to_folder, dangling_link };

struct Thing {
  Kind kind = Kind::file;
  std::size_t parent = 0;  ///< Index into the existing folders.
};

std::ostream& operator<<(std::ostream& out, const Thing& thing) {
  return out << "kind " << static_cast<int>(thing.kind) << " in " << thing.parent;
}

void plant(const Fixture& fixture, const std::vector<Thing>& things) {
  std::vector<std::string> folders{"d"};
  for (std::size_t index = 0; index < things.size(); ++index) {
    const std::string name =
        folders[things[index].parent % folders.size()] + "/" + std::to_string(index);
    switch (things[index].kind) {
      case Kind::file:
        fixture.folder.write(name);
        break;
      case Kind::folder:
        fixture.folder.make_folder(name);
        folders.push_back(name);
        break;
      case Kind::link_to_file:
        fixture.folder.link(name, fixture.folder.path("precious/file"));
        break;
      case Kind::link_to_folder:
        fixture.folder.link(name, fixture.folder.path("precious"));
        break;
      case Kind::dangling_link:
        fixture.folder.link(name, "nowhere");
        break;
    }
  }
}

std::vector<Thing> any_things() {
  return *rc::gen::container<std::vector<Thing>>(
      *rc::gen::inRange<std::size_t>(0, 30),
      rc::gen::build<Thing>(
          rc::gen::set(&Thing::kind,
                       rc::gen::weightedElement<Kind>({{3, Kind::file},
                                                       {3, Kind::folder},
                                                       {1, Kind::link_to_file},
                                                       {1, Kind::link_to_folder},
                                                       {1, Kind::dangling_link}})),
          rc::gen::set(&Thing::parent, rc::gen::inRange<std::size_t>(0, 100))));
}

RC_GTEST_PROP(FolderProperties, any_folder_goes_and_no_symlink_is_followed_T4, ()) {
  Fixture fixture;
  plant(fixture, any_things());
  RC_ASSERT(fixture.clean().has_value());
  RC_ASSERT(!fixture.folder.exists("d"));
  RC_ASSERT(fixture.precious_is_whole());
  RC_ASSERT(fixture.os.clock == 0s);
  RC_ASSERT(fixture.os.open_fds() == 0U);
}

RC_GTEST_PROP(FolderProperties, one_failure_anywhere_is_made_good_by_the_next_attempt_T4_T7, ()) {
  Fixture fixture;
  plant(fixture, any_things());
  const auto at = *rc::gen::inRange<std::size_t>(0, 60);
  const auto which = *rc::gen::inRange<std::size_t>(0, 12);
  std::size_t crossed = 0;
  fixture.os.director = [&](const Crossing& crossing) -> Decision {
    if (crossed++ != at) {
      return {};
    }
    const auto errnos = row_of(crossing.call).errnos;
    return {.fate = Fate::fail, .code = static_cast<std::errc>(errnos[which % errnos.size()])};
  };
  RC_ASSERT(fixture.clean().has_value());
  fixture.os.director = {};
  RC_ASSERT(fixture.os.open_fds() == 0U);
  RC_ASSERT(fixture.os.clock <= 200ms);
  if (fixture.folder.exists("d")) {
    // An injected error reported that the folder itself no longer exists, and the cleaner believed
    // it.
    RC_ASSERT(fixture.os.crossings.back().subject == fixture.folder.path("d"));
  }
  RC_ASSERT(fixture.precious_is_whole());
}

TEST(CleanerFolder, a_refusal_is_reported_after_ten_attempts_and_everything_else_is_gone_T4_T7) {
  Fixture fixture;
  fixture.folder.make_folder("d/e");
  fixture.folder.write("d/e/kept");
  fixture.folder.write("d/e/f");
  fixture.folder.write("d/g");
  fixture.os.director = [](const Crossing& crossing) {
    return crossing == Crossing{Call::unlink, "kept"}
               ? Decision{.fate = Fate::fail, .code = std::errc::permission_denied}
               : Decision{};
  };
  const Status cleaned = fixture.clean();
  ASSERT_FALSE(cleaned);
  EXPECT_EQ(cleaned.error().code, std::errc::permission_denied);
  EXPECT_EQ(cleaned.error().subject, "kept");
  EXPECT_EQ(fixture.os.clock, 1800ms);
  // Each attempt tries again once the folder's mode cannot be the obstacle any more.
  EXPECT_EQ(std::ranges::count(fixture.os.crossings, Crossing{Call::unlink, "kept"}), 2 * 10);
  EXPECT_FALSE(fixture.folder.exists("d/e/f"));
  EXPECT_FALSE(fixture.folder.exists("d/g"));
  EXPECT_EQ(fixture.os.open_fds(), 0U);
}

TEST(CleanerFolder, an_empty_folder_that_nobody_may_enter_goes_T4) {
  Fixture fixture;
  fixture.folder.make_folder("d/e");
  fixture.os.director = [](const Crossing& crossing) {
    return crossing == Crossing{Call::open, "e"}
               ? Decision{.fate = Fate::fail, .code = std::errc::permission_denied}
               : Decision{};
  };
  EXPECT_TRUE(fixture.clean());
  EXPECT_FALSE(fixture.folder.exists("d"));
}

TEST(CleanerFolder, files_that_others_add_meanwhile_go_with_the_next_attempt_T4) {
  Fixture fixture;
  int added = 0;
  fixture.os.director = [&](const Crossing& crossing) {
    if (crossing.call == Call::remove_folder && added < 5) {
      fixture.folder.write("d/" + std::to_string(added++));
    }
    return Decision{};
  };
  EXPECT_TRUE(fixture.clean());
  EXPECT_EQ(fixture.os.clock, 1s);
  EXPECT_FALSE(fixture.folder.exists("d"));
}

TEST(CleanerFolder, what_others_remove_meanwhile_is_no_error_T4) {
  Fixture fixture;
  fixture.folder.make_folder("d/e/f");
  fixture.folder.write("d/e/f/g");
  std::size_t crossed = 0;
  fixture.os.director = [&](const Crossing&) {
    if (crossed++ == 4) {
      fixture.folder.remove("d");
    }
    return Decision{};
  };
  EXPECT_TRUE(fixture.clean());
  EXPECT_EQ(fixture.os.clock, 0s);
  EXPECT_EQ(fixture.os.open_fds(), 0U);
}

TEST(CleanerFolder, a_folder_that_becomes_a_symlink_meanwhile_is_not_followed_T4) {
  // At every call in turn: the folder inside is moved away, and a symlink takes its place.
  for (std::size_t at = 0; at < 20; ++at) {
    Fixture fixture;
    fixture.folder.make_folder("d/e");
    fixture.folder.write("d/e/f");
    std::size_t crossed = 0;
    fixture.os.director = [&](const Crossing&) {
      if (crossed++ == at && fixture.folder.exists("d/e")) {
        fs::rename(fixture.folder.path("d/e"), fixture.folder.path("moved"));
        fixture.folder.link("d/e", fixture.folder.path("precious"));
      }
      return Decision{};
    };
    EXPECT_TRUE(fixture.clean());
    EXPECT_FALSE(fixture.folder.exists("d"));
    EXPECT_TRUE(fixture.precious_is_whole());
    fixture.folder.remove("moved");
  }
}

TEST(CleanerFolder, a_symlink_in_place_of_the_folder_is_reported_and_not_followed_T4) {
  for (const std::string slashes : {"", "/", "//"}) {
    Fixture fixture;
    fixture.folder.link("link", fixture.folder.path("precious"));
    const Status cleaned = fixture.clean(fixture.folder.path("link") + slashes);
    EXPECT_FALSE(cleaned);
    EXPECT_TRUE(fixture.precious_is_whole());
    EXPECT_TRUE(fixture.folder.exists("link"));
    fixture.folder.remove("link");
  }
}

TEST(CleanerFolder, a_slash_at_the_end_changes_nothing_T4) {
  for (const std::string slashes : {"", "/", "//"}) {
    Fixture fixture;
    fixture.folder.write("d/a");
    EXPECT_TRUE(fixture.clean(fixture.folder.path("d") + slashes));
    EXPECT_FALSE(fixture.folder.exists("d"));
  }
}

TEST(CleanerFolder, a_file_in_place_of_the_folder_is_reported_and_stays_T4) {
  Fixture fixture;
  fixture.folder.write("f");
  const Status cleaned = fixture.clean(fixture.folder.path("f"));
  ASSERT_FALSE(cleaned);
  EXPECT_EQ(cleaned.error().code, std::errc::not_a_directory);
  EXPECT_TRUE(fixture.folder.exists("f"));
  fixture.folder.remove("f");
}

TEST(CleanerFolder, a_deep_folder_goes_T4) {
  Fixture fixture;
  std::string deep = "d";
  for (int level = 0; level < 100; ++level) {
    deep += "/e";
  }
  fixture.folder.make_folder(deep);
  EXPECT_TRUE(fixture.clean());
  EXPECT_FALSE(fixture.folder.exists("d"));
  EXPECT_EQ(fixture.os.open_fds(), 0U);
}

}  // namespace
}  // namespace lastref::tracker
