// few_descriptors_test: a tracker with few descriptors, and members that cannot continue. Existing
// members are served. A caller that cannot be accepted, or a member that cannot continue, does not
// make others wait.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/tracker_client.hpp>

#include "property_tests/impl/tracker/tracker_in_a_copy.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/shared_file.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref::tracker {
namespace {

using pretend::must;
using pretend::until;
using testing::HasSubstr;

/// The limit of a process with this many more descriptors than it has now.
std::uint64_t descriptors_and(std::uint64_t more) {
  os::KernelOs os;
  const os::UniqueFd next(os, must(os.open("/", {.folder = true})));
  return static_cast<std::uint64_t>(next.get()) + more;
}

/// Has descriptors for the needs of the tracker itself and one member, but not for three.
class FewOs final : public os::KernelOs {
  pretend::FewDescriptors few_{descriptors_and(8)};
};

class FullTracker : public pretend::TrackerInACopy {
 protected:
  FullTracker() : TrackerInACopy(std::make_unique<FewOs>) {
    EXPECT_EQ(announce(), std::errc{});
    // Connects more members of this process, until one is refused.
    std::uint32_t nonce = 2;
    do {
      others_.emplace_back(os_, connect());
      std::swap(*link_, others_.back());
      last_ = announce_or_end(nonce++);
      std::swap(*link_, others_.back());
    } while (last_ == std::errc{} && nonce < 10);
  }

  /// The answer; connection_reset if there is none, as when the tracker closes the connection
  /// before the message is sent.
  std::errc announce_or_end(std::uint32_t nonce) {
    const os::UniqueFd self(os_, must(os_.open_process(os_.process_id())));
    const os::Fd fd = self.get();
    say({.verb = Verb::announce, .id = nonce, .entries = {}}, std::span(&fd, 1));
    Arrival arrival = link_->receive();
    for (; arrival == Arrival::nothing; arrival = link_->receive()) {
      EXPECT_TRUE(pretend::wait_until_readable(os_, link_->fd()));
    }
    return arrival == Arrival::message ? static_cast<std::errc>(link_->received().status)
                                       : std::errc::connection_reset;
  }

  std::vector<Link> others_;
  std::errc last_{};
};

TEST_F(FullTracker, refuses_who_comes_and_serves_who_is_there_E10) {
  EXPECT_TRUE(last_ == std::errc::too_many_files_open || last_ == std::errc::connection_reset);
  EXPECT_EQ(ask_for(Verb::register_, 20, name_), std::errc{});
  folder_.write("name");
  say({.verb = Verb::release, .entries = {{.resource = name_}}});
  let_rounds_pass();
  EXPECT_FALSE(folder_.exists("name"));
  // A caller that comes after others have left is accepted.
  others_.clear();
  std::errc again = std::errc::connection_reset;
  std::optional<Link> other;
  for (std::uint32_t nonce = 30; again != std::errc{}; ++nonce) {
    other.emplace(os_, connect());
    std::swap(*link_, *other);
    again = announce_or_end(nonce);
    std::swap(*link_, *other);
    let_rounds_pass();
  }
  other.reset();
  EXPECT_THAT(end(), HasSubstr("RLIMIT_NOFILE"));
}

TEST_F(FullTracker, tells_a_client_which_limit_it_is_and_where_E10) {
  std::vector<Link> more;
  const auto joined = Client::join(os_, tree_.paths.folder);
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().code, std::errc::too_many_files_open);
  EXPECT_THAT(describe(joined.error()), HasSubstr("the program that leads the tree"));
  others_.clear();
  end();
}

/// Counted by the tracker, and read here.
struct Refused {
  using Count = std::atomic<std::uint64_t>;

  os::KernelOs os;
  pretend::SharedFile shared{os, sizeof(Count)};
  Count& count = *new (shared.memory().data()) Count(0);
};

