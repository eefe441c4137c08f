#include <utility>

#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/growth.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// More than the number of folders that a manager remembers without checking that they exist; and
/// everything fits into a journal.
constexpr int few = 70;
constexpr int many = 60;

/// Looks like a random one. The harness keeps the names of others.
std::string context_of(int call) {
  std::string digits = std::to_string(call);
  return std::string(32 - digits.size(), '0') + digits;
}

/// Sends an array that has another content afterwards.
Status send_once(Stage& stage, ForwardReducer& reducer, const Array& array) {
  return stage.product().operation("send once", [&]() -> Status {
    LASTREF_TRY(sent, reducer.reduce(array));
    LASTREF_CHECK(sent.arrived());
    return reducer.invalidate(array);
  });
}

/// An array that persists, and everything that is made and destroyed meanwhile.
class Program {
 public:
  static Result<Program> make(Stage& stage) {
    LASTREF_TRY(calls, Parent::make(stage, {.root = stage.folder()}));
    const auto references = references_of(stage);
    std::shared_ptr<TemporaryResources> kept;
    LASTREF_CHECK(stage.product().operation("make a manager", [&]() -> Status {
      LASTREF_TRY(made, TemporaryResources::make(stage.os(), references, {.root = stage.folder()}));
      kept = std::move(made);
      return ok();
    }));
    return Program(stage, std::move(calls), std::move(kept));
  }

  /// A context of one call, an array that is changed between two calls, and a reducer that the
  /// array outlives.
  Status go_round(int round) {
    const std::string context = context_of(round);
    LASTREF_CHECK(calls_.begin(context));
    LASTREF_CHECK(send_once(stage_, calls_.reducer(), array_));
    LASTREF_CHECK(calls_.clean_up({}, context));
    LASTREF_CHECK(send_once(stage_, *reducer_, array_));
    const auto passing = make_reducer();
    return send_once(stage_, *passing, array_);
  }

 private:
  Program(Stage& stage, Parent calls, std::shared_ptr<TemporaryResources> kept)
      : stage_(stage), calls_(std::move(calls)), kept_(std::move(kept)), reducer_(make_reducer()) {}

  std::unique_ptr<ForwardReducer> make_reducer() {
    return std::make_unique<ForwardReducer>(
        stage_.os(), references_of(stage_), kept_, ForwardOptions{.max_nbytes = large});
  }

  Stage& stage_;
  Array array_ = numbered();
  Parent calls_;
  std::shared_ptr<TemporaryResources> kept_;
  std::unique_ptr<ForwardReducer> reducer_;
};

/// Rounds up to `end`, and the memory of the process when the tracker has done its part.
Result<Memory> memory_after(Stage& stage, Program& program, int from, int end) {
  for (int round = from; round < end; ++round) {
    LASTREF_CHECK(program.go_round(round));
    stage.wait_for_quiet();
  }
  return memory_of(stage);
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(program, Program::make(stage));
  LASTREF_TRY(before, memory_after(stage, program, 0, few));
  LASTREF_TRY(after, memory_after(stage, program, few, few + many));
  must_not_grow(stage, before, after);
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "One array is sent, changed and sent again, in calls with a context each, and by "
          "reducers that it outlives. After many rounds its process uses no more memory.",
      .rows = {"E12"},
      .roles = {{"root", root}},
      .outside_matrix = "it repeats calls that other scenarios make once",
      .is_long = true,
  };
});

}  // namespace
}  // namespace lastref::harness
