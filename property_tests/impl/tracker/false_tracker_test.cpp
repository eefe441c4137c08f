// false_tracker_test: a client with a tracker that refuses it, sends nonsense, or disconnects again
// and again. It gives up with a reason, or sends its requests to the next tracker; it never waits
// indefinitely.
#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>
#include <lastref/tracker_client.hpp>

#include "impl/tracker/link.hpp"
#include "impl/tracker/tree.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/printing.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref::tracker {
namespace {

using pretend::must;
using testing::ElementsAre;
using testing::HasSubstr;

/// One connection, seen from the tracker.
class Caller {
 public:
  Caller(os::Os& os, os::UniqueFd socket, int number)
      : os_(os), link_(os, std::move(socket)), number_(number) {}

  int number() const noexcept { return number_; }
  /// The next message; none at the end.
  std::optional<Message> next() {
    for (;;) {
      switch (link_.receive()) {
        case Arrival::message:
          return link_.received();
        case Arrival::malformed:
        case Arrival::end:
          return std::nullopt;
        case Arrival::nothing:
          static_cast<void>(pretend::wait_until_readable(os_, link_.fd()));
      }
    }
  }
  void say(const Message& message) { link_.post(encode_message(message)); }
  void say_bytes(std::string_view text) {
    const os::Bytes bytes = os::bytes_of(text);
    link_.post({bytes.begin(), bytes.end()});
  }
  void answer(const Message& message, std::errc status = std::errc{}) {
    say({.verb = Verb::reply,
         .id = message.id,
         .status = static_cast<std::uint32_t>(status),
         .entries = {}});
  }
  /// Until the caller disconnects.
  void answer_all() {
    for (auto message = next(); message; message = next()) {
      answer(*message);
    }
  }

 private:
  os::Os& os_;
  Link link_;
  int number_;
};

/// The root of a tree, a copy of this process. It has no tracker, but treats each caller as the
/// test demands.
class FalseTracker {
 public:
  using Treatment = std::function<void(Caller&)>;

  explicit FalseTracker(const Treatment& treat) {
    const os::PipeEnds ends = must(os_.make_pipe());
    const os::UniqueFd read(os_, ends.read);
    const os::UniqueFd write(os_, ends.write);
    const os::Pid pid = pretend::run_in_copy([&]() -> int { serve(write.get(), treat); });
    process_ = os::UniqueFd(os_, must(os_.open_process(pid)));
    EXPECT_TRUE(pretend::wait_until_readable(os_, read.get()));
    tree_.resize(4096);
    tree_.resize(must(os_.read(read.get(), std::as_writable_bytes(std::span(tree_)))));
  }
  FalseTracker(const FalseTracker&) = delete;
  FalseTracker& operator=(const FalseTracker&) = delete;
  ~FalseTracker() {
    EXPECT_TRUE(os_.signal_process(process_.get(), os::Signal::kill));
    EXPECT_TRUE(pretend::wait_for(os_, process_.get()));
    std::filesystem::remove_all(folder_.path("runtime"));
  }

  Result<std::unique_ptr<Client>> join() { return join(os_); }
  Result<std::unique_ptr<Client>> join(os::Os& os) { return Client::join(os, tree_); }

 private:
  [[noreturn]] void serve(os::Fd write, const Treatment& treat) {
    os::KernelOs os;
    const OwnTree tree = must(make_tree(os, folder_.path("runtime")));
    static_cast<void>(os::write_all(os, write, os::bytes_of(tree.paths.folder)));
    for (int number = 1;; ++number) {
      static_cast<void>(pretend::wait_until_readable(os, tree.parts.listener.get()));
      if (const auto socket = os.accept(tree.parts.listener.get())) {
        Caller caller(os, os::UniqueFd(os, *socket), number);
        treat(caller);
      }
    }
  }

  pretend::FreshFolder folder_;
  os::KernelOs os_;
  os::UniqueFd process_;
  std::string tree_;
};

const Resource one = {.type = ResourceType::file, .name = "/tmp/one"};
const Resource two = {.type = ResourceType::file, .name = "/tmp/two"};

TEST(FalseTrackers, that_refuse_who_joins_are_believed_T2) {
  FalseTracker tracker([](Caller& caller) {
    if (const auto announcement = caller.next()) {
      caller.answer(*announcement, std::errc::operation_not_permitted);
    }
    static_cast<void>(caller.next());
  });
  const auto client = tracker.join();
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, std::errc::operation_not_permitted);
  EXPECT_THAT(client.error().subject, HasSubstr("refused"));
}

