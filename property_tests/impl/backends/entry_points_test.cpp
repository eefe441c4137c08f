// entry_points_test: how a program reacts to wrong arguments when it was not started by the
// library.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>
#include <lastref/tracker.hpp>
#include <lastref/worker.hpp>

#include "impl/backends/pipe_ends.hpp"
#include "impl/os/wire.hpp"
#include "property_tests/impl/backends/fixture.hpp"
#include "property_tests/support/transcript.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref {
namespace {

using pretend::must;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using Words = std::vector<std::string>;

/// Signals cannot be ignored in it, and its standard error is recorded.
class DeafToNothingOs final : public os::KernelOs {
 public:
  std::optional<std::string> environment(const std::string& name) noexcept override {
    return is_marked && name == worker::marker ? std::optional<std::string>("1") : std::nullopt;
  }
  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override {
    if (fd != os::Fd::standard_error) {
      return KernelOs::write(fd, bytes);
    }
    said.emplace_back(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return bytes.size();
  }
  /// A tracker's listener, which this program does not have.
  Status close(os::Fd fd) noexcept override { return fd == os::Fd{3} ? ok() : KernelOs::close(fd); }
  Status ignore_signal(os::Signal /*signal*/) noexcept override {
    return failure(std::errc::invalid_argument, "a signal", Call::ignore_signal);
  }

  bool is_marked = true;
  std::vector<std::string> said;
};

std::optional<int> start(DeafToNothingOs& os, const Words& words) {
  return run_if_spawned(os, *pretend::test_functions(), words);
}

TEST(EntryPoints, of_others_are_left_to_them_B5) {
  DeafToNothingOs os;
  for (const Words& words : {Words{},
                             Words{"lastref"},
                             Words{"program", worker::entry_point, "folder"},
                             Words{"lastref", "gate", "folder"}}) {
    EXPECT_EQ(start(os, words), std::nullopt);
  }
  // The arguments alone do not suffice: the process was not started by a parent of workers.
  os.is_marked = false;
  EXPECT_EQ(start(os, {"lastref", worker::entry_point, "folder"}), std::nullopt);
  EXPECT_THAT(os.said, IsEmpty());
}

TEST(EntryPoints, of_a_worker_need_the_folder_of_a_tree_B5) {
  DeafToNothingOs os;
  EXPECT_EQ(start(os, {"lastref", worker::entry_point}), 2);
  EXPECT_THAT(os.said, SizeIs(1));
  pretend::expect_transcript(os.said);
}

TEST(EntryPoints, of_a_tracker_need_one_folder_and_live_with_interrupts_that_they_hear_T1) {
  DeafToNothingOs os;
  for (const Words& words : {Words{"lastref", tracker::entry_point},
                             Words{"lastref", tracker::entry_point, "--loky-fd", "4"}}) {
    EXPECT_EQ(start(os, words), 2);
    EXPECT_THAT(os.said, SizeIs(5));
    EXPECT_EQ(std::ranges::count_if(os.said,
                                    [](const std::string& line) {
                                      return line.find("ignore_signal") != std::string::npos;
                                    }),
              4);
    pretend::expect_transcript(os.said);
    os.said.clear();
  }
}

TEST(EntryPoints, of_a_tracker_that_cannot_have_its_tree_say_so_T1) {
  DeafToNothingOs os;
  EXPECT_EQ(start(os, {"lastref", tracker::entry_point, "/nowhere/at/all"}), 2);
  EXPECT_THAT(os.said, testing::Contains(HasSubstr("/nowhere")));
  pretend::expect_transcript(os.said);
}

/// How a worker ends if its parent sends this and then no more.
os::ChildExit end_of_worker_told(pretend::Fixture& fixture,
                                 os::Bytes bytes,
                                 const std::string& tree) {
  os::Os& os = fixture.os;
  const os::PipeEnds jobs = must(os.make_pipe());
  const os::UniqueFd jobs_there(os, jobs.read);
  os::UniqueFd jobs_here(os, jobs.write);
  const os::PipeEnds results = must(os.make_pipe());
  const os::UniqueFd results_here(os, results.read);
  const os::UniqueFd results_there(os, results.write);
  const os::UniqueFd self(os, must(os.open_process(os.process_id())));
  const os::PipeEnds leash = must(os.make_pipe());
  const os::UniqueFd leash_there(os, leash.read);
  const os::UniqueFd leash_here(os, leash.write);
  const os::Child child =
      must(os.spawn({.entry = worker::entry_point,
                     .arguments = {tree, "1"},
                     .fds = {{.here = jobs_there.get(), .number_there = worker::jobs_fd},
                             {.here = results_there.get(), .number_there = worker::results_fd},
                             {.here = self.get(), .number_there = worker::parent_fd},
                             {.here = leash_there.get(), .number_there = worker::leash_fd}},
                     .blocked = {},
                     .environment = {{worker::marker, "1"}}}));
  const os::UniqueFd process(os, child.process);
  // The worker may have exited already.
  static_cast<void>(os::write_all(os, jobs_here.get(), bytes));
  jobs_here.close_quietly();
  return must(pretend::wait_for(os, process.get()));
}

TEST(EntryPoints, of_a_worker_end_it_with_its_jobs_and_at_what_is_no_job_B5) {
  pretend::Fixture fixture;
  const std::string tree = must(fixture.session.tree());
  EXPECT_EQ(end_of_worker_told(fixture, {}, tree), (os::ChildExit{.code = 0}));
  const auto message = [](std::uint64_t size, std::uint8_t kind) {
    os::Packed packed;
    os::put(packed, size);
    os::put(packed, kind);
    return packed;
  };
  constexpr auto job = static_cast<std::uint8_t>(backends::MessageKind::job);
  constexpr auto results = static_cast<std::uint8_t>(backends::MessageKind::results);
  for (const auto& bytes :
       {message(0, job), message(1, backends::kinds), message(1, results), message(1, job)}) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(end_of_worker_told(fixture, bytes, tree), (os::ChildExit{.code = 2}));
    pretend::expect_transcript(testing::internal::GetCapturedStderr());
  }
  // A job with a number and no batch is answered; the bytes that follow it are read after that.
  os::Packed both = message(1 + sizeof(std::uint64_t), job);
  os::put(both, std::uint64_t{1});
  const os::Packed nonsense = message(0, job);
  both.insert(both.end(), nonsense.begin(), nonsense.end());
  EXPECT_EQ(end_of_worker_told(fixture, both, tree), (os::ChildExit{.code = 2}));
  EXPECT_EQ(end_of_worker_told(fixture, {}, tree + "_of_nobody"), (os::ChildExit{.code = 2}));
}

}  // namespace
}  // namespace lastref
