// cleaner_test: clean-up of real names, with a clock that only the test moves; and the recursive
// delete, with other processes at work in the same folder.
#include "impl/tracker/cleaner.hpp"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "property_tests/impl/tracker/generators.hpp"
#include "property_tests/impl/tracker/pretend_process.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref::tracker {
namespace {

using pretend::Crossing;
using pretend::Decision;
using pretend::Fate;
using pretend::FreshFolder;
using pretend::PretendProcess;
using pretend::RecordLocks;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

using namespace std::chrono_literals;

constexpr Decision fail_with(std::errc code) {
  return {.fate = Fate::fail, .code = code};
}

class Cleaning : public testing::Test {
 protected:
  /// Steps until nothing is left to do; the clock moves from one due time to the next.
  std::vector<Cleaned> finish() {
    std::vector<Cleaned> all;
    while (const auto due = cleaner_.due()) {
      os_.clock = std::max(os_.clock, *due);
      for (Cleaned& cleaned : cleaner_.step(os_.clock)) {
        all.push_back(std::move(cleaned));
      }
    }
    EXPECT_TRUE(cleaner_.empty());
    return all;
  }
  Resource file(const std::string& name) const {
    return {.type = ResourceType::file, .name = folder_.path(name)};
  }
  Resource folder(const std::string& name) const {
    return {.type = ResourceType::folder, .name = folder_.path(name)};
  }
  /// Every removal of `name` fails with these codes in turn, then works.
  void refuse(const std::string& name, std::vector<std::errc> codes) {
    os_.director = [this, name, codes, next = std::size_t{0}](const Crossing& crossing) mutable {
      const bool removes = crossing.call == Call::unlink || crossing.call == Call::unlink_shm ||
                           crossing.call == Call::unlink_semaphore;
      if (!removes || crossing.subject != name) {
        return Decision{};
      }
      times_.push_back(os_.clock);
      return next < codes.size() ? fail_with(codes[next++]) : Decision{};
    };
  }

  FreshFolder folder_;
  RecordLocks locks_;
  PretendProcess os_{locks_};
  Cleaner cleaner_{os_};
  std::vector<os::Instant> times_;
};

TEST_F(Cleaning, a_file_is_unlinked_by_one_call_T4) {
  folder_.write("a");
  cleaner_.add(file("a"));
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(1));
  EXPECT_EQ(cleaned[0].resource, file("a"));
  EXPECT_TRUE(cleaned[0].status);
  EXPECT_EQ(os_.crossings, std::vector({Crossing{Call::unlink, folder_.path("a")}}));
}

TEST_F(Cleaning, shared_memory_and_semaphores_are_unlinked_by_one_call_T4) {
  const std::string name = "/" + pretend::unique_text();
  const auto fd = os_.create_shm(name, 0600);
  ASSERT_TRUE(fd);
  const os::UniqueFd owner(os_, *fd);
  ASSERT_TRUE(os_.create_semaphore(name, 0600));
  cleaner_.add({.type = ResourceType::shm, .name = name});
  cleaner_.add({.type = ResourceType::semlock, .name = name});
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(2));
  EXPECT_TRUE(cleaned[0].status);
  EXPECT_TRUE(cleaned[1].status);
  EXPECT_EQ(os_.count_of(Call::unlink_shm), 1U);
  EXPECT_EQ(os_.count_of(Call::unlink_semaphore), 1U);
  EXPECT_FALSE(os_.unlink_shm(name));
  EXPECT_FALSE(os_.unlink_semaphore(name));
}

TEST_F(Cleaning, a_probe_is_never_cleaned_T4) {
  folder_.write("a");
  cleaner_.add({.type = ResourceType::noop, .name = folder_.path("a")});
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(1));
  EXPECT_TRUE(cleaned[0].status);
  EXPECT_THAT(os_.crossings, IsEmpty());
  folder_.remove("a");
}

TEST_F(Cleaning, a_missing_name_is_clean_after_one_call_T7) {
  const std::string nobodys = "/" + pretend::unique_text();
  for (const Resource& missing : {file("a"),
                                  file("no/such/folder"),
                                  Resource{.type = ResourceType::shm, .name = nobodys},
                                  Resource{.type = ResourceType::semlock, .name = nobodys},
                                  folder("d")}) {
    os_.crossings.clear();
    cleaner_.add(missing);
    const auto cleaned = finish();
    ASSERT_THAT(cleaned, SizeIs(1));
    EXPECT_TRUE(cleaned[0].status);
    EXPECT_THAT(os_.crossings, SizeIs(1)) << to_text(missing);
  }
  EXPECT_EQ(os_.clock, 0s);
}

TEST_F(Cleaning, a_successor_of_a_missing_file_survives_T7) {
  refuse(folder_.path("a"), {std::errc::no_such_file_or_directory});
  cleaner_.add(file("a"));
  cleaner_.step(os_.clock);
  folder_.write("a");
  os_.clock += 10s;
  cleaner_.step(os_.clock);
  EXPECT_THAT(times_, SizeIs(1));
  EXPECT_TRUE(cleaner_.empty());
  EXPECT_TRUE(folder_.exists("a"));
  folder_.remove("a");
}

