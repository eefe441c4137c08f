// os_contract_exit_test: which actions a process runs at its end, and when it does not.
#include "property_tests/impl/os/contract.hpp"

namespace lastref {
namespace {

using contract::Pipe;
using contract::read_some;
using contract::Running;
using contract::Scene;
using os::ChildExit;

constexpr int sigkill = 9;

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

}  // namespace
}  // namespace lastref
