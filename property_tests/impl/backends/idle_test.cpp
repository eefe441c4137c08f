// idle_test: a process without work uses no processor, and a worker exits when its parent has died.
#include <filesystem>
#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/backends/fixture.hpp"
#include "property_tests/support/process_group.hpp"

namespace lastref {
namespace {

namespace fs = std::filesystem;

constexpr int sigkill = 9;

using pretend::Fixture;
using pretend::must;
using pretend::must_be;
using pretend::until;

/// The threads of a process, by their folder in /proc, except `but`.
std::vector<fs::path> threads_of(const std::string& process, const std::string& but = "") {
  std::vector<fs::path> all;
  for (const auto& thread : fs::directory_iterator("/proc/" + process + "/task")) {
    if (thread.path().filename() != but) {
      all.push_back(thread.path());
    }
  }
  return all;
}

/// Its numbers of voluntary and involuntary context switches.
std::string switches_of(const fs::path& thread) {
  std::ifstream status(thread / "status");
  std::string switches;
  for (std::string line; std::getline(status, line);) {
    if (line.find("voluntary_ctxt_switches") != std::string::npos) {
      switches += line + ' ';
    }
  }
  return switches;
}

bool is_asleep(const fs::path& thread) {
  std::ifstream status(thread / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("State:")) {
      return line.find('S') != std::string::npos && line.find("(sleeping)") != std::string::npos;
    }
  }
  return false;
}

/// Some work of this process, always of the same size.
std::uint64_t work() {
  volatile std::uint64_t state = 1;
  for (int times = 0; times < 100'000'000; ++times) {
    state = state * 6364136223846793005U + 1442695040888963407U;
  }
  return state;
}

TEST(Idle, pool_and_tracker_make_no_system_call_B5) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer has a thread of its own, which wakes by itself";
#endif
  Fixture fixture;
  const auto backend = fixture.make(BackendKind::processes);
  must(backend->configure(fixture.options(2)));
  EXPECT_EQ(must_be(must_be(backend->apply_async({{"sum", {pretend::array_of(5000)}}}, {}))->get()),
            List{5000});
  // Each waits for the other, so both workers have completed their start.
  const auto one = must_be(
      backend->apply_async({{"mark_and_wait", {fixture.mark("one"), fixture.mark("two"), 1}}}, {}));
  const auto two = must_be(
      backend->apply_async({{"mark_and_wait", {fixture.mark("two"), fixture.mark("one"), 2}}}, {}));
  EXPECT_EQ(must_be(one->get()), List{Value(List{1})});
  EXPECT_EQ(must_be(two->get()), List{Value(List{2})});
  std::vector<fs::path> all = threads_of("self", std::to_string(fixture.os.process_id()));
  EXPECT_GE(all.size(), 1U);
  for (const os::Pid child : pretend::children()) {
    const auto its = threads_of(std::to_string(child));
    all.insert(all.end(), its.begin(), its.end());
  }
  EXPECT_GE(all.size(), 6U);  // Two workers that watch, a tracker, and the listeners.
  // Work that was begun ends: the threads sleep, and still do after some work of this process.
  std::vector<std::string> switches;
  const auto look = [&] {
    std::vector<std::string> seen;
    for (const fs::path& thread : all) {
      seen.push_back(thread.string() + ' ' + switches_of(thread));
    }
    return seen;
  };
  until([&] {
    const bool sleeps = std::ranges::all_of(all, is_asleep);
    auto seen = look();
    const bool same = seen == switches;
    switches = std::move(seen);
    return sleeps && same;
  });
  work();
  EXPECT_EQ(look(), switches);
}

/// Its state in /proc, one letter; none if it no longer exists.
char state_of(os::Pid pid) {
  std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
  std::string text{std::istreambuf_iterator<char>(stat), {}};
  const std::size_t name_end = text.rfind(')');
  return name_end == std::string::npos ? '-' : text[name_end + 2];
}

std::string words_of(os::Pid pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/cmdline");
  return std::string{std::istreambuf_iterator<char>(file), {}};
}

/// Workers that were started in this test: this process adopts them.
std::set<os::Pid> adopted_workers() {
  std::set<os::Pid> workers;
  for (const os::Pid child : pretend::children()) {
    if (words_of(child).find(worker::entry_point) != std::string::npos) {
      workers.insert(child);
    }
  }
  return workers;
}

void wait_until_ended(const std::set<os::Pid>& processes) {
  for (const os::Pid process : processes) {
    until([&] { return state_of(process) == 'Z' || state_of(process) == '-'; });
  }
}

TEST(Orphans, end_with_their_files_when_their_parent_executes_another_program_B5_B9) {
  Fixture fixture;
  fixture.session = {};
  const auto parent = must(fixture.os.spawn({.entry = "executing_parent",
                                             .arguments = {fixture.folder.path()},
                                             .fds = {},
                                             .blocked = {}}));
  const os::UniqueFd process(fixture.os, parent.process);
  fixture.wait_for_mark("one");
  fixture.wait_for_mark("two");
  const std::set<os::Pid> workers = adopted_workers();
  EXPECT_EQ(workers.size(), 2U);
  EXPECT_FALSE(fixture.files().empty());
  fixture.make_mark("go");
  wait_until_ended(workers);
  until([&] { return fixture.files().empty(); });
  EXPECT_EQ(words_of(parent.pid).substr(0, 4), "tail");
  pretend::send_signal(parent.pid, sigkill);
  pretend::bury_all();
}

TEST(Orphans, go_with_their_parent_even_if_a_stranger_has_its_pipes_B5_B9) {
  Fixture fixture;
  fixture.session = {};
  const auto parent = must(fixture.os.spawn(
      {.entry = "parent", .arguments = {fixture.folder.path()}, .fds = {}, .blocked = {}}));
  const os::UniqueFd process(fixture.os, parent.process);
  fixture.wait_for_mark("one");
  fixture.wait_for_mark("two");
  fixture.wait_for_mark("stranger");
  const std::set<os::Pid> workers = adopted_workers();
  os::Pid stranger = 0;  // A fork is a child of the process that forked.
  for (const fs::path& thread : threads_of(std::to_string(parent.pid))) {
    std::ifstream line(thread / "children");
    for (os::Pid child = 0; line >> child;) {
      stranger = child;
    }
  }
  ASSERT_EQ(workers.size(), 2U);
  ASSERT_NE(stranger, 0);
  pretend::send_signal(parent.pid, sigkill);
  wait_until_ended(workers);
  EXPECT_NE(state_of(stranger), 'Z');
  pretend::send_signal(stranger, sigkill);
  pretend::bury_all();
}

}  // namespace
}  // namespace lastref
