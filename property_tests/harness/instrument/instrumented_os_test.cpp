// instrumented_os_test: every call goes through the gate twice and through its point once, and
// fails as its row says.
#include "harness/instrument/instrumented_os.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/call.hpp>
#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>

namespace lastref {

void PrintTo(Call call, std::ostream* out) {
  *out << name_of(call);
}

}  // namespace lastref

namespace lastref::harness {
namespace {

/// What a crossing gave: an errno, and whether it was put in.
struct Answer {
  int error = 0;
  bool injected = false;
};

template <typename T>
Answer answer_of(const Result<T>& result) {
  return result ? Answer{}
                : Answer{.error = static_cast<int>(result.error().code),
                         .injected = result.error().injected};
}

/// Writes down what passes, and answers what it is told to.
class RecordingGate final : public Gate {
 public:
  Passage before(const Approach& approach) noexcept override {
    befores_.push_back(approach.call);
    return passage;
  }
  void after(const Approach& approach, const Return& how) noexcept override {
    afters_.push_back(approach.call);
    last = how;
  }

  auto befores(Call call) const { return std::ranges::count(befores_, call); }
  auto afters(Call call) const { return std::ranges::count(afters_, call); }

  Passage passage;
  Return last;

 private:
  std::vector<Call> befores_;
  std::vector<Call> afters_;
};

/// Faults are truthful: what was closed is closed, and what is said to be gone is gone.
bool is_made_all_the_same(Call call, int error) {
  const bool removes = call == Call::unlink || call == Call::remove_folder ||
                       call == Call::unlink_shm || call == Call::unlink_semaphore;
  return call == Call::close || (removes && error == ENOENT);
}

/// An instrumented Os around another around the real one: what passes the outer and not the inner
/// was not made.
class InstrumentedOsTest : public testing::TestWithParam<Call> {
 protected:
  /// Makes one call of that row. Whatever it needs is made behind the gates; the answer of the real
  /// call matters to nobody.
  Answer perform(Call call);
  Answer on_paths(Call call);
  Answer on_descriptors(Call call);
  Answer on_memory(Call call);
  Answer on_names(Call call);
  Answer on_sockets(Call call);
  Answer on_processes(Call call);

