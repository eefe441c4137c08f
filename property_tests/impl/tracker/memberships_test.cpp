// memberships_test: what a tracker knows of the processes that joined its tree, also of several
// memberships of one process.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/tracker/tracker_in_a_copy.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref::tracker {
namespace {

using pretend::must;
using pretend::until;

/// Cannot see the processes of other memberships, as in a pid namespace below theirs.
class OsBelow final : public os::KernelOs {
 public:
  Result<std::optional<os::LockHolder>> find_lock(os::Fd fd,
                                                  const os::LockRange& range) noexcept override {
    auto holder = KernelOs::find_lock(fd, range);
    if (holder && *holder) {
      (*holder)->pid = 0;
    }
    return holder;
  }
  Result<os::Peer> peer_of(os::Fd socket) noexcept override {
    auto peer = KernelOs::peer_of(socket);
    if (peer) {
      peer->pid = 0;
    }
    return peer;
  }
};

/// A process that has two memberships of the tree when its tracker begins.
class TwoMemberships : public pretend::TrackerInACopy {
 protected:
  explicit TwoMemberships(const MakeOs& make_os = std::make_unique<os::KernelOs>)
      : TrackerInACopy([=, this] {
          until([this] { return folder_.exists("has_joined"); });
          return make_os();
        }) {
    folder_.write("has_joined");
    folder_.write("name");
  }

  /// From now on `link_` is the connection of the other membership.
  void take_turns() { std::swap(*link_, other_); }
  void announce_that_second_holds_it() {
    const os::UniqueFd self(os_, must(os_.open_process(os_.process_id())));
    const os::Fd fd = self.get();
    say({.verb = Verb::announce, .id = second_.nonce, .entries = {{.resource = name_}}},
        std::span(&fd, 1));
  }
  /// Expects that the next message announces that the name is forgotten.
  void expect_forget_next() {
    Arrival arrival = link_->receive();
    for (; arrival == Arrival::nothing; arrival = link_->receive()) {
      EXPECT_TRUE(pretend::wait_until_readable(os_, link_->fd()));
    }
    ASSERT_EQ(arrival, Arrival::message);
    EXPECT_EQ(link_->received().verb, Verb::forget);
  }
  /// Earlier messages have been read, and a missing answer waits for something.
  void nothing_is_answered_yet(std::uint32_t id) {
    EXPECT_EQ(ask({.verb = Verb::probe, .id = id, .entries = {}}), std::errc{});
  }
  /// Counts are not answered yet either.
  void counts_wait(std::uint32_t id) {
    say({.verb = Verb::counts, .id = id, .entries = {}});
    for (const std::uint32_t next : {1U, 2U, 3U, 4U, 5U, 6U}) {
      nothing_is_answered_yet(id + next);
    }
  }
  void release() { say({.verb = Verb::release, .entries = {{.resource = name_}}}); }
  void are_both_waited_for() {
    EXPECT_EQ(announce(), std::errc{});
    EXPECT_EQ(ask_for(Verb::register_, 2, name_), std::errc{});
    release();
    counts_wait(3);
    EXPECT_TRUE(folder_.exists("name"));  // The second membership may hold it.
    take_turns();
    EXPECT_EQ(announce(second_.nonce), std::errc{});
    let_rounds_pass();
    EXPECT_FALSE(folder_.exists("name"));
    end_both();
  }
  std::string end_both() {
    second_.lock.close_quietly();
    { const Link ended = std::move(other_); }
    folder_.remove("has_joined");
    return end();
  }

