#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t big = 6 * page_size;

/// `take` removes and `give` returns space; in between a big value finds none.
Status put_without_space(Stage& stage,
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
  must_be(stage,
          "C5: a put without space returns false",
          cache.put(1, large_one) == false,
          "put was true");
  must_have(stage, cache, 1, std::nullopt);
  must_have(stage, cache, 0, first);
  // The space of the partly written big one is free again.
  must_be(stage,
          "C5: a failed put affects no other value",
          cache.put(2, value_of(2, stage.role())) == true,
          "put was false");
  give();
  must_be(stage,
          "C5: with space again the put succeeds",
          cache.put(1, large_one) == true,
          "put was false");
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
  must_be(stage,
          "E14: a put without space returns false",
          cache.put(1, value) == false,
          "put was true");
  must_have(stage, cache, 1, std::nullopt);
  stage.limits().copying_storage(enough);
  must_be(
      stage, "C5: with space again the put succeeds", cache.put(1, value) == true, "put was false");
  must_have(stage, cache, 1, value);
  cache.close();
  return cache.first_failed();
}

Status root_on_a_full_disk(Stage& stage) {
  return put_without_space(
      stage,
      [&] { return stage.limits().storage(2 * page_size, 64); },
      [&] { stage.limits().free_storage(); });
}

Status root_with_short_files(Stage& stage) {
  return put_without_space(
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
  must_be(
      stage, "C1: making a cache without an inode is an error", !made.has_value(), "it was made");
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
  must_be(stage,
          "C1: making a cache without space for slots is an error",
          !made.has_value(),
          "it was made");
  stage.limits().free_storage();
  return ok();
}

const RegisteredScenario put_hits_full_disk([] {
  return Scenario{
      .name = "caches/put_hits_full_disk",
      .sentence =
          "A put finds the disk full: it returns false with one warning and frees what it wrote. "
          "Small values still fit. With space again the same put succeeds.",
      .rows = {"C4", "C5"},
      .roles = {{"root", root_on_a_full_disk}},
      .expected_noise = {"lastref cache: no space for the "},
      .caches_refuse = true,
  };
});

const RegisteredScenario put_hits_file_size_limit([] {
  return Scenario{
      .name = "caches/put_hits_file_size_limit",
      .sentence =
          "A put exceeds the file size limit (RLIMIT_FSIZE). It returns false with one warning, "
          "and no process dies.",
      .rows = {"C5"},
      .roles = {{"root", root_with_short_files}},
      .expected_noise = {"lastref cache: no space for the "},
      .caches_refuse = true,
  };
});

const RegisteredScenario put_hits_full_copy_on_write_disk([] {
  return Scenario{
      .name = "caches/put_hits_full_copy_on_write_disk",
      .sentence =
          "A put finds a full disk on which a store into a map needs space too. It returns false "
          "and no process dies, because the slots are elsewhere.",
      .rows = {"E14"},
      .roles = {{"root", root_on_a_copying_disk}},
      .possible_noise = {"lastref cache: no space for the "},
      .outside_matrix = "only the simulated kernel has such a disk",
      .caches_refuse = true,
  };
});

const RegisteredScenario make_without_inodes([] {
  return Scenario{
      .name = "caches/make_without_inodes",
      .sentence =
          "Making a cache without a free inode is an error that leaves nothing. With a free inode "
          "it succeeds.",
      .rows = {"C1"},
      .roles = {{"root", root_without_inodes}},
      .failing_operations = {"make a cache"},
  };
});

const RegisteredScenario make_without_space_for_slots([] {
  return Scenario{
      .name = "caches/make_without_space_for_slots",
      .sentence = "A cache is not made if its slots find no space, and nothing is left.",
      .rows = {"C1", "C4"},
      .roles = {{"root", root_without_space_for_slots}},
      .failing_operations = {"make a cache"},
  };
});

}  // namespace
}  // namespace lastref::harness
