#include <algorithm>

#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

std::string path_of(const StageCache& cache) {
  const std::string handle = cache.handle();
  return handle.substr(handle.find('/'));
}

Status root_of_an_unlinked_file(Stage& stage) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(cache.make(3));
  cache.put(0, value_of(0, stage.role()));
  const std::string handle = cache.handle();
  const std::string path = path_of(cache);
  stage.outside().unlink(path);
  cache.put(1, value_of(1, stage.role()));
  must_have(stage, cache, 0, value_of(0, stage.role()));
  must_have(stage, cache, 1, value_of(1, stage.role()));
  // Another file takes its place: it is not taken for the cache, and remains.
  stage.outside().write(path, "precious");
  StageCache other(stage, "other");
  must_be(stage, "C7: another file is no cache", !other.attach(handle), "it was attached");
  cache.close();
  must_be(stage,
          "C6: what is not ours is not removed",
          stage.outside().list(stage.folder()).size() == 1,
          "it is gone");
  stage.outside().unlink(path);
  return cache.first_failed();
}

Status maker_of_a_replaced_file(Stage& stage) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(stage.product().join());
  LASTREF_CHECK(cache.make(3));
  stage.send("the cache is made", path_of(cache));
  stage.stay_until_killed();
  return cache.first_failed();
}

Status root_of_a_replaced_file(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(stage.start("maker"));
  const auto path = stage.receive("the cache is made");
  if (!path) {
    return ok();
  }
  stage.outside().unlink(*path);
  stage.outside().write(*path, "precious");
  stage.kill("maker");
  stage.wait_for_quiet();  // The tracker cleans up after it.
  const auto names = stage.outside().list(stage.folder());
  must_be(stage,
          "E4: what has the name of a dead process's cache, and is another file, stays",
          std::ranges::find(names, path->substr(stage.folder().size() + 1)) != names.end(),
          "it is gone");
  stage.outside().unlink(*path);
  return ok();
}

/// A word in the format of files: eight bytes, little-endian.
std::string word(std::uint64_t number) {
  std::string bytes;
  for (unsigned shift = 0; shift < 64; shift += 8) {
    bytes += static_cast<char>(number >> shift & 0xffU);
  }
  return bytes;
}

/// The slots of a cache, the first of which points to a record after them, and the head of that
/// record: a size with the slot above it, and a count.
std::string file_with(std::uint64_t slot, std::uint64_t size) {
  constexpr std::size_t slots_at = 256;
  constexpr std::uint64_t record_at = 320;
  constexpr unsigned slot_shift = 48;
  std::string bytes(slots_at, '\0');
  bytes += word(record_at);
  bytes.resize(record_at, '\0');
  return bytes + word(size | slot << slot_shift) + word(0);
}

Status root_of_a_cut_file(Stage& stage) {
  Product& product = stage.product();
  StageCache cache(stage, "cache");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(cache.make(3));
  cache.put(0, value_of(0, stage.role()));
  const std::string path = path_of(cache);
  const std::string of_another = file_with(/*slot=*/1, /*size=*/0);
  const std::string too_long = file_with(/*slot=*/0, /*size=*/1);
  for (const std::string& bytes : {std::string("short"), of_another, too_long}) {
    stage.outside().write(path, bytes);
    Result<bool> told = false;
    may_fail(product.operation("get what was cut off", [&]() -> Status {
      LASTREF_TRY(found, cache.checked(0));
      told = found.has_value();
      return ok();
    }));
    must_be(stage, "C7: what was cut off is an error", !told.value(), "it was read");
  }
  cache.close();
  return cache.first_failed();
}

Status root_of_hostile_files(Stage& stage) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(stage.product().lead());
  LASTREF_CHECK(cache.make(2));
  cache.put(0, value_of(0, stage.role()));
  const std::string path = stage.folder() + "/hostile";
  // Two slots: the first has eight bytes and claims to have 256, and the second has none.
  constexpr auto none = ~std::uint64_t{0};
  const std::string too_long = word(32) + word(256) + word(0) + word(none) + word(0);
  for (const std::string& bytes :
       {std::string(), std::string(31, '\1'), std::string(40, '\1'), too_long}) {
    stage.outside().write(path, bytes);
    must_be(stage, "C7: a hostile file is refused", !cache.preload("hostile"), "it was loaded");
  }
  stage.outside().unlink(path);
  stage.outside().symlink(stage.folder() + "/elsewhere", path);
  must_be(stage, "C7: a link is not followed", !cache.preload("hostile"), "it was loaded");
  must_be(stage,
          "C7: what has the name is left alone",
          cache.preserve("hostile", /*overwrite=*/false) == false,
          "it was replaced");
  stage.outside().unlink(path);
  must_have(stage, cache, 0, value_of(0, stage.role()));
  must_be(stage, "C7: the cache goes on", cache.put(1, "one") == true, "it is frozen");
  return cache.close();  // The refused operation has failed.
}

const RegisteredScenario an_outsider_unlinks_a_cache([] {
  return Scenario{
      .name = "caches/an_outsider_unlinks_a_cache",
      .sentence =
          "An outsider unlinks a cache's file and puts another in its place: the cache goes on, "
          "and "
          "neither takes that for its own nor removes it.",
      .rows = {"C6", "C7"},
      .roles = {{"root", root_of_an_unlinked_file}},
      .failing_operations = {"attach a cache"},
      .outside_matrix = "whoever dies before it takes the outsider's file away leaves it",
  };
});

const RegisteredScenario an_outsider_replaces_a_cache([] {
  return Scenario{
      .name = "caches/an_outsider_replaces_a_cache",
      .sentence =
          "A cache's file is another's when its maker is killed: it is left alone, and told "
          "of.",
      .rows = {"E4", "C6"},
      .roles = {{"root", root_of_a_replaced_file}, {"maker", maker_of_a_replaced_file}},
      .expected_noise = {"is left alone: it is not what was counted by that name"},
      .possible_noise = {"the last process of the tree left"},
      .outside_matrix = "whoever dies before it takes the outsider's file away leaves it",
  };
});

const RegisteredScenario an_outsider_cuts_a_cache_off([] {
  return Scenario{
      .name = "caches/an_outsider_cuts_a_cache_off",
      .sentence =
          "An outsider makes a cache's file shorter, or has a slot point at the record of another, "
          "or at one longer than the file: get_checked survives it and says so.",
      .rows = {"C7"},
      .roles = {{"root", root_of_a_cut_file}},
      .failing_operations = {"get what was cut off"},
  };
});

const RegisteredScenario a_hostile_file_is_not_loaded([] {
  return Scenario{
      .name = "caches/a_hostile_file_is_not_loaded",
      .sentence = "Files that are no preserved cache, and links, are refused; the cache goes on.",
      .rows = {"C7"},
      .roles = {{"root", root_of_hostile_files}},
      .failing_operations = {"freeze"},
      .stays = {"file:hostile"},
  };
});

}  // namespace
}  // namespace lastref::harness
