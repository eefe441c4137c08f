// pool_test: what functions are called with and return, in which order, and how errors read.
#include <atomic>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <thread>

#include <lastref/kernel_os.hpp>

#include "property_tests/impl/pool/pool_fixture.hpp"

namespace lastref {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::MatchesRegex;

class Pools : public pretend::PoolFixture {};

struct Place {
  double x = 0;
  double y = 0;
};

int square(int number) {
  return number * number;
}
Place swapped(Place place) {
  return {.x = place.y, .y = place.x};
}
std::map<std::string, std::vector<int>> lengths(const std::string& text, std::optional<int> count) {
  return {{text, std::vector<int>(static_cast<std::size_t>(count.value_or(0)), 7)}};
}
int fails(int number) {
  if (number == 3) {
    throw std::runtime_error("item 3 is bad");
  }
  return number;
}
Result<int> refuses(int number) {
  if (number == 1) {
    return failure(std::errc::permission_denied, "a door", Call::open);
  }
  return number + 1;
}
std::vector<int> has_no_memory(int /*number*/) {
  throw std::bad_alloc();
}
std::string creates(const std::string& path) {
  std::ofstream(path).flush();
  return path;
}
int throws_a_text(int number) {
  if (number == 1) {
    throw "letters";
  }
  throw std::string("a string");
}
int throws_a_number(int number) {
  throw number;
}
Result<int> refuses_without_a_subject(int /*number*/) {
  return failure(std::errc::permission_denied, "");
}
void does_nothing(int /*number*/) {}
os::Pid process(int /*number*/) {
  return os::KernelOs().process_id();
}
int sum_in_a_pool(int count) {
  Pool inner({.workers = 2});
  int sum = 0;
  const std::vector<int> twos(static_cast<std::size_t>(count), 2);
  const auto squares = inner.map<square>(twos).value();
  for (const int each : squares) {
    sum += each;
  }
  return sum;
}
std::string variable(const std::string& name) {
  return os::KernelOs().environment(name).value_or("");
}
[[noreturn]] void hangs(int /*number*/) {
  pretend::hang();
}
int waits_for(const std::string& path) {
  pretend::until([&] { return std::ifstream(path).good(); });
  return 1;
}

/// Numbers from 0 on, without an end.
struct Numbers {
  struct Iterator {
    using value_type = int;
    using difference_type = std::ptrdiff_t;
    int operator*() const { return number; }
    Iterator& operator++() {
      ++number;
      return *this;
    }
    void operator++(int) { ++number; }
    bool operator==(std::default_sentinel_t) const { return false; }
    int number = 0;
  };
  Iterator begin() const { return {}; }
  std::default_sentinel_t end() const { return {}; }
};

/// Paths without end; each element waits until the task before it is done.
struct SlowPaths {
  struct Iterator {
    using value_type = std::string;
    using difference_type = std::ptrdiff_t;
    std::string operator*() const {
      pretend::until([&] { return number == 0 || std::ifstream(all->path(number - 1)); });
      return all->path(number);
    }
    Iterator& operator++() {
      ++number;
      return *this;
    }
    void operator++(int) { ++number; }
    bool operator==(std::default_sentinel_t) const { return false; }
    const SlowPaths* all = nullptr;
    int number = 0;
  };
  Iterator begin() const { return {.all = this}; }
  std::default_sentinel_t end() const { return {}; }