/// Accepting fails from the second call on.
class LonelyOs final : public os::KernelOs {
 public:
  explicit LonelyOs(Refused::Count& refused) : refused_(refused) {}

  Result<os::Fd> accept(os::Fd socket) noexcept override {
    if (has_accepted_) {
      ++refused_;
      return failure(std::errc::too_many_files_open, "socket", Call::accept);
    }
    has_accepted_ = true;
    // Waits for the first connection, however early accept is called.
    static_cast<void>(pretend::wait_until_readable(*this, socket));
    return KernelOs::accept(socket);
  }

 private:
  Refused::Count& refused_;
  bool has_accepted_ = false;
};

class LonelyTracker : protected Refused, public pretend::TrackerInACopy {
 protected:
  LonelyTracker() : TrackerInACopy([this] { return std::make_unique<LonelyOs>(count); }) {}
};

TEST_F(LonelyTracker, serves_who_is_there_though_it_can_let_nobody_in_E10) {
  // More often than a tracker without members tolerates, which tries two times each time.
  constexpr std::uint64_t many = 30;
  EXPECT_EQ(announce(), std::errc{});
  while (count < many && !HasFailure()) {
    EXPECT_EQ(ask_for(Verb::register_, 3, name_), std::errc{});
    folder_.write("name");
    say({.verb = Verb::release, .entries = {{.resource = name_}}});
    let_rounds_pass();
    EXPECT_FALSE(folder_.exists("name"));
  }
  EXPECT_THAT(end(), HasSubstr("not accepting connections"));
}

using UnequalMembers = pretend::TrackerInACopy;

TEST_F(UnequalMembers, who_speaks_another_version_is_told_so_E10) {
  Packet packet = encode_message({.verb = Verb::announce, .id = 5, .entries = {}});
  packet.front() = std::byte{1};
  EXPECT_TRUE(os_.send(link_->fd(), packet, {}));
  EXPECT_EQ(answer_to(5), std::errc::protocol_not_supported);
  EXPECT_EQ(announce(), std::errc{});
  EXPECT_THAT(end(), HasSubstr("another version of the protocol"));
}

TEST_F(UnequalMembers, who_joins_again_does_not_keep_others_waiting_for_its_first_life_E10) {
  EXPECT_EQ(announce(), std::errc{});
  EXPECT_EQ(ask_for(Verb::register_, 2, name_), std::errc{});
  folder_.write("name");
  Membership second = must(join_lock(os_, tree_.paths));
  Link first(os_, connect());
  std::swap(*link_, first);
  EXPECT_EQ(announce(second.nonce), std::errc{});
  tree_.membership.lock.close_quietly();
  { const Link ended = std::move(first); }
  let_rounds_pass();
  let_rounds_pass();
  EXPECT_FALSE(folder_.exists("name"));
  second.lock.close_quietly();
  end();
}

TEST_F(UnequalMembers, who_gives_up_its_lock_has_left_E10) {
  EXPECT_EQ(announce(), std::errc{});
  const os::Pid other = pretend::run_in_copy([&] {
    Membership own = must(join_lock(os_, tree_.paths));
    link_.emplace(os_, connect());
    EXPECT_EQ(announce(own.nonce), std::errc{});
    EXPECT_EQ(ask_for(Verb::register_, 3, name_), std::errc{});
    link_.reset();
    folder_.write("lost");
    until([&] { return folder_.exists("may_give_up"); });
    own.lock.close_quietly();
    pretend::hang();
    return 0;
  });
  until([&] { return folder_.exists("lost"); });
  EXPECT_EQ(ask({.verb = Verb::probe, .id = 3, .entries = {}}), std::errc{});
  folder_.write("name");
  folder_.write("may_give_up");
  let_rounds_pass();
  let_rounds_pass();
  EXPECT_FALSE(folder_.exists("name"));
  pretend::send_signal(other, 9);
  folder_.remove("lost");
  folder_.remove("may_give_up");
  end();
}

}  // namespace
}  // namespace lastref::tracker
