// os_contract_memory_test: files as memory.
#include <algorithm>
#include <string_view>

#include "property_tests/impl/os/contract.hpp"

namespace lastref {
namespace {

using contract::fails;
using contract::nobody;
using contract::Scene;
using contract::value_of;
using contract::worked;
using os::bytes_of;
using os::Fd;
using os::MapKind;
using os::UniqueFd;
using os::UniqueMap;

class MemoryContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(MemoryContract);

UniqueMap map(Scene& scene, Fd file, std::size_t size, MapKind kind) {
  return value_of(os::map_memory(scene.os(), {.file = file, .size = size, .kind = kind}));
}

std::string_view text_in(const UniqueMap& map) {
  const os::Buffer bytes = map.get();
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

void store(const UniqueMap& map, std::string_view text, std::size_t at = 0) {
  ASSERT_LE(at + text.size(), map.get().size());
  std::ranges::copy(bytes_of(text), map.get().begin() + static_cast<std::ptrdiff_t>(at));
}

TEST_P(MemoryContract, a_map_shows_the_file_and_what_is_written_to_it_later) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("a", "some text");
    const UniqueFd reader = scene.open(scene.path("a"));
    const UniqueMap mapped = map(scene, reader.get(), 9, MapKind::read);
    EXPECT_EQ(text_in(mapped), "some text");
    EXPECT_TRUE(worked(scene.os().write_at(file.get(), bytes_of("SOME"), 0)));
    EXPECT_EQ(text_in(mapped), "SOME text");
    scene.remove("a");
  });
}

TEST_P(MemoryContract, a_store_in_a_shared_map_is_in_the_file_and_in_its_other_maps) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("a", "some text");
    const UniqueFd reader = scene.open(scene.path("a"));
    const UniqueMap first = map(scene, file.get(), 9, MapKind::shared);
    const UniqueMap second = map(scene, file.get(), 9, MapKind::shared);
    const UniqueMap watching = map(scene, reader.get(), 4, MapKind::read);
    store(first, "last");
    store(second, "word", 5);
    EXPECT_EQ(text_in(first), "last word");
    EXPECT_EQ(text_in(watching), "last");
    EXPECT_EQ(scene.text_of("a"), "last word");
    scene.remove("a");
  });
}

TEST_P(MemoryContract, a_store_in_a_copy_on_write_map_stays_there) {
  act([](Scene& scene) {
    scene.create("a", "kept");
    const UniqueFd reader = scene.open(scene.path("a"));
    const UniqueMap first = map(scene, reader.get(), 4, MapKind::copy_on_write);
    const UniqueMap second = map(scene, reader.get(), 4, MapKind::copy_on_write);
    store(first, "mine");
    EXPECT_EQ(text_in(first), "mine");
    EXPECT_EQ(text_in(second), "kept");
    EXPECT_EQ(scene.text_of("a"), "kept");
    scene.remove("a");
  });
}

TEST_P(MemoryContract, a_map_outlives_its_descriptor_and_the_name_of_its_file) {
  act([](Scene& scene) {
    UniqueFd file = scene.create("a", "some text");
    const UniqueMap mapped = map(scene, file.get(), 9, MapKind::shared);
    EXPECT_TRUE(worked(file.close()));
    scene.remove("a");
    store(mapped, "more");
    EXPECT_EQ(text_in(mapped), "more text");
  });
}

TEST_P(MemoryContract, a_map_starts_at_its_offset) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("a");
    EXPECT_TRUE(worked(scene.os().write_at(file.get(), bytes_of("there"), os::map_alignment)));
    const UniqueMap mapped = value_of(os::map_memory(
        scene.os(),
        {.file = file.get(), .offset = os::map_alignment, .size = 5, .kind = MapKind::shared}));
    EXPECT_EQ(text_in(mapped), "there");
    scene.remove("a");
  });
}