TEST_F(Cleaning, a_file_that_vanishes_between_attempts_ends_there_and_its_successor_survives_T7) {
  refuse(folder_.path("a"), {std::errc::permission_denied, std::errc::no_such_file_or_directory});
  folder_.write("a");
  cleaner_.add(file("a"));
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(1));
  EXPECT_TRUE(cleaned[0].status);
  EXPECT_THAT(times_, ElementsAre(0ms, 200ms));
  EXPECT_TRUE(folder_.exists("a"));
  folder_.remove("a");
}

struct Refusal {
  const char* name;
  std::errc code;
  std::size_t attempts;
};

void PrintTo(const Refusal& refusal, std::ostream* out) {
  *out << refusal.name;
}

const Refusal refusals[] = {
    {"permission_denied", std::errc::permission_denied, 10},
    {"operation_not_permitted", std::errc::operation_not_permitted, 10},
    {"busy", std::errc::device_or_resource_busy, 1},
    {"io_error", std::errc::io_error, 1},
    {"read_only", std::errc::read_only_file_system, 1},
    {"is_a_folder", std::errc::is_a_directory, 1},
};

class RefusedCleaning : public Cleaning, public testing::WithParamInterface<Refusal> {};

TEST_P(RefusedCleaning, is_tried_so_often_two_tenths_of_a_second_apart_and_reported_T7) {
  const std::string shm = "/" + pretend::unique_text();
  for (const Resource& resource : {file("a"),
                                   Resource{.type = ResourceType::shm, .name = shm},
                                   Resource{.type = ResourceType::semlock, .name = shm}}) {
    os_.clock = 0s;
    times_.clear();
    refuse(resource.name, std::vector(20, GetParam().code));
    cleaner_.add(resource);
    const auto cleaned = finish();
    ASSERT_THAT(cleaned, SizeIs(1));
    EXPECT_EQ(cleaned[0].resource, resource);
    ASSERT_FALSE(cleaned[0].status);
    EXPECT_EQ(cleaned[0].status.error().code, GetParam().code);
    std::vector<os::Instant> expected;
    for (std::size_t attempt = 0; attempt < GetParam().attempts; ++attempt) {
      expected.push_back(attempt * 200ms);
    }
    EXPECT_EQ(times_, expected);
  }
}

INSTANTIATE_TEST_SUITE_P(Cleaner,
                         RefusedCleaning,
                         testing::ValuesIn(refusals),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_F(Cleaning, a_refused_file_goes_as_soon_as_it_may_T7) {
  for (std::size_t refused = 0; refused < 10; ++refused) {
    os_.clock = 0s;
    times_.clear();
    folder_.write("a");
    refuse(folder_.path("a"), std::vector(refused, std::errc::permission_denied));
    cleaner_.add(file("a"));
    const auto cleaned = finish();
    ASSERT_THAT(cleaned, SizeIs(1));
    EXPECT_TRUE(cleaned[0].status);
    EXPECT_THAT(times_, SizeIs(refused + 1));
    EXPECT_FALSE(folder_.exists("a"));
  }
}

TEST_F(Cleaning, a_pause_is_not_cut_short_by_steps_in_between_T7) {
  refuse(folder_.path("a"), std::vector(20, std::errc::permission_denied));
  cleaner_.add(file("a"));
  for (; !cleaner_.empty(); os_.clock += 1ms) {
    cleaner_.step(os_.clock);
  }
  ASSERT_THAT(times_, SizeIs(10));
  EXPECT_EQ(times_.back(), 1800ms);
}

TEST_F(Cleaning, a_refused_file_keeps_no_other_from_its_end_T10) {
  folder_.write("b");
  refuse(folder_.path("a"), std::vector(20, std::errc::permission_denied));
  cleaner_.add(file("a"));
  cleaner_.add(file("b"));
  const auto cleaned = cleaner_.step(os_.clock);
  ASSERT_THAT(cleaned, SizeIs(1));
  EXPECT_EQ(cleaned[0].resource, file("b"));
  EXPECT_EQ(cleaner_.due(), std::optional<os::Instant>(200ms));
  finish();
}

TEST_F(Cleaning, a_folder_waits_for_every_name_queued_before_it_T5) {
  folder_.make_folder("d");
  folder_.write("d/a");
  folder_.write("d/b");
  refuse(folder_.path("d/a"), std::vector(3, std::errc::permission_denied));
  cleaner_.add(file("d/a"));
  cleaner_.add(file("d/b"));
  cleaner_.add(folder("d"));
  std::vector<Resource> order;
  for (const Cleaned& cleaned : finish()) {
    EXPECT_TRUE(cleaned.status);
    order.push_back(cleaned.resource);
  }
  EXPECT_THAT(order, ElementsAre(file("d/b"), file("d/a"), folder("d")));
  EXPECT_EQ(os_.clock, 600ms);
}

TEST_F(Cleaning, a_folder_waits_even_for_a_name_that_stays_and_goes_then_T5) {
  folder_.make_folder("d");
  refuse(folder_.path("a"), std::vector(20, std::errc::permission_denied));
  cleaner_.add(file("a"));
  cleaner_.add(folder("d"));
  os_.clock = 1s;
  cleaner_.step(os_.clock);
  EXPECT_TRUE(folder_.exists("d"));
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(2));
  EXPECT_FALSE(cleaned[0].status);
  EXPECT_TRUE(cleaned[1].status);
}

