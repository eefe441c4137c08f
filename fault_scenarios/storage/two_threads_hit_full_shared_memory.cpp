#include <array>

#include <lastref/npy.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Writes when the other thread is about to write as well. Returns the path, if there is one.
Status dump(Stage& stage,
            Parent& parent,
            const std::string& own,
            const std::string& other,
            std::string& path) {
  const Status dumped = stage.product().operation("dump", [&]() -> Status {
    LASTREF_TRY(file, parent.resources().publish([&](os::Fd fd) {
      stage.tell(own);
      stage.await(other);
      return write_npy(stage.os(), fd, numbered(3));
    }));
    path = file->path();
    return ok();
  });
  stage.tell(own);  // In case the dump failed before that.
  return dumped;
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(parent.resources().resolve_temp_folder_name());
  if (!stage.limits().storage(page_size, 64)) {
    return ok();
  }
  std::array<std::string, 2> paths;
  Status there;
  const auto thread =
      stage.os().start_thread([&] { there = dump(stage, parent, "there", "here", paths.front()); });
  if (!thread) {
    stage.tell("there");
  }
  const Status here = dump(stage, parent, "here", "there", paths.back());
  if (thread) {
    (*thread)->join();
  }
  stage.limits().free_storage();
  for (const std::string& path : paths) {
    must_be_spare(stage, path);
  }
  return first_failure({status_of(thread), there, here, parent.clean_up()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Shared memory runs full while two threads dump into a new context. One chooses the next "
          "location, both dump there, and nothing of their attempts remains.",
      .rows = {"M1", "R12"},
      .roles = {{"root", root}},
  };
});

}  // namespace
}  // namespace lastref::harness
