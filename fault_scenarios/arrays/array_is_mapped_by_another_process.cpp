#include <cstring>

#include <lastref/npy.hpp>
#include <lastref/owners.hpp>

#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// 3 x 4, little-endian int32: 0, 1, 2, ... in C order.
Result<Array> numbered() {
  LASTREF_TRY(dtype, DType::parse("<i4"));
  LASTREF_TRY(array, Array::zeros(dtype, {3, 4}));
  LASTREF_TRY(data, array.mutable_data());
  for (std::uint32_t index = 0; index < array.size(); ++index) {
    data[index * sizeof(index)] = static_cast<std::byte>(index);
  }
  return array;
}

Status dump(os::Os& os, const std::string& path, const Array& array) {
  LASTREF_TRY(file, os::open_file(os, path, {.write = true, .create = true}));
  LASTREF_CHECK(write_npy(os, file.get(), array));
  return file.close();
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("array.npy");
  LASTREF_TRY(array, numbered());
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(dump(stage.os(), file.name, array));
  LASTREF_CHECK(stage.start("client_a"));
  stage.await("a holds");
  Status released = product.release(file);
  stage.await("a has checked");
  return released;
}

Status check_map(Stage& stage, const std::string& path) {
  LASTREF_TRY(expected, numbered());
  LASTREF_TRY(mapped, map_npy(stage.os(), path, MapMode::read));
  if (!contents_equal(mapped, expected)) {
    stage.refute("no-corruption: a map shows what was dumped", "other elements");
  }
  return ok();
}

Status client_a(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("array.npy");
  LASTREF_CHECK(product.join());
  LASTREF_CHECK(product.hold(file));
  stage.tell("a holds");
  const Status checked = check_map(stage, file.name);
  stage.tell("a has checked");
  return first_failure({checked, product.release(file)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A process dumps an array and releases the file. Another process maps it, sees the same "
          "elements, and unlinks it with the last reference.",
      .rows = {"R8", "T9"},
      .roles = {{"root", root}, {"client_a", client_a}},
  };
});

}  // namespace
}  // namespace lastref::harness
