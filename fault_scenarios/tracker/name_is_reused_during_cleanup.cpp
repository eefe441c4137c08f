#include <algorithm>

#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Cleanups in the tracker's background thread: one is in progress, and the other waits for it.
Status root(Stage& stage) {
  Product& product = stage.product();
  // Its deletion takes more than one call: another process may act between them.
  const Resource first = product.folder("first");
  const Resource second = product.shm("second");
  LASTREF_CHECK(product.lead());
  for (const Resource& name : {first, second}) {
    LASTREF_CHECK(product.register_name(name));
    LASTREF_CHECK(product.make(name));
  }
  const Status released = first_failure({product.release(first), product.release(second)});
  // Two requests, so that the second one is sent after the round that read the releases.
  LASTREF_CHECK(product.client().probe());
  LASTREF_CHECK(product.client().probe());
  Status again;
  const auto thread = stage.os().start_thread([&] { again = product.register_name(second); });
  // It still exists, or is removed, and nothing will remove it from here on.
  const Status forgotten = product.forget(first);
  Status made_again = forgotten ? product.make(first) : ok();
  if (!made_again && made_again.error().code == std::errc::file_exists) {
    made_again = ok();
  }
  const std::vector<std::string> names = stage.outside().list(stage.folder());
  const bool has_first = forgotten && std::ranges::count(names, "first") > 0;
  LASTREF_CHECK(status_of(thread));
  (*thread)->join();
  LASTREF_CHECK(again);
  const Status made = product.make(second);
  if (made || made.error().code == std::errc::file_exists) {
    product.must_exist(second);
  }
  if (has_first) {
    stage.wait_for_quiet();
    product.must_exist(first);
  }
  return first_failure({released, forgotten, made_again, product.release(second)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Two names are being cleaned up: one is forgotten, the other registered again. Each "
          "request waits for the end of a running cleanup, or cancels one that has not begun.",
      .rows = {"T3", "T10", "E4"},
      .roles = {{"root", root}},
      .possible_noise = {"forgets an unknown name: ", "could not clean up folder:"},
      .failing_operations = {"make"},
      .stays = {"folder:first"},
  };
});

}  // namespace
}  // namespace lastref::harness
