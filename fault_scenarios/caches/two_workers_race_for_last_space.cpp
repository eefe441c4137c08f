#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::uint64_t length = 2;
constexpr std::size_t size = 40;
/// Head and slots, and for each value its head and its bytes, in units of sixteen.
constexpr std::int64_t space_for_all = 272 + static_cast<std::int64_t>(length) * 64;

Status root(Stage& stage) {
  StageCache cache(stage, "cache");
  CacheOptions options = cache_options(stage);
  options.size_limit = space_for_all;
  options.is_durable = true;
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(cache.make(static_cast<std::int64_t>(length), options));
  stage.send("cache", cache.handle());
  LASTREF_CHECK(stage.start("worker_1"));
  LASTREF_CHECK(stage.start("worker_2"));
  stage.await("worker_1 is done");
  stage.await("worker_2 is done");
  for (std::uint64_t slot = 0; slot < length; ++slot) {
    // Whatever happened to the workers, there is space for the last one to put.
    cache.put(slot, value_of(slot, stage.role(), size));
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
    for (std::uint64_t at = 0; at < length; ++at) {
      const std::uint64_t slot = stage.role() == "worker_1" ? at : length - 1 - at;
      cache.put(slot, value_of(slot, stage.role(), size));
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
  };
});

}  // namespace
}  // namespace lastref::harness
