// npy_file_test: arrays in .npy files, on the real kernel and on the simulated one, and the result
// when any call fails.
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/npy.hpp>
#include <lastref/owners.hpp>

#include "harness/choice/choices.hpp"
#include "harness/instrument/instrumented_os.hpp"
#include "harness/sim/sim_process.hpp"
#include "property_tests/support/array_generators.hpp"
#include "property_tests/support/array_model.hpp"
#include "property_tests/support/directed_os.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/hooked_os.hpp"

namespace lastref {
namespace {

using pretend::dtype_of;
using pretend::FreshFolder;
using pretend::must;

const os::OpenOptions to_create{.write = true, .create = true};

TEST(NpyFile, that_is_cut_short_while_it_is_read_is_malformed_R12) {
  const FreshFolder folder;
  pretend::DirectedOs os;
  os.size = ~std::uint64_t{0};
  const os::UniqueFd file = must(os::open_file(os, folder.path("a.npy"), to_create));
  ASSERT_TRUE(write_npy(os, file.get(), must(Array::zeros(dtype_of("<i8"), {10}))));
  std::filesystem::resize_file(folder.path("a.npy"), 150);
  const os::UniqueFd again = must(os::open_file(os, folder.path("a.npy"), {}));
  const auto read = read_npy(os, again.get());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, std::errc::bad_message);
  folder.remove("a.npy");
}

TEST(NpyFile, is_no_pipe_whose_length_nobody_knows_R12) {
  os::KernelOs os;
  const auto ends = must(os.make_pipe());
  const os::UniqueFd from(os, ends.read);
  const os::UniqueFd to(os, ends.write);
  ASSERT_TRUE(write_npy(os, to.get(), must(Array::zeros(dtype_of("<i8"), {10}))));
  const auto read = read_npy(os, from.get());
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().code, std::errc::bad_message);
  EXPECT_THAT(read.error().subject, testing::HasSubstr("not a regular file"));
}

Status write_to(os::Os& os, const std::string& path, const Array& array) {
  LASTREF_TRY(file, os::open_file(os, path, to_create));
  return write_npy(os, file.get(), array);
}

Result<Array> read_from(os::Os& os, const std::string& path) {
  LASTREF_TRY(file, os::open_file(os, path, {}));
  return read_npy(os, file.get());
}

Array patterned(std::string_view type, const Shape& shape, Order order = Order::c) {
  Array array = must(Array::zeros(dtype_of(type), shape, order));
  pretend::fill_with_pattern(array.memory()->bytes());
  return array;
}

RC_GTEST_PROP(NpyFileProperties, any_array_reads_and_maps_as_it_was_written_R4, ()) {
  Array array = pretend::any_array(dtype_of(*pretend::any_dtype_text()));
  if (*rc::gen::arbitrary<bool>()) {
    array = pretend::any_view(array);
  }
  const FreshFolder folder;
  os::KernelOs os;
  RC_ASSERT(write_to(os, folder.path("a.npy"), array).has_value());
  const Array read = must(read_from(os, folder.path("a.npy")));
  RC_ASSERT(contents_equal(read, array));
  const bool only_f = array.is_f_contiguous() && !array.is_c_contiguous();
  RC_ASSERT(read.is_contiguous(only_f ? Order::f : Order::c));
  for (const MapMode mode : {MapMode::read, MapMode::read_write, MapMode::copy_on_write}) {
    const Array mapped = must(map_npy(os, folder.path("a.npy"), mode));
    RC_ASSERT(contents_equal(mapped, array));
    RC_ASSERT(mapped.strides() == read.strides());
    RC_ASSERT(mapped.memory()->file()->offset % 64 == 0);
  }
  folder.remove("a.npy");
}

RC_GTEST_PROP(NpyFileProperties, short_and_interrupted_calls_change_nothing_R4, ()) {
  const Array array = pretend::any_view(pretend::any_array(dtype_of("<c16")));
  const FreshFolder folder;
  pretend::HookedOs os;
  os.before = [calls = 0U](const pretend::Crossing& crossing) mutable -> pretend::Decision {
    if (crossing.call != Call::read && crossing.call != Call::write) {
      return {};
    }
    ++calls;
    return {.fate = calls % 3 == 0 ? pretend::Fate::fail : pretend::Fate::shorten,
            .code = std::errc::interrupted,
            .bytes = 1 + calls % 50};
  };
  RC_ASSERT(write_to(os, folder.path("a.npy"), array).has_value());
  RC_ASSERT(contents_equal(must(read_from(os, folder.path("a.npy"))), array));
  RC_ASSERT(contents_equal(must(map_npy(os, folder.path("a.npy"), MapMode::read)), array));
  folder.remove("a.npy");
}

