#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr Parameter<std::int64_t> length = {
    .name = "slots", .usual = 4, .values = {4, 5, 9}, .unit = "slots"};
constexpr std::uint64_t shared = 3;
/// Of the racers' values; most are longer than one piece of a write.
constexpr Parameter<std::size_t> size = {
    .name = "size", .usual = 10'000, .values = {40, 4096, 10'000}, .unit = "bytes"};

/// Makes the cache, which two workers use until they are done.
Status share(Stage& stage, StageCache& cache, std::int64_t slots) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(cache.make(slots, drawn_cache_options(stage)));
  stage.send("cache", cache.handle());
  LASTREF_CHECK(stage.start("worker_1"));
  LASTREF_CHECK(stage.start("worker_2"));
  stage.await("worker_1 is done");
  stage.await("worker_2 is done");
  return ok();
}

Status root(Stage& stage) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(share(stage, cache, stage.value(length)));
  must_have(stage, cache, 1, value_of(1, "worker_1"));
  must_have(stage, cache, 2, value_of(2, "worker_2"));
  must_be(stage, "C4: one of two writers fills the slot", cache.has(shared), "no value");
  must_be(stage,
          "C7: the cache is preserved",
          cache.preserve("kept", /*overwrite=*/false) == true,
          "preserve returned false");
  cache.close();
  return cache.first_failed();
}

Status worker(Stage& stage) {
  StageCache cache(stage, "cache");
  const Status attached = join_and_attach(stage, cache);
  if (attached) {
    const std::uint64_t own = stage.role() == "worker_1" ? 1 : 2;
    must_be(stage,
            "C2: an empty slot accepts a value",
            cache.put(own, value_of(own, stage.role())) == true,
            "put was false");
    cache.put(shared, value_of(shared, stage.role()));
    for (std::uint64_t slot = 0; slot < static_cast<std::uint64_t>(stage.value(length)); ++slot) {
      cache.get(slot);
    }
    cache.get_checked(own);
  }
  stage.tell(stage.role() + " is done");
  return first_failure({attached, cache.first_failed()});
}

Status racer(Stage& stage) {
  StageCache cache(stage, "cache");
  const Status attached = join_and_attach(stage, cache);
  if (attached) {
    cache.put(0, value_of(0, stage.role(), stage.value(size)));
    must_be(stage, "C4: after a put the slot has a value", cache.has(0), "no value");
  }
  stage.tell(stage.role() + " is done");
  return first_failure({attached, cache.first_failed()});
}

Status root_of_racers(Stage& stage) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(share(stage, cache, 1));
  must_be(stage, "C3: one of two writers fills the slot", cache.has(0), "no value");
  cache.close();
  return cache.first_failed();
}

const RegisteredScenario two_workers_share_cache([] {
  return Scenario{
      .name = "caches/two_workers_share_cache",
      .sentence =
          "Two workers put and get, then the cache is preserved. Whichever process dies, a slot "
          "has no value or a whole one, and only the preserved file is left.",
      .rows = {"C1", "C2", "C3", "C4", "C6", "C7"},
      .roles = {{"root", root}, {"worker_1", worker}, {"worker_2", worker}},
      .parameters = {length, durable},
      .stays = {"file:kept"},
  };
});

const RegisteredScenario two_writers_of_one_slot([] {
  return Scenario{
      .name = "caches/two_writers_of_one_slot",
      .sentence =
          "Two writers put into one slot. One put returns true, and all processes see its whole "
          "value.",
      .rows = {"C3", "C4"},
      .roles = {{"root", root_of_racers}, {"worker_1", racer}, {"worker_2", racer}},
      .parameters = {size, durable},
  };
});

}  // namespace
}  // namespace lastref::harness
