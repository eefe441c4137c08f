#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// The head of a record of twenty bytes that were never written: other bytes follow.
std::string torn_record() {
  constexpr char alive = '+';
  constexpr char file = 0;
  constexpr char size = 20;
  return std::string{alive, file, size, 0} + std::string(60, 'x');
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("shared.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_TRY(tree, product.client().tree());
  // The tracker has read its ledger when it answers.
  const Status before = product.client().probe();
  stage.outside().write(tree + "/ledger", torn_record());
  stage.kill("tracker");
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  // The next tracker has to find what was written over the rest.
  stage.kill("tracker");
  const auto counts = product.client().counts();
  if (counts && (counts->size() != 1 || counts->front().count != 1)) {
    stage.refute("refcount-exact: the ledger has every reference",
                 std::to_string(counts->size()) + " names");
  }
  if (counts) {
    product.must_exist(file);
  }
  return first_failure({before, status_of(counts), product.release(file)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A ledger ends in a torn record. The restarted tracker reads up to it and overwrites it. "
          "The tracker after that finds all later references.",
      .rows = {"T6"},
      .roles = {{"root", root}},
      .expected_noise = {"the tracker was killed by signal 9; starting another"},
      .spoils_ledger = true,
  };
});

}  // namespace
}  // namespace lastref::harness
