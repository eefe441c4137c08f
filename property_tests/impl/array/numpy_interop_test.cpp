// numpy_interop_test: numpy reads our files and we read numpy's.
//
// One Python executes a whole plan, because starting it costs more than the plan. The bytes of
// whole files are compared: header, order and elements.
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/npy.hpp>
#include <lastref/owners.hpp>

#include "property_tests/support/array_model.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref {
namespace {

using pretend::dtype_of;
using pretend::FreshFolder;
using pretend::must;
using pretend::wait_for;

const char* const types[] = {
    "|b1",
    "|i1",
    "<i2",
    ">i2",
    "<i4",
    ">i4",
    "<i8",
    ">i8",
    "|u1",
    "<u2",
    ">u2",
    "<u4",
    ">u4",
    "<u8",
    ">u8",
    "<f2",
    ">f2",
    "<f4",
    ">f4",
    "<f8",
    ">f8",
    "<f16",
    ">f16",
    "<c8",
    ">c8",
    "<c16",
    ">c16",
    "<c32",
    ">c32",
    "|S1",
    "|S7",
    "<U1",
    ">U3",
    "|V1",
    "|V5",
    "<M8",
    ">M8[D]",
    "<M8[25us]",
    "<m8[ns]",
    ">m8[3W]",
    "[('a', '<i4'), ('b', '>f8')]",
    "[('a', '|u1'), ('', '|V3'), ('b', '<f4', (2, 3))]",
    "[(('a title', 'a'), '<i2'), ('n', [('x', '|S3'), ('y', '<M8[s]')], (2,))]",
    "[('caf\xc3\xa9', '<i4')]",
    "[('\xe2\x82\xac', '<i4')]",
};

struct ShapeRow {
  const char* text;
  Shape shape;
};

const ShapeRow shapes[] = {
    {"()", {}},
    {"(1,)", {1}},
    {"(5,)", {5}},
    {"(0,)", {0}},
    {"(2, 3)", {2, 3}},
    {"(1, 4)", {1, 4}},
    {"(3, 0, 2)", {3, 0, 2}},
    {"(2, 3, 4)", {2, 3, 4}},
};

class NumpyInterop : public testing::Test {
 protected:
  void TearDown() override {
    for (const std::string& name : folder_.names()) {
      folder_.remove(name);
    }
  }

  void plan(std::initializer_list<std::string> words) {
    for (const std::string& word : words) {
      plan_ += word;
      plan_ += '\t';
    }
    plan_.back() = '\n';
  }

  void perform() {
    folder_.write("plan", plan_);
    plan_.clear();
    const os::Child child = must(os_.spawn({.entry = LASTREF_NUMPY_INTEROP,
                                            .arguments = {folder_.path("plan")},
                                            .fds = {},
                                            .blocked = {}}));
    const os::UniqueFd process(os_, child.process);
    const os::ChildExit exit = must(wait_for(os_, process.get()));
    ASSERT_FALSE(exit.killed);
    ASSERT_EQ(exit.code, 0) << "what numpy has against it is on standard error";
  }

  std::string path(const std::string& name) const { return folder_.path(name); }

  void write(const std::string& name, const Array& array) {
    const os::UniqueFd file = must(os::open_file(os_, path(name), {.write = true, .create = true}));
    const Status written = write_npy(os_, file.get(), array);
    ASSERT_TRUE(written) << describe(written.error());
  }

  /// Calls with each type, shape and order.
  static void for_each_array(
      const std::function<void(const std::string& name, const Array& array)>& act) {
    std::size_t number = 0;
    for (const char* const type : types) {
      for (const ShapeRow& row : shapes) {
        for (const Order order : {Order::c, Order::f}) {
          SCOPED_TRACE(std::string(type) + row.text + (order == Order::c ? "C" : "F"));
          const Array array = must(Array::zeros(dtype_of(type), row.shape, order));
          pretend::fill_with_pattern(array.memory()->bytes());
          act(std::to_string(number++), array);
        }
      }
    }
  }

