#include <lastref/owners.hpp>

#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// The offset of the members' locks in the lock file of a tree.
constexpr std::uint64_t members_from = std::uint64_t{1} << 33U;

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("left_to_the_tracker.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_CHECK(stage.start("late"));
  stage.tell("the root leaves");
  product.leave();
  return ok();
}

/// Joins up to its lock and never connects, like a process that is stopped there.
Status late(Stage& stage) {
  if (!stage.await("the root leaves") || stage.arguments().empty()) {
    return ok();
  }
  auto lock = os::open_file(stage.os(), stage.arguments().front() + "/lock", {.write = true});
  if (!lock) {
    return ok();
  }
  may_fail(stage.os().lock_range(
      lock->get(), {.kind = os::LockKind::exclusive, .start = members_from, .length = 1}));
  stage.stay_until_killed();
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The tracker has begun to exit when a process takes the lock of a member and sends "
          "nothing. No process waits for it indefinitely, whichever process dies.",
      .rows = {"T5", "T6"},
      .roles = {{"root", root}, {"late", late}},
      .expected_noise = {"the last process of the tree has ended: removing"},
  };
});

}  // namespace
}  // namespace lastref::harness
