#include <cstring>
#include <utility>
#include <vector>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// numbered(), in a map without a file, shared with forked children.
Result<Array> numbered_in_map(Stage& stage) {
  const Array elements = numbered();
  LASTREF_TRY(memory, Memory::map_anonymous(stage.os(), elements.nbytes()));
  LASTREF_TRY(
      array,
      Array::over(std::move(memory), {.dtype = elements.dtype(), .shape = elements.shape()}));
  LASTREF_TRY(data, array.mutable_data());
  std::memcpy(data, elements.data(), elements.nbytes());
  if (!has_shareable_memory(array)) {
    stage.refute("R2: a map without a file is shareable memory", "it is reported as not shareable");
  }
  return array;
}

/// Few enough for a message that carries them.
Array part_of(const Array& array) {
  return array.slice(std::vector<Slice>{{.stop = 300}}).value();
}

Status receive_back(Stage& stage) {
  Worker receiver(stage);
  LASTREF_TRY(back, receiver.receive("back"));
  must_equal(stage, back, part_of(numbered()));
  if (back.memory()->file()) {
    stage.refute("R6: an array from a temporary file is returned by value",
                 "it is a map of the file");
  }
  return ok();
}

Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  LASTREF_TRY(array, numbered_in_map(stage));
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(parent.send("array", array));
  LASTREF_CHECK(stage.start("worker"));
  await_arrival(stage, "array");
  Status cleaned_up = first_failure({parent.arrived("array"), parent.clean_up()});
  stage.tell("cleaned up");
  return first_failure({cleaned_up, receive_back(stage)});
}

Status worker(Stage& stage) {
  LASTREF_CHECK(stage.product().join());
  Worker worker(stage);
  LASTREF_TRY(array, worker.receive("array"));
  stage.await("cleaned up");
  must_equal(stage, array, numbered());
  BackwardReducer backward(stage.os(), worker.receiver());
  return stage.product().operation("reduce", [&]() -> Status {
    LASTREF_TRY(sent, backward.reduce(part_of(array)));
    LASTREF_TRY(bytes, encode_reduction(sent.reduction));
    stage.send("back", text_of_bytes(bytes));
    return ok();
  });
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A parent sends an array through a file and cleans up. The worker that mapped it sees "
          "the elements and sends some back by value. File and folder are removed with its last "
          "view.",
      .rows = {"R2", "R4", "R6", "R7", "R8", "R12", "R13", "M1", "M2", "M4", "T9"},
      .roles = {{"root", root}, {"worker", worker}},
  };
});

}  // namespace
}  // namespace lastref::harness
