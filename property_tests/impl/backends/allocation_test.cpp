// allocation_test: whichever allocation fails in a call of a Parallel, the process survives it, the
// call fails, nothing is left, and the next call succeeds.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/parallel.hpp>
#include <lastref/tracker_client.hpp>
#include <lastref/worker.hpp>

#include "property_tests/support/array_model.hpp"
#include "property_tests/support/counts.hpp"
#include "property_tests/support/failing_memory.hpp"
#include "property_tests/support/fresh_folder.hpp"
#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/process_group.hpp"

namespace lastref {
namespace {

using pretend::Armed;
using pretend::SparedMemory;
using pretend::SparedOs;
using pretend::SparedReferences;

constexpr const char* number_variable = "LASTREF_TEST_FAILING_ALLOCATION";
constexpr const char* all_variable = "LASTREF_TEST_ALL_ALLOCATIONS_FAIL";
constexpr std::uint64_t small_nbytes = 1000;
constexpr int tasks_count = 5;

std::shared_ptr<const Functions> functions() {
  static const auto all = [] {
    const auto made = std::make_shared<Functions>();
    // {array, number}: returns both, the number as a list.
    const Status added =
        made->add("echo", [](const TaskContext&, std::span<const Value> arguments) {
          return Result<Value>(List(arguments.begin(), arguments.end()));
        });
    LASTREF_ASSERT(added.has_value());
    return made;
  }();
  return all;
}

std::vector<Task> tasks_with(const Array& array) {
  std::vector<Task> tasks;
  for (int number = 0; number < tasks_count; ++number) {
    tasks.push_back({"echo", {array, number}});
  }
  return tasks;
}

std::string unless_no_memory(const Outcome<List>& outcome) {
  if (outcome) {
    return outcome->size() == tasks_count ? "" : "a result is missing;";
  }
  const auto* const error = std::get_if<Error>(&outcome.error());
  const auto* const dead = std::get_if<TerminatedWorker>(&outcome.error());
  if (dead != nullptr && dead->exit == os::ChildExit{.code = 2}) {
    return {};  // It could not join for lack of memory, and may have had none to report that.
  }
  return error != nullptr && error->code == std::errc::not_enough_memory
             ? std::string()
             : "it says " + describe(outcome.error()) + ";";
}

/// A tree of processes in which the tracker and the clients do not run out of memory.
struct Tree {
  Tree() {
    pretend::set_variable("LASTREF_RUNTIME_FOLDER", folder.path("runtime"));
    const Session real = Session::lead(os);
    session = real;
    session.references = std::make_shared<SparedReferences>(real.references);
    session.tree = [tree = real.tree] {
      const SparedMemory spared;
      return tree();
    };
  }
  /// What is wrong after everything has ended.
  std::string end() {
    session = {};
    pretend::bury_all();
    std::string finding;
    for (const std::string& name : folder.names()) {
      finding += name == "runtime" ? "" : " " + name + " is left;";
    }
    folder.remove("runtime");
    return finding;
  }

