// views_test: every view of a mapped file is rebuilt exactly, or sent by value.
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/npy.hpp>
#include <lastref/reducers.hpp>

#include "property_tests/support/array_generators.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/counts.hpp"
#include "property_tests/support/directed_os.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref {
namespace {

using pretend::Counts;
using pretend::DirectedOs;
using pretend::dtype_of;
using pretend::FreshFolder;
using pretend::must;

/// A sender and a receiver, and a file of this many patterned bytes.
struct Fixture {
  explicit Fixture(std::size_t size = 4096) {
    std::string text(size, '\0');
    for (std::size_t at = 0; at < size; ++at) {
      text[at] = static_cast<char>(pretend::pattern(at));
    }
    folder.write("file", text);
  }
  ~Fixture() { folder.remove("file"); }
  Fixture(const Fixture&) = delete;
  Fixture& operator=(const Fixture&) = delete;

  std::string path() const { return folder.path("file"); }
  MemoryRef map(MapMode mode, std::uint64_t offset, std::size_t size) {
    return must(Memory::map_file(os, path(), {.mode = mode, .offset = offset, .size = size}));
  }
  /// The reduction as it arrives.
  Reduction travel(const Sent& sent) const {
    return must(decode_reduction(must(encode_reduction(sent.reduction))));
  }

