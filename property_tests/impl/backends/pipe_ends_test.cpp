// pipe_ends_test: messages arrive complete and in order, however a pipe splits them.
#include "impl/backends/pipe_ends.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/kernel_os.hpp>

#include "property_tests/support/array_model.hpp"

namespace lastref {
namespace {

using backends::Inbox;
using backends::MessageKind;
using backends::Outbox;
using os::Packed;
using pretend::must;

/// A message as it was received.
struct Taken {
  MessageKind kind = MessageKind::job;
  Packed body;

  bool operator==(const Taken&) const = default;
};

/// The kernel, but it reads and writes no more bytes at a time than the test permits.
class NarrowOs final : public os::KernelOs {
 public:
  Result<std::size_t> read(os::Fd fd, os::Buffer into) noexcept override {
    return KernelOs::read(fd, into.first(std::min(into.size(), width)));
  }
  Result<std::size_t> write(os::Fd fd, os::Bytes bytes) noexcept override {
    ++writes;
    return KernelOs::write(fd, bytes.first(std::min(bytes.size(), width)));
  }

  std::size_t width = SIZE_MAX;
  int writes = 0;
};

struct Ends {
  explicit Ends(os::Os& os) : Ends(os, must(os.make_pipe())) {}
  Ends(os::Os& os, const os::PipeEnds& ends)
      : inbox(os, os::UniqueFd(os, ends.read)), outbox(os, os::UniqueFd(os, ends.write)) {}

  /// The messages that have arrived completely.
  std::vector<Taken> take() {
    std::vector<Taken> all;
    EXPECT_TRUE(inbox.fill().has_value());
    while (const auto message = must(inbox.next())) {
      all.push_back({message->kind, {message->body.begin(), message->body.end()}});
    }
    return all;
  }

