// stage_outside_test: how a scenario changes the environment of the product, in both worlds.
#include <algorithm>
#include <string>
#include <system_error>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/owners.hpp>

#include "impl/os/shared_word.hpp"
#include "property_tests/harness/scenario/stage_worlds.hpp"

namespace lastref::harness {
namespace {

using testing::IsEmpty;
using testing::Not;

constexpr std::uint64_t page = 4096;

/// How many bytes a new file takes until there is no space; it is removed again.
std::size_t space_for(Stage& stage, const std::string& path, std::size_t wanted) {
  os::Os& os = stage.os();
  auto file = os::open_file(os, path, {.write = true, .create = true});
  if (!file) {
    return 0;
  }
  const std::string bytes(wanted, 'x');
  std::size_t total = 0;
  while (total < wanted) {
    const auto size = os.write(file->get(), os::bytes_of(bytes).subspan(total));
    if (!size) {
      break;
    }
    total += *size;
  }
  file->close_quietly();
  static_cast<void>(os.unlink(path));
  return total;
}

std::errc error_of_write(Stage& stage, os::Fd file, const std::string& bytes) {
  const auto size = stage.os().write(file, os::bytes_of(bytes));
  return size ? std::errc{} : size.error().code;
}

// Folders and storage.

Status environment_root(Stage& stage) {
  os::Os& os = stage.os();
  expect(stage, os.environment("TMPDIR") == stage.spare_folder(), "TMPDIR is the spare folder");
  for (const char* name : {"LASTREF_TEMP_FOLDER", "JOBLIB_TEMP_FOLDER", "TEMP", "TMP", "HOME"}) {
    expect(stage, !os.environment(name), std::string(name) + " is not set");
  }
  const auto status = os.status_at(stage.spare_folder());
  expect(stage, status && status->mode == 01777, "the spare folder is everybody's");
  expect(stage, stage.outside().list(stage.spare_folder()).empty(), "the spare folder is empty");
  expect(stage, space_for(stage, stage.spare_folder() + "/file", 10) == 10, "it takes files");
  return ok();
}

Status elsewhere_root(Stage& stage) {
  os::Os& os = stage.os();
  expect(stage, stage.outside().write(stage.folder() + "/near", "near"), "a file is written");
  for (const std::string& folder : {stage.folder(), stage.spare_folder()}) {
    stage.work_in(folder);
    expect(stage, os.working_folder() == folder, "the working folder is told");
    expect(stage,
           os.status_at("near").has_value() == (folder == stage.folder()),
           "relative paths start there");
  }
  expect(stage, stage.outside().unlink(stage.folder() + "/near"), "it is gone again");
  return ok();
}

Status hearing_root(Stage& stage) {
  expect(stage, stage.hears_signals(), "the role's own thread hears what it hears");
  for (const os::ThreadKind kind : {os::ThreadKind::users, os::ThreadKind::ours}) {
    bool hears = false;
    const auto thread = stage.os().start_thread([&] { hears = stage.hears_signals(); }, kind);
    LASTREF_CHECK(status_of(thread));
    (*thread)->join();
    expect(stage, hears == (kind == os::ThreadKind::users), "only a thread of the user's does");
  }
  return ok();
}

Status device_root(Stage& stage) {
  const auto spare = stage.os().status_at(stage.spare_folder());
  const auto own = stage.os().status_at(stage.folder());
  expect(stage, spare && own && spare->device != own->device, "it is a file system of its own");
  return ok();
}

Status spare_leak_root(Stage& stage) {
  static_cast<void>(
      stage.product().make({.type = ResourceType::file, .name = stage.spare_folder() + "/a"}));
  return ok();
}

Status storage_root(Stage& stage) {
  const std::string path = stage.folder() + "/file";
  const std::string shm = "/dev/shm/file";
  if (!stage.limits().storage(2 * page, 3)) {
    stage.refute("storage can be limited", "it cannot");
  }
  expect(stage, space_for(stage, path, 5 * page) == 2 * page, "two pages are two pages");
  expect(stage, space_for(stage, shm, 2 * page) == 2 * page, "and again");
  const auto make = [&](const char* name) {
    return stage.os().make_folder(stage.folder() + name, 0700).has_value();
  };
  expect(stage, make("/1") && make("/2") && make("/3"), "three inodes are three folders");
  expect(stage, !make("/4"), "and not four");
  stage.limits().free_storage();
  expect(stage, make("/4"), "there are inodes again");
  expect(stage, space_for(stage, path, 5 * page) == 5 * page, "there is space again");
  expect(stage, stage.limits().storage(1, 0), "it can be limited again");
  const Status refused = stage.os().make_folder(stage.folder() + "/5", 0700);
  expect(
      stage, !refused && refused.error().code == std::errc::no_space_on_device, "no inode is left");
  for (const char* name : {"/1", "/2", "/3", "/4"}) {
    static_cast<void>(stage.os().remove_folder(stage.folder() + name));
  }
  expect(stage, space_for(stage, path, 2 * page) == page, "part of a page is a page");
  expect(stage, stage.limits().storage(0, 9), "it can be limited again");
  expect(stage, space_for(stage, path, 1) == 0, "none is none");
  return ok();
}

Status hole_root(Stage& stage) {
  os::Os& os = stage.os();
  const std::string path = stage.folder() + "/file";
  auto file = os::open_file(os, path, {.write = true, .create = true});
  stage.limits().storage(page, 9);
  const auto far = os.write_at(file->get(), os::bytes_of("x"), 9 * page);
  expect(stage, far.has_value(), "what is not written takes no space");
  const auto near = os.write_at(file->get(), os::bytes_of("x"), 0);
  expect(stage, !near && near.error().code == std::errc::no_space_on_device, "the page is used");
  expect(stage, os.write_at(file->get(), os::bytes_of("y"), 9 * page + 1).has_value(), "up");
  static_cast<void>(file->close());
  static_cast<void>(os.unlink(path));
  return ok();
}

/// Leaves the storage limited, which would affect every later run.
Status selfish_root(Stage& stage) {
  stage.outside().make_folder(stage.folder() + "/closed", 0700);
  stage.outside().change_mode(stage.folder() + "/closed", 0);
  stage.limits().storage(0, 0);
  stage.outside().change_mode("/dev/shm", 0700);
  static_cast<void>(stage.os().now());
  return ok();
}

Status after_root(Stage& stage) {
  const auto status = stage.os().status_at("/dev/shm");
  expect(stage, status && status->mode == 01777, "/dev/shm is everybody's");
  expect(stage, space_for(stage, "/dev/shm/file", 9 * page) == 9 * page, "there is space");
  return ok();
}

/// Fills a file in the spare folder, and then writes more.
Status copying_root(Stage& stage) {
  os::Os& os = stage.os();
  if (!stage.limits().copying_storage(page)) {
    return ok();
  }
  const std::string path = stage.spare_folder() + "/words";
  LASTREF_TRY(file, os::open_file(os, path, {.write = true, .create = true}));
  LASTREF_CHECK(os::write_all(os, file.get(), os::bytes_of(std::string(page, '\0'))));
  const auto more = os.write(file.get(), os::bytes_of("x"));
  expect(
      stage, !more && more.error().code == std::errc::no_space_on_device, "a write finds no space");
  LASTREF_TRY(map,
              os::map_memory(os, {.file = file.get(), .size = page, .kind = os::MapKind::shared}));
  os::SharedWord word(os, map.get().data());
  expect(stage, word.load() == 0, "what is there can be read");
  static_cast<void>(os.unlink(path));  // Its space is free again.
  stage.limits().copying_storage(0);
  word.store(1);
  stage.refute("a store without space is the end", "it is not");
  return ok();
}

Status file_size_root(Stage& stage) {
  os::Os& os = stage.os();
  const std::string path = stage.folder() + "/file";
  LASTREF_CHECK(stage.start("unlimited"));
  stage.limits().file_size(100);
  LASTREF_CHECK(stage.start("limited"));
  auto file = os::open_file(os, path, {.write = true, .create = true});
  const auto size = os.write(file->get(), os::bytes_of(std::string(150, 'x')));
  expect(stage, size && *size == 100, "a write goes up to the limit");
  const std::errc beyond = error_of_write(stage, file->get(), "x");
  expect(stage, beyond == std::errc::file_too_large, "and not beyond");
  const auto at = os.write_at(file->get(), os::bytes_of("x"), 100);
  expect(stage, !at && at.error().code == std::errc::file_too_large, "wherever it starts");
  os::report_quietly(os, std::string(150, 'a'));
  os::report_quietly(os, std::string(150, 'b'));
  stage.tell("go");
  stage.await("limited is done");
  stage.await("unlimited is done");
  expect(stage, stage.outside().write(path, std::string(150, 'x')), "others may write more");
  stage.limits().file_size(~std::uint64_t{0});
  expect(stage, error_of_write(stage, file->get(), "xyz") == std::errc{}, "a limit can be raised");
  static_cast<void>(file->close());
  static_cast<void>(os.unlink(path));
  return ok();
}

Status file_size_child(Stage& stage) {
  stage.await("go");
  const std::string path = stage.folder() + "/" + stage.role();
  const std::size_t size = stage.role() == "limited" ? 100 : 150;
  expect(stage, space_for(stage, path, 150) == size, "a limit is for those started later");
  stage.tell(stage.role() + " is done");
  return ok();
}

// Descriptors.

Status descriptors_root(Stage& stage) {
  LASTREF_CHECK(stage.start("child"));
  stage.await("child has two");
  expect(stage, !stage.limits().descriptors("nobody", 0), "a missing process has no limit");
  expect(stage, stage.limits().descriptors("child", 0), "a running process has one");
  stage.tell("as many");
  stage.await("as many as before");
  expect(stage, stage.limits().descriptors("child", -2), "and may have fewer");
  stage.tell("fewer");
  stage.await("fewer than before");
  expect(stage, stage.limits().descriptors("child", 8), "and more");
  stage.tell("more");
  return ok();
}

Status descriptors_child(Stage& stage) {
  os::Os& os = stage.os();
  const auto open = [&] { return os::open_file(os, stage.folder(), {.folder = true}); };
  const auto is_refused = [&] { return failed_with(open(), std::errc::too_many_files_open); };
  LASTREF_TRY(first, open());
  LASTREF_TRY(second, open());
  stage.tell("child has two");
  stage.await("as many");
  expect(stage, is_refused(), "no more than before");
  second.close_quietly();
  expect(stage, open().has_value(), "but what was closed");
  stage.tell("as many as before");
  stage.await("fewer");
  expect(stage, is_refused(), "and not that any more");
  stage.tell("fewer than before");
  stage.await("more");
  expect(stage, open().has_value(), "until there are more");
  return ok();
}

// Modes.

Status modes_root(Stage& stage) {
  os::Os& os = stage.os();
  const std::string folder = stage.folder() + "/closed";
  const std::string file = folder + "/file";
  static_cast<void>(os.make_folder(folder, 0700));
  expect(stage, stage.outside().write(file, "x"), "an outside party writes");
  expect(stage, stage.limits().obey_modes(), "modes can be obeyed");
  stage.outside().change_mode(folder, 0500);
  const Status kept = os.unlink(file);
  expect(stage, !kept && kept.error().code == std::errc::permission_denied, "0500 keeps names");
  LASTREF_CHECK(stage.start("child"));
  stage.await("child is done");
  stage.outside().change_mode(folder, 0);
  const auto seen = os.status_at(file);
  expect(stage,
         !seen && seen.error().code == std::errc::permission_denied,
         "with mode 0 no process can enter");
  expect(stage,
         stage.outside().list(folder) == std::vector<std::string>{"file"},
         "an outside party sees everything");
  expect(stage, !os.status_at(file).has_value(), "and modes are obeyed after it as before");
  expect(stage, stage.outside().unlink(file), "and may do everything");
  stage.outside().change_mode(folder, 0700);
  expect(stage, os.remove_folder(folder).has_value(), "a mode can be given back");
  return ok();
}

Status modes_child(Stage& stage) {
  const auto made = stage.os().make_folder(stage.folder() + "/closed/mine", 0700);
  expect(stage, !made && made.error().code == std::errc::permission_denied, "children obey too");
  stage.tell("child is done");
  return ok();
}

Status change_mode_root(Stage& stage) {
  os::Os& os = stage.os();
  const std::string path = stage.folder() + "/file";
  static_cast<void>(stage.product().make(stage.product().file("file")));
  stage.outside().change_mode(path, 0640);
  const auto status = os.status_at(path);
  expect(stage, status && status->mode == 0640, "a mode can be changed");
  stage.outside().change_mode(stage.folder() + "/not there", 0640);
  static_cast<void>(os.unlink(path));
  return ok();
}

// Other programs.

Status outside_root(Stage& stage) {
  os::Os& os = stage.os();
  const std::string folder = stage.folder() + "/out";
  expect(stage, stage.outside().make_folder(folder, 0711), "a folder is made");
  expect(stage, !stage.outside().make_folder(folder, 0711), "but not twice");
  const auto made = os.status_at(folder);
  expect(stage, made && made->kind == os::FileKind::folder && made->mode == 0711, "with its mode");
  expect(stage, stage.outside().write(folder + "/b", "12345678"), "a file is made");
  expect(stage, stage.outside().write(folder + "/b", "123"), "and written again");
  const auto file = os.status_at(folder + "/b");
  expect(stage, file && file->mode == 0600 && file->size == 3, "with its bytes");
  expect(stage, stage.outside().symlink("b", folder + "/a"), "a symlink is made");
  const auto symlink = os.status_at(folder + "/a");
  expect(stage, symlink && symlink->kind == os::FileKind::symlink, "that is one");
  expect(stage, !stage.outside().write(folder + "/a", "x"), "and not written through");
  expect(stage, !stage.outside().write(folder, "x"), "nor is a folder");
  expect(stage,
         stage.outside().list(folder) == std::vector<std::string>{"a", "b"},
         "names are listed in order");
  expect(stage, stage.outside().list(folder + "/c").empty(), "none where nothing is");
  expect(stage, !stage.outside().rmdir(folder), "a folder that is not empty stays");
  expect(stage, stage.outside().unlink(folder + "/a"), "a symlink goes");
  expect(stage, stage.outside().unlink(folder + "/b"), "a file goes");
  expect(stage, !stage.outside().unlink(folder + "/b"), "once");
  expect(stage, stage.outside().rmdir(folder), "a folder goes");
  return ok();
}

Status locked_folder_root(Stage& stage) {
  os::Os& os = stage.os();
  const std::string path = stage.folder() + "/aged";
  expect(stage, !stage.outside().is_locked(path), "what is not there is not locked");
  LASTREF_CHECK(os.make_folder(path, 0700));
  LASTREF_TRY(first, os::open_file(os, path, {.folder = true}));
  LASTREF_TRY(second, os::open_file(os, path, {.folder = true}));
  expect(stage, !stage.outside().is_locked(path), "an open folder is not locked");
  LASTREF_CHECK(os.lock_folder(first.get()));
  expect(stage, stage.outside().is_locked(path), "a process locks it");
  LASTREF_CHECK(os.lock_folder(second.get()));
  LASTREF_CHECK(os.lock_folder(second.get()));
  LASTREF_CHECK(first.close());
  expect(stage, stage.outside().is_locked(path), "until its last lock ends");
  LASTREF_CHECK(second.close());
  expect(stage, !stage.outside().is_locked(path), "with the descriptor");
  LASTREF_TRY(third, os::open_file(os, path, {.folder = true}));
  LASTREF_CHECK(stage.start("child"));
  stage.await("child has the lock");
  expect(stage, stage.outside().is_locked(path), "another process locks it");
  stage.kill("child");
  expect(stage, !stage.outside().is_locked(path), "until it is killed");
  return os.remove_folder(path);
}

Status locked_folder_child(Stage& stage) {
  os::Os& os = stage.os();
  LASTREF_TRY(folder, os::open_file(os, stage.folder() + "/aged", {.folder = true}));
  LASTREF_CHECK(os.lock_folder(folder.get()));
  stage.tell("child has the lock");
  stage.stay_until_killed();
  return ok();
}

Status unread_root(Stage& stage) {
  os::Os& os = stage.os();
  os::report_quietly(os, "heard");
  expect(stage, stage.outside().leave_messages_unread(), "messages can be left unread");
  LASTREF_CHECK(stage.start("child"));
  stage.await("child has spoken");
  for (int message = 0; message < 3; ++message) {
    os::report_quietly(os, "lost");
  }
  stage.outside().read_messages_again();
  os::report_quietly(os, "heard again");
  return ok();
}

Status unread_child(Stage& stage) {
  os::report_quietly(stage.os(), "a child is heard");
  stage.tell("child has spoken");
  return ok();
}

Status outside_leak_root(Stage& stage) {
  stage.outside().write("/dev/shm/left", "");
  return ok();
}

std::vector<Scenario> make_toys_with_an_outside() {
  std::vector<Scenario> all = {
      toy("environment", {{"root", environment_root}}),
      toy("elsewhere", {{"root", elsewhere_root}}),
      toy("hearing", {{"root", hearing_root}}),
      toy("device", {{"root", device_root}}),
      toy("spare_leak", {{"root", spare_leak_root}}),
      toy("storage", {{"root", storage_root}}),
      toy("hole", {{"root", hole_root}}),
      toy("copying", {{"root", copying_root}}),
      toy("selfish", {{"root", selfish_root}}),
      toy("after", {{"root", after_root}}),
      toy("file_size",
          {{"root", file_size_root}, {"limited", file_size_child}, {"unlimited", file_size_child}}),
      toy("descriptors", {{"root", descriptors_root}, {"child", descriptors_child}}),
      toy("modes", {{"root", modes_root}, {"child", modes_child}}),
      toy("change_mode", {{"root", change_mode_root}}),
      toy("outside", {{"root", outside_root}}),
      toy("outside_leak", {{"root", outside_leak_root}}),
      toy("locked_folder", {{"root", locked_folder_root}, {"child", locked_folder_child}}),
      toy("unread", {{"root", unread_root}, {"child", unread_child}}),
  };
  std::ranges::find(all, "file_size", &Scenario::name)->expected_noise = {"aaa", "bbb"};
  std::ranges::find(all, "unread", &Scenario::name)->expected_noise = {
      "heard", "a child is heard", "lastref: 3 messages before this were not read", "heard again"};
  return all;
}

const std::vector<Scenario>& toys_with_an_outside() {
  static const std::vector<Scenario> all = make_toys_with_an_outside();
  return all;
}

class StageOutside : public StageWorlds {
 protected:
  StageOutside() : StageWorlds(toys_with_an_outside()) {}
};

INSTANTIATE_TEST_SUITE_P(Worlds, StageOutside, testing::ValuesIn(both_worlds()), name_of_row);

TEST_P(StageOutside, temporary_files_go_where_the_world_says) {
  EXPECT_THAT(run("environment").findings, IsEmpty());
}

TEST_P(StageOutside, a_process_works_where_it_is_told_to) {
  EXPECT_THAT(run("elsewhere").findings, IsEmpty());
}

TEST_P(StageOutside, only_threads_of_the_users_hear_signals_in_the_kernel_world) {
  if (is_sim()) {
    EXPECT_THAT(run("hearing").findings, Not(IsEmpty()));
  } else {
    EXPECT_THAT(run("hearing").findings, IsEmpty());
  }
}

TEST_P(StageOutside, a_folder_is_locked_while_a_process_has_its_lock) {
  EXPECT_THAT(run("locked_folder").findings, IsEmpty());
}

TEST_P(StageOutside, the_spare_folder_is_a_file_system_of_its_own) {
  if (!missing().empty()) {
    GTEST_SKIP() << "needs mounts: " << missing();
  }
  EXPECT_THAT(run("device").findings, IsEmpty());
}

TEST_P(StageOutside, what_is_left_in_the_spare_folder_is_found_and_wiped) {
  const Outcome outcome = run("spare_leak");
  EXPECT_EQ(outcome.leftovers, 1U);
  EXPECT_THAT(outcome.findings, Not(IsEmpty()));
  EXPECT_THAT(run("environment").findings, IsEmpty());
}

TEST_P(StageOutside, storage_has_the_limits_that_it_is_given) {
  if (!missing().empty()) {
    GTEST_SKIP() << "needs a /dev/shm of its own: " << missing();
  }
  EXPECT_THAT(run("storage").findings, IsEmpty());
  EXPECT_THAT(run("hole").findings, IsEmpty());
}

TEST_P(StageOutside, limits_and_modes_end_with_the_run_even_if_it_is_killed) {
  if (!missing().empty()) {
    GTEST_SKIP() << "needs a /dev/shm of its own: " << missing();
  }
  for (const FaultKind kind : {FaultKind::pause, FaultKind::kill_before}) {
    const Plan plan{
        .faults = {{.site = {"root", "now", "", 1}, .kind = kind}}, .choices = {}, .seed = {}};
    const Outcome outcome = run("selfish", plan);
    EXPECT_EQ(outcome.faults_fired, 1U);
    EXPECT_EQ(outcome.leftovers, 1U);
    EXPECT_THAT(run("after").findings, IsEmpty());
  }
}

TEST_P(StageOutside, who_stores_where_a_store_finds_no_space_is_killed) {
  const Outcome outcome = run("copying");
  if (is_sim()) {
    ASSERT_EQ(outcome.findings.size(), 1U);
    EXPECT_THAT(outcome.findings.front().seen,
                testing::AllOf(testing::StartsWith("root "), testing::EndsWith(" SIGBUS")));
  } else {
    EXPECT_THAT(outcome.findings, IsEmpty());  // There is no such file system.
  }
}

TEST_P(StageOutside, a_process_has_the_descriptors_that_it_may_have) {
  EXPECT_THAT(run("descriptors").findings, IsEmpty());
}

TEST_P(StageOutside, files_have_the_size_that_they_may_have) {
  const Outcome outcome = run("file_size");
  EXPECT_THAT(outcome.findings, IsEmpty());
}

TEST_P(StageOutside, modes_are_refused_to_whoever_obeys_them_in_the_kernel_world) {
  if (is_sim()) {
    EXPECT_THAT(run("modes").findings, Not(IsEmpty()));
  } else {
    EXPECT_THAT(run("modes").findings, IsEmpty());
  }
}

TEST_P(StageOutside, a_mode_can_be_changed_behind_the_products_back) {
  EXPECT_THAT(run("change_mode").findings, IsEmpty());
}

TEST_P(StageOutside, an_outside_party_makes_and_removes_what_it_likes) {
  EXPECT_THAT(run("outside").findings, IsEmpty());
}

TEST_P(StageOutside, messages_of_one_process_can_be_left_unread) {
  EXPECT_THAT(run("unread").findings, IsEmpty());
}

TEST_P(StageOutside, what_an_outside_party_leaves_is_left_over) {
  if (!missing().empty()) {
    GTEST_SKIP() << "needs a /dev/shm of its own: " << missing();
  }
  EXPECT_EQ(run("outside_leak").leftovers, 1U);
  EXPECT_THAT(run("after").findings, IsEmpty());
}

}  // namespace
}  // namespace lastref::harness
