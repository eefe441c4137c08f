// dumps_test: a temporary file is there whole or not at all, in a folder that is ours alone, in the
// place that has room for it.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "harness/sim/sim_process.hpp"
#include "property_tests/impl/resources/manager_ground.hpp"

namespace lastref {
namespace {

using pretend::Crossing;
using pretend::fail_kth;
using pretend::ManagerGround;
using pretend::must;
using testing::IsEmpty;
using testing::SizeIs;

/// What make_folder, open and all that follow may meet.
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
        ManagerGround ground;
        if (!is_first) {
          ASSERT_TRUE(ground.publish());
        }
        const auto names_before = ground.folder.names();
        const std::size_t crossed_before = ground.os.crossings.size();
        ground.os.director = fail_kth(at, code);
        const auto file = ground.publish();
        const std::size_t crossed = ground.os.crossings.size() - crossed_before;
        ground.os.director = nullptr;
        if (!file) {
          ++failed;
          EXPECT_THAT(ground.counts.names(ResourceType::file), SizeIs(is_first ? 0U : 1U));
          auto names = ground.folder.names();
          if (is_first && names.size() == 1) {
            names.clear();  // The folder of the context, which counts it.
            EXPECT_THAT(ground.counts.names(ResourceType::folder), SizeIs(1));
          }
          EXPECT_EQ(names, names_before);
          const auto again = ground.publish("again");
          ASSERT_TRUE(again);
          EXPECT_EQ(must(ground.os.status_at((*again)->path())).size, 5U);
        }
        ASSERT_TRUE(ground.resources->clean_temporary_resources());
        EXPECT_THAT(ground.folder.names(), IsEmpty());
        EXPECT_TRUE(ground.counts.empty());
        EXPECT_THAT(ground.counts.misuse, IsEmpty());
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
    ManagerGround ground;
    ground.counts.fails = at;
    const auto file = ground.publish();
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, std::errc::connection_refused);
    EXPECT_THAT(ground.counts.names(ResourceType::file), IsEmpty());
    EXPECT_EQ(ground.folder.names().size(), at);
    EXPECT_TRUE(ground.publish());
    EXPECT_TRUE(ground.resources->clean_temporary_resources());
    EXPECT_TRUE(ground.counts.empty());
  }
}

TEST(Dump, is_counted_before_it_has_its_name_and_has_it_when_it_is_complete_R4_R12) {
  std::vector<std::string> story;  // Also of the end of the ground.
  ManagerGround ground;
  ground.counts.before = [&](const std::string& word, const std::string& path) {
    story.push_back(word + (path.ends_with(".npy") ? " file" : " folder"));
  };
  ground.os.after = [&](const Crossing& crossing) {
    if (crossing.call == Call::make_folder || crossing.call == Call::rename) {
      story.emplace_back(name_of(crossing.call));
    } else if (crossing.call == Call::open && crossing.subject.ends_with(".part")) {
      story.emplace_back("open part");
    }
  };
  std::vector<std::string> seen;
  ASSERT_TRUE(ground.resources->publish([&](os::Fd fd) {
    seen = ground.folder.names();
    return ground.write(fd);
  }));
  EXPECT_EQ(story,
            (std::vector<std::string>{
                "register folder", "make_folder", "open part", "register file", "rename"}));
  ASSERT_THAT(seen, SizeIs(2));
  EXPECT_TRUE(seen[1].ends_with(".npy.part"));
  EXPECT_TRUE(ground.folder.names()[1].ends_with(".npy"));
}

TEST(Dump, is_ours_alone_from_its_first_instant_R13) {
  ManagerGround ground;
  ground.folder.make_folder("new");
  ground.resources = ground.make({.root = ground.folder.path("new/a/b")});
  std::size_t looked = 0;
  ground.os.after = [&](const Crossing&) {
    for (const std::string& name : ground.folder.names()) {
      if (name == "new") {
        continue;
      }
      const auto status = must(os::KernelOs().status_at(ground.folder.path(name)));
      EXPECT_EQ(status.mode, status.kind == os::FileKind::folder ? 0700U : 0600U) << name;
      ++looked;
    }
  };
  ASSERT_TRUE(ground.publish());
  EXPECT_GT(looked, 4U);
  ground.os.after = nullptr;
  ground.resources.reset();
  EXPECT_EQ(ground.folder.names(), (std::vector<std::string>{"new", "new/a", "new/a/b"}));
  ground.folder.remove("new");
}

