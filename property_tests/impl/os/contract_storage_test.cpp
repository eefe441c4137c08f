// os_contract_storage_test: reading and writing at an offset, syncing to the device, and giving
// space back; the kind of file system of a file; and files as memory.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <string_view>

#include "property_tests/impl/os/contract.hpp"

namespace lastref {
namespace {

using contract::fails;
using contract::never_opened;
using contract::Scene;
using contract::value_of;
using contract::worked;
using os::bytes_of;
using os::Fd;
using os::MapKind;
using os::UniqueFd;
using os::UniqueMap;

class StorageContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(StorageContract);

constexpr std::size_t page = 4096;
constexpr std::uint64_t offset_max = std::numeric_limits<std::int64_t>::max();
constexpr std::uint64_t no_offset = offset_max + 1;  // negative to the kernel

std::string text_at(Scene& scene, Fd fd, std::uint64_t offset, std::size_t size) {
  std::string text(size, '?');
  text.resize(value_of(scene.os().read_at(fd, std::as_writable_bytes(std::span(text)), offset)));
  return text;
}

TEST_P(StorageContract, read_at_reads_there_and_leaves_the_position_alone) {
  act([](Scene& scene) {
    scene.create("a", "0123456789");
    const UniqueFd file = scene.open(scene.path("a"));
    std::array<std::byte, 2> two{};
    EXPECT_EQ(value_of(scene.os().read(file.get(), two)), 2U);
    EXPECT_EQ(text_at(scene, file.get(), 7, 2), "78");
    EXPECT_EQ(text_at(scene, file.get(), 0, 3), "012");
    EXPECT_EQ(value_of(scene.os().read(file.get(), two)), 2U);
    EXPECT_EQ(two[0], std::byte{'2'});
    scene.remove("a");
  });
}

TEST_P(StorageContract, read_at_stops_at_the_end_and_finds_nothing_behind_it) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("a", "abc");
    EXPECT_EQ(text_at(scene, file.get(), 2, 9), "c");
    EXPECT_EQ(text_at(scene, file.get(), 3, 9), "");
    EXPECT_EQ(text_at(scene, file.get(), 4096, 9), "");
    EXPECT_EQ(text_at(scene, file.get(), 1, 0), "");
    EXPECT_EQ(text_at(scene, file.get(), offset_max - 9, 9), "");
    EXPECT_EQ(text_at(scene, file.get(), offset_max, 0), "");
    scene.remove("a");
  });
}

TEST_P(StorageContract, no_byte_has_an_offset_beyond_the_largest) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("a", "abc");
    std::array<std::byte, 9> nine{};
    constexpr auto invalid = std::errc::invalid_argument;
    for (const std::uint64_t offset : {no_offset, ~std::uint64_t{0}, offset_max - 8}) {
      EXPECT_TRUE(fails(scene.os().read_at(file.get(), nine, offset), Call::read_at, invalid));
      EXPECT_TRUE(fails(scene.os().write_at(file.get(), nine, offset), Call::write_at, invalid));
    }
    // Checked before the descriptor is.
    EXPECT_TRUE(fails(scene.os().read_at(never_opened, nine, no_offset), Call::read_at, invalid));
    EXPECT_TRUE(fails(scene.os().write_at(never_opened, {}, no_offset), Call::write_at, invalid));
    EXPECT_EQ(scene.text_of("a"), "abc");
    scene.remove("a");
  });
}

TEST_P(StorageContract, only_files_are_read_at_an_offset) {
  act([](Scene& scene) {
    std::array<std::byte, 4> bytes{};
    const auto refused = [&](Fd fd, std::errc code) {
      return fails(scene.os().read_at(fd, bytes, 0), Call::read_at, code);
    };
    const UniqueFd folder = scene.open(scene.folder(), {.folder = true});
    const contract::Pipe pipe = scene.pipe();
    const contract::Pair pair = scene.pair();
    EXPECT_TRUE(refused(never_opened, std::errc::bad_file_descriptor));
    EXPECT_TRUE(refused(folder.get(), std::errc::is_a_directory));
    EXPECT_TRUE(refused(pipe.read.get(), std::errc::invalid_seek));
    EXPECT_TRUE(refused(pipe.write.get(), std::errc::invalid_seek));
    EXPECT_TRUE(refused(pair.left.get(), std::errc::invalid_seek));
    EXPECT_EQ(scene.os().read_at(never_opened, bytes, 0).error().subject, "fd 9999");
  });
}

