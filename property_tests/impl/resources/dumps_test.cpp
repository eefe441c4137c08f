// dumps_test: a temporary file is complete or absent, in a folder that only this user can use, in a
// location that has space for it.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/sim/sim_process.hpp"
#include "property_tests/impl/resources/manager_fixture.hpp"

namespace lastref {
namespace {

using pretend::Crossing;
using pretend::fail_kth;
using pretend::ManagerFixture;
using pretend::must;
using testing::IsEmpty;
using testing::SizeIs;

/// Errors that make_folder, open and all later calls may meet.
const std::errc troubles[] = {std::errc::no_space_on_device,
                              std::errc::io_error,
                              std::errc::permission_denied,
                              std::errc::too_many_files_open,
                              std::errc::interrupted};

TEST(Dump, that_fails_at_any_call_leaves_no_file_and_no_count_R12) {
  for (const bool is_first : {true, false}) {
    for (const std::errc code : troubles) {
      std::size_t failed = 0;
      for (std::size_t at = 0;; ++at) {
        SCOPED_TRACE(at);
        ManagerFixture fixture;
        if (!is_first) {
          ASSERT_TRUE(fixture.publish());
        }
        const auto names_before = fixture.folder.names();
        const std::size_t crossed_before = fixture.os.crossings.size();
        fixture.os.director = fail_kth(at, code);
        const auto file = fixture.publish();
        const std::size_t crossed = fixture.os.crossings.size() - crossed_before;
        fixture.os.director = nullptr;
        if (!file) {
          ++failed;
          EXPECT_THAT(fixture.counts.names(ResourceType::file), SizeIs(is_first ? 0U : 1U));
          auto names = fixture.folder.names();
          if (is_first && names.size() == 1) {
            names.clear();  // The folder of the context, which is counted.
            EXPECT_THAT(fixture.counts.names(ResourceType::folder), SizeIs(1));
          }
          EXPECT_EQ(names, names_before);
          const auto again = fixture.publish("again");
          ASSERT_TRUE(again);
          EXPECT_EQ(must(fixture.os.status_at((*again)->path())).size, 5U);
        }
        ASSERT_TRUE(fixture.resources->clean_up());
        EXPECT_THAT(fixture.folder.names(), IsEmpty());
        EXPECT_TRUE(fixture.counts.empty());
        EXPECT_THAT(fixture.counts.misuse, IsEmpty());
        if (crossed <= at) {
          break;
        }
      }
      EXPECT_TRUE(failed > 3 || code == std::errc::interrupted);
    }
  }
}

TEST(Dump, that_cannot_be_counted_is_not_made_R12) {
  for (std::size_t at = 0; at < 2; ++at) {
    ManagerFixture fixture;
    fixture.counts.fails = at;
    const auto file = fixture.publish();
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, std::errc::connection_refused);
    EXPECT_THAT(fixture.counts.names(ResourceType::file), IsEmpty());
    EXPECT_EQ(fixture.folder.names().size(), at);
    EXPECT_TRUE(fixture.publish());
    EXPECT_TRUE(fixture.resources->clean_up());
    EXPECT_TRUE(fixture.counts.empty());
  }
}

TEST(Dump, is_counted_before_it_has_its_name_and_has_it_when_it_is_complete_R4_R12) {
  std::vector<std::string> story;  // Declared first: it also records the end of the fixture.
  ManagerFixture fixture;
  fixture.counts.before = [&](const std::string& operation, const std::string& path) {
    story.push_back(operation + (path.ends_with(".npy") ? " file" : " folder"));
  };
  fixture.os.after = [&](const Crossing& crossing) {
    if (crossing.call == Call::make_folder || crossing.call == Call::rename) {
      story.emplace_back(name_of(crossing.call));
    } else if (crossing.call == Call::open && crossing.subject.ends_with(".part")) {
      story.emplace_back("open part");
    }
  };
  std::vector<std::string> seen;
  ASSERT_TRUE(fixture.resources->publish([&](os::Fd fd) {
    seen = fixture.folder.names();
    return fixture.write(fd);
  }));
  EXPECT_EQ(story,
            (std::vector<std::string>{
                "register folder", "make_folder", "open part", "register file", "rename"}));
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_TRUE(seen[1].ends_with(".npy.part"));
  EXPECT_TRUE(fixture.folder.names()[1].ends_with(".npy"));
}

TEST(Dump, is_ours_alone_from_its_first_instant_R13) {
  ManagerFixture fixture;
  fixture.folder.make_folder("new");
  fixture.resources = fixture.make({.root = fixture.folder.path("new/a/b")});
  std::size_t looked = 0;
  fixture.os.after = [&](const Crossing&) {
    for (const std::string& name : fixture.folder.names()) {
      if (name == "new") {
        continue;
      }
      const auto status = must(os::KernelOs().status_at(fixture.folder.path(name)));
      EXPECT_EQ(status.mode, status.kind == os::FileKind::folder ? 0700U : 0600U) << name;
      ++looked;
    }
  };
  ASSERT_TRUE(fixture.publish());
  EXPECT_GT(looked, 4U);
  fixture.os.after = nullptr;
  fixture.resources.reset();
  EXPECT_EQ(fixture.folder.names(), (std::vector<std::string>{"new", "new/a", "new/a/b"}));
  fixture.folder.remove("new");
}

TEST(Dump, is_ours_alone_whatever_the_umask_R13) {
  for (const std::uint32_t mask : {0U, 022U, 027U, 077U}) {
    harness::ListedChoices choices{{}};
    harness::sim::Computer computer{choices};
    const auto rest = computer.run_process({}, [&](os::Os& os) {
      computer.kernel().processes().front()->umask = mask;
      pretend::Counts counts;
      const auto resources =
          must(TemporaryResources::make(os, counts.party("parent"), {.root = "/tmp/deep/root"}));
      const auto file = must(resources->publish([&](os::Fd fd) {
        EXPECT_EQ(must(os.status(fd)).mode, 0600U);
        return os::write_all(os, fd, os::bytes_of("x"));
      }));
      EXPECT_EQ(must(os.status_at(file->path())).mode, 0600U);
      EXPECT_EQ(must(os.status_at(must(resources->resolve_temp_folder_name()).path)).mode, 0700U);
      EXPECT_EQ(must(os.status_at("/tmp/deep")).mode, 0700U);
    });
    EXPECT_EQ(rest, harness::sim::Scheduler::Rest::ended);
  }
}

struct Planted {
  const char* name;
  void (*plant)(ManagerFixture& fixture, const std::string& name);
  std::errc code;
};

const Planted planted[] = {
    {"a file",
     [](ManagerFixture& fixture, const std::string& name) { fixture.folder.write(name); },
     std::errc::not_a_directory},
    {"a symlink to a folder of ours",
     [](ManagerFixture& fixture, const std::string& name) {
       fixture.folder.make_folder("target");
       std::filesystem::permissions(fixture.folder.path("target"),
                                    std::filesystem::perms::owner_all);
       fixture.folder.link(name, fixture.folder.path("target"));
     },
     std::errc::not_a_directory},
    {"a symlink to nothing",
     [](ManagerFixture& fixture, const std::string& name) {
       fixture.folder.link(name, "/nowhere");
     },
     std::errc::not_a_directory},
    {"a folder that others may enter",
     [](ManagerFixture& fixture, const std::string& name) {
       fixture.folder.make_folder(name);
       std::filesystem::permissions(
           fixture.folder.path(name),
           std::filesystem::perms::owner_all | std::filesystem::perms::others_exec);
     },
     std::errc::permission_denied},
    {"another user's folder",
     [](ManagerFixture& fixture, const std::string& name) {
       fixture.folder.make_folder(name);
       std::filesystem::permissions(fixture.folder.path(name), std::filesystem::perms::owner_all);
       fixture.os.user += 1;
     },
     std::errc::permission_denied},
};

TEST(Dump, refuses_what_a_stranger_has_planted_and_leaves_it_alone_R13) {
  for (const Planted& row : planted) {
    SCOPED_TRACE(row.name);
    ManagerFixture fixture;
    const std::string path = must(fixture.resources->resolve_temp_folder_name()).path;
    const std::string name = path.substr(fixture.folder.path().size() + 1);
    row.plant(fixture, name);
    const auto before = fixture.folder.names();
    const auto file = fixture.publish();
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, row.code) << describe(file.error());
    EXPECT_TRUE(fixture.counts.empty());
    EXPECT_EQ(fixture.os.hooks(), 0U);
    fixture.resources.reset();
    EXPECT_EQ(fixture.folder.names(), before);
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
    for (const std::string& each : before) {
      fixture.folder.remove(each);
    }
  }
}