TEST(Dump, is_ours_alone_whatever_the_umask_R13) {
  for (const std::uint32_t mask : {0U, 022U, 027U, 077U}) {
    harness::ListedChoices choices{{}};
    harness::sim::Machine machine{choices};
    const auto rest = harness::sim::run_process(machine, {}, [&](os::Os& os) {
      machine.kernel.tasks().front()->umask = mask;
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
  void (*plant)(ManagerGround& ground, const std::string& name);
  std::errc code;
};

const Planted planted[] = {
    {"a file",
     [](ManagerGround& ground, const std::string& name) { ground.folder.write(name); },
     std::errc::not_a_directory},
    {"a symlink to a folder of ours",
     [](ManagerGround& ground, const std::string& name) {
       ground.folder.make_folder("target");
       std::filesystem::permissions(ground.folder.path("target"),
                                    std::filesystem::perms::owner_all);
       ground.folder.link(name, ground.folder.path("target"));
     },
     std::errc::not_a_directory},
    {"a symlink to nothing",
     [](ManagerGround& ground, const std::string& name) { ground.folder.link(name, "/nowhere"); },
     std::errc::not_a_directory},
    {"a folder that others may enter",
     [](ManagerGround& ground, const std::string& name) {
       ground.folder.make_folder(name);
       std::filesystem::permissions(
           ground.folder.path(name),
           std::filesystem::perms::owner_all | std::filesystem::perms::others_exec);
     },
     std::errc::permission_denied},
    {"another user's folder",
     [](ManagerGround& ground, const std::string& name) {
       ground.folder.make_folder(name);
       std::filesystem::permissions(ground.folder.path(name), std::filesystem::perms::owner_all);
       ground.os.user += 1;
     },
     std::errc::permission_denied},
};

TEST(Dump, refuses_what_a_stranger_has_planted_and_leaves_it_alone_R13) {
  for (const Planted& row : planted) {
    SCOPED_TRACE(row.name);
    ManagerGround ground;
    const std::string path = must(ground.resources->resolve_temp_folder_name()).path;
    const std::string name = path.substr(ground.folder.path().size() + 1);
    row.plant(ground, name);
    const auto before = ground.folder.names();
    const auto file = ground.publish();
    ASSERT_FALSE(file);
    EXPECT_EQ(file.error().code, row.code) << describe(file.error());
    EXPECT_TRUE(ground.counts.empty());
    EXPECT_EQ(ground.os.hooks(), 0U);
    ground.resources.reset();
    EXPECT_EQ(ground.folder.names(), before);
    EXPECT_THAT(ground.counts.misuse, IsEmpty());
    for (const std::string& each : before) {
      ground.folder.remove(each);
    }
  }
}

TEST(Dump, goes_elsewhere_if_a_stranger_waits_on_shared_memory_R13_M1) {
  for (const Planted& row : planted) {
    SCOPED_TRACE(row.name);
    ManagerGround ground;
    ground.choose_between_two();
    const std::string path = must(ground.resources->resolve_temp_folder_name()).path;
    ASSERT_TRUE(path.starts_with("/dev/shm/"));
    row.plant(ground, "shm" + path.substr(8));
    const auto before = ground.folder.names();
    const auto file = ground.publish();
    // Another user finds no folder of his own elsewhere either, with this Os.
    if (ground.os.user == os::KernelOs().user_id()) {
      ASSERT_TRUE(file) << describe(file.error());
      EXPECT_TRUE((*file)->path().starts_with("/tmp/"));
    }
    ground.resources.reset();
    EXPECT_EQ(ground.folder.names(), before);
    EXPECT_TRUE(ground.counts.empty());
    for (const std::string& each : before) {
      ground.folder.remove(each);
    }
  }
}

TEST(Dump, makes_a_folder_that_was_removed_anew_M2) {
  for (const Call when : {Call::make_folder, Call::open, Call::write, Call::close}) {
    SCOPED_TRACE(name_of(when));
    ManagerGround ground;
    const auto remove = [&] {
      for (const std::string& name : ground.folder.names()) {
        ground.folder.remove(name);
      }
    };
    ASSERT_TRUE(ground.publish());
    remove();
    int removed = 0;
    ground.os.after = [&](const Crossing& crossing) {
      if (crossing.call == when && removed < 2) {
        ++removed;
        remove();
      }
    };
    const auto file = ground.publish();
    ASSERT_TRUE(file) << describe(file.error());
    EXPECT_EQ(removed, 2);
    EXPECT_TRUE(ground.os.status_at((*file)->path()));
    EXPECT_THAT(ground.counts.names(ResourceType::file), SizeIs(2));
    EXPECT_THAT(ground.counts.names(ResourceType::folder), SizeIs(1));
    // Whoever does it for ever wins.
    removed = -1000;
    remove();
    EXPECT_FALSE(ground.publish());
    ground.os.after = nullptr;
    EXPECT_TRUE(ground.resources->clean_temporary_resources());
    EXPECT_TRUE(ground.counts.empty());
    EXPECT_THAT(ground.counts.misuse, IsEmpty());
  }
}

TEST(Fallback, from_shared_memory_at_any_call_of_the_first_dump_M1) {
  for (const std::errc code : {std::errc::no_space_on_device, std::errc::permission_denied}) {
    ManagerGround clean;
    clean.choose_between_two();
    ASSERT_TRUE(clean.publish());
    const std::size_t calls = clean.os.crossings.size();
    clean.resources.reset();
    clean.remove_both();
    for (std::size_t at = 0; at < calls; ++at) {
      SCOPED_TRACE(at);
      ManagerGround ground;
      ground.choose_between_two();
      bool is_at_shm = false;
      ground.os.director = [&, left = at](const Crossing& crossing) mutable {
        is_at_shm = is_at_shm || crossing.subject.starts_with("/dev/shm/lastref_memmapping");
        const bool fails = is_at_shm && left-- == 0;
        return fails && crossing.call != Call::entropy ? std::optional(code) : std::nullopt;
      };
      const auto file = ground.publish();
      ASSERT_TRUE(file) << describe(file.error());
      const bool is_in_tmp = (*file)->path().starts_with("/tmp/");
      EXPECT_EQ(ground.folder.exists("shm" + (*file)->path().substr(is_in_tmp ? 4 : 8)),
                !is_in_tmp);
      for (const std::string& name : ground.folder.names()) {
        EXPECT_FALSE(is_in_tmp && name.starts_with("shm/")) << name;
      }
      EXPECT_THAT(ground.counts.names(ResourceType::file), SizeIs(1));
      EXPECT_THAT(ground.counts.names(ResourceType::folder), SizeIs(1));
      EXPECT_EQ(must(ground.resources->resolve_temp_folder_name()).use_shared_mem, !is_in_tmp);
      EXPECT_EQ(ground.os.hooks(), 1U);
      ASSERT_TRUE(ground.resources->clean_temporary_resources());
      EXPECT_TRUE(ground.counts.empty());
      EXPECT_THAT(ground.counts.misuse, IsEmpty());
      ground.remove_both();
    }
  }
}

TEST(Fallback, is_over_after_the_first_file_and_the_error_names_the_variable_M1) {
  ManagerGround ground;
  ground.choose_between_two();
  const auto first = must(ground.publish());
  EXPECT_TRUE(first->path().starts_with("/dev/shm/"));
  ground.os.director = fail_kth(0, std::errc::no_space_on_device, Call::write);
  const auto second = ground.publish();
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().code, std::errc::no_space_on_device);
  EXPECT_NE(second.error().subject.find("LASTREF_TEMP_FOLDER"), std::string::npos);
  EXPECT_TRUE(ground.publish());
  // Another context chooses for itself.
  ASSERT_TRUE(ground.resources->set_current_context("b"));
  ground.os.director = fail_kth(0, std::errc::no_space_on_device, Call::write);
  EXPECT_TRUE(must(ground.publish())->path().starts_with("/tmp/"));
  ground.resources.reset();
  EXPECT_TRUE(ground.counts.empty());
  ground.remove_both();
}

TEST(Dump, that_fails_names_the_file_that_found_no_room_E10) {
  ManagerGround ground;
  const std::string folder = must(ground.resources->resolve_temp_folder_name()).path;
  for (const Call call : {Call::open, Call::write, Call::rename}) {
    ASSERT_TRUE(ground.publish());
    ground.os.director = fail_kth(0, std::errc::no_space_on_device, call);
    const auto file = ground.publish();
    ASSERT_FALSE(file);
    const std::string said = describe(file.error());
    EXPECT_NE(said.find(folder + '/'), std::string::npos) << said;
    EXPECT_EQ(said.find("fd "), std::string::npos) << said;
  }
  ground.os.director = nullptr;
  // What the elements say is about them.
  const auto refused = ground.resources->publish(
      [](os::Fd) -> Status { return failure(std::errc::not_supported, "such elements"); });
  EXPECT_EQ(refused.error().subject, "such elements");
}

TEST(Fallback, is_for_what_we_chose_alone_M1) {
  ManagerGround ground;
  ground.choose_between_two();
  ground.os.variables["LASTREF_TEMP_FOLDER"] = "/dev/shm";
  ground.os.director = fail_kth(0, std::errc::no_space_on_device, Call::write);
  const auto file = ground.publish();
  ASSERT_FALSE(file);
  EXPECT_EQ(file.error().code, std::errc::no_space_on_device);
  EXPECT_EQ(file.error().subject.find("LASTREF_TEMP_FOLDER"), std::string::npos);
  ground.resources.reset();
  EXPECT_TRUE(ground.counts.empty());
  ground.remove_both();
}

TEST(Fallback, takes_a_file_along_that_was_being_written_there_M1) {
  ManagerGround ground;
  ground.choose_between_two();
  int writes = 0;
  std::string inner;
  // While one is written on shared memory, another fails there and chooses again.
  const auto outer = ground.resources->publish([&](os::Fd fd) {
    if (writes++ == 0) {
      ground.os.director = fail_kth(0, std::errc::no_space_on_device, Call::write);
      inner = must(ground.publish())->path();
      ground.os.director = nullptr;
    }
    return ground.write(fd);
  });
  ASSERT_TRUE(outer) << describe(outer.error());
  EXPECT_TRUE(inner.starts_with("/tmp/"));
  EXPECT_TRUE(ground.resources->clean_temporary_resources());
  EXPECT_EQ(ground.folder.names(), (std::vector<std::string>{"shm", "tmp"}));
  EXPECT_TRUE(ground.counts.empty());
  EXPECT_THAT(ground.counts.misuse, IsEmpty());
  ground.remove_both();
}

TEST(Fallback, is_everybodys_who_fails_there_M1) {
  ManagerGround ground;
  ground.choose_between_two();
  int writes = 0;
  // Both fail on shared memory; the inner one is the first to choose again.
  const auto outer = ground.resources->publish([&](os::Fd fd) {
    if (writes++ == 0) {
      ground.os.director = fail_kth(0, std::errc::no_space_on_device, Call::write);
      EXPECT_TRUE(ground.publish());
      return Status(failure(std::errc::no_space_on_device, "a write"));
    }
    return ground.write(fd);
  });
  ASSERT_TRUE(outer) << describe(outer.error());
  EXPECT_TRUE((*outer)->path().starts_with("/tmp/"));
  EXPECT_TRUE(ground.resources->clean_temporary_resources());
  EXPECT_EQ(ground.folder.names(), (std::vector<std::string>{"shm", "tmp"}));
  EXPECT_TRUE(ground.counts.empty());
  ground.remove_both();
}

}  // namespace
}  // namespace lastref
