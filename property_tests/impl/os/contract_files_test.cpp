// os_contract_files_test: files and folders, and one name that becomes another in one step.
#include <array>
#include <set>
#include <string>
#include <tuple>

#include "property_tests/impl/os/contract.hpp"

namespace lastref {
namespace {

using contract::fails;
using contract::never_opened;
using contract::Scene;
using contract::value_of;
using contract::worked;
using os::bytes_of;
using os::Fd;
using os::FileKind;
using os::UniqueFd;

class FilesContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(FilesContract);

std::array<std::byte, 64> buffer;

TEST_P(FilesContract, what_was_written_can_be_read) {
  act([](Scene& scene) {
    scene.create("a", "some text");
    EXPECT_EQ(scene.text_of("a"), "some text");
    scene.remove("a");
  });
}

TEST_P(FilesContract, a_missing_file_cannot_be_opened_and_the_error_names_it) {
  act([](Scene& scene) {
    const auto opened = scene.os().open(scene.path("missing"), {});
    EXPECT_TRUE(fails(opened, Call::open, std::errc::no_such_file_or_directory));
    EXPECT_EQ(opened.error().subject, scene.path("missing"));
    EXPECT_TRUE(fails(scene.os().open(scene.path("missing/file"), {.write = true, .create = true}),
                      Call::open,
                      std::errc::no_such_file_or_directory));
  });
}

TEST_P(FilesContract, create_makes_a_new_file_or_none) {
  act([](Scene& scene) {
    scene.create("a", "first");
    const os::OpenOptions create{.write = true, .create = true};
    EXPECT_TRUE(
        fails(scene.os().open(scene.path("a"), create), Call::open, std::errc::file_exists));
    EXPECT_EQ(scene.text_of("a"), "first");
    scene.remove("a");
  });
}

TEST_P(FilesContract, a_new_file_is_private_from_its_first_instant) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("a");
    const os::FileStatus status = value_of(scene.os().status(file.get()));
    EXPECT_EQ(status.mode, 0600U);
    EXPECT_EQ(status.owner, scene.os().user_id());
    EXPECT_EQ(status.kind, FileKind::regular);
    EXPECT_EQ(status.size, 0U);
    scene.remove("a");
  });
}

TEST_P(FilesContract, a_name_that_is_too_long_is_refused) {
  act([](Scene& scene) {
    const std::string name(256, 'n');
    const os::OpenOptions create{.write = true, .create = true};
    EXPECT_TRUE(
        fails(scene.os().open(scene.path(name), create), Call::open, std::errc::filename_too_long));
    EXPECT_TRUE(fails(scene.os().make_folder(scene.path(name), 0700),
                      Call::make_folder,
                      std::errc::filename_too_long));
    scene.create(name.substr(1));
    scene.remove(name.substr(1));
  });
}

TEST_P(FilesContract, a_symlink_is_not_followed) {
  act([](Scene& scene) {
    scene.create("target", "kept");
    scene.fixture().plant_symlink(scene.path("link"), scene.path("target"));
    EXPECT_TRUE(fails(scene.os().open(scene.path("link"), {}),
                      Call::open,
                      std::errc::too_many_symbolic_link_levels));
    EXPECT_TRUE(fails(scene.os().open(scene.path("link"), {.write = true, .create = true}),
                      Call::open,
                      std::errc::file_exists));
    EXPECT_EQ(value_of(scene.os().status_at(scene.path("link"))).kind, FileKind::symlink);
    scene.remove("link");
    EXPECT_EQ(scene.text_of("target"), "kept");
    scene.remove("target");
  });
}

TEST_P(FilesContract, a_symlink_to_a_folder_is_no_folder) {
  act([](Scene& scene) {
    scene.fixture().plant_symlink(scene.path("link"), scene.folder());
    EXPECT_TRUE(fails(scene.os().open(scene.path("link"), {.folder = true}),
                      Call::open,
                      std::errc::not_a_directory));
    EXPECT_TRUE(fails(scene.os().remove_folder(scene.path("link")),
                      Call::remove_folder,
                      std::errc::not_a_directory));
    EXPECT_TRUE(fails(scene.os().make_folder(scene.path("link"), 0700),
                      Call::make_folder,
                      std::errc::file_exists));
    scene.remove("link");
  });
}

TEST_P(FilesContract, files_and_folders_are_not_each_other) {
  act([](Scene& scene) {
    scene.create("file");
    EXPECT_TRUE(fails(scene.os().open(scene.path("file"), {.folder = true}),
                      Call::open,
                      std::errc::not_a_directory));
    EXPECT_TRUE(
        fails(scene.os().open(scene.path("file/a"), {}), Call::open, std::errc::not_a_directory));
    EXPECT_TRUE(fails(
        scene.os().open(scene.folder(), {.write = true}), Call::open, std::errc::is_a_directory));
    EXPECT_TRUE(fails(scene.os().unlink(scene.folder()), Call::unlink, std::errc::is_a_directory));
    EXPECT_TRUE(fails(scene.os().remove_folder(scene.path("file")),
                      Call::remove_folder,
                      std::errc::not_a_directory));
    scene.remove("file");
  });
}