TEST(FalseTrackers, that_talk_nonsense_are_left_with_a_reason_T2) {
  FalseTracker tracker([](Caller& caller) {
    if (const auto announcement = caller.next()) {
      caller.answer(*announcement);
    }
    static_cast<void>(caller.next());
    caller.say_bytes("nonsense");
    static_cast<void>(caller.next());
  });
  const auto client = must(tracker.join());
  const Status probed = client->probe();
  ASSERT_FALSE(probed);
  EXPECT_EQ(probed.error().code, std::errc::bad_message);
  EXPECT_THAT(probed.error().subject, HasSubstr("from the tracker"));
  EXPECT_EQ(client->hold(one).error().code, std::errc::bad_message) << "and so is all that follows";
}

TEST(FalseTrackers, that_hang_up_again_and_again_are_not_called_for_ever_T2) {
  FalseTracker tracker([](Caller& caller) { static_cast<void>(caller.next()); });
  const auto client = tracker.join();
  ASSERT_FALSE(client);
  EXPECT_EQ(client.error().code, std::errc::connection_aborted);
}

TEST(FalseTrackers, that_die_at_once_are_not_started_for_ever_T6) {
  const pretend::FreshFolder folder;
  os::KernelOs os({.program = "/bin/ls"});  // Exits with 2 for missing files, as a tracker may.
  testing::internal::CaptureStderr();
  {
    const auto client = Client::lead(os, {.runtime_folder = folder.path("runtime")});
    const Status held = client->register_name(one);
    ASSERT_FALSE(held);
    EXPECT_EQ(held.error().code, std::errc::connection_aborted);
    EXPECT_THAT(held.error().subject, HasSubstr("the tracker exited with code 2, again and again"));
    EXPECT_THAT(held.error().subject, HasSubstr("run_if_spawned"));
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("the tracker exited with code 2; starting another"));
  std::filesystem::remove_all(folder.path("runtime"));
}

