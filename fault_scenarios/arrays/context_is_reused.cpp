#include <lastref/joblib.hpp>
#include <lastref/npy.hpp>
#include <lastref/temp_folder.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// The time between the first and the last of ten tries.
constexpr std::chrono::milliseconds time_of_tries{900};

/// Waits in the middle for the end of its context.
Status dump(Stage& stage, TemporaryResources& resources) {
  return stage.product().operation("dump", [&]() -> Status {
    auto published = resources.publish([&](os::Fd file) {
      stage.tell("a dump has begun");
      stage.await("the context has ended");
      return write_npy(stage.os(), file, numbered());
    });
    // Moved, for a copy of the error may find no memory.
    return published ? ok() : Status(tl::unexpected(std::move(published).error()));
  });
}

/// The context ends while an array is dumped into it.
Status first_use(Stage& stage, Parent& parent) {
  const auto thread = stage.os().start_thread([&] {
    stage.await("a dump has begun");
    may_fail(parent.clean_up());
    stage.tell("the context has ended");
  });
  if (!thread) {
    return status_of(thread);
  }
  const Status dumped = dump(stage, parent.resources());
  stage.tell("a dump has begun");  // In case the dump failed before that.
  (*thread)->join();
  if (dumped && stage.is_undisturbed()) {
    stage.refute("M4: a dump that completes after the end of its context fails", "it has a file");
  }
  // Like a thread that has not noticed the end.
  if (dump(stage, parent.resources()) && stage.is_undisturbed()) {
    stage.refute("M4: a context that has ended accepts no file until it begins again",
                 "it has a file");
  }
  return ok();
}

/// Its folder cannot be deleted, because it contains a file that is not removed in time, and
/// remains until the process exits.
Status second_use(Stage& stage, Parent& parent) {
  LASTREF_CHECK(parent.send("array", numbered()));
  const os::Instant begun = stage.os().now();
  Status deleted = stage.product().operation("delete the folder", [&] {
    return joblib::TemporaryResourcesManager(parent.resources())
        .try_delete_folder(/*allow_non_empty=*/false, "call");
  });
  if (stage.is_undisturbed() && stage.os().now() - begun < time_of_tries) {
    stage.refute("M6: deletion of a folder that is not empty is tried ten times, 0.1 s apart",
                 "it was left to the exit earlier");
  }
  // A folder that has already been removed, by anyone, is no error.
  const Status missing = stage.product().operation("delete a missing folder", [&] {
    return delete_folder(stage.os(), stage.folder() + "/missing", /*allow_non_empty=*/false);
  });
  return first_failure({std::move(deleted), missing});
}

/// It reuses the remaining folder.
Status third_use(Stage& stage, Parent& parent) {
  LASTREF_CHECK(parent.send("again", numbered(3)));
  LASTREF_TRY(folder, parent.resources().resolve_temp_folder_name());
  const std::size_t files = stage.outside().list(folder.path).size();
  if (stage.is_undisturbed() && files != 2) {
    stage.refute("M6: a context has its remaining folder again",
                 std::to_string(files) + " files are in it");
  }
  return ok();
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(first_use(stage, parent));
  LASTREF_CHECK(parent.begin("call"));
  const Status second = second_use(stage, parent);
  LASTREF_CHECK(parent.begin("call"));
  const Status third = third_use(stage, parent);
  return first_failure(
      {second, third, parent.arrived("array"), parent.arrived("again"), parent.clean_up()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A context ends while another thread dumps into it: the dump fails and leaves nothing. "
          "On its second use its folder cannot be deleted in time. On its third use it has that "
          "folder again.",
      .rows = {"M2", "M4", "M6"},
      .roles = {{"root", root}},
      .failing_operations = {"dump"},
  };
});

}  // namespace
}  // namespace lastref::harness
