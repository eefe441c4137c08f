// allocation_test: whichever allocation fails during the use of an array, the process survives it,
// the caller gets an error, and no incomplete file is left.
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/npy.hpp>
#include <lastref/owners.hpp>

#include "property_tests/support/array_model.hpp"
#include "property_tests/support/failing_memory.hpp"
#include "property_tests/support/fresh_folder.hpp"

namespace lastref {
namespace {

using pretend::Armed;
using pretend::fail_each_allocation;
using pretend::SparedOs;
using pretend::unless_no_memory;

/// Everything with a name, made beforehand.
struct Life {
  Status view(const Array& array) const {
    LASTREF_TRY(sliced, array.slice(slices));
    LASTREF_TRY(picked, sliced.pick(0, 1));
    LASTREF_TRY(turned, array.transpose(axes));
    LASTREF_TRY(swapped, turned.swapaxes(0, 1));
    LASTREF_TRY(repeated, picked.broadcast_to(repeated_shape));
    LASTREF_TRY(flat, array.reshape(flat_shape));
    LASTREF_TRY(copy, swapped.copy());
    return contents_equal(copy, array) && flat.size() == array.size() && repeated.ndim() == 2
               ? ok()
               : failure(std::errc::io_error, "");
  }

  Status live() {
    LASTREF_TRY(dtype, DType::parse("[('a long name of a field', '<i4')]"));
    LASTREF_TRY(created, create_npy(os, file, dtype, shape));
    LASTREF_CHECK(view(created));
    LASTREF_TRY(mapped, map_npy(os, file, MapMode::read));
    LASTREF_TRY(opened, os::open_file(os, file, {}));
    LASTREF_TRY(read, read_npy(os, opened.get()));
    return contents_equal(mapped, read) ? ok() : failure(std::errc::io_error, "");
  }

  pretend::FreshFolder folder;
  SparedOs os;
  os::PathAt file = folder.path("an array with a name that is no short string.npy");
  Shape shape = {4, 6};
  Shape flat_shape = {24};
  Shape repeated_shape = {3, 6};
  std::vector<Slice> slices = {Slice{.start = 1}};
  std::vector<std::size_t> axes = {1, 0};
};

TEST(FailingMemory, fails_no_life_of_an_array_but_its_own_E10) {
  fail_each_allocation([](const Armed& armed) {
    Life life;
    Status status = ok();
    armed([&] { status = life.live(); });
    std::string finding = unless_no_memory(status);
    // A failed write leaves no file; files that were already complete remain.
    for (const std::string& name : life.folder.names()) {
      finding += map_npy(life.os, life.folder.path(name), MapMode::read) ? "" : " a part is left;";
    }
    const Status again = life.live();
    finding += again ? "" : " afterwards: " + describe(again.error());
    for (const std::string& name : life.folder.names()) {
      life.folder.remove(name);
    }
    return finding;
  });
}

}  // namespace
}  // namespace lastref
