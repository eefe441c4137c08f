#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/caches.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Leftovers of a process that are recorded nowhere: no ledger, and no lock.
constexpr const char* dead_lock = "1-0123456789abcdef0123456789abcdef.lock";
constexpr const char* dead_cache = "1-0123456789abcdef0123456789abcdef.cache";

Status root(Stage& stage) {
  StageCache cache(stage, "cache");
  LASTREF_CHECK(stage.product().lead());
  if (!stage.limits().storage(0, 64)) {
    return ok();
  }
  const Status refused = cache.make(2);
  must_be(stage,
          "E14: making a cache without space is a typed error",
          !refused && refused.error().code == std::errc::no_space_on_device &&
              refused.error().subject.find(stage.folder()) != std::string::npos,
          refused ? "it was made" : describe(refused.error()));
  must_be(stage,
          "E14: a failed make leaves nothing",
          stage.outside().list(stage.folder()).empty(),
          "files");
  const std::string& next = stage.spare_folder();
  for (const char* name : {dead_lock, dead_cache}) {
    stage.outside().write(next + '/' + name, "");
  }
  Status made;
  if (!refused) {
    made = cache.make(2, {.folder = next});
  }
  if (!refused && made) {
    const std::string value = value_of(0, stage.role(), 2 * page_size);
    must_be(stage, "E14: the next folder has space", cache.put(0, value) == true, "put was false");
    must_have(stage, cache, 0, value);
    const std::vector<std::string> names = stage.outside().list(next);
    must_be(stage,
            "E14: leftovers of dead processes are removed at the next start",
            names.size() == 2 && names.front() != dead_cache && names.back() != dead_lock,
            std::to_string(names.size()) + " files");
    cache.close();
  }
  stage.limits().free_storage();
  return first_failure({made, cache.first_failed()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A cache finds its folder full: a typed error names the folder, and nothing is left. In "
          "the next folder it works, and removes a dead process's leftovers that no ledger "
          "records.",
      .rows = {"E14"},
      .roles = {{"root", root}},
      .failing_operations = {"make a cache"},
      .caches_refuse = true,
      .stays = {"file:1-0123456789abcdef0123456789abcdef.lock",
                "file:1-0123456789abcdef0123456789abcdef.cache"},
  };
});

}  // namespace
}  // namespace lastref::harness
