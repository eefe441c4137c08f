// rude_caller_test: a tracker with a caller, a process of the same user, that sends invalid
// messages. Each of them is answered or reported, and harms no other member. The number of reports
// is limited.
#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>
#include <lastref/process_objects.hpp>
#include <lastref/tracker_client.hpp>

#include "impl/tracker/daemon.hpp"
#include "impl/tracker/link.hpp"
#include "impl/tracker/tree.hpp"
#include "property_tests/impl/tracker/tracker_in_a_copy.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref::tracker {
namespace {

using pretend::must;
using testing::ElementsAre;
using testing::HasSubstr;

using RudeCaller = pretend::TrackerInACopy;

TEST_F(RudeCaller, who_is_no_member_is_told_so_and_counts_for_nothing_T2) {
  for (const Verb verb : {Verb::register_, Verb::forget}) {
    EXPECT_EQ(ask({.verb = verb, .id = 5, .entries = {{.resource = name_}}}),
              std::errc::operation_not_permitted);
  }
  for (const Verb verb : {Verb::hold, Verb::release}) {
    say({.verb = verb, .entries = {{.resource = name_}}});
  }
  say({.verb = Verb::leave, .entries = {}});
  say({.verb = Verb::reply, .id = 6, .entries = {}});
  EXPECT_EQ(ask({.verb = Verb::probe, .id = 7, .entries = {}}), std::errc{});
  EXPECT_EQ(announce(), std::errc{});
  EXPECT_EQ(ask({.verb = Verb::counts, .id = 9, .entries = {}}), std::errc{});
  EXPECT_TRUE(link_->received().entries.empty());
  const std::string said = end();
  EXPECT_THAT(said, HasSubstr("speaks before it has announced itself"));
  EXPECT_THAT(said, HasSubstr("replies without a request"));
}

TEST_F(RudeCaller, who_announces_no_process_or_two_times_is_refused_T2) {
  EXPECT_EQ(ask({.verb = Verb::announce, .id = 1, .entries = {}}), std::errc::invalid_argument);
  EXPECT_EQ(announce(), std::errc{});
  EXPECT_EQ(announce(3), std::errc::invalid_argument);
  EXPECT_EQ(ask({.verb = Verb::register_, .id = 4, .entries = {{.resource = name_}}}), std::errc{});
  say({.verb = Verb::leave, .entries = {}});
  EXPECT_THAT(end(), HasSubstr("announces itself twice, or without its process"));
}

TEST_F(RudeCaller, who_leaves_before_it_gives_up_its_lock_does_not_keep_the_tracker_T1) {
  EXPECT_EQ(announce(), std::errc{});
  say({.verb = Verb::leave, .entries = {}});
  // Two rounds: before the answer of the second the tracker has checked which other members exist.
  for (const std::uint32_t id : {2U, 3U}) {
    EXPECT_EQ(ask({.verb = Verb::probe, .id = id, .entries = {}}), std::errc{});
  }
  EXPECT_EQ(end(), "");
}

TEST_F(RudeCaller, that_leaves_before_it_is_answered_is_heard_T2) {
  EXPECT_EQ(announce(), std::errc{});
  ASSERT_TRUE(os_.signal_process(tracker_.get(), os::Signal::stop));
  pretend::wait_until_stopped(pid_);
  say({.verb = Verb::probe, .id = 5, .entries = {}});
  say({.verb = Verb::reply, .entries = {}});
  link_.reset();
  ASSERT_TRUE(os_.signal_process(tracker_.get(), os::Signal::resume));
  EXPECT_THAT(end(), HasSubstr("replies without a request"));
}

/// Cannot start threads, and records in which order it closes its lock and its connection.
class ThreadlessOs final : public os::KernelOs {
 public:
  Result<std::unique_ptr<os::Thread>> start_thread(std::function<void()> /*body*/,
                                                   os::ThreadKind /*kind*/) noexcept override {
    return failure(std::errc::resource_unavailable_try_again, "a thread", Call::start_thread);
  }
  Status lock_range(os::Fd fd, const os::LockRange& range) noexcept override {
    lock = fd;
    return KernelOs::lock_range(fd, range);
  }
  Result<os::Fd> make_socket() noexcept override {
    auto made = KernelOs::make_socket();
    socket = made.value_or(os::Fd::none);
    return made;
  }
  Status close(os::Fd fd) noexcept override {
    if (fd == lock || fd == socket) {
      closed.push_back(fd);
    }
    return KernelOs::close(fd);
  }
  /// Knows nothing of the process that made the tree, as in a process of its own.
  os::ProcessObjects& objects() noexcept override { return objects_.of(*this, process_token()); }

  os::Fd lock = os::Fd::none;
  os::Fd socket = os::Fd::none;
  std::vector<os::Fd> closed;

