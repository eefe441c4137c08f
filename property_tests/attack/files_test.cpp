// files_test: attacks of another user on the folders and files through which arrays are sent, and
// on names that the tracker counts.
#include <filesystem>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/npy.hpp>
#include <lastref/owners.hpp>
#include <lastref/references.hpp>
#include <lastref/temp_folder.hpp>
#include <lastref/temporary_resources.hpp>
#include <lastref/tracker_client.hpp>

#include "property_tests/attack/fixture.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/process_group.hpp"

namespace lastref {
namespace {

using pretend::stranger_does;
using testing::StartsWith;

/// Folders of an ordinary user, with modes that restrict the owner.
bool delete_shut_folders(os::Os& os, unsigned mode_of_top) {
  const std::string top = "/tmp/shut";
  bool made = pretend::make_folder(top, 0700);
  for (const char* name : {"0", "300", "400", "500", "600"}) {
    const std::string path = top + "/" + name;
    made = made && pretend::make_folder(path, 0700) && pretend::make_file(path + "/file", "x") &&
           pretend::make_folder(path + "/empty", 0700) &&
           pretend::make_folder(path + "/deep", 0700) &&
           pretend::make_file(path + "/deep/file", "x") &&
           pretend::change_mode(path + "/deep", 0500) && pretend::change_mode(path + "/empty", 0) &&
           pretend::change_mode(path, static_cast<unsigned>(std::stoul(name, nullptr, 8)));
  }
  made = made && pretend::change_mode(top, mode_of_top);
  const Status deleted = delete_folder(os, top, /*allow_non_empty=*/true);
  return made && deleted && !os.status_at(top);
}

/// A manager with a real tracker.
class FilesOfAnotherUser : public pretend::AttackFixture {
 protected:
  void SetUp() override {
    AttackFixture::SetUp();
    pretend::adopt_orphans();
    client_ = tracker::Client::lead(os);
  }

  void TearDown() override {
    manager_.reset();
    client_.reset();
    pretend::bury_all();
    AttackFixture::TearDown();
  }

  void manage(const std::optional<std::string>& root = {}) {
    auto made = TemporaryResources::make(
        os,
        references_of(client_),
        {.root = root, .context = "c", .choice = {.shared_memory_min = 0}});
    ASSERT_TRUE(made);
    manager_ = *std::move(made);
  }

  Result<std::string> publish() {
    LASTREF_TRY(file, manager_->publish([this](os::Fd fd) {
      return os::write_all(os, fd, os::bytes_of("content"));
    }));
    return file->path();
  }

  std::string folder() { return manager_->resolve_temp_folder_name().value().path; }

  /// Returns when the name is removed, which must happen.
  void wait_until_gone(const std::string& path) {
    while (os.status_at(path)) {
      static_cast<void>(os.poll({}, std::chrono::microseconds(100)));
    }
  }

  std::shared_ptr<tracker::Client> client_;
  std::unique_ptr<TemporaryResources> manager_;
};

struct Planted {
  const char* name;
  std::function<bool(const std::string& path)> plant;
  std::errc code;
};

const Planted planted[] = {
    {"a folder",
     [](const auto& path) { return pretend::make_folder(path, 0777); },
     std::errc::permission_denied},
    {"a private folder",
     [](const auto& path) { return pretend::make_folder(path, 0700); },
     std::errc::permission_denied},
    {"a symlink",
     [](const auto& path) { return pretend::make_symlink(path, "/dev/shm/precious"); },
     std::errc::not_a_directory},
    {"a file",
     [](const auto& path) { return pretend::make_file(path, "his", 0666); },
     std::errc::not_a_directory},
    {"a fifo",
     [](const auto& path) { return pretend::make_fifo(path); },
     std::errc::not_a_directory},
};

TEST_F(FilesOfAnotherUser, where_our_folder_shall_be_are_refused_and_stay_R13) {
  for (const Planted& row : planted) {
    SCOPED_TRACE(row.name);
    manage("/tmp");
    const std::string path = folder();
    ASSERT_TRUE(stranger_does([&] { return row.plant(path); }));
    guard(path);
    const auto file = publish();
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, row.code) << describe(file.error());
    manager_.reset();
  }
}

TEST_F(FilesOfAnotherUser, on_shared_memory_make_us_go_elsewhere_R13_M1) {
  for (const Planted& row : planted) {
    SCOPED_TRACE(row.name);
    manage();
    const std::string path = folder();
    ASSERT_THAT(path, StartsWith("/dev/shm/"));
    ASSERT_TRUE(stranger_does([&] { return row.plant(path); }));
    guard(path);
    const auto file = publish();
    ASSERT_TRUE(file) << describe(file.error());
    EXPECT_THAT(*file, StartsWith("/tmp/"));
    manager_.reset();
  }
}

TEST_F(FilesOfAnotherUser, cannot_be_made_in_our_folder_nor_ours_be_read_or_linked_R13) {
  manage();
  const std::string path = publish().value();
  const std::string parent = folder();
  EXPECT_FALSE(stranger_does([&] { return pretend::make_file(parent + "/his", "his"); }));
  EXPECT_FALSE(stranger_does([&] { return pretend::make_hard_link("/tmp/his", path); }));
  EXPECT_FALSE(stranger_does([&] { return pretend::move(path, "/tmp/his"); }));
  EXPECT_FALSE(stranger_does([&] { return pretend::move(parent, parent + "his"); }));
  EXPECT_FALSE(stranger_does([&] { return os::KernelOs().open(path, {}).has_value(); }));
  // The name cannot be guessed either: the stranger cannot list the folder, and there is no name to
  // plant before us.
  EXPECT_FALSE(stranger_does([&] { return os::KernelOs().open(parent, {}).has_value(); }));
}

TEST_F(FilesOfAnotherUser, below_a_folder_in_which_anybody_may_rename_nothing_is_made_R13) {
  ASSERT_TRUE(pretend::make_folder("/tmp/pub", 0777));
  ASSERT_TRUE(stranger_does([] { return pretend::make_symlink("/tmp/link", "/tmp/pub"); }));
  guard("/tmp/pub");
  for (const char* root : {"/tmp/pub", "/tmp/link"}) {
    manage(root);
    const auto file = publish();
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, std::errc::permission_denied) << describe(file.error());
    manager_.reset();
  }
}

