// contexts_test: contexts of temporary files, from their first file to every kind of clean-up.
#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>
#include <rapidcheck/state.h>

#include <lastref/joblib.hpp>

#include "property_tests/impl/resources/manager_fixture.hpp"
#include "property_tests/support/exclusive_lock.hpp"

namespace lastref {
namespace {

using pretend::Crossing;
using pretend::file_at;
using pretend::ManagerFixture;
using pretend::must;
using testing::IsEmpty;
using testing::SizeIs;

joblib::TemporaryResourcesManager joblib_of(const ManagerFixture& fixture) {
  return joblib::TemporaryResourcesManager(*fixture.resources);
}

TEST(Contexts, make_and_register_nothing_before_the_first_file_M2) {
  ManagerFixture fixture;
  EXPECT_TRUE(fixture.resources->register_new_context("a"));
  EXPECT_TRUE(fixture.resources->set_current_context("b"));
  EXPECT_TRUE(fixture.resources->set_current_context("b"));
  EXPECT_TRUE(must(fixture.resources->resolve_temp_folder_name()).path.ends_with("_b"));
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_TRUE(joblib_of(fixture).clean_temporary_resources("a"));
  EXPECT_TRUE(joblib_of(fixture).clean_temporary_resources());
  fixture.resources.reset();
  EXPECT_EQ(fixture.counts.said("register"), 0U);
  EXPECT_EQ(fixture.counts.said("release"), 0U);
  EXPECT_EQ(fixture.counts.said("forget"), 0U);
  EXPECT_EQ(fixture.os.count_of(Call::make_folder), 0U);
  EXPECT_EQ(fixture.os.hooks(), 0U);
}

TEST(Contexts, say_which_folder_they_have_made_E4) {
  ManagerFixture fixture;
  const auto file = must(fixture.publish());
  const std::string path = must(fixture.resources->resolve_temp_folder_name()).path;
  const auto status = must(fixture.os.status_at(path));
  ASSERT_TRUE(fixture.counts.identities.contains(path));
  EXPECT_EQ(fixture.counts.identities.at(path), os::identity_of(status));
  EXPECT_TRUE(fixture.resources->release(*file));
}

TEST(Contexts, take_back_which_folder_it_was_before_they_make_it_anew_E4_M3) {
  ManagerFixture fixture;
  must(fixture.publish());
  const std::string path = must(fixture.resources->resolve_temp_folder_name()).path;
  std::filesystem::remove_all(fixture.os.real(path));
  std::size_t made = 0;
  fixture.os.after = [&](const Crossing& crossing) {
    if (crossing.call == Call::make_folder) {
      EXPECT_FALSE(fixture.counts.identities.contains(path));
      ++made;
    }
  };
  must(fixture.publish());
  EXPECT_EQ(made, 1U);
  EXPECT_EQ(fixture.counts.identities.at(path), os::identity_of(must(fixture.os.status_at(path))));
}

TEST(Contexts, keep_what_removes_by_age_out_of_their_folder_M7) {
  ManagerFixture fixture;
  const auto file = must(fixture.publish());
  const std::string path = must(fixture.resources->resolve_temp_folder_name()).path;
  EXPECT_FALSE(pretend::ExclusiveLock(path).can_be_had());
}

TEST(Contexts, say_which_file_they_make_before_it_has_its_name_E4) {
  ManagerFixture fixture;
  std::vector<std::string> registered;
  fixture.counts.before = [&](const std::string& operation, const std::string& path) {
    if (operation == "register" && path.ends_with(".npy")) {
      registered.push_back(path);
      EXPECT_FALSE(fixture.os.status_at(path));
    }
  };
  const auto file = must(fixture.publish());
  EXPECT_THAT(registered, testing::ElementsAre(file->path()));
  ASSERT_TRUE(fixture.counts.identities.contains(file->path()));
  EXPECT_EQ(fixture.counts.identities.at(file->path()),
            os::identity_of(must(fixture.os.status_at(file->path()))));
  EXPECT_TRUE(fixture.resources->release(*file));
}

TEST(Contexts, name_their_folder_M2) {
  ManagerFixture fixture;
  fixture.os.pid = 4711;
  const auto named = [&](TemporaryResourcesOptions options) {
    options.root = fixture.folder.path();
    return must(fixture.make(std::move(options))->resolve_temp_folder_name());
  };
  const std::string start = fixture.folder.path("lastref_memmapping_folder_4711_");
  const TempFolder mine = named({.context = "mine"});
  EXPECT_TRUE(std::regex_match(mine.path, std::regex(start + "[0-9a-f]{32}_mine")));
  EXPECT_FALSE(mine.use_shared_mem);
  EXPECT_TRUE(std::regex_match(named({}).path, std::regex(start + "[0-9a-f]{32}_[0-9a-f]{32}")));
  EXPECT_NE(named({}).path, named({}).path);
  EXPECT_NE(named({.context = "mine"}).path, mine.path);
}

TEST(Contexts, have_ids_that_can_be_part_of_a_name_M2) {
  ManagerFixture fixture;
  for (const std::string& id :
       {std::string(), std::string("a/b"), std::string("a\0b", 3), std::string(129, 'a')}) {
    const Status set = fixture.resources->set_current_context(id);
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, std::errc::invalid_argument);
    EXPECT_FALSE(fixture.resources->register_new_context(id));
    EXPECT_FALSE(TemporaryResources::make(fixture.os, fixture.parent, {.context = id}));
  }
  for (const std::string& id : {std::string(128, 'a'), std::string(".."), std::string("\n é")}) {
    EXPECT_TRUE(fixture.resources->set_current_context(id));
    const auto file = fixture.publish();
    ASSERT_TRUE(file);
    EXPECT_TRUE(fixture.os.status_at((*file)->path()));
  }
}

TEST(Contexts, name_their_files_and_hold_each_once_R4_M3) {
  ManagerFixture fixture;
  const auto file = must(fixture.publish());
  const std::string folder = must(fixture.resources->resolve_temp_folder_name()).path;
  const std::string name = std::to_string(fixture.os.pid) + "-" +
                           std::to_string(fixture.os.thread_id()) + "-[0-9a-f]{32}\\.npy";
  EXPECT_TRUE(std::regex_match(file->path(), std::regex(folder + "/" + name)));
  EXPECT_EQ(fixture.counts.of(file->path()), 1U);
  EXPECT_EQ(fixture.counts.of(folder), 1U);
  EXPECT_EQ(fixture.os.hooks(), 1U);
  const auto other = must(fixture.publish());
  EXPECT_NE(other->path(), file->path());
  EXPECT_EQ(fixture.counts.of(folder), 1U);
  EXPECT_EQ(fixture.os.hooks(), 1U);
  {
    const auto lent = must(fixture.resources->lend(*file));
    ASSERT_TRUE(lent);
    EXPECT_EQ(fixture.counts.of(file->path()), 2U);
  }
  EXPECT_EQ(fixture.counts.of(file->path()), 1U);
  EXPECT_TRUE(fixture.resources->release(*file));
  EXPECT_TRUE(fixture.resources->release(*file));
  EXPECT_EQ(fixture.counts.said("release", file->path()), 2U);
  EXPECT_EQ(must(fixture.resources->lend(*file)).has_value(), false);
  fixture.resources.reset();
  EXPECT_EQ(fixture.os.hooks(), 0U);
  EXPECT_TRUE(fixture.counts.empty());
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
}

TEST(CleanUp, twice_lets_go_once_and_receivers_keep_what_they_hold_M4_M5) {
  for (const bool old_verb : {true, false}) {
    ManagerFixture fixture;
    ASSERT_TRUE(fixture.resources->set_current_context("a"));
    const auto file = must(fixture.publish());
    const auto gone = must(fixture.publish());
    ASSERT_TRUE(fixture.worker->hold(file_at(file->path())));
    ASSERT_TRUE(fixture.worker->hold(file_at(file->path())));
    const auto clean = [&](const std::optional<std::string>& context) {
      return old_verb ? joblib_of(fixture).unlink_temporary_resources(context)
                      : joblib_of(fixture).clean_temporary_resources(context);
    };
    EXPECT_TRUE(clean("a"));
    EXPECT_TRUE(clean("a"));
    EXPECT_TRUE(clean("never"));
    EXPECT_TRUE(clean(std::nullopt));
    EXPECT_TRUE(fixture.os.status_at(file->path()));
    EXPECT_FALSE(fixture.os.status_at(gone->path()));
    EXPECT_EQ(fixture.counts.said("release", file->path()), 1U);
    EXPECT_EQ(fixture.counts.of(file->path()), 2U);
    EXPECT_EQ(fixture.os.hooks(), 0U);
    fixture.resources.reset();
    EXPECT_TRUE(fixture.os.status_at(file->path()));
    EXPECT_TRUE(fixture.worker->release(file_at(file->path())));
    EXPECT_TRUE(fixture.os.status_at(file->path()));
    EXPECT_TRUE(fixture.worker->release(file_at(file->path())));
    EXPECT_THAT(fixture.folder.names(), IsEmpty());
    EXPECT_TRUE(fixture.counts.empty());
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  }
}

TEST(CleanUp, by_force_ends_every_name_and_deletes_what_is_there_M5) {
  for (const bool attributed : {true, false}) {
    ManagerFixture fixture(attributed);
    const auto file = must(fixture.publish());
    ASSERT_TRUE(fixture.worker->hold(file_at(file->path())));
    fixture.folder.write(file->path().substr(fixture.folder.path().size() + 1) + ".stranger");
    EXPECT_TRUE(joblib_of(fixture).clean_temporary_resources({}, {.force = true}));
    EXPECT_THAT(fixture.folder.names(), IsEmpty());
    EXPECT_TRUE(fixture.counts.empty());
    EXPECT_EQ(fixture.counts.said("forget", file->path()), 1U);
    EXPECT_EQ(fixture.counts.said("release"), 0U);
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
    EXPECT_EQ(fixture.os.hooks(), 0U);
  }
}

TEST(CleanUp, that_allows_a_folder_with_contents_lets_go_and_deletes_M5) {
  ManagerFixture fixture;
  const auto file = must(fixture.publish());
  ASSERT_TRUE(fixture.worker->hold(file_at(file->path())));
  EXPECT_TRUE(joblib_of(fixture).clean_temporary_resources({}, {.allow_non_empty = true}));
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_EQ(fixture.counts.of(file->path()), 1U);
  EXPECT_TRUE(fixture.worker->release(file_at(file->path())));
  EXPECT_TRUE(fixture.counts.empty());
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
}

TEST(CleanUp, of_names_leaves_the_files_M4) {
  ManagerFixture fixture;
  ASSERT_TRUE(fixture.resources->set_current_context("a"));
  const auto file = must(fixture.publish());
  ASSERT_TRUE(fixture.worker->hold(file_at(file->path())));
  EXPECT_TRUE(joblib_of(fixture).unregister_temporary_resources("never"));
  EXPECT_EQ(fixture.counts.of(file->path()), 2U);
  EXPECT_TRUE(joblib_of(fixture).unregister_temporary_resources("a"));
  EXPECT_TRUE(joblib_of(fixture).unregister_temporary_resources());
  EXPECT_EQ(fixture.counts.of(file->path()), 0U);
  EXPECT_EQ(fixture.counts.said("forget", file->path()), 1U);
  EXPECT_TRUE(fixture.os.status_at(file->path()));
  EXPECT_EQ(must(fixture.resources->lend(*file)).has_value(), false);
  // The context remains usable.
  EXPECT_TRUE(fixture.publish());
  EXPECT_TRUE(joblib_of(fixture).clean_temporary_resources());
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_TRUE(fixture.counts.empty());
}

TEST(CleanUp, of_the_folder_alone_leaves_it_to_the_end_if_it_is_not_empty_M4_M6) {
  for (const bool attributed : {true, false}) {
    ManagerFixture fixture(attributed);
    const auto file = must(fixture.publish());
    EXPECT_TRUE(joblib_of(fixture).try_delete_folder(/*allow_non_empty=*/false));
    EXPECT_TRUE(fixture.os.status_at(file->path()));
    EXPECT_EQ(fixture.os.said, "");
    EXPECT_FALSE(fixture.publish());
    EXPECT_EQ(fixture.os.hooks(), 1U);
    EXPECT_EQ(fixture.counts.of(file->path()), 1U);
    fixture.resources.reset();
    EXPECT_THAT(fixture.folder.names(), IsEmpty());
    EXPECT_TRUE(fixture.counts.empty());
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  }
}

TEST(CleanUp, of_a_folder_with_contents_ends_their_names_M4) {
  for (const bool attributed : {true, false}) {
    ManagerFixture fixture(attributed);
    ASSERT_TRUE(fixture.publish());
    EXPECT_TRUE(joblib_of(fixture).try_delete_folder(/*allow_non_empty=*/true));
    EXPECT_THAT(fixture.folder.names(), IsEmpty());
    EXPECT_THAT(fixture.counts.names(ResourceType::folder), IsEmpty());
    // Removed files are not counted any more.
    EXPECT_THAT(fixture.counts.names(ResourceType::file), IsEmpty());
    EXPECT_EQ(fixture.os.hooks(), 0U);
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  }
}

TEST(CleanUp, without_attribution_deletes_an_empty_folder_and_leaves_another_to_the_end_M4_M5) {
  ManagerFixture fixture(/*attributed=*/false);
  ASSERT_TRUE(fixture.resources->set_current_context("a"));
  ASSERT_TRUE(fixture.publish());
  ASSERT_TRUE(fixture.resources->set_current_context("b"));
  const auto kept = must(fixture.publish());
  ASSERT_TRUE(fixture.worker->hold(file_at(kept->path())));
  EXPECT_TRUE(joblib_of(fixture).unlink_temporary_resources("a"));
  EXPECT_THAT(fixture.counts.names(ResourceType::folder), SizeIs(1));
  EXPECT_TRUE(joblib_of(fixture).unlink_temporary_resources("b"));
  EXPECT_TRUE(joblib_of(fixture).unlink_temporary_resources("b"));
  EXPECT_EQ(fixture.counts.of(kept->path()), 1U);
  EXPECT_TRUE(fixture.os.status_at(kept->path()));
  EXPECT_EQ(fixture.os.hooks(), 1U);
  EXPECT_TRUE(fixture.worker->release(file_at(kept->path())));
  fixture.os.end();
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_TRUE(fixture.counts.empty());
  fixture.resources.reset();
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  EXPECT_EQ(fixture.os.said, "");
}

TEST(CleanUp, forgets_a_context_whose_folder_is_absent_M5) {
  for (const bool attributed : {true, false}) {
    for (const bool force : {true, false}) {
      ManagerFixture fixture(attributed);
      ASSERT_TRUE(fixture.resources->set_current_context("a"));
      const auto file = must(fixture.publish());
      const auto folder = must(fixture.resources->resolve_temp_folder_name());
      fixture.folder.remove(folder.path.substr(fixture.folder.path().size() + 1));
      EXPECT_TRUE(joblib_of(fixture).clean_temporary_resources("a", {.force = force}));
      EXPECT_TRUE(fixture.counts.empty());
      EXPECT_EQ(fixture.os.hooks(), 0U);
      const auto late = fixture.publish();
      ASSERT_FALSE(late);
      EXPECT_EQ(late.error().code, std::errc::operation_canceled);
    }
  }
}

TEST(CleanUp, is_not_undone_by_who_comes_late_M2_M5) {
  ManagerFixture fixture;
  ASSERT_TRUE(fixture.resources->set_current_context("a"));
  const auto early = must(fixture.publish());
  EXPECT_TRUE(joblib_of(fixture).clean_temporary_resources("a"));
  const auto late = fixture.publish();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, std::errc::operation_canceled);
  EXPECT_EQ(fixture.resources->resolve_temp_folder_name().error().code,
            std::errc::operation_canceled);
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_TRUE(fixture.counts.empty());
  // After it is set again, the context works, with other names.
  EXPECT_TRUE(fixture.resources->register_new_context("a"));
  const auto again = must(fixture.publish());
  EXPECT_NE(again->path(), early->path());
  EXPECT_TRUE(joblib_of(fixture).clean_temporary_resources("a"));
  EXPECT_TRUE(fixture.counts.empty());
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
}

