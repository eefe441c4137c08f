// os_contract_sockets_test: messages, passing of descriptors, and which processes may connect;
// pipes, and waiting.
#include <array>

#include "property_tests/impl/os/contract.hpp"

namespace lastref {
namespace {

using contract::fails;
using contract::look_at;
using contract::never_opened;
using contract::next_message;
using contract::Pair;
using contract::Pipe;
using contract::Scene;
using contract::send_text;
using contract::value_of;
using contract::worked;
using contract::would_block;
using os::bytes_of;
using os::Fd;
using os::UniqueFd;

class SocketsContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(SocketsContract);

os::Received receive(Scene& scene, Fd socket, std::size_t space) {
  std::vector<std::byte> buffer(space);
  return value_of(scene.os().receive(socket, buffer));
}

TEST_P(SocketsContract, messages_keep_their_bounds_and_their_order) {
  act([](Scene& scene) {
    const Pair pair = scene.pair();
    EXPECT_TRUE(worked(send_text(scene.os(), pair.left.get(), "one")));
    EXPECT_TRUE(worked(send_text(scene.os(), pair.left.get(), "two!")));
    EXPECT_TRUE(worked(send_text(scene.os(), pair.right.get(), "back")));
    EXPECT_EQ(next_message(scene.os(), pair.right.get()), "one");
    EXPECT_EQ(next_message(scene.os(), pair.right.get()), "two!");
    EXPECT_EQ(next_message(scene.os(), pair.left.get()), "back");
  });
}

TEST_P(SocketsContract, what_does_not_fit_into_the_buffer_is_gone_and_said_to_be) {
  act([](Scene& scene) {
    const Pair pair = scene.pair();
    EXPECT_TRUE(worked(send_text(scene.os(), pair.left.get(), "longer")));
    EXPECT_TRUE(worked(send_text(scene.os(), pair.left.get(), "next")));
    const os::Received cut = receive(scene, pair.right.get(), 4);
    EXPECT_EQ(cut.size, 4U);
    EXPECT_TRUE(cut.truncated);
    EXPECT_EQ(next_message(scene.os(), pair.right.get()), "next");
  });
}

TEST_P(SocketsContract, receiving_and_accepting_never_wait) {
  act([](Scene& scene) {
    const UniqueFd door = scene.listener("socket");
    EXPECT_TRUE(fails(scene.os().accept(door.get()), Call::accept, would_block));
    const Pair pair = scene.pair();
    std::array<std::byte, 8> buffer{};
    const auto nothing = scene.os().receive(pair.left.get(), buffer);
    EXPECT_TRUE(fails(nothing, Call::receive, would_block));
    scene.remove("socket");
  });
}

TEST_P(SocketsContract, sending_takes_whole_messages_until_it_would_block) {
  act([](Scene& scene) {
    const Pair pair = scene.pair();
    const std::string message(1000, 'm');
    std::size_t sent = 0;
    Status last = ok();
    while (last && sent < 1'000'000) {
      last = send_text(scene.os(), pair.left.get(), message);
      sent += last ? 1U : 0U;
    }
    EXPECT_TRUE(fails(last, Call::send, would_block));
    EXPECT_GT(sent, 0U);
    EXPECT_FALSE(look_at(scene.os(), pair.left.get()).writable);
    for (std::size_t i = 0; i < sent; ++i) {
      EXPECT_EQ(next_message(scene.os(), pair.right.get()), message);
    }
    EXPECT_TRUE(look_at(scene.os(), pair.left.get()).writable);
    EXPECT_TRUE(worked(send_text(scene.os(), pair.left.get(), message)));
  });
}

TEST_P(SocketsContract, a_message_that_can_never_fit_is_refused) {
  act([](Scene& scene) {
    const Pair pair = scene.pair();
    const std::string huge(8 << 20, 'h');
    EXPECT_TRUE(
        fails(send_text(scene.os(), pair.left.get(), huge), Call::send, std::errc::message_size));
    EXPECT_TRUE(worked(send_text(scene.os(), pair.left.get(), "small")));
    EXPECT_EQ(next_message(scene.os(), pair.right.get()), "small");
  });
}

TEST_P(SocketsContract, what_was_sent_before_the_end_is_received_before_the_end) {
  act([](Scene& scene) {
    Pair pair = scene.pair();
    EXPECT_TRUE(worked(send_text(scene.os(), pair.left.get(), "last words")));
    pair.left.close_quietly();
    EXPECT_EQ(next_message(scene.os(), pair.right.get()), "last words");
    EXPECT_EQ(receive(scene, pair.right.get(), 8).size, 0U);
    EXPECT_EQ(receive(scene, pair.right.get(), 8).size, 0U);
  });
}

TEST_P(SocketsContract, sending_to_nobody_is_an_error_and_no_signal) {
  act([](Scene& scene) {
    Pair pair = scene.pair();
    pair.left.close_quietly();
    EXPECT_TRUE(fails(
        send_text(scene.os(), pair.right.get(), "hello?"), Call::send, std::errc::broken_pipe));
  });
}

// The error comes first and once, and the messages of the dead process after it. A reader that
// takes the error for the end loses them.
TEST_P(SocketsContract, an_end_with_unread_messages_is_a_reset_and_its_last_words_follow) {
  act([](Scene& scene) {
    Pair pair = scene.pair();
    EXPECT_TRUE(worked(send_text(scene.os(), pair.left.get(), "last words")));
    EXPECT_TRUE(worked(send_text(scene.os(), pair.right.get(), "never read")));
    pair.left.close_quietly();
    std::array<std::byte, 8> buffer{};
    EXPECT_TRUE(fails(
        scene.os().receive(pair.right.get(), buffer), Call::receive, std::errc::connection_reset));
    EXPECT_EQ(next_message(scene.os(), pair.right.get()), "last words");
    EXPECT_EQ(receive(scene, pair.right.get(), 8).size, 0U);
  });
}

TEST_P(SocketsContract, descriptors_travel_and_outlive_their_sender) {
  act([](Scene& scene) {
    const Pair pair = scene.pair();
    UniqueFd file = scene.create("a", "text");
    const os::FileStatus sent = value_of(scene.os().status(file.get()));
    const std::array fds = {file.get()};
    EXPECT_TRUE(worked(scene.os().send(pair.left.get(), bytes_of("take"), fds)));
    file.close_quietly();
    const os::Received received = receive(scene, pair.right.get(), 8);
    EXPECT_EQ(received.size, 4U);
    EXPECT_FALSE(received.truncated);
    ASSERT_EQ(received.fds.size(), 1U);
    const UniqueFd there(scene.os(), received.fds[0]);
    EXPECT_EQ(value_of(scene.os().status(there.get())), sent);
    scene.remove("a");
  });
}

TEST_P(SocketsContract, as_many_descriptors_travel_as_are_promised_and_no_more) {
  act([](Scene& scene) {
    const Pair pair = scene.pair();
    const Pipe pipe = scene.pipe();
    const std::vector<Fd> fds(os::fds_max, pipe.read.get());
    const std::vector<Fd> too_many(os::fds_max + 1, pipe.read.get());
    EXPECT_TRUE(fails(scene.os().send(pair.left.get(), bytes_of("m"), too_many),
                      Call::send,
                      std::errc::invalid_argument));
    EXPECT_TRUE(worked(scene.os().send(pair.left.get(), bytes_of("m"), fds)));
    const os::Received received = receive(scene, pair.right.get(), 8);
    EXPECT_EQ(received.fds.size(), os::fds_max);
    EXPECT_FALSE(received.truncated);
    for (const Fd fd : received.fds) {
      EXPECT_TRUE(worked(scene.os().close(fd)));
    }
  });
}

TEST_P(SocketsContract, a_truncated_message_still_hands_over_its_descriptors) {
  act([](Scene& scene) {
    const Pair pair = scene.pair();
    const Pipe pipe = scene.pipe();
    const std::array fds = {pipe.read.get(), pipe.write.get()};
    EXPECT_TRUE(worked(scene.os().send(pair.left.get(), bytes_of("longer"), fds)));
    const os::Received received = receive(scene, pair.right.get(), 2);
    EXPECT_TRUE(received.truncated);
    ASSERT_EQ(received.fds.size(), 2U);
    EXPECT_TRUE(worked(scene.os().close(received.fds[0])));
    EXPECT_TRUE(worked(scene.os().close(received.fds[1])));
  });
}

TEST_P(SocketsContract, a_bad_descriptor_is_not_sent_and_nothing_of_the_message_is) {
  act([](Scene& scene) {
    const Pair pair = scene.pair();
    const std::array fds = {never_opened};
    EXPECT_TRUE(fails(scene.os().send(pair.left.get(), bytes_of("m"), fds),
                      Call::send,
                      std::errc::bad_file_descriptor));
    EXPECT_FALSE(look_at(scene.os(), pair.right.get()).readable);
  });
}

TEST_P(SocketsContract, a_descriptor_in_a_message_that_nobody_reads_is_closed_with_the_socket) {
  act([](Scene& scene) {
    Pair pair = scene.pair();
    Pipe pipe = scene.pipe();
    const std::array fds = {pipe.write.get()};
    EXPECT_TRUE(worked(scene.os().send(pair.left.get(), bytes_of("m"), fds)));
    pipe.write.close_quietly();
    EXPECT_FALSE(look_at(scene.os(), pipe.read.get()).hung_up);
    pair.right.close_quietly();
    EXPECT_TRUE(look_at(scene.os(), pipe.read.get()).hung_up);
  });
}

TEST_P(SocketsContract, connecting_where_nobody_listens_is_refused) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const UniqueFd socket(os, value_of(os.make_socket()));
    EXPECT_TRUE(fails(os.connect(socket.get(), scene.path("missing")),
                      Call::connect,
                      std::errc::no_such_file_or_directory));
    scene.create("file");
    constexpr auto refused = std::errc::connection_refused;
    EXPECT_TRUE(fails(os.connect(socket.get(), scene.path("file")), Call::connect, refused));
    const UniqueFd bound(os, value_of(os.make_socket()));
    EXPECT_TRUE(worked(os.bind(bound.get(), scene.path("bound"))));
    EXPECT_TRUE(fails(os.connect(socket.get(), scene.path("bound")), Call::connect, refused));
    scene.listener("closed");
    EXPECT_TRUE(fails(os.connect(socket.get(), scene.path("closed")), Call::connect, refused));
    for (const char* const name : {"file", "bound", "closed"}) {
      scene.remove(name);
    }
  });
}

