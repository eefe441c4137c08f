// nested_test: pools in workers, which call their functions in threads.
#include <atomic>
#include <barrier>
#include <thread>

#include <lastref/kernel_os.hpp>

#include "property_tests/impl/pool/pool_fixture.hpp"

namespace lastref {
namespace {

using std::chrono::milliseconds;
using testing::Each;
using testing::ElementsAre;
using testing::MatchesRegex;

class NestedPools : public pretend::PoolFixture {
 protected:
  /// The result of `f` in a worker.
  template <auto f>
  auto in_a_worker() {
    return two_workers().submit<f>(0).get().value();
  }
};

/// The process and the thread of a task.
using TaskPlace = std::pair<os::Pid, os::Pid>;

TaskPlace place_of_task(int /*number*/) {
  os::KernelOs os;
  return {os.process_id(), os.thread_id()};
}
TaskPlace place_in_a_pool(int /*number*/) {
  Pool inner({.workers = 2});
  return inner.map<place_of_task>(std::vector{1}).value()[0];
}

/// Returns when as many tasks run at a time as the pool has threads.
int meets(int number) {
  static std::barrier<> all(3);
  all.arrive_and_wait();
  return number;
}

int fails_twice(int number) {
  static std::atomic<int> calls = 0;
  if (++calls <= 2) {
    throw std::runtime_error("not yet");
  }
  return number;
}

std::atomic<bool> is_open = false;
std::atomic<int> running = 0;
int waits_until_open(int number) {
  ++running;
  pretend::until([] { return is_open.load(); });
  return number;
}

struct Loaded {
  int loads = 0;
};
Loaded load_in_thread() {
  static thread_local int loads = 0;
  return {.loads = ++loads};
}
int loads_of(const Loaded& state, int /*number*/) {
  return state.loads;
}

/// Counts in each thread how often it is decoded.
struct Decoded {
  int count = 0;
};

}  // namespace

template <>
struct Codec<Decoded> {
  static void write(Writer& to, const Decoded& decoded) { to.write(decoded.count); }
  static Result<Decoded> read(Reader& from) {
    static thread_local int count = 0;
    LASTREF_CHECK(status_of(from.read<int>()));
    return Decoded{.count = ++count};
  }
};

namespace {

int count_of(const Decoded& decoded, int /*number*/) {
  return decoded.count;
}
void writes(View<int, 1> values, int number) {
  values(number) = number;
}

std::pair<TaskPlace, std::vector<TaskPlace>> places_in_threads(int /*number*/) {
  Pool pool({.workers = 3});
  return {place_of_task(0), pool.map<place_of_task>(std::vector(100, 0)).value()};
}
std::pair<TaskPlace, std::vector<TaskPlace>> places_by_default(int /*number*/) {
  Pool pool;
  return {place_of_task(0), pool.map<place_of_task>(std::vector(10, 0)).value()};
}
bool is_in_its_thread(int /*number*/) {
  return place_of_task(0) == place_in_a_pool(0);
}
std::pair<bool, std::vector<bool>> nest_twice(int /*number*/) {
  Pool pool({.workers = 2});
  return {is_in_its_thread(0), pool.map<is_in_its_thread>(std::vector(10, 0)).value()};
}
std::vector<int> meet(int /*number*/) {
  return Pool({.workers = 3}).map<meets>(std::vector{1, 2, 3}).value();
}
std::pair<int, int> retry_in(unsigned threads) {
  Pool pool({.workers = threads, .tasks = {.retries = 2}});
  auto all = pool.as_completed<fails_twice>(std::vector{7});
  const auto& done = *all.begin();
  return {done.result.value(), done.attempts};
}
std::string error_of_nested(int /*number*/) {
  return Pool({.workers = 2}).map<fails_twice>(std::vector{7}).error().what();
}
/// Whether the results are as expected.
std::vector<bool> cancel_all(int /*number*/) {
  std::optional<Pool> pool(PoolOptions{.workers = 2});
  std::vector<Future<int>> futures;
  for (int each = 0; each < 5; ++each) {
    futures.push_back(pool->submit<waits_until_open>(each));
  }
  pretend::until([] { return running == 2; });
  std::vector<bool> all{!futures[0].wait_for(milliseconds(1))};
  for (auto& each : futures) {
    each.cancel();
  }
  for (auto& each : futures) {
    all.push_back(failed_with(each.get(), std::errc::operation_canceled));
  }
  is_open = true;
  pool.reset();
  all.push_back(running == 2);
  return all;
}
std::vector<int> end_early(int /*number*/) {
  std::optional<Pool> pool(PoolOptions{.workers = 2});
  auto one = pool->submit<waits_until_open>(1);
  auto two = pool->submit<waits_until_open>(2);
  pretend::until([] { return running == 2; });
  const std::jthread opener([] { is_open = true; });
  pool.reset();
  return {one.get().value(), two.get().value()};
}
std::pair<std::vector<int>, std::vector<int>> load_and_decode(int /*number*/) {
  Pool pool({.workers = 2, .state = state<load_in_thread>});
  const std::vector<int> numbers(100, 0);
  return {pool.map<loads_of>(numbers).value(), pool.map<count_of>(Decoded(), numbers).value()};
}
std::vector<int> write_in_place(int /*number*/) {
  Pool pool({.workers = 2});
  const auto values = pool.zeros<int>(4).value();
  pool.for_each<writes>(values, std::vector{1, 2, 3}).value();
  return {values.flat().begin(), values.flat().end()};
}

TEST_F(NestedPools, call_functions_in_other_threads_of_their_worker_L15) {
  const auto [outer, inner] = in_a_worker<places_in_threads>();
  EXPECT_NE(outer.first, os::KernelOs().process_id());
  std::set<os::Pid> threads;
  for (const TaskPlace& each : inner) {
    EXPECT_EQ(each.first, outer.first);
    EXPECT_NE(each.second, outer.second);
    threads.insert(each.second);
  }
  EXPECT_LE(threads.size(), 3U);
}

TEST_F(NestedPools, run_as_many_tasks_at_a_time_as_they_have_threads_L15) {
  EXPECT_THAT(in_a_worker<meet>(), ElementsAre(1, 2, 3));
}

TEST_F(NestedPools, call_functions_in_the_thread_of_the_task_by_default_L15) {
  const auto [outer, inner] = in_a_worker<places_by_default>();
  EXPECT_THAT(inner, Each(outer));
}

TEST_F(NestedPools, that_are_nested_twice_have_no_threads_L15) {
  const auto [outer, inner] = in_a_worker<nest_twice>();
  EXPECT_FALSE(outer);
  EXPECT_THAT(inner, Each(true));
}

TEST_F(NestedPools, call_a_function_again_after_a_failure_L5) {
  EXPECT_EQ(two_workers().submit<retry_in>(2U).get().value(), std::pair(7, 3));
  EXPECT_EQ(two_workers().submit<retry_in>(1U).get().value(), std::pair(7, 3));
}

TEST_F(NestedPools, report_what_a_task_threw_with_its_index_and_function) {
  EXPECT_THAT(in_a_worker<error_of_nested>(),
              MatchesRegex("task 0, .*fails_twice, worker [0-9]+: std::runtime_error: not yet"));
}

TEST_F(NestedPools, drop_cancelled_tasks_and_wait_for_those_that_run_L6) {
  EXPECT_THAT(in_a_worker<cancel_all>(), ElementsAre(true, true, true, true, true, true, true));
}

TEST_F(NestedPools, that_end_wait_for_tasks_that_run_L6) {
  EXPECT_THAT(in_a_worker<end_early>(), ElementsAre(1, 2));
}

TEST_F(NestedPools, load_a_state_and_decode_shared_arguments_once_in_each_thread_L8) {
  const auto [loads, decoded] = in_a_worker<load_and_decode>();
  EXPECT_THAT(loads, Each(1));
  EXPECT_THAT(decoded, Each(1));
}

TEST_F(NestedPools, write_arrays_in_place_L7) {
  EXPECT_THAT(in_a_worker<write_in_place>(), ElementsAre(0, 1, 2, 3));
}

}  // namespace
}  // namespace lastref
