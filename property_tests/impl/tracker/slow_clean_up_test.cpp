// slow_clean_up_test: while one clean-up takes long, all other requests are served. A request for
// the name being cleaned up waits until that ends. A name that could not be cleaned up may be used
// again.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "impl/tracker/cleaner.hpp"
#include "property_tests/impl/tracker/tracker_in_a_copy.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/hooked_os.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref::tracker {
namespace {

using pretend::must;
using pretend::until;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::size_t large_size = 100'000;  // bytes

/// An unlink of a name that ends in "/name" reports its begin, and ends when the test permits it.
class SlowOs final : public os::KernelOs {
 public:
  Status unlink(const os::PathAt& where) noexcept override {
    if (where.path.ends_with("/name")) {
      std::ofstream(where.path + ".begun").put('x');
      until([&] { return std::filesystem::exists(where.path + ".may_end"); });
    }
    return KernelOs::unlink(where);
  }
};

class SlowCleanUp : public pretend::TrackerInACopy {
 protected:
  SlowCleanUp() : TrackerInACopy(std::make_unique<SlowOs>) {
    EXPECT_EQ(announce(), std::errc{});
    EXPECT_EQ(ask_for(Verb::register_, 2, name_), std::errc{});
    folder_.write("name", std::string(large_size, 'x'));
    say({.verb = Verb::release, .entries = {{.resource = name_}}});
    until([&] { return folder_.exists("name.begun"); });
  }
  void let_it_end() {
    folder_.write("name.may_end");
    until([&] { return !folder_.exists("name"); });
  }
  ~SlowCleanUp() override {
    folder_.remove("name.begun");
    folder_.remove("name.may_end");
  }
};

TEST_F(SlowCleanUp, of_one_huge_file_keeps_nobody_waiting_T10) {
  EXPECT_EQ(ask({.verb = Verb::probe, .id = 3, .entries = {}}), std::errc{});
  const Resource other{.type = ResourceType::file, .name = folder_.path("other")};
  EXPECT_EQ(ask_for(Verb::register_, 4, other), std::errc{});
  EXPECT_EQ(ask_for(Verb::forget, 5, other), std::errc{});
  EXPECT_EQ(ask({.verb = Verb::counts, .id = 6, .entries = {}}), std::errc{});
  EXPECT_TRUE(folder_.exists("name"));
  let_it_end();
  EXPECT_EQ(end(), "");
}

TEST_F(SlowCleanUp, keeps_who_wants_the_name_again_until_it_is_gone_T10_E4) {
  say({.verb = Verb::register_, .id = 3, .entries = {{.resource = name_}}});
  let_rounds_pass();  // Only these messages are answered.
  EXPECT_TRUE(folder_.exists("name"));
  folder_.write("name.may_end");
  EXPECT_EQ(answer_to(3), std::errc{});
  EXPECT_FALSE(folder_.exists("name"));
  folder_.write("name");
  let_rounds_pass();
  EXPECT_TRUE(folder_.exists("name"));
  EXPECT_THAT(end(), HasSubstr("removing 1 file: "));
  EXPECT_FALSE(folder_.exists("name"));
}

TEST_F(SlowCleanUp, keeps_who_forgets_the_name_until_it_is_gone_E4) {
  say({.verb = Verb::forget, .id = 3, .entries = {{.resource = name_}}});
  let_rounds_pass();
  folder_.write("name.may_end");
  EXPECT_EQ(answer_to(3), std::errc{});
  EXPECT_FALSE(folder_.exists("name"));
  folder_.write("name");
  EXPECT_EQ(end(), "");
  EXPECT_TRUE(folder_.exists("name"));
  folder_.remove("name");
}

TEST_F(SlowCleanUp, is_waited_for_at_the_end_of_the_tree_T5) {
  tree_.membership.lock.close_quietly();
  link_.reset();
  folder_.write("name.may_end");
  EXPECT_EQ(must(pretend::wait_for(os_, tracker_.get())), os::ChildExit{});
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  EXPECT_FALSE(folder_.exists("name"));
}

/// Steps as the loop of a tracker: waits for a message of the thread, or the due time. Returns how
/// many names were cleaned up.
std::size_t finish(os::Os& os, Cleaner& cleaner) {
  std::size_t ended = 0;
  while (!cleaner.empty()) {
    const auto due = cleaner.due();
    std::array items{os::PollItem{.fd = cleaner.completion_fd(), .want_read = true}};
    if (!due && items[0].fd == os::Fd::none) {
      ADD_FAILURE() << "nothing is due";
      return ended;
    }
    EXPECT_TRUE(os.poll(
        items, due ? std::optional(std::max(*due - os.now(), os::Instant(0))) : std::nullopt));
    for (const Cleaned& cleaned : cleaner.step(os.now())) {
      EXPECT_TRUE(cleaned.status);
      ++ended;
    }
  }
  return ended;
}

/// The background thread, with a call that always fails.
class BrokenAside : public testing::TestWithParam<Call> {};

TEST_P(BrokenAside, cleans_up_all_the_same_T10) {
  const pretend::FreshFolder folder;
  std::atomic<int> threads = 0;
  pretend::HookedOs os;
  os.before = [&](const pretend::Crossing& crossing) -> pretend::Decision {
    threads += crossing.call == Call::start_thread ? 1 : 0;
    return {.fate = crossing.call == GetParam() ? pretend::Fate::fail : pretend::Fate::pass};
  };
  Cleaner cleaner(os, {.aside = true});
  constexpr std::size_t files = 200;
  for (std::size_t index = 0; index < files; ++index) {
    const std::string name = std::to_string(index);
    folder.write(name, std::string(large_size, 'x'));
    cleaner.add({.type = ResourceType::file, .name = folder.path(name)});
  }
  const std::size_t ended = finish(os, cleaner);
  EXPECT_EQ(ended, files);
  EXPECT_EQ(threads == 0, GetParam() == Call::make_pipe);
}

INSTANTIATE_TEST_SUITE_P(
    Cleaner,
    BrokenAside,
    testing::Values(Call::none, Call::start_thread, Call::make_pipe, Call::write, Call::read),
    [](const auto& each) { return std::string(name_of(each.param)); });

TEST(Aside, a_file_that_one_of_two_looks_misses_is_removed_T7) {
  const pretend::FreshFolder folder;
  folder.write("file", std::string(large_size, 'x'));
  const std::string path = folder.path("file");
  std::atomic<int> looks = 0;
  pretend::HookedOs os;
  const Identity identity = os::identity_of(must(os.status_at(path)));
  os.before = [&](const pretend::Crossing& crossing) -> pretend::Decision {
    const bool is_missed = crossing.call == Call::status_at && ++looks == 2;
    return {.fate = is_missed ? pretend::Fate::fail : pretend::Fate::pass,
            .code = std::errc::no_such_file_or_directory};
  };
  Cleaner cleaner(os, {.aside = true});
  cleaner.add({.type = ResourceType::file, .name = path}, identity);
  EXPECT_EQ(finish(os, cleaner), 1U);
  EXPECT_EQ(looks, 3);
  EXPECT_FALSE(folder.exists("file"));
}

/// Asks the tracker that it serves repeatedly during its clean-up, and counts the tracker's calls
/// and steps before the answer. Writes the results when it ends.
class AskingOs final : public os::KernelOs {
 public:
  AskingOs(TreePaths paths, std::string report)
      : paths_(std::move(paths)), report_(std::move(report)) {}
  AskingOs(const AskingOs&) = delete;
  AskingOs& operator=(const AskingOs&) = delete;
  ~AskingOs() override { std::ofstream(report_) << worst_ << ' ' << calls_; }

