// os_contract_processes_test: processes, signals, threads, clock and random numbers; the actions of
// a process at its end; and descriptors 0, 1 and 2, which belong to the host program.
#include <array>
#include <set>

#include "property_tests/impl/os/contract.hpp"

namespace lastref {
namespace {

using contract::fails;
using contract::look_at;
using contract::Pair;
using contract::Pipe;
using contract::read_some;
using contract::Running;
using contract::Scene;
using contract::value_of;
using contract::worked;
using os::ChildExit;
using os::Fd;
using os::Signal;
using os::UniqueFd;

constexpr int sigint = 2;
constexpr int sigkill = 9;
constexpr int sigterm = 15;

class ProcessesContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(ProcessesContract);

/// A child, and the pipe; the child waits for its end.
struct Waiting {
  explicit Waiting(Scene& scene, std::vector<Signal> blocked = {})
      : until(scene.pipe()),
        child(scene.os(),
              {.entry = "wait",
               .arguments = {},
               .fds = {{.here = until.read.get(), .number_there = 3}},
               .blocked = std::move(blocked)}) {}

  Pipe until;
  Running child;
};

TEST_P(ProcessesContract, a_child_ends_with_its_exit_code) {
  act([](Scene& scene) {
    Running child(scene.os(), {.entry = "exit_with", .arguments = {"7"}, .fds = {}, .blocked = {}});
    EXPECT_EQ(child.end(), (ChildExit{.code = 7, .killed = false}));
  });
}

TEST_P(ProcessesContract, who_has_ended_is_neither_signalled_nor_named_again) {
  act([](Scene& scene) {
    constexpr auto nobody = std::errc::no_such_process;
    Running child(scene.os(), {.entry = "exit_with", .arguments = {"7"}, .fds = {}, .blocked = {}});
    child.end();
    // Init may need some time to reap an orphan.
    const auto sent = [&] { return scene.os().signal_process(child.process(), Signal::resume); };
    Status last = sent();
    for (const os::Instant end = scene.os().now() + contract::patience;
         last && scene.os().now() < end;) {
      last = sent();
    }
    EXPECT_TRUE(fails(last, Call::signal_process, nobody));
    EXPECT_TRUE(fails(scene.os().open_process(child.pid()), Call::open_process, nobody));
  });
}

TEST_P(ProcessesContract, a_process_whose_end_nobody_wants_is_known_to_be_dead_E7) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const auto child = value_of(os.spawn(
        {.entry = "exit_with", .arguments = {"7"}, .fds = {}, .blocked = {}, .end_wanted = false}));
    const UniqueFd process(os, child.process);
    ASSERT_TRUE(contract::wait_for(os, process.get()));
    const auto ended = os.wait_child(process.get());
    EXPECT_TRUE(!ended || *ended == (ChildExit{.code = 7, .killed = false}));
  });
}

TEST_P(ProcessesContract, a_process_descriptor_is_readable_when_the_process_is_dead) {
  act([](Scene& scene) {
    Waiting waiting(scene);
    Running& child = waiting.child;
    const UniqueFd another(scene.os(), value_of(scene.os().open_process(child.pid())));
    EXPECT_FALSE(look_at(scene.os(), child.process()).readable);
    EXPECT_EQ(value_of(scene.os().wait_child(child.process())), std::nullopt);
    EXPECT_EQ(child.kill(), (ChildExit{.code = sigkill, .killed = true}));
    EXPECT_TRUE(look_at(scene.os(), child.process()).readable);
    EXPECT_TRUE(look_at(scene.os(), another.get()).readable);
  });
}

TEST_P(ProcessesContract, a_process_can_be_named_that_is_no_child) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const UniqueFd self(os, value_of(os.open_process(os.process_id())));
    EXPECT_FALSE(look_at(os, self.get()).readable);
    EXPECT_TRUE(fails(os.open_process(-1), Call::open_process, std::errc::invalid_argument));
    EXPECT_TRUE(fails(os.wait_child(Fd::none), Call::wait_child, std::errc::invalid_argument));
  });
}

