// arrays_test: arrays that batches take and return, and the files through which they are sent, from
// the Parallel to its last task.
#include <algorithm>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/backends/fixture.hpp"

namespace lastref {
namespace {

using pretend::array_of;
using pretend::code_of;
using pretend::Fixture;
using pretend::must;
using pretend::must_be;
using pretend::until;
using testing::IsEmpty;
using testing::SizeIs;

constexpr std::size_t large = 4096;  // bytes

class Arrays : public testing::Test {
 protected:
  List run(Batch batch) {
    return must_be(must_be(backend->apply_async(std::move(batch), {}))->get());
  }

  Fixture fixture;
  std::shared_ptr<ParallelBackend> backend = fixture.make(BackendKind::processes);
};

TEST_F(Arrays, large_ones_are_mapped_and_small_ones_are_not_B5) {
  must(backend->configure(fixture.options(2)));
  const Array array = array_of(large);
  EXPECT_EQ(run({{"sum", {array}}, {"is_mapped", {array}}, {"is_mapped", {array_of(10)}}}),
            (List{std::int64_t{large}, true, false}));
  EXPECT_THAT(fixture.files(), SizeIs(1));
}

TEST_F(Arrays, that_come_back_are_what_they_were_and_have_no_file_B5) {
  must(backend->configure(fixture.options(2)));
  const Array one = array_of(large, 3);
  const Array strided = must(one.slice(std::vector<Slice>{{.start = 100, .stop = 9, .step = -7}}));
  const List results = run({{"echo", {one, strided, List{one, Map{{"deep", strided}}}}}});
  EXPECT_EQ(results, (List{Value(List{one, strided, List{one, Map{{"deep", strided}}}})}));
  const auto& back = *results[0].get_if<List>();
  EXPECT_FALSE(has_shareable_memory(*back[0].get_if<Array>()));
  // References to one array are references to one array again.
  EXPECT_TRUE(back[0].get_if<Array>()->is(*(*back[2].get_if<List>())[0].get_if<Array>()));
}

TEST_F(Arrays, go_with_the_end_of_the_backend_B1) {
  must(backend->configure(fixture.options(2)));
  const Array kept = array_of(large);
  run({{"sum", {kept}}});
  EXPECT_THAT(fixture.files(), SizeIs(1));
  EXPECT_TRUE(backend->terminate().has_value());
  until([&] { return fixture.files().empty(); });
}

TEST_F(Arrays, go_with_an_abort_that_wants_no_more_B8) {
  must(backend->configure(fixture.options(2)));
  const Array kept = array_of(large);
  run({{"sum", {kept}}});
  must(backend->abort_everything(/*ensure_ready=*/false));
  until([&] { return fixture.files().empty(); });
  // Made ready after all, with the options of configure.
  EXPECT_EQ(must(backend->abort_everything(/*ensure_ready=*/true)).n_jobs, 2U);
  EXPECT_EQ(run({{"is_mapped", {kept}}}), List{true});
}

TEST_F(Arrays, travel_after_an_abort_as_they_did_before_B8) {
  auto options = fixture.options(2);
  options.arrays.max_nbytes = large + 1;
  must(backend->configure(options));
  must(backend->abort_everything(/*ensure_ready=*/true));
  const Array kept = array_of(large + 2);
  EXPECT_EQ(run({{"is_mapped", {array_of(large)}}, {"is_mapped", {kept}}}), (List{false, true}));
  EXPECT_THAT(fixture.files(), SizeIs(1));  // In the folder that was requested.
}

TEST_F(Arrays, of_killed_work_leave_no_file_when_it_is_restarted_B8) {
  must(backend->configure(fixture.options(2)));
  const FuturePtr future = must_be(
      backend->apply_async({{"mark_and_hang", {fixture.mark("runs"), array_of(large)}}}, {}));
  fixture.wait_for_mark("runs");
  EXPECT_THAT(fixture.files(), SizeIs(1));
  must(backend->abort_everything(/*ensure_ready=*/true));
  EXPECT_EQ(code_of(future->get()), std::errc::operation_canceled);
  EXPECT_EQ(run({{"square", {2}}}), List{4});  // After this no worker can hold it.
  until([&] { return fixture.files().empty(); });
}

TEST_F(Arrays, that_nobody_has_any_more_have_no_file_B5_B10) {
  must(backend->configure(fixture.options(2)));
  for (int round = 0; round < 5; ++round) {
    Batch batch(1, {"sum"});
    batch[0].arguments.emplace_back(array_of(large));
    run(std::move(batch));
    until([&] { return fixture.files().empty(); });
  }
}

TEST_F(Arrays, in_lists_and_maps_of_a_call_have_no_file_when_nobody_has_them_B5_B10) {
  Parallel parallel(
      fixture.session, fixture.functions, fixture.parallel(BackendKind::processes, 2));
  {
    const Array array = array_of(large);
    std::vector<Task> tasks = {{"echo", {List{array, Map{{"deep", array}, {"flat", 1}}}}}};
    EXPECT_EQ(must_be(parallel.run(std::move(tasks))),
              (List{Value(List{Value(List{array, Map{{"deep", array}, {"flat", 1}}})})}));
  }
  until([&] { return fixture.files().empty(); });
}

TEST_F(Arrays, that_many_tasks_share_travel_once_B5) {
  must(backend->configure(fixture.options(2)));
  const Array shared = array_of(large);
  Batch batch(50, Task{"sum", {shared, shared, List{shared}}});
  EXPECT_EQ(run(batch), List(50, Value(std::int64_t{large})));
  EXPECT_THAT(fixture.files(), SizeIs(1));
}

TEST_F(Arrays, that_a_task_keeps_have_their_file_as_long_B5) {
  must(backend->configure(fixture.options(2)));
  std::vector<FuturePtr> futures;
  run({{"keep", {array_of(large)}}});
  EXPECT_THAT(fixture.files(), SizeIs(1));
  must(backend->terminate());
  until([&] { return fixture.files().empty(); });
}

TEST_F(Arrays, that_cannot_be_sent_fail_at_once_and_nothing_is_on_its_way_B1_B5) {
  must(backend->configure(fixture.options(2)));
  const Array objects = must(Array::zeros(pretend::dtype_of("|O"), {2}));
  bool called = false;
  const auto sent = backend->apply_async({{"echo", {array_of(large), objects}}},
                                         [&](BatchOutcome&) { called = true; });
  EXPECT_EQ(code_of(sent), std::errc::not_supported);
  EXPECT_FALSE(called);
  Value deep = 1;
  for (int depth = 0; depth < 100; ++depth) {
    deep = List{std::move(deep)};
  }
  EXPECT_EQ(code_of(backend->apply_async({{"echo", {array_of(large), deep}}}, {})),
            std::errc::value_too_large);
  EXPECT_EQ(run({{"square", {2}}}), List{4});
  until([&] { return fixture.files().empty(); });
}

TEST_F(Arrays, that_cannot_be_sent_back_are_a_failure_and_the_pool_lives_on_B5) {
  must(backend->configure(fixture.options(2)));
  const FuturePtr future = must_be(backend->apply_async({{"make_objects", {}}}, {}));
  EXPECT_EQ(code_of(future->get()), std::errc::not_supported);
  EXPECT_TRUE(backend->is_ready());
  EXPECT_EQ(run({{"square", {2}}}), List{4});
}

TEST_F(Arrays, whose_file_is_gone_are_a_failure_and_the_pool_lives_on_B5) {
  must(backend->configure(fixture.options(2)));
  const Array kept = array_of(large);
  run({{"sum", {kept}}});
  for (const auto& folder : std::filesystem::directory_iterator(fixture.folder.path("files"))) {
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
      std::filesystem::resize_file(file, 1);
    }
  }
  const FuturePtr future = must_be(backend->apply_async({{"sum", {kept}}}, {}));
  EXPECT_FALSE(future->get().has_value());
  EXPECT_NE(code_of(future->get()), std::errc{});
  EXPECT_EQ(run({{"square", {2}}}), List{4});
}

constexpr int size_of_each = 5000;  // bytes

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
    task.arguments.emplace_back(array_of(size_of_each, ++made));
    return task;
  }));
  ASSERT_EQ(sums.size(), 50U);
  EXPECT_EQ(sums[49], Value(50 * size_of_each));
  EXPECT_GE(most, 1U);
  until([&] { return fixture.files().empty(); });
}

