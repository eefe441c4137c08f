// os_contract_locks_test: record locks, seen from two processes.
#include "property_tests/impl/os/contract.hpp"

namespace lastref {
namespace {

using contract::fails;
using contract::Pipe;
using contract::read_some;
using contract::Running;
using contract::Scene;
using contract::value_of;
using contract::worked;
using os::ChildExit;
using os::LockKind;
using os::UniqueFd;

class LocksContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(LocksContract);

/// A child that tries to lock a range of a file, and keeps the lock while this object exists.
class Locking {
 public:
  Locking(Scene& scene, const std::string& name, const os::LockRange& range)
      : until_(scene.pipe()),
        words_(scene.pipe()),
        child_(scene.os(), options(scene, name, range)) {
    words_.write.close_quietly();  // So that the child's death is the end of the pipe.
    word_ = read_some(scene.os(), words_.read.get());
  }

  bool locked() const { return word_ == "locked"; }
  os::Pid pid() const { return child_.pid(); }
  void kill() { child_.kill(); }
  void end() {
    until_.write.close_quietly();
    EXPECT_EQ(child_.end(), ChildExit{});
  }

 private:
  os::SpawnOptions options(Scene& scene, const std::string& name, const os::LockRange& range) {
    return {.entry = "lock",
            .arguments = {scene.path(name),
                          range.kind == LockKind::shared ? "shared" : "exclusive",
                          std::to_string(range.start),
                          std::to_string(range.length)},
            .fds = {{.here = until_.read.get(), .number_there = 3},
                    {.here = words_.write.get(), .number_there = 4}},
            .blocked = {}};
  }

  Pipe until_;
  Pipe words_;
  Running child_;
  std::string word_;
};

os::LockRange exclusive(std::uint64_t start, std::uint64_t length = 1) {
  return {.kind = LockKind::exclusive, .start = start, .length = length};
}
os::LockRange shared(std::uint64_t start, std::uint64_t length = 1) {
  return {.kind = LockKind::shared, .start = start, .length = length};
}
os::LockRange none(std::uint64_t start, std::uint64_t length = 1) {
  return {.kind = LockKind::none, .start = start, .length = length};
}

bool another_can_lock(Scene& scene, const os::LockRange& range) {
  Locking other(scene, "lock", range);
  other.end();
  return other.locked();
}

testing::AssertionResult is_held(const Status& status) {
  if (!status && status.error().code == std::errc::permission_denied) {
    return fails(status, Call::lock_range, std::errc::permission_denied);
  }
  return fails(status, Call::lock_range, std::errc::resource_unavailable_try_again);
}

TEST_P(LocksContract, a_lock_of_another_process_is_in_the_way_and_can_be_found) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("lock");
    Locking other(scene, "lock", exclusive(5, 2));
    ASSERT_TRUE(other.locked());
    EXPECT_TRUE(is_held(scene.os().lock_range(file.get(), exclusive(6))));
    EXPECT_TRUE(is_held(scene.os().lock_range(file.get(), shared(0, 0))));
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), exclusive(4))));
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), exclusive(7))));
    const os::LockHolder expected{.pid = other.pid(), .range = exclusive(5, 2)};
    EXPECT_EQ(value_of(scene.os().find_lock(file.get(), shared(0, 0))), expected);
    EXPECT_EQ(value_of(scene.os().find_lock(file.get(), shared(7, 0))), std::nullopt);
    other.end();
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), exclusive(5))));
    scene.remove("lock");
  });
}

TEST_P(LocksContract, death_frees_the_locks) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("lock");
    Locking other(scene, "lock", exclusive(0));
    EXPECT_TRUE(is_held(scene.os().lock_range(file.get(), exclusive(0))));
    other.kill();
    EXPECT_EQ(value_of(scene.os().find_lock(file.get(), exclusive(0))), std::nullopt);
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), exclusive(0))));
    scene.remove("lock");
  });
}