TEST_P(ProcessesContract, a_child_knows_its_entry_its_arguments_and_its_pid) {
  act([](Scene& scene) {
    Pipe pipe = scene.pipe();
    const std::vector<os::PassedFd> fds = {{.here = pipe.write.get(), .number_there = 3}};
    Running sayer(scene.os(),
                  {.entry = "say", .arguments = {"a b", "", "c"}, .fds = fds, .blocked = {}});
    sayer.end();
    EXPECT_EQ(read_some(scene.os(), pipe.read.get()), "a b\n\nc\n");
    Running child(scene.os(), {.entry = "say_id", .arguments = {}, .fds = fds, .blocked = {}});
    child.end();
    EXPECT_EQ(read_some(scene.os(), pipe.read.get()), std::to_string(child.pid()));
    EXPECT_NE(child.pid(), sayer.pid());
  });
}

TEST_P(ProcessesContract, a_process_has_a_token_that_no_other_has_E8) {
  act([](Scene& scene) {
    const std::uint64_t own = scene.os().process_token();
    EXPECT_NE(own, 0U);
    const Pipe pipe = scene.pipe();
    std::set<std::string> seen = {std::to_string(own)};
    for (int i = 0; i < 3; ++i) {
      Running child(scene.os(),
                    {.entry = "say_token",
                     .arguments = {},
                     .fds = {{.here = pipe.write.get(), .number_there = 3}},
                     .blocked = {}});
      child.end();
      seen.insert(read_some(scene.os(), pipe.read.get()));
    }
    EXPECT_EQ(seen.size(), 4U);
    EXPECT_EQ(scene.os().process_token(), own);
  });
}

/// The environment that a child reports that is started with these variables.
std::string told_with(Scene& scene,
                      std::vector<std::pair<std::string, std::string>> variables,
                      std::vector<std::string> arguments,
                      const std::string& entry = "say_environment") {
  const Pipe pipe = scene.pipe();
  Running sayer(scene.os(),
                {.entry = entry,
                 .arguments = std::move(arguments),
                 .fds = {{.here = pipe.write.get(), .number_there = 3}},
                 .blocked = {},
                 .environment = std::move(variables)});
  EXPECT_EQ(sayer.end(), ChildExit{});
  return read_some(scene.os(), pipe.read.get());
}

TEST_P(ProcessesContract, a_child_has_the_variables_it_is_given_and_its_parent_has_not) {
  act([](Scene& scene) {
    EXPECT_EQ(
        told_with(scene,
                  {{"LASTREF_ONE", "1"}, {"LASTREF_TWO", "a=b c"}, {"LASTREF_EMPTY", ""}},
                  {"LASTREF_ONE", "LASTREF_TWO", "LASTREF_EMPTY", "LASTREF_NOBODY_SETS_THIS"}),
        "1\na=b c\n\nnone\n");
    EXPECT_EQ(scene.os().environment("LASTREF_ONE"), std::nullopt);
    EXPECT_EQ(told_with(scene, {}, {"LASTREF_ONE"}), "none\n");
  });
}

TEST_P(ProcessesContract, a_given_variable_replaces_that_of_the_same_name_and_no_other) {
  act([](Scene& scene) {
    EXPECT_EQ(told_with(scene,
                        {{"LASTREF_A", "first"}, {"LASTREF_AB", "other"}, {"LASTREF_A", "last"}},
                        {"LASTREF_A", "LASTREF_AB"}),
              "last\nother\n");
  });
}

TEST_P(ProcessesContract, children_of_a_child_inherit_the_variables_it_was_given) {
  act([](Scene& scene) {
    EXPECT_EQ(told_with(scene, {{"LASTREF_A", "1"}}, {"say_environment", "LASTREF_A"}, "pass_on"),
              "1\n");
  });
}

