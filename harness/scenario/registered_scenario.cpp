#include "harness/scenario/registered_scenario.hpp"

#include <algorithm>
#include <filesystem>

namespace lastref::harness {

constinit const RegisteredScenario* RegisteredScenario::last_ = nullptr;

Scenario RegisteredScenario::scenario() const {
  Scenario scenario = make_();
  if (scenario.name.empty()) {
    const std::filesystem::path file(file_);
    scenario.name = (file.parent_path().filename() / file.stem()).string();
  }
  return scenario;
}

const std::vector<Scenario>& catalog() {
  static const std::vector<Scenario> all = [] {
    std::vector<Scenario> scenarios;
    for (const auto* each = RegisteredScenario::last_; each != nullptr; each = each->next_) {
      scenarios.push_back(each->scenario());
    }
    std::ranges::sort(scenarios, {}, &Scenario::name);
    return scenarios;
  }();
  return all;
}

const Scenario* scenario_named(std::string_view name) {
  const auto found = std::ranges::find(catalog(), name, &Scenario::name);
  return found == catalog().end() ? nullptr : &*found;
}

}  // namespace lastref::harness
