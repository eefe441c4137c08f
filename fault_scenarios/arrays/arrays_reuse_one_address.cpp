#include <algorithm>
#include <span>
#include <vector>

#include "fault_scenarios/support/array_travel.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr Parameter<std::uint32_t> arrays = {
    .name = "arrays", .usual = 2, .values = {1, 2, 3}, .unit = "arrays"};

std::string name_of(std::uint32_t number) {
  return "array " + std::to_string(number);
}

void must_be_released(Stage& stage, const std::vector<std::string>& files) {
  const auto counts = stage.product().client().counts();
  if (!counts || !stage.is_undisturbed()) {
    return;
  }
  for (const tracker::Count& each : *counts) {
    if (std::ranges::find(files, each.resource.name) != files.end()) {
      stage.refute("R4: the file of a destroyed array is released",
                   each.resource.name + " is still counted");
    }
  }
}

/// Views of one memory, which changes between their lifetimes: they have only an address in common.
class Location {
 public:
  explicit Location(std::uint32_t count) : count_(count) {}

  /// numbered(factor), until the next call.
  Array holds(std::uint32_t factor) {
    const Array elements = numbered(factor, count_);
    std::ranges::copy(std::span(elements.data(), elements.nbytes()), base_.mutable_data().value());
    return base_.slice({}).value();
  }

 private:
  std::uint32_t count_;
  Array base_ = numbered(1, count_);
};

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  LASTREF_TRY(parent, Parent::make(stage));
  LASTREF_CHECK(stage.start("worker"));
  std::vector<std::string> files;
  Location location(stage.value(large_element_count));
  for (std::uint32_t number = 1; number <= stage.value(arrays); ++number) {
    LASTREF_CHECK(parent.send(name_of(number), location.holds(number)));
    files.push_back(parent.last_file());
    await_arrival(stage, name_of(number));
    LASTREF_CHECK(parent.arrived(name_of(number)));
    stage.await("released " + name_of(number));
  }
  // Not before: remembering the file of the first one would do no harm if it were released.
  const Status released =
      product.operation("release the files", [&] { return parent.reducer().release_gone(); });
  must_be_released(stage, files);
  return first_failure({released, parent.clean_up()});
}

Status worker(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.join());
  Worker worker(stage);
  for (std::uint32_t number = 1; number <= stage.value(arrays); ++number) {
    {
      LASTREF_TRY(array, worker.receive(name_of(number)));
      must_equal(stage, array, numbered(number, stage.value(large_element_count)));
    }
    const Status probed = product.client().probe();
    stage.tell("released " + name_of(number));
    LASTREF_CHECK(probed);
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A parent sends arrays that exist one after another at the same address. Each arrives "
          "with its own elements, and its file is released after the array is destroyed.",
      .rows = {"R1", "R4"},
      .roles = {{"root", root}, {"worker", worker}},
      .parameters = {arrays, large_element_count},
  };
});

}  // namespace
}  // namespace lastref::harness
