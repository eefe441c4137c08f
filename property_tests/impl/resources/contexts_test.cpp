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

#include "property_tests/impl/resources/manager_ground.hpp"

namespace lastref {
namespace {

using pretend::Crossing;
using pretend::file_at;
using pretend::ManagerGround;
using pretend::must;
using testing::IsEmpty;
using testing::SizeIs;

TEST(Contexts, make_and_register_nothing_before_the_first_file_M2) {
  ManagerGround ground;
  EXPECT_TRUE(ground.resources->register_new_context("a"));
  EXPECT_TRUE(ground.resources->set_current_context("b"));
  EXPECT_TRUE(ground.resources->set_current_context("b"));
  EXPECT_TRUE(must(ground.resources->resolve_temp_folder_name()).path.ends_with("_b"));
  EXPECT_THAT(ground.folder.names(), IsEmpty());
  EXPECT_TRUE(ground.resources->clean_temporary_resources("a"));
  EXPECT_TRUE(ground.resources->clean_temporary_resources());
  ground.resources.reset();
  EXPECT_EQ(ground.counts.said("register"), 0U);
  EXPECT_EQ(ground.counts.said("release"), 0U);
  EXPECT_EQ(ground.counts.said("forget"), 0U);
  EXPECT_EQ(ground.os.count_of(Call::make_folder), 0U);
  EXPECT_EQ(ground.os.hooks(), 0U);
}

TEST(Contexts, say_which_folder_they_have_made_E4) {
  ManagerGround ground;
  const auto file = must(ground.publish());
  const std::string path = must(ground.resources->resolve_temp_folder_name()).path;
  const auto status = must(ground.os.status_at(path));
  ASSERT_TRUE(ground.counts.identities.contains(path));
  EXPECT_EQ(ground.counts.identities.at(path), os::identity_of(status));
  EXPECT_TRUE(ground.resources->release(*file));
}

TEST(Contexts, take_back_which_folder_it_was_before_they_make_it_anew_E4_M3) {
  ManagerGround ground;
  must(ground.publish());
  const std::string path = must(ground.resources->resolve_temp_folder_name()).path;
  std::filesystem::remove_all(ground.os.real(path));
  std::size_t made = 0;
  ground.os.after = [&](const Crossing& crossing) {
    if (crossing.call == Call::make_folder) {
      EXPECT_FALSE(ground.counts.identities.contains(path));
      ++made;
    }
  };
  must(ground.publish());
  EXPECT_EQ(made, 1U);
  EXPECT_EQ(ground.counts.identities.at(path), os::identity_of(must(ground.os.status_at(path))));
}

TEST(Contexts, say_which_file_they_make_before_it_has_its_name_E4) {
  ManagerGround ground;
  std::vector<std::string> registered;
  ground.counts.before = [&](const std::string& word, const std::string& path) {
    if (word == "register" && path.ends_with(".npy")) {
      registered.push_back(path);
      EXPECT_FALSE(ground.os.status_at(path));
    }
  };
  const auto file = must(ground.publish());
  EXPECT_THAT(registered, testing::ElementsAre(file->path()));
  ASSERT_TRUE(ground.counts.identities.contains(file->path()));
  EXPECT_EQ(ground.counts.identities.at(file->path()),
            os::identity_of(must(ground.os.status_at(file->path()))));
  EXPECT_TRUE(ground.resources->release(*file));
}

TEST(Contexts, name_their_folder_M2) {
  ManagerGround ground;
  ground.os.pid = 4711;
  const auto named = [&](TemporaryResourcesOptions options) {
    options.root = ground.folder.path();
    return must(ground.make(std::move(options))->resolve_temp_folder_name());
  };
  const std::string start = ground.folder.path("lastref_memmapping_folder_4711_");
  const TempFolder mine = named({.context = "mine"});
  EXPECT_TRUE(std::regex_match(mine.path, std::regex(start + "[0-9a-f]{32}_mine")));
  EXPECT_FALSE(mine.use_shared_mem);
  EXPECT_TRUE(std::regex_match(named({}).path, std::regex(start + "[0-9a-f]{32}_[0-9a-f]{32}")));
  EXPECT_NE(named({}).path, named({}).path);
  EXPECT_NE(named({.context = "mine"}).path, mine.path);
}

TEST(Contexts, have_ids_that_can_be_part_of_a_name_M2) {
  ManagerGround ground;
  for (const std::string& id :
       {std::string(), std::string("a/b"), std::string("a\0b", 3), std::string(129, 'a')}) {
    const Status set = ground.resources->set_current_context(id);
    ASSERT_FALSE(set);
    EXPECT_EQ(set.error().code, std::errc::invalid_argument);
    EXPECT_FALSE(ground.resources->register_new_context(id));
    EXPECT_FALSE(TemporaryResources::make(ground.os, ground.parent, {.context = id}));
  }
  for (const std::string& id : {std::string(128, 'a'), std::string(".."), std::string("\n é")}) {
    EXPECT_TRUE(ground.resources->set_current_context(id));
    const auto file = ground.publish();
    ASSERT_TRUE(file);
    EXPECT_TRUE(ground.os.status_at((*file)->path()));
  }
}

TEST(Contexts, name_their_files_and_hold_each_once_R4_M3) {
  ManagerGround ground;
  const auto file = must(ground.publish());
  const std::string folder = must(ground.resources->resolve_temp_folder_name()).path;
  const std::string name = std::to_string(ground.os.pid) + "-" +
                           std::to_string(ground.os.thread_id()) + "-[0-9a-f]{32}\\.npy";
  EXPECT_TRUE(std::regex_match(file->path(), std::regex(folder + "/" + name)));
  EXPECT_EQ(ground.counts.of(file->path()), 1U);
  EXPECT_EQ(ground.counts.of(folder), 1U);
  EXPECT_EQ(ground.os.hooks(), 1U);
  const auto other = must(ground.publish());
  EXPECT_NE(other->path(), file->path());
  EXPECT_EQ(ground.counts.of(folder), 1U);
  EXPECT_EQ(ground.os.hooks(), 1U);
  {
    const auto lent = must(ground.resources->lend(*file));
    ASSERT_TRUE(lent);
    EXPECT_EQ(ground.counts.of(file->path()), 2U);
  }
  EXPECT_EQ(ground.counts.of(file->path()), 1U);
  EXPECT_TRUE(ground.resources->release(*file));
  EXPECT_TRUE(ground.resources->release(*file));
  EXPECT_EQ(ground.counts.said("release", file->path()), 2U);
  EXPECT_EQ(must(ground.resources->lend(*file)).has_value(), false);
  ground.resources.reset();
  EXPECT_EQ(ground.os.hooks(), 0U);
  EXPECT_TRUE(ground.counts.empty());
  EXPECT_THAT(ground.counts.misuse, IsEmpty());
}

TEST(CleanUp, twice_lets_go_once_and_receivers_keep_what_they_hold_M4_M5) {
  for (const bool old_verb : {true, false}) {
    ManagerGround ground;
    ASSERT_TRUE(ground.resources->set_current_context("a"));
    const auto file = must(ground.publish());
    const auto gone = must(ground.publish());
    ASSERT_TRUE(ground.worker->hold(file_at(file->path())));
    ASSERT_TRUE(ground.worker->hold(file_at(file->path())));
    const auto clean = [&](const std::optional<std::string>& context) {
      return old_verb ? ground.resources->unlink_temporary_resources(context)
                      : ground.resources->clean_temporary_resources(context);
    };
    EXPECT_TRUE(clean("a"));
    EXPECT_TRUE(clean("a"));
    EXPECT_TRUE(clean("never"));
    EXPECT_TRUE(clean(std::nullopt));
    EXPECT_TRUE(ground.os.status_at(file->path()));
    EXPECT_FALSE(ground.os.status_at(gone->path()));
    EXPECT_EQ(ground.counts.said("release", file->path()), 1U);
    EXPECT_EQ(ground.counts.of(file->path()), 2U);
    EXPECT_EQ(ground.os.hooks(), 0U);
    ground.resources.reset();
    EXPECT_TRUE(ground.os.status_at(file->path()));
    EXPECT_TRUE(ground.worker->release(file_at(file->path())));
    EXPECT_TRUE(ground.os.status_at(file->path()));
    EXPECT_TRUE(ground.worker->release(file_at(file->path())));
    EXPECT_THAT(ground.folder.names(), IsEmpty());
    EXPECT_TRUE(ground.counts.empty());
    EXPECT_THAT(ground.counts.misuse, IsEmpty());
  }
}

TEST(CleanUp, by_force_ends_every_name_and_deletes_what_is_there_M5) {
  for (const bool attributed : {true, false}) {
    ManagerGround ground(attributed);
    const auto file = must(ground.publish());
    ASSERT_TRUE(ground.worker->hold(file_at(file->path())));
    ground.folder.write(file->path().substr(ground.folder.path().size() + 1) + ".stranger");
    EXPECT_TRUE(ground.resources->clean_temporary_resources({}, {.force = true}));
    EXPECT_THAT(ground.folder.names(), IsEmpty());
    EXPECT_TRUE(ground.counts.empty());
    EXPECT_EQ(ground.counts.said("forget", file->path()), 1U);
    EXPECT_EQ(ground.counts.said("release"), 0U);
    EXPECT_THAT(ground.counts.misuse, IsEmpty());
    EXPECT_EQ(ground.os.hooks(), 0U);
  }
}

TEST(CleanUp, that_allows_a_folder_with_contents_lets_go_and_deletes_M5) {
  ManagerGround ground;
  const auto file = must(ground.publish());
  ASSERT_TRUE(ground.worker->hold(file_at(file->path())));
  EXPECT_TRUE(ground.resources->clean_temporary_resources({}, {.allow_non_empty = true}));
  EXPECT_THAT(ground.folder.names(), IsEmpty());
  EXPECT_EQ(ground.counts.of(file->path()), 1U);
  EXPECT_TRUE(ground.worker->release(file_at(file->path())));
  EXPECT_TRUE(ground.counts.empty());
  EXPECT_THAT(ground.counts.misuse, IsEmpty());
}

TEST(CleanUp, of_names_leaves_the_files_M4) {
  ManagerGround ground;
  ASSERT_TRUE(ground.resources->set_current_context("a"));
  const auto file = must(ground.publish());
  ASSERT_TRUE(ground.worker->hold(file_at(file->path())));
  EXPECT_TRUE(ground.resources->unregister_temporary_resources("never"));
  EXPECT_EQ(ground.counts.of(file->path()), 2U);
  EXPECT_TRUE(ground.resources->unregister_temporary_resources("a"));
  EXPECT_TRUE(ground.resources->unregister_temporary_resources());
  EXPECT_EQ(ground.counts.of(file->path()), 0U);
  EXPECT_EQ(ground.counts.said("forget", file->path()), 1U);
  EXPECT_TRUE(ground.os.status_at(file->path()));
  EXPECT_EQ(must(ground.resources->lend(*file)).has_value(), false);
  // The context goes on.
  EXPECT_TRUE(ground.publish());
  EXPECT_TRUE(ground.resources->clean_temporary_resources());
  EXPECT_THAT(ground.folder.names(), IsEmpty());
  EXPECT_TRUE(ground.counts.empty());
}

TEST(CleanUp, of_the_folder_alone_leaves_it_to_the_end_if_it_is_not_empty_M4_M6) {
  for (const bool attributed : {true, false}) {
    ManagerGround ground(attributed);
    const auto file = must(ground.publish());
    EXPECT_TRUE(ground.resources->try_delete_folder(/*allow_non_empty=*/false));
    EXPECT_TRUE(ground.os.status_at(file->path()));
    EXPECT_EQ(ground.os.said, "");
    EXPECT_FALSE(ground.publish());
    EXPECT_EQ(ground.os.hooks(), 1U);
    EXPECT_EQ(ground.counts.of(file->path()), 1U);
    ground.resources.reset();
    EXPECT_THAT(ground.folder.names(), IsEmpty());
    EXPECT_TRUE(ground.counts.empty());
    EXPECT_THAT(ground.counts.misuse, IsEmpty());
  }
}

TEST(CleanUp, of_a_folder_with_contents_ends_their_names_M4) {
  for (const bool attributed : {true, false}) {
    ManagerGround ground(attributed);
    ASSERT_TRUE(ground.publish());
    EXPECT_TRUE(ground.resources->try_delete_folder(/*allow_non_empty=*/true));
    EXPECT_THAT(ground.folder.names(), IsEmpty());
    EXPECT_THAT(ground.counts.names(ResourceType::folder), IsEmpty());
    // What is gone is not counted any more.
    EXPECT_THAT(ground.counts.names(ResourceType::file), IsEmpty());
    EXPECT_EQ(ground.os.hooks(), 0U);
    EXPECT_THAT(ground.counts.misuse, IsEmpty());
  }
}

TEST(CleanUp, without_attribution_deletes_an_empty_folder_and_leaves_another_to_the_end_M4_M5) {
  ManagerGround ground(/*attributed=*/false);
  ASSERT_TRUE(ground.resources->set_current_context("a"));
  ASSERT_TRUE(ground.publish());
  ASSERT_TRUE(ground.resources->set_current_context("b"));
  const auto kept = must(ground.publish());
  ASSERT_TRUE(ground.worker->hold(file_at(kept->path())));
  EXPECT_TRUE(ground.resources->unlink_temporary_resources("a"));
  EXPECT_THAT(ground.counts.names(ResourceType::folder), SizeIs(1));
  EXPECT_TRUE(ground.resources->unlink_temporary_resources("b"));
  EXPECT_TRUE(ground.resources->unlink_temporary_resources("b"));
  EXPECT_EQ(ground.counts.of(kept->path()), 1U);
  EXPECT_TRUE(ground.os.status_at(kept->path()));
  EXPECT_EQ(ground.os.hooks(), 1U);
  EXPECT_TRUE(ground.worker->release(file_at(kept->path())));
  ground.os.end();
  EXPECT_THAT(ground.folder.names(), IsEmpty());
  EXPECT_TRUE(ground.counts.empty());
  ground.resources.reset();
  EXPECT_THAT(ground.counts.misuse, IsEmpty());
  EXPECT_EQ(ground.os.said, "");
}

TEST(CleanUp, forgets_a_context_whose_folder_is_absent_M5) {
  for (const bool attributed : {true, false}) {
    for (const bool force : {true, false}) {
      ManagerGround ground(attributed);
      ASSERT_TRUE(ground.resources->set_current_context("a"));
      const auto file = must(ground.publish());
      const auto folder = must(ground.resources->resolve_temp_folder_name());
      ground.folder.remove(folder.path.substr(ground.folder.path().size() + 1));
      EXPECT_TRUE(ground.resources->clean_temporary_resources("a", {.force = force}));
      EXPECT_TRUE(ground.counts.empty());
      EXPECT_EQ(ground.os.hooks(), 0U);
      const auto late = ground.publish();
      ASSERT_FALSE(late);
      EXPECT_EQ(late.error().code, std::errc::operation_canceled);
    }
  }
}

TEST(CleanUp, is_not_undone_by_who_comes_late_M2_M5) {
  ManagerGround ground;
  ASSERT_TRUE(ground.resources->set_current_context("a"));
  const auto early = must(ground.publish());
  EXPECT_TRUE(ground.resources->clean_temporary_resources("a"));
  const auto late = ground.publish();
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, std::errc::operation_canceled);
  EXPECT_EQ(ground.resources->resolve_temp_folder_name().error().code,
            std::errc::operation_canceled);
  EXPECT_THAT(ground.folder.names(), IsEmpty());
  EXPECT_TRUE(ground.counts.empty());
  // Set anew, it is there again, with other names.
  EXPECT_TRUE(ground.resources->register_new_context("a"));
  const auto again = must(ground.publish());
  EXPECT_NE(again->path(), early->path());
  EXPECT_TRUE(ground.resources->clean_temporary_resources("a"));
  EXPECT_TRUE(ground.counts.empty());
  EXPECT_THAT(ground.counts.misuse, IsEmpty());
}

TEST(CleanUp, leaves_a_folder_to_the_context_if_that_comes_back_M2_M4) {
  for (const bool attributed : {true, false}) {
    ManagerGround ground(attributed);
    ASSERT_TRUE(ground.resources->set_current_context("a"));
    const auto early = must(ground.publish());
    EXPECT_TRUE(ground.resources->try_delete_folder(/*allow_non_empty=*/false));
    ASSERT_TRUE(ground.resources->set_current_context("a"));
    const auto late = must(ground.publish());
    EXPECT_EQ(ground.os.hooks(), 1U);
    EXPECT_TRUE(ground.os.status_at(early->path()));
    EXPECT_TRUE(ground.resources->clean_temporary_resources());
    EXPECT_THAT(ground.folder.names(), IsEmpty());
    EXPECT_TRUE(ground.counts.empty());
    EXPECT_EQ(ground.os.hooks(), 0U);
    EXPECT_THAT(ground.counts.misuse, IsEmpty());
  }
}

TEST(CleanUp, of_a_folder_with_contents_leaves_their_references_to_receivers_M4) {
  ManagerGround ground;
  const auto file = must(ground.publish());
  ASSERT_TRUE(ground.worker->hold(file_at(file->path())));
  EXPECT_TRUE(ground.resources->try_delete_folder(/*allow_non_empty=*/true));
  EXPECT_EQ(ground.counts.of(file->path()), 1U);
  EXPECT_TRUE(ground.worker->release(file_at(file->path())));
  EXPECT_TRUE(ground.counts.empty());
  EXPECT_THAT(ground.counts.misuse, IsEmpty());
}

TEST(CleanUp, while_a_file_is_written_lets_it_go_too_M5_R12) {
  for (const bool attributed : {true, false}) {
    for (const bool force : {true, false}) {
      ManagerGround ground(attributed);
      ASSERT_TRUE(ground.resources->set_current_context("a"));
      const auto late = ground.resources->publish([&](os::Fd fd) {
        EXPECT_TRUE(ground.resources->clean_temporary_resources("a", {.force = force}));
        EXPECT_TRUE(ground.resources->set_current_context("a"));
        return ground.write(fd);
      });
      ASSERT_FALSE(late);
      EXPECT_THAT(ground.counts.names(ResourceType::file), IsEmpty());
      ground.resources.reset();
      EXPECT_THAT(ground.folder.names(), IsEmpty());
      EXPECT_TRUE(ground.counts.empty());
      EXPECT_THAT(ground.counts.misuse, IsEmpty());
    }
  }
}

TEST(Manager, has_its_root_where_that_was_when_it_was_named_M1_E2) {
  for (const bool by_variable : {false, true}) {
    SCOPED_TRACE(by_variable);
    ManagerGround ground;
    ground.folder.make_folder("here");
    ground.folder.make_folder("elsewhere");
    {
      const pretend::WorkingFolder inside(ground.folder.path("here"));
      if (by_variable) {
        ground.os.variables["LASTREF_TEMP_FOLDER"] = "sub";
      }
      ground.resources = ground.make(by_variable ? TemporaryResourcesOptions{}
                                                 : TemporaryResourcesOptions{.root = "sub"});
    }
    const pretend::WorkingFolder gone(ground.folder.path("elsewhere"));
    for (const char* context : {"a", "b"}) {
      ASSERT_TRUE(ground.resources->set_current_context(context));
      EXPECT_TRUE(must(ground.publish())->path().starts_with(ground.folder.path("here/sub/")));
    }
    ground.resources.reset();
    ground.folder.remove("here");
    ground.folder.remove("elsewhere");
  }
  ManagerGround ground;
  const auto deep =
      TemporaryResources::make(ground.os, ground.parent, {.root = std::string(5000, 'x')});
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.error().code, std::errc::filename_too_long);
}

