#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr Parameter<std::size_t> size = {
    .name = "size", .usual = 40, .values = {40, 4096, 10'000}, .unit = "bytes"};

Status root_of_a_durable_cache(Stage& stage) {
  StageCache cache(stage, "cache");
  SlotCacheOptions options = cache_options(stage);
  options.is_durable = true;
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(cache.make(2, options));
  const std::string value = value_of(0, stage.role(), stage.value(size));
  cache.put(0, value);
  must_have(stage, cache, 0, value);
  must_be(stage,
          "C9: the cache is preserved",
          cache.preserve("kept", /*overwrite=*/true) == true,
          "preserve returned false");
  cache.close();
  return cache.first_failed();
}

Status root_of_a_file_cache(Stage& stage) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(stage.product().lead());
  stage.work_in(stage.folder());
  SlotCacheOptions here = drawn_cache_options(stage);
  here.folder = std::string(1, '.');
  LASTREF_CHECK(cache.make_file_cache(3, here));
  StageCache memory(stage, "memory");
  LASTREF_CHECK(memory.make_naive_cache(3, here));
  stage.work_in(stage.spare_folder());
  // Its file no longer has a name.
  must_be(stage,
          "C8: the file of a single-process cache has no name",
          stage.outside().list(stage.folder()).empty(),
          "it has one");
  for (std::uint64_t slot = 0; slot <= 2; slot += 2) {
    cache.put(slot, value_of(slot, stage.role()));
    must_have(stage, cache, slot, value_of(slot, stage.role()));
  }
  cache.get(0);  // If its put failed, it has no value of another slot either.
  must_be(stage,
          "C8: the cache is preserved",
          cache.preserve("kept", /*overwrite=*/false) == true,
          "preserve returned false");
  cache.close();
  StageCache loaded(stage, "loaded");
  LASTREF_CHECK(loaded.make(3));
  must_be(
      stage, "C8: another kind loads it", loaded.preload("kept") == true, "preload returned false");
  must_have(stage, loaded, 2, value_of(2, stage.role()));
  must_have(stage, loaded, 1, std::nullopt);
  loaded.close();
  must_be(stage,
          "E2: the folder of a cache is resolved when the cache is made",
          memory.preload("kept") == true,
          "preload returned false");
  must_have(stage, memory, 0, value_of(0, "root"));
  memory.close();
  return first_failure({cache.first_failed(), loaded.first_failed(), memory.first_failed()});
}

const RegisteredScenario durable_put_syncs_first([] {
  return Scenario{
      .name = "caches/durable_put_syncs_first",
      .sentence =
          "A durable cache syncs a value before any process can read it. A failed sync is "
          "reported.",
      .rows = {"C9"},
      .roles = {{"root", root_of_a_durable_cache}},
      .parameters = {size},
      .stays = {"file:kept"},
  };
});

const RegisteredScenario single_process_cache_is_preserved([] {
  return Scenario{
      .name = "caches/single_process_cache_is_preserved",
      .sentence =
          "The file of a single-process cache has no name, so nothing is left when its process "
          "dies. The cache is preserved in its folder, even after a change of the working folder. "
          "The other kinds load the result.",
      .rows = {"C8", "E2"},
      .roles = {{"root", root_of_a_file_cache}},
      .parameters = {durable},
      .stays = {"file:kept"},
  };
});

}  // namespace
}  // namespace lastref::harness