TEST(CleanUp, leaves_a_folder_to_the_context_if_that_comes_back_M2_M4) {
  for (const bool attributed : {true, false}) {
    ManagerFixture fixture(attributed);
    ASSERT_TRUE(fixture.resources->set_current_context("a"));
    const auto early = must(fixture.publish());
    EXPECT_TRUE(joblib_of(fixture).try_delete_folder(/*allow_non_empty=*/false));
    ASSERT_TRUE(fixture.resources->set_current_context("a"));
    const auto late = must(fixture.publish());
    EXPECT_EQ(fixture.os.hooks(), 1U);
    EXPECT_TRUE(fixture.os.status_at(early->path()));
    EXPECT_TRUE(joblib_of(fixture).clean_temporary_resources());
    EXPECT_THAT(fixture.folder.names(), IsEmpty());
    EXPECT_TRUE(fixture.counts.empty());
    EXPECT_EQ(fixture.os.hooks(), 0U);
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  }
}

TEST(CleanUp, of_a_folder_with_contents_leaves_their_references_to_receivers_M4) {
  ManagerFixture fixture;
  const auto file = must(fixture.publish());
  ASSERT_TRUE(fixture.worker->hold(file_at(file->path())));
  EXPECT_TRUE(joblib_of(fixture).try_delete_folder(/*allow_non_empty=*/true));
  EXPECT_EQ(fixture.counts.of(file->path()), 1U);
  EXPECT_TRUE(fixture.worker->release(file_at(file->path())));
  EXPECT_TRUE(fixture.counts.empty());
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
}