TEST(Manager, deletes_what_is_left_when_it_goes_M3) {
  ManagerGround ground;
  ASSERT_TRUE(ground.resources->set_current_context("a"));
  ASSERT_TRUE(ground.publish());
  ASSERT_TRUE(ground.resources->set_current_context("b"));
  const auto held = must(ground.publish());
  ASSERT_TRUE(ground.worker->hold(file_at(held->path())));
  EXPECT_EQ(ground.os.hooks(), 2U);
  ground.resources.reset();
  EXPECT_THAT(ground.folder.names(), IsEmpty());
  EXPECT_TRUE(ground.counts.empty());
  EXPECT_EQ(ground.os.hooks(), 0U);
  EXPECT_THAT(ground.counts.misuse, IsEmpty());
}

TEST(Manager, deletes_what_is_left_when_its_process_ends_and_not_again_when_it_goes_M3) {
  ManagerGround ground;
  ASSERT_TRUE(ground.publish());
  ASSERT_TRUE(ground.publish());
  ground.os.end();
  EXPECT_THAT(ground.folder.names(), IsEmpty());
  EXPECT_TRUE(ground.counts.empty());
  ground.resources.reset();
  EXPECT_THAT(ground.counts.misuse, IsEmpty());
}

TEST(Manager, warns_once_of_what_it_cannot_delete_at_the_end_M3) {
  ManagerGround ground;
  ASSERT_TRUE(ground.publish());
  const std::string folder = must(ground.resources->resolve_temp_folder_name()).path;
  ground.os.director = [](const Crossing& crossing) {
    return crossing.call == Call::remove_folder ? std::optional(std::errc::device_or_resource_busy)
                                                : std::nullopt;
  };
  ground.os.end();
  EXPECT_EQ(std::ranges::count(ground.os.said, '\n'), 1);
  EXPECT_NE(ground.os.said.find(folder), std::string::npos);
  EXPECT_EQ(ground.counts.of(folder), 1U) << "the tracker may still do it";
  ground.resources.reset();
  EXPECT_EQ(std::ranges::count(ground.os.said, '\n'), 1);
  ground.os.director = nullptr;
  EXPECT_TRUE(ground.parent->release({.type = ResourceType::folder, .name = folder}));
  EXPECT_TRUE(ground.counts.empty());
}

