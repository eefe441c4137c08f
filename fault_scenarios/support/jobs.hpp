// jobs: what scenarios of worker pools have in common: a root whose tasks run in two workers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <lastref/parallel.hpp>

#include "harness/scenario/scenario.hpp"

namespace lastref::harness {

/// The place of the process of a Stage, noted as its operations. It leads or has joined a tree.
Session session_of(Stage& stage);

/// "sum" of an array, "square" of a number, "throw", "interrupt" (throws Interrupt), "keep" of an
/// array for as long as the process lives, "wait" (tells "a task is waiting", and waits for its
/// end), "echo" of anything.
std::shared_ptr<Functions> functions_of(Stage& stage);

/// A role: a worker with these functions.
Status work(Stage& stage);

/// The same with others.
Status serve(Stage& stage, const Functions& functions);

/// Two workers, a task a message, arrays beyond a thousand bytes through files.
ParallelOptions two_workers();

/// Where tasks are run by a root; each call is an operation.
class Jobs {
 public:
  explicit Jobs(Stage& stage, const ParallelOptions& options = two_workers());

  /// Runs, and says what became of it.
  Outcome<List> run(const std::string& operation, std::vector<Task> tasks);
  /// Ends the workers.
  [[nodiscard]] Status end();

 private:
  Stage& stage_;
  std::unique_ptr<Parallel> parallel_;
};

/// `count` tasks, each the sum of one of the arrays in turn.
std::vector<Task> sums_of(const std::vector<Array>& arrays, std::size_t count);

/// Squares of 0, 1, 2, ...
std::vector<Task> squares(std::size_t count);

/// Sends batches to a backend that is configured, waits for them, and ends it. Refutes that one has
/// not called back once that was taken, or has called back that was not. Fails as the last batch
/// that failed, or the end.
Status must_call_back_once(Stage& stage, ParallelBackend& backend);

/// Refutes results that are there and not what they should be. The Status of the call.
Status must_be_sums(Stage& stage, const Outcome<List>& outcome, const std::vector<Array>& arrays);
Status must_be_squares(Stage& stage, const Outcome<List>& outcome);

/// Refutes, where nothing has struck, that a call failed because a worker was killed by SIGKILL.
void must_name_the_dead(Stage& stage, const Outcome<List>& outcome);

/// An Outcome as a Status: what is no Error becomes one.
Status status_of(const Outcome<List>& outcome);

}  // namespace lastref::harness