TEST_P(StorageContract, files_and_folders_can_be_synced_and_nothing_else) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const UniqueFd file = scene.create("a", "abc");
    const UniqueFd reader = scene.open(scene.path("a"));
    const UniqueFd folder = scene.open(scene.folder(), {.folder = true});
    for (const UniqueFd* const fd : {&file, &reader, &folder}) {
      EXPECT_TRUE(worked(os.sync(fd->get())));
    }
    EXPECT_EQ(scene.text_of("a"), "abc");
    const contract::Pipe pipe = scene.pipe();
    const contract::Pair pair = scene.pair();
    const UniqueFd process(os, value_of(os.open_process(os.process_id())));
    for (const UniqueFd* const fd : {&pipe.read, &pipe.write, &pair.left, &process}) {
      EXPECT_TRUE(fails(os.sync(fd->get()), Call::sync, std::errc::invalid_argument));
    }
    EXPECT_TRUE(fails(os.sync(never_opened), Call::sync, std::errc::bad_file_descriptor));
    EXPECT_EQ(os.sync(never_opened).error().subject, "fd 9999");
    scene.remove("a");
  });
}

TEST_P(StorageContract, what_is_allocated_is_zeros_and_keeps_what_was_there) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const UniqueFd file = scene.create("a", "abc");
    EXPECT_TRUE(worked(os.allocate(file.get(), 1, 4)));
    EXPECT_EQ(scene.text_of("a"), std::string("abc\0\0", 5));
    EXPECT_TRUE(worked(os.allocate(file.get(), 0, 2)));
    EXPECT_EQ(scene.text_of("a"), std::string("abc\0\0", 5));
    EXPECT_TRUE(worked(os.allocate(file.get(), page, page)));
    EXPECT_EQ(value_of(os.status(file.get())).size, 2 * page);
    const UniqueMap map = value_of(
        os::map_memory(os, {.file = file.get(), .size = 2 * page, .kind = os::MapKind::shared}));
    map.get()[page] = std::byte{'x'};
    EXPECT_EQ(text_at(scene, file.get(), page, 2), std::string("x\0", 2));
    scene.remove("a");
  });
}

TEST_P(StorageContract, only_of_a_file_that_may_be_written_is_space_allocated) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const UniqueFd file = scene.create("a", "abc");
    const UniqueFd reader = scene.open(scene.path("a"));
    const UniqueFd folder = scene.open(scene.folder(), {.folder = true});
    const contract::Pipe pipe = scene.pipe();
    const contract::Pair pair = scene.pair();
    const auto refused = [&](Fd fd, std::uint64_t offset, std::uint64_t size, std::errc code) {
      return fails(os.allocate(fd, offset, size), Call::allocate, code);
    };
    constexpr auto bad = std::errc::bad_file_descriptor;
    for (const Fd fd : {never_opened, reader.get(), folder.get(), pipe.read.get()}) {
      EXPECT_TRUE(refused(fd, 0, 1, bad));
    }
    EXPECT_TRUE(refused(pipe.write.get(), 0, 1, std::errc::invalid_seek));
    EXPECT_TRUE(refused(pair.left.get(), 0, 1, std::errc::no_such_device));
    EXPECT_TRUE(refused(file.get(), 0, 0, std::errc::invalid_argument));
    EXPECT_TRUE(refused(file.get(), no_offset, 1, std::errc::invalid_argument));
    EXPECT_TRUE(refused(file.get(), 0, no_offset, std::errc::invalid_argument));
    EXPECT_TRUE(refused(file.get(), offset_max, 1, std::errc::file_too_large));
    EXPECT_EQ(os.allocate(never_opened, 0, 1).error().subject, "fd 9999");
    EXPECT_EQ(scene.text_of("a"), "abc");
    scene.remove("a");
  });
}

TEST_P(StorageContract, a_hole_reads_as_zeros_and_the_size_stays) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("a", "0123456789");
    EXPECT_TRUE(worked(scene.os().punch_hole(file.get(), 2, 3)));
    EXPECT_EQ(scene.text_of("a"),
              std::string("01\0\0\0"
                          "56789",
                          10));
    EXPECT_TRUE(worked(scene.os().punch_hole(file.get(), 8, 9000)));
    EXPECT_TRUE(worked(scene.os().punch_hole(file.get(), 10, 4096)));
    EXPECT_EQ(scene.text_of("a"),
              std::string("01\0\0\0"
                          "567\0\0",
                          10));
    EXPECT_TRUE(worked(scene.os().write_at(file.get(), bytes_of("ab"), 2)));
    EXPECT_EQ(scene.text_of("a"),
              std::string("01ab\0"
                          "567\0\0",
                          10));
    scene.remove("a");
  });
}

TEST_P(StorageContract, a_hole_over_many_pages_leaves_the_bytes_around_it) {
  act([](Scene& scene) {
    constexpr std::size_t size = 5 * page;
    std::string text(size, 'x');
    const UniqueFd file = scene.create("a", text);
    EXPECT_TRUE(worked(scene.os().punch_hole(file.get(), 4000, 3 * page)));
    std::fill_n(text.begin() + 4000, 3 * page, '\0');
    EXPECT_EQ(scene.text_of("a"), text);
    scene.remove("a");
  });
}