TEST(Manager, in_a_forked_child_cleans_nothing_and_says_so_M3) {
  ManagerGround ground;
  ASSERT_TRUE(ground.resources->set_current_context("a"));
  const auto file = must(ground.publish());
  ground.os.pid += 1;
  const auto is_refused = [](const Error& error) {
    return error.code == std::errc::operation_not_permitted;
  };
  EXPECT_TRUE(is_refused(ground.publish().error()));
  EXPECT_TRUE(is_refused(ground.resources->lend(*file).error()));
  EXPECT_TRUE(is_refused(ground.resources->release(*file).error()));
  EXPECT_TRUE(is_refused(ground.resources->set_current_context("b").error()));
  EXPECT_TRUE(is_refused(ground.resources->register_new_context("b").error()));
  EXPECT_TRUE(is_refused(ground.resources->resolve_temp_folder_name().error()));
  EXPECT_TRUE(is_refused(ground.resources->unlink_temporary_resources().error()));
  EXPECT_TRUE(is_refused(ground.resources->unregister_temporary_resources().error()));
  EXPECT_TRUE(is_refused(ground.resources->try_delete_folder(true).error()));
  EXPECT_TRUE(is_refused(ground.resources->clean_temporary_resources({}, {.force = true}).error()));
  ground.resources.reset();
  EXPECT_TRUE(ground.os.status_at(file->path()));
  EXPECT_EQ(ground.counts.of(file->path()), 1U);
  EXPECT_EQ(ground.counts.said("release"), 0U);
  EXPECT_EQ(ground.counts.said("forget"), 0U);
  for (const std::string& name : ground.folder.names()) {
    ground.folder.remove(name);
  }
}

TEST(ReferenceToAName, is_let_go_of_once_wherever_it_was_moved_M4) {
  const pretend::FreshFolder folder;
  const Resource name = {.type = ResourceType::file, .name = folder.path("name")};
  pretend::Counts counts;
  const std::shared_ptr<References> party = counts.party("one");
  ASSERT_TRUE(party->register_name(name));
  Reference reference(party, name);
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