TEST(Dump, goes_elsewhere_if_a_stranger_waits_on_shared_memory_R13_M1) {
  for (const Planted& row : planted) {
    SCOPED_TRACE(row.name);
    ManagerFixture fixture;
    fixture.choose_between_two();
    const std::string path = must(fixture.resources->resolve_temp_folder_name()).path;
    ASSERT_TRUE(path.starts_with("/dev/shm/"));
    row.plant(fixture, "shm" + path.substr(8));
    const auto before = fixture.folder.names();
    const auto file = fixture.publish();
    // With this Os, another user cannot use a folder elsewhere either.
    if (fixture.os.user == os::KernelOs().user_id()) {
      ASSERT_TRUE(file) << describe(file.error());
      EXPECT_TRUE((*file)->path().starts_with("/tmp/"));
    }
    fixture.resources.reset();
    EXPECT_EQ(fixture.folder.names(), before);
    EXPECT_TRUE(fixture.counts.empty());
    for (const std::string& each : before) {
      fixture.folder.remove(each);
    }
  }
}

TEST(Dump, makes_a_folder_that_was_removed_anew_M2) {
  for (const Call when : {Call::make_folder, Call::open, Call::write, Call::close}) {
    SCOPED_TRACE(name_of(when));
    ManagerFixture fixture;
    const auto remove = [&] {
      for (const std::string& name : fixture.folder.names()) {
        fixture.folder.remove(name);
      }
    };
    ASSERT_TRUE(fixture.publish());
    remove();
    int removed = 0;
    fixture.os.after = [&](const Crossing& crossing) {
      if (crossing.call == when && removed < 2) {
        ++removed;
        remove();
      }
    };
    const auto file = fixture.publish();
    ASSERT_TRUE(file) << describe(file.error());
    EXPECT_EQ(removed, 2);
    EXPECT_TRUE(fixture.os.status_at((*file)->path()));
    EXPECT_THAT(fixture.counts.names(ResourceType::file), SizeIs(2));
    EXPECT_THAT(fixture.counts.names(ResourceType::folder), SizeIs(1));
    // A process that removes the folder every time wins.
    removed = -1000;
    remove();
    EXPECT_FALSE(fixture.publish());
    fixture.os.after = nullptr;
    EXPECT_TRUE(fixture.resources->clean_up());
    EXPECT_TRUE(fixture.counts.empty());
    EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  }
}

