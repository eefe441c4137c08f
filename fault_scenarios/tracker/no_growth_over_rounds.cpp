#include <vector>

#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/growth.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr int rounds = 200;
/// bytes; less than two hundred rounds write if no space of the ledger is reused, and more than the
/// lag of the cleanup.
constexpr std::uint64_t ledger_slack = 4096;
/// Names of 160,000 bytes in total: the ledger of so many is cut when they are removed.
constexpr std::size_t long_names = 40;
constexpr std::size_t long_name_size_max = 4000;
constexpr std::size_t times = 4;

/// The resources of a tree and a process at a quiet moment.
struct Usage {
  std::uint64_t ledger = 0;  ///< bytes
  os::Fd next = os::Fd::none;
  std::size_t files = 0;
  std::size_t names = 0;
};

Result<Usage> usage_of(Stage& stage) {
  Product& product = stage.product();
  Usage all;
  LASTREF_TRY(tree, product.client().tree());
  LASTREF_TRY(ledger, stage.os().status_at(tree + "/ledger"));
  all.ledger = ledger.size;
  // The kernel gives the lowest free number: a leaked descriptor is missing here.
  LASTREF_TRY(next, stage.os().open(stage.folder(), {.folder = true}));
  all.next = next;
  LASTREF_CHECK(stage.os().close(next));
  all.files = stage.outside().list(stage.folder()).size();
  LASTREF_TRY(counts, product.client().counts());
  all.names = counts.size();
  return all;
}

/// A name, one more reference to it, and a context with an array, all of which end.
Status run_round(Stage& stage, Parent& parent) {
  Product& product = stage.product();
  const Resource file = product.file("round.bin");
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_CHECK(product.hold(file));
  LASTREF_CHECK(product.release(file));
  LASTREF_CHECK(product.release(file));
  LASTREF_CHECK(parent.begin("round"));
  LASTREF_CHECK(parent.send("array", numbered()));
  LASTREF_CHECK(parent.arrived("array"));
  return parent.clean_up();
}

/// Registers and releases long names. No two of all sets have the same length, so none takes the
/// place of another. Each set is shorter than the one before, and needs less space.
Result<std::uint64_t> ledger_after(Stage& stage, std::size_t time) {
  Product& product = stage.product();
  for (std::size_t number = 0; number < long_names; ++number) {
    const std::size_t size = long_name_size_max - time * long_names - number;
    const Resource name{.type = ResourceType::noop, .name = std::string(size, 'n')};
    LASTREF_CHECK(product.register_name(name));
    LASTREF_CHECK(product.release(name));
  }
  stage.wait_for_quiet();  // The tracker deletes their records.
  LASTREF_TRY(all, usage_of(stage));
  return all.ledger;
}

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_CHECK(product.lead());
  LASTREF_TRY(parent, Parent::make(stage, {.root = stage.folder()}));
  LASTREF_CHECK(run_round(stage, parent));
  LASTREF_CHECK(run_round(stage, parent));
  LASTREF_TRY(before, usage_of(stage));
  for (int round = 0; round < rounds; ++round) {
    LASTREF_CHECK(run_round(stage, parent));
  }
  // Released names are removed when they can be registered again.
  const Resource file = product.file("round.bin");
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.release(file));
  LASTREF_TRY(now, usage_of(stage));
  LASTREF_TRY(once, ledger_after(stage, 0));
  std::uint64_t last = once;
  for (std::size_t time = 1; time < times; ++time) {
    LASTREF_TRY(ledger, ledger_after(stage, time));
    last = ledger;
  }
  must_not_grow(stage, "bytes of the ledger", before.ledger + ledger_slack, now.ledger);
  must_not_grow(stage,
                "the next descriptor",
                static_cast<std::uint64_t>(before.next),
                static_cast<std::uint64_t>(now.next));
  must_not_grow(stage, "files", before.files + 1, now.files);
  must_not_grow(stage, "names that are counted", before.names + 1, now.names);
  must_not_grow(stage, "bytes of the ledger of long names", once + ledger_slack, last);
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A name is registered, held and released 200 times, each time with an array in a "
          "context. Ledger, descriptors, files and counts stay as large as after two rounds. Four "
          "sets of long names, one after another, need the space of one.",
      .rows = {"E12"},
      .roles = {{"root", root}},
      .outside_matrix = "it repeats calls that other scenarios make once",
      .is_long = true,
  };
});

}  // namespace
}  // namespace lastref::harness