  void step(Step step) noexcept override {
    KernelOs::step(step);
    cleans_up_ = cleans_up_ || step == Step::tracker_doomed;
    did();
  }
  Result<os::FileStatus> status_at(const os::PathAt& where) noexcept override {
    ++calls_;
    did();
    return KernelOs::status_at(where);
  }
  Status unlink(const os::PathAt& where) noexcept override {
    ++calls_;
    did();
    return KernelOs::unlink(where);
  }
  Result<std::size_t> write_at(os::Fd fd, os::Bytes bytes, std::uint64_t at) noexcept override {
    ++calls_;
    did();
    return KernelOs::write_at(fd, bytes, at);
  }
  Status send(os::Fd socket, os::Bytes bytes, std::span<const os::Fd> fds) noexcept override {
    if (const auto message = decode_message(bytes);
        message && message->verb == Verb::reply && message->id == question) {
      worst_ = std::max(worst_, background_ - asked_at_);
      asked_ = false;
    }
    return KernelOs::send(socket, bytes, fds);
  }

 private:
  static constexpr std::uint32_t question = 77777;

  void did() {
    ++background_;
    if (!cleans_up_ || asked_ || background_ % 31 != 0) {
      return;
    }
    if (!link_) {
      os::UniqueFd socket(*this, must(make_socket()));
      static_cast<void>(connect(socket.get(), paths_.socket()));
      link_.emplace(*this, std::move(socket));
    }
    asked_ = true;
    asked_at_ = background_;
    link_->post(encode_message({.verb = Verb::probe, .id = question, .entries = {}}));
  }

