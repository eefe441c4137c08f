#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root_of_a_durable_cache(Stage& stage) {
  StageCache cache(stage, "cache");
  CacheOptions options = cache_options(stage);
  options.is_durable = true;
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(cache.make(2, options));
  cache.put(0, value_of(0, stage.role()));
  must_have(stage, cache, 0, value_of(0, stage.role()));
  must_be(stage,
          "C9: it is preserved",
          cache.preserve("kept", /*overwrite=*/true) == true,
          "it is not");
  cache.close();
  return cache.first_failed();
}

Status root_of_a_file_cache(Stage& stage) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(stage.product().lead());
  stage.work_in(stage.folder());
  const CacheOptions here{.folder = std::string(1, '.')};
  LASTREF_CHECK(cache.make_file_cache(3, here));
  StageCache memory(stage, "memory");
  LASTREF_CHECK(memory.make_naive_cache(3, here));
  stage.work_in(stage.spare_folder());
  // Its file no longer has a name.
  must_be(stage,
          "C8: the file of one process has no name",
          stage.outside().list(stage.folder()).empty(),
          "it has");
  for (std::uint64_t slot = 0; slot <= 2; slot += 2) {
    cache.put(slot, value_of(slot, stage.role()));
    must_have(stage, cache, slot, value_of(slot, stage.role()));
  }
  must_be(stage,
          "C8: it is preserved",
          cache.preserve("kept", /*overwrite=*/false) == true,
          "it is not");
  cache.close();
  StageCache loaded(stage, "loaded");
  LASTREF_CHECK(loaded.make(3));
  must_be(stage, "C8: what one preserves another loads", loaded.preload("kept") == true, "not");
  must_have(stage, loaded, 2, value_of(2, stage.role()));
  must_have(stage, loaded, 1, std::nullopt);
  loaded.close();
  must_be(stage,
          "E2: the folder of a cache is where it was when the cache was made",
          memory.preload("kept") == true,
          "what lies in it is not loaded");
  must_have(stage, memory, 0, value_of(0, "root"));
  memory.close();
  return first_failure({cache.first_failed(), loaded.first_failed(), memory.first_failed()});
}

const RegisteredScenario a_durable_cache([] {
  return Scenario{
      .name = "caches/a_durable_cache",
      .sentence =
          "A durable cache syncs a value before anybody sees it; a sync that fails is told.",
      .rows = {"C9"},
      .roles = {{"root", root_of_a_durable_cache}},
      .stays = {"file:kept"},
  };
});

const RegisteredScenario a_file_cache_of_one_process([] {
  return Scenario{
      .name = "caches/a_file_cache_of_one_process",
      .sentence =
          "The file of a cache of one process has no name, so nothing is left whenever that dies; "
          "what it preserves, in the folder that it was given before the program went elsewhere, "
          "the other kinds load.",
      .rows = {"C8", "E2"},
      .roles = {{"root", root_of_a_file_cache}},
      .stays = {"file:kept"},
  };
});

}  // namespace
}  // namespace lastref::harness
