// cleaner_folder_test: the recursive delete, with other parties at work in the same folder.
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

/// A folder "d" to delete, and a folder "precious" that lies beside it.
class Ground {
 public:
  Ground() {
    folder.make_folder("precious/deep");
    folder.write("precious/file", "kept");
    folder.write("precious/deep/file", "kept");
    folder.make_folder("d");
  }
  Ground(const Ground&) = delete;
  Ground& operator=(const Ground&) = delete;
  ~Ground() {
    folder.remove("precious");
    folder.remove("d");
  }

  bool precious_is_whole() const {
    return folder.read("precious/file") == "kept" && folder.read("precious/deep/file") == "kept";
  }
  /// How the delete of `name` ends.
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
  std::size_t parent = 0;  ///< Of the folders that there are.
};

std::ostream& operator<<(std::ostream& out, const Thing& thing) {
  return out << "kind " << static_cast<int>(thing.kind) << " in " << thing.parent;
}

void plant(const Ground& ground, const std::vector<Thing>& things) {
  std::vector<std::string> folders{"d"};
  for (std::size_t index = 0; index < things.size(); ++index) {
    const std::string name =
        folders[things[index].parent % folders.size()] + "/" + std::to_string(index);
    switch (things[index].kind) {
      case Kind::file:
        ground.folder.write(name);
        break;
      case Kind::folder:
        ground.folder.make_folder(name);
        folders.push_back(name);
        break;
      case Kind::link_to_file:
        ground.folder.link(name, ground.folder.path("precious/file"));
        break;
      case Kind::link_to_folder:
        ground.folder.link(name, ground.folder.path("precious"));
        break;
      case Kind::dangling_link:
        ground.folder.link(name, "nowhere");
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
  Ground ground;
  plant(ground, any_things());
  RC_ASSERT(ground.clean().has_value());
  RC_ASSERT(!ground.folder.exists("d"));
  RC_ASSERT(ground.precious_is_whole());
  RC_ASSERT(ground.os.clock == 0s);
  RC_ASSERT(ground.os.open_fds() == 0U);
}

RC_GTEST_PROP(FolderProperties, one_failure_anywhere_is_made_good_by_the_next_attempt_T4_T7, ()) {
  Ground ground;
  plant(ground, any_things());
  const auto at = *rc::gen::inRange<std::size_t>(0, 60);
  const auto which = *rc::gen::inRange<std::size_t>(0, 12);
  std::size_t crossed = 0;
  ground.os.director = [&](const Crossing& crossing) -> Decision {
    if (crossed++ != at) {
      return {};
    }
    const auto errnos = row_of(crossing.call).errnos;
    return {.fate = Fate::fail, .code = static_cast<std::errc>(errnos[which % errnos.size()])};
  };
  RC_ASSERT(ground.clean().has_value());
  ground.os.director = {};
  RC_ASSERT(ground.os.open_fds() == 0U);
  RC_ASSERT(ground.os.clock <= 200ms);
  if (ground.folder.exists("d")) {
    // It was told that the folder itself is gone, and believed it.
    RC_ASSERT(ground.os.crossings.back().subject == ground.folder.path("d"));
  }
  RC_ASSERT(ground.precious_is_whole());
}

TEST(CleanerFolder, a_refusal_is_reported_after_ten_attempts_and_everything_else_is_gone_T4_T7) {
  Ground ground;
  ground.folder.make_folder("d/e");
  ground.folder.write("d/e/kept");
  ground.folder.write("d/e/f");
  ground.folder.write("d/g");
  ground.os.director = [](const Crossing& crossing) {
    return crossing == Crossing{Call::unlink, "kept"}
               ? Decision{.fate = Fate::fail, .code = std::errc::permission_denied}
               : Decision{};
  };
  const Status cleaned = ground.clean();
  ASSERT_FALSE(cleaned);
  EXPECT_EQ(cleaned.error().code, std::errc::permission_denied);
  EXPECT_EQ(cleaned.error().subject, "kept");
  EXPECT_EQ(ground.os.clock, 1800ms);
  EXPECT_EQ(std::ranges::count(ground.os.crossings, Crossing{Call::unlink, "kept"}), 10);
  EXPECT_FALSE(ground.folder.exists("d/e/f"));
  EXPECT_FALSE(ground.folder.exists("d/g"));
  EXPECT_EQ(ground.os.open_fds(), 0U);
}

TEST(CleanerFolder, an_empty_folder_that_nobody_may_enter_goes_T4) {
  Ground ground;
  ground.folder.make_folder("d/e");
  ground.os.director = [](const Crossing& crossing) {
    return crossing == Crossing{Call::open, "e"}
               ? Decision{.fate = Fate::fail, .code = std::errc::permission_denied}
               : Decision{};
  };
  EXPECT_TRUE(ground.clean());
  EXPECT_FALSE(ground.folder.exists("d"));
}

TEST(CleanerFolder, files_that_others_add_meanwhile_go_with_the_next_attempt_T4) {
  Ground ground;
  int added = 0;
  ground.os.director = [&](const Crossing& crossing) {
    if (crossing.call == Call::remove_folder && added < 5) {
      ground.folder.write("d/" + std::to_string(added++));
    }
    return Decision{};
  };
  EXPECT_TRUE(ground.clean());
  EXPECT_EQ(ground.os.clock, 1s);
  EXPECT_FALSE(ground.folder.exists("d"));
}

TEST(CleanerFolder, what_others_remove_meanwhile_is_no_error_T4) {
  Ground ground;
  ground.folder.make_folder("d/e/f");
  ground.folder.write("d/e/f/g");
  std::size_t crossed = 0;
  ground.os.director = [&](const Crossing&) {
    if (crossed++ == 4) {
      ground.folder.remove("d");
    }
    return Decision{};
  };
  EXPECT_TRUE(ground.clean());
  EXPECT_EQ(ground.os.clock, 0s);
  EXPECT_EQ(ground.os.open_fds(), 0U);
}

TEST(CleanerFolder, a_folder_that_becomes_a_symlink_meanwhile_is_not_followed_T4) {
  // At every call in turn: the folder inside is moved away, and a symlink takes its place.
  for (std::size_t at = 0; at < 20; ++at) {
    Ground ground;
    ground.folder.make_folder("d/e");
    ground.folder.write("d/e/f");
    std::size_t crossed = 0;
    ground.os.director = [&](const Crossing&) {
      if (crossed++ == at && ground.folder.exists("d/e")) {
        fs::rename(ground.folder.path("d/e"), ground.folder.path("moved"));
        ground.folder.link("d/e", ground.folder.path("precious"));
      }
      return Decision{};
    };
    EXPECT_TRUE(ground.clean());
    EXPECT_FALSE(ground.folder.exists("d"));
    EXPECT_TRUE(ground.precious_is_whole());
    ground.folder.remove("moved");
  }
}

TEST(CleanerFolder, a_symlink_in_place_of_the_folder_is_reported_and_not_followed_T4) {
  for (const std::string slashes : {"", "/", "//"}) {
    Ground ground;
    ground.folder.link("link", ground.folder.path("precious"));
    const Status cleaned = ground.clean(ground.folder.path("link") + slashes);
    EXPECT_FALSE(cleaned);
    EXPECT_TRUE(ground.precious_is_whole());
    EXPECT_TRUE(ground.folder.exists("link"));
    ground.folder.remove("link");
  }
}

TEST(CleanerFolder, a_slash_at_the_end_changes_nothing_T4) {
  for (const std::string slashes : {"", "/", "//"}) {
    Ground ground;
    ground.folder.write("d/a");
    EXPECT_TRUE(ground.clean(ground.folder.path("d") + slashes));
    EXPECT_FALSE(ground.folder.exists("d"));
  }
}

TEST(CleanerFolder, a_file_in_place_of_the_folder_is_reported_and_stays_T4) {
  Ground ground;
  ground.folder.write("f");
  const Status cleaned = ground.clean(ground.folder.path("f"));
  ASSERT_FALSE(cleaned);
  EXPECT_EQ(cleaned.error().code, std::errc::not_a_directory);
  EXPECT_TRUE(ground.folder.exists("f"));
  ground.folder.remove("f");
}

TEST(CleanerFolder, a_deep_folder_goes_T4) {
  Ground ground;
  std::string deep = "d";
  for (int level = 0; level < 100; ++level) {
    deep += "/e";
  }
  ground.folder.make_folder(deep);
  EXPECT_TRUE(ground.clean());
  EXPECT_FALSE(ground.folder.exists("d"));
  EXPECT_EQ(ground.os.open_fds(), 0U);
}

}  // namespace
}  // namespace lastref::tracker
