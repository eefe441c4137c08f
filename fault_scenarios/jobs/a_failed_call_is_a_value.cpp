#include "fault_scenarios/support/jobs.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool can_want_memory = false;  // Its allocator ends a process that requests so much, or
                                         // reports it.
#else
constexpr bool can_want_memory = true;
#endif
/// 2^60 bytes, which no machine has.
constexpr std::size_t too_many = std::size_t{1} << 58U;

void want_too_much(Stage& stage) {
  const auto array = Array::zeros(DType::parse("<i4").value(), {too_many});
  if (array || array.error().code != std::errc::not_enough_memory) {
    stage.refute("E15: an array without memory is an error", "another answer");
  }
}

/// A program as users write them: it checks the result, reports it, and continues.
Status root(Stage& stage) {
  LASTREF_CHECK(stage.product().lead());
  if (can_want_memory) {
    want_too_much(stage);
  }
  Jobs jobs(stage);
  const std::vector<std::vector<Task>> bad = {{{"nobody has told us of this one"}},
                                              {{"square", {1}}, {"square", {"no number"}}}};
  for (const std::vector<Task>& tasks : bad) {
    const Outcome<List> failed = jobs.run("fail", tasks);
    if (failed) {
      stage.refute("E15: a failed task is a failed call", "results");
    } else if (describe(failed.error()).empty()) {
      stage.refute("E15: a failed call says why", "nothing");
    }
  }
  const Outcome<List> good = jobs.run("run again", squares(2));
  const Status run = must_be_squares(stage, good);
  if (!good && stage.is_undisturbed()) {
    stage.refute("E15: the program goes on", describe(good.error()));
  }
  return first_failure({run, jobs.end()});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A program makes an array that no memory is enough for, and calls in which a task "
          "throws, has no function, or is given nonsense: each is a value that says why, and it "
          "goes on.",
      .rows = {"E15", "B7"},
      .roles = {{"root", root}, {"worker_1", work}, {"worker_2", work}},
      .failing_operations = {"fail"},
  };
});

}  // namespace
}  // namespace lastref::harness
