#include "harness/explore/gate_results.hpp"

namespace lastref::harness {

Report report_of(const GateResults& results) {
  Report report = report_of(results.campaign);
  report.seconds +=
      (results.hunt ? results.hunt->seconds : 0) + (results.small ? results.small->seconds : 0);
  if (results.small) {
    add_to(report, "small limits", *results.small);
  }
  if (results.hunt) {
    add_to(report, *results.hunt);
  }
  return report;
}

}  // namespace lastref::harness
