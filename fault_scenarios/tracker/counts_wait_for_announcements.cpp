#include <algorithm>
#include <vector>

#include "fault_scenarios/support/trees.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

using Counts = std::vector<tracker::Count>;

/// An entry of `after` that is missing, or smaller, in `before`.
const tracker::Count* grown(const Counts& before, const Counts& after) {
  const auto has_grown = [&](const tracker::Count& now) {
    return std::ranges::none_of(before, [&](const tracker::Count& then) {
      return then.resource == now.resource && then.holder == now.holder && then.count >= now.count;
    });
  };
  const auto found = std::ranges::find_if(after, has_grown);
  return found == after.end() ? nullptr : &*found;
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const std::vector<Resource> files = files_of(stage, "counted_after_restart.bin");
  LASTREF_CHECK(enter_tree(stage));
  LASTREF_CHECK(make_all(stage, files));
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a holds");
  stage.kill("tracker");
  const auto before = product.client().counts();
  stage.wait_for_quiet();  // No reference is taken meanwhile.
  const auto after = product.client().counts();
  if (before && after) {
    if (const tracker::Count* more = grown(*before, *after)) {
      stage.refute("T9: the counts of a restarted tracker are exact from its first answer on",
                   to_text(more->resource) + " of " + std::to_string(more->holder) +
                       " was not counted at first");
    }
  }
  return release_all(stage, files);
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const std::vector<Resource> files = files_of(stage, "counted_after_restart.bin");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(hold_all(stage, files));
  stage.tell("a holds");
  stage.wait_for_quiet();
  return release_all(stage, files);
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The tracker is killed, and counts are requested from the restarted one at once. It "
          "answers when all processes have announced their references.",
      .rows = {"T9", "T6", "T11"},
      .roles = {{"root", root}, {"client_a", client_a}, {"leader", lead_tree}},
      .parameters = {name_count, tree_starter},
      .expected_noise = {"the tracker was killed by signal 9; starting another"},
  };
});

}  // namespace
}  // namespace lastref::harness
