// runtime_test: files that a stranger plants where trees are made, or where they are searched for.
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/temporary_resources.hpp>
#include <lastref/tracker.hpp>
#include <lastref/tracker_client.hpp>

#include "impl/tracker/tree.hpp"
#include "property_tests/attack/fixture.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/process_group.hpp"

namespace lastref {
namespace {

using pretend::stranger_does;
using testing::StartsWith;

constexpr const char* best = "/dev/shm/lastref-0";
constexpr const char* second_best = "/tmp/lastref-0";

struct PlantedFolder {
  const char* name;
  std::function<bool(const std::string& path)> plant;
  std::errc code;
};

void PrintTo(const PlantedFolder& row, std::ostream* out) {
  *out << row.name;
}

const PlantedFolder planted_folders[] = {
    {"a_folder",
     [](const std::string& path) {
       return stranger_does([&] { return pretend::make_folder(path, 0700); });
     },
     std::errc::permission_denied},
    {"a_folder_that_is_open_to_all",
     [](const std::string& path) {
       return stranger_does([&] { return pretend::make_folder(path, 0777); });
     },
     std::errc::permission_denied},
    {"a_folder_of_ours_that_is_open_to_all",
     [](const std::string& path) { return pretend::make_folder(path, 0777); },
     std::errc::permission_denied},
    {"a_symlink_to_a_precious_folder",
     [](const std::string& path) {
       return stranger_does([&] { return pretend::make_symlink(path, "/dev/shm/precious"); });
     },
     std::errc::not_a_directory},
    {"a_symlink_to_a_folder_of_his",
     [](const std::string& path) {
       return stranger_does([&] {
         const std::string target = "/tmp/his" + std::to_string(path.size());
         return pretend::make_folder(target, 0777) && pretend::make_symlink(path, target);
       });
     },
     std::errc::not_a_directory},
    {"a_symlink_to_nothing",
     [](const std::string& path) {
       return stranger_does([&] { return pretend::make_symlink(path, "/dev/shm/nothing"); });
     },
     std::errc::not_a_directory},
    {"a_file",
     [](const std::string& path) {
       return stranger_does([&] { return pretend::make_file(path, "his", 0666); });
     },
     std::errc::not_a_directory},
    {"a_fifo",
     [](const std::string& path) {
       return stranger_does([&] { return pretend::make_fifo(path); });
     },
     std::errc::not_a_directory},
    {"a_socket",
     [](const std::string& path) {
       return stranger_does([&] { return pretend::make_socket(path); });
     },
     std::errc::not_a_directory},
    {"a_device",
     [](const std::string& path) { return pretend::make_device(path); },
     std::errc::not_a_directory},
};

class PlantedRuntime : public pretend::AttackFixture,
                       public testing::WithParamInterface<PlantedFolder> {
 protected:
  void SetUp() override {
    AttackFixture::SetUp();
    pretend::adopt_orphans();
  }

  Result<std::string> lead(const std::string& folder = {}) {
    const auto client = tracker::Client::lead(os, {.runtime_folder = folder});
    return client->tree();
  }

  void plant(const std::string& path) {
    ASSERT_TRUE(GetParam().plant(path));
    guard(path);
    guard("/tmp/his" + std::to_string(path.size()));
  }
};

TEST_P(PlantedRuntime, is_left_alone_and_trees_live_elsewhere_R13_T2) {
  plant(best);
  const auto tree = lead();
  ASSERT_TRUE(tree) << describe(tree.error());
  EXPECT_THAT(*tree, StartsWith(std::string(second_best) + "/"));
  pretend::bury_all();
}

TEST_P(PlantedRuntime, of_another_user_is_no_news_at_each_start_E10) {
  plant(best);
  const auto status = os.status_at(best);
  ASSERT_TRUE(status);
  testing::internal::CaptureStderr();
  const auto tree = lead();
  const std::string said = testing::internal::GetCapturedStderr();
  ASSERT_TRUE(tree) << describe(tree.error());
  EXPECT_EQ(said.empty(), status->owner != os.user_id()) << said;
  pretend::bury_all();
}

TEST_P(PlantedRuntime, that_is_all_there_is_is_an_error_R13_T2) {
  plant(best);
  plant(second_best);
  const auto tree = lead();
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, GetParam().code) << describe(tree.error());
}

TEST_P(PlantedRuntime, where_we_were_told_to_live_is_an_error_whatever_slashes_follow_R13_T2) {
  plant("/tmp/wanted");
  for (const char* path : {"/tmp/wanted", "/tmp/wanted/", "/tmp/wanted//"}) {
    const auto tree = lead(path);
    ASSERT_FALSE(tree);
    EXPECT_EQ(tree.error().code, GetParam().code) << describe(tree.error());
  }
}

TEST_P(PlantedRuntime, is_not_swept_M7) {
  plant(best);
  const auto swept = sweep(os, best);
  ASSERT_FALSE(swept);
  EXPECT_EQ(swept.error().code, GetParam().code) << describe(swept.error());
}

INSTANTIATE_TEST_SUITE_P(By,
                         PlantedRuntime,
                         testing::ValuesIn(planted_folders),
                         [](const auto& each) { return std::string(each.param.name); });

using Runtime = pretend::AttackFixture;

TEST_F(Runtime, of_a_stranger_with_a_dead_tree_that_names_a_precious_file_is_not_obeyed_M7) {
  const pretend::ForgedTree forged(os, precious_file);
  ASSERT_TRUE(
      stranger_does([&] { return pretend::make_folder(best, 0777) && forged.make_below(best); }));
  guard(best);
  EXPECT_FALSE(sweep(os, {}));
  const auto client = tracker::Client::lead(os);
  EXPECT_TRUE(client->tree());
}

TEST_F(Runtime, that_is_swapped_for_a_strangers_after_it_was_looked_at_is_not_obeyed_M7) {
  const pretend::ForgedTree forged(os, precious_file);
  const std::string runtime = "/tmp/pub/ours/runtime";
  ASSERT_TRUE(pretend::make_folder("/tmp/pub", 0777));
  ASSERT_TRUE(pretend::make_folder("/tmp/pub/ours", 0700));
  ASSERT_TRUE(pretend::make_folder(runtime, 0700));
  bool swapped = false;
  ambush({Call::status_at, runtime}, [&] {
    swapped = stranger_does([&] {
      return pretend::move("/tmp/pub/ours", "/tmp/pub/away") &&
             pretend::make_folder("/tmp/pub/ours", 0777) && pretend::make_folder(runtime, 0777) &&
             forged.make_below(runtime);
    });
  });
  EXPECT_FALSE(sweep(os, runtime));
  EXPECT_TRUE(swapped);
}

TEST_F(Runtime, below_a_folder_in_which_anybody_may_rename_is_refused_R13_T2) {
  ASSERT_TRUE(pretend::make_folder("/tmp/pub", 0777));
  ASSERT_TRUE(stranger_does([] { return pretend::make_symlink("/tmp/link", "/tmp/pub"); }));
  for (const char* path : {"/tmp/pub/runtime", "/tmp/link/runtime"}) {
    const auto client = tracker::Client::lead(os, {.runtime_folder = path});
    const auto tree = client->tree();
    ASSERT_FALSE(tree);
    EXPECT_EQ(tree.error().code, std::errc::permission_denied) << describe(tree.error());
    EXPECT_EQ(pretend::seen_at(path), std::string(path) + ": nothing\n");
  }
}

TEST_F(Runtime, has_a_fifo_for_a_lock_or_a_ledger_and_sweeping_it_waits_for_nobody_M7) {
  const pretend::ForgedTree forged(os, precious_file);
  for (const std::string part : {"lock", "ledger"}) {
    const std::string runtime = "/tmp/runtime_" + part;
    ASSERT_TRUE(pretend::make_folder(runtime, 0700));
    ASSERT_TRUE(forged.make_below(runtime));
    const std::string path = runtime + "/" + forged.name + "/" + part;
    ASSERT_TRUE(os.unlink(path));
    ASSERT_TRUE(pretend::make_fifo(path));
    if (part == "lock") {  // A ledger of our own is trusted.
      ASSERT_TRUE(os.unlink(runtime + "/" + forged.name + "/ledger"));
    }
    EXPECT_TRUE(sweep(os, runtime));
  }
}

TEST_F(Runtime, is_not_read_through_a_tree_that_is_a_symlink_M7) {
  const pretend::ForgedTree forged(os, precious_file);
  ASSERT_TRUE(pretend::make_folder("/tmp/runtime", 0700));
  ASSERT_TRUE(stranger_does(
      [&] { return pretend::make_folder("/tmp/his", 0777) && forged.make_below("/tmp/his"); }));
  ASSERT_TRUE(pretend::make_symlink("/tmp/runtime/" + forged.name, "/tmp/his/" + forged.name));
  guard("/tmp/his");
  EXPECT_TRUE(sweep(os, "/tmp/runtime"));
}

TEST_F(Runtime, of_strangers_has_no_ledger_for_us_T6_M7) {
  const pretend::ForgedTree forged(os, precious_file);
  ASSERT_TRUE(pretend::make_folder("/tmp/runtime", 0700));
  ASSERT_TRUE(forged.make_below("/tmp/runtime"));
  const std::string ledger = "/tmp/runtime/" + forged.name + "/ledger";
  ASSERT_TRUE(stranger_does([&] { return pretend::make_file("/tmp/his", forged.ledger, 0600); }));
  ASSERT_TRUE(pretend::move("/tmp/his", ledger));
  guard("/tmp/runtime");
  const auto swept = sweep(os, "/tmp/runtime");
  ASSERT_FALSE(swept);
  EXPECT_EQ(swept.error().code, std::errc::permission_denied) << describe(swept.error());
}

TEST_F(Runtime, of_a_stranger_is_not_joined_T2) {
  const pretend::ForgedTree forged(os, precious_file);
  const std::string tree = "/tmp/his/" + forged.name;
  ASSERT_TRUE(stranger_does([&] {
    return pretend::make_folder("/tmp/his", 0777) && forged.make_below("/tmp/his") &&
           pretend::make_socket(tree + "/socket");
  }));
  guard("/tmp/his");
  const auto joined = tracker::Client::join(os, tree);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, std::errc::permission_denied) << describe(joined.error());
}

TEST_F(Runtime, probes_of_a_stranger_stay_M1) {
  const std::string probe = "/lastref_probe_" + std::string(32, 'a');
  for (const std::string folder : {"/dev/shm", "/tmp"}) {
    ASSERT_TRUE(stranger_does([&] {
      return pretend::make_folder(folder + probe, 0755) &&
             pretend::make_symlink(folder + probe + "b", "/dev/shm/empty") &&
             pretend::make_file(folder + probe + "c", "his");
    }));
    guard(folder + probe);
    guard(folder + probe + "b");
    guard(folder + probe + "c");
    ASSERT_TRUE(pretend::make_folder(folder + probe + "d", 0700));
  }
  ASSERT_TRUE(pretend::make_folder("/dev/shm/empty", 0700));
  guard("/dev/shm/empty");
  EXPECT_TRUE(sweep(os, {}));
  EXPECT_EQ(pretend::seen_at("/tmp" + probe + "d"), "/tmp" + probe + "d: nothing\n");
}

}  // namespace
}  // namespace lastref