 private:
  os::GenerationsOfObjects objects_;
};

TEST_F(RudeCaller, who_cannot_join_after_all_gives_up_its_lock_first_T1) {
  ThreadlessOs os;
  const auto joined = Client::join(os, tree_.paths.folder);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, std::errc::resource_unavailable_try_again);
  EXPECT_THAT(os.closed, ElementsAre(os.lock, os.socket));
  EXPECT_EQ(end(), "");
}

TEST_F(RudeCaller, who_sends_what_is_no_message_is_told_of_T2) {
  EXPECT_EQ(announce(), std::errc{});
  for (const std::size_t size : {header_size - 1, receive_size + 100}) {
    EXPECT_TRUE(os_.send(link_->fd(), std::vector<std::byte>(size), {}));
  }
  EXPECT_EQ(ask({.verb = Verb::probe, .id = 7, .entries = {}}), std::errc{});
  const std::string said = end();
  EXPECT_EQ(std::ranges::count(said, '\n'), 2);
  EXPECT_THAT(said, HasSubstr("malformed message: too long"));
}

TEST_F(RudeCaller, who_announces_in_pieces_is_answered_once_T2) {
  const os::UniqueFd self(os_, must(os_.open_process(os_.process_id())));
  const os::Fd fd = self.get();
  const std::uint32_t nonce = tree_.membership.nonce;
  say({.verb = Verb::announce, .more = true, .id = nonce, .entries = {}}, std::span(&fd, 1));
  EXPECT_EQ(ask({.verb = Verb::announce, .id = nonce, .entries = {}}), std::errc{});
  EXPECT_EQ(ask({.verb = Verb::probe, .id = 3, .entries = {}}), std::errc{});
  EXPECT_EQ(end(), "");
}

TEST(DeafTracker, that_cannot_listen_gives_up_T1) {
  const pretend::FreshFolder folder;
  os::KernelOs os;
  const OwnTree tree = must(make_tree(os, folder.path("runtime")));
  const os::Pid pid = pretend::run_in_copy([&] {
    os::UniqueFd socket(os, must(os.make_socket()));  // It is not bound.
    auto daemon = must(Daemon::start(os, tree.paths, std::move(socket)));
    const Status served = daemon->serve();
    return !served && served.error().call == Call::accept ? 0 : 1;
  });
  const os::UniqueFd process(os, must(os.open_process(pid)));
  EXPECT_EQ(must(pretend::wait_for(os, process.get())), os::ChildExit{});
  EXPECT_TRUE(remove_tree(os, tree.paths));
  folder.remove("runtime");
}

class Connected : public testing::Test {
 protected:
  void SetUp() override {
    const std::string path = folder_.path("socket");
    const os::UniqueFd listener(os_, must(os_.make_socket()));
    ASSERT_TRUE(os_.bind(listener.get(), path));
    ASSERT_TRUE(os_.listen(listener.get()));
    member_.emplace(os_, os::UniqueFd(os_, must(os_.make_socket())));
    ASSERT_TRUE(os_.connect(member_->fd(), path));
    tracker_.emplace(os_, os::UniqueFd(os_, must(os_.accept(listener.get()))));
    folder_.remove("socket");
  }

  pretend::FreshFolder folder_;
  os::KernelOs os_;
  std::optional<Link> tracker_;
  std::optional<Link> member_;
};

TEST_F(Connected, tracker_hears_what_a_member_said_that_waits_for_no_answer_T2) {
  tracker_->read_to_the_end();
  member_->post(Message{.verb = Verb::probe, .id = 1, .entries = {}});
  member_->post(Message{.verb = Verb::leave, .entries = {}});
  member_.reset();
  ASSERT_EQ(tracker_->receive(), Arrival::message);
  tracker_->reply(1, {});
  tracker_->post(Message{.verb = Verb::reply, .id = 2, .entries = {}});
  ASSERT_EQ(tracker_->receive(), Arrival::message);
  EXPECT_EQ(tracker_->received().verb, Verb::leave);
  EXPECT_EQ(tracker_->receive(), Arrival::end);
}

TEST_F(Connected, member_notices_at_its_next_message_that_the_tracker_has_left_T6) {
  tracker_.reset();
  member_->post(Message{.verb = Verb::probe, .id = 1, .entries = {}});
  EXPECT_TRUE(member_->broken());
}

TEST_F(RudeCaller, who_goes_on_is_not_told_of_for_ever_T2) {
  EXPECT_EQ(announce(), std::errc{});
  for (int i = 0; i < 200; ++i) {
    say({.verb = Verb::reply, .entries = {}});
  }
  EXPECT_EQ(ask({.verb = Verb::probe, .id = 7, .entries = {}}), std::errc{});
  const std::string said = end();
  EXPECT_EQ(std::ranges::count(said, '\n'), 10);
  EXPECT_THAT(said, HasSubstr("no more is reported of this connection"));
}

}  // namespace
}  // namespace lastref::tracker