  os::KernelOs kernel_{{.program = "/bin/true"}};
  RecordingGate inner_gate_;
  RecordingGate gate_;
  InstrumentedOs inner_{kernel_, inner_gate_};
  InstrumentedOs os_{inner_, gate_};
};

Answer InstrumentedOsTest::perform(Call call) {
  switch (call) {
    case Call::none:
      return {};
    case Call::open:
    case Call::close:
    case Call::read:
    case Call::read_at:
    case Call::write:
    case Call::write_at:
    case Call::sync:
    case Call::punch_hole:
    case Call::status:
    case Call::read_folder:
    case Call::lock_range:
    case Call::find_lock:
      return on_descriptors(call);
    case Call::status_at:
    case Call::unlink:
    case Call::rename:
    case Call::rename_new:
    case Call::make_folder:
    case Call::remove_folder:
    case Call::free_space:
    case Call::file_system:
    case Call::working_folder:
      return on_paths(call);
    case Call::map:
    case Call::unmap:
      return on_memory(call);
    case Call::create_shm:
    case Call::unlink_shm:
    case Call::create_semaphore:
    case Call::unlink_semaphore:
      return on_names(call);
    case Call::make_socket:
    case Call::bind:
    case Call::listen:
    case Call::accept:
    case Call::connect:
    case Call::send:
    case Call::receive:
    case Call::shut_down:
    case Call::peer_of:
    case Call::make_pipe:
    case Call::poll:
      return on_sockets(call);
    default:
      return on_processes(call);
  }
}

Answer InstrumentedOsTest::on_paths(Call call) {
  const os::Place nowhere = "/nonexistent/lastref";
  const os::Place elsewhere = "/nonexistent/elsewhere";
  switch (call) {
    case Call::status_at:
      return answer_of(os_.status_at(nowhere));
    case Call::unlink:
      return answer_of(os_.unlink(nowhere));
    case Call::rename:
      return answer_of(os_.rename(nowhere, elsewhere));
    case Call::rename_new:
      return answer_of(os_.rename_new(nowhere, elsewhere));
    case Call::make_folder:
      return answer_of(os_.make_folder(nowhere, 0700));
    case Call::remove_folder:
      return answer_of(os_.remove_folder(nowhere));
    case Call::free_space:
      return answer_of(os_.free_space("/"));
    case Call::file_system:
      return answer_of(os_.file_system("/"));
    default:
      return answer_of(os_.working_folder());
  }
}

Answer InstrumentedOsTest::on_descriptors(Call call) {
  std::array<std::byte, 4> bytes{};
  if (call == Call::open) {
    const auto opened = os_.open("/", {.folder = true});
    if (opened) {
      EXPECT_TRUE(kernel_.close(*opened));
    }
    return answer_of(opened);
  }
  const auto folder = kernel_.open("/", {.folder = true});
  EXPECT_TRUE(folder);
  if (call == Call::close) {
    return answer_of(os_.close(*folder));
  }
  Answer answer;
  if (call == Call::read) {
    answer = answer_of(os_.read(*folder, bytes));
  } else if (call == Call::read_at) {
    answer = answer_of(os_.read_at(*folder, bytes, 0));
  } else if (call == Call::write) {
    answer = answer_of(os_.write(*folder, bytes));
  } else if (call == Call::write_at) {
    answer = answer_of(os_.write_at(*folder, bytes, 0));
  } else if (call == Call::sync) {
    answer = answer_of(os_.sync(*folder));
  } else if (call == Call::punch_hole) {
    answer = answer_of(os_.punch_hole(*folder, 0, 1));
  } else if (call == Call::status) {
    answer = answer_of(os_.status(*folder));
  } else if (call == Call::read_folder) {
    answer = answer_of(os_.read_folder(*folder));
  } else if (call == Call::lock_range) {
    answer = answer_of(os_.lock_range(*folder, {.kind = os::LockKind::none}));
  } else {
    answer = answer_of(os_.find_lock(*folder, {.kind = os::LockKind::shared}));
  }
  EXPECT_TRUE(kernel_.close(*folder));
  return answer;
}

Answer InstrumentedOsTest::on_memory(Call call) {
  constexpr os::MapOptions zeros{.size = 1};
  const auto mapped = call == Call::map ? os_.map(zeros) : kernel_.map(zeros);
  const Answer answer = call == Call::map ? answer_of(mapped) : answer_of(os_.unmap(*mapped));
  if (mapped && (call == Call::map || answer.error != 0)) {
    EXPECT_TRUE(kernel_.unmap(*mapped));
  }
  return answer;
}

Answer InstrumentedOsTest::on_names(Call call) {
  // Names that no system takes, so nothing is made.
  const std::string name = "/lastref/never";
  switch (call) {
    case Call::create_shm:
      return answer_of(os_.create_shm(name, 0600));
    case Call::unlink_shm:
      return answer_of(os_.unlink_shm(name));
    case Call::create_semaphore:
      return answer_of(os_.create_semaphore(name, 0600));
    default:
      return answer_of(os_.unlink_semaphore(name));
  }
}

Answer InstrumentedOsTest::on_sockets(Call call) {
  if (call == Call::make_socket) {
    const auto made = os_.make_socket();
    if (made) {
      EXPECT_TRUE(kernel_.close(*made));
    }
    return answer_of(made);
  }
  if (call == Call::make_pipe) {
    const auto made = os_.make_pipe();
    if (made) {
      EXPECT_TRUE(kernel_.close(made->read));
      EXPECT_TRUE(kernel_.close(made->write));
    }
    return answer_of(made);
  }
  std::array<std::byte, 4> bytes{};
  if (call == Call::poll) {
    return answer_of(os_.poll({}, std::chrono::nanoseconds(0)));
  }
  const auto socket = kernel_.make_socket();
  EXPECT_TRUE(socket);
  Answer answer;
  if (call == Call::bind) {
    answer = answer_of(os_.bind(*socket, "/nonexistent/lastref"));
  } else if (call == Call::listen) {
    answer = answer_of(os_.listen(*socket));
  } else if (call == Call::accept) {
    answer = answer_of(os_.accept(*socket));
  } else if (call == Call::connect) {
    answer = answer_of(os_.connect(*socket, "/nonexistent/lastref"));
  } else if (call == Call::send) {
    answer = answer_of(os_.send(*socket, bytes, {}));
  } else if (call == Call::receive) {
    answer = answer_of(os_.receive(*socket, bytes));
  } else if (call == Call::shut_down) {
    answer = answer_of(os_.shut_down(*socket));
  } else {
    answer = answer_of(os_.peer_of(*socket));
  }
  EXPECT_TRUE(kernel_.close(*socket));
  return answer;
}

Answer InstrumentedOsTest::on_processes(Call call) {
  std::array<std::byte, 4> bytes{};
  switch (call) {
    case Call::spawn: {
      const auto child = os_.spawn({.entry = "nothing", .arguments = {}, .fds = {}, .blocked = {}});
      if (child) {
        os::PollItem item{.fd = child->process, .want_read = true};
        EXPECT_TRUE(kernel_.poll(std::span(&item, 1), std::nullopt));
        EXPECT_TRUE(kernel_.wait_child(child->process));
        EXPECT_TRUE(kernel_.close(child->process));
      }
      return answer_of(child);
    }
    case Call::open_process: {
      const auto self = os_.open_process(kernel_.process_id());
      if (self) {
        EXPECT_TRUE(kernel_.close(*self));
      }
      return answer_of(self);
    }
    case Call::signal_process:
      return answer_of(os_.signal_process(os::Fd::none, os::Signal::resume));
    case Call::wait_child:
      return answer_of(os_.wait_child(os::Fd::none));
    case Call::process_id:
      EXPECT_EQ(os_.process_id(), kernel_.process_id());
      return {};
    case Call::user_id:
      EXPECT_EQ(os_.user_id(), kernel_.user_id());
      return {};
    case Call::ignore_signal:
      return answer_of(os_.ignore_signal(os::Signal::kill));
    case Call::unblock_signal:
      return answer_of(os_.unblock_signal(os::Signal::interrupt));
    case Call::start_thread: {
      auto thread = os_.start_thread([] {}, os::ThreadKind::ours);
      if (thread) {
        (*thread)->join();
      }
      return answer_of(thread);
    }
    case Call::thread_id:
      EXPECT_EQ(os_.thread_id(), kernel_.thread_id());
      return {};
    case Call::processors:
      EXPECT_EQ(os_.processors(), kernel_.processors());
      return {};
    case Call::now:
      EXPECT_GT(os_.now(), os::Instant(0));
      return {};
    case Call::entropy:
      return answer_of(os_.entropy(bytes));
    case Call::environment:
      EXPECT_EQ(os_.environment("PATH"), kernel_.environment("PATH"));
      return {};
    default:
      ADD_FAILURE() << "a row without a call here";
      return {};
  }
}

TEST_P(InstrumentedOsTest, a_call_passes_the_gate_before_and_after) {
  perform(GetParam());
  EXPECT_EQ(gate_.befores(GetParam()), 1);
  EXPECT_EQ(gate_.afters(GetParam()), 1);
  EXPECT_EQ(inner_gate_.befores(GetParam()), 1);
}

TEST_P(InstrumentedOsTest, its_point_is_reached_and_gives_each_errno_of_its_row) {
  for (const int error : row_of(GetParam()).errnos) {
    InstrumentedOs::arm(GetParam(), error);
    const Answer answer = perform(GetParam());
    EXPECT_EQ(answer.error, error);
    EXPECT_EQ(gate_.last.error, error);
    // That a thing is not there may be the plain truth.
    EXPECT_EQ(answer.injected,
              !is_made_all_the_same(GetParam(), error) || GetParam() == Call::close);
    EXPECT_EQ(gate_.last.injected, answer.injected);
  }
}

TEST_P(InstrumentedOsTest, a_failure_by_wish_of_the_gate_is_made_only_where_that_is_the_truth) {
  std::ptrdiff_t made = 0;
  for (const int error : row_of(GetParam()).errnos) {
    gate_.passage.error = error;
    made += is_made_all_the_same(GetParam(), error) ? 1 : 0;
    EXPECT_EQ(perform(GetParam()).error, error);
  }
  EXPECT_EQ(inner_gate_.befores(GetParam()), made);
}

std::vector<Call> every_call() {
  std::vector<Call> calls;
  for (const CallRow& row : call_rows()) {
    calls.push_back(row.call);
  }
  return calls;
}

std::string name_of_test(const testing::TestParamInfo<Call>& row) {
  return std::string(name_of(row.param));
}

INSTANTIATE_TEST_SUITE_P(every_row,
                         InstrumentedOsTest,
                         testing::ValuesIn(every_call()),
                         name_of_test);

TEST(InstrumentedOsTest, a_shortened_write_takes_half_of_the_bytes_but_at_least_one) {
  os::KernelOs kernel;
  RecordingGate gate;
  InstrumentedOs os(kernel, gate);
  gate.passage.shorten = true;
  const auto pipe = kernel.make_pipe();
  ASSERT_TRUE(pipe);
  std::array<std::byte, 9> bytes{};
  EXPECT_EQ(os.write(pipe->write, bytes), std::size_t{4});
  EXPECT_EQ(os.read(pipe->read, std::span(bytes).first(5)), std::size_t{2});
  EXPECT_EQ(os.read(pipe->read, std::span(bytes).first(1)), std::size_t{1});
  EXPECT_TRUE(kernel.close(pipe->read));
  EXPECT_TRUE(kernel.close(pipe->write));
}

TEST(InstrumentedOsTest, what_is_at_an_offset_is_shortened_there) {
  os::KernelOs kernel;
  RecordingGate gate;
  InstrumentedOs os(kernel, gate);
  const std::string path = testing::TempDir() + "instrumented_os_test_offsets";
  const auto file = kernel.open(path, {.write = true, .create = true});
  ASSERT_TRUE(file);
  EXPECT_TRUE(kernel.unlink(path));
  EXPECT_TRUE(kernel.write(*file, os::bytes_of("0123456789")));
  std::array<std::byte, 5> bytes{};
  EXPECT_EQ(os.read_at(*file, bytes, 4), std::size_t{5});
  EXPECT_EQ(bytes[0], std::byte{'4'});
  gate.passage.shorten = true;
  EXPECT_EQ(os.read_at(*file, bytes, 7), std::size_t{2});
  EXPECT_EQ(bytes[0], std::byte{'7'});
  EXPECT_EQ(bytes[2], std::byte{'6'});
  EXPECT_EQ(os.read_at(*file, std::span(bytes).first(1), 0), std::size_t{1});
  EXPECT_TRUE(kernel.close(*file));
}

TEST(InstrumentedOsTest, actions_for_the_end_run_when_it_is_told_of_the_end) {
  os::KernelOs kernel;
  RecordingGate gate;
  InstrumentedOs os(kernel, gate);
  std::string said;
  const auto first = os.at_exit([&] { said += "first "; });
  auto taken_back = os.at_exit([&] { said += "taken back "; });
  std::unique_ptr<os::ExitHook> late;
  const auto last = os.at_exit([&] {
    said += "last ";
    late = os.at_exit([&] { said += "late "; });
    taken_back.reset();
  });
  EXPECT_EQ(said, "");
  os.run_exit_hooks();
  EXPECT_EQ(said, "last late first ");
  // No row: nobody was asked.
  EXPECT_EQ(gate.befores(Call::process_id), 0);
}

}  // namespace
}  // namespace lastref::harness
