#include "fault_scenarios/caches/caches.hpp"
#include "fault_scenarios/support/caches.hpp"

namespace lastref::harness {
namespace {

constexpr std::int64_t length = 2;
constexpr std::size_t size = 40;
/// Head and slots, and for each value its head and itself, in sixteens.
constexpr std::int64_t room_for_all = 272 + length * 64;

void root(Stage& stage) {
  StageCache cache(stage, "cache");
  CacheOptions options = cache_options(stage);
  options.size_limit = room_for_all;
  if (!stage.product().lead() || !cache.make(length, options)) {
    return;
  }
  stage.send("cache", cache.handle());
  if (!stage.start("worker_1") || !stage.start("worker_2")) {
    return;
  }
  stage.await("worker_1 is done");
  stage.await("worker_2 is done");
  for (std::uint64_t slot = 0; slot < static_cast<std::uint64_t>(length); ++slot) {
    // Whatever became of the workers, there is room for who comes last.
    static_cast<void>(cache.put(slot, value_of(slot, stage.role(), size)));
    must_be(stage, "C5: there is room for each value", cache.get(slot).has_value(), "no value");
  }
  static_cast<void>(cache.close());
}

void worker(Stage& stage) {
  StageCache cache(stage, "cache");
  if (stage.product().join() && attach_sent(stage, cache)) {
    for (std::uint64_t slot = 0; slot < static_cast<std::uint64_t>(length); ++slot) {
      static_cast<void>(cache.put(slot, value_of(slot, stage.role(), size)));
      must_be(stage, "C5: a lost race fills nothing", cache.get(slot).has_value(), "no value");
    }
  }
  stage.tell(stage.role() + " is done");
}

}  // namespace

Scenario two_workers_race_for_the_last_room() {
  return {
      .name = "caches/two_workers_race_for_the_last_room",
      .sentence =
          "Two workers put each value of a cache whose limit is exactly that of all values: lost "
          "races, failed puts and kills take nothing of it, and no put is refused.",
      .rows = {"C3", "C4", "C5"},
      .roles = {{"root", root}, {"worker_1", worker}, {"worker_2", worker}},
  };
}

}  // namespace lastref::harness