TEST_F(Cleaning, a_queued_name_is_taken_back_and_left_alone_T6) {
  folder_.write("a");
  folder_.write("b");
  folder_.make_folder("d");
  for (const Resource& resource : {file("a"), file("b"), folder("d")}) {
    cleaner_.add(resource);
    EXPECT_FALSE(cleaner_.is_under_way(resource));
  }
  cleaner_.cancel(file("a"));
  cleaner_.cancel(folder("d"));
  cleaner_.cancel(file("unknown"));
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(1));
  EXPECT_EQ(cleaned[0].resource, file("b"));
  EXPECT_THAT(folder_.names(), ElementsAre("a", "d"));
  folder_.remove("a");
  folder_.remove("d");
}

TEST_F(Cleaning, a_refused_file_is_taken_back_between_attempts_T6) {
  folder_.write("a");
  refuse(folder_.path("a"), {std::errc::permission_denied});
  cleaner_.add(file("a"));
  cleaner_.step(os_.clock);
  EXPECT_FALSE(cleaner_.is_under_way(file("a")));
  cleaner_.cancel(file("a"));
  EXPECT_TRUE(cleaner_.empty());
  EXPECT_EQ(cleaner_.due(), std::nullopt);
  EXPECT_TRUE(folder_.exists("a"));
  folder_.remove("a");
}

TEST_F(Cleaning, a_folder_that_was_entered_is_under_way_until_it_ends_T6) {
  folder_.make_folder("d");
  for (int i = 0; i < 200; ++i) {
    folder_.write("d/" + std::to_string(i));
  }
  cleaner_.add(folder("d"));
  int steps = 0;
  while (!cleaner_.empty()) {
    EXPECT_EQ(cleaner_.is_under_way(folder("d")), steps > 0);
    EXPECT_FALSE(cleaner_.is_under_way(file("d")));
    if (steps > 0) {
      cleaner_.cancel(folder("d"));
    }
    cleaner_.step(os_.clock);
    ++steps;
  }
  EXPECT_GT(steps, 3);
  EXPECT_FALSE(cleaner_.is_under_way(folder("d")));
}

TEST_F(Cleaning, a_folder_that_was_refused_is_under_way_between_attempts_T6) {
  folder_.make_folder("d");
  folder_.write("d/a");
  refuse("a", {std::errc::operation_not_permitted});
  cleaner_.add(folder("d"));
  EXPECT_THAT(cleaner_.step(os_.clock), IsEmpty());
  EXPECT_EQ(cleaner_.due(), std::optional<os::Instant>(200ms));
  EXPECT_TRUE(cleaner_.is_under_way(folder("d")));
  cleaner_.cancel(folder("d"));
  const auto cleaned = finish();
  ASSERT_THAT(cleaned, SizeIs(1));
  EXPECT_TRUE(cleaned[0].status);
  EXPECT_FALSE(folder_.exists("d"));
}

TEST_F(Cleaning, a_step_makes_a_bounded_number_of_calls_on_many_files_T10) {
  constexpr std::size_t files = 1000;
  for (std::size_t i = 0; i < files; ++i) {
    cleaner_.add(file(std::to_string(i)));
  }
  std::size_t ended = 0;
  while (!cleaner_.empty()) {
    os_.crossings.clear();
    ended += cleaner_.step(os_.clock).size();
    ASSERT_LE(os_.crossings.size(), 100U);
    ASSERT_GT(os_.crossings.size(), 0U);
  }
  EXPECT_EQ(ended, files);
}

TEST_F(Cleaning, a_step_makes_a_bounded_number_of_calls_on_a_huge_folder_T10) {
  folder_.make_folder("d");
  for (int i = 0; i < 10'000; ++i) {
    folder_.write("d/" + std::to_string(i), "");
  }
  cleaner_.add(folder("d"));
  while (!cleaner_.empty()) {
    os_.crossings.clear();
    for (const Cleaned& cleaned : cleaner_.step(os_.clock)) {
      EXPECT_TRUE(cleaned.status);
    }
    ASSERT_LE(os_.crossings.size(), 100U);
    ASSERT_GT(os_.crossings.size(), 0U);
  }
  EXPECT_EQ(os_.clock, 0s);
  EXPECT_EQ(os_.open_fds(), 0U);
}

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
    const auto errors = row_of(crossing.call).errors;
    return {.fate = Fate::fail,
            .code = static_cast<std::errc>(errors[which % errors.size()].error)};
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

TEST(CleanerFolder, what_is_below_a_file_does_not_exist_T4) {
  Fixture fixture;
  fixture.folder.write("f");
  EXPECT_TRUE(fixture.clean(fixture.folder.path("f/d")));
  EXPECT_TRUE(fixture.clean(fixture.folder.path("f/d/e/")));
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
