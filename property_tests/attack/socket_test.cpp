// socket_test: a stranger sends messages to the tracker, or listens in its place.
#include <array>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/owners.hpp>
#include <lastref/tracker_client.hpp>

#include "impl/tracker/codec.hpp"
#include "property_tests/attack/fixture.hpp"
#include "property_tests/support/process_group.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref {
namespace {

using pretend::stranger_does;
using testing::ElementsAre;
using tracker::Message;
using tracker::Verb;

/// A tree of ours that holds a file, with a running tracker.
class MessagesOfAnotherUser : public pretend::AttackFixture {
 protected:
  void SetUp() override {
    AttackFixture::SetUp();
    if (IsSkipped() || HasFatalFailure()) {
      return;
    }
    pretend::adopt_orphans();
    testing::internal::CaptureStderr();
    is_captured_ = true;
    client_ = tracker::Client::lead(os);
    const auto tree = client_->tree();
    ASSERT_TRUE(tree) << describe(tree.error());
    socket_ = *tree + "/socket";
    ASSERT_TRUE(pretend::make_file(held_.name, "held"));
    ASSERT_TRUE(client_->register_name(held_));
    guard(held_.name);
    before_ = client_->counts().value();
  }

  void TearDown() override {
    said();
    if (client_) {
      EXPECT_TRUE(client_->probe());
      EXPECT_EQ(client_->counts().value(), before_);
      AttackFixture::TearDown();
      client_.reset();
      pretend::bury_all();
      EXPECT_EQ(pretend::seen_at(held_.name), held_.name + ": nothing\n");
    }
  }

  /// What our processes have written to standard error by now.
  std::string said() {
    return std::exchange(is_captured_, false) ? testing::internal::GetCapturedStderr() : "";
  }

  /// As a user would do it to give another user access.
  void let_other_users_in() {
    const std::string tree = socket_.substr(0, socket_.rfind('/'));
    ASSERT_TRUE(pretend::change_mode(tree.substr(0, tree.rfind('/')), 0755));
    ASSERT_TRUE(pretend::change_mode(tree, 0755));
    ASSERT_TRUE(pretend::change_mode(socket_, 0777));
  }

  /// Called by a stranger: sends the packets and waits for the end of the connection. Whether
  /// nothing was received before it.
  bool is_refused(const std::vector<std::vector<std::byte>>& packets) const {
    os::KernelOs own;
    const auto socket = own.make_socket();
    if (!socket || !own.connect(*socket, socket_)) {
      return false;
    }
    const auto self = own.open_process(own.process_id());
    for (const auto& packet : packets) {
      // The connection may have been closed meanwhile.
      static_cast<void>(own.send(*socket, packet, std::span(&*self, 1)));
    }
    static_cast<void>(pretend::wait_until_readable(own, *socket));
    std::array<std::byte, 64> answer{};
    const auto received = own.receive(*socket, answer);
    return received ? received->size == 0 : received.error().code == std::errc::connection_reset;
  }

  const Resource held_{.type = ResourceType::file, .name = "/dev/shm/held"};
  std::string socket_;
  std::unique_ptr<tracker::Client> client_;
  std::vector<tracker::Count> before_;