TEST_P(FilesContract, a_place_is_relative_to_its_folder) {
  act([](Scene& scene) {
    const UniqueFd folder = scene.open(scene.folder(), {.folder = true});
    scene.open({folder.get(), "a"}, {.write = true, .create = true});
    EXPECT_TRUE(scene.exists("a"));
    EXPECT_EQ(value_of(scene.os().status_at({folder.get(), "a"})),
              value_of(scene.os().status_at(scene.path("a"))));
    EXPECT_TRUE(worked(scene.os().make_folder({folder.get(), "b"}, 0700)));
    EXPECT_TRUE(worked(scene.os().remove_folder({folder.get(), "b"})));
    EXPECT_TRUE(worked(scene.os().unlink({folder.get(), "a"})));
    EXPECT_FALSE(scene.exists("a"));
  });
}

TEST_P(FilesContract, a_place_in_what_is_no_open_folder_is_refused) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("file");
    EXPECT_TRUE(fails(
        scene.os().open({never_opened, "a"}, {}), Call::open, std::errc::bad_file_descriptor));
    EXPECT_TRUE(
        fails(scene.os().unlink({file.get(), "a"}), Call::unlink, std::errc::not_a_directory));
    scene.remove("file");
  });
}

TEST_P(FilesContract, a_descriptor_that_is_not_open_is_refused) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    constexpr auto bad = std::errc::bad_file_descriptor;
    EXPECT_TRUE(fails(os.close(never_opened), Call::close, bad));
    EXPECT_TRUE(fails(os.read(never_opened, buffer), Call::read, bad));
    EXPECT_TRUE(fails(os.write(never_opened, buffer), Call::write, bad));
    EXPECT_TRUE(fails(os.write_at(never_opened, buffer, 0), Call::write_at, bad));
    EXPECT_TRUE(fails(os.status(never_opened), Call::status, bad));
    EXPECT_TRUE(fails(os.read_folder(never_opened), Call::read_folder, bad));
    EXPECT_EQ(os.close(never_opened).error().subject, "fd 9999");
  });
}

TEST_P(FilesContract, a_closed_descriptor_is_gone) {
  act([](Scene& scene) {
    UniqueFd file = scene.create("a");
    const Fd number = file.get();
    EXPECT_TRUE(worked(file.close()));
    EXPECT_TRUE(fails(scene.os().close(number), Call::close, std::errc::bad_file_descriptor));
    scene.remove("a");
  });
}

TEST_P(FilesContract, a_file_opened_to_be_read_is_not_written) {
  act([](Scene& scene) {
    scene.create("a", "kept");
    const UniqueFd file = scene.open(scene.path("a"));
    EXPECT_TRUE(fails(scene.os().write(file.get(), bytes_of("lost")),
                      Call::write,
                      std::errc::bad_file_descriptor));
    EXPECT_TRUE(fails(scene.os().write_at(file.get(), bytes_of("lost"), 0),
                      Call::write_at,
                      std::errc::bad_file_descriptor));
    EXPECT_EQ(scene.text_of("a"), "kept");
    scene.remove("a");
  });
}

TEST_P(FilesContract, an_appended_write_goes_to_the_end_whoever_wrote_before) {
  act([](Scene& scene) {
    const UniqueFd first = scene.create("a", "1");
    const UniqueFd log = scene.open(scene.path("a"), {.write = true, .append = true});
    EXPECT_TRUE(worked(scene.os().write(log.get(), bytes_of("2"))));
    EXPECT_TRUE(worked(scene.os().write_at(first.get(), bytes_of("3"), 2)));
    EXPECT_TRUE(worked(scene.os().write(log.get(), bytes_of("4"))));
    EXPECT_EQ(scene.text_of("a"), "1234");
    scene.remove("a");
  });
}

TEST_P(FilesContract, a_write_of_nothing_moves_nothing) {
  act([](Scene& scene) {
    scene.create("a", "kept");
    const UniqueFd log = scene.open(scene.path("a"), {.write = true, .append = true});
    EXPECT_EQ(value_of(scene.os().write(log.get(), {})), 0U);
    EXPECT_EQ(value_of(scene.os().read(log.get(), buffer)), 4U);
    scene.remove("a");
  });
}

TEST_P(FilesContract, write_at_leaves_the_position_alone_and_holes_are_zero) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("a", "ab");
    EXPECT_EQ(value_of(scene.os().write_at(file.get(), bytes_of("z"), 5)), 1U);
    EXPECT_TRUE(worked(scene.os().write(file.get(), bytes_of("c"))));
    EXPECT_EQ(scene.text_of("a"), std::string("abc\0\0z", 6));
    EXPECT_EQ(value_of(scene.os().status(file.get())).size, 6U);
    scene.remove("a");
  });
}

TEST_P(FilesContract, reading_goes_on_where_it_stopped_and_ends_with_nothing) {
  act([](Scene& scene) {
    scene.create("a", "abc");
    const UniqueFd file = scene.open(scene.path("a"));
    EXPECT_EQ(value_of(scene.os().read(file.get(), os::Buffer(buffer).first(2))), 2U);
    EXPECT_EQ(value_of(scene.os().read(file.get(), buffer)), 1U);
    EXPECT_EQ(buffer[0], std::byte{'c'});
    EXPECT_EQ(value_of(scene.os().read(file.get(), buffer)), 0U);
    scene.remove("a");
  });
}

TEST_P(FilesContract, a_folder_is_not_read_as_a_file) {
  act([](Scene& scene) {
    const UniqueFd folder = scene.open(scene.folder(), {.folder = true});
    EXPECT_TRUE(
        fails(scene.os().read(folder.get(), buffer), Call::read, std::errc::is_a_directory));
    const UniqueFd file = scene.create("a");
    EXPECT_TRUE(
        fails(scene.os().read_folder(file.get()), Call::read_folder, std::errc::not_a_directory));
    scene.remove("a");
  });
}