  Membership second_ = must(join_lock(os_, tree_.paths));
  Link other_{os_, connect()};
};

class UnseenMemberships : public TwoMemberships {
 protected:
  UnseenMemberships() : TwoMemberships(std::make_unique<OsBelow>) {}
};

TEST_F(TwoMemberships, are_both_waited_for_T6) {
  are_both_waited_for();
}

TEST_F(UnseenMemberships, are_waited_for_as_well_T6) {
  are_both_waited_for();
}

TEST_F(UnseenMemberships, that_give_up_their_lock_have_left_T6) {
  EXPECT_EQ(announce(), std::errc{});
  EXPECT_EQ(ask_for(Verb::register_, 2, name_), std::errc{});
  release();
  counts_wait(3);
  second_.lock.close_quietly();
  EXPECT_EQ(answer_to(3), std::errc{});
  let_rounds_pass();
  EXPECT_FALSE(folder_.exists("name"));
  end_both();
}

TEST_F(TwoMemberships, learn_of_a_forget_before_the_name_is_registered_again_T3_T6) {
  EXPECT_EQ(announce(), std::errc{});
  EXPECT_EQ(ask_for(Verb::register_, 2, name_), std::errc{});
  EXPECT_EQ(ask_for(Verb::forget, 3, name_), std::errc{});
  say({.verb = Verb::register_, .id = 4, .entries = {{.resource = name_}}});
  nothing_is_answered_yet(5);
  take_turns();
  announce_that_second_holds_it();
  expect_forget_next();
  EXPECT_EQ(answer_to(second_.nonce), std::errc{});
  take_turns();
  EXPECT_EQ(answer_to(4), std::errc{});
  release();
  let_rounds_pass();
  EXPECT_FALSE(folder_.exists("name"));
  EXPECT_EQ(end_both(), "");
}

TEST_F(TwoMemberships, may_release_what_was_forgotten_before_they_announced_T3_T6) {
  EXPECT_EQ(announce(), std::errc{});
  EXPECT_EQ(ask_for(Verb::register_, 2, name_), std::errc{});
  EXPECT_EQ(ask_for(Verb::forget, 3, name_), std::errc{});
  take_turns();
  announce_that_second_holds_it();
  release();
  expect_forget_next();
  EXPECT_EQ(answer_to(second_.nonce), std::errc{});
  let_rounds_pass();
  EXPECT_EQ(end_both(), "");
  folder_.remove("name");
}

TEST_F(TwoMemberships, may_release_what_was_forgotten_before_they_reconnected_T3_T6) {
  EXPECT_EQ(announce(), std::errc{});
  EXPECT_EQ(ask_for(Verb::register_, 2, name_), std::errc{});
  take_turns();
  announce_that_second_holds_it();
  EXPECT_EQ(answer_to(second_.nonce), std::errc{});
  take_turns();
  EXPECT_EQ(ask_for(Verb::forget, 3, name_), std::errc{});
  take_turns();
  link_.emplace(os_, connect());
  EXPECT_EQ(announce(second_.nonce), std::errc{});
  release();
  let_rounds_pass();
  EXPECT_EQ(end_both(), "");
  folder_.remove("name");
}

/// A register without an identity does not remove the recorded one: the second membership may hold
/// the name.
TEST_F(TwoMemberships, keep_the_identity_of_a_name_until_both_have_announced_E4_T6) {
  EXPECT_EQ(announce(), std::errc{});
  const auto identity = os::identity_of(must(os_.status_at(name_.name)));
  EXPECT_EQ(ask({.verb = Verb::register_,
                 .id = 2,
                 .entries = {{.resource = name_, .identity = identity}}}),
            std::errc{});
  release();
  say({.verb = Verb::register_, .id = 3, .entries = {{.resource = name_}}});
  nothing_is_answered_yet(4);
  take_turns();
  announce_that_second_holds_it();
  EXPECT_EQ(answer_to(second_.nonce), std::errc{});
  take_turns();
  EXPECT_EQ(answer_to(3), std::errc{});
  folder_.remove("name");
  folder_.write("name");
  release();
  take_turns();
  release();
  let_rounds_pass();
  EXPECT_TRUE(folder_.exists("name"));
  EXPECT_THAT(end_both(), testing::HasSubstr("is left alone"));
  folder_.remove("name");
}

TEST(Memberships, that_lie_side_by_side_are_told_apart_T6) {
  const pretend::FreshFolder folder;
  os::KernelOs os;
  OwnTree tree = must(make_tree(os, folder.path("runtime")));
  const os::Pid other = pretend::run_in_copy([&] {
    Membership own = must(join_lock(os, tree.paths));
    const os::LockRange beside = {.kind = os::LockKind::exclusive,
                                  .start = (1ULL << 33U) + (own.nonce & ~nonce_bit) + 1};
    folder.write(os.lock_range(own.lock.get(), beside) ? "locked" : "failed");
    pretend::hang();
    return 0;
  });
  until([&] { return folder.exists("locked"); });
  std::vector<KnownMember> found = must(members_of(os, tree.membership.lock.get()));
  ASSERT_EQ(found.size(), 2U);
  std::ranges::sort(found, {}, &KnownMember::nonce);
  EXPECT_EQ(found[0].nonce + 1, found[1].nonce);
  EXPECT_EQ(found[0].pid, other);
  EXPECT_EQ(found[1].pid, other);
  pretend::send_signal(other, 9);
  folder.remove("locked");
  EXPECT_TRUE(remove_tree(os, tree.paths));
}

}  // namespace
}  // namespace lastref::tracker