  FreshFolder folder;
  DirectedOs os;
  Counts counts;
  std::shared_ptr<References> references = counts.party("one");
  ForwardReducer forward{os, references, nullptr};
  Receiver receiver{os, references};
};

/// 16 bytes of a file that is opened by this path.
Array bytes_of(Fixture& fixture, const os::PathAt& where, MapMode mode = MapMode::read) {
  return must(Array::over(must(Memory::map_file(fixture.os, where, {.mode = mode, .size = 16})),
                          {.dtype = dtype_of("|u1"), .shape = {16}}));
}

/// Any array of any_array, but over a map of a file.
Array mapped_like(Fixture& fixture, const Array& array, MapMode mode, std::uint64_t at) {
  return must(Array::over(fixture.map(mode, at, array.memory()->bytes().size()),
                          {.dtype = array.dtype(),
                           .shape = array.shape(),
                           .strides = array.strides(),
                           .offset = array.offset()}));
}

bool same_strides(const Array& one, const Array& other) {
  for (std::size_t axis = 0; axis < one.ndim(); ++axis) {
    if (one.shape()[axis] > 1 && one.strides()[axis] != other.strides()[axis]) {
      return false;
    }
  }
  return true;
}

TEST(BackingMemmap, is_the_map_at_the_root_of_every_view_R2) {
  Fixture fixture;
  const auto check = [](const MemoryRef& memory, bool is_map) {
    const Array root = must(Array::over(memory, {.dtype = dtype_of("<i4"), .shape = {4, 4}}));
    const Array view = must(root.transpose());
    const Array deep = must(must(view.pick(0, 1)).broadcast_to({3, 4}));
    for (const Array& each : {root, view, deep}) {
      EXPECT_EQ(has_shareable_memory(each), is_map);
      const auto backing = backing_memmap(each);
      ASSERT_EQ(backing.has_value(), is_map);
      EXPECT_TRUE(!backing || backing->is(root));
    }
    EXPECT_EQ(has_shareable_memory(must(deep.copy())), false);
  };
  check(must(Memory::zeros(64)), false);
  const auto keeper = std::make_shared<std::array<std::byte, 64>>();
  check(Memory::wrap(os::Buffer(*keeper), keeper), false);
  check(must(Memory::map_anonymous(fixture.os, 64)), true);
  check(fixture.map(MapMode::read, 3, 64), true);
  check(fixture.map(MapMode::read_write, 0, 64), true);
  check(fixture.map(MapMode::copy_on_write, 0, 64), true);
}

RC_GTEST_PROP(Views, of_a_file_are_rebuilt_exactly_R3_R8, ()) {
  Fixture fixture(200'000);
  const DType dtype = dtype_of(*pretend::any_dtype_text());
  const Array made = pretend::any_array(dtype);
  const auto mode = *rc::gen::element(MapMode::read, MapMode::read_write);
  const auto at = *rc::gen::element<std::uint64_t>(0, 1, 128, 4097, 65'536, 65'537);
  Array array = mapped_like(fixture, made, mode, at);
  for (int views = *rc::gen::inRange(0, 4); views > 0; --views) {
    array = pretend::any_view(array);
  }
  const Sent sent = must(fixture.forward.reduce(array));
  RC_ASSERT(!sent.reference);
  const auto* view = std::get_if<StridedFromMemmap>(&sent.reduction);
  RC_ASSERT(view != nullptr);
  RC_ASSERT(view->filename == fixture.path());
  RC_ASSERT(view->mode == (array.writable() ? mode : MapMode::read));
  RC_ASSERT(!view->unlink);
  const bool is_plain = array.is_contiguous(view->order);
  RC_ASSERT(view->strides.has_value() == !is_plain);
  RC_ASSERT(view->total_buffer_len.has_value() == !is_plain);
  const Reduction arrived = fixture.travel(sent);
  RC_ASSERT(std::get<StridedFromMemmap>(arrived) == *view);
  const Array rebuilt = must(fixture.receiver.rebuild(arrived));
  RC_ASSERT(rebuilt.dtype() == array.dtype());
  RC_ASSERT(rebuilt.shape() == array.shape());
  RC_ASSERT(contents_equal(rebuilt, array));
  RC_ASSERT(pretend::elements_of(rebuilt) == pretend::elements_of(array));
  const bool has_strides = array.size() == 0 || same_strides(rebuilt, array);
  RC_ASSERT(has_strides);
  RC_ASSERT(rebuilt.writable() == array.writable());
  RC_ASSERT(fixture.counts.empty());
  RC_ASSERT(fixture.folder.read("file").size() == 200'000U);
}

RC_GTEST_PROP(Views, that_are_stored_to_are_stored_to_for_all_R3_R8, ()) {
  Fixture fixture(200'000);
  const Array made = pretend::any_array(dtype_of(*rc::gen::element<std::string>("|u1", "<i4")));
  Array array = mapped_like(fixture, made, MapMode::read_write, 100);
  RC_PRE(array.size() > 0U);
  const Array rebuilt =
      must(fixture.receiver.rebuild(fixture.travel(must(fixture.forward.reduce(array)))));
  const auto k = *rc::gen::inRange<std::size_t>(0, array.size());
  const pretend::Index index = pretend::index_of(array.shape(), k);
  const std::vector<std::ptrdiff_t> wanted(index.begin(), index.end());
  const std::ptrdiff_t there = must(rebuilt.item_offset(wanted));
  const std::ptrdiff_t here = must(array.item_offset(wanted));
  rebuilt.mutable_data().value()[there] ^= std::byte{0xff};
  RC_ASSERT(array.data()[here] == rebuilt.data()[there]);
  const auto in_file =
      100 + static_cast<std::size_t>(array.offset()) + static_cast<std::size_t>(here);
  RC_ASSERT(static_cast<std::byte>(fixture.folder.read("file")[in_file]) == array.data()[here]);
}

RC_GTEST_PROP(Views, of_a_map_that_is_copied_on_write_travel_by_value_R3, ()) {
  Fixture fixture(200'000);
  const Array made = pretend::any_array(dtype_of(*pretend::any_dtype_text()));
  Array array = mapped_like(fixture, made, MapMode::copy_on_write, 7);
  if (array.size() > 0 && array.dtype().itemsize() > 0) {
    array.mutable_data().value()[0] ^= std::byte{0xff};
  }
  array = pretend::any_view(array);
  const Sent sent = must(fixture.forward.reduce(array));
  RC_ASSERT(std::holds_alternative<ByValue>(sent.reduction));
  const Array rebuilt = must(fixture.receiver.rebuild(fixture.travel(sent)));
  RC_ASSERT(contents_equal(rebuilt, array));
}

TEST(ViewsOnce, of_a_new_file_are_never_zeroed_again_R3_R8) {
  Fixture fixture;
  const Array array = must(Array::over(fixture.map(MapMode::create, 8, 64),
                                       {.dtype = dtype_of("<i4"), .shape = {4, 4}}));
  pretend::fill_with_pattern(array.memory()->bytes());
  const Sent sent = must(fixture.forward.reduce(array));
  EXPECT_EQ(std::get<StridedFromMemmap>(sent.reduction).mode, MapMode::read_write);
  // Even if the message requests it.
  StridedFromMemmap hostile = std::get<StridedFromMemmap>(sent.reduction);
  hostile.mode = MapMode::create;
  for (const Reduction& each : {fixture.travel(sent), Reduction(hostile)}) {
    const Array rebuilt = must(fixture.receiver.rebuild(each));
    EXPECT_EQ(rebuilt.memory()->file()->mode, MapMode::read_write);
    EXPECT_TRUE(contents_equal(rebuilt, array));
    EXPECT_EQ(rebuilt.data()[5], pretend::pattern(5));
  }
}

TEST(ViewsOnce, have_the_order_of_their_map_R3) {
  Fixture fixture;
  const auto over = [&](Order order) {
    return must(Array::over(fixture.map(MapMode::read, 0, 64),
                            {.dtype = dtype_of("<i4"), .shape = {2, 8}, .order = order}));
  };
  const auto reduced = [&](const Array& array) {
    return std::get<StridedFromMemmap>(must(fixture.forward.reduce(array)).reduction);
  };
  EXPECT_EQ(reduced(over(Order::c)).order, Order::c);
  EXPECT_EQ(reduced(over(Order::c)).strides, std::nullopt);
  EXPECT_EQ(reduced(over(Order::f)).order, Order::f);
  EXPECT_EQ(reduced(over(Order::f)).strides, std::nullopt);
  // In the order opposite to that of its map.
  const StridedFromMemmap turned = reduced(must(over(Order::f).transpose()));
  EXPECT_EQ(turned.order, Order::f);
  EXPECT_EQ(turned.strides, (Strides{8, 4}));
  EXPECT_EQ(turned.total_buffer_len, 64U);
  // The header's example.
  const Array rows = must(Array::over(fixture.map(MapMode::read, 128, 32),
                                      {.dtype = dtype_of("<i4"), .shape = {4, 2}}));
  const StridedFromMemmap view =
      reduced(must(rows.slice(std::vector<Slice>{{.start = 3, .stop = 0, .step = -2}})));
  EXPECT_EQ(view.offset, 136U);
  EXPECT_EQ(view.shape, (Shape{2, 2}));
  EXPECT_EQ(view.strides, (Strides{-16, 4}));
  EXPECT_EQ(view.total_buffer_len, 24U);
}

TEST(ViewsOnce, of_a_file_that_became_too_short_are_refused_and_it_stays_short_R3) {
  Fixture fixture;
  for (const MapMode mode : {MapMode::read, MapMode::read_write}) {
    const Array array =
        must(Array::over(fixture.map(mode, 64, 64), {.dtype = dtype_of("<i4"), .shape = {16}}));
    Sent sent = must(fixture.forward.reduce(array));
    fixture.folder.write("file", std::string(127, 'x'));
    for (const bool unlink : {false, true}) {
      std::get<StridedFromMemmap>(sent.reduction).unlink = unlink;
      if (unlink) {
        ASSERT_TRUE(fixture.references->register_name(
            {.type = ResourceType::file, .name = fixture.path()}));
      }
      const auto rebuilt = fixture.receiver.rebuild(sent.reduction);
      ASSERT_FALSE(rebuilt);
      EXPECT_EQ(rebuilt.error().code, std::errc::invalid_argument);
      EXPECT_EQ(fixture.folder.read("file").size(), 127U);
    }
    EXPECT_EQ(fixture.counts.of(fixture.path()), 1U);
    EXPECT_TRUE(fixture.references->forget({.type = ResourceType::file, .name = fixture.path()}));
    fixture.folder.write("file", std::string(4096, 'x'));
  }
}

TEST(ViewsOnce, name_a_file_by_its_absolute_path_R3) {
  Fixture fixture;
  const std::string working = must(fixture.os.working_folder());
  const auto up = static_cast<std::size_t>(std::ranges::count(working, '/'));
  std::string relative;
  for (std::size_t step = 0; step < (working == "/" ? 0 : up); ++step) {
    relative += "../";
  }
  relative += fixture.path().substr(1);
  const Array array = must(
      Array::over(must(Memory::map_file(fixture.os, relative, {.mode = MapMode::read, .size = 64})),
                  {.dtype = dtype_of("<i4"), .shape = {16}}));
  const Sent sent = must(fixture.forward.reduce(array));
  EXPECT_EQ(std::get<StridedFromMemmap>(sent.reduction).filename, fixture.path());
  BackwardReducer backward(fixture.os, nullptr);
  EXPECT_EQ(std::get<StridedFromMemmap>(must(backward.reduce(array)).reduction).filename,
            fixture.path());
}

/// The receiver has the elements of the sender, in both directions; `is_by_value` is how they are
/// sent.
void expect_its_own_bytes(Fixture& fixture, const Array& array, bool is_by_value) {
  const Array before = must(array.copy());
  BackwardReducer backward(fixture.os, nullptr);
  for (const Sent& sent : {must(fixture.forward.reduce(array)), must(backward.reduce(array))}) {
    EXPECT_EQ(std::holds_alternative<ByValue>(sent.reduction), is_by_value);
    const auto arrived = fixture.receiver.rebuild(fixture.travel(sent));
    ASSERT_TRUE(arrived) << describe(arrived.error());
    EXPECT_TRUE(contents_equal(*arrived, before));
  }
}

TEST(ViewsOnce, of_a_relative_name_stay_its_file_when_the_process_goes_elsewhere_R3_E2) {
  Fixture fixture;
  fixture.folder.make_folder("elsewhere");
  fixture.folder.write("elsewhere/file", std::string(4096, 'x'));
  std::optional<pretend::WorkingFolder> inside(fixture.folder.path());
  std::vector<Array> arrays;
  for (const MapMode mode : {MapMode::read, MapMode::read_write}) {
    arrays.push_back(bytes_of(fixture, "file", mode));
  }
  arrays.push_back(bytes_of(fixture, "new", MapMode::create));
  arrays.push_back(must(create_npy(fixture.os, "a.npy", dtype_of("<i4"), {2, 3})));
  arrays.push_back(must(map_npy(fixture.os, "a.npy", MapMode::read)));
  {
    const pretend::WorkingFolder elsewhere(fixture.folder.path("elsewhere"));
    for (const Array& array : arrays) {
      expect_its_own_bytes(fixture, array, /*is_by_value=*/false);
    }
  }
  {
    const pretend::Nowhere nowhere;
    for (const Array& array : arrays) {
      expect_its_own_bytes(fixture, array, /*is_by_value=*/false);
    }
  }
  inside.reset();
  for (const char* name : {"elsewhere/file", "elsewhere", "new", "a.npy"}) {
    fixture.folder.remove(name);
  }
}

TEST(ViewsOnce, of_what_was_mapped_through_an_open_folder_travel_by_value_E2) {
  Fixture fixture;
  fixture.folder.make_folder("working");
  fixture.folder.write("working/file", std::string(4096, 'x'));
  const auto folder = must(os::open_file(fixture.os, fixture.folder.path(), {.folder = true}));
  const Array array = bytes_of(fixture, {folder.get(), "file"});
  {
    const pretend::WorkingFolder other(fixture.folder.path("working"));
    expect_its_own_bytes(fixture, array, /*is_by_value=*/true);
  }
  fixture.folder.remove("working/file");
  fixture.folder.remove("working");
}

TEST(ViewsOnce, of_what_has_lost_its_path_travel_by_value_E2) {
  Fixture fixture;
  const Array array = bytes_of(fixture, fixture.path());
  std::filesystem::rename(fixture.path(), fixture.folder.path("moved"));
  expect_its_own_bytes(fixture, array, /*is_by_value=*/true);  // No file has the path.
  fixture.folder.write("file", std::string(4096, 'x'));
  expect_its_own_bytes(fixture, array, /*is_by_value=*/true);  // Another file has it.
  fixture.folder.remove("file");
  fixture.folder.link("file", fixture.folder.path("moved"));
  expect_its_own_bytes(fixture, array, /*is_by_value=*/true);  // A symlink, which is not followed.
  fixture.folder.remove("file");
  fixture.folder.make_folder("file");
  expect_its_own_bytes(fixture, array, /*is_by_value=*/true);
  fixture.folder.remove("file");
  std::filesystem::rename(fixture.folder.path("moved"), fixture.path());
  expect_its_own_bytes(fixture, array, /*is_by_value=*/false);
}

TEST(ViewsOnce, of_a_file_that_was_copied_up_travel_by_value_or_are_refused_E2) {
  // As overlayfs does it: the copy has the device and inode of the file, but its own birth time.
  Fixture fixture;
  const auto file = must(os::open_file(fixture.os, fixture.path(), {}));
  os::FileStatus status = must(fixture.os.status(file.get()));
  ASSERT_NE(status.btime, 0U);
  const auto mapped_with = [&](std::uint64_t btime) {
    status.btime = btime;
    return must(Array::over(
        must(Memory::map_open(fixture.os, file.get(), fixture.path(), {.size = 16}, status)),
        {.dtype = dtype_of("|u1"), .shape = {16}}));
  };
  const Array array = mapped_with(status.btime);
  expect_its_own_bytes(fixture, array, /*is_by_value=*/false);
  auto sent = std::get<StridedFromMemmap>(must(fixture.forward.reduce(array)).reduction);
  ASSERT_EQ(sent.identity->btime, status.btime);
  sent.identity->btime -= 1;
  const auto arrived = fixture.receiver.rebuild(sent);
  ASSERT_FALSE(arrived);
  EXPECT_EQ(arrived.error().code, std::errc::identifier_removed);
  expect_its_own_bytes(fixture, mapped_with(status.btime - 1), /*is_by_value=*/true);
  // Where birth times are unknown, they are not compared.
  expect_its_own_bytes(fixture, mapped_with(0), /*is_by_value=*/false);
}

TEST(ViewsOnce, whose_path_cannot_be_looked_at_are_errors_E2) {
  Fixture fixture;
  const Array array = bytes_of(fixture, fixture.path());
  fixture.os.director = pretend::fail_kth(0, std::errc::io_error, Call::status_at);
  const auto sent = fixture.forward.reduce(array);
  ASSERT_FALSE(sent);
  EXPECT_EQ(sent.error().code, std::errc::io_error);
  fixture.os.director = pretend::fail_kth(0, std::errc::io_error, Call::status_at);
  EXPECT_FALSE(BackwardReducer(fixture.os, nullptr).reduce(array));
  fixture.os.director = nullptr;
}

TEST(ViewsOnce, whose_file_is_replaced_on_the_way_are_refused_E2) {
  Fixture fixture;
  const Array array = bytes_of(fixture, fixture.path());
  const Reduction sent = fixture.travel(must(fixture.forward.reduce(array)));
  std::filesystem::rename(fixture.path(), fixture.folder.path("moved"));
  fixture.folder.write("file", std::string(4096, 'x'));
  const auto arrived = fixture.receiver.rebuild(sent);
  ASSERT_FALSE(arrived);
  EXPECT_EQ(arrived.error().code, std::errc::identifier_removed);
  EXPECT_TRUE(arrived.error().subject.starts_with(fixture.path())) << arrived.error().subject;
  std::filesystem::rename(fixture.folder.path("moved"), fixture.path());
  EXPECT_TRUE(contents_equal(must(fixture.receiver.rebuild(sent)), array));
}

TEST(ViewsOnce, with_what_does_not_fit_are_refused_and_nothing_is_held_R3) {
  Fixture fixture;
  const StridedFromMemmap good{.filename = fixture.path(),
                               .dtype = dtype_of("<i4"),
                               .offset = 16,
                               .shape = {2, 3},
                               .strides = Strides{12, 4},
                               .total_buffer_len = 24,
                               .unlink = true};
  std::vector<StridedFromMemmap> bad(9, good);
  bad[0].offset = 5000;
  bad[1].offset = UINT64_MAX;
  bad[2].total_buffer_len = 23;
  bad[3].total_buffer_len = SIZE_MAX;
  bad[4].strides = Strides{PTRDIFF_MAX, PTRDIFF_MIN};
  bad[5].strides = Strides{12};
  bad[6].shape = {SIZE_MAX, SIZE_MAX};
  bad[7].filename = fixture.path() + "x";
  bad[8].strides = Strides{-12, 1 << 20};
  const Resource resource{.type = ResourceType::file, .name = fixture.path()};
  const Resource absent{.type = ResourceType::file, .name = fixture.path() + "x"};
  ASSERT_TRUE(fixture.references->register_name(resource));
  ASSERT_TRUE(fixture.references->register_name(absent));
  for (std::size_t row = 0; row < bad.size(); ++row) {
    SCOPED_TRACE(row);
    EXPECT_FALSE(fixture.receiver.rebuild(bad[row]));
    EXPECT_FALSE(fixture.receiver.is_temporary(bad[row].filename));
    EXPECT_EQ(fixture.counts.of(fixture.path()), 1U);
    EXPECT_EQ(fixture.counts.of(absent.name), 1U);
  }
  {
    const auto rebuilt = fixture.receiver.rebuild(good);
    ASSERT_TRUE(rebuilt);
    EXPECT_EQ(fixture.counts.of(fixture.path()), 2U);
  }
  EXPECT_EQ(fixture.counts.of(fixture.path()), 1U);
  EXPECT_TRUE(fixture.references->forget(resource));
  EXPECT_TRUE(fixture.references->forget(absent));
  EXPECT_TRUE(fixture.counts.misuse.empty());
}

}  // namespace
}  // namespace lastref