  TreePaths paths_;
  std::string report_;
  std::optional<Link> link_;
  std::size_t background_ = 0;
  std::size_t calls_ = 0;
  std::size_t asked_at_ = 0;
  std::size_t worst_ = 0;
  bool asked_ = false;
  bool cleans_up_ = false;
};

struct Effort {
  std::size_t worst = 0;  ///< calls and steps between a question and its answer
  std::size_t calls = 0;
};

class ManyNames : public pretend::TrackerInACopy {
 protected:
  ManyNames()
      : TrackerInACopy(
            [this] { return std::make_unique<AskingOs>(tree_.paths, folder_.path("report")); }) {}

  /// Of the tracker, for this many names of a process that is killed.
  Effort after_the_death_of_a_holder_of(std::size_t names) {
    EXPECT_EQ(announce(), std::errc{});
    const os::Pid holder = pretend::run_in_copy([&] {
      link_.emplace(os_, connect());
      EXPECT_EQ(announce(3), std::errc{});
      Message message{.verb = Verb::register_, .id = 2, .entries = {}};
      for (std::size_t name = 0; name < names; ++name) {
        message.entries.push_back(
            {.resource = {.type = ResourceType::file, .name = "/none/" + std::to_string(name)}});
        if (message.entries.size() == 500 || name + 1 == names) {
          EXPECT_EQ(ask(message), std::errc{});
          message.entries.clear();
        }
      }
      pretend::hang();
      return 0;
    });
    // Killed when all names are counted.
    do {
      EXPECT_EQ(ask({.verb = Verb::counts, .id = 3, .entries = {}}), std::errc{});
    } while (count_told() < names);
    pretend::send_signal(holder, 9);
    do {
      EXPECT_EQ(ask({.verb = Verb::counts, .id = 4, .entries = {}}), std::errc{});
    } while (count_told() > 0);
    let_rounds_pass();
    end();
    Effort effort;
    std::ifstream(folder_.path("report")) >> effort.worst >> effort.calls;
    folder_.remove("report");
    return effort;
  }

