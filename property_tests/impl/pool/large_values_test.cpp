// large_values_test: containers and arrays that travel through files, as arguments and results.
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <lastref/kernel_os.hpp>

#include "property_tests/impl/pool/pool_fixture.hpp"

namespace lastref {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr std::uint64_t limit = 1'000;  // bytes; a larger block travels through a file.

class LargeValues : public pretend::PoolFixture {
 protected:
  Pool& with_limit(unsigned workers = 2) {
    return with({.workers = workers, .arrays = {.max_nbytes = limit}});
  }
};

using Doubles = std::vector<double>;
using Nested = std::tuple<std::vector<Doubles>, std::string, int>;

Doubles times(const Doubles& values, int factor) {
  Doubles result = values;
  for (double& each : result) {
    each *= factor;
  }
  return result;
}
Nested same(Nested all) {
  return all;
}
double sum_of_files(View<const double, 1> values) {
  return values(0) + (values.array().memory()->file() ? 100 : 0);
}
View<double, 1> doubles(std::size_t count) {
  const auto values = View<double, 1>::of(Array::zeros(*dtype_of<double>(), {count}).value());
  std::ranges::fill(values->flat(), 2.5);
  return *values;
}
/// A worker that dies while it puts a result into a file.
Doubles leaves_a_part(const std::string& folder) {
  for (const auto& each : std::filesystem::directory_iterator(folder)) {
    std::ofstream(each.path() / ("result_" + std::to_string(os::KernelOs().process_id()) + "_1"))
        << "part";
  }
  std::abort();
}

/// Cannot be written.
struct Unwritable {};
std::tuple<Doubles, Unwritable> half() {
  return {Doubles(1'000), {}};
}

}  // namespace

template <>
struct Codec<Unwritable> {
  static void write(Writer&, const Unwritable&) { throw std::runtime_error("not this"); }
  static Result<Unwritable> read(Reader&) { return Unwritable(); }
};

namespace {

TEST_F(LargeValues, are_what_they_were_L16) {
  Doubles values(10'000);
  for (std::size_t index = 0; index < values.size(); ++index) {
    values[index] = static_cast<double>(index) / 3;
  }
  const auto all = with_limit().map<times>(values, std::vector{2, 3}).value();
  EXPECT_EQ(all, (std::vector{times(values, 2), times(values, 3)}));
  const Nested nested{{values, {}, {1}, values}, std::string(5'000, 'x'), 7};
  EXPECT_EQ(pool->submit<same>(nested).get().value(), nested);
  pretend::until([&] { return files().empty(); });
}

TEST_F(LargeValues, of_arrays_are_results_as_well_L16) {
  const auto values = with_limit().submit<doubles>(10'000U).get().value();
  EXPECT_EQ(values(9'999), 2.5);
  EXPECT_TRUE(values.array().memory()->file());
  values(0) = 3;
  EXPECT_THAT(files(), IsEmpty());
  // It has no file any more, and is sent in another one.
  EXPECT_EQ(pool->submit<sum_of_files>(values.read_only()).get().value(), 103);
}

TEST_F(LargeValues, are_dropped_with_their_files_L16) {
  {
    auto first = with_limit(1).submit<doubles>(10'000U);
    first.wait_for(std::chrono::hours(1));
  }
  for (const auto& each : pool->as_completed<doubles>(std::vector<std::size_t>(20, 10'000))) {
    EXPECT_TRUE(each.result);
    break;
  }
  pretend::until([&] { return files().empty(); });
}

TEST_F(LargeValues, of_a_worker_that_dies_leave_no_file_L16) {
  with_limit(1);
  ASSERT_TRUE(pool->submit<doubles>(1'000U).get());
  const auto dead = pool->submit<leaves_a_part>(folder.path("files")).get();
  EXPECT_TRUE(failed_with(dead, std::errc::owner_dead));
  pretend::until([&] { return files().empty(); });
}

TEST_F(LargeValues, of_a_failed_call_leave_no_file_L16) {
  const auto failed = with_limit(1).submit<half>().get();
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().what(), testing::HasSubstr("not this"));
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(LargeValues, travel_through_the_pipe_where_no_file_can_be_made_L16) {
  with_limit(1);
  ASSERT_EQ(pool->submit<doubles>(1'000U).get().value()(999), 2.5);
  for (const auto& each : std::filesystem::directory_iterator(folder.path("files"))) {
    std::filesystem::remove_all(each.path());
  }
  const auto values = pool->submit<doubles>(1'000U).get().value();
  EXPECT_EQ(values(999), 2.5);
  EXPECT_FALSE(values.array().memory()->file());
}

TEST_F(LargeValues, are_those_of_more_bytes_than_the_limit_L16) {
  with({.workers = 1, .arrays = {.max_nbytes = std::nullopt}});
  EXPECT_FALSE(pool->submit<doubles>(1'000'000U).get().value().array().memory()->file());
  pool.reset();
  with_limit(1);
  EXPECT_FALSE(
      pool->submit<doubles>(limit / sizeof(double)).get().value().array().memory()->file());
  EXPECT_TRUE(
      pool->submit<doubles>(limit / sizeof(double) + 1).get().value().array().memory()->file());
}

}  // namespace
}  // namespace lastref
