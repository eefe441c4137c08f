// files_test: the files of a call's inputs, from the Parallel to its last task.
#include <algorithm>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/backends/fixture.hpp"

namespace lastref {
namespace {

using pretend::array_of;
using pretend::Fixture;
using pretend::must;
using pretend::must_be;
using pretend::until;

constexpr int large = 5000;  // bytes

class Files : public testing::Test {
 protected:
  /// The task that has made the mark "last" waits for "gone", which is made when no file is left.
  std::jthread let_the_last_go_on() {
    return std::jthread([this] {
      fixture.wait_for_mark("last");
      until([&] { return fixture.files().empty(); });
      fixture.make_mark("gone");
    });
  }

  Fixture fixture;
  ParallelOptions options = fixture.parallel(BackendKind::processes, 2);
};

TEST_F(Files, of_a_stream_of_arrays_are_a_handful_at_a_time_B10) {
  options.batch_size = 1;
  Parallel parallel(fixture.session, fixture.functions, options);
  std::size_t most = 0;
  int made = 0;
  const List sums = must_be(parallel.run([&]() -> std::optional<Task> {
    if (made == 50) {
      return std::nullopt;
    }
    // The tracker releases the files of finished tasks, and may be late.
    until([&] { return fixture.files().size() <= 8; });
    most = std::max(most, fixture.files().size());
    Task task = {"sum"};
    task.arguments.emplace_back(array_of(large, ++made));
    return task;
  }));
  ASSERT_EQ(sums.size(), 50U);
  EXPECT_EQ(sums[49], Value(50 * large));
  EXPECT_GE(most, 1U);
  until([&] { return fixture.files().empty(); });
}

TEST_F(Files, of_an_array_that_is_kept_go_with_its_last_task_B10) {
  options.batch_size = 1;
  Parallel parallel(fixture.session, fixture.functions, options);
  const Array kept = array_of(large);
  // The last task runs while the file exists.
  const std::jthread watcher = let_the_last_go_on();
  const List results =
      must_be(parallel.run({{"mark_and_wait", {fixture.mark("last"), fixture.mark("gone"), 5}},
                            {"sum", {kept}},
                            {"sum", {kept}}}));
  EXPECT_EQ(results, (List{List{5}, large, large}));
}

TEST_F(Files, of_an_array_that_is_kept_go_when_no_task_is_to_come_B10) {
  options.batch_size = 1;
  options.pre_dispatch = 1;
  Parallel parallel(fixture.session, fixture.functions, options);
  const Array kept = array_of(large);
  // The last task that uses the array is done before the source has reported its end.
  const std::jthread watcher = let_the_last_go_on();
  std::vector<Task> tasks(6, Task{"echo", {1}});
  tasks.front() = {"sum", {kept}};
  tasks.back() = {"mark_and_wait", {fixture.mark("last"), fixture.mark("gone"), 5}};
  EXPECT_EQ(must_be(parallel.run(std::move(tasks))).back(), Value(List{5}));
}

TEST_F(Files, of_an_array_for_many_tasks_are_one_as_long_as_they_last_B10) {
  options.batch_size = 2;
  Parallel parallel(fixture.session, fixture.functions, options);
  const Array shared = array_of(large);
  for (int calls = 0; calls < 3; ++calls) {
    EXPECT_EQ(must_be(parallel.run(std::vector<Task>(40, Task{"sum", {shared}}))),
              List(40, Value(large)));
    until([&] { return fixture.files().empty(); });
  }
}

TEST_F(Files, of_a_call_that_fails_are_gone_with_it_B10) {
  Parallel parallel(fixture.session, fixture.functions, options);
  const Array kept = array_of(large);
  for (int calls = 0; calls < 3; ++calls) {
    EXPECT_FALSE(parallel.run({{"sum", {kept}}, {"refuse", {""}}, {"sum", {kept}}}).has_value());
    until([&] { return fixture.files().empty(); });
    EXPECT_EQ(must_be(parallel.run({{"is_mapped", {kept}}})), List{true});
  }
}

TEST_F(Files, of_a_call_that_nobody_leads_go_at_its_end_B10) {
  const auto backend = fixture.make(BackendKind::processes);
  must(backend->configure(fixture.options(2)));
  const Array kept = array_of(large);
  for (int calls = 0; calls < 3; ++calls) {
    ASSERT_TRUE(backend->start_call());
    EXPECT_EQ(must_be(must_be(backend->apply_async({{"sum", {kept}}}, {}))->get()), List{large});
    EXPECT_FALSE(fixture.files().empty());
    ASSERT_TRUE(backend->stop_call());
    until([&] { return fixture.files().empty(); });
  }
}

TEST_F(Files, are_of_the_elements_as_they_were_at_the_call_B10) {
  Parallel parallel(fixture.session, fixture.functions, options);
  const Array kept = array_of(large);
  EXPECT_EQ(must_be(parallel.run({{"sum", {kept}}})), List{large});
  // Nothing of one call is in the next: the array was changed in between and is sent again.
  std::fill_n(kept.mutable_data().value(), large, std::byte{2});
  EXPECT_EQ(must_be(parallel.run({{"sum", {kept}}})), List{2 * large});
}

}  // namespace
}  // namespace lastref
