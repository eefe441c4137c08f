#include <algorithm>

#include "fault_scenarios/caches/caches.hpp"
#include "fault_scenarios/support/caches.hpp"

namespace lastref::harness {
namespace {

/// What a process has left that a machine took along when it went down.
const std::string lock_of_the_dead = "1-00000000000000000000000000000000.lock";

Status use(Stage& stage, const std::string& name) {
  StageCache cache(stage, name);
  LASTREF_CHECK(cache.make(1));
  must_be(stage,
          "C6: what a dead process has left of a cache goes when the next one is made",
          std::ranges::count(stage.outside().list(stage.folder()), lock_of_the_dead) == 0,
          "it is there");
  cache.close();
  return cache.first_failed();
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  stage.outside().write(stage.folder() + '/' + lock_of_the_dead, "");
  Status there;
  const auto thread = stage.os().start_thread([&] { there = use(stage, "there"); });
  const Status here = use(stage, "here");
  if (thread) {
    (*thread)->join();
  }
  return first_failure({status_of(thread), there, here});
}

}  // namespace

Scenario two_caches_sweep_at_once() {
  return {
      .name = "caches/two_caches_sweep_at_once",
      .sentence =
          "Two threads make a cache each where a dead process has left something: whoever is first "
          "takes it away, and the other goes on.",
      .rows = {"C6", "M7"},
      .roles = {{"root", root}},
      .stays = {"file:" + lock_of_the_dead},
  };
}

}  // namespace lastref::harness
