#include <algorithm>

#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

std::string path_of(const StageCache& cache) {
  const std::string handle = cache.handle();
  return handle.substr(handle.find('/'));
}

bool is_there(Stage& stage, const std::string& path) {
  return std::ranges::count(stage.outside().list(stage.folder()),
                            path.substr(stage.folder().size() + 1)) > 0;
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
  must_be(stage, "C7: another file is not attached", !other.attach(handle), "it was attached");
  cache.close();
  must_be(stage,
          "C6: a file of others is not removed",
          stage.outside().list(stage.folder()).size() == 1,
          "it was removed");
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
  must_be(stage,
          "E4: another file with the name of a dead process's cache stays",
          is_there(stage, *path),
          "it was removed");
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

Status root_of_a_damaged_file(Stage& stage) {
  Product& product = stage.product();
  StageCache cache(stage, "cache");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(cache.make(3));
  cache.put(0, value_of(0, stage.role()));
  const std::string path = path_of(cache);
  const std::string of_another = file_with(/*slot=*/1, /*size=*/0);
  const std::string too_long = file_with(/*slot=*/0, /*size=*/1);
  for (const std::string& bytes : {std::string("short"), of_another, too_long}) {
    if (!is_there(stage, path)) {  // The tracker removes it if it loses the process by faults.
      break;
    }
    stage.outside().write(path, bytes);
    Result<bool> is_read = false;
    may_fail(product.operation("get from a damaged file", [&]() -> Status {
      LASTREF_TRY(found, cache.checked(0));
      is_read = found.has_value();
      return ok();
    }));
    must_be(stage, "C7: a damaged file is an error", !is_read.value(), "it was read");
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
  must_be(stage, "C7: a symlink is not followed", !cache.preload("hostile"), "it was loaded");
  must_be(stage,
          "C7: preserve without overwrite replaces nothing",
          cache.preserve("hostile", /*overwrite=*/false) == false,
          "it was replaced");
  stage.outside().unlink(path);
  must_have(stage, cache, 0, value_of(0, stage.role()));
  must_be(stage, "C7: the cache remains usable", cache.put(1, "one") == true, "it is frozen");
  return cache.close();  // The refused operation has failed.
}

const RegisteredScenario outsider_unlinks_cache([] {
  return Scenario{
      .name = "caches/outsider_unlinks_cache",
      .sentence =
          "An outsider unlinks a cache's file and creates another in its place. The cache remains "
          "usable. The other file is neither attached nor removed.",
      .rows = {"C6", "C7"},
      .roles = {{"root", root_of_an_unlinked_file}},
      .failing_operations = {"attach a cache"},
      .outside_matrix = "if a process dies early, the outsider's file remains",
  };
});

const RegisteredScenario replaced_cache_is_left_alone([] {
  return Scenario{
      .name = "caches/replaced_cache_is_left_alone",
      .sentence =
          "An outsider has replaced the file of a cache when its maker is killed. The other file "
          "is left alone and reported.",
      .rows = {"E4", "C6"},
      .roles = {{"root", root_of_a_replaced_file}, {"maker", maker_of_a_replaced_file}},
      .expected_noise = {"is left alone: it is not what was counted by that name"},
      .possible_noise = {"the last process of the tree has ended: removing"},
      .outside_matrix = "if a process dies early, the outsider's file remains",
  };
});

const RegisteredScenario checked_get_survives_damaged_file([] {
  return Scenario{
      .name = "caches/checked_get_survives_damaged_file",
      .sentence =
          "An outsider truncates a cache's file, or makes a slot point to another slot's record or "
          "to one longer than the file. get_checked survives it and reports an error.",
      .rows = {"C7"},
      .roles = {{"root", root_of_a_damaged_file}},
      .failing_operations = {"get from a damaged file"},
  };
});

const RegisteredScenario hostile_file_is_not_loaded([] {
  return Scenario{
      .name = "caches/hostile_file_is_not_loaded",
      .sentence =
          "Symlinks, and files that are not preserved caches, are refused. The cache remains "
          "usable.",
      .rows = {"C7"},
      .roles = {{"root", root_of_hostile_files}},
      .failing_operations = {"freeze"},
      .stays = {"file:hostile"},
  };
});

}  // namespace
}  // namespace lastref::harness