TEST_P(LocksContract, shared_locks_stand_side_by_side) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("lock");
    Locking other(scene, "lock", shared(0));
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), shared(0))));
    EXPECT_TRUE(is_held(scene.os().lock_range(file.get(), exclusive(0))));
    const os::LockHolder expected{.pid = other.pid(), .range = shared(0)};
    EXPECT_EQ(value_of(scene.os().find_lock(file.get(), exclusive(0))), expected);
    EXPECT_EQ(value_of(scene.os().find_lock(file.get(), shared(0))), std::nullopt);
    other.end();
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), exclusive(0))));
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), shared(0))));
    EXPECT_TRUE(another_can_lock(scene, shared(0)));
    scene.remove("lock");
  });
}

TEST_P(LocksContract, own_locks_are_never_in_the_way) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("lock");
    const UniqueFd again = scene.open(scene.path("lock"), {.write = true});
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), exclusive(0, 10))));
    EXPECT_TRUE(worked(scene.os().lock_range(again.get(), exclusive(0, 10))));
    EXPECT_EQ(value_of(scene.os().find_lock(again.get(), exclusive(0))), std::nullopt);
    scene.remove("lock");
  });
}

TEST_P(LocksContract, a_part_of_a_range_can_be_dropped) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("lock");
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), exclusive(0, 0))));
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), none(5))));
    EXPECT_FALSE(another_can_lock(scene, exclusive(4)));
    EXPECT_TRUE(another_can_lock(scene, exclusive(5)));
    EXPECT_FALSE(another_can_lock(scene, exclusive(6)));
    EXPECT_FALSE(another_can_lock(scene, exclusive(4'000'000'000)));
    scene.remove("lock");
  });
}

// The trap of fcntl(2): a library that opens and closes the lock file drops the locks of other code
// in the process.
TEST_P(LocksContract, closing_any_descriptor_of_the_file_drops_all_locks) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("lock");
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), exclusive(0))));
    EXPECT_FALSE(another_can_lock(scene, exclusive(0)));
    scene.open(scene.path("lock")).close_quietly();
    EXPECT_TRUE(another_can_lock(scene, exclusive(0)));
    scene.remove("lock");
  });
}

TEST_P(LocksContract, a_child_neither_inherits_a_lock_nor_drops_it_with_its_descriptor) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("lock");
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), exclusive(0))));
    Running child(scene.os(),
                  {.entry = "exit_with",
                   .arguments = {"0"},
                   .fds = {{.here = file.get(), .number_there = 3}},
                   .blocked = {}});
    EXPECT_EQ(child.end(), ChildExit{});
    EXPECT_FALSE(another_can_lock(scene, exclusive(0)));
    scene.remove("lock");
  });
}

TEST_P(LocksContract, a_lock_outlives_the_name_of_its_file) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("lock");
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), exclusive(0))));
    scene.remove("lock");
    const UniqueFd another = scene.create("lock");
    EXPECT_TRUE(another_can_lock(scene, exclusive(0)));
    scene.remove("lock");
  });
}

TEST_P(LocksContract, an_exclusive_lock_needs_a_file_opened_for_writing) {
  act([](Scene& scene) {
    scene.create("lock");
    const UniqueFd file = scene.open(scene.path("lock"));
    EXPECT_TRUE(fails(scene.os().lock_range(file.get(), exclusive(0)),
                      Call::lock_range,
                      std::errc::bad_file_descriptor));
    EXPECT_TRUE(worked(scene.os().lock_range(file.get(), shared(0))));
    scene.remove("lock");
  });
}

TEST_P(LocksContract, a_folder_can_be_locked_through_each_of_its_descriptors) {
  act([](Scene& scene) {
    ASSERT_TRUE(worked(scene.os().make_folder(scene.path("folder"), 0700)));
    const UniqueFd folder = scene.open(scene.path("folder"), {.folder = true});
    const UniqueFd again = scene.open(scene.path("folder"), {.folder = true});
    EXPECT_TRUE(worked(scene.os().lock_folder(folder.get())));
    EXPECT_TRUE(worked(scene.os().lock_folder(folder.get())));
    EXPECT_TRUE(worked(scene.os().lock_folder(again.get())));
    EXPECT_TRUE(worked(scene.os().remove_folder(scene.path("folder"))));
    EXPECT_TRUE(worked(scene.os().lock_folder(folder.get())));
    EXPECT_TRUE(fails(scene.os().lock_folder(contract::never_opened),
                      Call::lock_folder,
                      std::errc::bad_file_descriptor));
  });
}

}  // namespace
}  // namespace lastref
