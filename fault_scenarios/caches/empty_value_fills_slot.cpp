#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr const char* claim = "C2: an empty value is a value";

Status root(Stage& stage) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(cache.make(2, drawn_cache_options(stage)));
  must_be(stage, claim, cache.put(0, "") == true, "put was false");
  must_have(stage, cache, 0, "");
  must_be(stage, claim, cache.put(0, "another") == false, "it was replaced");
  stage.send("cache", cache.handle());
  LASTREF_CHECK(stage.start("worker"));
  stage.await("worker is done");
  cache.close();
  return cache.first_failed();
}

Status worker(Stage& stage) {
  StageCache cache(stage, "cache");
  const Status attached = join_and_attach(stage, cache);
  if (attached) {
    must_have(stage, cache, 0, "");
    must_be(stage, claim, !cache.has(1), "a slot without a put has one");
  }
  stage.tell("worker is done");
  return first_failure({attached, cache.first_failed()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "An empty value is put into a slot. Other processes see it too, and no second value "
          "replaces it.",
      .rows = {"C2"},
      .roles = {{"root", root}, {"worker", worker}},
      .parameters = {durable},
  };
});

}  // namespace
}  // namespace lastref::harness
