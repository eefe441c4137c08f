#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// Registers a file, and releases it while a folder has its name: the cleanup fails, and the
/// folder remains.
Status fail_once(Stage& stage, const Resource& file) {
  Product& product = stage.product();
  LASTREF_CHECK(product.register_name(file));
  if (!stage.outside().make_folder(file.name, 0700)) {
    return failure(std::errc::file_exists, file.name);
  }
  // One round releases it, and the next one has told the thread that cleans up.
  const Status asked =
      first_failure({product.release(file), product.client().probe(), product.client().probe()});
  stage.wait_for_quiet();  // That thread has tried.
  return stage.outside().rmdir(file.name) ? asked : failure(std::errc::io_error, file.name);
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource again = product.file("again.bin");
  const Resource over = product.file("over.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(fail_once(stage, again));
  LASTREF_CHECK(fail_once(stage, over));
  const auto make_and_forget = [&]() -> Status {
    LASTREF_CHECK(product.register_name(again));
    LASTREF_CHECK(product.make(again));
    return product.forget(again);
  };
  const Status made = make_and_forget();
  LASTREF_CHECK(product.forget(over));
  return first_failure({made, product.make(over)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The cleanup of two names has failed. One is registered again and forgotten, the other "
          "only forgotten. Files made later with these names remain, past the end of the tree and "
          "the next start.",
      .rows = {"E4", "T3"},
      .roles = {{"root", root}},
      .expected_noise = {"could not clean up"},
      // A slow tracker no longer finds anything there, and has cleaned up.
      .possible_noise = {"forgets an unknown name"},
      // If the tree dies while the folder is in the way, the name remains as well.
      .stays = {"file:again.bin", "file:over.bin", "folder:runtime"},
  };
});

}  // namespace
}  // namespace lastref::harness
