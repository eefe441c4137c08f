#include <vector>

#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr Parameter<std::uint64_t> thread_count = {
    .name = "threads", .usual = 3, .values = {1, 2, 3, 5}, .unit = "threads"};

Status root_of_threads(Stage& stage) {
  Product& product = stage.product();
  const std::uint64_t threads = stage.value(thread_count);
  StageCache cache(stage, "cache");
  StageCache own(stage, "own");
  SlotCacheOptions for_threads = drawn_cache_options(stage);
  for_threads.is_thread_safe = true;
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(cache.make(static_cast<std::int64_t>(threads) + 1, drawn_cache_options(stage)));
  LASTREF_CHECK(own.make_file_cache(static_cast<std::int64_t>(threads), for_threads));
  must_be(stage,
          "C8: a thread-safe cache reports that it is",
          own.is_multithread_safe(),
          "it does not");
  std::vector<std::unique_ptr<os::Thread>> running;
  Status started;
  for (std::uint64_t number = 0; number < threads; ++number) {
    const Status one = product.operation("start a thread", [&]() -> Status {
      LASTREF_TRY(thread, stage.os().start_thread([&cache, &own, threads, number] {
        const std::string name = "thread " + std::to_string(number);
        cache.put(number, value_of(number, name));
        cache.put(threads, value_of(threads, name));
        cache.get(threads);
        own.put(number, value_of(number, name));
        own.get(number);
      }));
      running.push_back(std::move(thread));
      return ok();
    });
    started = first_failure({started, one});
  }
  for (const auto& thread : running) {
    thread->join();
  }
  for (std::uint64_t number = 0; number < threads; ++number) {
    const std::string value = value_of(number, "thread " + std::to_string(number));
    must_have(stage, cache, number, value);
    must_have(stage, own, number, value);
  }
  must_be(stage, "C3: one of the threads fills the slot", cache.has(threads), "no value");
  cache.close();
  own.close();
  return first_failure({started, cache.first_failed(), own.first_failed()});
}

/// The copy does not know where its parent has put the last value: it would put its own there.
void must_be_refused(Stage& stage, StageCache& own) {
  stage.await("the parent has put");
  const Result<bool> put = own.put_as_a_copy(1, value_of(1, "child"));
  must_be(stage,
          "E8: a forked child is refused a single-process cache",
          !put && put.error().code == std::errc::operation_not_permitted,
          put ? "it was not" : describe(put.error()));
}

/// Forks while another thread is in a call.
Status root_of_a_fork(Stage& stage) {
  StageCache cache(stage, "cache");
  StageCache own(stage, "own");
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(cache.make(8));
  LASTREF_CHECK(own.make_file_cache(2));
  LASTREF_TRY(thread, stage.os().start_thread([&cache] {
    for (std::uint64_t slot = 0; slot < 3; ++slot) {
      cache.put(slot, value_of(slot, "thread"));
    }
  }));
  stage.fork_stranger([&] {
    cache.put(4, value_of(4, "child"));
    cache.get(4);
    // Closes only its copy of the object.
    cache.close();
    must_be_refused(stage, own);
    stage.tell("the child is done");
    return cache.first_failed();
  });
  own.put(1, value_of(1, stage.role()));
  stage.tell("the parent has put");
  stage.await("the child is done");
  thread->join();
  must_have(stage, own, 1, value_of(1, stage.role()));
  must_have(stage, cache, 4, value_of(4, "child"));
  must_have(stage, cache, 2, value_of(2, "thread"));
  // Longer than everything mapped so far.
  cache.put(5, value_of(5, stage.role(), os::map_alignment));
  must_have(stage, cache, 5, value_of(5, stage.role(), os::map_alignment));
  cache.close();
  own.close();
  return first_failure({cache.first_failed(), own.first_failed()});
}