TEST_P(FilesContract, an_unlinked_file_lives_on_in_who_has_it_open) {
  act([](Scene& scene) {
    const UniqueFd old_file = scene.create("a", "old");
    scene.remove("a");
    const UniqueFd new_file = scene.create("a", "newer");
    const os::FileStatus before = value_of(scene.os().status(old_file.get()));
    const os::FileStatus after = value_of(scene.os().status(new_file.get()));
    EXPECT_EQ(before.size, 3U);
    EXPECT_EQ(after.size, 5U);
    EXPECT_EQ(before.device, after.device);
    EXPECT_NE(before.inode, after.inode);
    scene.remove("a");
  });
}

TEST_P(FilesContract, a_file_has_one_birth_by_descriptor_and_by_every_name_it_has_E4) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const UniqueFd file = scene.create("a");
    const os::FileStatus made = value_of(os.status(file.get()));
    EXPECT_EQ(value_of(os.status_at(scene.path("a"))), made);
    EXPECT_TRUE(worked(os::write_all(os, file.get(), os::bytes_of("more"))));
    EXPECT_TRUE(worked(os.rename(scene.path("a"), scene.path("b"))));
    EXPECT_EQ(value_of(os.status_at(scene.path("b"))).btime, made.btime);
    const UniqueFd other = scene.create("a");
    const os::FileStatus later = value_of(os.status(other.get()));
    EXPECT_NE(std::tuple(later.inode, later.btime), std::tuple(made.inode, made.btime));
    EXPECT_GE(later.btime, made.btime);
    scene.remove("a");
    scene.remove("b");
  });
}

TEST_P(FilesContract, a_folder_of_shared_memory_tells_when_it_was_born_E4) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const std::string path = "/dev/shm" + scene.unique_name();
    EXPECT_TRUE(worked(os.make_folder(path, 0700)));
    const os::FileStatus made = value_of(os.status_at(path));
    EXPECT_NE(made.btime, 0U);
    const UniqueFd folder = scene.open(path, {.folder = true});
    EXPECT_EQ(value_of(os.status(folder.get())), made);
    EXPECT_TRUE(worked(os.remove_folder(path)));
  });
}

TEST_P(FilesContract, what_is_missing_cannot_be_removed_or_looked_at) {
  act([](Scene& scene) {
    constexpr auto missing = std::errc::no_such_file_or_directory;
    const std::string path = scene.path("missing");
    EXPECT_TRUE(fails(scene.os().unlink(path), Call::unlink, missing));
    EXPECT_TRUE(fails(scene.os().remove_folder(path), Call::remove_folder, missing));
    EXPECT_TRUE(fails(scene.os().status_at(path), Call::status_at, missing));
    EXPECT_TRUE(fails(scene.os().make_folder(path + "/a", 0700), Call::make_folder, missing));
    EXPECT_TRUE(fails(scene.os().open("", {}), Call::open, missing));
  });
}

TEST_P(FilesContract, a_folder_is_made_once_and_removed_when_empty) {
  act([](Scene& scene) {
    const std::string path = scene.path("folder");
    EXPECT_TRUE(worked(scene.os().make_folder(path, 0700)));
    EXPECT_TRUE(
        fails(scene.os().make_folder(path, 0700), Call::make_folder, std::errc::file_exists));
    const os::FileStatus status = value_of(scene.os().status_at(path));
    EXPECT_EQ(status.kind, FileKind::folder);
    EXPECT_EQ(status.mode, 0700U);
    EXPECT_EQ(status.owner, scene.os().user_id());
    scene.create("folder/a");
    EXPECT_TRUE(
        fails(scene.os().remove_folder(path), Call::remove_folder, std::errc::directory_not_empty));
    scene.remove("folder/a");
    EXPECT_TRUE(worked(scene.os().remove_folder(path)));
    EXPECT_FALSE(scene.exists("folder"));
  });
}

TEST_P(FilesContract, nothing_is_created_in_a_removed_folder) {
  act([](Scene& scene) {
    EXPECT_TRUE(worked(scene.os().make_folder(scene.path("folder"), 0700)));
    const UniqueFd folder = scene.open(scene.path("folder"), {.folder = true});
    EXPECT_TRUE(worked(scene.os().remove_folder(scene.path("folder"))));
    const os::OpenOptions create{.write = true, .create = true};
    EXPECT_TRUE(fails(scene.os().open({folder.get(), "a"}, create),
                      Call::open,
                      std::errc::no_such_file_or_directory));
    EXPECT_TRUE(fails(scene.os().read_folder(folder.get()),
                      Call::read_folder,
                      std::errc::no_such_file_or_directory));
  });
}

TEST_P(FilesContract, a_folder_tells_every_entry_once_and_its_kind) {
  act([](Scene& scene) {
    scene.create("file");
    EXPECT_TRUE(worked(scene.os().make_folder(scene.path("folder"), 0700)));
    scene.fixture().plant_symlink(scene.path("link"), "file");
    scene.listener("socket");
    const UniqueFd folder = scene.open(scene.folder(), {.folder = true});
    std::multiset<std::pair<std::string, FileKind>> seen;
    for (const os::FolderEntry& entry : value_of(scene.os().read_folder(folder.get()))) {
      seen.emplace(entry.name, entry.kind);
    }
    const std::multiset<std::pair<std::string, FileKind>> expected = {{"file", FileKind::regular},
                                                                      {"folder", FileKind::folder},
                                                                      {"link", FileKind::symlink},
                                                                      {"socket", FileKind::socket}};
    EXPECT_EQ(seen, expected);
    EXPECT_TRUE(value_of(scene.os().read_folder(folder.get())).empty());
    for (const char* const name : {"file", "link", "socket"}) {
      scene.remove(name);
    }
    EXPECT_TRUE(worked(scene.os().remove_folder(scene.path("folder"))));
  });
}