  pretend::FreshFolder folder;
  SparedOs os{{.program = this_program}};
  Session session;
};

pretend::Trial call_with(BackendKind kind) {
  return [kind](const Armed& armed) {
    pretend::adopt_orphans();
    Tree tree;
    std::string finding;
    {
      const auto array = pretend::must(Array::zeros(pretend::dtype_of("|u1"), {2000}));
      ParallelOptions options = {.n_jobs = 2,
                                 .backend = kind,
                                 .arrays = {.max_nbytes = small_nbytes},
                                 .temporary = {.root = tree.folder.path()}};
      std::vector<Task> first = tasks_with(array);
      std::vector<Task> second = tasks_with(array);
      Outcome<List> outcome;
      std::optional<Parallel> parallel;
      armed([&] {
        parallel.emplace(tree.session, functions(), options);
        outcome = parallel->run(std::move(first));
      });
      finding += unless_no_memory(outcome);
      armed([&] { outcome = parallel->run(std::move(second)); });
      finding += unless_no_memory(outcome);
      if (finding.empty() && !outcome) {
        // An object that could not be constructed returns that error; another object works.
        parallel.emplace(tree.session, functions(), options);
      }
      outcome = parallel->run(tasks_with(array));
      finding += outcome ? "" : " afterwards: " + describe(outcome.error()) + ";";
      armed([&] { parallel.reset(); });
    }
    return finding + tree.end();
  };
}

TEST(FailingMemory, fails_no_call_in_the_caller_but_its_own_E10) {
  pretend::fail_each_allocation(call_with(BackendKind::sequential));
}

TEST(FailingMemory, fails_no_call_in_threads_but_its_own_E10) {
  pretend::fail_each_allocation(call_with(BackendKind::threads));
}

TEST(FailingMemory, of_a_parent_fails_no_call_in_workers_but_its_own_E10) {
  pretend::fail_each_allocation(call_with(BackendKind::processes),
                                {.stride = 3, .threads_have_ended = false});
}

TEST(FailingMemory, of_a_worker_fails_no_call_but_its_own_E10) {
  pretend::adopt_orphans();
  constexpr int allocations_max = 120;
  constexpr int stride = 6;
  int failures = 0;
  for (const bool from_then_on : {false, true}) {
    for (int number = 1; number < allocations_max; number += stride) {
      Tree tree;
      {
        const auto array = pretend::must(Array::zeros(pretend::dtype_of("|u1"), {2000}));
        Parallel parallel(tree.session,
                          functions(),
                          {.n_jobs = 2,
                           .arrays = {.max_nbytes = small_nbytes},
                           .temporary = {.root = tree.folder.path()}});
        pretend::set_variable(number_variable, std::to_string(number));
        pretend::set_variable(all_variable, from_then_on ? "1" : "");
        const Outcome<List> outcome = parallel.run(tasks_with(array));
        pretend::set_variable(number_variable, "");
        EXPECT_EQ(unless_no_memory(outcome), "") << "allocation " << number << " of a worker";
        failures += outcome ? 0 : 1;
        // The workers that were started to fail serve no other call once one of them has ended.
        const Outcome<List> again = parallel.run(tasks_with(array));
        if (!from_then_on) {
          EXPECT_EQ(unless_no_memory(again), "") << "after allocation " << number;
        }
      }
      EXPECT_EQ(tree.end(), "") << "allocation " << number << " of a worker";
    }
  }
  EXPECT_GT(failures, 0);
}

}  // namespace

namespace pretend {
namespace {

/// A worker with allocations that fail as its environment demands, except those of its tree.
std::optional<int> serve_with_failures(os::Os& os, const std::vector<std::string>& arguments) {
  constexpr std::size_t tree_at = 2;
  const auto number = os.environment(number_variable);
  if (arguments.size() <= tree_at || arguments[0] != "lastref" ||
      arguments[1] != worker::entry_point || !number || number->empty()) {
    return std::nullopt;
  }
  const auto all = os.environment(all_variable);
  static_cast<void>(functions());
  const auto join = [&]() -> Result<Session> {
    const SparedMemory spared;
    LASTREF_TRY(client, tracker::Client::join(os, arguments[tree_at]));
    Session session = Session::of_worker(os, std::move(client));
    session.references = std::make_shared<SparedReferences>(session.references);
    return session;
  };
  fail_from_now_on(std::stoull(*number), all && !all->empty());
  return serve_worker(os, join, *functions());
}

}  // namespace
}  // namespace pretend
}  // namespace lastref

int main(int argc, char** argv) {
  // Never destroyed: threads use it to the end.
  static auto& os = *new lastref::pretend::SparedOs({.program = lastref::this_program});
  const std::vector<std::string> arguments(argv, argv + argc);
  if (const auto code = lastref::pretend::serve_with_failures(os, arguments)) {
    return *code;
  }
  if (const auto code = lastref::run_if_spawned(os, *lastref::functions(), arguments)) {
    return *code;
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
