#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr Parameter<std::uint64_t> length = {
    .name = "slots", .usual = 2, .values = {1, 2, 3}, .unit = "slots"};
constexpr Parameter<std::size_t> size = {
    .name = "size", .usual = 40, .values = {32, 33, 40, 1000}, .unit = "bytes"};
constexpr Parameter<bool> is_durable = {.name = "durable", .usual = true};

Status root(Stage& stage) {
  StageCache cache(stage, "cache");
  SlotCacheOptions options = cache_options(stage);
  const std::uint64_t slots = stage.value(length);
  options.size_limit = space_for(slots, stage.value(size));
  options.is_durable = stage.value(is_durable);
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(cache.make(static_cast<std::int64_t>(slots), options));
  stage.send("cache", cache.handle());
  LASTREF_CHECK(stage.start("worker_1"));
  LASTREF_CHECK(stage.start("worker_2"));
  stage.await("worker_1 is done");
  stage.await("worker_2 is done");
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    // Whatever happened to the workers, there is space for the last one to put.
    cache.put(slot, value_of(slot, stage.role(), stage.value(size)));
    must_be(stage, "C5: there is space for each value", cache.has(slot), "no value");
  }
  cache.close();
  return cache.first_failed();
}

/// From both ends, so that they race with one value and with two.
Status worker(Stage& stage) {
  StageCache cache(stage, "cache");
  const Status attached = join_and_attach(stage, cache);
  if (attached) {
    const std::uint64_t slots = stage.value(length);
    for (std::uint64_t at = 0; at < slots; ++at) {
      const std::uint64_t slot = stage.role() == "worker_1" ? at : slots - 1 - at;
      cache.put(slot, value_of(slot, stage.role(), stage.value(size)));
      must_be(stage, "C5: a lost race uses no space", cache.has(slot), "no value");
    }
  }
  stage.tell(stage.role() + " is done");
  return first_failure({attached, cache.first_failed()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two workers put values that together fill the limit of a durable cache exactly. Lost "
          "races, failed puts and kills use no space, and no put is refused.",
      .rows = {"C3", "C4", "C5", "C9"},
      .roles = {{"root", root}, {"worker_1", worker}, {"worker_2", worker}},
      .parameters = {length, size, is_durable},
  };
});

}  // namespace
}  // namespace lastref::harness
