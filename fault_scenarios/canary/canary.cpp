#include "fault_scenarios/canary/canary.hpp"

namespace lastref::harness {

std::vector<Scenario> canary_scenarios() {
  return {
      always_fails(),
  };
}

}  // namespace lastref::harness