TEST(FalseTrackers, that_are_other_programs_are_started_once_B5) {
  for (const char* program : {"/bin/true", "/bin/false"}) {
    const pretend::FreshFolder folder;
    os::KernelOs os({.program = program});
    testing::internal::CaptureStderr();
    {
      const auto client = Client::lead(os, {.runtime_folder = folder.path("runtime")});
      const Status held = client->register_name(one);
      ASSERT_FALSE(held);
      EXPECT_EQ(held.error().code, std::errc::operation_not_permitted);
      EXPECT_THAT(held.error().subject, HasSubstr("run_if_spawned"));
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    std::filesystem::remove_all(folder.path("runtime"));
  }
}

TEST(FalseTrackers, may_answer_in_pieces_and_answer_what_nobody_asked_T2) {
  FalseTracker tracker([](Caller& caller) {
    caller.answer(caller.next().value());
    const Message question = caller.next().value();
    caller.say({.verb = Verb::reply, .id = question.id + 1, .entries = {{.resource = two}}});
    caller.say({.verb = Verb::reply,
                .more = true,
                .id = question.id,
                .entries = {{.resource = one, .holder = 1, .count = 3}}});
    caller.say({.verb = Verb::reply,
                .id = question.id,
                .entries = {{.resource = two, .holder = 2, .count = 4}}});
    caller.answer_all();
  });
  const auto client = must(tracker.join());
  EXPECT_THAT(must(client->counts()),
              ElementsAre(Count{.resource = one, .holder = 1, .count = 3},
                          Count{.resource = two, .holder = 2, .count = 4}));
}

TEST(FalseTrackers, that_cannot_do_what_they_are_asked_are_believed_and_asked_on_T2) {
  FalseTracker tracker([](Caller& caller) {
    caller.answer(caller.next().value());
    caller.answer(caller.next().value(), std::errc::no_space_on_device);
    caller.answer(caller.next().value(), std::errc::io_error);
    caller.answer_all();
  });
  const auto client = must(tracker.join());
  const Status registered = client->register_name(one);
  EXPECT_EQ(registered.error().code, std::errc::no_space_on_device);
  // The file system of the ledger is full, and not that of the name.
  EXPECT_THAT(registered.error().subject, testing::EndsWith("/ledger"));
  const Status probed = client->probe();
  EXPECT_EQ(probed.error().code, std::errc::io_error);
  EXPECT_EQ(probed.error().subject, "the tracker");
  EXPECT_TRUE(client->probe());
}

TEST(FalseTrackers, that_say_what_was_forgotten_have_a_successor_who_does_not_hear_of_it_T2_T6) {
  FalseTracker tracker([](Caller& caller) {
    const Message announcement = caller.next().value();
    if (caller.number() == 1) {
      caller.answer(announcement);
      caller.answer(caller.next().value());
      caller.answer(caller.next().value());
      caller.say({.verb = Verb::forget, .entries = {{.resource = one}}});
      return;  // Disconnects.
    }
    const bool is_right = announcement.entries == std::vector<MessageEntry>{{.resource = two}};
    caller.answer(announcement, is_right ? std::errc{} : std::errc::state_not_recoverable);
    caller.answer_all();
  });
  const auto client = must(tracker.join());
  EXPECT_TRUE(client->register_name(one));
  EXPECT_TRUE(client->register_name(two));
  const Status probed = client->probe();
  EXPECT_TRUE(probed) << describe(probed.error());
}

/// As if many processes were connecting at once: refuses that many connections for the moment.
class BusyOs final : public os::KernelOs {
 public:
  Status connect(os::Fd fd, const std::string& path) noexcept override {
    return refused++ < refusals
               ? failure(std::errc::resource_unavailable_try_again, {}, Call::connect)
               : KernelOs::connect(fd, path);
  }

  std::atomic<int> refusals = 0;
  std::atomic<int> refused = 0;
};

TEST(FalseTrackers, may_accept_others_before_a_member_that_connects_again_T6_T10) {
  FalseTracker tracker([](Caller& caller) {
    caller.answer(caller.next().value());
    if (caller.number() == 1) {
      caller.answer(caller.next().value());
      return;  // Disconnects.
    }
    caller.answer_all();
  });
  BusyOs os;
  const auto client = must(tracker.join(os));
  os.refused = 0;
  os.refusals = 20;
  EXPECT_TRUE(client->register_name(one));
  const Status probed = client->probe();
  EXPECT_TRUE(probed) << describe(probed.error());
  EXPECT_EQ(os.refused, os.refusals + 1);
}

/// Starts no tracker. From a moment on, no message is sent and no thread can be woken. The thread
/// of its client does not look at its pipe before it is allowed to.
class DeafOs final : public os::KernelOs {
 public:
  Result<os::Child> spawn(const os::SpawnOptions& /*options*/) noexcept override {
    LASTREF_TRY(self, open_process(process_id()));
    return os::Child{.pid = process_id(), .process = self};
  }
  Result<std::unique_ptr<os::Thread>> start_thread(std::function<void()> body,
                                                   os::ThreadKind kind) noexcept override {
    return KernelOs::start_thread(
        [this, body = std::move(body)] {
          body();
          thread_has_ended = true;
          thread_has_ended.notify_all();
        },
        kind);
  }
  Status bind(os::Fd fd, const std::string& path) noexcept override {
    listens_at = path;
    return KernelOs::bind(fd, path);
  }
  Status send(os::Fd fd, os::Bytes message, std::span<const os::Fd> fds) noexcept override {
    return is_cut_off ? failure(std::errc::broken_pipe, {}, Call::send)
                      : KernelOs::send(fd, message, fds);
  }
  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override {
    if (is_cut_off) {
      return failure(std::errc::io_error, {}, Call::write);
    }
    return KernelOs::write(fd, bytes);
  }
  Result<std::size_t> poll(std::span<os::PollItem> items,
                           std::optional<std::chrono::nanoseconds> timeout) noexcept override {
    if (items.size() < 2) {
      return KernelOs::poll(items, timeout);
    }
    thread_may_continue.wait(false);
    return failure(std::errc::interrupted, {}, Call::poll);
  }

  std::string listens_at;
  std::atomic<bool> is_cut_off = false;
  std::atomic<bool> thread_may_continue = false;
  std::atomic<bool> thread_has_ended = false;
};

TEST(DeafRoots, keep_no_member_in_their_backlog_T6) {
  const pretend::FreshFolder folder;
  DeafOs os;
  auto client = Client::lead(os, {.runtime_folder = folder.path("runtime")});
  ASSERT_TRUE(client->release(one)) << "it waits in the backlog";
  os.is_cut_off = true;
  EXPECT_EQ(client->release(one).error().code, std::errc::io_error);
  os.thread_may_continue = true;
  os.thread_may_continue.notify_all();
  os.thread_has_ended.wait(false);
  const os::UniqueFd member(os, must(os.make_socket()));
  EXPECT_EQ(os.connect(member.get(), os.listens_at).error().code, std::errc::connection_refused);
  client.reset();
  std::filesystem::remove_all(folder.path("runtime"));
}

}  // namespace
}  // namespace lastref::tracker