 private:
  bool is_captured_ = false;
};

std::vector<std::byte> packet(Verb verb, const std::vector<Resource>& resources = {}) {
  Message message{.verb = verb, .id = 7, .entries = {}};
  for (const Resource& resource : resources) {
    message.entries.push_back({.resource = resource});
  }
  return tracker::encode_message(message);
}

TEST_F(MessagesOfAnotherUser, do_not_reach_the_socket_T2_R13) {
  EXPECT_TRUE(stranger_does([this] {
    os::KernelOs own;
    const auto socket = own.make_socket();
    const Status connected = own.connect(*socket, socket_);
    return !connected && connected.error().code == std::errc::permission_denied;
  }));
}

TEST_F(MessagesOfAnotherUser, that_are_well_formed_are_not_obeyed_T2_R13) {
  let_other_users_in();
  const Resource letter{.type = ResourceType::file, .name = precious_file};
  const Resource folder{.type = ResourceType::folder, .name = precious};
  EXPECT_TRUE(stranger_does([&] {
    return is_refused({packet(Verb::announce),
                       packet(Verb::register_, {letter, folder}),
                       packet(Verb::release, {letter, folder}),
                       packet(Verb::forget, {held_})});
  }));
  EXPECT_TRUE(stranger_does([&] {
    // Claims to have held it all along.
    return is_refused({packet(Verb::announce, {held_, letter, folder}), packet(Verb::leave)});
  }));
  EXPECT_TRUE(stranger_does([&] { return is_refused({packet(Verb::counts)}); }));
  EXPECT_TRUE(stranger_does([&] { return is_refused({packet(Verb::probe)}); }));
}

TEST_F(MessagesOfAnotherUser, that_are_malformed_end_nothing_but_themselves_T4_R13) {
  let_other_users_in();
  std::vector<std::byte> cut = packet(Verb::register_, {held_});
  cut.pop_back();
  std::vector<std::byte> unknown = packet(Verb::probe);
  unknown[1] = std::byte{0xff};
  const std::vector<std::byte> huge(60'000, std::byte{0xff});
  EXPECT_TRUE(stranger_does([&] {
    return is_refused({cut, unknown, huge, std::vector(1, std::byte{0})});
  }));
  EXPECT_TRUE(stranger_does([&] { return is_refused({}); }));
}

TEST_F(MessagesOfAnotherUser, of_hundreds_leave_the_tracker_to_us_T2_R13) {
  let_other_users_in();
  EXPECT_TRUE(stranger_does([&] {
    for (int i = 0; i < 300; ++i) {
      if (!is_refused({packet(Verb::announce)})) {
        return false;
      }
    }
    return true;
  }));
  EXPECT_TRUE(client_->probe());
  // They must not fill our log either.
  EXPECT_THAT(said(), testing::SizeIs(testing::Lt(2000U)));
}

/// The first byte; none at the end.
std::string first_byte(os::Os& os, os::Fd fd) {
  static_cast<void>(pretend::wait_until_readable(os, fd));
  std::string byte(1, '\0');
  byte.resize(os.read(fd, std::as_writable_bytes(std::span(byte))).value_or(0));
  return byte;
}

TEST_F(MessagesOfAnotherUser, in_place_of_the_trackers_are_not_heard_and_told_nothing_T2_R13) {
  ASSERT_TRUE(pretend::move(socket_, "/dev/shm/away"));
  ASSERT_TRUE(pretend::make_folder("/dev/shm/his", 0777));
  const auto ends = os.make_pipe().value();
  const os::UniqueFd heard(os, ends.read);
  os::UniqueFd tells(os, ends.write);
  const auto forger = os.spawn({.entry = "forger",
                                .arguments = {"/dev/shm/his/socket"},
                                .fds = {{.here = tells.get(), .number_there = 3}},
                                .blocked = {}});
  ASSERT_TRUE(forger);
  const os::UniqueFd process(os, forger->process);
  tells.close_quietly();
  ASSERT_EQ(first_byte(os, heard.get()), "+");
  ASSERT_TRUE(pretend::move("/dev/shm/his/socket", socket_));

  const auto joiner = os.spawn({.entry = "joiner",
                                .arguments = {socket_.substr(0, socket_.rfind('/'))},
                                .fds = {},
                                .blocked = {}});
  ASSERT_TRUE(joiner);
  const os::UniqueFd joined(os, joiner->process);
  EXPECT_EQ(pretend::wait_for(os, joined.get()).value(),
            (os::ChildExit{.code = static_cast<int>(std::errc::permission_denied)}));
  ASSERT_TRUE(os.signal_process(process.get(), os::Signal::kill));
  EXPECT_EQ(first_byte(os, heard.get()), "");
}

}  // namespace
}  // namespace lastref
