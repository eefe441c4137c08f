// task_test: exceptions and results of a task, in this process and across process boundaries.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "property_tests/impl/backends/fixture.hpp"
#include "property_tests/support/transcript.hpp"

namespace lastref {
namespace {

using pretend::Fixture;
using pretend::must;
using pretend::must_be;
using testing::HasSubstr;

TEST(Functions, have_a_name_a_body_and_no_namesake_B7) {
  Functions functions;
  const TaskFunction nothing = [](const TaskContext&, std::span<const Value>) -> Result<Value> {
    return Value();
  };
  EXPECT_TRUE(functions.add("one", nothing).has_value());
  EXPECT_EQ(functions.add("one", nothing).error().code, std::errc::file_exists);
  EXPECT_EQ(functions.add("", nothing).error().code, std::errc::invalid_argument);
  EXPECT_EQ(functions.add("two", {}).error().code, std::errc::invalid_argument);
  const std::string longest(function_name_size_max, 'x');
  EXPECT_TRUE(functions.add(longest, nothing).has_value());
  EXPECT_EQ(functions.add(longest + 'x', nothing).error().code, std::errc::invalid_argument);
  EXPECT_NE(functions.find("one"), nullptr);
  EXPECT_EQ(functions.find("two"), nullptr);
  EXPECT_EQ(functions.find(""), nullptr);
}

TEST(Failures, are_told_in_one_line_B7_B9) {
  std::string lines;
  const auto add = [&lines](const TaskFailure& failure) { lines += describe(failure) + "\n"; };
  add(TransportableException{
      .type = "std::out_of_range", .message = "no", .where = "f, in process 7"});
  add(WorkerInterrupt{.where = "f"});
  TerminatedWorker dead{.pid = 5, .exit = os::ChildExit{.code = 9, .killed = true}};
  add(dead);
  EXPECT_EQ(dead.signal(), 9);
  dead.exit = os::ChildExit{.code = 3};
  add(dead);
  dead.reason = "no tree";
  add(dead);
  EXPECT_EQ(dead.signal(), 0);
  dead.task = "square";
  add(dead);
  dead.reason = "";
  add(dead);
  dead.exit = std::nullopt;
  add(dead);
  dead.task = "";
  add(dead);
  EXPECT_EQ(dead.signal(), 0);
  EXPECT_EQ(std::ranges::count(lines, '\n'), 9);
  pretend::expect_transcript(lines);
}

/// The same wherever a task runs.
class SafeFunction : public testing::TestWithParam<BackendKind> {
 protected:
  TaskFailure failure_of(const Batch& batch) {
    must(backend->configure(fixture.options(2)));
    const FuturePtr future = must_be(backend->apply_async(batch, {}));
    EXPECT_FALSE(future->get().has_value());
    EXPECT_EQ(must_be(must_be(backend->apply_async({{"square", {3}}}, {}))->get()), List{9});
    return future->get() ? TaskFailure() : future->get().error();
  }
  TransportableException thrown_by(const Batch& batch) {
    return std::get<TransportableException>(failure_of(batch));
  }
  bool is_here() const { return GetParam() != BackendKind::processes; }

