// os_contract_files_test: files and folders.
#include <array>
#include <set>
#include <tuple>

#include "property_tests/impl/os/contract.hpp"

namespace lastref {
namespace {

using contract::fails;
using contract::nobody;
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
    EXPECT_TRUE(
        fails(scene.os().open({nobody, "a"}, {}), Call::open, std::errc::bad_file_descriptor));
    EXPECT_TRUE(
        fails(scene.os().unlink({file.get(), "a"}), Call::unlink, std::errc::not_a_directory));
    scene.remove("file");
  });
}

TEST_P(FilesContract, a_descriptor_that_is_not_open_is_refused) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    constexpr auto bad = std::errc::bad_file_descriptor;
    EXPECT_TRUE(fails(os.close(nobody), Call::close, bad));
    EXPECT_TRUE(fails(os.read(nobody, buffer), Call::read, bad));
    EXPECT_TRUE(fails(os.write(nobody, buffer), Call::write, bad));
    EXPECT_TRUE(fails(os.write_at(nobody, buffer, 0), Call::write_at, bad));
    EXPECT_TRUE(fails(os.status(nobody), Call::status, bad));
    EXPECT_TRUE(fails(os.read_folder(nobody), Call::read_folder, bad));
    EXPECT_EQ(os.close(nobody).error().subject, "fd 9999");
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
    EXPECT_EQ(value_of(os.status_at(scene.path("b"))).born, made.born);
    const UniqueFd other = scene.create("a");
    const os::FileStatus later = value_of(os.status(other.get()));
    EXPECT_NE(std::tuple(later.inode, later.born), std::tuple(made.inode, made.born));
    EXPECT_GE(later.born, made.born);
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
    EXPECT_NE(made.born, 0U);
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
      GTEST_SKIP() << "needs a user whom permissions bind; root is none";
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

}  // namespace
}  // namespace lastref
