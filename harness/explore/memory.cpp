#include "harness/explore/memory.hpp"

#include <algorithm>

#include <lastref/probe.hpp>

namespace lastref::harness {

void recall(const ProgressFile& memory, Tally& tally) {
  for (const std::string& name : memory.reached()) {
    if (const std::size_t point = point_named(name); point < points_max) {
      tally.reach(point);
    }
  }
  for (const std::string& name : memory.seen()) {
    tally.sightings().remember(name);
  }
}

void recall(const ProgressFile& memory,
            std::span<const ScenarioReport> scenarios,
            SecondLevel& second_level) {
  for (const Aftermath& known : memory.aftermaths()) {
    const auto found = std::ranges::find(scenarios, known.scenario, &ScenarioReport::name);
    if (found != scenarios.end()) {
      const auto index = static_cast<std::size_t>(found - scenarios.begin());
      second_level.add(index, known.first, std::span(&known.crossing, 1));
    }
  }
}

void remember(const PointSet& fresh, const ProbeSet& probes, ProgressFile& memory) {
  for (std::size_t point = 0; fresh.any() && point < number_of_points(); ++point) {
    if (fresh.test(point)) {
      memory.add_reached(name_of_point(point));
    }
  }
  for (const ProbeRow& row : probe_rows()) {
    if (probes.test(static_cast<std::size_t>(row.probe))) {
      memory.add_seen(row.name);
    }
  }
}

}  // namespace lastref::harness
