// os_contract_poll_test: pipes, and waiting.
#include <array>

#include "property_tests/impl/os/contract.hpp"

namespace lastref {
namespace {

using contract::fails;
using contract::look_at;
using contract::nobody;
using contract::Pair;
using contract::Pipe;
using contract::Scene;
using contract::value_of;
using contract::worked;
using contract::would_block;
using os::bytes_of;
using os::Fd;
using os::UniqueFd;

class PipesContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(PipesContract);

TEST_P(PipesContract, what_goes_in_comes_out_and_then_the_end) {
  act([](Scene& scene) {
    Pipe pipe = scene.pipe();
    EXPECT_TRUE(worked(os::write_all(scene.os(), pipe.write.get(), bytes_of("ab"))));
    EXPECT_TRUE(worked(os::write_all(scene.os(), pipe.write.get(), bytes_of("c"))));
    pipe.write.close_quietly();
    EXPECT_EQ(contract::read_some(scene.os(), pipe.read.get()), "abc");
    EXPECT_EQ(contract::read_some(scene.os(), pipe.read.get()), "");
  });
}

TEST_P(PipesContract, neither_reading_nor_writing_waits) {
  act([](Scene& scene) {
    const Pipe pipe = scene.pipe();
    std::vector<std::byte> buffer(1 << 20);
    EXPECT_TRUE(fails(scene.os().read(pipe.read.get(), buffer), Call::read, would_block));
    const std::size_t taken = value_of(scene.os().write(pipe.write.get(), buffer));
    EXPECT_GT(taken, 0U);
    EXPECT_LT(taken, buffer.size());
    EXPECT_TRUE(fails(scene.os().write(pipe.write.get(), buffer), Call::write, would_block));
    EXPECT_EQ(value_of(scene.os().read(pipe.read.get(), buffer)), taken);
  });
}

TEST_P(PipesContract, writing_to_nobody_is_an_error_and_no_signal) {
  act([](Scene& scene) {
    Pipe pipe = scene.pipe();
    pipe.read.close_quietly();
    for (int i = 0; i < 2; ++i) {
      EXPECT_TRUE(fails(scene.os().write(pipe.write.get(), bytes_of("hello?")),
                        Call::write,
                        std::errc::broken_pipe));
    }
  });
}

class PollContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(PollContract);

TEST_P(PollContract, it_waits_no_longer_than_it_was_told) {
  act([](Scene& scene) {
    const Pipe pipe = scene.pipe();
    std::array items = {os::PollItem{.fd = pipe.read.get(), .want_read = true}};
    constexpr std::chrono::milliseconds timeout{3};
    const os::Instant before = scene.os().now();
    EXPECT_EQ(value_of(scene.os().poll(items, timeout)), 0U);
    EXPECT_GE(scene.os().now() - before, timeout);
    EXPECT_EQ(value_of(scene.os().poll({}, std::chrono::nanoseconds(-5))), 0U);
  });
}

TEST_P(PollContract, it_says_which_items_are_ready_and_for_what) {
  act([](Scene& scene) {
    const Pipe pipe = scene.pipe();
    const Pipe other = scene.pipe();
    EXPECT_TRUE(worked(os::write_all(scene.os(), other.write.get(), bytes_of("x"))));
    std::array items = {
        os::PollItem{.fd = pipe.read.get(), .want_read = true, .readable = true, .hung_up = true},
        os::PollItem{.fd = Fd::none, .want_read = true, .readable = true},
        os::PollItem{.fd = other.read.get(), .want_read = true},
        os::PollItem{.fd = other.write.get()},
        os::PollItem{.fd = other.write.get(), .want_read = true, .want_write = true}};
    EXPECT_EQ(value_of(scene.os().poll(items, contract::patience)), 2U);
    EXPECT_FALSE(items[0].readable);
    EXPECT_FALSE(items[0].hung_up);
    EXPECT_FALSE(items[1].readable);
    EXPECT_TRUE(items[2].readable);
    EXPECT_FALSE(items[2].writable);
    EXPECT_FALSE(items[3].writable);
    EXPECT_TRUE(items[4].writable);
    EXPECT_FALSE(items[4].readable);
  });
}

TEST_P(PollContract, what_is_over_is_readable_and_hung_up) {
  act([](Scene& scene) {
    Pipe pipe = scene.pipe();
    Pair pair = scene.pair();
    Pipe full = scene.pipe();
    pipe.write.close_quietly();
    pair.left.close_quietly();
    full.read.close_quietly();
    for (const Fd fd : {pipe.read.get(), pair.right.get()}) {
      EXPECT_TRUE(look_at(scene.os(), fd).readable);
      EXPECT_TRUE(look_at(scene.os(), fd).hung_up);
    }
    EXPECT_TRUE(look_at(scene.os(), full.write.get()).writable);
    EXPECT_TRUE(look_at(scene.os(), full.write.get()).hung_up);
    EXPECT_TRUE(look_at(scene.os(), nobody).hung_up);
  });
}

TEST_P(PollContract, a_hang_up_is_told_unasked) {
  act([](Scene& scene) {
    Pipe pipe = scene.pipe();
    pipe.write.close_quietly();
    std::array items = {os::PollItem{.fd = pipe.read.get()}};
    EXPECT_EQ(value_of(scene.os().poll(items, std::nullopt)), 1U);
    EXPECT_TRUE(items[0].hung_up);
    EXPECT_FALSE(items[0].readable);
  });
}

TEST_P(PollContract, a_caller_at_the_door_makes_it_readable) {
  act([](Scene& scene) {
    const UniqueFd door = scene.listener("socket");
    EXPECT_FALSE(look_at(scene.os(), door.get()).readable);
    const UniqueFd socket(scene.os(), value_of(scene.os().make_socket()));
    EXPECT_TRUE(worked(scene.os().connect(socket.get(), scene.path("socket"))));
    EXPECT_TRUE(look_at(scene.os(), door.get()).readable);
    scene.remove("socket");
  });
}

TEST_P(PollContract, it_takes_hundreds_of_items) {
  act([](Scene& scene) {
    const Pipe pipe = scene.pipe();
    std::vector<os::PollItem> items(300, {.fd = pipe.read.get(), .want_read = true});
    EXPECT_EQ(value_of(scene.os().poll(items, std::chrono::nanoseconds(0))), 0U);
    items.back() = {.fd = pipe.write.get(), .want_write = true};
    EXPECT_EQ(value_of(scene.os().poll(items, std::nullopt)), 1U);
    EXPECT_TRUE(items.back().writable);
  });
}

}  // namespace
}  // namespace lastref
