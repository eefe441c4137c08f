#include <algorithm>

#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// A leftover of a process that died in a crash of its machine.
const std::string leftover_lock = "1-00000000000000000000000000000000.lock";

Status make(Stage& stage, StageCache& cache) {
  LASTREF_CHECK(cache.make(1, drawn_cache_options(stage)));
  must_be(stage,
          "C6: the next make removes a dead process's leftovers",
          std::ranges::count(stage.outside().list(stage.folder()), leftover_lock) == 0,
          "one still exists");
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
  stage.outside().write(stage.folder() + '/' + leftover_lock, "");
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
          "E3: a sweep drops no lock of its own process",
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
          "Two threads each make a cache where a dead process has left a file. The first one "
          "removes it, and the other continues. Later sweeps, by their process and by another, "
          "remove neither cache.",
      .rows = {"C6", "E3", "M7"},
      .roles = {{"root", root}, {"other", other}},
      .parameters = {durable},
      .stays = {"file:" + leftover_lock},
  };
});

}  // namespace
}  // namespace lastref::harness
