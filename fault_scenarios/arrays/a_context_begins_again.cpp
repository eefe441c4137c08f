#include <lastref/npy.hpp>
#include <lastref/temp_folder.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// The time between the first and the last of ten tries.
constexpr std::chrono::milliseconds patience{900};

/// Waits in the middle for the end of its context.
Status dump(Stage& stage, TemporaryResources& resources) {
  return stage.product().operation("dump", [&]() -> Status {
    return status_of(resources.publish([&](os::Fd file) {
      stage.tell("a dump is on its way");
      stage.await("the context has ended");
      return write_npy(stage.os(), file, numbered());
    }));
  });
}

/// The context ends while an array is dumped into it.
Status first_life(Stage& stage, Parent& parent) {
  const auto thread = stage.os().start_thread([&] {
    stage.await("a dump is on its way");
    may_fail(parent.clean_up());
    stage.tell("the context has ended");
  });
  if (!thread) {
    return status_of(thread);
  }
  const Status dumped = dump(stage, parent.resources());
  stage.tell("a dump is on its way");  // In case it has not come so far.
  (*thread)->join();
  if (dumped && stage.is_undisturbed()) {
    stage.refute("M4: what is complete after the end of its context fails", "it has a file");
  }
  // Like a thread that has not noticed the end.
  if (dump(stage, parent.resources()) && stage.is_undisturbed()) {
    stage.refute("M4: a context that has ended takes no file before it begins again",
                 "it has a file");
  }
  return ok();
}

/// Its folder cannot be deleted, because it contains a file that is not removed in time, and
/// remains until the process exits.
Status second_life(Stage& stage, Parent& parent) {
  LASTREF_CHECK(parent.send("array", numbered()));
  const os::Instant begun = stage.os().now();
  Status deleted = stage.product().operation("delete the folder", [&] {
    return parent.resources().try_delete_folder(/*allow_non_empty=*/false, "call");
  });
  if (stage.is_undisturbed() && stage.os().now() - begun < patience) {
    stage.refute("M6: a folder that is not empty yet is tried ten times, 0.1 s apart",
                 "it was left to the exit before that");
  }
  // A folder that has already been removed, by anyone, is no error.
  const Status gone = stage.product().operation("delete a folder that is gone", [&] {
    return delete_folder(stage.os(), stage.folder() + "/gone", /*allow_non_empty=*/false);
  });
  return first_failure({std::move(deleted), gone});
}

/// It reuses the remaining folder.
Status third_life(Stage& stage, Parent& parent) {
  LASTREF_CHECK(parent.send("again", numbered(3)));
  LASTREF_TRY(folder, parent.resources().resolve_temp_folder_name());
  const std::size_t files = stage.outside().list(folder.path).size();
  if (stage.is_undisturbed() && files != 2) {
    stage.refute("M6: a folder that was left is that of its context again",
                 std::to_string(files) + " files are in it");
  }
  return ok();
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(first_life(stage, parent));
  LASTREF_CHECK(parent.begin("call"));
  const Status second = second_life(stage, parent);
  LASTREF_CHECK(parent.begin("call"));
  const Status third = third_life(stage, parent);
  return first_failure(
      {second, third, parent.arrived("array"), parent.arrived("again"), parent.clean_up()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A context ends while another thread dumps into it, which fails and leaves nothing; in "
          "its second life its folder cannot be deleted, and in its third it has that folder.",
      .rows = {"M2", "M4", "M6"},
      .roles = {{"root", root}},
      .failing_operations = {"dump"},
  };
});

}  // namespace
}  // namespace lastref::harness