TEST(CleanUp, while_a_file_is_written_lets_it_go_too_M5_R12) {
  for (const bool attributed : {true, false}) {
    for (const bool force : {true, false}) {
      ManagerFixture fixture(attributed);
      ASSERT_TRUE(fixture.resources->set_current_context("a"));
      const auto late = fixture.resources->publish([&](os::Fd fd) {
        EXPECT_TRUE(joblib_of(fixture).clean_temporary_resources("a", {.force = force}));
        EXPECT_TRUE(fixture.resources->set_current_context("a"));
        return fixture.write(fd);
      });
      ASSERT_FALSE(late);
      EXPECT_THAT(fixture.counts.names(ResourceType::file), IsEmpty());
      fixture.resources.reset();
      EXPECT_THAT(fixture.folder.names(), IsEmpty());
      EXPECT_TRUE(fixture.counts.empty());
      EXPECT_THAT(fixture.counts.misuse, IsEmpty());
    }
  }
}

TEST(Manager, has_its_root_where_that_was_when_it_was_named_M1_E2) {
  for (const bool by_variable : {false, true}) {
    SCOPED_TRACE(by_variable);
    ManagerFixture fixture;
    fixture.folder.make_folder("here");
    fixture.folder.make_folder("elsewhere");
    {
      const pretend::WorkingFolder inside(fixture.folder.path("here"));
      if (by_variable) {
        fixture.os.variables["LASTREF_TEMP_FOLDER"] = "sub";
      }
      fixture.resources = fixture.make(by_variable ? TemporaryResourcesOptions{}
                                                   : TemporaryResourcesOptions{.root = "sub"});
    }
    const pretend::WorkingFolder gone(fixture.folder.path("elsewhere"));
    for (const char* context : {"a", "b"}) {
      ASSERT_TRUE(fixture.resources->set_current_context(context));
      EXPECT_TRUE(must(fixture.publish())->path().starts_with(fixture.folder.path("here/sub/")));
    }
    fixture.resources.reset();
    fixture.folder.remove("here");
    fixture.folder.remove("elsewhere");
  }
  ManagerFixture fixture;
  const auto deep =
      TemporaryResources::make(fixture.os, fixture.parent, {.root = std::string(5000, 'x')});
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, std::errc::filename_too_long);
}

