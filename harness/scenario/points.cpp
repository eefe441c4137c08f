#include "harness/scenario/points.hpp"

#include <algorithm>

#include <lastref/error.hpp>
#include <lastref/probe.hpp>

namespace lastref::harness {

std::size_t number_of_points() noexcept {
  return call_rows().size() + step_rows().size();
}

std::size_t point_of(Call call, std::string_view step) noexcept {
  if (call != Call::none) {
    return static_cast<std::size_t>(call) - 1;
  }
  const auto steps = step_rows();
  const auto found = std::ranges::find(steps, step, &StepRow::name);
  return found == steps.end()
             ? points_max
             : call_rows().size() + static_cast<std::size_t>(found - steps.begin());
}

std::size_t point_named(std::string_view name) noexcept {
  const auto calls = call_rows();
  const auto found = std::ranges::find(calls, name, &CallRow::method);
  return point_of(found == calls.end() ? Call::none : found->call, name);
}

std::string_view name_of_point(std::size_t point) noexcept {
  LASTREF_ASSERT(point < number_of_points());
  const std::size_t calls = call_rows().size();
  return point < calls ? call_rows()[point].method : step_rows()[point - calls].name;
}

std::string names_of(const ProbeSet& probes) {
  std::string names;
  for (const ProbeRow& row : probe_rows()) {
    if (probes.test(static_cast<std::size_t>(row.probe))) {
      names.append(names.empty() ? "" : ", ").append(row.name);
    }
  }
  return names.empty() ? "none" : names;
}

}  // namespace lastref::harness
