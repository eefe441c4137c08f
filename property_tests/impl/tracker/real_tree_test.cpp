// real_tree_test: a tree of real processes that send arrays is killed completely at a random
// moment, a thousand times. After the next start nothing of it is left, and nothing of a live tree
// next to it was touched. In addition, two watchers inspect everything that a tree creates while it
// is being created.
//
// Has a main of its own: this program is also the tracker, the parents, the workers and the
// watchers.
#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/npy.hpp>
#include <lastref/owners.hpp>
#include <lastref/reducers.hpp>
#include <lastref/tracker.hpp>
#include <lastref/tracker_client.hpp>

#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/process_group.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref {
namespace {

using pretend::read_all;
using pretend::wait_until_readable;

#ifdef __SANITIZE_ADDRESS__
constexpr int kills = 150;  // A start costs many times more there.
#else
constexpr int kills = 1000;
#endif

constexpr const char* parent_entry = "parent";
constexpr const char* worker_entry = "worker";
constexpr const char* watcher_entry = "watcher";
constexpr os::Fd inbox{3};
constexpr os::Fd outbox{4};
constexpr std::size_t elements = 4096;

std::string this_program() {
  return std::filesystem::read_symlink("/proc/self/exe");
}

Array array_of(std::byte value) {
  Array made = Array::zeros(DType::parse("|u1").value(), {elements}).value();
  std::fill_n(made.mutable_data().value(), elements, value);
  return made;
}

bool send_message(os::Os& os, os::Fd fd, os::Bytes bytes) {
  const auto size = static_cast<std::uint32_t>(bytes.size());
  return os::write_all(os, fd, std::as_bytes(std::span(&size, 1))) && os::write_all(os, fd, bytes);
}

std::vector<std::byte> receive_message(os::Os& os, os::Fd fd) {
  std::uint32_t size = 0;
  std::vector<std::byte> bytes;
  if (read_all(os, fd, std::as_writable_bytes(std::span(&size, 1)))) {
    bytes.resize(size);
    if (!read_all(os, fd, bytes)) {
      bytes.clear();
    }
  }
  return bytes;
}

/// {tree}: rebuilds each array that it receives, keeps the last two, and confirms each.
int be_worker(os::Os& os, const std::vector<std::string>& arguments) {
  auto client = tracker::Client::join(os, arguments.at(0));
  if (!client) {
    return 1;
  }
  Receiver receiver(os, references_of(std::shared_ptr(std::move(*client))));
  std::vector<Array> kept;
  for (std::byte number{0};; number = static_cast<std::byte>(std::to_integer<int>(number) + 1)) {
    const auto bytes = receive_message(os, inbox);
    if (bytes.empty()) {
      return 0;
    }
    const auto reduction = decode_reduction(bytes);
    const auto array =
        reduction ? receiver.rebuild(*reduction) : Result<Array>(failure(reduction.error()));
    if (!array || !contents_equal(*array, array_of(number))) {
      return 2;
    }
    kept.insert(kept.begin(), *array);
    kept.resize(std::min<std::size_t>(kept.size(), 2), *array);
    if (!send_message(os, outbox, {&number, 1})) {
      return 3;
    }
  }
}

struct Pipe {
  explicit Pipe(os::Os& os) {
    const auto ends = os.make_pipe().value();
    read = os::UniqueFd(os, ends.read);
    write = os::UniqueFd(os, ends.write);
  }
  os::UniqueFd read;
  os::UniqueFd write;
};

/// {runtime folder, folder for files, how many arrays; 0: no limit}: starts a worker and sends it
/// arrays, cleaning up after every third. Then reports which file it holds last, and waits for its
/// end.
int be_parent(os::Os& os, const std::vector<std::string>& arguments) {
  pretend::lead_group();  // Its tracker and its worker are in it too.
  if (!os::write_all(os, outbox, os::bytes_of("+"))) {
    return 1;  // The test was killed before that.
  }
  const std::shared_ptr client = tracker::Client::lead(os, {.runtime_folder = arguments.at(0)});
  const auto references = references_of(client);
  const std::shared_ptr resources =
      TemporaryResources::make(os, references, {.root = arguments.at(1), .context = "0"}).value();
  ForwardReducer reducer(os, references, resources, {.max_nbytes = 1000});
  const auto tree = client->tree();
  Pipe there(os);
  Pipe back(os);
  const auto worker = !tree ? Result<os::Child>(failure(tree.error()))
                            : os.spawn({.entry = worker_entry,
                                        .arguments = {*tree},
                                        .fds = {{.here = there.read.get(), .number_there = 3},
                                                {.here = back.write.get(), .number_there = 4}},
                                        .blocked = {}});
  if (!worker) {
    return 1;
  }
  const int count = std::stoi(arguments.at(2));
  std::string path;
  for (int number = 0; count == 0 || number < count; ++number) {
    auto sent = reducer.reduce(array_of(static_cast<std::byte>(number)));
    if (!sent || !send_message(os, there.write.get(), encode_reduction(sent->reduction).value()) ||
        receive_message(os, back.read.get()).empty()) {
      return 2;
    }
    static_cast<void>(sent->arrived());
    path = std::get<LoadTemporaryMemmap>(sent->reduction).filename;
    if (number % 3 == 2) {
      static_cast<void>(resources->clean_up());
      static_cast<void>(resources->set_current_context(std::to_string(number)));
    }
  }
  static_cast<void>(send_message(os, outbox, os::bytes_of(path)));
  static_cast<void>(receive_message(os, inbox));
  return 0;
}

struct Running {
  os::Pid pid = 0;
  os::UniqueFd process;
  os::UniqueFd orders;
  os::UniqueFd answers;
};

struct Entry {
  std::string name;
  std::vector<std::string> arguments;
};

/// Returns when the process has reported that it has begun.
Running start(os::Os& os, const Entry& entry) {
  Pipe there(os);
  Pipe back(os);
  const auto child = os.spawn({.entry = entry.name,
                               .arguments = entry.arguments,
                               .fds = {{.here = there.read.get(), .number_there = 3},
                                       {.here = back.write.get(), .number_there = 4}},
                               .blocked = {}})
                         .value();
  std::array<std::byte, 1> begun{};
  back.write.close_quietly();
  EXPECT_TRUE(read_all(os, back.read.get(), begun));
  return {.pid = child.pid,
          .process = os::UniqueFd(os, child.process),
          .orders = std::move(there.write),
          .answers = std::move(back.read)};
}

Running start_parent(os::Os& os, const pretend::FreshFolder& folder, int arrays) {
  return start(
      os, {parent_entry, {folder.path("runtime"), folder.path("files"), std::to_string(arrays)}});
}

/// What a watcher saw, and how many folders and files it could inspect.
struct Watch {
  std::uint64_t folders = 0;
  std::uint64_t files = 0;
  std::uint64_t open_modes = 0;  ///< Other users have some right to it.
  std::uint64_t entered = 0;     ///< It could list a folder.
};

/// Inspects one folder and its contents.
void look(const std::filesystem::path& folder, Watch& seen) {
  std::error_code gone;
  const auto open_to_others = [&](const std::filesystem::path& path, std::uint64_t& count) {
    const auto status = std::filesystem::symlink_status(path, gone);
    if (!gone) {
      ++count;
      const auto others = std::filesystem::perms::group_all | std::filesystem::perms::others_all;
      seen.open_modes += (status.permissions() & others) != std::filesystem::perms::none ? 1U : 0U;
    }
  };
  open_to_others(folder, seen.folders);
  std::filesystem::directory_iterator inside(folder, gone);
  if (gone) {
    return;
  }
  ++seen.entered;
  for (; inside != std::filesystem::directory_iterator(); inside.increment(gone)) {
    open_to_others(inside->path(), seen.files);
    if (gone) {
      return;
    }
  }
}

/// {"nobody" or "owner", folder}: inspects everything in it repeatedly until its orders end, and
/// reports what it saw.
int be_watcher(os::Os& os, const std::vector<std::string>& arguments) {
  if (arguments.at(0) == "nobody" && !pretend::become_nobody()) {
    return 1;
  }
  static_cast<void>(os::write_all(os, outbox, os::bytes_of("+")));
  Watch seen;
  for (bool goes_on = true; goes_on;) {
    std::error_code gone;
    for (std::filesystem::directory_iterator at(arguments.at(1), gone), end; !gone && at != end;
         at.increment(gone)) {
      look(at->path(), seen);
    }
    std::array items = {os::PollItem{.fd = inbox, .want_read = true}};
    goes_on = os.poll(items, std::chrono::nanoseconds(0)).value_or(0) == 0;
  }
  return send_message(os, outbox, std::as_bytes(std::span(&seen, 1))) ? 0 : 1;
}

TEST(RealTree, nothing_of_it_is_open_to_others_at_any_instant_R13) {
  pretend::adopt_orphans();
  os::KernelOs os({.program = this_program()});
  if (os.user_id() != 0) {
    GTEST_SKIP() << "needs to become another user";
  }
  pretend::FreshFolder folder;
  folder.make_folder("files");
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  std::filesystem::permissions(folder.path("files"), std::filesystem::perms(01777));
  std::vector<Running> watchers;
  for (const char* who : {"nobody", "owner"}) {
    watchers.push_back(start(os, {watcher_entry, {who, folder.path("files")}}));
  }
  Running parent = start_parent(os, folder, 400);
  static_cast<void>(receive_message(os, parent.answers.get()));
  ASSERT_TRUE(send_message(os, parent.orders.get(), os::bytes_of("end")));
  EXPECT_TRUE(wait_until_readable(os, parent.process.get()));
  EXPECT_EQ(os.wait_child(parent.process.get()).value(), (os::ChildExit{.code = 0}));
  std::vector<Watch> seen;
  for (Running& watcher : watchers) {
    watcher.orders.close_quietly();
    const auto told = receive_message(os, watcher.answers.get());
    Watch watch;
    ASSERT_EQ(told.size(), sizeof watch);
    std::ranges::copy(told, std::as_writable_bytes(std::span(&watch, 1)).begin());
    seen.push_back(watch);
    EXPECT_TRUE(wait_until_readable(os, watcher.process.get()));
    EXPECT_EQ(os.wait_child(watcher.process.get()).value(), (os::ChildExit{.code = 0}));
    EXPECT_EQ(watch.open_modes, 0U);
  }
  EXPECT_GT(seen[0].folders, 0U);
  EXPECT_EQ(seen[0].entered, 0U);
  EXPECT_GT(seen[1].files, 0U);  // Otherwise the watcher has inspected nothing.
  std::cout << "nobody looked at " << seen[0].folders << " folders, their owner at "
            << seen[1].files << " files\n";
  pretend::bury_all();
  std::filesystem::remove_all(folder.path("runtime"));
  folder.remove("files");
}

/// All names, once the only arrays left are the two that a worker keeps: the tracker removes the
/// one before when it can.
std::vector<std::string> settled_names(const pretend::FreshFolder& folder) {
  for (;;) {
    std::vector<std::string> names = folder.names();
    if (std::ranges::count_if(names, [](const auto& name) { return name.ends_with(".npy"); }) ==
        2) {
      return names;
    }
    std::this_thread::yield();
  }
}

TEST(RealTree, killed_whole_at_any_moment_leaves_nothing_past_the_next_start_T5_T9_M7) {
  pretend::adopt_orphans();
  pretend::FreshFolder folder;
  folder.make_folder("files");
  os::KernelOs os({.program = this_program()});
  std::uint32_t seed = 0;
  ASSERT_TRUE(os.entropy(std::as_writable_bytes(std::span(&seed, 1))));
  std::mt19937 chance(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));