TEST_F(Files, of_an_array_that_is_kept_go_with_its_last_task_B10) {
  options.batch_size = 1;
  Parallel parallel(fixture.session, fixture.functions, options);
  const Array kept = array_of(size_of_each);
  // The last task runs while the file exists.
  const std::jthread watcher = let_the_last_go_on();
  const List results =
      must_be(parallel.run({{"mark_and_wait", {fixture.mark("last"), fixture.mark("gone"), 5}},
                            {"sum", {kept}},
                            {"sum", {kept}}}));
  EXPECT_EQ(results, (List{List{5}, size_of_each, size_of_each}));
}

TEST_F(Files, of_an_array_that_is_kept_go_when_no_task_is_to_come_B10) {
  options.batch_size = 1;
  options.pre_dispatch = 1;
  Parallel parallel(fixture.session, fixture.functions, options);
  const Array kept = array_of(size_of_each);
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
  const Array shared = array_of(size_of_each);
  for (int calls = 0; calls < 3; ++calls) {
    EXPECT_EQ(must_be(parallel.run(std::vector<Task>(40, Task{"sum", {shared}}))),
              List(40, Value(size_of_each)));
    until([&] { return fixture.files().empty(); });
  }
}

TEST_F(Files, of_a_call_that_fails_are_gone_with_it_B10) {
  Parallel parallel(fixture.session, fixture.functions, options);
  const Array kept = array_of(size_of_each);
  for (int calls = 0; calls < 3; ++calls) {
    EXPECT_FALSE(parallel.run({{"sum", {kept}}, {"refuse", {""}}, {"sum", {kept}}}).has_value());
    until([&] { return fixture.files().empty(); });
    EXPECT_EQ(must_be(parallel.run({{"is_mapped", {kept}}})), List{true});
  }
}

TEST_F(Files, of_a_call_that_nobody_leads_go_at_its_end_B10) {
  const auto backend = fixture.make(BackendKind::processes);
  must(backend->configure(fixture.options(2)));
  const Array kept = array_of(size_of_each);
  for (int calls = 0; calls < 3; ++calls) {
    ASSERT_TRUE(backend->start_call());
    EXPECT_EQ(must_be(must_be(backend->apply_async({{"sum", {kept}}}, {}))->get()),
              List{size_of_each});
    EXPECT_FALSE(fixture.files().empty());
    ASSERT_TRUE(backend->stop_call());
    until([&] { return fixture.files().empty(); });
  }
}

TEST_F(Files, are_of_the_elements_as_they_were_at_the_call_B10) {
  Parallel parallel(fixture.session, fixture.functions, options);
  const Array kept = array_of(size_of_each);
  EXPECT_EQ(must_be(parallel.run({{"sum", {kept}}})), List{size_of_each});
  // Nothing of one call is in the next: the array was changed in between and is sent again.
  std::fill_n(kept.mutable_data().value(), size_of_each, std::byte{2});
  EXPECT_EQ(must_be(parallel.run({{"sum", {kept}}})), List{2 * size_of_each});
}

}  // namespace
}  // namespace lastref