TEST_F(FilesOfAnotherUser, put_where_our_folder_was_take_nothing_along_M3_M6) {
  // The parent is opened to all after our folder was made in it.
  ASSERT_TRUE(pretend::make_folder("/tmp/pub", 0700));
  manage("/tmp/pub");
  const std::string file = publish().value();
  const std::string path = folder();
  const std::string name = file.substr(file.rfind('/') + 1);
  const std::string too = "/dev/shm/precious_too";
  ASSERT_TRUE(pretend::make_folder(too, 0700));
  ASSERT_TRUE(pretend::make_file(too + "/" + name, "as if the name had been guessed"));
  guard(too);
  ASSERT_TRUE(pretend::change_mode("/tmp/pub", 0777));
  ASSERT_TRUE(stranger_does(
      [&] { return pretend::move(path, path + ".away") && pretend::make_symlink(path, too); }));
  // New files go to the same folder as before.
  EXPECT_TRUE(publish());
  manager_.reset();
  EXPECT_NE(pretend::seen_at(path), path + ": nothing\n");
}

TEST_F(FilesOfAnotherUser, in_place_of_ours_among_those_counted_go_alone_T3_R13) {
  const std::vector<std::function<bool(const std::string&)>> plants = {
      [&](const auto& path) { return pretend::make_symlink(path, precious_file); },
      [&](const auto& path) { return pretend::make_symlink(path, precious); },
      [](const auto& path) { return pretend::make_symlink(path, "/dev/shm/nothing"); },
      [](const auto& path) { return pretend::make_fifo(path); },
      [](const auto& path) { return pretend::make_socket(path); },
      [](const auto& path) { return pretend::make_file(path, "his"); },
  };
  int number = 0;
  for (const auto& plant : plants) {
    // Counted before it is made; the stranger is faster.
    const Resource file{.type = ResourceType::file, .name = "/tmp/" + std::to_string(number++)};
    ASSERT_TRUE(client_->register_name(file));
    ASSERT_TRUE(stranger_does([&] { return plant(file.name); }));
    EXPECT_FALSE(os::open_file(os, file.name, {.write = true, .create = true}));
    ASSERT_TRUE(client_->release(file));
    wait_until_gone(file.name);
  }
  EXPECT_TRUE(client_->probe());
}

TEST_F(FilesOfAnotherUser, linked_to_precious_ones_lose_a_name_and_no_content_T3_R13) {
  const Resource file{.type = ResourceType::file, .name = "/dev/shm/linked"};
  ASSERT_TRUE(client_->register_name(file));
  ASSERT_TRUE(pretend::make_hard_link(file.name, precious_file));
  ASSERT_TRUE(client_->release(file));
  wait_until_gone(file.name);
}

TEST_F(FilesOfAnotherUser, in_place_of_a_counted_folder_are_not_entered_T4_R13) {
  const Resource by_link{.type = ResourceType::folder, .name = "/tmp/link"};
  const Resource by_slashes{.type = ResourceType::folder, .name = "/tmp/slashes//"};
  const Resource by_fifo{.type = ResourceType::folder, .name = "/tmp/fifo"};
  for (const Resource& each : {by_link, by_slashes, by_fifo}) {
    ASSERT_TRUE(client_->register_name(each));
  }
  ASSERT_TRUE(stranger_does([&] {
    return pretend::make_symlink("/tmp/link", precious) &&
           pretend::make_symlink("/tmp/slashes", precious) && pretend::make_fifo("/tmp/fifo");
  }));
  guard("/tmp/link");
  guard("/tmp/slashes");
  guard("/tmp/fifo");
  for (const Resource& each : {by_link, by_slashes, by_fifo}) {
    ASSERT_TRUE(client_->release(each));
  }
  EXPECT_TRUE(client_->probe());
}