TEST_P(StorageContract, maps_show_the_hole_and_may_fill_it) {
  act([](Scene& scene) {
    constexpr std::size_t size = 2 * page;
    const UniqueFd file = scene.create("a", std::string(size, 'x'));
    const UniqueMap shared = value_of(os::map_memory(
        scene.os(), {.file = file.get(), .size = size, .kind = os::MapKind::shared}));
    const UniqueMap reading =
        value_of(os::map_memory(scene.os(), {.file = file.get(), .size = size}));
    EXPECT_TRUE(worked(scene.os().punch_hole(file.get(), 0, page + 1)));
    for (const UniqueMap* const map : {&shared, &reading}) {
      const auto is_zero = [](std::byte each) { return each == std::byte{}; };
      EXPECT_TRUE(std::ranges::all_of(map->get().first(page + 1), is_zero));
      EXPECT_EQ(map->get()[page + 1], std::byte{'x'});
    }
    shared.get()[0] = std::byte{'y'};
    EXPECT_EQ(reading.get()[0], std::byte{'y'});
    EXPECT_EQ(text_at(scene, file.get(), 0, 2), std::string("y\0", 2));
    scene.remove("a");
  });
}

TEST_P(StorageContract, a_hole_has_to_lie_somewhere) {
  act([](Scene& scene) {
    const UniqueFd file = scene.create("a", "abc");
    const auto refused = [&](std::uint64_t offset, std::uint64_t size, std::errc code) {
      return fails(scene.os().punch_hole(file.get(), offset, size), Call::punch_hole, code);
    };
    EXPECT_TRUE(refused(0, 0, std::errc::invalid_argument));
    EXPECT_TRUE(refused(no_offset, 1, std::errc::invalid_argument));
    EXPECT_TRUE(refused(0, no_offset, std::errc::invalid_argument));
    EXPECT_TRUE(refused(offset_max, 1, std::errc::file_too_large));
    EXPECT_TRUE(refused(1, offset_max, std::errc::file_too_large));
    EXPECT_EQ(scene.text_of("a"), "abc");
    scene.remove("a");
  });
}

TEST_P(StorageContract, only_what_is_a_file_and_may_be_written_has_holes) {
  act([](Scene& scene) {
    os::Os& os = scene.os();
    const auto refused = [&](Fd fd, std::errc code) {
      return fails(os.punch_hole(fd, 0, 2), Call::punch_hole, code);
    };
    scene.create("a", "abc");
    const UniqueFd reader = scene.open(scene.path("a"));
    const UniqueFd folder = scene.open(scene.folder(), {.folder = true});
    const contract::Pipe pipe = scene.pipe();
    const contract::Pair pair = scene.pair();
    constexpr auto bad = std::errc::bad_file_descriptor;
    for (const Fd fd : {never_opened, reader.get(), folder.get(), pipe.read.get()}) {
      EXPECT_TRUE(refused(fd, bad));
    }
    EXPECT_TRUE(refused(pipe.write.get(), std::errc::invalid_seek));
    EXPECT_TRUE(refused(pair.left.get(), std::errc::no_such_device));
    // The descriptor is checked first, but only whether it exists.
    EXPECT_TRUE(fails(os.punch_hole(never_opened, 0, 0), Call::punch_hole, bad));
    EXPECT_TRUE(
        fails(os.punch_hole(reader.get(), 0, 0), Call::punch_hole, std::errc::invalid_argument));
    EXPECT_TRUE(fails(os.punch_hole(reader.get(), offset_max, 1), Call::punch_hole, bad));
    EXPECT_EQ(os.punch_hole(never_opened, 0, 2).error().subject, "fd 9999");
    EXPECT_EQ(scene.text_of("a"), "abc");
    scene.remove("a");
  });
}

TEST_P(StorageContract, a_descriptor_that_appends_makes_holes_too) {
  act([](Scene& scene) {
    scene.create("a", "abc");
    const UniqueFd log = scene.open(scene.path("a"), {.write = true, .append = true});
    EXPECT_TRUE(worked(scene.os().punch_hole(log.get(), 0, 1)));
    EXPECT_EQ(scene.text_of("a"), std::string("\0bc", 3));
    scene.remove("a");
  });
}

TEST_P(StorageContract, what_lies_on_one_file_system_tells_the_same_kind) {
  act([](Scene& scene) {
    scene.create("a");
    scene.fixture().plant_symlink(scene.path("link"), "a");
    const std::uint64_t kind = value_of(scene.os().file_system(scene.folder()));
    EXPECT_GT(kind, 0U);
    EXPECT_EQ(value_of(scene.os().file_system(scene.path("a"))), kind);
    EXPECT_EQ(value_of(scene.os().file_system(scene.path("link"))), kind);
    scene.remove("link");
    scene.remove("a");
  });
}