TEST_P(FilesContract, an_empty_folder_ends_at_once) {
  act([](Scene& scene) {
    const UniqueFd folder = scene.open(scene.folder(), {.folder = true});
    EXPECT_TRUE(value_of(scene.os().read_folder(folder.get())).empty());
    EXPECT_TRUE(value_of(scene.os().read_folder(folder.get())).empty());
  });
}

TEST_P(FilesContract, a_big_folder_comes_in_pieces_and_can_be_emptied_meanwhile) {
  act([](Scene& scene) {
    constexpr std::size_t files = 1500;
    for (std::size_t i = 0; i < files; ++i) {
      scene.create(std::to_string(i));
    }
    const UniqueFd folder = scene.open(scene.folder(), {.folder = true});
    std::set<std::string> seen;
    for (;;) {
      const auto entries = value_of(scene.os().read_folder(folder.get()));
      EXPECT_LE(entries.size(), 500U);
      if (entries.empty()) {
        break;
      }
      for (const os::FolderEntry& entry : entries) {
        EXPECT_TRUE(seen.insert(entry.name).second) << entry.name << " came twice";
        EXPECT_TRUE(worked(scene.os().unlink({folder.get(), entry.name})));
      }
    }
    EXPECT_EQ(seen.size(), files);
  });
}

TEST_P(FilesContract, a_folder_that_may_not_be_written_takes_no_file) {
  act([](Scene& scene) {
    if (scene.os().user_id() == 0) {
      GTEST_SKIP() << "needs a user other than root: permissions do not restrict root";
    }
    EXPECT_TRUE(worked(scene.os().make_folder(scene.path("shut"), 0500)));
    const os::OpenOptions create{.write = true, .create = true};
    EXPECT_TRUE(fails(
        scene.os().open(scene.path("shut/a"), create), Call::open, std::errc::permission_denied));
    EXPECT_TRUE(worked(scene.os().remove_folder(scene.path("shut"))));
  });
}

class NamesContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(NamesContract);

TEST_P(NamesContract, shared_memory_is_made_once_and_unlinked_once) {
  act([](Scene& scene) {
    const std::string name = scene.unique_name();
    const UniqueFd memory(scene.os(), value_of(scene.os().create_shm(name, 0600)));
    EXPECT_TRUE(fails(scene.os().create_shm(name, 0600), Call::create_shm, std::errc::file_exists));
    EXPECT_TRUE(worked(os::write_all(scene.os(), memory.get(), bytes_of("text"))));
    const os::FileStatus status = value_of(scene.os().status(memory.get()));
    EXPECT_EQ(status.mode, 0600U);
    EXPECT_EQ(status.size, 4U);
    EXPECT_TRUE(worked(scene.os().unlink_shm(name)));
    EXPECT_TRUE(
        fails(scene.os().unlink_shm(name), Call::unlink_shm, std::errc::no_such_file_or_directory));
  });
}

TEST_P(NamesContract, a_semaphore_is_made_once_and_unlinked_once) {
  act([](Scene& scene) {
    const std::string name = scene.unique_name();
    EXPECT_TRUE(worked(scene.os().create_semaphore(name, 0600)));
    EXPECT_TRUE(fails(
        scene.os().create_semaphore(name, 0600), Call::create_semaphore, std::errc::file_exists));
    EXPECT_TRUE(worked(scene.os().unlink_semaphore(name)));
    EXPECT_TRUE(fails(scene.os().unlink_semaphore(name),
                      Call::unlink_semaphore,
                      std::errc::no_such_file_or_directory));
  });
}

TEST_P(NamesContract, semaphores_and_shared_memory_have_names_apart) {
  act([](Scene& scene) {
    const std::string name = scene.unique_name();
    EXPECT_TRUE(worked(scene.os().create_semaphore(name, 0600)));
    EXPECT_TRUE(
        fails(scene.os().unlink_shm(name), Call::unlink_shm, std::errc::no_such_file_or_directory));
    EXPECT_TRUE(worked(scene.os().unlink_semaphore(name)));
  });
}

TEST_P(NamesContract, a_name_with_a_folder_in_it_is_refused) {
  act([](Scene& scene) {
    EXPECT_TRUE(fails(scene.os().create_shm(scene.unique_name() + "/a", 0600),
                      Call::create_shm,
                      std::errc::invalid_argument));
    EXPECT_TRUE(fails(scene.os().create_semaphore(scene.unique_name() + "/a", 0600),
                      Call::create_semaphore,
                      std::errc::invalid_argument));
  });
}

class RenameContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(RenameContract);

Status rename(Scene& scene, const std::string& from, const std::string& to) {
  return scene.os().rename(scene.path(from), scene.path(to));
}

testing::AssertionResult refused(Scene& scene,
                                 const std::string& from,
                                 const std::string& to,
                                 std::errc code) {
  return fails(rename(scene, from, to), Call::rename, code);
}

void make_folder(Scene& scene, const std::string& name, std::uint32_t mode = 0700) {
  EXPECT_TRUE(worked(scene.os().make_folder(scene.path(name), mode)));
}