TEST_P(ProcessesContract, a_child_gets_what_it_is_passed_and_nothing_else) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const UniqueFd file = scene.create("file");
    const UniqueFd folder = scene.open(scene.folder(), {.folder = true});
    const UniqueFd memory(os, value_of(os.create_shm(scene.unique_name(), 0600)));
    const UniqueFd door = scene.listener("socket");
    const Pair pair = scene.pair();
    const Pipe pipe = scene.pipe();
    const UniqueFd process(os, value_of(os.open_process(os.process_id())));
    Running none(os, {.entry = "count_fds", .arguments = {}, .fds = {}, .blocked = {}});
    EXPECT_EQ(none.end().code, 0);
    Running two(
        os,
        {.entry = "count_fds",
         .arguments = {},
         .fds = {{.here = file.get(), .number_there = 3}, {.here = file.get(), .number_there = 90}},
         .blocked = {}});
    EXPECT_EQ(two.end().code, 2);
    EXPECT_TRUE(worked(os.unlink_shm(scene.unique_name())));
    scene.remove("file");
    scene.remove("socket");
  });
}

TEST_P(ProcessesContract, received_descriptors_are_not_inherited) {
  act([](Scene& scene) {
    const Pair pair = scene.pair();
    const std::array fds = {pair.left.get()};
    EXPECT_TRUE(worked(scene.os().send(pair.left.get(), os::bytes_of("m"), fds)));
    std::array<std::byte, 8> buffer{};
    const os::Received received = value_of(scene.os().receive(pair.right.get(), buffer));
    ASSERT_EQ(received.fds.size(), 1U);
    const UniqueFd copy(scene.os(), received.fds[0]);
    Running child(scene.os(), {.entry = "count_fds", .arguments = {}, .fds = {}, .blocked = {}});
    EXPECT_EQ(child.end().code, 0);
  });
}

TEST_P(ProcessesContract, numbers_of_passed_descriptors_may_cross) {
  act([](Scene& scene) {
    const Pipe first = scene.pipe();
    const Pipe second = scene.pipe();
    Running child(scene.os(),
                  {.entry = "swap_fds",
                   .arguments = {},
                   .fds = {{.here = first.write.get(), .number_there = 3},
                           {.here = second.write.get(), .number_there = 4}},
                   .blocked = {}});
    EXPECT_EQ(child.end(), ChildExit{});
    EXPECT_EQ(read_some(scene.os(), first.read.get()), "four");
    EXPECT_EQ(read_some(scene.os(), second.read.get()), "three");
  });
}

TEST_P(ProcessesContract, a_descriptor_that_is_not_open_cannot_be_passed) {
  act([](Scene& scene) {
    EXPECT_TRUE(fails(scene.os().spawn({.entry = "exit_with",
                                        .arguments = {"0"},
                                        .fds = {{.here = Fd{9999}, .number_there = 3}},
                                        .blocked = {}}),
                      Call::spawn,
                      std::errc::bad_file_descriptor));
  });
}

TEST_P(ProcessesContract, death_closes_what_the_process_had) {
  act([](Scene& scene) {
    Pipe pipe = scene.pipe();
    const Pipe until = scene.pipe();
    Running child(scene.os(),
                  {.entry = "wait",
                   .arguments = {},
                   .fds = {{.here = until.read.get(), .number_there = 3},
                           {.here = pipe.write.get(), .number_there = 4}},
                   .blocked = {}});
    pipe.write.close_quietly();
    EXPECT_FALSE(look_at(scene.os(), pipe.read.get()).hung_up);
    child.kill();
    EXPECT_TRUE(look_at(scene.os(), pipe.read.get()).hung_up);
  });
}