 private:
  std::size_t count_told() {
    std::size_t told = link_->received().entries.size();
    while (link_->received().more) {
      const std::uint32_t id = link_->received().id;
      EXPECT_EQ(answer_to(id), std::errc{});
      told += link_->received().entries.size();
    }
    return told;
  }
};

TEST_F(ManyNames, of_one_dead_process_keep_nobody_waiting_longer_than_few_do_T10) {
  const Effort effort = after_the_death_of_a_holder_of(20'000);
  EXPECT_LT(effort.worst, 1000U);
  EXPECT_GT(effort.worst, 0U);
}

TEST_F(ManyNames, cost_as_many_calls_each_as_few_do_T10) {
  constexpr std::size_t names = 2000;
  const Effort effort = after_the_death_of_a_holder_of(names);
  // Recorded, checked, unlinked and erased.
  EXPECT_GE(effort.calls, 4 * names);
  EXPECT_LE(effort.calls, 4 * names + 100);
}

/// Writing to standard error fails while the reported file still exists.
class WatchfulOs final : public os::KernelOs {
 public:
  explicit WatchfulOs(std::string file) : file_(std::move(file)) {}
  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override {
    if (fd == os::Fd::standard_error && std::filesystem::exists(file_)) {
      return failure(std::errc::io_error, "said before the deed", Call::write);
    }
    return KernelOs::write(fd, bytes);
  }

 private:
  std::string file_;
};

class Leavings : public pretend::TrackerInACopy {
 protected:
  Leavings()
      : TrackerInACopy([this] { return std::make_unique<WatchfulOs>(folder_.path("99")); }) {}

  /// The report on this many files that the last process leaves.
  std::string said_of(std::size_t files) {
    EXPECT_EQ(announce(), std::errc{});
    Message message{.verb = Verb::register_, .id = 2, .entries = {}};
    for (std::size_t file = 0; file < files; ++file) {
      const std::string name = std::to_string(file);
      folder_.write(name);
      message.entries.push_back(
          {.resource = {.type = ResourceType::file, .name = folder_.path(name)}});
      if (message.entries.size() == 100) {
        EXPECT_EQ(ask(message), std::errc{});
        message.entries.clear();
      }
    }
    std::string said = end();
    EXPECT_FALSE(folder_.exists("0"));
    EXPECT_FALSE(folder_.exists("99"));
    return said;
  }
};

TEST_F(Leavings, that_fit_are_all_named_when_they_are_gone_E5_T5) {
  const std::string said = said_of(100);
  EXPECT_THAT(said, HasSubstr("removing 100 files: "));
  EXPECT_EQ(said.find(" more"), std::string::npos);
  EXPECT_THAT(said, HasSubstr(folder_.path("99")));
}

TEST_F(Leavings, that_do_not_fit_are_counted_in_a_line_that_a_pipe_takes_at_once_E5) {
  const std::string said = said_of(2000);
  EXPECT_THAT(said, HasSubstr("removing 2000 files: "));
  EXPECT_THAT(said, HasSubstr(" more\n"));
  EXPECT_LE(said.size(), 4096U);
}

/// The name of a file at which there is a folder: its clean-up fails, and is not tried again before
/// the end of the tree.
class SecondLife : public pretend::TrackerInACopy {
 protected:
  SecondLife() {
    folder_.make_folder("name");
    EXPECT_EQ(announce(), std::errc{});
    EXPECT_EQ(ask_for(Verb::register_, 2, name_), std::errc{});
    say({.verb = Verb::release, .entries = {{.resource = name_}}});
    let_rounds_pass();
    folder_.remove("name");
  }
};

TEST_F(SecondLife, that_is_forgotten_is_left_alone_E4_T3) {
  EXPECT_EQ(ask_for(Verb::register_, 3, name_), std::errc{});
  folder_.write("name");
  EXPECT_EQ(ask_for(Verb::forget, 4, name_), std::errc{});
  EXPECT_THAT(end(), HasSubstr("could not clean up"));
  EXPECT_TRUE(folder_.exists("name"));
  folder_.remove("name");
}

TEST_F(SecondLife, of_a_name_that_was_forgotten_in_between_is_nobodys_business_E4_T3) {
  EXPECT_EQ(ask_for(Verb::forget, 3, name_), std::errc{});
  folder_.write("name");
  EXPECT_THAT(end(), HasSubstr("could not clean up"));
  EXPECT_TRUE(folder_.exists("name"));
  folder_.remove("name");
}

TEST_F(SecondLife, that_was_cleaned_up_is_over_E4) {
  EXPECT_EQ(ask_for(Verb::register_, 3, name_), std::errc{});
  folder_.write("name");
  say({.verb = Verb::release, .entries = {{.resource = name_}}});
  let_rounds_pass();
  EXPECT_FALSE(folder_.exists("name"));
  folder_.write("name");
  end();
  EXPECT_TRUE(folder_.exists("name"));
  folder_.remove("name");
}

}  // namespace
}  // namespace lastref::tracker
