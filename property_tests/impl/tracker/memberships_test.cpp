// memberships_test: what a tracker knows of who joined its tree, and of several of one process.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/tracker/tracker_in_a_copy.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/process_actions.hpp"

namespace lastref::tracker {
namespace {

using pretend::must;
using pretend::until;

/// A process that has two memberships of the tree when its tracker begins.
class TwoMemberships : public pretend::TrackerInACopy {
 protected:
  TwoMemberships()
      : TrackerInACopy([this] {
          until([this] { return folder_.exists("has_joined"); });
          return std::make_unique<os::KernelOs>();
        }) {
    folder_.write("has_joined");
    folder_.write("name");
  }

  Membership second_ = must(join_lock(os_, tree_.paths));
};

TEST_F(TwoMemberships, are_both_waited_for_T6) {
  EXPECT_EQ(announce(), std::errc{});
  EXPECT_EQ(ask_for(Verb::register_, 2, name_), std::errc{});
  say({.verb = Verb::release, .entries = {{.resource = name_}}});
  for (const std::uint32_t id : {3U, 4U}) {
    EXPECT_EQ(ask({.verb = Verb::probe, .id = id, .entries = {}}), std::errc{});
  }
  EXPECT_TRUE(folder_.exists("name"));  // The second may hold it.
  Link first(os_, connect());
  std::swap(*link_, first);
  EXPECT_EQ(announce(second_.nonce), std::errc{});
  let_rounds_pass();
  EXPECT_FALSE(folder_.exists("name"));
  second_.lock.close_quietly();
  { const Link ended = std::move(first); }
  folder_.remove("has_joined");
  end();
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
  std::vector<Known> found = must(members_of(os, tree.membership.lock.get()));
  ASSERT_EQ(found.size(), 2U);
  std::ranges::sort(found, {}, &Known::nonce);
  EXPECT_EQ(found[0].nonce + 1, found[1].nonce);
  EXPECT_EQ(found[0].pid, other);
  EXPECT_EQ(found[1].pid, other);
  pretend::send_signal(other, 9);
  folder.remove("locked");
  EXPECT_TRUE(remove_tree(os, tree.paths));
}

}  // namespace
}  // namespace lastref::tracker
