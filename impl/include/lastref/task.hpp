// Tasks: functions that are called by their name, so that any process of the same program can.
//
// What a task throws is caught where it runs, and travels as a TransportableException. What it
// returns as an error travels as that error.
#pragma once

#include <exception>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <lastref/error.hpp>
#include <lastref/os.hpp>
#include <lastref/references.hpp>
#include <lastref/value.hpp>

namespace lastref {

/// A process's place in a tree, as those need it who start workers or are one.
struct Session {
  os::Os* os = nullptr;  ///< Outlives whatever is made with it.
  std::shared_ptr<References> references;
  /// The folder of the tree, which workers join. A tracker runs once it was asked for.
  std::function<Result<std::string>()> tree;
  /// A worker, whose tasks start no workers of their own.
  bool in_worker = false;

  /// That of this process, which all who ask by the same Os share as long as anybody has it: of the
  /// root of a new tree, or of the worker that this process is. No tracker runs before somebody
  /// needs it.
  static Session lead(os::Os& os);
  /// That of a worker that has joined a tree; `lead` gives it from now on.
  static Session of_worker(os::Os& os, const std::shared_ptr<tracker::Client>& client);
  /// That of a member of a tree.
  static Session of(os::Os& os, const std::shared_ptr<tracker::Client>& client);
};

/// What a task may ask of the process that it runs in.
struct TaskContext {
  const Session& session;
};

/// What a function is called with. An array among them may only be read, unless it is shared (see
/// Array::is_shared): a store to any other would be seen in some backends and not in others.
class Arguments {
 public:
  /// Both outlive it.
  Arguments(std::string_view function, std::span<const Value> values) noexcept
      : function_(function), values_(values) {}

  std::size_t size() const noexcept { return values_.size(); }
  bool empty() const noexcept { return values_.empty(); }
  const Value* data() const noexcept { return values_.data(); }
  const Value* begin() const noexcept { return values_.data(); }
  const Value* end() const noexcept { return values_.data() + values_.size(); }

  /// Nothing, past the last one.
  const Value& operator[](std::size_t index) const noexcept;

  /// A copy of one.
  ///
  /// Errors          invalid_argument, with the function, the index, what was expected and what it
  ///                 is as subject: it is of another kind, or there is none.
  template <typename Kind>
  Result<Kind> as(std::size_t index) const {
    const Value& value = (*this)[index];
    if (const Kind* kind = value.get_if<Kind>()) {
      return *kind;
    }
    return failure(mismatch(index, Value::kind_name_of<Kind>()));
  }

 private:
  Error mismatch(std::size_t index, std::string_view expected) const;

  std::string_view function_;
  std::span<const Value> values_;
};

/// A function that takes a std::span<const Value> does as well, and looks itself how long that is.
using TaskFunction = std::function<Result<Value>(const TaskContext&, const Arguments&)>;

/// bytes; what travels names the function of each task, so a name is short.
inline constexpr std::size_t function_name_size_max = 512;

/// What can be called. The same in a parent and its workers; not changed once there are any.
class Functions {
 public:
  /// Errors          invalid_argument: no name, one that is too long, or no function; file_exists:
  ///                 the name has one.
  Status add(std::string name, TaskFunction function);

  /// Null if nothing has that name.
  const TaskFunction* find(std::string_view name) const noexcept;

 private:
  std::map<std::string, TaskFunction, std::less<>> functions_;
};

/// The arguments of a task. In braces each value is one: {list} is one argument, as {map} is.
struct ArgumentList : List {
  ArgumentList() noexcept = default;
  ArgumentList(std::initializer_list<Value> each) : List(each) {}
  // NOLINTNEXTLINE(google-explicit-constructor): what was collected one by one.
  ArgumentList(List all) noexcept : List(std::move(all)) {}
};

struct Task {
  std::string function;
  ArgumentList arguments = {};
};

/// Tasks that travel and run together, one after the other.
using Batch = std::vector<Task>;

/// Thrown by a task that was told to stop.
///
/// Source          Python's KeyboardInterrupt.
class Interrupt : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// What a task threw, as far as it can travel. If a Result or Outcome was asked for a value that it
/// does not have, the message is its error, described.
///
/// Source          joblib my_exceptions.py, TransportableException.
struct TransportableException {
  std::string type;     ///< As C++ writes it: "std::out_of_range".
  std::string message;  ///< what(), if it has one.
  std::string where;    ///< Where it was caught: "task 3 of 8, mean, in process 4711".

  bool operator==(const TransportableException&) const = default;
};

/// A task has thrown an Interrupt.
///
/// Source          joblib my_exceptions.py, WorkerInterrupt.
struct WorkerInterrupt {
  std::string where;

  bool operator==(const WorkerInterrupt&) const = default;
};

/// A worker has died under its tasks.
///
/// Source          loky process_executor.py, TerminatedWorkerError.
struct TerminatedWorker {
  os::Pid pid = 0;
  /// None if somebody else has reaped it, so that nobody knows.
  std::optional<os::ChildExit> exit = {};
  /// What it was running: "square", "one of 3 tasks, square and others"; empty if it was idle.
  std::string task = {};
  /// Why it gave up, as it reported; empty if it reported nothing.
  std::string reason = {};

  /// 0 if it was none.
  int signal() const noexcept { return exit && exit->killed ? exit->code : 0; }

  bool operator==(const TerminatedWorker&) const = default;
};

/// Why there are no results.
using Failure = std::variant<Error, TransportableException, WorkerInterrupt, TerminatedWorker>;

/// One line for people.
std::string describe(const Failure& failure);

template <typename T>
using Outcome = Expected<T, Failure>;

/// An Error as what an Outcome fails with.
inline tl::unexpected<Failure> failed(Error error) {
  return tl::unexpected<Failure>(Failure(std::move(error)));
}

/// Which task of a batch it is, for people.
struct PositionInBatch {
  std::size_t number = 1;
  std::size_t of = 1;
};

/// Calls a task's function in this process.
///
/// Errors          TransportableException or WorkerInterrupt: what it threw; Error: what it
///                 returned; function_not_supported: no function is registered by its name.
/// Source          joblib _parallel_backends.py, SafeFunction.
Outcome<Value> call_safely(const Functions& functions,
                           const TaskContext& context,
                           const Task& task,
                           PositionInBatch position = {});

/// A whole batch, up to its first failure. Arrays among the arguments are passed to be read, unless
/// they are shared. The arguments of a task go when it has run. `after_each`
/// is called before that, whatever came of it.
Outcome<List> call_all(const Functions& functions,
                       const TaskContext& context,
                       Batch batch,
                       const std::function<void()>& after_each = {});

}  // namespace lastref
