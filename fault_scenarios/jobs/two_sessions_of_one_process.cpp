#include <optional>
#include <string>

#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  std::optional<Session> first = Session::lead(stage.os());
  std::optional<Session> second = Session::lead(stage.os());
  std::string tree;
  const auto ask = [&](const Session& session) {
    return stage.product().operation("ask", [&]() -> Status {
      LASTREF_TRY(its, session.tree());
      if (!tree.empty() && its != tree) {
        stage.refute("E3: the sessions of a process are in one tree", its + ", not in " + tree);
      }
      tree = its;
      return ok();
    });
  };
  const Status asked = first_failure({ask(*first), ask(*second)});
  // The next start removes what a tree has lost after its root has left.
  may_fail(stage.product().operation("leave", [&] {
    second.reset();
    first.reset();
    return ok();
  }));
  return asked;
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence = "A program requests its session twice. Both sessions are in the same tree.",
      .rows = {"E3", "T1"},
      .roles = {{"root", root}},
  };
});

}  // namespace
}  // namespace lastref::harness