TEST_P(StorageContract, shared_memory_lies_on_tmpfs_wherever_the_symlink_to_it_is) {
  act([](Scene& scene) {
    constexpr std::uint64_t tmpfs = 0x01021994;  // TMPFS_MAGIC of linux/magic.h
    scene.fixture().plant_symlink(scene.path("link"), "/dev/shm");
    EXPECT_EQ(value_of(scene.os().file_system("/dev/shm")), tmpfs);
    EXPECT_EQ(value_of(scene.os().file_system(scene.path("link"))), tmpfs);
    scene.remove("link");
  });
}

TEST_P(StorageContract, what_is_missing_lies_on_no_kind_and_the_error_names_it) {
  act([](Scene& scene) {
    scene.create("a");
    scene.fixture().plant_symlink(scene.path("dangling"), "missing");
    scene.fixture().plant_symlink(scene.path("ring"), "ring");
    const auto refused = [&](const std::string& path, std::errc code) {
      const auto kind = scene.os().file_system(path);
      return !kind && kind.error().subject != path
                 ? testing::AssertionFailure() << "the error names " << kind.error().subject
                 : fails(kind, Call::file_system, code);
    };
    constexpr auto missing = std::errc::no_such_file_or_directory;
    EXPECT_TRUE(refused(scene.path("missing"), missing));
    EXPECT_TRUE(refused(scene.path("dangling"), missing));
    EXPECT_TRUE(refused("", missing));
    EXPECT_TRUE(refused(scene.path("a/b"), std::errc::not_a_directory));
    EXPECT_TRUE(refused(scene.path("ring"), std::errc::too_many_symbolic_link_levels));
    EXPECT_TRUE(refused(std::string("/\0", 2), std::errc::invalid_argument));
    EXPECT_TRUE(refused("/" + std::string(256, 'n'), std::errc::filename_too_long));
    for (const char* const name : {"a", "dangling", "ring"}) {
      scene.remove(name);
    }
  });
}

class SpaceContract : public contract::OsContract {};
LASTREF_ON_EVERY_FIXTURE(SpaceContract);

TEST_P(SpaceContract, free_space_is_told_of_whatever_lies_on_the_file_system) {
  act([](Scene& scene) {
    constexpr std::uint64_t most = ~std::uint64_t{0} / 2;
    scene.create("a");
    scene.fixture().plant_symlink(scene.path("link"), "a");
    for (const std::string& path : {scene.folder(), scene.path("a"), scene.path("link")}) {
      const std::uint64_t space = value_of(scene.os().free_space(path));
      EXPECT_GT(space, 0U);
      EXPECT_LE(space, most);
    }
    scene.remove("link");
    scene.remove("a");
  });
}

TEST_P(SpaceContract, what_is_missing_lies_on_no_file_system_and_the_error_names_it) {
  act([](Scene& scene) {
    constexpr auto missing = std::errc::no_such_file_or_directory;
    scene.create("a");
    scene.fixture().plant_symlink(scene.path("dangling"), "missing");
    scene.fixture().plant_symlink(scene.path("ring"), "ring");
    const auto space = scene.os().free_space(scene.path("missing"));
    EXPECT_TRUE(fails(space, Call::free_space, missing));
    EXPECT_EQ(space.error().subject, scene.path("missing"));
    EXPECT_TRUE(fails(scene.os().free_space(scene.path("dangling")), Call::free_space, missing));
    EXPECT_TRUE(fails(scene.os().free_space(""), Call::free_space, missing));
    EXPECT_TRUE(fails(
        scene.os().free_space(scene.path("a/b")), Call::free_space, std::errc::not_a_directory));
    EXPECT_TRUE(fails(scene.os().free_space(scene.path("ring")),
                      Call::free_space,
                      std::errc::too_many_symbolic_link_levels));
    EXPECT_TRUE(fails(scene.os().free_space(std::string("/\0", 2)),
                      Call::free_space,
                      std::errc::invalid_argument));
    for (const char* const name : {"a", "dangling", "ring"}) {
      scene.remove(name);
    }
  });
}

TEST_P(SpaceContract, relative_paths_start_at_the_working_folder) {
  act([](Scene& scene) {
    const std::string folder = value_of(scene.os().working_folder());
    ASSERT_FALSE(folder.empty());
    EXPECT_EQ(folder.front(), '/');
    EXPECT_EQ(value_of(scene.os().status_at(".")), value_of(scene.os().status_at(folder)));
  });
}

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
    const auto closed = scene.os().map({.file = never_opened, .size = 4});
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
