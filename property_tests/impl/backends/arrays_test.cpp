// arrays_test: arrays that batches take and return, and the files through which they are sent.
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
  EXPECT_EQ(results, (List{List{one, strided, List{one, Map{{"deep", strided}}}}}));
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
              (List{List{List{array, Map{{"deep", array}, {"flat", 1}}}}}));
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

}  // namespace
}  // namespace lastref
