#include <cstring>

#include <lastref/npy.hpp>

#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr std::int32_t stored = 42;

Status create(Stage& stage, const std::string& path) {
  return stage.product().operation("create", [&]() -> Status {
    LASTREF_TRY(dtype, DType::parse("<i4"));
    LASTREF_TRY(array, create_npy(stage.os(), path, dtype, {3, 4}));
    LASTREF_TRY(data, array.mutable_data());
    std::memcpy(data, &stored, sizeof stored);
    return ok();
  });
}

Status check_map(Stage& stage, const std::string& path) {
  return stage.product().operation("map", [&]() -> Status {
    LASTREF_TRY(array, map_npy(stage.os(), path, MapMode::read));
    std::int32_t seen = 0;
    std::memcpy(&seen, array.data(), sizeof seen);
    if (seen != stored) {
      stage.refute("R8: a map shows what was stored in the file", std::to_string(seen));
    }
    return ok();
  });
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource folder = product.folder("users");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(folder));
  LASTREF_CHECK(product.make(folder));
  const std::string link = folder.name + "/link.npy";
  Status done = create(stage, folder.name + "/array.npy");
  if (done) {
    stage.outside().symlink("array.npy", link);
    done = check_map(stage, link);
  }
  return first_failure({done, product.release(folder)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A file is created for an array and mapped through a symlink. The map shows what was "
          "stored, and both are removed with their folder.",
      .rows = {"R8", "T5"},
      .roles = {{"root", root}},
  };
});

}  // namespace
}  // namespace lastref::harness