TEST(NpyFile, larger_than_the_buffer_is_written_in_pieces_R4) {
  const FreshFolder folder;
  os::KernelOs os;
  const Array array = patterned("|V3", {700, 800});
  const std::vector<Slice> slices = {{.step = -1}, {.start = 1, .step = 2}};
  const Array view = must(array.slice(slices));
  ASSERT_TRUE(write_to(os, folder.path("a.npy"), view));
  EXPECT_TRUE(contents_equal(must(map_npy(os, folder.path("a.npy"), MapMode::read)), view));
  folder.remove("a.npy");
}

TEST(NpyFile, of_a_transposed_array_has_fortran_order_and_one_that_is_both_has_not_R3) {
  const FreshFolder folder;
  os::KernelOs os;
  const auto order_of = [&](const Array& array) {
    EXPECT_TRUE(write_to(os, folder.path("a.npy"), array));
    const os::UniqueFd file = must(os::open_file(os, folder.path("a.npy"), {}));
    folder.remove("a.npy");
    return must(read_npy_header(os, file.get())).order;
  };
  EXPECT_EQ(Order::c, order_of(patterned("<i4", {2, 3})));
  EXPECT_EQ(Order::f, order_of(must(patterned("<i4", {2, 3}).transpose())));
  EXPECT_EQ(Order::f, order_of(patterned("<i4", {2, 3}, Order::f)));
  EXPECT_EQ(Order::c, order_of(patterned("<i4", {6}, Order::f)));
  EXPECT_EQ(Order::c, order_of(patterned("<i4", {1, 6}, Order::f)));
  EXPECT_EQ(Order::c, order_of(patterned("<i4", {0, 6}, Order::f)));
}

TEST(NpyFile, keeps_what_stands_behind_its_header_unread_R4) {
  const FreshFolder folder;
  os::KernelOs os;
  for (const char* const type : {"<i4", "[('\xe2\x82\xac', '<i4')]"}) {
    ASSERT_TRUE(write_to(os, folder.path("a.npy"), patterned(type, {3})));
    const os::UniqueFd file = must(os::open_file(os, folder.path("a.npy"), {}));
    const NpyHeader header = must(read_npy_header(os, file.get()));
    std::vector<std::byte> rest(100);
    EXPECT_EQ(must(os::read_until_full(os, file.get(), rest)), 12U);
    EXPECT_EQ(rest[0], pretend::pattern(0));
    EXPECT_EQ(header.nbytes, 12U);
    folder.remove("a.npy");
  }
}

TEST(NpyFile, goes_through_a_pipe_as_it_is_written_R4) {
  os::KernelOs os;
  const os::PipeEnds ends = must(os.make_pipe());
  const os::UniqueFd read(os, ends.read);
  const os::UniqueFd write(os, ends.write);
  ASSERT_TRUE(write_npy(os, write.get(), patterned("<i4", {3})));
  EXPECT_EQ(must(read_npy_header(os, read.get())).shape, Shape{3});
}

TEST(NpyFile, that_is_cut_anywhere_is_refused_in_every_mode_and_is_not_made_longer_R12) {
  const FreshFolder folder;
  os::KernelOs os;
  ASSERT_TRUE(write_to(os, folder.path("a.npy"), patterned("<i4", {3})));
  const std::string whole = folder.read("a.npy");
  for (std::size_t size = 0; size < whole.size(); ++size) {
    folder.write("a.npy", whole.substr(0, size));
    for (const MapMode mode : {MapMode::read, MapMode::read_write, MapMode::copy_on_write}) {
      const auto mapped = map_npy(os, folder.path("a.npy"), mode);
      ASSERT_FALSE(mapped);
      EXPECT_EQ(mapped.error().code, std::errc::bad_message);
    }
    EXPECT_EQ(read_from(os, folder.path("a.npy")).error().code, std::errc::bad_message);
    EXPECT_EQ(folder.read("a.npy").size(), size);
  }
  folder.remove("a.npy");
}