TEST(Fallback, from_shared_memory_at_any_call_of_the_first_dump_M1) {
  for (const std::errc code : {std::errc::no_space_on_device, std::errc::permission_denied}) {
    ManagerFixture clean;
    clean.choose_between_two();
    ASSERT_TRUE(clean.publish());
    const std::size_t calls = clean.os.crossings.size();
    clean.resources.reset();
    clean.remove_both();
    for (std::size_t at = 0; at < calls; ++at) {
      SCOPED_TRACE(at);
      ManagerFixture fixture;
      fixture.choose_between_two();
      bool is_at_shm = false;
      fixture.os.director = [&, left = at](const Crossing& crossing) mutable {
        is_at_shm = is_at_shm || crossing.subject.starts_with("/dev/shm/lastref_memmapping");
        const bool fails = is_at_shm && left-- == 0;
        return fails && crossing.call != Call::entropy ? std::optional(code) : std::nullopt;
      };
      const auto file = fixture.publish();
      ASSERT_TRUE(file) << describe(file.error());
      const bool is_in_tmp = (*file)->path().starts_with("/tmp/");
      EXPECT_EQ(fixture.folder.exists("shm" + (*file)->path().substr(is_in_tmp ? 4 : 8)),
                !is_in_tmp);
      for (const std::string& name : fixture.folder.names()) {
        EXPECT_FALSE(is_in_tmp && name.starts_with("shm/")) << name;
      }
      EXPECT_THAT(fixture.counts.names(ResourceType::file), SizeIs(1));
      EXPECT_THAT(fixture.counts.names(ResourceType::folder), SizeIs(1));
      EXPECT_EQ(must(fixture.resources->resolve_temp_folder_name()).use_shared_mem, !is_in_tmp);
      EXPECT_EQ(fixture.os.hooks(), 1U);
      ASSERT_TRUE(fixture.resources->clean_up());
      EXPECT_TRUE(fixture.counts.empty());
      EXPECT_THAT(fixture.counts.misuse, IsEmpty());
      fixture.remove_both();
    }
  }
}