TEST_F(FilesOfAnotherUser, in_a_folder_that_is_deleted_are_not_followed_M6_T4) {
  ASSERT_TRUE(pretend::make_folder("/tmp/ours", 0777));
  ASSERT_TRUE(stranger_does([&] {
    return pretend::make_symlink("/tmp/ours/file", precious_file) &&
           pretend::make_symlink("/tmp/ours/folder", precious) &&
           pretend::make_folder("/tmp/ours/deep", 0700) &&
           pretend::make_symlink("/tmp/ours/deep/folder", precious) &&
           pretend::make_fifo("/tmp/ours/fifo") && pretend::make_socket("/tmp/ours/socket");
  }));
  ASSERT_TRUE(pretend::make_device("/tmp/ours/device"));
  EXPECT_TRUE(delete_folder(os, "/tmp/ours", /*allow_non_empty=*/true));
  EXPECT_EQ(pretend::seen_at("/tmp/ours"), "/tmp/ours: nothing\n");
}

TEST_F(FilesOfAnotherUser, that_are_folders_and_become_symlinks_meanwhile_are_not_followed_M6_T4) {
  for (const bool is_top : {true, false}) {
    SCOPED_TRACE(is_top);
    ASSERT_TRUE(pretend::make_folder("/tmp/pub", 0777));
    ASSERT_TRUE(pretend::make_folder("/tmp/pub/ours", 0777));
    ASSERT_TRUE(stranger_does([] { return pretend::make_folder("/tmp/pub/ours/his", 0777); }));
    const std::string swapped = is_top ? "/tmp/pub/ours" : "/tmp/pub/ours/his";
    bool was_swapped = false;
    // The top folder is swapped after it was opened, a folder in it after it was listed.
    ambush({is_top ? Call::open : Call::read_folder, is_top ? swapped : ""}, [&] {
      was_swapped = stranger_does([&] {
        return pretend::move(swapped, "/tmp/pub/away") && pretend::make_symlink(swapped, precious);
      });
    });
    static_cast<void>(delete_folder(os, "/tmp/pub/ours", /*allow_non_empty=*/true));
    EXPECT_TRUE(was_swapped);
    std::filesystem::remove_all("/tmp/pub");
  }
}

TEST_F(FilesOfAnotherUser, in_folders_of_any_mode_are_deleted_by_him_T4_M6) {
  for (const unsigned mode : {0U, 0300U, 0400U, 0500U, 0600U}) {
    EXPECT_TRUE(stranger_does([&] { return delete_shut_folders(os, mode); })) << mode;
  }
}

TEST_F(FilesOfAnotherUser, that_are_no_files_are_not_mapped_and_keep_nobody_waiting_R8) {
  ASSERT_TRUE(stranger_does([&] {
    return pretend::make_fifo("/tmp/fifo") && pretend::make_socket("/tmp/socket") &&
           pretend::make_symlink("/tmp/link", precious_file) &&
           pretend::make_folder("/tmp/folder", 0777);
  }));
  ASSERT_TRUE(pretend::make_device("/tmp/device"));
  for (const char* path : {"/tmp/fifo", "/tmp/socket", "/tmp/link", "/tmp/folder", "/tmp/device"}) {
    guard(path);
    for (const MapMode mode : {MapMode::read, MapMode::read_write, MapMode::copy_on_write}) {
      EXPECT_FALSE(map_npy(os, path, mode)) << path;
    }
  }
}

TEST_F(FilesOfAnotherUser, that_his_symlink_leads_to_are_mapped_only_where_linux_follows_it_R8) {
  ASSERT_TRUE(create_npy(os, precious + "/a", DType::parse("|u1").value(), {10}));
  ASSERT_TRUE(pretend::make_folder("/tmp/his", 0755));
  ASSERT_TRUE(pretend::make_symlink("/tmp/own", precious + "/a"));
  ASSERT_TRUE(stranger_does([&] { return pretend::make_symlink("/tmp/link", precious + "/a"); }));
  EXPECT_TRUE(map_npy(os, "/tmp/own", MapMode::read));
  EXPECT_EQ(map_npy(os, "/tmp/link", MapMode::read).error().code,
            std::errc::too_many_symbolic_link_levels);
  ASSERT_TRUE(pretend::move("/tmp/link", "/tmp/his/link"));
  EXPECT_TRUE(map_npy(os, "/tmp/his/link", MapMode::read));
  std::filesystem::remove(precious + "/a");
}

TEST_F(FilesOfAnotherUser, in_the_way_of_a_new_map_are_replaced_and_not_written_to_R8) {
  ASSERT_TRUE(stranger_does([&] { return pretend::make_symlink("/tmp/new", precious_file); }));
  const auto made = create_npy(os, "/tmp/new", DType::parse("|u1").value(), {10});
  ASSERT_TRUE(made) << describe(made.error());
  EXPECT_EQ(os.status_at("/tmp/new").value().kind, os::FileKind::regular);
}

}  // namespace
}  // namespace lastref
