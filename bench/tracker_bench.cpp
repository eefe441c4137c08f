// The cost of a tracker message, compared with the kernel's cost of carrying the same bytes.
//
// Processes are real: the tracker is `lastref tracker` in the folder of this program. Absolute
// times depend on the machine; compare the rows of one run.
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>

#include <benchmark/benchmark.h>

#include "bench/processors.hpp"
#include "bench/tree.hpp"

namespace {

using lastref::Resource;
using lastref::bench::on_one_processor;
using lastref::bench::Tree;

constexpr std::size_t message_size =
    64;  // bytes; a header, an entry and a name like the ones below

/// A child that reads from `fd` until its end.
template <typename ReadOnce>
pid_t reader_of(int fd, int other, ReadOnce read_once) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(other);
    while (read_once(fd) > 0) {
    }
    ::_exit(0);
  }
  ::close(fd);
  return child;
}

void raw_pipe_writes(benchmark::State& state) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    state.SkipWithError("no pipe");
    return;
  }
  const pid_t child = reader_of(ends[0], ends[1], [](int fd) {
    static std::array<char, 65536> bytes;
    return ::read(fd, bytes.data(), bytes.size());
  });
  const std::array<char, message_size> message{};
  for (auto _ : state) {
    benchmark::DoNotOptimize(::write(ends[1], message.data(), message.size()));
  }
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(raw_pipe_writes)->UseRealTime();

void raw_packet_sends(benchmark::State& state) {
  std::array<int, 2> ends{};
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends.data()) != 0) {
    state.SkipWithError("no socket pair");
    return;
  }
  const pid_t child = reader_of(ends[0], ends[1], [](int fd) {
    std::array<char, 4096> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init)
    return ::recv(fd, bytes.data(), bytes.size(), 0);
  });
  const std::array<char, message_size> message{};
  for (auto _ : state) {
    benchmark::DoNotOptimize(::send(ends[1], message.data(), message.size(), MSG_NOSIGNAL));
  }
  ::close(ends[1]);
  ::waitpid(child, nullptr, 0);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(raw_packet_sends)->UseRealTime();

void tracker_hold_and_release(benchmark::State& state) {
  Tree tree;
  const Resource name = tree.file("/held.bin");
  if (!tree.ready(state) || !tree.client().register_name(name)) {
    return;
  }
  for (auto _ : state) {
    static_cast<void>(tree.client().hold(name));
    static_cast<void>(tree.client().release(name));
  }
  // Wait until all messages are handled: unhandled ones would make the result look too fast.
  static_cast<void>(tree.client().probe());
  static_cast<void>(tree.client().release(name));
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(tracker_hold_and_release)->UseRealTime();
BENCHMARK_CAPTURE(on_one_processor, tracker_hold_and_release, tracker_hold_and_release)
    ->UseRealTime();

void tracker_register_and_release(benchmark::State& state) {
  Tree tree;
  if (!tree.ready(state)) {
    return;
  }
  const Resource name = tree.file("/registered.bin");
  for (auto _ : state) {
    static_cast<void>(tree.client().register_name(name));
    static_cast<void>(tree.client().release(name));
  }
  state.SetItemsProcessed(2 * state.iterations());
}
BENCHMARK(tracker_register_and_release)->UseRealTime();
BENCHMARK_CAPTURE(on_one_processor, tracker_register_and_release, tracker_register_and_release)
    ->UseRealTime();

void release_until_the_file_is_gone(benchmark::State& state) {
  Tree tree;
  if (!tree.ready(state)) {
    return;
  }
  const Resource name = tree.file("/gone.bin");
  for (auto _ : state) {
    static_cast<void>(tree.client().register_name(name));
    ::close(::open(name.name.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600));
    const auto before = std::chrono::steady_clock::now();
    static_cast<void>(tree.client().release(name));
    while (::access(name.name.c_str(), F_OK) == 0) {
    }
    state.SetIterationTime(
        std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count());
  }
}
BENCHMARK(release_until_the_file_is_gone)->UseManualTime();

}  // namespace