TEST_P(ProcessesContract, a_stopped_child_goes_on_when_it_is_resumed) {
  act([](Scene& scene) {
    Pair pair = scene.pair();
    Running child(scene.os(),
                  {.entry = "echo",
                   .arguments = {},
                   .fds = {{.here = pair.right.get(), .number_there = 3}},
                   .blocked = {}});
    pair.right.close_quietly();
    EXPECT_TRUE(worked(scene.os().signal_process(child.process(), Signal::stop)));
    EXPECT_TRUE(worked(contract::send_text(scene.os(), pair.left.get(), "hello")));
    EXPECT_EQ(value_of(scene.os().wait_child(child.process())), std::nullopt);
    EXPECT_TRUE(worked(scene.os().signal_process(child.process(), Signal::resume)));
    EXPECT_EQ(contract::next_message(scene.os(), pair.left.get()), "hello");
    pair.left.close_quietly();
    EXPECT_EQ(child.end(), ChildExit{});
  });
}

TEST_P(ProcessesContract, a_stopped_child_dies_of_kill_and_when_it_is_resumed_of_others) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    Waiting waiting(scene);
    EXPECT_TRUE(worked(os.signal_process(waiting.child.process(), Signal::stop)));
    EXPECT_TRUE(worked(os.signal_process(waiting.child.process(), Signal::terminate)));
    // Not to check whether it runs: a stop that has not yet taken effect comes after it. signal(7)
    EXPECT_TRUE(worked(os.signal_process(waiting.child.process(), Signal::resume)));
    EXPECT_EQ(waiting.child.end(), (ChildExit{.code = sigterm, .killed = true}));
    Waiting other(scene);
    EXPECT_TRUE(worked(os.signal_process(other.child.process(), Signal::stop)));
    EXPECT_EQ(other.child.kill(), (ChildExit{.code = sigkill, .killed = true}));
  });
}

TEST_P(ProcessesContract, a_process_can_kill_itself) {
  act([](Scene& scene) {
    Running child(scene.os(), {.entry = "kill_itself", .arguments = {}, .fds = {}, .blocked = {}});
    EXPECT_EQ(child.end(), (ChildExit{.code = sigkill, .killed = true}));
  });
}

TEST_P(ProcessesContract, an_unblocked_signal_ends_a_child) {
  act([](Scene& scene) {
    Waiting waiting(scene);
    EXPECT_TRUE(worked(scene.os().signal_process(waiting.child.process(), Signal::terminate)));
    EXPECT_EQ(waiting.child.end(), (ChildExit{.code = sigterm, .killed = true}));
  });
}

TEST_P(ProcessesContract, a_signal_blocked_from_the_first_instant_never_ends_who_will_ignore_it) {
  act([](Scene& scene) {
    Pipe until = scene.pipe();
    Pipe words = scene.pipe();
    Running child(scene.os(),
                  {.entry = "ignore_signals",
                   .arguments = {},
                   .fds = {{.here = until.read.get(), .number_there = 3},
                           {.here = words.write.get(), .number_there = 4}},
                   .blocked = {Signal::interrupt, Signal::terminate}});
    words.write.close_quietly();
    const auto signal_both = [&] {
      EXPECT_TRUE(worked(scene.os().signal_process(child.process(), Signal::interrupt)));
      EXPECT_TRUE(worked(scene.os().signal_process(child.process(), Signal::terminate)));
    };
    signal_both();
    EXPECT_EQ(read_some(scene.os(), words.read.get()), "ready");
    signal_both();
    until.write.close_quietly();
    EXPECT_EQ(child.end(), ChildExit{});
  });
}

TEST_P(ProcessesContract, a_child_does_not_inherit_that_signals_are_ignored) {
  act([](Scene& scene) {
    const Pipe until = scene.pipe();
    Running child(scene.os(),
                  {.entry = "interrupt_child",
                   .arguments = {},
                   .fds = {{.here = until.read.get(), .number_there = 3}},
                   .blocked = {}});
    EXPECT_EQ(child.end(), (ChildExit{.code = 100 + sigint, .killed = false}));
  });
}

