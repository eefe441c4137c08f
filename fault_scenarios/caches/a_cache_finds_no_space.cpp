#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t big = 6 * page_size;

/// `take` removes and `give` returns space; in between a big value finds none.
Status meet_the_end(Stage& stage,
                    const std::function<bool()>& take,
                    const std::function<void()>& give) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(cache.make(4));
  const std::string first = value_of(0, stage.role(), page_size);
  const std::string large_one = value_of(1, stage.role(), big);
  cache.put(0, first);
  if (!take()) {
    give();
    return ok();
  }
  must_be(stage, "C5: no space is false", cache.put(1, large_one) == false, "put was true");
  must_have(stage, cache, 1, std::nullopt);
  must_have(stage, cache, 0, first);
  // The space of the partly written big one is free again.
  must_be(stage,
          "C5: no space for one value changes nothing for others",
          cache.put(2, value_of(2, stage.role())) == true,
          "put was false");
  give();
  must_be(stage, "C5: with space again it is put", cache.put(1, large_one) == true, "false");
  must_have(stage, cache, 1, large_one);
  cache.close();
  return cache.first_failed();
}

Status root_on_a_copying_disk(Stage& stage) {
  constexpr std::uint64_t enough = 64 * page_size;
  LASTREF_CHECK(stage.product().lead());
  if (!stage.limits().copying_storage(enough)) {
    return ok();
  }
  StageCache cache(stage, "cache");
  LASTREF_CHECK(cache.make(4, {.folder = stage.spare_folder()}));
  const std::string value = value_of(1, stage.role(), big);
  stage.limits().copying_storage(0);
  must_be(stage, "E14: no space is false", cache.put(1, value) == false, "put was true");
  must_have(stage, cache, 1, std::nullopt);
  stage.limits().copying_storage(enough);
  must_be(stage, "C5: with space again it is put", cache.put(1, value) == true, "false");
  must_have(stage, cache, 1, value);
  cache.close();
  return cache.first_failed();
}

Status root_on_a_full_disk(Stage& stage) {
  return meet_the_end(
      stage,
      [&] { return stage.limits().storage(2 * page_size, 64); },
      [&] { stage.limits().free_storage(); });
}

Status root_with_short_files(Stage& stage) {
  return meet_the_end(
      stage,
      [&] {
        stage.limits().file_size(3 * page_size);
        return true;
      },
      [&] { stage.limits().file_size(1U << 30U); });
}

Status root_without_inodes(Stage& stage) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(stage.product().lead());
  if (!stage.limits().storage(64 * page_size, 0)) {
    return ok();
  }
  const Status made = cache.make(4);
  must_be(stage, "C1: a cache without a file is an error", !made.has_value(), "it was made");
  stage.limits().free_storage();
  if (made) {
    return ok();
  }
  LASTREF_CHECK(cache.make(4));
  cache.put(0, value_of(0, stage.role()));
  must_have(stage, cache, 0, value_of(0, stage.role()));
  cache.close();
  return cache.first_failed();
}

Status root_without_space_for_slots(Stage& stage) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(stage.product().lead());
  if (!stage.limits().storage(page_size, 64)) {
    return ok();
  }
  // Slots of eight bytes, in twice the space: it fails now, and not when a slot is stored.
  const Status made = cache.make(2 * page_size / 8);
  must_be(stage, "C1: slots without space are an error", !made.has_value(), "it was made");
  stage.limits().free_storage();
  return ok();
}

const RegisteredScenario a_cache_meets_a_full_disk([] {
  return Scenario{
      .name = "caches/a_cache_meets_a_full_disk",
      .sentence =
          "A put finds the disk full: one warning and false, what it had written is given back, "
          "small values go on, and when the disk frees the same value is put.",
      .rows = {"C4", "C5"},
      .roles = {{"root", root_on_a_full_disk}},
      .expected_noise = {"lastref cache: no space for the "},
      .caches_refuse = true,
  };
});

const RegisteredScenario a_cache_may_not_be_so_long([] {
  return Scenario{
      .name = "caches/a_cache_may_not_be_so_long",
      .sentence =
          "A put meets the limit of a file's size (RLIMIT_FSIZE): one warning and false, of which "
          "nobody dies.",
      .rows = {"C5"},
      .roles = {{"root", root_with_short_files}},
      .expected_noise = {"lastref cache: no space for the "},
      .caches_refuse = true,
  };
});

const RegisteredScenario a_copying_disk_is_full([] {
  return Scenario{
      .name = "caches/a_copying_disk_is_full",
      .sentence =
          "A put finds a disk full on which a store into a map needs space as well: false, of "
          "which nobody dies, for the slots lie elsewhere.",
      .rows = {"E14"},
      .roles = {{"root", root_on_a_copying_disk}},
      .possible_noise = {"lastref cache: no space for the "},
      .outside_matrix = "only the simulated kernel has such a disk",
      .caches_refuse = true,
  };
});

const RegisteredScenario a_cache_has_no_inode([] {
  return Scenario{
      .name = "caches/a_cache_has_no_inode",
      .sentence = "No inode for a cache is an error that leaves nothing; with one it is made.",
      .rows = {"C1"},
      .roles = {{"root", root_without_inodes}},
      .failing_operations = {"make a cache"},
  };
});

const RegisteredScenario a_cache_has_no_space_for_slots([] {
  return Scenario{
      .name = "caches/a_cache_has_no_space_for_slots",
      .sentence = "A cache whose slots find no space is not made, and leaves nothing.",
      .rows = {"C1", "C4"},
      .roles = {{"root", root_without_space_for_slots}},
      .failing_operations = {"make a cache"},
  };
});

}  // namespace
}  // namespace lastref::harness