TEST(Fallback, is_over_after_the_first_file_and_the_error_names_the_variable_M1) {
  ManagerFixture fixture;
  fixture.choose_between_two();
  const auto first = must(fixture.publish());
  EXPECT_TRUE(first->path().starts_with("/dev/shm/"));
  fixture.os.director = fail_kth(0, std::errc::no_space_on_device, Call::write);
  const auto second = fixture.publish();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, std::errc::no_space_on_device);
  EXPECT_NE(second.error().subject.find("LASTREF_TEMP_FOLDER"), std::string::npos);
  EXPECT_TRUE(fixture.publish());
  // Another context makes its own choice.
  ASSERT_TRUE(fixture.resources->set_current_context("b"));
  fixture.os.director = fail_kth(0, std::errc::no_space_on_device, Call::write);
  EXPECT_TRUE(must(fixture.publish())->path().starts_with("/tmp/"));
  fixture.resources.reset();
  EXPECT_TRUE(fixture.counts.empty());
  fixture.remove_both();
}

TEST(Fallback, is_shared_memory_with_little_space_where_nothing_else_is_usable_M1_E10) {
  ManagerFixture fixture;
  fixture.choose_between_two();
  fixture.os.free = std::uint64_t{64} << 20U;
  const auto refuse_all_else = [](const Crossing& crossing) {
    const bool is_elsewhere = !crossing.subject.starts_with("/dev/shm/");
    return crossing.call == Call::make_folder && is_elsewhere
               ? std::optional(std::errc::read_only_file_system)
               : std::nullopt;
  };
  // If a file does not fit, the error names the space, and no part of it remains.
  fixture.os.director = [&](const Crossing& crossing) {
    return crossing.call == Call::write ? std::optional(std::errc::no_space_on_device)
                                        : refuse_all_else(crossing);
  };
  const auto large = fixture.publish();
  ASSERT_FALSE(large);
  EXPECT_EQ(large.error().code, std::errc::no_space_on_device);
  EXPECT_NE(large.error().subject.find("LASTREF_TEMP_FOLDER"), std::string::npos);
  EXPECT_THAT(fixture.counts.names(ResourceType::file), IsEmpty());
  fixture.os.director = refuse_all_else;
  const auto small = fixture.publish();
  ASSERT_TRUE(small) << describe(small.error());
  EXPECT_TRUE((*small)->path().starts_with("/dev/shm/"));
  fixture.os.director = nullptr;
  EXPECT_TRUE(fixture.resources->clean_up());
  EXPECT_TRUE(fixture.counts.empty());
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  fixture.remove_both();
}

