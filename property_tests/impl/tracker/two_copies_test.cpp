// two_copies_test: a program that links the library loads a plugin that has a copy of its own.
// Neither copy drops a record lock of the other.
//
// Has a main of its own: this program is also the tracker of its trees.
#include <dlfcn.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>
#include <lastref/slot_cache.hpp>
#include <lastref/tracker.hpp>
#include <lastref/tracker_client.hpp>

#include "impl/tracker/tree.hpp"
#include "property_tests/impl/tracker/another_copy.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/process_actions.hpp"

namespace lastref::pretend {
namespace {

namespace fs = std::filesystem;

os::KernelOs& process() {
  return os::KernelOs::of_process({.program = "/proc/self/exe"});
}

const AnotherCopy& plugin() {
  static const AnotherCopy& only = []() -> const AnotherCopy& {
    void* const loaded = ::dlopen(LASTREF_ANOTHER_COPY, RTLD_NOW | RTLD_LOCAL);
    LASTREF_ASSERT(loaded != nullptr);
    using Give = const AnotherCopy* (*)();
    return *reinterpret_cast<Give>(::dlsym(loaded, another_copy))();
  }();
  return only;
}

/// Whether another process has locked the byte of the file. A copy of this process asks.
bool is_locked(const std::string& path, std::uint64_t byte) {
  return exit_code_of(run_in_copy([&] {
           os::KernelOs os;
           const auto file = os::open_file(os, path, {.write = true});
           const auto holder = os.find_lock(
               file->get(), {.kind = os::LockKind::exclusive, .start = byte, .length = 1});
           return holder->has_value() ? 0 : 1;
         })) == 0;
}

/// Whether the root of the tree holds its lock.
bool is_led(const std::string& tree) {
  return is_locked(tree + "/lock", 1ULL << 32U);
}

std::size_t open_descriptors() {
  const fs::directory_iterator all("/proc/self/fd");
  return static_cast<std::size_t>(std::distance(begin(all), end(all)));
}

class TwoCopies : public testing::Test {
 protected:
  TwoCopies() { EXPECT_NE(plugin().process(), static_cast<const void*>(&process())); }
  ~TwoCopies() override {
    plugin().leave();
    client_.reset();
    until([&] { return !folder_.exists("runtime"); });
  }

  const FreshFolder folder_;
  const std::string runtime_ = folder_.path("runtime");
  std::shared_ptr<tracker::Client> client_ =
      tracker::Client::lead(process(), {.runtime_folder = runtime_});
  const std::string tree_ = client_->tree().value();
};

TEST_F(TwoCopies, sweep_in_one_process_and_keep_their_locks_E3) {
  EXPECT_EQ(plugin().sweep(runtime_.c_str()), 1);
  EXPECT_TRUE(is_led(tree_));
  EXPECT_TRUE(plugin().lead(runtime_.c_str()));
  EXPECT_TRUE(is_led(tree_));
  EXPECT_EQ(tracker::sweep(process(), runtime_).value().alive, 2U);
  EXPECT_EQ(plugin().sweep(runtime_.c_str()), 2);
  EXPECT_TRUE(is_led(tree_));
}

/// Then only locks of this process show that the tree is alive.
TEST_F(TwoCopies, leave_a_tree_alone_whose_tracker_is_dead_E3) {
  const auto tree = tracker::make_tree(process(), runtime_);
  ASSERT_TRUE(tree);
  EXPECT_EQ(plugin().sweep(runtime_.c_str()), 2);
  EXPECT_TRUE(is_led(tree->paths.folder));
  EXPECT_TRUE(tracker::remove_tree(process(), tree->paths));
}

TEST_F(TwoCopies, join_one_tree_and_keep_their_locks_E3_E12) {
  EXPECT_TRUE(plugin().join(tree_.c_str()));
  plugin().leave();
  EXPECT_TRUE(is_led(tree_));
  const std::size_t before = open_descriptors();
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(plugin().join(tree_.c_str()));
    plugin().leave();
  }
  EXPECT_TRUE(is_led(tree_));
  EXPECT_EQ(open_descriptors(), before);
}

TEST_F(TwoCopies, make_caches_in_one_folder_and_keep_their_locks_E3) {
  ASSERT_TRUE(plugin().join(tree_.c_str()));
  const FreshFolder folder;
  auto cache =
      MultiprocessFileCache::make(process(), references_of(client_), 1, {.folder = folder.path()});
  ASSERT_TRUE(cache);
  EXPECT_TRUE(plugin().make_cache(folder.path().c_str()));
  const std::vector<std::string> names = folder.names();
  const auto lock =
      std::ranges::find_if(names, [](const std::string& name) { return name.ends_with(".lock"); });
  ASSERT_NE(lock, names.end());
  EXPECT_TRUE(is_locked(folder.path(*lock), 0));
  EXPECT_TRUE((*cache)->close());
}

}  // namespace
}  // namespace lastref::pretend

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (!words.empty() && words.front() == lastref::tracker::entry_point) {
    return lastref::tracker::run(lastref::pretend::process(), {words.begin() + 1, words.end()});
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