void remove_folder(Scene& scene, const std::string& name) {
  EXPECT_TRUE(worked(scene.os().remove_folder(scene.path(name))));
}

std::uint64_t inode_of(Scene& scene, const std::string& name) {
  return value_of(scene.os().status_at(scene.path(name))).inode;
}

TEST_P(RenameContract, a_file_has_the_new_name_and_not_the_old_one) {
  act([](Scene& scene) {
    scene.create("a", "text");
    const os::FileStatus before = value_of(scene.os().status_at(scene.path("a")));
    EXPECT_TRUE(worked(rename(scene, "a", "b")));
    EXPECT_FALSE(scene.exists("a"));
    EXPECT_EQ(value_of(scene.os().status_at(scene.path("b"))), before);
    EXPECT_EQ(scene.text_of("b"), "text");
    scene.remove("b");
  });
}

TEST_P(RenameContract, a_file_that_has_the_new_name_is_replaced_and_lives_on_in_who_has_it_open) {
  act([](Scene& scene) {
    const UniqueFd replaced = scene.create("b", "old");
    const UniqueFd moved = scene.create("a", "newer");
    EXPECT_TRUE(worked(rename(scene, "a", "b")));
    EXPECT_FALSE(scene.exists("a"));
    EXPECT_EQ(scene.text_of("b"), "newer");
    EXPECT_EQ(value_of(scene.os().status(replaced.get())).size, 3U);
    EXPECT_TRUE(worked(scene.os().write_at(moved.get(), bytes_of("NEW"), 0)));
    EXPECT_EQ(scene.text_of("b"), "NEWer");
    scene.remove("b");
  });
}

TEST_P(RenameContract, a_name_renamed_to_itself_stays) {
  act([](Scene& scene) {
    scene.create("a", "kept");
    make_folder(scene, "folder");
    scene.create("folder/b");
    EXPECT_TRUE(worked(rename(scene, "a", "a")));
    EXPECT_TRUE(worked(rename(scene, "folder", "folder")));
    EXPECT_EQ(scene.text_of("a"), "kept");
    scene.remove("a");
    scene.remove("folder/b");
    remove_folder(scene, "folder");
  });
}

TEST_P(RenameContract, what_is_missing_cannot_be_renamed_and_nothing_goes_where_no_folder_is) {
  act([](Scene& scene) {
    constexpr auto missing = std::errc::no_such_file_or_directory;
    scene.create("a", "kept");
    const Status status = rename(scene, "missing", "a");
    EXPECT_TRUE(fails(status, Call::rename, missing));
    EXPECT_EQ(status.error().subject, scene.path("a"));
    EXPECT_TRUE(refused(scene, "a", "missing/b", missing));
    EXPECT_TRUE(refused(scene, "missing/a", "b", missing));
    EXPECT_TRUE(refused(scene, "a/b", "b", std::errc::not_a_directory));
    EXPECT_TRUE(refused(scene, "a", "a/b", std::errc::not_a_directory));
    EXPECT_TRUE(refused(scene, "missing", "a/", missing));
    EXPECT_TRUE(refused(scene, "a/", "b", std::errc::not_a_directory));
    EXPECT_TRUE(refused(scene, "a", std::string(256, 'n'), std::errc::filename_too_long));
    EXPECT_TRUE(fails(scene.os().rename("", scene.path("b")), Call::rename, missing));
    EXPECT_TRUE(fails(scene.os().rename(scene.path("a"), ""), Call::rename, missing));
    EXPECT_EQ(scene.text_of("a"), "kept");
    scene.remove("a");
  });
}

TEST_P(RenameContract, a_path_with_a_nul_in_it_is_refused_at_either_end) {
  act([](Scene& scene) {
    scene.create("a", "kept");
    const std::string nul = std::string("a\0b", 3);
    EXPECT_TRUE(refused(scene, nul, "b", std::errc::invalid_argument));
    EXPECT_TRUE(refused(scene, "a", nul, std::errc::invalid_argument));
    scene.remove("a");
  });
}

TEST_P(RenameContract, a_place_is_relative_to_its_folder_at_either_end) {
  act([](Scene& scene) {
    make_folder(scene, "from");
    make_folder(scene, "to");
    scene.create("from/a", "text");
    const UniqueFd from = scene.open(scene.path("from"), {.folder = true});
    const UniqueFd to = scene.open(scene.path("to"), {.folder = true});
    EXPECT_TRUE(worked(scene.os().rename({from.get(), "a"}, {to.get(), "b"})));
    EXPECT_EQ(scene.text_of("to/b"), "text");
    constexpr auto bad = std::errc::bad_file_descriptor;
    EXPECT_TRUE(fails(scene.os().rename({Fd{9999}, "b"}, {to.get(), "c"}), Call::rename, bad));
    EXPECT_TRUE(fails(scene.os().rename({to.get(), "b"}, {Fd{9999}, "c"}), Call::rename, bad));
    scene.remove("to/b");
    remove_folder(scene, "from");
    remove_folder(scene, "to");
  });
}

TEST_P(RenameContract, a_symlink_is_not_followed_at_either_end) {
  act([](Scene& scene) {
    scene.create("target", "kept");
    scene.create("a", "text");
    scene.fixture().plant_symlink(scene.path("link"), scene.path("target"));
    EXPECT_TRUE(worked(rename(scene, "link", "moved")));
    EXPECT_EQ(value_of(scene.os().status_at(scene.path("moved"))).kind, FileKind::symlink);
    EXPECT_TRUE(worked(rename(scene, "a", "moved")));
    EXPECT_EQ(scene.text_of("moved"), "text");
    EXPECT_EQ(scene.text_of("target"), "kept");
    scene.remove("moved");
    scene.remove("target");
  });
}