TEST(NpyFile, that_claims_to_be_huge_is_refused_before_memory_is_taken_R12) {
  const FreshFolder folder;
  os::KernelOs os;
  const auto header = must(npy_header(dtype_of("|u1"), {std::size_t{1} << 62U}, Order::c));
  std::string text(header.size(), ' ');
  std::memcpy(text.data(), header.data(), header.size());
  folder.write("a.npy", text);
  EXPECT_EQ(read_from(os, folder.path("a.npy")).error().code, std::errc::bad_message);
  EXPECT_EQ(map_npy(os, folder.path("a.npy"), MapMode::read_write).error().code,
            std::errc::bad_message);
  folder.remove("a.npy");
}

TEST(NpyFile, of_what_points_into_python_is_neither_written_nor_read_R4) {
  const FreshFolder folder;
  os::KernelOs os;
  const Array objects = must(Array::zeros(dtype_of("|O"), {2}));
  EXPECT_EQ(write_to(os, folder.path("a.npy"), objects).error().code, std::errc::not_supported);
  EXPECT_EQ(folder.read("a.npy"), "");
  folder.write("a.npy",
               std::string("\x93NUMPY\x01\0\x40\0", 10) +
                   "{'descr': '|O', 'fortran_order': False, 'shape': (2,), }        " +
                   std::string(16, 'x'));
  EXPECT_EQ(read_from(os, folder.path("a.npy")).error().code, std::errc::not_supported);
  EXPECT_EQ(map_npy(os, folder.path("a.npy"), MapMode::read).error().code,
            std::errc::not_supported);
  folder.remove("a.npy");
}

TEST(NpyFile, that_cannot_be_mapped_is_named_with_the_reason_E10) {
  const FreshFolder folder;
  os::KernelOs os;
  const std::string path = folder.path("a.npy");
  const auto subject = [&] { return map_npy(os, path, MapMode::read).error().subject; };
  folder.write("a.npy", "some text");
  EXPECT_EQ(subject(), path + " (not an .npy file)");
  folder.remove("a.npy");
  ASSERT_TRUE(write_to(os, path, must(Array::zeros(dtype_of("<i4"), {100}))).has_value());
  std::filesystem::resize_file(path, 200);
  EXPECT_EQ(subject(), path + " (the file is shorter than its header requires)");
  folder.remove("a.npy");
}

/// What map_npy and create_npy promise, on any Os. `path` names a new file.
void check_modes(os::Os& os, const std::string& path) {
  {
    const Array made = must(create_npy(os, path, dtype_of("<i2"), {2, 3}, Order::f));
    EXPECT_TRUE(made.is_f_contiguous());
    EXPECT_TRUE(made.writable());
    EXPECT_EQ(made.memory()->file()->mode, MapMode::create);
    EXPECT_TRUE(contents_equal(made, must(Array::zeros(dtype_of("<i2"), {2, 3}))));
    made.mutable_data().value()[11] = std::byte{5};
    const Array seen = must(map_npy(os, path, MapMode::read));
    EXPECT_FALSE(seen.writable());
    EXPECT_EQ(seen.data()[11], std::byte{5});
    const Array both = must(map_npy(os, path, MapMode::read_write));
    both.mutable_data().value()[10] = std::byte{6};
    EXPECT_EQ(seen.data()[10], std::byte{6});
    const Array own = must(map_npy(os, path, MapMode::copy_on_write));
    own.mutable_data().value()[0] = std::byte{7};
    EXPECT_EQ(seen.data()[0], std::byte{0});
    // Arrays that have mapped the old file keep it.
    const Array anew = must(create_npy(os, path, dtype_of("|u1"), {0}));
    EXPECT_EQ(anew.size(), 0U);
    EXPECT_EQ(seen.data()[10], std::byte{6});
  }
  EXPECT_EQ(must(map_npy(os, path, MapMode::read)).shape(), Shape{0});
  EXPECT_EQ(map_npy(os, path, MapMode::create).error().code, std::errc::invalid_argument);
  EXPECT_EQ(create_npy(os, path, dtype_of("|O"), {2}).error().code, std::errc::not_supported);
  EXPECT_EQ(must(map_npy(os, path, MapMode::read_write)).shape(), Shape{0});
  EXPECT_TRUE(os.unlink(path));
}

TEST(NpyFile, is_mapped_in_each_mode_as_numpy_means_it_R8) {
  const FreshFolder folder;
  os::KernelOs os;
  check_modes(os, folder.path("a.npy"));
}

TEST(NpyFile, is_mapped_in_each_mode_in_the_simulated_kernel_too_R8) {
  harness::ListedChoices choices{{}};
  harness::sim::Computer computer{choices};
  const auto rest = computer.run_process({}, [](os::Os& os) { check_modes(os, "/tmp/a.npy"); });
  EXPECT_EQ(rest, harness::sim::Scheduler::Rest::ended);
}