TEST_P(SocketsContract, a_path_takes_107_bytes) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    constexpr std::size_t path_size_max = 107;
    const std::size_t used = scene.path("").size();
    ASSERT_LT(used, path_size_max);
    const std::string fits(path_size_max - used, 's');
    const UniqueFd socket(os, value_of(os.make_socket()));
    constexpr auto too_long = std::errc::filename_too_long;
    EXPECT_TRUE(fails(os.bind(socket.get(), scene.path(fits + "s")), Call::bind, too_long));
    EXPECT_TRUE(fails(os.connect(socket.get(), scene.path(fits + "s")), Call::connect, too_long));
    EXPECT_TRUE(worked(os.bind(socket.get(), scene.path(fits))));
    EXPECT_EQ(value_of(os.status_at(scene.path(fits))).kind, os::FileKind::socket);
    scene.remove(fits);
  });
}

TEST_P(SocketsContract, a_path_is_bound_once_and_an_empty_one_never) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const UniqueFd door = scene.listener("socket");
    const UniqueFd second(os, value_of(os.make_socket()));
    EXPECT_TRUE(
        fails(os.bind(second.get(), scene.path("socket")), Call::bind, std::errc::address_in_use));
    EXPECT_TRUE(fails(os.bind(second.get(), ""), Call::bind, std::errc::no_such_file_or_directory));
    EXPECT_TRUE(fails(os.bind(second.get(), scene.path("missing/socket")),
                      Call::bind,
                      std::errc::no_such_file_or_directory));
    scene.remove("socket");
  });
}

