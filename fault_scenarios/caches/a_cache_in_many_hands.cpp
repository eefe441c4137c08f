#include <vector>

#include "fault_scenarios/caches/caches.hpp"
#include "fault_scenarios/support/caches.hpp"

namespace lastref::harness {
namespace {

constexpr std::uint64_t threads = 3;

void root_of_threads(Stage& stage) {
  StageCache cache(stage, "cache");
  if (!stage.product().lead() || !cache.make(threads + 1)) {
    return;
  }
  std::vector<std::unique_ptr<os::Thread>> running;
  for (std::uint64_t number = 0; number < threads; ++number) {
    static_cast<void>(stage.product().operation("start a thread", [&]() -> Status {
      LASTREF_TRY(thread, stage.os().start_thread([&cache, number] {
        const std::string name = "thread " + std::to_string(number);
        static_cast<void>(cache.put(number, value_of(number, name)));
        static_cast<void>(cache.put(threads, value_of(threads, name)));
        static_cast<void>(cache.get(threads));
      }));
      running.push_back(std::move(thread));
      return ok();
    }));
  }
  for (const auto& thread : running) {
    thread->join();
  }
  for (std::uint64_t number = 0; number < threads; ++number) {
    must_have(stage, cache, number, value_of(number, "thread " + std::to_string(number)));
  }
  must_be(stage, "C3: one of the threads has the slot", cache.get(threads).has_value(), "none");
  static_cast<void>(cache.close());
}

/// Forked in the middle of what another thread does.
void root_of_a_fork(Stage& stage) {
  StageCache cache(stage, "cache");
  if (!stage.product().lead() || !cache.make(8)) {
    return;
  }
  auto thread = stage.os().start_thread([&cache] {
    for (std::uint64_t slot = 0; slot < 3; ++slot) {
      static_cast<void>(cache.put(slot, value_of(slot, "thread")));
    }
  });
  if (!thread) {
    return;
  }
  stage.fork_stranger([&] {
    static_cast<void>(cache.put(4, value_of(4, "child")));
    static_cast<void>(cache.get(4));
    // Its copy of the object, and nothing else.
    static_cast<void>(cache.close());
    stage.tell("the child is done");
  });
  stage.await("the child is done");
  (*thread)->join();
  must_have(stage, cache, 4, value_of(4, "child"));
  must_have(stage, cache, 2, value_of(2, "thread"));
  static_cast<void>(cache.put(5, value_of(5, stage.role())));
  must_have(stage, cache, 5, value_of(5, stage.role()));
  static_cast<void>(cache.close());
}

/// A worker is held still wherever it is, and nobody waits for it.
void root_that_stops_a_writer(Stage& stage) {
  StageCache cache(stage, "cache");
  if (!stage.product().lead() || !cache.make(8)) {
    return;
  }
  stage.send("cache", cache.handle());
  if (!stage.start("worker")) {
    return;
  }
  stage.await("worker puts");
  stage.stop("worker");
  for (std::uint64_t slot = 0; slot < 8; ++slot) {
    static_cast<void>(cache.put(slot, value_of(slot, stage.role())));
    must_be(stage, "C3: nobody waits for who is stopped", cache.get(slot).has_value(), "no value");
  }
  if (!stage.resume("worker")) {
    stage.refute("C3: nobody waits for who is stopped", "it had to go on first");
  }
  stage.await("worker is done");
  static_cast<void>(cache.close());
}

void worker_to_be_stopped(Stage& stage) {
  StageCache cache(stage, "cache");
  if (stage.product().join() && attach_sent(stage, cache)) {
    stage.tell("worker puts");
    for (std::uint64_t slot = 0; slot < 8; ++slot) {
      static_cast<void>(cache.put(slot, value_of(slot, stage.role())));
    }
  }
  stage.tell("worker is done");
}

/// The process that made it is killed; the root, who reads on, puts too.
void root_of_a_maker(Stage& stage) {
  if (!stage.product().lead() || !stage.start("maker")) {
    return;
  }
  StageCache cache(stage, "cache");
  if (!attach_sent(stage, cache)) {
    return;
  }
  static_cast<void>(cache.put(1, value_of(1, stage.role())));
  stage.kill("maker");
  // The tracker knows it by now, or learns it before it answers.
  static_cast<void>(stage.product().client().probe());
  must_have(stage, cache, 0, value_of(0, "maker"));
  must_have(stage, cache, 1, value_of(1, stage.role()));
  static_cast<void>(cache.put(2, value_of(2, stage.role())));
  must_have(stage, cache, 2, value_of(2, stage.role()));
  static_cast<void>(cache.close());
}

void maker(Stage& stage) {
  StageCache cache(stage, "cache");
  if (stage.product().join() && cache.make(3)) {
    static_cast<void>(cache.put(0, value_of(0, stage.role())));
    stage.send("cache", cache.handle());
  } else {
    stage.tell("cache");
  }
  stage.stay_until_killed();
}

}  // namespace

Scenario threads_share_a_cache() {
  return {
      .name = "caches/threads_share_a_cache",
      .sentence = "Threads of one process put and get through one object, each slot once.",
      .rows = {"C3"},
      .roles = {{"root", root_of_threads}},
  };
}

Scenario a_forked_child_shares_a_cache() {
  return {
      .name = "caches/a_forked_child_shares_a_cache",
      .sentence =
          "A child that was forked while a thread puts goes on with its copy, waits for nobody, "
          "and "
          "takes nothing along when it closes it.",
      .rows = {"C3", "C6"},
      .roles = {{"root", root_of_a_fork}},
      .kernel_only = true,
  };
}

Scenario a_stopped_writer_holds_nobody_up() {
  return {
      .name = "caches/a_stopped_writer_holds_nobody_up",
      .sentence = "A writer is stopped wherever it is: all others put and get.",
      .rows = {"C3", "C4"},
      .roles = {{"root", root_that_stops_a_writer}, {"worker", worker_to_be_stopped}},
      .in_matrix = false,
  };
}

Scenario the_maker_of_a_cache_is_killed() {
  return {
      .name = "caches/the_maker_of_a_cache_is_killed",
      .sentence =
          "The process that made a cache is killed: its file goes, and who has attached it reads "
          "and puts on.",
      .rows = {"C6"},
      .roles = {{"root", root_of_a_maker}, {"maker", maker}},
      // Where the maker's death is heard of after the root's leave.
      .possible_noise = {"the last process of the tree left 2 files"},
  };
}

}  // namespace lastref::harness