TEST_P(RenameContract, a_folder_keeps_what_is_in_it_and_knows_where_it_is) {
  act([](Scene& scene) {
    make_folder(scene, "a");
    make_folder(scene, "into");
    scene.create("a/file", "text");
    const UniqueFd open = scene.open(scene.path("a"), {.folder = true});
    EXPECT_TRUE(worked(rename(scene, "a", "into/b")));
    EXPECT_EQ(scene.text_of("into/b/file"), "text");
    EXPECT_EQ(value_of(scene.os().status_at({open.get(), ".."})).inode, inode_of(scene, "into"));
    EXPECT_TRUE(worked(scene.os().unlink({open.get(), "file"})));
    remove_folder(scene, "into/b");
    remove_folder(scene, "into");
  });
}

TEST_P(RenameContract, a_folder_replaces_an_empty_folder_and_no_other) {
  act([](Scene& scene) {
    make_folder(scene, "a");
    make_folder(scene, "empty");
    make_folder(scene, "full");
    scene.create("a/file");
    scene.create("full/file");
    const UniqueFd replaced = scene.open(scene.path("empty"), {.folder = true});
    EXPECT_TRUE(refused(scene, "a", "full", std::errc::directory_not_empty));
    const std::uint64_t inode = inode_of(scene, "a");
    EXPECT_TRUE(worked(rename(scene, "a", "empty")));
    EXPECT_EQ(inode_of(scene, "empty"), inode);
    EXPECT_TRUE(fails(scene.os().rename(scene.path("full"), {replaced.get(), "b"}),
                      Call::rename,
                      std::errc::no_such_file_or_directory));
    scene.remove("empty/file");
    scene.remove("full/file");
    remove_folder(scene, "empty");
    remove_folder(scene, "full");
  });
}

TEST_P(RenameContract, files_and_folders_do_not_replace_each_other) {
  act([](Scene& scene) {
    scene.create("file");
    make_folder(scene, "folder");
    EXPECT_TRUE(refused(scene, "file", "folder", std::errc::is_a_directory));
    EXPECT_TRUE(refused(scene, "folder", "file", std::errc::not_a_directory));
    EXPECT_TRUE(refused(scene, "file", "new/", std::errc::not_a_directory));
    EXPECT_TRUE(worked(rename(scene, "folder", "new/")));
    scene.remove("file");
    remove_folder(scene, "new");
  });
}

TEST_P(RenameContract, a_folder_does_not_go_into_itself_nor_over_what_it_lies_in) {
  act([](Scene& scene) {
    make_folder(scene, "a");
    make_folder(scene, "a/b");
    scene.create("a/b/file");
    EXPECT_TRUE(refused(scene, "a", "a/c", std::errc::invalid_argument));
    EXPECT_TRUE(refused(scene, "a", "a/b/c", std::errc::invalid_argument));
    EXPECT_TRUE(refused(scene, "a", "a/b", std::errc::invalid_argument));
    EXPECT_TRUE(refused(scene, "a/b", "a", std::errc::directory_not_empty));
    EXPECT_TRUE(refused(scene, "a/b/file", "a", std::errc::directory_not_empty));
    EXPECT_TRUE(refused(scene, "a/b/.", "c", std::errc::device_or_resource_busy));
    EXPECT_TRUE(refused(scene, "a", "a/b/..", std::errc::device_or_resource_busy));
    const Status moved = scene.os().rename("/", scene.path("c"));
    // If our folder is on another mount, the kernel checks that first. rename(2), EXDEV.
    if (!failed_with(moved, std::errc::cross_device_link)) {
      EXPECT_TRUE(fails(moved, Call::rename, std::errc::device_or_resource_busy));
    }
    scene.remove("a/b/file");
    remove_folder(scene, "a/b");
    remove_folder(scene, "a");
  });
}

TEST_P(RenameContract, nothing_is_renamed_out_of_or_into_what_may_not_be_written) {
  act([](Scene& scene) {
    if (scene.os().user_id() == 0) {
      GTEST_SKIP() << "needs a user other than root: permissions do not restrict root";
    }
    scene.create("a");
    make_folder(scene, "shut", 0500);
    make_folder(scene, "moved", 0500);
    make_folder(scene, "into");
    constexpr auto denied = std::errc::permission_denied;
    EXPECT_TRUE(refused(scene, "a", "shut/a", denied));
    EXPECT_TRUE(refused(scene, "shut/missing", "b", std::errc::no_such_file_or_directory));
    // Its ".." would change.
    EXPECT_TRUE(refused(scene, "moved", "into/moved", denied));
    EXPECT_TRUE(worked(rename(scene, "moved", "stays")));
    scene.remove("a");
    for (const char* const name : {"shut", "stays", "into"}) {
      remove_folder(scene, name);
    }
  });
}

class LinkContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(LinkContract);

TEST_P(LinkContract, a_file_has_two_names_until_it_has_one_and_lives_as_long) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    scene.create("a", "text");
    EXPECT_TRUE(worked(os.link(scene.path("a"), scene.path("b"))));
    EXPECT_EQ(inode_of(scene, "a"), inode_of(scene, "b"));
    EXPECT_TRUE(worked(os.rename(scene.path("a"), scene.path("b")))) << "both are its names";
    EXPECT_TRUE(scene.exists("a"));
    scene.remove("a");
    EXPECT_EQ(scene.text_of("b"), "text");
    scene.remove("b");
  });
}

