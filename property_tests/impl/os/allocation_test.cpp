// Whichever allocation of a call of KernelOs fails, the call reports it or works without; it leaves
// nothing, and the next call works.
#include <array>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>
#include <lastref/process_objects.hpp>

#include "impl/os/folders.hpp"
#include "impl/os/kernel_os_exit.hpp"
#include "impl/os/within_memory.hpp"
#include "property_tests/support/failing_memory.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref::os {
namespace {

using pretend::Armed;
using pretend::fail_each_allocation;
using pretend::FreshFolder;
using pretend::unless_no_memory;

constexpr const char* nowhere = "/this is a path that no short string has space for/and is nowhere";

/// The status of a result, without an allocation.
template <typename Value>
Status taken_from(Result<Value> result) noexcept {
  return result ? ok() : Status(tl::unexpected<Error>(std::move(result.error())));
}

/// `call` works, or reports that there is no memory.
template <typename Call>
void expect_typed(Call call) {
  fail_each_allocation([&](const Armed& armed) -> std::string {
    Status answer = ok();
    armed([&] { answer = taken_from(call()); });
    return unless_no_memory(answer);
  });
}

class KernelAllocations_E10 : public testing::Test {
 protected:
  FreshFolder folder_;
  KernelOs os_;
};

TEST_F(KernelAllocations_E10, an_error_may_come_without_its_subject) {
  fail_each_allocation([&](const Armed& armed) -> std::string {
    const PathAt where(nowhere);
    std::vector<Status> answers;
    answers.reserve(8);
    armed([&] {
      answers.push_back(taken_from(os_.open(where, {})));
      answers.push_back(taken_from(os_.status_at(where)));
      answers.push_back(os_.unlink(where));
      answers.push_back(os_.rename(where, where));
      answers.push_back(os_.make_folder(where, 0700));
      answers.push_back(os_.remove_folder(where));
      answers.push_back(taken_from(os_.free_space(where.path)));
    });
    for (const Status& answer : answers) {
      if (!failed_with(answer, std::errc::no_such_file_or_directory)) {
        return "its code is lost";
      }
    }
    return {};
  });
}

TEST_F(KernelAllocations_E10, a_copy_of_a_result_throws) {
  const Result<std::string> value = std::string(nowhere);
  const Status error = failure(std::errc::permission_denied, nowhere);
  fail_each_allocation([&](const Armed& armed) -> std::string {
    int copies = 0;
    armed([&] {
      had_memory([&] { copies += Result<std::string>(value) == value ? 1 : 0; });
      had_memory([&] { copies += Status(error) ? 0 : 1; });
      had_memory([&] {
        Status assigned = ok();
        assigned = error;
        copies += assigned ? 0 : 1;
      });
      had_memory([&] {
        Result<std::string> assigned = failure(std::errc::permission_denied, {});
        assigned = value;
        copies += assigned == value ? 1 : 0;
      });
    });
    return copies <= 4 ? "" : "more copies than were made";
  });
}

TEST_F(KernelAllocations_E10, a_folder_is_read_or_the_call_fails) {
  for (const char* const name : {"one", "another with a name that is no short string"}) {
    folder_.make_folder(name);
  }
  fail_each_allocation([&](const Armed& armed) -> std::string {
    const PathAt where(folder_.path());
    auto opened = open_file(os_, where, {.folder = true});
    Result<std::vector<FolderEntry>> entries;
    armed([&] { entries = os_.read_folder(opened->get()); });
    if (entries && entries->size() != 2) {
      return "entries are missing;";
    }
    return unless_no_memory(status_of(entries));
  });
  for (const std::string& name : folder_.names()) {
    static_cast<void>(os_.remove_folder(folder_.path(name)));
  }
}

TEST_F(KernelAllocations_E10, a_message_whose_descriptors_find_no_memory_leaves_none_open) {
  fail_each_allocation([&](const Armed& armed) -> std::string {
    const std::string path = folder_.path("socket");
    UniqueFd listener(os_, *os_.make_socket());
    UniqueFd here(os_, *os_.make_socket());
    static_cast<void>(os_.bind(listener.get(), path));
    static_cast<void>(os_.listen(listener.get()));
    static_cast<void>(os_.connect(here.get(), path));
    UniqueFd there(os_, *os_.accept(listener.get()));
    const std::array fds{here.get(), there.get()};
    const std::byte byte{1};
    static_cast<void>(os_.send(here.get(), std::span(&byte, 1), fds));
    static_cast<void>(os_.unlink(path));
    std::array<std::byte, 8> into{};
    Result<Received> received;
    armed([&] { received = os_.receive(there.get(), into); });
    if (received) {
      for (const Fd fd : received->fds) {
        UniqueFd(os_, fd).close_quietly();
      }
    }
    return unless_no_memory(status_of(received));
  });
}

TEST_F(KernelAllocations_E10, many_items_are_polled_or_the_call_fails) {
  std::vector<PollItem> items(100);
  expect_typed([&] { return os_.poll(items, Instant(0)); });
}

TEST_F(KernelAllocations_E10, a_working_folder_is_told_or_the_call_fails) {
  const std::string before = *os_.working_folder();
  std::filesystem::current_path(folder_.path());
  expect_typed([&] { return os_.working_folder(); });
  std::filesystem::current_path(before);
}

TEST_F(KernelAllocations_E10, a_thread_starts_or_the_call_fails) {
  fail_each_allocation([&](const Armed& armed) -> std::string {
    std::function<void()> body = [] {};
    Result<std::unique_ptr<Thread>> thread;
    armed([&] { thread = os_.start_thread(std::move(body)); });
    if (thread) {
      (*thread)->join();
    }
    return unless_no_memory(status_of(thread));
  });
}

TEST_F(KernelAllocations_E10, a_process_starts_or_the_call_fails) {
  KernelOs os({.program = "/bin/true"});
  const SpawnOptions options{.entry = "an entry that is no short string",
                             .arguments = {"an argument that is no short string"},
                             .fds = {},
                             .blocked = {},
                             .environment = {{"LASTREF_TEST", "a value that is no short string"}}};
  fail_each_allocation(
      [&](const Armed& armed) -> std::string {
        Result<Child> child;
        armed([&] { child = os.spawn(options); });
        if (child) {
          const UniqueFd process(os, child->process);
          static_cast<void>(pretend::wait_for(os, process.get()));
        }
        return unless_no_memory(status_of(child));
      },
      {.stride = 5});
}

TEST_F(KernelAllocations_E10, what_cannot_be_told_otherwise_is_bad_alloc) {
  fail_each_allocation([&](const Armed& armed) -> std::string {
    GenerationsOfObjects generations;
    std::unique_ptr<ExitHook> hook;
    std::unique_ptr<Monitor> monitor;
    std::optional<std::string> value;
    ::setenv("LASTREF_TEST", "a value that is no short string", 1);
    armed([&] {
      static_cast<void>(had_memory([&] { monitor = os_.make_monitor(); }));
      static_cast<void>(had_memory([&] { hook = os_.at_exit([] {}); }));
      static_cast<void>(had_memory([&] { value = os_.environment("LASTREF_TEST"); }));
      static_cast<void>(had_memory([&] { generations.of(os_, 1); }));
    });
    ::unsetenv("LASTREF_TEST");
    monitor = os_.make_monitor();
    hook = os_.at_exit([] {});
    generations.of(os_, 1);
    return {};
  });
}

TEST_F(KernelAllocations_E10, an_exit_hook_without_memory_ends_alone) {
  fail_each_allocation([&](const Armed& armed) -> std::string {
    ExitHooks hooks;
    int ran = 0;
    std::array actions{hooks.add(1, [&] { ++ran; }),
                       hooks.add(1, [&] { std::string(100, 'x').append(std::string(100, 'y')); })};
    armed([&] { hooks.run(1); });
    return ran == 1 ? "" : "another hook did not run;";
  });
}

TEST_F(KernelAllocations_E10, a_message_to_people_is_dropped_and_counted) {
  pretend::FullStandardError standard_error;
  fail_each_allocation([&](const Armed& armed) -> std::string {
    os_.dropped_messages = 0;
    armed([&] {
      report_quietly(os_, [] { return std::string(100, 'x'); });
      UniqueFd(os_, Fd{4000}).close_quietly();
    });
    return os_.dropped_messages == 2
               ? ""
               : "it counts " + std::to_string(os_.dropped_messages) + " messages;";
  });
}

TEST_F(KernelAllocations_E10, paths_are_looked_at_or_the_caller_is_told) {
  const std::string above = folder_.path("a folder with a name");
  const std::string path = above + "/that is no short string";
  fail_each_allocation([&](const Armed& armed) -> std::string {
    Result<std::string> whole;
    armed([&] {
      whole = within_memory("folders", [&]() -> Result<std::string> {
        LASTREF_CHECK(check_is_safe(os_, "."));
        LASTREF_CHECK(make_with_parents(os_, path));
        return from_root(os_, "a relative path");
      });
    });
    static_cast<void>(os_.remove_folder(path));
    static_cast<void>(os_.remove_folder(above));
    return unless_no_memory(status_of(whole));
  });
}

}  // namespace
}  // namespace lastref::os