TEST_P(SocketsContract, a_listener_that_is_shut_down_refuses_but_gives_who_came_before) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const UniqueFd door = scene.listener("socket");
    const UniqueFd early(os, value_of(os.make_socket()));
    EXPECT_TRUE(worked(os.connect(early.get(), scene.path("socket"))));
    EXPECT_TRUE(worked(os.shut_down(door.get())));
    const UniqueFd socket(os, value_of(os.make_socket()));
    EXPECT_TRUE(fails(os.connect(socket.get(), scene.path("socket")),
                      Call::connect,
                      std::errc::connection_refused));
    EXPECT_TRUE(look_at(os, door.get()).hung_up);
    const UniqueFd accepted(os, value_of(os.accept(door.get())));
    EXPECT_TRUE(fails(os.accept(door.get()), Call::accept, would_block));
    scene.remove("socket");
  });
}

TEST_P(SocketsContract, a_connection_that_is_shut_down_ends_on_both_sides) {
  act([](Scene& scene) {
    const Pair pair = scene.pair();
    EXPECT_TRUE(worked(send_text(scene.os(), pair.left.get(), "before")));
    EXPECT_TRUE(worked(scene.os().shut_down(pair.left.get())));
    EXPECT_EQ(next_message(scene.os(), pair.right.get()), "before");
    EXPECT_EQ(receive(scene, pair.right.get(), 8).size, 0U);
    EXPECT_EQ(receive(scene, pair.left.get(), 8).size, 0U);
    constexpr auto over = std::errc::broken_pipe;
    EXPECT_TRUE(fails(send_text(scene.os(), pair.left.get(), "m"), Call::send, over));
    EXPECT_TRUE(fails(send_text(scene.os(), pair.right.get(), "m"), Call::send, over));
  });
}

