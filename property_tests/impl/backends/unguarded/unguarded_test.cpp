// unguarded_test: a program with a main that does not call run_if_spawned is refused at once, and
// the error names the missing line, whatever the program uses and wherever.
#include "property_tests/impl/backends/unguarded/unguarded.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <filesystem>
#include <optional>
#include <span>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/spawned.hpp>
#include <lastref/tracker.hpp>
#include <lastref/tracker_client.hpp>
#include <lastref/worker.hpp>

#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/process_group.hpp"

namespace lastref::pretend {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct Use {
  const char* what = nullptr;
  const char* then = nullptr;
};

std::string name_of(const Use& use) {
  return std::string(use.what) + "_" + use.then;
}

void PrintTo(const Use& use, std::ostream* out) {
  *out << name_of(use);
}

constexpr Use uses[] = {
    {"session", "ends"},
    {"session", "leaves"},
    {"session", "stays"},
    {"cache", "ends"},
    {"cache", "stays"},
    {"pool", "ends"},
    {"pool", "stays"},
    {"static", "ends"},
    {"static", "stays"},
    {"plugin", "ends"},
    {"plugin", "stays"},
};

class Unguarded : public testing::TestWithParam<Use> {};
INSTANTIATE_TEST_SUITE_P(Every, Unguarded, testing::ValuesIn(uses), [](const auto& row) {
  return name_of(row.param);
});

/// Runs this program with these variables; returns its exit code. Everything that it has started
/// has ended then.
int run_unguarded(const FreshFolder& folder, const Use& use) {
  adopt_orphans();
  const os::Pid copy = run_in_copy([&]() -> int {
    set_variable("LASTREF_RUNTIME_FOLDER", folder.path("runtime"));
    set_variable("XDG_CACHE_HOME", folder.path("cache"));
    set_variable(log_variable, folder.path("log"));
    set_variable(use_variable, use.what);
    set_variable(then_variable, use.then);
    const int errors = ::open(folder.path("errors").c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    ::dup2(errors, STDERR_FILENO);
    ::execl("/proc/self/exe", "program", nullptr);
    return 5;
  });
  const int code = exit_code_of(copy);
  bury_all();
  return code;
}

TEST_P(Unguarded, programs_are_refused_at_once_and_told_the_missing_line_B5) {
  const FreshFolder folder;
  EXPECT_EQ(run_unguarded(folder, GetParam()), 1);
  EXPECT_THAT(folder.read("errors"), HasSubstr("tracker"));
  EXPECT_THAT(folder.read("errors"), HasSubstr(how_to_guard_main));
  EXPECT_EQ(folder.read("log"), "one\none\n");  // It and its supposed tracker.
  EXPECT_FALSE(folder.exists("runtime"));
  std::filesystem::remove_all(folder.path("cache"));
  folder.remove("errors");
  folder.remove("log");
}

/// The kernel, in a process that was started as a tracker.
class TrackerOs final : public os::KernelOs {
 public:
  std::optional<std::string> environment(const std::string& name) noexcept override {
    return name == spawned_marker ? std::optional<std::string>("tracker")
                                  : KernelOs::environment(name);
  }
  Status shut_down(os::Fd socket) noexcept override {
    shut = socket;
    return ok();
  }

  os::Fd shut = os::Fd::none;
};

TEST(Spawned, processes_lead_no_tree_and_refuse_the_root_that_waits_B5) {
  const FreshFolder folder;
  TrackerOs os;
  const auto client = tracker::Client::lead(os, {.runtime_folder = folder.path("runtime")});
  const auto tree = client->tree();
  ASSERT_FALSE(tree);
  EXPECT_EQ(tree.error().code, std::errc::operation_not_permitted);
  EXPECT_THAT(tree.error().subject, AllOf(HasSubstr("tracker"), HasSubstr(how_to_guard_main)));
  EXPECT_EQ(os.shut, os::Fd{tracker::passed_fd});
  EXPECT_FALSE(folder.exists("runtime"));
}

/// The kernel, in which long waits end at once. It starts one process, and ends that when it
/// reports that it got no answer.
class HurriedOs final : public os::KernelOs {
 public:
  HurriedOs() : KernelOs({.program = this_program}) {}

  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override {
    if (timeout > std::chrono::seconds(1)) {
      return 0;
    }
    return KernelOs::poll(items, timeout);
  }
  Result<os::Child> spawn(const os::SpawnOptions& options) noexcept override {
    if (tracker != 0) {
      return failure(std::errc::operation_not_permitted, "a second tracker");
    }
    auto child = KernelOs::spawn(options);
    tracker = child ? child->pid : 0;
    return child;
  }
  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override {
    if (fd != os::Fd::standard_error) {
      return KernelOs::write(fd, bytes);
    }
    for (const std::byte each : bytes) {
      said += std::to_integer<char>(each);
    }
    if (said.find("does not answer") != std::string::npos) {
      send_signal(tracker, SIGKILL);
    }
    return bytes.size();
  }

  os::Pid tracker = 0;
  std::string said;
};

TEST(Spawned, processes_that_do_something_else_are_told_of_while_their_root_waits_B5) {
  const FreshFolder folder;
  const os::Pid copy = run_in_copy([&] {
    set_variable(use_variable, "nothing");
    HurriedOs os;
    const auto client = tracker::Client::lead(os, {.runtime_folder = folder.path("runtime")});
    const auto tree = client->tree();
    folder.write("said", os.said);
    return tree ? 1 : 0;
  });
  EXPECT_EQ(exit_code_of(copy), 0);
  EXPECT_THAT(folder.read("said"), HasSubstr("tracker"));
  EXPECT_THAT(folder.read("said"), HasSubstr(how_to_guard_main));
  folder.remove("said");
}

TEST(Spawned, processes_start_nothing_B5) {
  os::KernelOs os({.program = "/bin/true"});
  const os::SpawnOptions any = {.entry = "any", .arguments = {}, .fds = {}, .blocked = {}};
  set_variable(spawned_marker, "worker");
  const auto refused = os.spawn(any);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, std::errc::operation_not_permitted);
  EXPECT_THAT(refused.error().subject, AllOf(HasSubstr("worker"), HasSubstr(how_to_guard_main)));
  os.hide_from_children({}, spawned_marker);
  const auto started = os.spawn(any);
  ASSERT_TRUE(started) << describe(started.error());
  wait_until_dead(started->pid);
  static_cast<void>(os.close(started->process));
}

}  // namespace
}  // namespace lastref::pretend
