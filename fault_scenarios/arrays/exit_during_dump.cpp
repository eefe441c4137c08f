#include <memory>

#include <lastref/npy.hpp>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr int dumps = 3;

/// Objects that exist until the program ends.
struct Program {
  std::shared_ptr<TemporaryResources> resources;
  std::unique_ptr<os::ExitHook> last;
  std::unique_ptr<os::Thread> thread;
};

/// Until the process is ended.
void dump(Stage& stage, TemporaryResources& resources) {
  for (int number = 0; number < dumps; ++number) {
    const Status dumped = stage.product().operation("dump", [&]() -> Status {
      return status_of(resources.publish([&](os::Fd file) {
        stage.tell("a dump has begun");
        return write_npy(stage.os(), file, numbered());
      }));
    });
    if (!dumped) {
      break;
    }
  }
  stage.tell("a dump has begun");
}

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  const auto program = std::make_shared<Program>();
  // The first to be registered runs last: after the manager's own.
  program->last = stage.os().at_exit([program] {
    if (program->thread) {
      program->thread->join();
    }
    *program = {};
  });
  LASTREF_CHECK(product.operation("make a manager", [&]() -> Status {
    LASTREF_TRY(made,
                TemporaryResources::make(
                    stage.os(), references_of(stage), {.root = stage.folder(), .context = "call"}));
    program->resources = std::move(made);
    return ok();
  }));
  LASTREF_TRY(thread, stage.os().start_thread([&stage, &resources = *program->resources] {
    dump(stage, resources);
  }));
  program->thread = std::move(thread);
  stage.await("a dump has begun");
  // Here the program ends: it neither cleans up nor waits.
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A program exits while a context is open and another thread is at any step of a dump "
          "into it. No folder is made again, and nothing is left.",
      .rows = {"E9", "M3"},
      .roles = {{"root", root}},
      .failing_operations = {"dump"},
  };
});

}  // namespace
}  // namespace lastref::harness