TEST_P(ProcessesContract, kill_and_stop_cannot_be_ignored) {
  act([](Scene& scene) {
    constexpr auto invalid = std::errc::invalid_argument;
    EXPECT_TRUE(fails(scene.os().ignore_signal(Signal::kill), Call::ignore_signal, invalid));
    EXPECT_TRUE(fails(scene.os().ignore_signal(Signal::stop), Call::ignore_signal, invalid));
  });
}

class ThreadsContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(ThreadsContract);

TEST_P(ThreadsContract, a_joined_thread_has_run) {
  act([](Scene& scene) {
    bool ran = false;
    const auto thread = value_of(scene.os().start_thread([&] { ran = true; }));
    thread->join();
    EXPECT_TRUE(ran);
  });
}

TEST_P(ThreadsContract, threads_share_descriptors_and_the_process) {
  act([](Scene& scene) {
    const Pipe pipe = scene.pipe();
    os::Pid pid = 0;
    const auto thread = value_of(scene.os().start_thread([&] {
      pid = scene.os().process_id();
      static_cast<void>(os::write_all(scene.os(), pipe.write.get(), os::bytes_of("x")));
    }));
    EXPECT_EQ(read_some(scene.os(), pipe.read.get()), "x");
    thread->join();
    EXPECT_EQ(pid, scene.os().process_id());
  });
}

TEST_P(ThreadsContract, every_thread_has_a_number_of_its_own_and_the_first_that_of_the_process) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const Pipe until = scene.pipe();
    std::array<os::Pid, 2> numbers{};
    std::vector<std::unique_ptr<os::Thread>> threads;
    for (os::Pid& number : numbers) {
      threads.push_back(value_of(os.start_thread([&os, &until, &number] {
        number = os.thread_id();
        EXPECT_EQ(os.thread_id(), number);
        contract::wait_for(os, until.read.get());
      })));
    }
    Waiting waiting(scene);
    EXPECT_TRUE(worked(os::write_all(os, until.write.get(), os::bytes_of("x"))));
    for (const auto& thread : threads) {
      thread->join();
    }
    EXPECT_EQ(os.thread_id(), os.process_id());
    const std::set<os::Pid> all{numbers[0], numbers[1], os.process_id(), waiting.child.pid()};
    EXPECT_EQ(all.size(), 4U);
    EXPECT_GT(*all.begin(), 0);
  });
}

TEST_P(ThreadsContract, a_monitor_lets_one_thread_in_and_wakes_who_waits) {
  act([](Scene& scene) {
    constexpr int rounds = 1000;
    const auto monitor = scene.os().make_monitor();
    int turn = 0;
    const auto play = [&](int remainder) {
      for (int i = 0; i < rounds; ++i) {
        const os::MonitorLock held(*monitor);
        while (turn % 2 != remainder) {
          monitor->wait();
        }
        ++turn;
        monitor->notify_all();
      }
    };
    const auto thread = value_of(scene.os().start_thread([&] { play(1); }));
    play(0);
    thread->join();
    EXPECT_EQ(turn, 2 * rounds);
  });
}

TEST_P(ProcessesContract, there_is_a_processor_and_a_child_sees_as_many) {
  act([](Scene& scene) {
    const unsigned here = scene.os().processors();
    EXPECT_GE(here, 1U);
    EXPECT_EQ(scene.os().processors(), here);
    Running child(scene.os(),
                  {.entry = "count_processors", .arguments = {}, .fds = {}, .blocked = {}});
    EXPECT_EQ(child.end().code, static_cast<int>(here));
  });
}

class ChanceContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(ChanceContract);

TEST_P(ChanceContract, entropy_fills_every_byte_and_differs) {
  act([](Scene& scene) {
    std::set<std::string> seen;
    for (int i = 0; i < 100; ++i) {
      seen.insert(contract::random_text(scene.os()));
    }
    EXPECT_EQ(seen.size(), 100U);
    EXPECT_TRUE(worked(scene.os().entropy({})));
  });
}

