// StageWorlds: both worlds, for toy scenarios that test the Stage.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "harness/kernel/kernel_world.hpp"
#include "harness/sim/sim_world.hpp"
#include "property_tests/support/printing.hpp"

namespace lastref::harness {

inline void expect(Stage& stage, bool holds, const std::string& claim) {
  if (!holds) {
    stage.refute(claim, stage.role() + " saw something else");
  }
}

inline Scenario toy(std::string name, std::vector<Role> roles) {
  return {.name = std::move(name), .sentence = "A toy.", .rows = {}, .roles = std::move(roles)};
}

struct WorldRow {
  std::string name;
  std::function<std::unique_ptr<World>(const std::vector<Scenario>& toys)> make;
};

inline void PrintTo(const WorldRow& row, std::ostream* out) {
  *out << row.name;
}

inline std::vector<WorldRow> both_worlds() {
  return {{"kernel",
           [](const std::vector<Scenario>& toys) {
             return std::make_unique<KernelWorld>(KernelOptions{.scenarios = &toys, .core = {}});
           }},
          {"sim", [](const std::vector<Scenario>&) { return std::make_unique<SimWorld>(); }}};
}

inline std::string name_of_row(const testing::TestParamInfo<WorldRow>& each) {
  return each.param.name;
}

class StageWorlds : public testing::TestWithParam<WorldRow> {
 protected:
  explicit StageWorlds(const std::vector<Scenario>& toys)
      : toys_(toys), world_(GetParam().make(toys)) {}

  const Scenario& toy_named(std::string_view name) const {
    return *std::ranges::find(toys_, name, &Scenario::name);
  }
  Outcome run(std::string_view name, const Plan& plan = {}) {
    return world_->run(toy_named(name), plan);
  }
  /// What this machine does not permit; the simulated world permits everything.
  std::string missing() const {
    const auto* kernel = dynamic_cast<const KernelWorld*>(world_.get());
    return kernel == nullptr ? std::string() : kernel->degraded();
  }
  bool is_sim() const { return GetParam().name == "sim"; }

 private:
  const std::vector<Scenario>& toys_;
  std::unique_ptr<World> world_;
};

}  // namespace lastref::harness
