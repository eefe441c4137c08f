// Typed pools with a state of each worker, shared arguments, and arrays that they write in place.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <vector>

#include "fault_scenarios/support/array_travel.hpp"
#include "fault_scenarios/support/pools.hpp"
#include "harness/program/arena.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {

/// A factor that counts how often it is decoded.
struct CountedFactor {
  int value = 0;
};

}  // namespace lastref::harness

template <>
struct lastref::Codec<lastref::harness::CountedFactor> {
  static void write(Writer& to, const harness::CountedFactor& factor) { to.write(factor.value); }
  static Result<harness::CountedFactor> read(Reader& from);
};

namespace lastref::harness {
namespace {

constexpr Parameter<std::size_t> tasks_per_worker = {
    .name = "limit", .usual = 2, .values = {1, 2, 5}, .unit = "tasks per worker"};
constexpr Parameter<bool> is_full = {.name = "full", .usual = false};

constexpr std::size_t columns = 300;  // A row of doubles is `large`.

struct LoadedState {
  int loads = 0;
};

LoadedState load() {
  return {.loads = count_in_worker(caller_of_task(), "state")};
}

int square_with_state(const Caller& worker, const LoadedState& state, int number) {
  Stage& stage = *worker.stage;
  count_square(stage, number);
  if (stage.is_undisturbed() && state.loads != 1) {
    stage.refute("L8: a worker loads its state once", std::to_string(state.loads) + " times");
  }
  const int tasks = count_in_worker(worker, "task");
  if (static_cast<std::size_t>(tasks) > stage.value(tasks_per_worker)) {
    stage.refute("L9: a worker is replaced after its number of tasks",
                 std::to_string(tasks) + " tasks");
  }
  return number * number;
}

/// Waits until all tasks that can run at a time do.
int square_at_a_time(const LoadedState& state, int number) {
  const Caller worker = caller_of_task();
  Stage& stage = *worker.stage;
  const int running = enter_task(stage);
  if (stage.is_undisturbed() && running > static_cast<int>(stage.value(pool_workers))) {
    stage.refute("L9: no more tasks run at a time than there are workers",
                 std::to_string(running) + " run");
  }
  const int result = square_with_state(worker, state, number);
  leave_task(stage);
  return result;
}

Status root_of_replaced_workers(Stage& stage) {
  std::optional<Pool> pool;
  make_pool(
      stage, pool, {.state = state<load>, .max_tasks_per_worker = stage.value(tasks_per_worker)});
  const int count = stage.value(pool_tasks);
  Tally tally(stage, {});
  const Status run = run_squares<square_at_a_time>(stage, *pool, "run", count, tally, {});
  tally.must_have(count);
  return first_failure({run, end(stage, pool)});
}

std::int64_t weighted(const CountedFactor& factor, View<const std::int32_t, 1> values, int number) {
  std::int64_t sum = 0;
  for (const std::int32_t each : values.flat()) {
    sum += each;
  }
  return sum * factor.value + number;
}

Status run_weighted(Stage& stage, Pool& pool, int factor) {
  const std::uint32_t elements = stage.value(element_count);
  LASTREF_TRY(values, (View<const std::int32_t, 1>::of(numbered(1, elements))));
  const std::int64_t sum = std::int64_t{elements} * (std::int64_t{elements} - 1) / 2;
  std::vector<std::int64_t> results;
  const Status run = stage.product().operation("run weighted", [&]() -> Status {
    LASTREF_TRY(
        all,
        pool.map<weighted>(CountedFactor{factor}, values, numbers_below(stage.value(pool_tasks))));
    results = std::move(all);
    return ok();
  });
  for (std::size_t number = 0; number < results.size(); ++number) {
    if (results[number] != sum * factor + static_cast<std::int64_t>(number)) {
      stage.refute("L2: each result is that of its element", std::to_string(results[number]));
    }
  }
  return run;
}

Status root_of_two_threads(Stage& stage) {
  std::optional<Pool> pool;
  make_pool(stage, pool);
  Status there = ok();
  const auto thread = stage.os().start_thread([&] { there = run_weighted(stage, *pool, 2); });
  const Status here = run_weighted(stage, *pool, 3);
  if (thread) {
    (*thread)->join();
  }
  return first_failure({status_of(thread), here, there, end(stage, pool)});
}

void fill_row(View<double, 2> matrix, int row) {
  std::ranges::fill(matrix.row(row), static_cast<double>(row + 1));
}

using Matrix = View<double, 2>;

Result<Matrix> zeros(Stage& stage, Pool& pool, const char* operation, std::size_t rows) {
  std::optional<Matrix> made;
  LASTREF_CHECK(stage.product().operation(operation, [&]() -> Status {
    LASTREF_TRY(zeros, pool.zeros<double>(rows, columns));
    made = std::move(zeros);
    return ok();
  }));
  return *std::move(made);
}

void must_be_filled(Stage& stage, const Matrix& matrix) {
  for (std::size_t row = 0; row < matrix.extent(0); ++row) {
    for (const double each : matrix.row(row)) {
      if (each != static_cast<double>(row + 1)) {
        stage.refute("L7: workers write an array in place", "row " + std::to_string(row));
        return;
      }
    }
  }
}

Status must_be_without_space(Stage& stage, Pool& pool, std::size_t rows) {
  if (!stage.value(is_full) || !stage.limits().storage(page_size, 64)) {
    return ok();
  }
  const auto none = zeros(stage, pool, "zeros without space", rows + 10);
  stage.limits().free_storage();
  if (stage.is_undisturbed() && !failed_with(none, std::errc::no_space_on_device)) {
    stage.refute("L7: zeros without space fail with no_space_on_device",
                 none ? "an array" : describe(none.error()));
  }
  return ok();
}

/// Whether the file at the path is there.
bool is_there(Stage& stage, const std::filesystem::path& path) {
  return std::ranges::count(stage.outside().list(path.parent_path()), path.filename().string()) > 0;
}

Status root_of_zeros(Stage& stage) {
  std::optional<Pool> pool;
  make_pool(stage, pool);
  const auto rows = static_cast<std::size_t>(stage.value(pool_tasks));
  std::filesystem::path path;
  {
    LASTREF_TRY(matrix, zeros(stage, *pool, "zeros", rows));
    path = matrix.array().memory()->file()->path;
    LASTREF_CHECK(must_be_without_space(stage, *pool, rows));
    LASTREF_CHECK(stage.product().operation("fill", [&] {
      return pool->for_each<fill_row>(matrix, numbers_below(static_cast<int>(rows)));
    }));
    must_be_filled(stage, matrix);
  }
  stage.wait_for_quiet();
  if (stage.is_undisturbed() && is_there(stage, path)) {
    stage.refute("L7: the file of an array is removed with its last view", path.string());
  }
  return end(stage, pool);
}

std::vector<double> filled(const std::vector<double>& values, int number) {
  return std::vector<double>(values.size(), static_cast<double>(number));
}

View<double, 1> row_of(std::size_t size) {
  return View<double, 1>::of(Array::zeros(*dtype_of<double>(), {size}).value()).value();
}

void must_have_arrived(Stage& stage, const Array& array) {
  const std::optional<FileMap>& file = array.memory()->file();
  if (stage.is_undisturbed() && (!file || is_there(stage, file->path))) {
    stage.refute("L16: a large result has a file, which is removed when it arrives",
                 file ? file->path : "no file");
  }
}

Status root_of_large_values(Stage& stage) {
  std::optional<Pool> pool;
  make_pool(stage, pool);
  const std::vector<double> values(columns);
  LASTREF_CHECK(stage.product().operation("fill", [&]() -> Status {
    LASTREF_TRY(all, pool->map<filled>(values, numbers_below(stage.value(pool_tasks))));
    for (std::size_t number = 0; number < all.size(); ++number) {
      if (all[number] != filled(values, static_cast<int>(number))) {
        stage.refute("L2: each result is that of its element", std::to_string(number));
      }
    }
    return ok();
  }));
  LASTREF_CHECK(stage.product().operation("make a row", [&]() -> Status {
    LASTREF_TRY(row, pool->submit<row_of>(columns).get());
    must_have_arrived(stage, row.array());
    return ok();
  }));
  return end(stage, pool);
}

const RegisteredScenario pool_moves_large_values([] {
  return Scenario{
      .name = "jobs/pool_moves_large_values",
      .sentence =
          "Large arguments and results of a pool travel through files. The file of a result is "
          "removed when it arrives; where no file can be made it travels through the pipe.",
      .rows = {"L2", "L16"},
      .roles = pool_roles(root_of_large_values),
      .parameters = {pool_workers, pool_tasks},
      .stays = {counted_calls},
  };
});

const RegisteredScenario pool_replaces_workers([] {
  return Scenario{
      .name = "jobs/pool_replaces_workers",
      .sentence =
          "Workers of a pool are replaced after a number of tasks. Each loads its state once, no "
          "task is lost, and no more tasks run at a time than there are workers.",
      .rows = {"L5", "L8", "L9"},
      .roles = pool_roles(root_of_replaced_workers),
      .parameters = {pool_workers, pool_tasks, tasks_per_worker},
      .stays = {counted_calls},
  };
});

const RegisteredScenario pool_serves_two_threads([] {
  return Scenario{
      .name = "jobs/pool_serves_two_threads",
      .sentence =
          "Two threads call functions in the workers of one pool. Each worker decodes the shared "
          "arguments of a call once, and each thread gets its own results.",
      .rows = {"L2", "L8", "L10"},
      .roles = pool_roles(root_of_two_threads),
      .parameters = {pool_workers, pool_tasks, element_count},
      .stays = {counted_calls},
  };
});

const RegisteredScenario pool_fills_array_in_place([] {
  return Scenario{
      .name = "jobs/pool_fills_array_in_place",
      .sentence =
          "Workers of a pool write the rows of an array of zeros in place. Its file is removed "
          "with its last view. Without space there is an error and no array.",
      .rows = {"L7"},
      .roles = pool_roles(root_of_zeros),
      .parameters = {pool_workers, pool_tasks, is_full},
      .failing_operations = {"zeros without space"},
      .stays = {counted_calls},
  };
});

}  // namespace
}  // namespace lastref::harness

lastref::Result<lastref::harness::CountedFactor>
lastref::Codec<lastref::harness::CountedFactor>::read(Reader& from) {
  LASTREF_TRY(value, from.read<int>());
  const harness::Caller worker = harness::caller_of_task();
  const int decoded = harness::count_in_worker(worker, "factor " + std::to_string(value));
  if (decoded > 1 && worker.stage->is_undisturbed()) {
    worker.stage->refute("L8: a worker decodes the shared arguments of a call once",
                         std::to_string(decoded) + " times");
  }
  return harness::CountedFactor{value};
}
