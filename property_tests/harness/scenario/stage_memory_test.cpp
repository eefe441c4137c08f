// stage_memory_test: what a Stage reports of the memory of its process, in both worlds.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <lastref/owners.hpp>

#include "property_tests/harness/scenario/stage_worlds.hpp"

namespace lastref::harness {
namespace {

using testing::IsEmpty;

constexpr std::uint64_t map_page = 4096;
/// bytes; how much larger a heap may be with the same contents.
constexpr std::uint64_t slack = 4096;

/// Many files, each with a name of its own, which the harness keeps.
void open_files(Stage& stage, int from, int end) {
  for (int number = from; number < end; ++number) {
    const std::string path = stage.folder() + "/file " + std::to_string(number);
    auto file = os::open_file(stage.os(), path, {.write = true, .create = true});
    expect(stage, file.has_value(), "a file is made");
    file->close_quietly();
    static_cast<void>(stage.os().unlink(path));
  }
}

Status heap_root(Stage& stage) {
  const auto empty = stage.heap_in_use();
  if (!empty) {
    return ok();
  }
  constexpr std::size_t large = std::size_t{1} << 20U;
  {
    const std::vector<char> held(large, 'x');
    expect(stage, stage.heap_in_use() >= *empty + large, "what is held is in use");
  }
  expect(stage, stage.heap_in_use() <= *empty + slack, "and no more when it is given back");
  open_files(stage, 0, 100);
  const auto few = stage.heap_in_use();
  open_files(stage, 100, 1000);
  expect(stage, stage.heap_in_use() <= *few + slack, "what the harness keeps is not in it");
  return ok();
}

Status mapped_root(Stage& stage) {
  os::Os& os = stage.os();
  const std::uint64_t before = stage.mapped();
  const auto first = os.map({.size = map_page, .kind = os::MapKind::shared});
  const auto second = os.map({.size = 2 * map_page, .kind = os::MapKind::shared});
  expect(stage, first && second && stage.mapped() == before + 3 * map_page, "all maps are counted");
  static_cast<void>(os.unmap(*first));
  expect(stage, stage.mapped() == before + 2 * map_page, "until they go");
  static_cast<void>(os.unmap(*second));
  expect(stage, stage.mapped() == before, "one by one");
  return ok();
}

const std::vector<Scenario>& toys_with_memory() {
  static const std::vector<Scenario> all = {
      toy("heap", {{"root", heap_root}}),
      toy("mapped", {{"root", mapped_root}}),
  };
  return all;
}

class StageMemory : public StageWorlds {
 protected:
  StageMemory() : StageWorlds(toys_with_memory()) {}
};

INSTANTIATE_TEST_SUITE_P(Worlds, StageMemory, testing::ValuesIn(both_worlds()), name_of_row);

TEST_P(StageMemory, that_is_in_use_is_the_products_where_a_process_has_its_own) {
  EXPECT_THAT(run("heap").findings, IsEmpty());
}

TEST_P(StageMemory, that_is_mapped_is_counted_until_it_goes) {
  EXPECT_THAT(run("mapped").findings, IsEmpty());
}

}  // namespace
}  // namespace lastref::harness