TEST(Manager, deletes_what_is_left_when_it_goes_M3) {
  ManagerFixture fixture;
  ASSERT_TRUE(fixture.resources->set_current_context("a"));
  ASSERT_TRUE(fixture.publish());
  ASSERT_TRUE(fixture.resources->set_current_context("b"));
  const auto held = must(fixture.publish());
  ASSERT_TRUE(fixture.worker->hold(file_at(held->path())));
  EXPECT_EQ(fixture.os.hooks(), 2U);
  fixture.resources.reset();
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_TRUE(fixture.counts.empty());
  EXPECT_EQ(fixture.os.hooks(), 0U);
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
}

TEST(Manager, deletes_what_is_left_when_its_process_ends_and_not_again_when_it_goes_M3) {
  ManagerFixture fixture;
  ASSERT_TRUE(fixture.publish());
  ASSERT_TRUE(fixture.publish());
  fixture.os.end();
  EXPECT_THAT(fixture.folder.names(), IsEmpty());
  EXPECT_TRUE(fixture.counts.empty());
  fixture.resources.reset();
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
}

TEST(Manager, warns_once_of_what_it_cannot_delete_at_the_end_M3) {
  ManagerFixture fixture;
  ASSERT_TRUE(fixture.publish());
  const std::string folder = must(fixture.resources->resolve_temp_folder_name()).path;
  fixture.os.director = [](const Crossing& crossing) {
    return crossing.call == Call::remove_folder ? std::optional(std::errc::device_or_resource_busy)
                                                : std::nullopt;
  };
  fixture.os.end();
  EXPECT_EQ(std::ranges::count(fixture.os.said, '\n'), 1);
  EXPECT_NE(fixture.os.said.find(folder), std::string::npos);
  EXPECT_EQ(fixture.counts.of(folder), 1U) << "the tracker may still do it";
  fixture.resources.reset();
  EXPECT_EQ(std::ranges::count(fixture.os.said, '\n'), 1);
  fixture.os.director = nullptr;
  EXPECT_TRUE(fixture.parent->release({.type = ResourceType::folder, .name = folder}));
  EXPECT_TRUE(fixture.counts.empty());
}

