#include <algorithm>

#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// A leftover of a process that died in a crash of its machine.
const std::string lock_of_the_dead = "1-00000000000000000000000000000000.lock";

Status make(Stage& stage, StageCache& cache) {
  LASTREF_CHECK(cache.make(1));
  must_be(stage,
          "C6: what a dead process has left of a cache goes when the next one is made",
          std::ranges::count(stage.outside().list(stage.folder()), lock_of_the_dead) == 0,
          "it is there");
  return ok();
}

Status end(StageCache& cache, const Status& made) {
  if (made) {
    cache.close();
  }
  return first_failure({made, cache.first_failed()});
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  stage.outside().write(stage.folder() + '/' + lock_of_the_dead, "");
  StageCache there(stage, "there");
  StageCache here(stage, "here");
  Status made_there;
  auto thread = stage.os().start_thread([&] { made_there = make(stage, there); });
  const Status made_here = make(stage, here);
  if (thread) {
    (*thread)->join();
  }
  // It sweeps where both are.
  StageCache later(stage, "later");
  const Status made_later = end(later, make(stage, later));
  const Status started = stage.start("other");
  stage.await("other is done");
  // Each has a lock next to its file.
  const std::size_t names = stage.outside().list(stage.folder()).size();
  must_be(stage,
          "E3: no lock is dropped by a sweep of the process that holds it",
          names == 4,
          "of 4 names " + std::to_string(names) + " are there");
  return first_failure({status_of(thread),
                        made_later,
                        started,
                        thread ? end(there, made_there) : ok(),
                        end(here, made_here)});
}

/// It would remove every file with a lock that no process holds.
Status other(Stage& stage) {
  StageCache cache(stage, "another");
  const Status joined = stage.product().join();
  const Status ended = end(cache, joined ? cache.make(1) : joined);
  stage.tell("other is done");
  return ended;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two threads make a cache each where a dead process has left something: whoever is first "
          "takes it away, and the other goes on. Their process sweeps again, then another does, "
          "and "
          "neither takes one of them.",
      .rows = {"C6", "E3", "M7"},
      .roles = {{"root", root}, {"other", other}},
      .stays = {"file:" + lock_of_the_dead},
  };
});

}  // namespace
}  // namespace lastref::harness