TEST_P(MemoryContract, behind_the_end_of_the_file_its_last_page_is_zero) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("a", "abc");
    for (const MapKind kind : {MapKind::read, MapKind::shared, MapKind::copy_on_write}) {
      EXPECT_EQ(text_in(map(scene, file.get(), 6, kind)), std::string_view("abc\0\0\0", 6));
    }
    EXPECT_EQ(value_of(scene.os().status(file.get())).size, 3U);
    scene.remove("a");
  });
}

TEST_P(MemoryContract, a_file_may_grow_while_it_is_mapped) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("a", "abc");
    const UniqueMap mapped = map(scene, file.get(), 6, MapKind::shared);
    EXPECT_TRUE(worked(scene.os().write_at(file.get(), bytes_of("defg"), 3)));
    EXPECT_EQ(text_in(mapped), "abcdef");
    store(mapped, "A");
    EXPECT_EQ(scene.text_of("a"), "Abcdefg");
    scene.remove("a");
  });
}

TEST_P(MemoryContract, without_a_file_it_is_zeros) {
  act([](Scene& scene) {
    for (const MapKind kind : {MapKind::shared, MapKind::copy_on_write}) {
      const UniqueMap mapped = map(scene, Fd::none, 3, kind);
      EXPECT_EQ(text_in(mapped), std::string_view("\0\0\0", 3));
      store(mapped, "abc");
      EXPECT_EQ(text_in(mapped), "abc");
    }
  });
}

TEST_P(MemoryContract, shared_memory_is_mapped_as_a_file_is) {
  act([](Scene& scene) {
    const std::string name = scene.unique_name();
    const UniqueFd memory(scene.os(), value_of(scene.os().create_shm(name, 0600)));
    EXPECT_TRUE(worked(os::write_all(scene.os(), memory.get(), bytes_of("text"))));
    EXPECT_EQ(text_in(map(scene, memory.get(), 4, MapKind::shared)), "text");
    EXPECT_TRUE(worked(scene.os().unlink_shm(name)));
  });
}

TEST_P(MemoryContract, what_may_not_be_written_is_not_mapped_to_be_written) {
  act([](Scene& scene) {
    scene.create("a", "kept");
    const UniqueFd reader = scene.open(scene.path("a"));
    EXPECT_TRUE(fails(scene.os().map({.file = reader.get(), .size = 4, .kind = MapKind::shared}),
                      Call::map,
                      std::errc::permission_denied));
    scene.remove("a");
  });
}

TEST_P(MemoryContract, what_is_no_file_is_not_mapped) {
  act([](Scene& scene) {
    const UniqueFd folder = scene.open(scene.folder(), {.folder = true});
    EXPECT_TRUE(fails(
        scene.os().map({.file = folder.get(), .size = 4}), Call::map, std::errc::no_such_device));
    const contract::Pipe pipe = scene.pipe();
    EXPECT_TRUE(fails(scene.os().map({.file = pipe.read.get(), .size = 4}),
                      Call::map,
                      std::errc::no_such_device));
    const auto closed = scene.os().map({.file = nobody, .size = 4});
    EXPECT_TRUE(fails(closed, Call::map, std::errc::bad_file_descriptor));
    EXPECT_EQ(closed.error().subject, "fd 9999");
  });
}

TEST_P(MemoryContract, a_map_of_nothing_or_from_amidst_a_page_is_refused) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("a", "abc");
    for (const Fd from : {file.get(), Fd::none}) {
      EXPECT_TRUE(
          fails(scene.os().map({.file = from, .size = 0}), Call::map, std::errc::invalid_argument));
      EXPECT_TRUE(fails(scene.os().map({.file = from, .offset = 1, .size = 1}),
                        Call::map,
                        std::errc::invalid_argument));
    }
    EXPECT_TRUE(fails(scene.os().unmap({}), Call::unmap, std::errc::invalid_argument));
    scene.remove("a");
  });
}

TEST_P(MemoryContract, more_than_there_can_be_is_refused) {
  act([](Scene& scene) {
    EXPECT_TRUE(fails(scene.os().map({.size = ~std::size_t{0} - os::map_alignment}),
                      Call::map,
                      std::errc::not_enough_memory));
  });
}

}  // namespace
}  // namespace lastref