TEST_P(ChanceContract, the_clock_never_goes_back) {
  act([](Scene& scene) {
    os::Instant last = scene.os().now();
    for (int i = 0; i < 1000; ++i) {
      const os::Instant now = scene.os().now();
      EXPECT_GE(now, last);
      last = now;
    }
  });
}

TEST_P(ChanceContract, what_is_not_in_the_environment_has_no_value) {
  act([](Scene& scene) {
    EXPECT_EQ(scene.os().environment("LASTREF_NOBODY_SETS_THIS"), std::nullopt);
  });
}

class ExitContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(ExitContract);

/// What a child wrote to 3 before it exited with this code.
std::string said_by(Scene& scene,
                    const std::string& entry,
                    std::vector<std::string> words,
                    int code) {
  Pipe pipe = scene.pipe();
  Running child(scene.os(),
                {.entry = entry,
                 .arguments = std::move(words),
                 .fds = {{.here = pipe.write.get(), .number_there = 3}},
                 .blocked = {}});
  pipe.write.close_quietly();
  EXPECT_EQ(child.end(), (ChildExit{.code = code, .killed = false}));
  return read_some(scene.os(), pipe.read.get());
}

TEST_P(ExitContract, actions_run_when_the_process_ends_the_last_registered_first) {
  act([](Scene& scene) {
    EXPECT_EQ(said_by(scene, "say_at_exit", {"one", "two", "three"}, 7), "three\ntwo\none\n");
  });
}

TEST_P(ExitContract, an_action_that_was_taken_back_does_not_run_and_one_may_register_another) {
  act([](Scene& scene) { EXPECT_EQ(said_by(scene, "change_exit", {}, 0), "edcf"); });
}

/// A child that has written "ready", and writes "over" when it exits.
struct Ready {
  explicit Ready(Scene& scene)
      : until(scene.pipe()),
        words(scene.pipe()),
        child(scene.os(),
              {.entry = "wait_and_say",
               .arguments = {},
               .fds = {{.here = until.read.get(), .number_there = 3},
                       {.here = words.write.get(), .number_there = 4}},
               .blocked = {}}) {
    words.write.close_quietly();
    EXPECT_EQ(read_some(scene.os(), words.read.get()), "ready");
  }

  Pipe until;
  Pipe words;
  Running child;
};

TEST_P(ExitContract, no_action_runs_before_the_end) {
  act([](Scene& scene) {
    Ready ready(scene);
    EXPECT_FALSE(contract::look_at(scene.os(), ready.words.read.get()).readable);
    ready.until.write.close_quietly();
    EXPECT_EQ(ready.child.end(), ChildExit{});
    EXPECT_EQ(read_some(scene.os(), ready.words.read.get()), "over");
  });
}

TEST_P(ExitContract, no_action_of_a_process_that_is_killed_runs) {
  act([](Scene& scene) {
    Ready ready(scene);
    EXPECT_EQ(ready.child.kill(), (ChildExit{.code = sigkill, .killed = true}));
    EXPECT_EQ(read_some(scene.os(), ready.words.read.get()), "");
  });
}

TEST_P(ExitContract, what_is_taken_back_before_the_end_is_as_if_it_had_never_been) {
  act([](Scene& scene) {
    int runs = 0;
    auto hook = scene.os().at_exit([&] { ++runs; });
    hook.reset();
    EXPECT_EQ(runs, 0);
  });
}

class NumbersContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(NumbersContract);

TEST_P(NumbersContract, no_descriptor_is_0_1_or_2_whichever_of_them_are_closed_E1) {
  act([](Scene& scene) {
    for (const char* const closed : {"", "0", "1", "2", "01", "02", "12", "012"}) {
      Running child(scene.os(),
                    {.entry = "make_without",
                     .arguments = {closed, scene.folder()},
                     .fds = {},
                     .blocked = {}});
      EXPECT_EQ(child.end(), ChildExit{}) << "without " << closed;
    }
  });
}

}  // namespace
}  // namespace lastref
