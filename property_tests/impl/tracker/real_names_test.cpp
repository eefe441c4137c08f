// real_names_test: what a name means to a real tracker: a path, and the file that was meant.
#include <filesystem>
#include <string>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>
#include <lastref/tracker_client.hpp>

#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/process_actions.hpp"

namespace lastref {
namespace {

std::string program_of_test() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

TEST(RealTracker, cleans_up_where_a_relative_name_was_given_wherever_anybody_goes_later_E2_T4) {
  const pretend::FreshFolder folder;
  os::KernelOs os{{.program = program_of_test()}};
  auto client = tracker::Client::lead(os, {.runtime_folder = folder.path("runtime")});
  for (const char* where : {"here", "there"}) {
    folder.make_folder(where);
    folder.make_folder(std::string(where) + "/folder");
    folder.write(std::string(where) + "/folder/inside");
    folder.write(std::string(where) + "/file");
  }
  const Resource file{.type = ResourceType::file, .name = "file"};
  const Resource inner{.type = ResourceType::folder, .name = "folder"};
  {
    const pretend::WorkingFolder here(folder.path("here"));
    for (const Resource& name : {file, inner}) {
      ASSERT_TRUE(client->register_name(name));
      ASSERT_TRUE(client->hold(name));
      ASSERT_TRUE(client->release(name));
    }
    const auto counts = client->counts();
    ASSERT_TRUE(counts);
    ASSERT_EQ(counts->size(), 2U);
    EXPECT_TRUE(counts->front().resource.name.starts_with('/'));
  }
  {
    const pretend::WorkingFolder there(folder.path("there"));
    // From here it is a different name, one that the tracker does not know.
    EXPECT_TRUE(client->forget(file));
    EXPECT_EQ(client->counts()->size(), 2U);
  }
  const pretend::WorkingFolder here(folder.path("here"));
  for (const Resource& name : {file, inner}) {
    ASSERT_TRUE(client->release(name));
  }
  pretend::until([&] { return !folder.exists("here/file") && !folder.exists("here/folder"); });
  EXPECT_TRUE(folder.exists("there/file"));
  EXPECT_TRUE(folder.exists("there/folder/inside"));
  folder.remove("here");
  folder.remove("there");
  client.reset();
  pretend::until([&] { return !folder.exists("runtime"); });
}

TEST(RealTracker, removes_what_was_made_and_nothing_else_of_that_name_E4_T4) {
  const pretend::FreshFolder folder;
  os::KernelOs os{{.program = program_of_test()}};
  auto client = tracker::Client::lead(os, {.runtime_folder = folder.path("runtime")});
  const auto thing = [&](const char* name) {
    return Resource{.type = ResourceType::file, .name = folder.path(name)};
  };
  const auto identity = [&](const char* name) {
    const auto status = os.status_at(folder.path(name));
    return Identity{.device = status->device, .inode = status->inode, .born = status->born};
  };
  // Each file is created under another name, registered under this one, and renamed. Then one is
  // replaced.
  for (const char* name : {"ours", "replaced"}) {
    folder.write("made");
    ASSERT_TRUE(client->register_name(thing(name), identity("made")));
    std::filesystem::rename(folder.path("made"), folder.path(name));
  }
  folder.write("later");
  ASSERT_TRUE(client->register_name(thing("later")));
  ASSERT_TRUE(client->identify(thing("later"), identity("later")));
  for (const char* name : {"replaced", "later"}) {
    folder.write("another", "somebody's");
    std::filesystem::rename(folder.path("another"), folder.path(name));
  }
  for (const char* name : {"replaced", "later", "ours"}) {
    ASSERT_TRUE(client->release(thing(name)));
  }
  pretend::until([&] { return !folder.exists("ours"); });
  for (const char* name : {"replaced", "later"}) {
    EXPECT_EQ(folder.read(name), "somebody's");
    folder.remove(name);
  }
  client.reset();
  pretend::until([&] { return !folder.exists("runtime"); });
}

}  // namespace
}  // namespace lastref
