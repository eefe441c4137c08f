// memory_test: maps of files with the modes of numpy.memmap.
#include <ostream>

#include <gtest/gtest.h>

#include <lastref/array.hpp>
#include <lastref/kernel_os.hpp>
#include <lastref/memory.hpp>

#include "property_tests/support/array_model.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref {
namespace {

using pretend::must;

std::string text_of(const Memory& memory) {
  std::string text;
  for (const std::byte byte : memory.bytes()) {
    text += static_cast<char>(byte);
  }
  return text;
}

class MemoryTest : public testing::Test {
 protected:
  Result<MemoryRef> map(MapMode mode, std::uint64_t offset, std::size_t size) {
    return Memory::map_file(os_, place_, {.mode = mode, .offset = offset, .size = size});
  }

  pretend::FreshFolder folder_;
  os::KernelOs os_;
  os::PathAt place_ = folder_.path("a");
};

TEST(MapMode, has_numpys_words) {
  for (const MapMode mode :
       {MapMode::read, MapMode::read_write, MapMode::create, MapMode::copy_on_write}) {
    EXPECT_EQ(map_mode_of(name_of(mode)), mode);
  }
  EXPECT_EQ(name_of(MapMode::create), "w+");
  EXPECT_EQ(map_mode_of("rw"), std::nullopt);
}

TEST_F(MemoryTest, mapped_to_be_read_is_the_file_and_is_not_written_R8) {
  folder_.write("a", "some text");
  const auto memory = must(map(MapMode::read, 5, 4));
  EXPECT_EQ(text_of(*memory), "text");
  EXPECT_FALSE(memory->writable());
  EXPECT_EQ(memory->origin(), Origin::file_map);
  const auto status = must(os_.status_at(folder_.path("a")));
  EXPECT_EQ(memory->file(),
            (FileMap{.path = folder_.path("a"),
                     .mode = MapMode::read,
                     .offset = 5,
                     .identity = os::identity_of(status)}));
  folder_.remove("a");
  EXPECT_EQ(text_of(*memory), "text");
}

TEST_F(MemoryTest, mapped_to_be_written_is_the_file_R8) {
  folder_.write("a", "some text");
  const auto memory = must(map(MapMode::read_write, 5, 4));
  memory->bytes()[0] = std::byte{'n'};
  EXPECT_EQ(folder_.read("a"), "some next");
  folder_.remove("a");
}

TEST_F(MemoryTest, mapped_to_be_written_makes_a_short_file_longer_R8) {
  folder_.write("a", "some");
  const auto memory = must(map(MapMode::read_write, 2, 4));
  EXPECT_EQ(text_of(*memory), std::string("me\0\0", 4));
  EXPECT_EQ(folder_.read("a"), std::string("some\0\0", 6));
  folder_.remove("a");
}

TEST_F(MemoryTest, mapped_copy_on_write_keeps_what_is_written_to_itself_R8) {
  folder_.write("a", "some text");
  const auto memory = must(map(MapMode::copy_on_write, 0, 9));
  EXPECT_TRUE(memory->writable());
  memory->bytes()[0] = std::byte{'c'};
  EXPECT_EQ(text_of(*memory), "come text");
  EXPECT_EQ(folder_.read("a"), "some text");
  folder_.remove("a");
}

TEST_F(MemoryTest, mapped_anew_is_a_private_file_of_zeros_and_the_old_one_lives_on_R8_R13) {
  folder_.write("a", "some text");
  const auto old_one = must(map(MapMode::read, 0, 9));
  const auto memory = must(map(MapMode::create, 3, 2));
  EXPECT_EQ(folder_.read("a"), std::string(5, '\0'));
  EXPECT_EQ(text_of(*old_one), "some text");
  EXPECT_EQ(must(os_.status_at(place_)).mode, 0600U);
  memory->bytes()[1] = std::byte{'x'};
  EXPECT_EQ(folder_.read("a"), std::string("\0\0\0\0x", 5));
  folder_.remove("a");
}

TEST_F(MemoryTest, too_short_a_file_is_refused_R8) {
  folder_.write("a", "some");
  for (const MapMode mode : {MapMode::read, MapMode::copy_on_write}) {
    EXPECT_EQ(map(mode, 1, 4).error().code, std::errc::invalid_argument);
    EXPECT_EQ(map(mode, 5, 0).error().code, std::errc::invalid_argument);
    EXPECT_EQ(must(map(mode, 4, 0))->bytes().size(), 0U);
  }
  folder_.remove("a");
}

TEST_F(MemoryTest, what_no_file_can_have_is_refused_R8) {
  folder_.write("a", "some");
  for (const MapMode mode :
       {MapMode::read, MapMode::read_write, MapMode::create, MapMode::copy_on_write}) {
    for (const std::uint64_t offset :
         {~std::uint64_t{0}, ~std::uint64_t{0} / 2, std::uint64_t{0}}) {
      EXPECT_EQ(map(mode, offset, ~std::size_t{0} - 5).error().code, std::errc::value_too_large);
    }
  }
  EXPECT_EQ(folder_.read("a"), "some");
  folder_.remove("a");
}

TEST_F(MemoryTest, an_open_file_is_not_mapped_behind_where_files_can_end_R8) {
  folder_.write("a", "some");
  const os::UniqueFd file = must(os::open_file(os_, folder_.path("a"), {}));
  folder_.remove("a");
  const auto mapped = Memory::map_open(
      os_, file.get(), folder_.path("a"), {.offset = ~std::uint64_t{0} - 1, .size = 4096});
  ASSERT_FALSE(mapped);
  EXPECT_EQ(mapped.error().code, std::errc::value_too_large);
}

TEST_F(MemoryTest, what_is_no_regular_file_is_refused_R13) {
  EXPECT_EQ(map(MapMode::read, 0, 1).error().code, std::errc::no_such_file_or_directory);
  folder_.make_folder("a");
  EXPECT_EQ(map(MapMode::read, 0, 1).error().code, std::errc::invalid_argument);
  EXPECT_EQ(map(MapMode::create, 0, 1).error().code, std::errc::is_a_directory);
  folder_.remove("a");
  folder_.write("target", "kept");
  folder_.link("a", "target");
  EXPECT_EQ(must(map(MapMode::read_write, 0, 1))->file()->path, folder_.path("target"));
  const auto memory = must(map(MapMode::create, 0, 1));
  memory->bytes()[0] = std::byte{'x'};
  EXPECT_EQ(folder_.read("target"), "kept");
  folder_.remove("a");
  folder_.remove("target");
}

TEST_F(MemoryTest, may_start_anywhere_in_a_large_file_R3) {
  std::string text(3 * os::map_alignment, ' ');
  for (std::size_t at = 0; at < text.size(); ++at) {
    text[at] = static_cast<char>(pretend::pattern(at));
  }
  folder_.write("a", text);
  for (const std::size_t offset : {std::size_t{1},
                                   std::size_t{4096},
                                   std::size_t{os::map_alignment},
                                   std::size_t{2 * os::map_alignment - 1}}) {
    EXPECT_EQ(text_of(*must(map(MapMode::read, offset, 999))), text.substr(offset, 999));
  }
  folder_.remove("a");
}

TEST_F(MemoryTest, tells_once_that_it_is_unmapped_after_its_last_view_R7) {
  folder_.write("a", "some text");
  int told = 0;
  bool mapped = true;
  std::optional<Array> view;
  {
    auto memory =
        must(Memory::map_file(os_, place_, {.mode = MapMode::read, .size = 9, .when_unmapped = [&] {
                                              ++told;
                                              mapped = view.has_value();
                                            }}));
    const auto array =
        must(Array::over(std::move(memory), {.dtype = pretend::dtype_of("|S3"), .shape = {3}}));
    view = must(array.transpose());
  }
  EXPECT_EQ(told, 0);
  view.reset();
  EXPECT_EQ(told, 1);
  EXPECT_FALSE(mapped);
  EXPECT_FALSE(Memory::map_file(os_, folder_.path("b"), {.when_unmapped = [&] { ++told; }}));
  EXPECT_EQ(told, 1);
  folder_.remove("a");
}

TEST_F(MemoryTest, without_a_file_is_zeros_in_a_map_R2) {
  const auto memory = must(Memory::map_anonymous(os_, 5));
  EXPECT_EQ(text_of(*memory), std::string(5, '\0'));
  EXPECT_EQ(memory->origin(), Origin::anonymous_map);
  EXPECT_FALSE(memory->file().has_value());
  EXPECT_TRUE(memory->writable());
  EXPECT_EQ(Memory::map_anonymous(os_, 0).error().code, std::errc::invalid_argument);
  EXPECT_EQ(must(Memory::zeros(3))->origin(), Origin::allocated);
}

}  // namespace
}  // namespace lastref
