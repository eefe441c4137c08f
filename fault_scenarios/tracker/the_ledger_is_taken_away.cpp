#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  LASTREF_TRY(tree, product.client().tree());
  // The tracker has read its ledger when it answers, and those that follow find none.
  const Status before = product.client().probe();
  stage.outside().unlink(tree + "/ledger");
  stage.kill("tracker");
  const bool probed = product.client().probe().has_value();
  if (probed && stage.is_undisturbed()) {
    stage.refute("T6: a tree for which no tracker can be started says so", "probe succeeded");
  }
  const Status registered = product.register_name(product.file("too_late.bin"));
  if (registered && !probed) {
    stage.refute("error-surfaced: a tree that was given up stays so", "register succeeded");
  }
  return before;
}

}  // namespace

Scenario the_ledger_is_taken_away() {
  return {
      .name = "tracker/the_ledger_is_taken_away",
      .sentence =
          "An outsider removes the ledger, and the tracker is killed: each that is started in its "
          "place ends at once, the root gives up after a few, and its calls fail.",
      .rows = {"T6"},
      .roles = {{"root", root}},
      .expected_noise = {"starting another", "ledger"},
      .failing_operations = {"register"},
      .leaves_to_the_next_start = true,
  };
}

}  // namespace lastref::harness