TEST_P(LinkContract, nothing_is_replaced_and_folders_have_one_name) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    scene.create("a", "mine");
    scene.create("file", "kept");
    make_folder(scene, "folder");
    scene.fixture().plant_symlink(scene.path("dangling"), "missing");
    const auto refused = [&](const std::string& from, const std::string& to, std::errc code) {
      return fails(os.link(scene.path(from), scene.path(to)), Call::link, code);
    };
    for (const char* const taken : {"a", "file", "folder", "dangling", "folder/.", ""}) {
      EXPECT_TRUE(refused("a", taken, std::errc::file_exists)) << taken;
    }
    EXPECT_TRUE(refused("folder", "new", std::errc::operation_not_permitted));
    EXPECT_TRUE(refused("missing", "new", std::errc::no_such_file_or_directory));
    EXPECT_TRUE(refused("a", "missing/new", std::errc::no_such_file_or_directory));
    EXPECT_TRUE(refused("a", "new/", std::errc::no_such_file_or_directory));
    EXPECT_TRUE(refused("a/", "new", std::errc::not_a_directory));
    EXPECT_TRUE(refused("a", std::string("n\0w", 3), std::errc::invalid_argument));
    EXPECT_EQ(os.link(scene.path("a"), scene.path("file")).error().subject, scene.path("file"));
    EXPECT_EQ(scene.text_of("file"), "kept");
    for (const char* const name : {"a", "file", "dangling"}) {
      scene.remove(name);
    }
    remove_folder(scene, "folder");
  });
}

TEST_P(LinkContract, a_symlink_says_where_it_leads_and_nothing_else_does) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    scene.create("a", "text");
    scene.fixture().plant_symlink(scene.path("link"), "a");
    scene.fixture().plant_symlink(scene.path("other"), "../missing");
    EXPECT_EQ(value_of(os.read_link(scene.path("link"))), "a");
    EXPECT_EQ(value_of(os.read_link(scene.path("other"))), "../missing");
    const UniqueFd folder = scene.open(scene.folder(), {.folder = true});
    EXPECT_EQ(value_of(os.read_link({folder.get(), "link"})), "a");
    const auto refused = [&](const std::string& name, std::errc code) {
      return fails(os.read_link(scene.path(name)), Call::read_link, code);
    };
    EXPECT_TRUE(refused("a", std::errc::invalid_argument));
    EXPECT_TRUE(refused("", std::errc::invalid_argument));
    EXPECT_TRUE(refused("missing", std::errc::no_such_file_or_directory));
    for (const char* const name : {"a", "link", "other"}) {
      scene.remove(name);
    }
  });
}

TEST_P(LinkContract, modes_are_changed_of_what_is_named_and_not_through_a_symlink) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    scene.create("a", "text");
    make_folder(scene, "folder");
    scene.fixture().plant_symlink(scene.path("link"), "a");
    const UniqueFd above = scene.open(scene.folder(), {.folder = true});
    EXPECT_TRUE(worked(os.change_mode(scene.path("a"), 0)));
    EXPECT_TRUE(worked(os.change_mode({above.get(), "folder"}, 0500)));
    EXPECT_EQ(value_of(os.status_at(scene.path("a"))).mode, 0U);
    EXPECT_EQ(value_of(os.status_at(scene.path("folder"))).mode, 0500U);
    EXPECT_TRUE(fails(os.change_mode(scene.path("link"), 0700),
                      Call::change_mode,
                      std::errc::operation_not_supported));
    EXPECT_TRUE(fails(os.change_mode(scene.path("missing"), 0700),
                      Call::change_mode,
                      std::errc::no_such_file_or_directory));
    EXPECT_EQ(value_of(os.status_at(scene.path("a"))).mode, 0U);
    scene.remove("a");
    scene.remove("link");
    remove_folder(scene, "folder");
  });
}

class RenameNewContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(RenameNewContract);

Status rename_new(Scene& scene, const std::string& from, const std::string& to) {
  return scene.os().rename_new(scene.path(from), scene.path(to));
}

testing::AssertionResult refused_new(Scene& scene,
                                     const std::string& from,
                                     const std::string& to,
                                     std::errc code) {
  return fails(rename_new(scene, from, to), Call::rename_new, code);
}

TEST_P(RenameNewContract, a_name_that_nobody_has_is_given_to_a_file_and_to_a_folder) {
  act([](Scene& scene) {
    scene.create("a", "text");
    make_folder(scene, "folder");
    scene.create("folder/b", "below");
    const std::uint64_t inode = inode_of(scene, "a");
    EXPECT_TRUE(worked(rename_new(scene, "a", "new")));
    EXPECT_TRUE(worked(rename_new(scene, "folder", "other/")));
    EXPECT_FALSE(scene.exists("a"));
    EXPECT_FALSE(scene.exists("folder"));
    EXPECT_EQ(inode_of(scene, "new"), inode);
    EXPECT_EQ(scene.text_of("new"), "text");
    EXPECT_EQ(scene.text_of("other/b"), "below");
    scene.remove("new");
    scene.remove("other/b");
    remove_folder(scene, "other");
  });
}