  std::function<std::string(int)> path;
};

TEST_F(Pools, return_results_in_the_order_of_the_elements_L2) {
  std::vector<int> numbers;
  std::vector<int> squares;
  for (int each = 0; each < 1'000; ++each) {
    numbers.push_back(each);
    squares.push_back(each * each);
  }
  EXPECT_EQ(two_workers().map<square>(numbers).value(), squares);
  EXPECT_EQ(pool->map<square>(std::vector<int>()).value(), std::vector<int>());
}

TEST_F(Pools, take_and_return_values_of_types_with_a_codec_L1) {
  EXPECT_EQ(two_workers().map<swapped>(std::vector<Place>{{1, 2}, {3, 4}}).value()[1].x, 4);
  EXPECT_THAT(pool->submit<lengths>(std::string("a"), 2).get().value(),
              ElementsAre(std::pair("a", std::vector{7, 7})));
  EXPECT_TRUE(pool->for_each<does_nothing>(std::vector{1, 2}));
}

TEST_F(Pools, call_lambdas_without_captures_L1) {
  EXPECT_EQ(two_workers().map<[](int each) { return each + 1; }>(std::vector{1, 2}).value(),
            std::vector({2, 3}));
  EXPECT_EQ(pool->map<[](int each) { return each + 2; }>(std::vector{1, 2}).value(),
            std::vector({3, 4}));
}

TEST_F(Pools, report_what_a_task_threw_with_its_index_function_and_worker) {
  const auto result = two_workers().map<fails>(std::vector{1, 2, 3, 4});
  ASSERT_FALSE(result);
  EXPECT_THAT(result.error().what(),
              MatchesRegex("task 2, .*fails, worker [0-9]+: std::runtime_error: item 3 is bad"));
  EXPECT_THROW(static_cast<void>(result.value()), Failure);
  EXPECT_TRUE(pool->map<fails>(std::vector{1, 2}));
}

TEST_F(Pools, report_a_lack_of_memory_in_a_task_with_the_name_of_its_function) {
  const Error error = two_workers().map<has_no_memory>(std::vector{1}).error();
  EXPECT_EQ(error.code, std::errc::not_enough_memory);
  EXPECT_THAT(error.subject, MatchesRegex("task 0, .*has_no_memory, worker [0-9]+: a task"));
}

TEST_F(Pools, report_a_failure_that_has_no_text) {
  EXPECT_THAT(two_workers().map<throws_a_number>(std::vector{1}).error().what(),
              MatchesRegex("task 0, .*throws_a_number, worker [0-9]+: int"));
  EXPECT_THAT(pool->map<throws_a_text>(std::vector{1}).error().what(),
              MatchesRegex("task 0, .*throws_a_text, worker [0-9]+: char const[*]: letters"));
  EXPECT_THAT(pool->map<throws_a_text>(std::vector{2}).error().what(),
              MatchesRegex("task 0, .*throws_a_text, worker [0-9]+: std::.*string.*: a string"));
  EXPECT_THAT(pool->map<refuses_without_a_subject>(std::vector{1}).error().what(),
              MatchesRegex("task 0, .*subject, worker [0-9]+: Permission denied"));
}

TEST_F(Pools, report_an_error_that_a_task_returned_with_its_code_L1) {
  const auto result = two_workers().map<refuses>(std::vector{1});
  EXPECT_TRUE(failed_with(result, std::errc::permission_denied));
  EXPECT_THAT(result.error().what(),
              MatchesRegex("task 0, .*refuses, worker [0-9]+: open a door: Permission denied"));
  EXPECT_EQ(pool->map<refuses>(std::vector{2}).value(), std::vector{3});
}

TEST_F(Pools, have_futures_whose_result_is_taken_once_L2) {
  auto future = two_workers().submit<square>(3);
  EXPECT_TRUE(future.wait_for(std::chrono::hours(1)));
  EXPECT_EQ(future.get().value(), 9);
  EXPECT_TRUE(failed_with(future.get(), std::errc::invalid_argument));
}

TEST_F(Pools, wait_for_any_of_several_futures_L2) {
  std::vector<Future<int>> futures;
  futures.push_back(two_workers().submit<waits_for>(folder.path("first")));
  futures.push_back(pool->submit<waits_for>(folder.path("second")));
  EXPECT_EQ(wait_any(futures, std::chrono::milliseconds(1)).value(), std::nullopt);
  folder.write("second");
  EXPECT_EQ(wait_any(futures).value(), 1U);
  EXPECT_EQ(wait_any(futures, std::chrono::hours(1)).value(), 1U);
  EXPECT_TRUE(futures[1].get());
  folder.write("first");
  EXPECT_EQ(wait_any(futures).value(), 0U);
  EXPECT_TRUE(futures[0].get());
  EXPECT_EQ(wait_any(futures).value(), std::nullopt);
  folder.remove("first");
  folder.remove("second");
}

TEST_F(Pools, report_futures_that_have_an_error_as_ready_L2) {
  std::vector<Future<void>> futures;
  futures.push_back(two_workers().submit<hangs>(0));
  futures.push_back(pool->submit<hangs>(0));
  futures[1].cancel();
  EXPECT_EQ(wait_any(futures).value(), 1U);
  Pool other(PoolOptions{.workers = -1});
  futures.push_back(other.submit<hangs>(0));
  EXPECT_FALSE(futures[1].get());
  EXPECT_EQ(wait_any(futures).value(), 2U);
  EXPECT_FALSE(futures[2].get());
  pool.reset();
  EXPECT_EQ(wait_any(futures).value(), 0U);
}

TEST_F(Pools, refuse_to_wait_for_futures_of_two_pools) {
  Pool other({.workers = 1});
  std::vector<Future<int>> futures;
  futures.push_back(two_workers().submit<square>(1));
  futures.push_back(other.submit<square>(2));
  EXPECT_TRUE(failed_with(wait_any(futures), std::errc::invalid_argument));
  EXPECT_EQ(futures[1].get().value(), 4);
  EXPECT_EQ(wait_any(futures).value(), 0U);
}

TEST_F(Pools, can_be_moved_with_their_tasks_L6) {
  auto future = two_workers().submit<waits_for>(folder.path("mark"));
  Pool moved = *std::move(pool);
  folder.write("mark");
  EXPECT_TRUE(future.get());
  folder.remove("mark");
  EXPECT_EQ(moved.submit<square>(2).get().value(), 4);
  EXPECT_TRUE(failed_with(pool->submit<square>(2).get(), std::errc::invalid_argument));
  auto running = moved.submit<hangs>(0);
  moved = Pool({.workers = 1});
  EXPECT_TRUE(failed_with(running.get(), std::errc::operation_canceled));
  EXPECT_EQ(moved.submit<square>(3).get().value(), 9);
}

TEST_F(Pools, have_futures_that_can_be_waited_for_and_cancelled_L6) {
  auto running = two_workers().submit<hangs>(0);
  auto other = pool->submit<square>(3);
  EXPECT_FALSE(running.wait_for(std::chrono::milliseconds(1)));
  running.cancel();
  EXPECT_TRUE(running.wait_for(std::chrono::hours(1)));
  EXPECT_TRUE(failed_with(running.get(), std::errc::operation_canceled));
  EXPECT_EQ(other.get().value(), 9);
}

TEST_F(Pools, that_end_cancel_their_futures_L6) {
  auto running = two_workers().submit<hangs>(0);
  pool.reset();
  EXPECT_TRUE(failed_with(running.get(), std::errc::operation_canceled));
}

TEST_F(Pools, take_elements_only_when_a_worker_may_need_them) {
  int count = 0;
  for (const auto& done : two_workers().as_completed<square>(Numbers())) {
    EXPECT_EQ(done.result.value(), done.index * done.index);
    if (++count == 100) {
      break;
    }
  }
  EXPECT_EQ(count, 100);
}

TEST_F(Pools, return_results_while_their_input_is_slow) {
  const auto path = [&](int number) { return folder.path("done " + std::to_string(number)); };
  const SlowPaths slow{.path = path};
  for (const auto& done : two_workers().as_completed<creates>(slow)) {
    EXPECT_EQ(done.result.value(), path(static_cast<int>(done.index)));
    break;
  }
  pool.reset();
  for (const std::string& name : folder.names()) {
    if (name.starts_with("done ")) {
      folder.remove(name);
    }
  }
}

TEST_F(Pools, return_from_a_loop_that_is_left_without_waiting_for_tasks_L6) {
  for (const auto& done : two_workers().as_completed<[](int each) {
         if (each == 1) {
           pretend::hang();
         }
         return each;
       }>(std::vector{0, 1})) {
    EXPECT_EQ(done.index, 0U);
    break;
  }
  EXPECT_TRUE(pool->map<square>(std::vector{1, 2, 3}));
}

TEST_F(Pools, serve_many_threads_at_a_time_L10) {
  two_workers();
  std::atomic<int> sum = 0;
  {
    std::vector<std::jthread> threads;
    for (int thread = 0; thread < 4; ++thread) {
      threads.emplace_back([&] {
        for (int round = 0; round < 10; ++round) {
          const auto squares = pool->map<square>(std::vector{1, 2, 3}).value();
          for (const int each : squares) {
            sum += each;
          }
        }
      });
    }
  }
  EXPECT_EQ(sum, 4 * 10 * 14);
}

TEST_F(Pools, in_a_worker_call_the_functions_themselves_L1) {
  EXPECT_EQ(two_workers().map<sum_in_a_pool>(std::vector{3}).value(), std::vector{12});
}

TEST_F(Pools, replace_a_worker_after_a_number_of_tasks_L9) {
  const auto all =
      with({.workers = 1, .max_tasks_per_worker = 2}).map<process>(std::vector<int>(6)).value();
  const std::set<os::Pid> workers(all.begin(), all.end());
  EXPECT_EQ(workers.size(), 3U);
}

TEST_F(Pools, limit_the_threads_of_their_workers) {
  EXPECT_EQ(with({.threads_per_worker = 3})
                .map<variable>(std::vector<std::string>{"OMP_NUM_THREADS", "MKL_NUM_THREADS"})
                .value(),
            std::vector<std::string>({"3", "3"}));
}

TEST_F(Pools, name_the_option_that_means_nothing_and_its_value) {
  using std::chrono::nanoseconds;
  struct Row {
    PoolOptions options;
    std::string subject;
  };
  const Row rows[] = {
      {{.workers = 0}, "PoolOptions::workers is 0, expected 1 or more"},
      {{.workers = -1}, "PoolOptions::workers is -1, expected 1 or more"},
      {{.max_tasks_per_worker = 0}, "PoolOptions::max_tasks_per_worker is 0, expected 1 or more"},
      {{.threads_per_worker = 0}, "PoolOptions::threads_per_worker is 0, expected 1 or more"},
      {{.tasks = {.timeout = nanoseconds(0)}},
       "TaskOptions::timeout is 0 ns, expected more than 0 ns"},
      {{.tasks = {.timeout = nanoseconds(-7)}},
       "TaskOptions::timeout is -7 ns, expected more than 0 ns"},
      {{.tasks = {.retries = -1}}, "TaskOptions::retries is -1, expected 0 or more"},
  };
  for (const Row& row : rows) {
    const Error expected{.code = std::errc::invalid_argument, .subject = row.subject};
    with(row.options);
    EXPECT_EQ(pool->map<square>(std::vector{1}).error(), expected);
    EXPECT_EQ(pool->submit<square>(1).get().error(), expected);
    EXPECT_EQ(pool->zeros<int>(3).error(), expected);
    if (row.options.tasks.timeout || row.options.tasks.retries != 0) {
      for (const auto& done :
           two_workers().as_completed<square>(std::vector{1}, row.options.tasks)) {
        EXPECT_EQ(done.result.error(), expected);
      }
      EXPECT_EQ(pool->map<square>(std::vector{2}).value(), std::vector{4});
    }
  }
}

TEST_F(Pools, accept_the_largest_values_of_their_options) {
  with({.workers = std::numeric_limits<int>::max(),
        .max_tasks_per_worker = std::numeric_limits<std::int64_t>::max(),
        .tasks = {.timeout = std::chrono::nanoseconds::max(),
                  .retries = std::numeric_limits<int>::max()}});
  EXPECT_EQ(pool->map<square>(std::vector{2}).value(), std::vector{4});
}

TEST_F(Pools, do_nothing_in_a_forked_process_L10) {
  EXPECT_TRUE(two_workers().map<square>(std::vector{1}));
  EXPECT_EQ(pretend::exit_code_of(pretend::run_in_copy([&] {
              return failed_with(pool->map<square>(std::vector{1}),
                                 std::errc::operation_not_permitted)
                         ? 0
                         : 1;
            })),
            0);
  EXPECT_TRUE(pool->map<square>(std::vector{1}));
}

}  // namespace
}  // namespace lastref