TEST(NpyFile, is_made_although_others_make_one_of_that_name_at_the_same_time_R8) {
  const FreshFolder folder;
  pretend::DirectedOs os;
  int others = 3;
  os.after = [&](const pretend::Crossing& crossing) {
    if (crossing.call == Call::unlink && others > 0) {
      --others;
      folder.write("a", "another's");
    }
  };
  const Array made = must(create_npy(os, folder.path("a"), dtype_of("<i2"), {2, 3}));
  EXPECT_EQ(must(map_npy(os, folder.path("a"), MapMode::read)).shape(), (Shape{2, 3}));
  others = 3;
  must(Memory::map_file(os, folder.path("a"), {.mode = MapMode::create, .size = 1}));
  // A writer that is faster every time wins.
  others = 1'000'000;
  EXPECT_EQ(create_npy(os, folder.path("a"), dtype_of("<i2"), {2, 3}).error().code,
            std::errc::file_exists);
  EXPECT_EQ(folder.read("a"), "another's");
  os.after = nullptr;
  folder.remove("a");
}

TEST(NpyFile, takes_its_space_when_it_is_made_or_is_an_error_E14) {
  const FreshFolder folder;
  pretend::DirectedOs os;
  const auto fails = [&](Call call, std::errc code) {
    os.director = pretend::fail_kth(0, code, call);
    const auto made = create_npy(os, folder.path("a"), dtype_of("|u1"), {300'000});
    os.director = nullptr;
    return made ? std::errc{} : made.error().code;
  };
  EXPECT_EQ(fails(Call::allocate, std::errc::no_space_on_device), std::errc::no_space_on_device);
  EXPECT_FALSE(folder.exists("a"));
  EXPECT_EQ(os.count_of(Call::write_at), 0U);
  // Without allocate, the space is written.
  EXPECT_EQ(fails(Call::allocate, std::errc::operation_not_supported), std::errc{});
  EXPECT_EQ(os.count_of(Call::write_at), 2U);
  EXPECT_EQ(fails(Call::allocate, std::errc::interrupted), std::errc{});
  EXPECT_EQ(os.count_of(Call::write_at), 2U);
  EXPECT_EQ(must(map_npy(os, folder.path("a"), MapMode::read)).shape(), Shape{300'000});
  folder.remove("a");
}

TEST(NpyFile, that_a_symlink_leads_to_is_mapped_and_known_by_its_own_name_R8_E2) {
  const FreshFolder folder;
  os::KernelOs os;
  folder.make_folder("below");
  must(create_npy(os, folder.path("below/a"), dtype_of("<i2"), {2, 3}));
  folder.link("below/near", "a");
  folder.link("far", folder.path("below/near"));
  folder.link("relative", "below/../far");
  for (const char* name : {"below/near", "far", "relative"}) {
    for (const MapMode mode : {MapMode::read, MapMode::read_write, MapMode::copy_on_write}) {
      const auto array = map_npy(os, folder.path(name), mode);
      ASSERT_TRUE(array) << describe(array.error());
      EXPECT_EQ(array->shape(), (Shape{2, 3}));
      EXPECT_EQ(must(os.status_at(array->memory()->file()->path)).kind, os::FileKind::regular);
      const auto memory = Memory::map_file(os, folder.path(name), {.mode = mode, .size = 1});
      ASSERT_TRUE(memory) << describe(memory.error());
      EXPECT_EQ((*memory)->file()->path, array->memory()->file()->path);
    }
  }
  folder.link("around", "around");
  EXPECT_EQ(map_npy(os, folder.path("around"), MapMode::read).error().code,
            std::errc::too_many_symbolic_link_levels);
  folder.link("dangling", "nowhere");
  EXPECT_EQ(map_npy(os, folder.path("dangling"), MapMode::read).error().code,
            std::errc::no_such_file_or_directory);
  // A new file takes the place of the symlink; the target remains.
  must(create_npy(os, folder.path("far"), dtype_of("<i2"), {5}));
  EXPECT_EQ(must(map_npy(os, folder.path("below/a"), MapMode::read)).shape(), (Shape{2, 3}));
  for (const char* name : {"around", "dangling", "far", "relative", "below"}) {
    folder.remove(name);
  }
}

TEST(NpyFile, tells_once_when_it_is_unmapped_R7) {
  const FreshFolder folder;
  os::KernelOs os;
  ASSERT_TRUE(write_to(os, folder.path("a.npy"), patterned("<i4", {3})));
  int told = 0;
  {
    must(map_npy(os, folder.path("a.npy"), MapMode::read, [&] { ++told; }));
  }
  EXPECT_EQ(told, 1);
  folder.remove("a.npy");
}

/// Fails the n-th call, which may be none, and counts them.
class FailingInterceptor final : public harness::Interceptor {
 public:
  explicit FailingInterceptor(std::size_t index = ~std::size_t{0}, int error = 0) noexcept
      : index_(index), error_(error) {}

  harness::Injection before(const harness::PendingCall& pending_call) noexcept override {
    harness::Injection injection;
    if (crossed.size() == index_) {
      injection.error = error_;
    }
    crossed.push_back(pending_call.call);
    return injection;
  }

  std::vector<Call> crossed;

 private:
  std::size_t index_;
  int error_;
};

struct Deed {
  const char* name;
  Status (*act)(os::Os& os, const std::string& folder);
  bool leaves_its_file = true;  ///< Even if it fails.
};

void PrintTo(const Deed& deed, std::ostream* out) {
  *out << deed.name;
}

const Deed deeds[] = {
    {.name = "create",
     .act = [](os::Os& os, const std::string& folder) -> Status {
       LASTREF_CHECK(create_npy(os, folder + "/a.npy", dtype_of("<i4"), {3}));
       return ok();
     },
     .leaves_its_file = false},
    {.name = "map",
     .act = [](os::Os& os, const std::string& folder) -> Status {
       LASTREF_TRY(array, map_npy(os, folder + "/old.npy", MapMode::read_write));
       EXPECT_EQ(array.data()[1], pretend::pattern(1));
       return ok();
     }},
    {.name = "read",
     .act = [](os::Os& os, const std::string& folder) -> Status {
       LASTREF_TRY(array, read_from(os, folder + "/old.npy"));
       EXPECT_EQ(array.data()[1], pretend::pattern(1));
       return ok();
     }},
    {.name = "write",
     .act =
         [](os::Os& os, const std::string& folder) {
           return write_to(os, folder + "/a.npy", must(patterned("<i4", {2, 3}).transpose()));
         }},
};

class NpyFaults : public testing::TestWithParam<Deed> {};

TEST_P(NpyFaults, any_call_may_fail_with_any_of_its_errnos_and_nothing_is_left_R12) {
  const Deed& deed = GetParam();
  const FreshFolder folder;
  os::KernelOs kernel;
  ASSERT_TRUE(write_to(kernel, folder.path("old.npy"), patterned("<i4", {3})));
  FailingInterceptor counting;
  {
    harness::InstrumentedOs os(kernel, counting);
    ASSERT_TRUE(deed.act(os, folder.path()));
    EXPECT_TRUE(os.still_open().empty());
    folder.remove("a.npy");
  }
  int runs = 0;
  for (std::size_t index = 0; index < counting.crossed.size(); ++index) {
    const Call call = counting.crossed[index];
    for (const auto& [error, in_tracker, elsewhere] : row_of(call).errors) {
      SCOPED_TRACE(std::string(name_of(call)) + " fails with " + std::to_string(error));
      FailingInterceptor failing(index, error);
      harness::InstrumentedOs os(kernel, failing);
      const Status done = deed.act(os, folder.path());
      ++runs;
      if (done) {
        // An interruption is no failure; a close or unmap at the end is only reported. If space
        // cannot be allocated, it is written.
        const bool harmless = error == EINTR || error == ENOENT || error == EOPNOTSUPP ||
                              call == Call::close || call == Call::unmap;
        EXPECT_TRUE(harmless);
      } else {
        EXPECT_EQ(done.error().call, call);
        EXPECT_EQ(static_cast<int>(done.error().code), error);
        EXPECT_TRUE(deed.leaves_its_file || !folder.exists("a.npy"));
      }
      // A map that could not be unmapped is still reported as open.
      const std::vector<std::string> left = os.still_open();
      EXPECT_EQ(left.size(), call == Call::unmap ? 1U : 0U);
      folder.remove("a.npy");
    }
  }
  EXPECT_GT(runs, 5);
  RecordProperty("runs", runs);
  folder.remove("old.npy");
}

INSTANTIATE_TEST_SUITE_P(Npy, NpyFaults, testing::ValuesIn(deeds), [](const auto& each) {
  return std::string(each.param.name);
});

}  // namespace
}  // namespace lastref