TEST_P(SocketsContract, a_socket_without_a_peer_neither_sends_nor_knows_one) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const UniqueFd socket(os, value_of(os.make_socket()));
    constexpr auto alone = std::errc::not_connected;
    EXPECT_TRUE(fails(send_text(os, socket.get(), "m"), Call::send, alone));
    EXPECT_TRUE(fails(os.peer_of(socket.get()), Call::peer_of, alone));
    EXPECT_TRUE(fails(os.listen(socket.get()), Call::listen, std::errc::invalid_argument));
  });
}

TEST_P(SocketsContract, the_peer_is_who_connected) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const UniqueFd door = scene.listener("socket");
    Pipe until = scene.pipe();
    contract::Running child(os,
                            {.entry = "connect",
                             .arguments = {scene.path("socket")},
                             .fds = {{.here = until.read.get(), .number_there = 3}},
                             .blocked = {}});
    ASSERT_TRUE(contract::wait_for(os, door.get()));
    const UniqueFd socket(os, value_of(os.accept(door.get())));
    const os::Peer expected{.pid = child.pid(), .user = os.user_id()};
    EXPECT_EQ(value_of(os.peer_of(socket.get())), expected);
    until.write.close_quietly();
    EXPECT_EQ(child.end(), os::ChildExit{});
    EXPECT_EQ(value_of(os.peer_of(socket.get())), expected);
    EXPECT_EQ(next_message(os, socket.get()), "hello");
    scene.remove("socket");
  });
}

TEST_P(SocketsContract, who_died_before_it_was_accepted_is_still_heard) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const UniqueFd door = scene.listener("socket");
    const Pipe until = scene.pipe();
    contract::Running child(os,
                            {.entry = "connect",
                             .arguments = {scene.path("socket")},
                             .fds = {{.here = until.read.get(), .number_there = 3}},
                             .blocked = {}});
    ASSERT_TRUE(contract::wait_for(os, door.get()));
    child.kill();
    const UniqueFd socket(os, value_of(os.accept(door.get())));
    EXPECT_EQ(value_of(os.peer_of(socket.get())).pid, child.pid());
    scene.remove("socket");
  });
}

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
    EXPECT_TRUE(look_at(scene.os(), never_opened).hung_up);
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