TEST_P(RenameNewContract, nothing_is_replaced_whatever_has_the_name) {
  act([](Scene& scene) {
    scene.create("a", "mine");
    scene.create("file", "kept");
    make_folder(scene, "folder");
    make_folder(scene, "empty");
    scene.fixture().plant_symlink(scene.path("dangling"), "missing");
    for (const char* const taken : {"a", "file", "file/", "folder", "dangling", "folder/.", ""}) {
      EXPECT_TRUE(refused_new(scene, "a", taken, std::errc::file_exists)) << taken;
    }
    EXPECT_TRUE(refused_new(scene, "folder", "empty", std::errc::file_exists));
    EXPECT_TRUE(refused_new(scene, "folder", "file", std::errc::file_exists));
    EXPECT_TRUE(refused_new(scene, "folder/../a", "a", std::errc::file_exists));
    EXPECT_EQ(rename_new(scene, "a", "file").error().subject, scene.path("file"));
    EXPECT_EQ(scene.text_of("a"), "mine");
    EXPECT_EQ(scene.text_of("file"), "kept");
    EXPECT_EQ(value_of(scene.os().status_at(scene.path("dangling"))).kind, FileKind::symlink);
    for (const char* const name : {"a", "file", "dangling"}) {
      scene.remove(name);
    }
    remove_folder(scene, "folder");
    remove_folder(scene, "empty");
  });
}

TEST_P(RenameNewContract, only_one_of_two_is_given_the_name) {
  act([](Scene& scene) {
    scene.create("a", "first");
    scene.create("b", "second");
    EXPECT_TRUE(worked(rename_new(scene, "a", "new")));
    EXPECT_TRUE(refused_new(scene, "b", "new", std::errc::file_exists));
    EXPECT_EQ(scene.text_of("new"), "first");
    EXPECT_EQ(scene.text_of("b"), "second");
    scene.remove("new");
    EXPECT_TRUE(worked(rename_new(scene, "b", "new")));
    scene.remove("new");
  });
}

TEST_P(RenameNewContract, a_symlink_is_moved_and_not_followed) {
  act([](Scene& scene) {
    scene.create("target", "kept");
    scene.fixture().plant_symlink(scene.path("link"), scene.path("target"));
    EXPECT_TRUE(worked(rename_new(scene, "link", "moved")));
    EXPECT_EQ(value_of(scene.os().status_at(scene.path("moved"))).kind, FileKind::symlink);
    EXPECT_EQ(scene.text_of("target"), "kept");
    scene.remove("moved");
    scene.remove("target");
  });
}

TEST_P(RenameNewContract, what_cannot_be_renamed_has_no_new_name_either) {
  act([](Scene& scene) {
    constexpr auto missing = std::errc::no_such_file_or_directory;
    constexpr auto no_folder = std::errc::not_a_directory;
    scene.create("a", "kept");
    make_folder(scene, "folder");
    EXPECT_TRUE(refused_new(scene, "missing", "b", missing));
    // The source is looked up first.
    EXPECT_TRUE(refused_new(scene, "missing", "a", missing));
    EXPECT_TRUE(refused_new(scene, "missing", "a/", missing));
    EXPECT_TRUE(refused_new(scene, "a", "missing/b", missing));
    EXPECT_TRUE(refused_new(scene, "a/b", "b", no_folder));
    EXPECT_TRUE(refused_new(scene, "a", "a/b", no_folder));
    EXPECT_TRUE(refused_new(scene, "a", "b/", no_folder));
    EXPECT_TRUE(refused_new(scene, "a/", "b", no_folder));
    EXPECT_TRUE(refused_new(scene, "a/", "folder", std::errc::file_exists));
    EXPECT_TRUE(refused_new(scene, "folder", "folder/b", std::errc::invalid_argument));
    EXPECT_TRUE(refused_new(scene, "folder/.", "b", std::errc::device_or_resource_busy));
    EXPECT_TRUE(refused_new(scene, "folder/.", "a", std::errc::device_or_resource_busy));
    EXPECT_TRUE(refused_new(scene, "a", std::string(256, 'n'), std::errc::filename_too_long));
    EXPECT_TRUE(refused_new(scene, "a", std::string("b\0", 2), std::errc::invalid_argument));
    EXPECT_TRUE(refused_new(scene, std::string("a\0", 2), "b", std::errc::invalid_argument));
    EXPECT_EQ(scene.text_of("a"), "kept");
    scene.remove("a");
    remove_folder(scene, "folder");
  });
}

TEST_P(RenameNewContract, a_place_is_relative_to_its_folder_at_either_end) {
  act([](Scene& scene) {
    make_folder(scene, "from");
    make_folder(scene, "to");
    scene.create("from/a", "text");
    const UniqueFd from = scene.open(scene.path("from"), {.folder = true});
    const UniqueFd to = scene.open(scene.path("to"), {.folder = true});
    EXPECT_TRUE(worked(scene.os().rename_new({from.get(), "a"}, {to.get(), "b"})));
    EXPECT_EQ(scene.text_of("to/b"), "text");
    constexpr auto bad = std::errc::bad_file_descriptor;
    EXPECT_TRUE(
        fails(scene.os().rename_new({Fd{9999}, "b"}, {to.get(), "c"}), Call::rename_new, bad));
    EXPECT_TRUE(
        fails(scene.os().rename_new({to.get(), "b"}, {Fd{9999}, "c"}), Call::rename_new, bad));
    remove_folder(scene, "from");
    EXPECT_TRUE(fails(scene.os().rename_new({to.get(), "b"}, {from.get(), "c"}),
                      Call::rename_new,
                      std::errc::no_such_file_or_directory));
    scene.remove("to/b");
    remove_folder(scene, "to");
  });
}

}  // namespace
}  // namespace lastref
