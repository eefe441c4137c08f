#include "harness/scenario/probes.hpp"

#include <lastref/probe.hpp>

namespace lastref::harness {

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