  const Running living = start_parent(os, folder, 4);
  const auto told = receive_message(os, living.answers.get());
  const std::string file(reinterpret_cast<const char*>(told.data()), told.size());
  ASSERT_TRUE(std::filesystem::exists(file)) << file;
  const std::vector<std::string> untouched = settled_names(folder);

  int left_something = 0;
  for (int round = 0; round < kills; ++round) {
    const Running victim = start_parent(os, folder, 0);
    std::array items = {os::PollItem{.fd = victim.process.get(), .want_read = true}};
    const std::chrono::microseconds moment(chance() % 12'000);
    ASSERT_EQ(os.poll(items, moment).value(), 0U) << "the parent ended by itself";
    ASSERT_TRUE(pretend::kill_group(victim.pid));
    left_something += folder.names() == untouched ? 0 : 1;
    const auto swept = sweep(os, folder.path("runtime"));
    ASSERT_TRUE(swept.has_value()) << describe(swept.error());
    ASSERT_EQ(swept->alive, 1U);
    ASSERT_EQ(folder.names(), untouched) << "after kill " << round;
  }
  std::cout << kills << " trees killed, " << left_something
            << " of which had left something to the next start\n";
  EXPECT_GT(left_something, kills / 4);

  const auto array = map_npy(os, file, MapMode::read);
  ASSERT_TRUE(array.has_value());
  EXPECT_TRUE(contents_equal(*array, array_of(std::byte{3})));
  ASSERT_TRUE(send_message(os, living.orders.get(), os::bytes_of("end")));
  EXPECT_TRUE(wait_until_readable(os, living.process.get()));
  EXPECT_EQ(os.wait_child(living.process.get()).value(), (os::ChildExit{.code = 0}));
  // Its worker and its tracker end by themselves; this process reaps them.
  pretend::bury_all();
  folder.remove("files");
}

}  // namespace
}  // namespace lastref

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string entry = words.empty() ? std::string() : words.front();
  const std::vector<std::string> arguments(words.empty() ? words.end() : words.begin() + 1,
                                           words.end());
  lastref::os::KernelOs os({.program = lastref::this_program()});
  if (entry == lastref::tracker::entry_point) {
    return lastref::tracker::run(os, arguments);
  }
  if (entry == lastref::parent_entry) {
    return lastref::be_parent(os, arguments);
  }
  if (entry == lastref::watcher_entry) {
    return lastref::be_watcher(os, arguments);
  }
  if (entry == lastref::worker_entry) {
    return lastref::be_worker(os, arguments);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
