// shared_test: arrays that workers write in place, arguments that tasks share, and states of
// workers.
#include <fstream>
#include <numeric>

#include <lastref/kernel_os.hpp>

#include "property_tests/impl/pool/pool_fixture.hpp"

namespace lastref {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

constexpr int sigkill = 9;

class SharedValues : public pretend::PoolFixture {};

struct Counted {
  int loads = 0;
};
int loads = 0;
Counted load() {
  return {.loads = ++loads};
}
int scaled(const Counted& state, int number) {
  return state.loads * number;
}

void fill_row(View<double, 2> matrix, std::size_t row) {
  for (double& each : matrix.row(row)) {
    each = static_cast<double>(row);
  }
}
double sum(View<const double, 1> values) {
  return std::accumulate(values.flat().begin(), values.flat().end(), 0.0);
}
void write_first(View<double, 1> values) {
  values(0) = 1;
}
void writes_and_hangs(View<double, 1> values) {
  values(0) = 1;
  pretend::hang();
}
/// Has a codec that counts how often it was decoded.
struct Costly {
  std::string text;
  int decoded = 0;
};
std::size_t length(const Costly& costly, int number) {
  return costly.text.size() + static_cast<std::size_t>(number + 1'000 * costly.decoded);
}
bool is_mapped(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  const std::string text{std::istreambuf_iterator<char>(maps), {}};
  return text.find(path) != std::string::npos;
}

}  // namespace

template <>
struct Codec<Costly> {
  static void write(Writer& to, const Costly& costly) { to.write(costly.text); }
  static Result<Costly> read(Reader& from) {
    static int decoded = 0;
    LASTREF_TRY(text, from.read<std::string>());
    return Costly{.text = std::move(text), .decoded = ++decoded};
  }
};

namespace {

std::vector<std::size_t> indices_below(std::size_t count) {
  std::vector<std::size_t> numbers(count);
  std::iota(numbers.begin(), numbers.end(), std::size_t{0});
  return numbers;
}

TEST_F(SharedValues, are_arrays_that_workers_write_in_place_L7) {
  auto matrix = two_workers().zeros<double>(50, 1'000).value();
  EXPECT_EQ(matrix(49, 999), 0);
  EXPECT_THAT(files(), SizeIs(1));
  ASSERT_TRUE(pool->for_each<fill_row>(matrix, indices_below(50)));
  EXPECT_EQ(matrix(0, 0), 0);
  EXPECT_EQ(matrix(49, 999), 49);
  EXPECT_THAT(files(), SizeIs(1));
}

TEST_F(SharedValues, are_removed_with_the_last_view_of_their_array_L7) {
  {
    const auto values = two_workers().zeros<double>(1'000).value();
    values(999) = 2.5;
    EXPECT_EQ(pool->submit<sum>(values.read_only()).get().value(), 2.5);
    EXPECT_THAT(files(), SizeIs(1));
  }
  pretend::until([&] { return files().empty(); });
  EXPECT_TRUE(pool->zeros<double>(1'000));
  pretend::until([&] { return files().empty(); });
}

TEST_F(SharedValues, are_removed_if_all_their_processes_are_killed_L7) {
  const os::Pid copy = pretend::run_in_copy([&] {
    Pool mine({.workers = 1, .temporary = {.root = folder.path("files")}});
    const auto values = mine.zeros<double>(1'000).value();
    const auto running = mine.submit<writes_and_hangs>(values);
    pretend::until([&] { return values(0) == 1; });
    folder.write("mark");
    pretend::hang();
    return 0;
  });
  pretend::until([&] { return folder.exists("mark"); });
  EXPECT_THAT(files(), SizeIs(1));
  pretend::send_signal(copy, sigkill);
  EXPECT_EQ(pretend::exit_code_of(copy), -1);
  pretend::until([&] { return files().empty(); });
  folder.remove("mark");
}

TEST_F(SharedValues, of_a_call_are_not_kept_by_workers_after_it_L8) {
  auto matrix = with({.workers = 1}).zeros<double>(2, 1'000).value();
  const std::string path = files().front();
  ASSERT_TRUE(pool->for_each<fill_row>(matrix, indices_below(2)));
  EXPECT_FALSE(pool->submit<is_mapped>(path).get().value());
}

TEST_F(SharedValues, are_too_large_for_the_device_at_once_L7) {
  const auto none = two_workers().zeros<double>(std::size_t{1} << 50U);
  ASSERT_FALSE(none);
  EXPECT_TRUE(none.error().code == std::errc::no_space_on_device ||
              none.error().code == std::errc::file_too_large)
      << none.error().what();
  const Error more_than_addresses{
      .code = std::errc::value_too_large,
      .subject =
          "shape (4611686018427387904, 8) of 8-byte elements, more than 9223372036854775807 "
          "bytes"};
  EXPECT_EQ(pool->zeros<double>(std::size_t{1} << 62U, 8).error(), more_than_addresses);
  EXPECT_THAT(files(), IsEmpty());
}

TEST_F(SharedValues, have_no_negative_extent) {
  const Error negative{.code = std::errc::invalid_argument, .subject = "zeros of shape (3, -1)"};
  EXPECT_EQ(two_workers().zeros<double>(3, -1).error(), negative);
}

TEST_F(SharedValues, are_written_by_a_single_task) {
  static_assert(!std::convertible_to<View<const double, 1>, View<double, 1>>);
  const auto values = two_workers().zeros<double>(1'000).value();
  EXPECT_TRUE(pool->submit<write_first>(values).get());
  EXPECT_EQ(values(0), 1);
}

TEST_F(SharedValues, are_decoded_once_by_each_worker_L8) {
  const Costly costly{.text = "abc"};
  EXPECT_EQ(with({.workers = 1}).map<length>(costly, std::vector<int>(50)).value(),
            std::vector<std::size_t>(50, 1'003));
}

TEST_F(SharedValues, are_sent_again_to_a_worker_that_replaces_another_L8) {
  const Costly costly{.text = "abc"};
  const auto all =
      with({.workers = 1, .max_tasks_per_worker = 3}).map<length>(costly, std::vector<int>(9));
  EXPECT_EQ(all.value(), std::vector<std::size_t>(9, 1'003));
}

TEST_F(SharedValues, include_a_state_that_each_worker_loads_once_L8) {
  EXPECT_EQ(with({.workers = 1, .state = state<load>}).map<scaled>(std::vector<int>(20, 3)).value(),
            std::vector<int>(20, 3));
}

TEST_F(SharedValues, include_no_state_that_the_pool_does_not_have) {
  const auto none = two_workers().map<scaled>(std::vector{1});
  EXPECT_TRUE(failed_with(none, std::errc::invalid_argument));
  EXPECT_THAT(none.error().what(), testing::HasSubstr("scaled takes one more argument"));
}

}  // namespace
}  // namespace lastref
