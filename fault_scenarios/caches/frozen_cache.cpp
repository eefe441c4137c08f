#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::int64_t length = 3;
/// Of the value that exceeds the limit: by much, or by its last byte.
constexpr Parameter<std::size_t> size = {
    .name = "size", .usual = 1000, .values = {225, 1000}, .unit = "bytes"};

Status root_of_a_limit(Stage& stage) {
  StageCache cache(stage, "cache");
  SlotCacheOptions options = drawn_cache_options(stage);
  options.size_limit = 600;
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(cache.make(length, options));
  cache.put(0, value_of(0, stage.role()));
  stage.send("cache", cache.handle());
  LASTREF_CHECK(stage.start("worker"));
  stage.await("worker is done");
  must_be(stage,
          "C5: a put beyond the limit freezes the cache for all",
          cache.put(2, "small") == false,
          "a later put succeeded");
  must_have(stage, cache, 0, value_of(0, stage.role()));
  cache.close();
  return cache.first_failed();
}

Status worker_at_the_limit(Stage& stage) {
  StageCache cache(stage, "cache");
  const Status attached = join_and_attach(stage, cache);
  if (attached) {
    must_be(stage,
            "C5: a put beyond the limit returns false",
            cache.put(1, value_of(1, stage.role(), stage.value(size))) == false,
            "put was true");
    must_have(stage, cache, 0, value_of(0, "root"));
  }
  stage.tell("worker is done");
  return first_failure({attached, cache.first_failed()});
}

/// Preserves while a worker puts.
Status root_that_preserves(Stage& stage) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(cache.make(length, drawn_cache_options(stage)));
  cache.put(0, value_of(0, stage.role()));
  stage.send("cache", cache.handle());
  LASTREF_CHECK(stage.start("worker"));
  stage.await("worker puts");
  must_be(stage,
          "C7: the cache is preserved",
          cache.preserve("kept", /*overwrite=*/true) == true,
          "preserve returned false");
  stage.await("worker is done");
  // The preserved cache has the content of this one, and nothing came later.
  StageCache other(stage, "other");
  LASTREF_CHECK(other.make_file_cache(length));
  must_be(
      stage, "C7: the cache is preloaded", other.preload("kept") == true, "preload returned false");
  for (std::uint64_t slot = 0; slot < static_cast<std::uint64_t>(length); ++slot) {
    must_have(stage, other, slot, cache.get(slot).value_or(std::nullopt));
  }
  other.close();
  cache.close();
  return first_failure({other.first_failed(), cache.first_failed()});
}

Status worker_that_puts(Stage& stage) {
  StageCache cache(stage, "cache");
  const Status attached = join_and_attach(stage, cache);
  stage.tell("worker puts");
  if (attached) {
    for (std::uint64_t slot = 1; slot <= 2; ++slot) {
      const auto stored = cache.put(slot, value_of(slot, stage.role()));
      if (stored) {
        must_have(stage,
                  cache,
                  slot,
                  *stored ? std::optional(value_of(slot, stage.role())) : std::nullopt);
      }
    }
  }
  stage.tell("worker is done");
  return first_failure({attached, cache.first_failed()});
}

/// Preloads while a worker has the old one.
Status root_that_preloads(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  Status first_failed;
  {
    StageCache first(stage, "first");
    LASTREF_CHECK(first.make(length, drawn_cache_options(stage)));
    first.put(1, value_of(1, "first"));
    LASTREF_TRY(preserved, first.preserve("kept", /*overwrite=*/true));
    if (!preserved) {
      return ok();
    }
    first.close();
    first_failed = first.first_failed();
  }
  StageCache cache(stage, "cache");
  LASTREF_CHECK(cache.make(length));
  cache.put(0, value_of(0, stage.role()));
  stage.send("cache", cache.handle());
  LASTREF_CHECK(stage.start("worker"));
  stage.await("worker has it");
  must_be(
      stage, "C7: the cache is preloaded", cache.preload("kept") == true, "preload returned false");
  must_have(stage, cache, 0, std::nullopt);
  must_have(stage, cache, 1, value_of(1, "first"));
  must_be(stage, "C7: a preloaded cache is frozen", cache.put(2, "late") == false, "put was true");
  stage.send("loaded", cache.handle());
  stage.await("worker is done");
  cache.close();
  return first_failure({first_failed, cache.first_failed()});
}

Status read_both(Stage& stage, StageCache& cache) {
  StageCache loaded(stage, "loaded");
  LASTREF_CHECK(attach_loaded(stage, loaded, "loaded"));
  must_have(stage, cache, 0, value_of(0, "root"));
  must_have(stage, loaded, 1, value_of(1, "first"));
  return first_failure({cache.first_failed(), loaded.first_failed()});
}

Status worker_with_the_old_one(Stage& stage) {
  StageCache cache(stage, "cache");
  const Status attached = join_and_attach(stage, cache);
  stage.tell("worker has it");
  Status read = attached ? read_both(stage, cache) : attached;
  stage.tell("worker is done");
  return read;
}

const RegisteredScenario full_cache_freezes([] {
  return Scenario{
      .name = "caches/full_cache_freezes",
      .sentence =
          "A put by a worker exceeds the limit of the cache. Every process sees that the cache is "
          "frozen.",
      .rows = {"C5"},
      .roles = {{"root", root_of_a_limit}, {"worker", worker_at_the_limit}},
      .parameters = {size, durable},
      .caches_refuse = true,
  };
});

const RegisteredScenario preserve_during_put([] {
  return Scenario{
      .name = "caches/preserve_during_put",
      .sentence =
          "A cache is preserved while a worker puts. Each accepted value is in the file, and each "
          "value that is not in the file was refused.",
      .rows = {"C7", "C8"},
      .roles = {{"root", root_that_preserves}, {"worker", worker_that_puts}},
      .parameters = {durable},
      .stays = {"file:kept"},
  };
});

const RegisteredScenario preload_during_use([] {
  return Scenario{
      .name = "caches/preload_during_use",
      .sentence =
          "A cache loads a preserved one while a worker has its old file attached. The worker can "
          "still read that file, which no longer has a name. The new one can be attached.",
      .rows = {"C6", "C7"},
      .roles = {{"root", root_that_preloads}, {"worker", worker_with_the_old_one}},
      .parameters = {durable},
      .stays = {"file:kept"},
  };
});

}  // namespace
}  // namespace lastref::harness