  FreshFolder folder_;
  os::KernelOs os_{{.program = LASTREF_PYTHON}};
  std::string plan_;
};

std::string text_of(const Shape& shape) {
  for (const ShapeRow& row : shapes) {
    if (row.shape == shape) {
      return row.text;
    }
  }
  return {};
}

TEST_F(NumpyInterop, numpy_maps_what_we_write_and_writes_it_byte_for_byte_the_same_R4) {
  for_each_array([&](const std::string& name, const Array& array) {
    write(name + ".npy", array);
    plan({"resave", path(name + ".npy"), path(name + "_numpy.npy")});
  });
  perform();
  for_each_array([&](const std::string& name, const Array&) {
    EXPECT_EQ(folder_.read(name + "_numpy.npy"), folder_.read(name + ".npy"));
  });
}

TEST_F(NumpyInterop, we_map_and_read_what_numpy_writes_and_write_it_byte_for_byte_the_same_R4) {
  for_each_array([&](const std::string& name, const Array& array) {
    plan({"make",
          path(name + "_numpy.npy"),
          array.dtype().literal(),
          text_of(array.shape()),
          array.is_c_contiguous() ? "C" : "F",
          "0"});
  });
  perform();
  for_each_array([&](const std::string& name, const Array& array) {
    const auto mapped = map_npy(os_, path(name + "_numpy.npy"), MapMode::read);
    ASSERT_TRUE(mapped) << describe(mapped.error());
    EXPECT_TRUE(contents_equal(*mapped, array));
    EXPECT_EQ(mapped->is_c_contiguous(), array.is_c_contiguous());
    EXPECT_EQ(mapped->is_f_contiguous(), array.is_f_contiguous());
    const os::UniqueFd file = must(os::open_file(os_, path(name + "_numpy.npy"), {}));
    EXPECT_TRUE(contents_equal(must(read_npy(os_, file.get())), array));
    write(name + ".npy", *mapped);
    EXPECT_EQ(folder_.read(name + "_numpy.npy"), folder_.read(name + ".npy"));
  });
}

TEST_F(NumpyInterop, a_long_header_has_the_version_that_numpy_gives_it_R4) {
  const auto array_of = [](int fields) {
    std::string text = "[('first', '<f8')";
    for (int field = 1; field < fields; ++field) {
      text += ", ('" + std::to_string(1000000 + field) + "', '|u1')";
    }
    return must(Array::zeros(dtype_of(text + "]"), {2}));
  };
  constexpr int at_the_limit = 3269;
  for (int fields = at_the_limit - 5; fields < at_the_limit + 5; ++fields) {
    const std::string name = std::to_string(fields);
    write(name + ".npy", array_of(fields));
    plan({"resave", path(name + ".npy"), path(name + "_numpy.npy")});
  }
  perform();
  std::string versions;
  for (int fields = at_the_limit - 5; fields < at_the_limit + 5; ++fields) {
    const std::string name = std::to_string(fields);
    const std::string bytes = folder_.read(name + ".npy");
    EXPECT_EQ(folder_.read(name + "_numpy.npy"), bytes);
    versions += static_cast<char>('0' + bytes.at(6));
  }
  EXPECT_EQ(versions.front(), '1');
  EXPECT_EQ(versions.back(), '2');
}

TEST_F(NumpyInterop, we_read_each_version_of_the_format_R4) {
  const char* const versions[] = {"1", "2", "3"};
  for (const char* const version : versions) {
    plan({"make", path(std::string(version) + ".npy"), "'>f8'", "(2, 3)", "F", version});
  }
  perform();
  const Array array = must(Array::zeros(dtype_of(">f8"), {2, 3}, Order::f));
  pretend::fill_with_pattern(array.memory()->bytes());
  for (const char* const version : versions) {
    const std::string name = std::string(version) + ".npy";
    const os::UniqueFd file = must(os::open_file(os_, path(name), {}));
    EXPECT_EQ(must(read_npy_header(os_, file.get())).version, version[0] - '0');
    EXPECT_TRUE(contents_equal(must(map_npy(os_, path(name), MapMode::copy_on_write)), array));
  }
}

struct ViewRow {
  const char* expression;
  Array (*view)(const Array& array);
};

Array sliced(const Array& array, const std::vector<Slice>& slices) {
  return must(array.slice(slices));
}

/// Views of a C-ordered array of shape (4, 5, 6).
const ViewRow view_rows[] = {
    {"a.T", [](const Array& a) { return must(a.transpose()); }},
    {"a[::-1]", [](const Array& a) { return sliced(a, {{.step = -1}}); }},
    {"a[::-1, 4:1:-2, -3:]",
     [](const Array& a) {
       return sliced(a, {{.step = -1}, {.start = 4, .stop = 1, .step = -2}, {.start = -3}});
     }},
    {"a[1:1]", [](const Array& a) { return sliced(a, {{.start = 1, .stop = 1}}); }},
    {"a[100::-3, :, ::-100]",
     [](const Array& a) {
       return sliced(a, {{.start = 100, .step = -3}, {}, {.step = -100}});
     }},
    {"a[-1]", [](const Array& a) { return must(a.pick(0, -1)); }},
    {"a[:, 2]", [](const Array& a) { return must(a.pick(1, 2)); }},
    {"a[:, :, 3].T", [](const Array& a) { return must(must(a.pick(2, 3)).transpose()); }},
    {"a.transpose(1, 2, 0)",
     [](const Array& a) {
       return must(a.transpose(std::vector<std::size_t>{1, 2, 0}));
     }},
    {"a.swapaxes(0, 1)", [](const Array& a) { return must(a.swapaxes(0, 1)); }},
    {"a.swapaxes(0, 2)", [](const Array& a) { return must(a.swapaxes(0, 2)); }},
    {"a.reshape(20, 6)",
     [](const Array& a) {
       return must(a.reshape({20, 6}));
     }},
    {"a.T.reshape(30, 4, order='F')",
     [](const Array& a) {
       return must(must(a.transpose()).reshape({30, 4}, Order::f));
     }},
    {"a[:, ::2].reshape(4, 3, 2, 1, 3)",
     [](const Array& a) {
       return must(sliced(a, {{}, {.step = 2}}).reshape({4, 3, 2, 1, 3}));
     }},
    {"numpy.broadcast_to(a[:, :1], (2, 4, 3, 6))",
     [](const Array& a) {
       return must(sliced(a, {{}, {.stop = 1}}).broadcast_to({2, 4, 3, 6}));
     }},
    {"a.copy('F')", [](const Array& a) { return must(a.copy(Order::f)); }},
    {"a.T[::-2].copy()",
     [](const Array& a) { return must(sliced(must(a.transpose()), {{.step = -2}}).copy()); }},
};

TEST_F(NumpyInterop, a_view_means_what_it_means_to_numpy_R3) {
  for (const char* const type : {"<i4", "|V3"}) {
    const Array array = must(Array::zeros(dtype_of(type), {4, 5, 6}));
    pretend::fill_with_pattern(array.memory()->bytes());
    write(std::string(type) + ".npy", array);
    for (const ViewRow& row : view_rows) {
      plan({"view",
            path(std::string(type) + ".npy"),
            path(type + std::string(row.expression) + "_numpy.npy"),
            row.expression});
    }
  }
  perform();
  for (const char* const type : {"<i4", "|V3"}) {
    const Array array = must(map_npy(os_, path(std::string(type) + ".npy"), MapMode::read));
    for (const ViewRow& row : view_rows) {
      SCOPED_TRACE(row.expression);
      const std::string name = type + std::string(row.expression);
      write(name + ".npy", row.view(array));
      EXPECT_EQ(folder_.read(name + "_numpy.npy"), folder_.read(name + ".npy"));
    }
  }
}

}  // namespace
}  // namespace lastref
