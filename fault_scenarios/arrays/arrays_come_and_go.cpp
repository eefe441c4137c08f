#include <algorithm>
#include <span>
#include <vector>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::uint32_t arrays = 2;

std::string name_of(std::uint32_t number) {
  return "array " + std::to_string(number);
}

void must_be_let_go(Stage& stage, const std::vector<std::string>& files) {
  const auto counts = stage.product().client().counts();
  if (!counts || !stage.is_undisturbed()) {
    return;
  }
  for (const tracker::Count& each : *counts) {
    if (std::ranges::find(files, each.resource.name) != files.end()) {
      stage.refute("R4: the file of an array that is gone is let go of",
                   each.resource.name + " is still counted");
    }
  }
}

/// Views of one memory, which changes between their lifetimes: they have only an address in common.
class Location {
 public:
  /// numbered(factor), until the next call.
  Array holds(std::uint32_t factor) {
    const Array elements = numbered(factor);
    std::ranges::copy(std::span(elements.data(), elements.nbytes()), base_.mutable_data().value());
    return base_.slice({}).value();
  }

 private:
  Array base_ = numbered();
};

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(stage.start("worker"));
  std::vector<std::string> files;
  Location location;
  for (std::uint32_t number = 1; number <= arrays; ++number) {
    LASTREF_CHECK(parent.send(name_of(number), location.holds(number)));
    files.push_back(parent.last_file());
    await_arrival(stage, name_of(number));
    LASTREF_CHECK(parent.arrived(name_of(number)));
    stage.await("let go of " + name_of(number));
  }
  // Not before: remembering the file of the first one would do no harm if it were released.
  const Status gone =
      product.operation("release gone", [&] { return parent.reducer().release_gone(); });
  must_be_let_go(stage, files);
  return first_failure({gone, parent.clean_up()});
}

Status worker(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.join());
  Worker worker(stage);
  for (std::uint32_t number = 1; number <= arrays; ++number) {
    {
      LASTREF_TRY(array, worker.receive(name_of(number)));
      must_equal(stage, array, numbered(number));
    }
    const Status probed = product.client().probe();
    stage.tell("let go of " + name_of(number));
    LASTREF_CHECK(probed);
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A parent sends arrays that live one after the other at the same address: each arrives "
          "as itself, and its file is let go of when it is gone.",
      .rows = {"R1", "R4"},
      .roles = {{"root", root}, {"worker", worker}},
  };
});

}  // namespace
}  // namespace lastref::harness