TEST(Manager, in_a_forked_child_cleans_nothing_and_says_so_M3) {
  ManagerFixture fixture;
  ASSERT_TRUE(fixture.resources->set_current_context("a"));
  const auto file = must(fixture.publish());
  fixture.os.pid += 1;
  const auto is_refused = [](const Error& error) {
    return error.code == std::errc::operation_not_permitted;
  };
  EXPECT_TRUE(is_refused(fixture.publish().error()));
  EXPECT_TRUE(is_refused(fixture.resources->lend(*file).error()));
  EXPECT_TRUE(is_refused(fixture.resources->release(*file).error()));
  EXPECT_TRUE(is_refused(fixture.resources->set_current_context("b").error()));
  EXPECT_TRUE(is_refused(fixture.resources->register_new_context("b").error()));
  EXPECT_TRUE(is_refused(fixture.resources->resolve_temp_folder_name().error()));
  EXPECT_TRUE(is_refused(joblib_of(fixture).unlink_temporary_resources().error()));
  EXPECT_TRUE(is_refused(joblib_of(fixture).unregister_temporary_resources().error()));
  EXPECT_TRUE(is_refused(joblib_of(fixture).try_delete_folder(true).error()));
  EXPECT_TRUE(
      is_refused(joblib_of(fixture).clean_temporary_resources({}, {.force = true}).error()));
  fixture.resources.reset();
  EXPECT_TRUE(fixture.os.status_at(file->path()));
  EXPECT_EQ(fixture.counts.of(file->path()), 1U);
  EXPECT_EQ(fixture.counts.said("release"), 0U);
  EXPECT_EQ(fixture.counts.said("forget"), 0U);
  for (const std::string& name : fixture.folder.names()) {
    fixture.folder.remove(name);
  }
}

TEST(ReferenceToAName, is_let_go_of_once_wherever_it_was_moved_M4) {
  const pretend::FreshFolder folder;
  const Resource name = {.type = ResourceType::file, .name = folder.path("name")};
  pretend::Counts counts;
  const std::shared_ptr<References> party = counts.party("one");
  ASSERT_TRUE(party->register_name(name));
  os::KernelOs os;
  Reference reference(os, party, name);
  Reference& same = reference;
  reference = std::move(same);
  EXPECT_EQ(counts.of(name.name), 1U);
  Reference other = std::move(reference);
  reference = std::move(other);
  EXPECT_EQ(counts.of(name.name), 1U);
  EXPECT_TRUE(reference.release());
  EXPECT_TRUE(counts.empty());
  EXPECT_TRUE(reference.release());
  EXPECT_EQ(counts.said("release", name.name), 1U);
}

}  // namespace
}  // namespace lastref