  Inbox inbox;
  Outbox outbox;
};

Packed body_of(std::size_t size, int value = 1) {
  return Packed(size, static_cast<std::byte>(value));
}

/// Posts the first `numbers` bytes as the front of the message.
void post(Outbox& outbox, const Taken& message, std::size_t numbers) {
  const auto middle = message.body.begin() + static_cast<std::ptrdiff_t>(numbers);
  outbox.post(
      message.kind, Packed(message.body.begin(), middle), Packed(middle, message.body.end()));
}

RC_GTEST_PROP(PipeEndsProperties, messages_of_any_size_arrive_whole_and_in_order_B5, ()) {
  NarrowOs os;
  Ends ends(os);
  std::vector<Taken> sent;
  std::vector<Taken> taken;
  const int count = *rc::gen::inRange(0, 12);
  for (int number = 0; number < count; ++number) {
    const std::size_t size = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(0, 40),
                                             rc::gen::inRange<std::size_t>(0, 200'000));
    const Taken message = {.kind = static_cast<MessageKind>(*rc::gen::inRange(0, 3)),
                           .body = body_of(size, number)};
    post(ends.outbox, message, std::min<std::size_t>(size, 8));
    sent.push_back(message);
    os.width = *rc::gen::oneOf(rc::gen::inRange<std::size_t>(1, 70'000), rc::gen::just(SIZE_MAX));
    if (*rc::gen::arbitrary<bool>()) {
      RC_ASSERT(ends.outbox.flush().has_value());
    }
    if (*rc::gen::arbitrary<bool>()) {
      std::ranges::move(ends.take(), std::back_inserter(taken));
    }
  }
  os.width = SIZE_MAX;
  while (!ends.outbox.is_empty()) {
    RC_ASSERT(ends.outbox.flush().has_value());
    std::ranges::move(ends.take(), std::back_inserter(taken));
  }
  std::ranges::move(ends.take(), std::back_inserter(taken));
  RC_ASSERT(taken == sent);
  RC_ASSERT(!ends.inbox.at_end());
}

RC_GTEST_PROP(PipeEndsProperties, what_a_dying_peer_could_not_finish_is_no_message_B5_B9, ()) {
  NarrowOs os;
  Ends ends(os);
  Packed bytes;
  const auto sizes = *rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange(0, 300));
  std::size_t cut = 0;
  for (const std::size_t size : sizes) {
    os::put(bytes, std::uint64_t{size + 1});
    os::put(bytes, static_cast<std::uint8_t>(MessageKind::results));
    bytes.resize(bytes.size() + size);
  }
  cut = *rc::gen::inRange<std::size_t>(0, bytes.size() + 1);
  RC_ASSERT(os::write_all(os, ends.outbox.fd(), os::Bytes(bytes).first(cut)).has_value());
  ends.outbox.close();
  std::size_t whole = 0;
  for (std::size_t end = 0; whole < sizes.size() && end + 9 + sizes[whole] <= cut; ++whole) {
    end += 9 + sizes[whole];
  }
  std::size_t count = ends.take().size();
  count += ends.take().size();
  RC_ASSERT(count == whole);
  RC_ASSERT(ends.inbox.at_end());
}

RC_GTEST_PROP(PipeEndsProperties, any_bytes_are_messages_or_an_error_or_wait_for_more_B5, ()) {
  NarrowOs os;
  Ends ends(os);
  Packed bytes;
  for (const int each : *rc::gen::container<std::vector<int>>(
           rc::gen::weightedOneOf<int>({{5, rc::gen::just(0)}, {1, rc::gen::inRange(0, 256)}}))) {
    bytes.push_back(static_cast<std::byte>(each));
  }
  RC_ASSERT(os::write_all(os, ends.outbox.fd(), bytes).has_value());
  RC_ASSERT(ends.inbox.fill().has_value());
  for (;;) {
    const auto message = ends.inbox.next();
    if (!message) {
      RC_ASSERT(message.error().code == std::errc::bad_message);
      break;
    }
    if (!*message) {
      break;
    }
  }
}

TEST(PipeEnds, one_larger_than_the_pipe_goes_in_pieces_and_never_waits_B5) {
  NarrowOs os;
  Ends ends(os);
  const Taken large = {.kind = MessageKind::results, .body = body_of(1'000'000, 5)};
  post(ends.outbox, large, 16);
  EXPECT_TRUE(ends.outbox.flush().has_value());
  EXPECT_FALSE(ends.outbox.is_empty());
  EXPECT_THAT(ends.take(), testing::IsEmpty());
  std::vector<Taken> taken;
  while (taken.empty()) {
    ASSERT_TRUE(ends.outbox.flush().has_value());
    taken = ends.take();
  }
  EXPECT_TRUE(taken == std::vector{large});
  EXPECT_TRUE(ends.outbox.is_empty());
}

TEST(PipeEnds, small_ones_that_wait_go_in_one_call_and_in_order_B5) {
  NarrowOs os;
  Ends ends(os);
  std::vector<Taken> sent;
  for (int number = 0; number < 100; ++number) {
    sent.push_back({.kind = MessageKind::job, .body = body_of(20, number)});
    post(ends.outbox, sent.back(), 8);
  }
  EXPECT_TRUE(ends.outbox.flush().has_value());
  EXPECT_EQ(os.writes, 1);
  EXPECT_TRUE(ends.take() == sent);
}

TEST(PipeEnds, nobody_who_reads_is_a_broken_pipe_B9) {
  NarrowOs os;
  Ends ends(os);
  ends.inbox.close();
  EXPECT_TRUE(ends.inbox.at_end());
  post(ends.outbox, {.kind = MessageKind::job, .body = body_of(5)}, 0);
  EXPECT_EQ(ends.outbox.flush().error().code, std::errc::broken_pipe);
  ends.outbox.close();
  EXPECT_TRUE(ends.outbox.is_empty());
}

TEST(PipeEnds, nothing_there_is_no_message_and_no_end_B5) {
  NarrowOs os;
  Ends ends(os);
  EXPECT_THAT(ends.take(), testing::IsEmpty());
  EXPECT_FALSE(ends.inbox.at_end());
  EXPECT_TRUE(ends.outbox.flush().has_value());
  ends.outbox.close();
  EXPECT_THAT(ends.take(), testing::IsEmpty());
  EXPECT_TRUE(ends.inbox.at_end());
}

}  // namespace
}  // namespace lastref