/// A worker is stopped at any point, and no process waits for it.
Status root_that_stops_a_writer(Stage& stage) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(cache.make(8));
  stage.send("cache", cache.handle());
  LASTREF_CHECK(stage.start("worker"));
  stage.await("worker puts");
  stage.stop("worker");
  for (std::uint64_t slot = 0; slot < 8; ++slot) {
    cache.put(slot, value_of(slot, stage.role()));
    must_be(stage, "C3: no process waits for a stopped writer", cache.has(slot), "no value");
  }
  const bool is_still_stopped = stage.resume("worker");
  stage.tell("root has put");
  if (!is_still_stopped) {
    stage.refute("C3: no process waits for a stopped writer", "it had to continue first");
  }
  stage.await("worker is done");
  cache.close();
  return cache.first_failed();
}

Status worker_to_be_stopped(Stage& stage) {
  StageCache cache(stage, "cache");
  const Status attached = join_and_attach(stage, cache);
  if (attached) {
    stage.tell("worker puts");
    for (std::uint64_t slot = 0; slot < 8; ++slot) {
      cache.put(slot, value_of(slot, stage.role()));
    }
    stage.await("root has put");  // A process that has ended cannot be resumed.
  }
  stage.tell("worker is done");
  return first_failure({attached, cache.first_failed()});
}

/// The process that made it is killed; the root continues to read, and puts too.
Status root_of_a_maker(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(stage.start("maker"));
  StageCache cache(stage, "cache");
  LASTREF_CHECK(attach_sent(stage, cache));
  cache.put(1, value_of(1, stage.role()));
  stage.kill("maker");
  // The tracker knows of the death by now, or learns it before it answers.
  const Status probed = product.client().probe();
  must_have(stage, cache, 0, value_of(0, "maker"));
  must_have(stage, cache, 1, value_of(1, stage.role()));
  cache.put(2, value_of(2, stage.role()));
  must_have(stage, cache, 2, value_of(2, stage.role()));
  cache.close();
  return first_failure({probed, cache.first_failed()});
}

Status maker(Stage& stage) {
  StageCache cache(stage, "cache");
  const auto make = [&]() -> Status {
    LASTREF_CHECK(stage.product().join());
    LASTREF_CHECK(cache.make(3, drawn_cache_options(stage)));
    cache.put(0, value_of(0, stage.role()));
    return ok();
  };
  Status made = make();
  // Without a cache this is never attached.
  stage.send("cache", made ? cache.handle() : std::string());
  stage.stay_until_killed();
  return made;
}

const RegisteredScenario threads_share_cache([] {
  return Scenario{
      .name = "caches/threads_share_cache",
      .sentence =
          "Threads of one process put and get through one object, each slot once. The objects are "
          "a multi-process cache and a thread-safe single-process cache.",
      .rows = {"C3", "C8"},
      .roles = {{"root", root_of_threads}},
      .parameters = {thread_count, durable},
  };
});

const RegisteredScenario forked_child_shares_cache([] {
  return Scenario{
      .name = "caches/forked_child_shares_cache",
      .sentence =
          "A child is forked while a thread puts. It uses its copy without waiting, and removes "
          "nothing when it closes the copy. It is refused the parent's single-process cache.",
      .rows = {"C3", "C6", "E8"},
      .roles = {{"root", root_of_a_fork}},
      .kernel_only = true,
  };
});

const RegisteredScenario stopped_writer_blocks_no_process([] {
  return Scenario{
      .name = "caches/stopped_writer_blocks_no_process",
      .sentence = "A writer is stopped at any point. All other processes can still put and get.",
      .rows = {"C3", "C4"},
      .roles = {{"root", root_that_stops_a_writer}, {"worker", worker_to_be_stopped}},
      .outside_matrix = "its claim depends on where the scenario stops the writer",
  };
});

const RegisteredScenario cache_maker_is_killed([] {
  return Scenario{
      .name = "caches/cache_maker_is_killed",
      .sentence =
          "The process that made a cache is killed. Its file is removed, and a process that "
          "attached it can still read and put.",
      .rows = {"C6"},
      .roles = {{"root", root_of_a_maker}, {"maker", maker}},
      .parameters = {durable},
      // If the tracker learns of the maker's death after the root has left.
      .possible_noise = {"the last process of the tree has ended: removing 2 files"},
  };
});

}  // namespace
}  // namespace lastref::harness