  Fixture fixture;
  std::shared_ptr<ParallelBackend> backend = fixture.make(GetParam());
};
INSTANTIATE_TEST_SUITE_P(Every,
                         SafeFunction,
                         testing::Values(BackendKind::sequential,
                                         BackendKind::threads,
                                         BackendKind::processes),
                         testing::PrintToStringParamName());

TEST_P(SafeFunction, a_standard_exception_has_its_type_message_and_place_B7) {
  const auto thrown = thrown_by({{"throw_standard", {"far out"}}});
  EXPECT_EQ(thrown.type, "std::out_of_range");
  EXPECT_EQ(thrown.message, "far out");
  const std::string here = "throw_standard, in process " + std::to_string(fixture.os.process_id());
  EXPECT_EQ(thrown.where == here, is_here()) << thrown.where;
  EXPECT_TRUE(thrown.where.starts_with("throw_standard, in process ")) << thrown.where;
}

TEST_P(SafeFunction, its_place_in_a_batch_is_told_B7) {
  const auto thrown = thrown_by({{"square", {1}}, {"throw_standard", {""}}, {"square", {2}}});
  EXPECT_TRUE(thrown.where.starts_with("task 2 of 3, throw_standard, in process ")) << thrown.where;
  EXPECT_EQ(thrown.message, "");
}

TEST_P(SafeFunction, whatever_else_is_thrown_has_a_type_B7) {
  const auto thrown = thrown_by({{"throw_number", {}}});
  EXPECT_EQ(thrown.type, "int");
  EXPECT_EQ(thrown.message, "");
}

TEST_P(SafeFunction, an_interrupt_is_told_apart_B7) {
  const auto interrupt = std::get<WorkerInterrupt>(failure_of({{"throw_interrupt", {}}}));
  EXPECT_THAT(interrupt.where, HasSubstr("throw_interrupt"));
}

TEST_P(SafeFunction, an_error_that_is_returned_stays_that_error_B7) {
  EXPECT_EQ(
      std::get<Error>(failure_of({{"refuse", {"the disk"}}})),
      (Error{.code = std::errc::no_space_on_device, .call = Call::write, .subject = "the disk"}));
}

TEST_P(SafeFunction, nobody_knows_is_an_error_that_names_it_B7) {
  const auto error = std::get<Error>(failure_of({{"nobody", {}}}));
  EXPECT_EQ(error.code, std::errc::function_not_supported);
  EXPECT_THAT(error.subject, HasSubstr("\"nobody\""));
  pretend::expect_transcript(error.subject);
}

TEST_P(SafeFunction, arguments_of_the_wrong_kind_are_what_the_task_makes_of_them_B7) {
  const auto thrown = thrown_by({{"square", {"a text"}}});
  EXPECT_EQ(thrown.type, "std::runtime_error");
  pretend::expect_transcript(thrown.message);
}

TEST_P(SafeFunction, an_argument_of_another_kind_is_an_error_that_says_which_B7) {
  const auto error = std::get<Error>(failure_of({{"second_number", {1, "a text"}}}));
  EXPECT_THAT(error.subject, HasSubstr("1 of second_number"));
  pretend::expect_transcript(error.subject);
}

TEST_P(SafeFunction, an_argument_that_is_not_there_fails_its_task_alone_E13) {
  const auto error = std::get<Error>(failure_of({{"second_number", {1}}}));
  EXPECT_EQ(error.code, std::errc::invalid_argument);
  EXPECT_EQ(error.call, Call{});
  EXPECT_THAT(error.subject, HasSubstr("1 of second_number"));
  pretend::expect_transcript(error.subject);
  must(backend->configure(fixture.options(2)));
  EXPECT_EQ(must_be(must_be(backend->apply_async({{"sixth", {1}}}, {}))->get()), List{Value()});
}

TEST_P(SafeFunction, the_value_of_an_error_that_is_asked_for_says_the_error_B7) {
  const auto thrown = thrown_by({{"value_of_error", {"the disk"}}});
  EXPECT_THAT(thrown.type, HasSubstr("lastref::Failure"));
  pretend::expect_transcript(thrown.message);
  const auto outcome = thrown_by({{"value_of_failure", {}}});
  EXPECT_THAT(outcome.message, HasSubstr("there"));
  pretend::expect_transcript(outcome.message);
}

TEST(Tasks, have_one_argument_for_each_value_in_braces_B1) {
  const List list{1, 2, 3};
  const Map map{{"one", 1}};
  const List one_list(1, Value(list));
  EXPECT_EQ((Task{"f", {list}}.arguments), one_list);
  EXPECT_EQ((Task{"f", {List{1, 2, 3}}}.arguments), one_list);
  EXPECT_EQ((Task{.function = "f", .arguments = {list}}.arguments), one_list);
  EXPECT_EQ((Task{"f", {one_list}}.arguments), List(1, Value(one_list)));
  EXPECT_EQ((Task{"f", {map}}.arguments), List(1, Value(map)));
  EXPECT_EQ((Task{"f", {list, 4}}.arguments), (List{list, 4}));
  EXPECT_EQ((Task{"f", list}.arguments), list);
  EXPECT_TRUE((Task{"f", {}}.arguments.empty()));
}

}  // namespace
}  // namespace lastref