TEST(Dump, that_fails_names_the_file_that_found_no_space_E10) {
  ManagerFixture fixture;
  const std::string folder = must(fixture.resources->resolve_temp_folder_name()).path;
  for (const Call call : {Call::open, Call::write, Call::rename}) {
    ASSERT_TRUE(fixture.publish());
    fixture.os.director = fail_kth(0, std::errc::no_space_on_device, call);
    const auto file = fixture.publish();
    ASSERT_FALSE(file);
    const std::string said = describe(file.error());
    EXPECT_NE(said.find(folder + '/'), std::string::npos) << said;
    EXPECT_EQ(said.find("fd "), std::string::npos) << said;
  }
  fixture.os.director = nullptr;
  // An error from the elements is about the elements.
  const auto refused = fixture.resources->publish(
      [](os::Fd) -> Status { return failure(std::errc::not_supported, "such elements"); });
  EXPECT_EQ(refused.error().subject, "such elements");
}

TEST(Fallback, is_for_what_we_chose_alone_M1) {
  ManagerFixture fixture;
  fixture.choose_between_two();
  fixture.os.variables["LASTREF_TEMP_FOLDER"] = "/dev/shm";
  fixture.os.director = fail_kth(0, std::errc::no_space_on_device, Call::write);
  const auto file = fixture.publish();
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, std::errc::no_space_on_device);
  EXPECT_EQ(file.error().subject.find("LASTREF_TEMP_FOLDER"), std::string::npos);
  fixture.resources.reset();
  EXPECT_TRUE(fixture.counts.empty());
  fixture.remove_both();
}

TEST(Fallback, takes_a_file_along_that_was_being_written_there_M1) {
  ManagerFixture fixture;
  fixture.choose_between_two();
  int writes = 0;
  std::string inner;
  // While one file is written on shared memory, another fails there and chooses again.
  const auto outer = fixture.resources->publish([&](os::Fd fd) {
    if (writes++ == 0) {
      fixture.os.director = fail_kth(0, std::errc::no_space_on_device, Call::write);
      inner = must(fixture.publish())->path();
      fixture.os.director = nullptr;
    }
    return fixture.write(fd);
  });
  ASSERT_TRUE(outer) << describe(outer.error());
  EXPECT_TRUE(inner.starts_with("/tmp/"));
  EXPECT_TRUE(fixture.resources->clean_up());
  EXPECT_EQ(fixture.folder.names(), (std::vector<std::string>{"shm", "tmp"}));
  EXPECT_TRUE(fixture.counts.empty());
  EXPECT_THAT(fixture.counts.misuse, IsEmpty());
  fixture.remove_both();
}

TEST(Fallback, is_everybodys_who_fails_there_M1) {
  ManagerFixture fixture;
  fixture.choose_between_two();
  int writes = 0;
  // Both fail on shared memory; the inner one is the first to choose again.
  const auto outer = fixture.resources->publish([&](os::Fd fd) {
    if (writes++ == 0) {
      fixture.os.director = fail_kth(0, std::errc::no_space_on_device, Call::write);
      EXPECT_TRUE(fixture.publish());
      return Status(failure(std::errc::no_space_on_device, "a write"));
    }
    return fixture.write(fd);
  });
  ASSERT_TRUE(outer) << describe(outer.error());
  EXPECT_TRUE((*outer)->path().starts_with("/tmp/"));
  EXPECT_TRUE(fixture.resources->clean_up());
  EXPECT_EQ(fixture.folder.names(), (std::vector<std::string>{"shm", "tmp"}));
  EXPECT_TRUE(fixture.counts.empty());
  fixture.remove_both();
}

}  // namespace
}  // namespace lastref
