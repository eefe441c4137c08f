#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

/// The name of a file that was never made; one line has no space for two of them.
std::string long_name(char first) {
  std::string name(1, first);
  for (int part = 0; part < 4; ++part) {
    name += '/' + std::string(180, '\x01');  // Four bytes for each
  }
  return name;
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const std::vector<Resource> all = {product.folder("left"),
                                     product.file("left/inside.bin"),
                                     product.semaphore("lastref-left"),
                                     product.shm("lastref-left")};
  LASTREF_CHECK(product.lead());
  for (const Resource& resource : all) {
    LASTREF_CHECK(product.register_name(resource));
    LASTREF_CHECK(product.make(resource));
  }
  LASTREF_CHECK(product.register_name(product.file(long_name('a'))));
  return product.register_name(product.file(long_name('b')));
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "The last process ends and holds resources of each type. All are removed, folders last. "
          "Each type is reported in one line, which has no space for all names.",
      .rows = {"T5", "T4", "E5"},
      .roles = {{"root", root}},
      .expected_noise = {"the last process of the tree has ended: removing 3 files: file:",
                         " and 2 more",
                         "the last process of the tree has ended: removing 1 folder: folder:",
                         "the last process of the tree has ended: removing 1 semlock: semlock:",
                         "the last process of the tree has ended: removing 1 shm: shm:"},
  };
});

}  // namespace
}  // namespace lastref::harness
