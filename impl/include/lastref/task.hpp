// Tasks: functions that are called by name, so that any process of the same program can call them.
//
// An exception that a task throws is caught where the task runs, and travels as a
// TransportableException. An error that a task returns travels as that error.
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

/// A process's membership in a tree, for code that starts workers or runs in one.
struct Session {
  os::Os* os = nullptr;  ///< Outlives everything that is made with it.
  std::shared_ptr<References> references;
  /// Returns the folder of the tree, which workers join. The first call starts a tracker.
  std::function<Result<std::string>()> tree;
  /// Whether this process is a worker. Tasks in a worker start no workers of their own.
  bool in_worker = false;

  /// Returns the session of this process: of the root of a new tree, or of the worker that this
  /// process is. All callers with the same Os share it while any of them has it. No tracker runs
  /// before it is needed.
  static Session lead(os::Os& os);
  /// Returns the session of a worker that has joined a tree; `lead` returns it from now on.
  static Session of_worker(os::Os& os, const std::shared_ptr<tracker::Client>& client);
  /// Returns the session of a member of a tree.
  static Session of(os::Os& os, const std::shared_ptr<tracker::Client>& client);
};

/// What a task may use of the process that it runs in.
struct TaskContext {
  const Session& session;
};

/// Arguments of a function call. An array among them may only be read, unless it is shared (see
/// Array::is_shared): a store to any other array would be visible in some backends and not in
/// others.
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

  /// Past the last one: a Value that is nothing.
  const Value& operator[](std::size_t index) const noexcept;

  /// Returns a copy of one argument.
  ///
  /// Errors          invalid_argument: the argument is of another kind, or there is none. The
  ///                 subject has the function, the index, the expected and the observed kind.
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

/// A function that takes a std::span<const Value> also works; it has to check the length itself.
using TaskFunction = std::function<Result<Value>(const TaskContext&, const Arguments&)>;

/// bytes; a name is short because each task that travels carries the name of its function.
inline constexpr std::size_t function_name_size_max = 512;

/// The functions that can be called. They are the same in a parent and its workers, and do not
/// change once there are workers.
class Functions {
 public:
  /// Errors          invalid_argument: the name is empty or too long, or there is no function;
  ///                 file_exists: the name already has a function.
  Status add(std::string name, TaskFunction function);

  /// Returns null if no function has that name.
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

/// Tasks that travel together and run one after the other.
using Batch = std::vector<Task>;

/// Thrown by a task that was asked to stop.
///
/// Source          Python's KeyboardInterrupt.
class Interrupt : public std::exception {
 public:
  const char* what() const noexcept override { return "interrupted"; }
};

/// What a task threw, as far as it can travel. If a task took the value of a Result or Outcome that
/// has none, the message describes the error that it has.
///
/// Source          joblib my_exceptions.py, TransportableException.
struct TransportableException {
  std::string type;     ///< As written in C++: "std::out_of_range".
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

/// A worker has died while it had tasks.
///
/// Source          loky process_executor.py, TerminatedWorkerError.
struct TerminatedWorker {
  os::Pid pid = 0;
  /// None if another process has reaped the worker, so that its exit status is unknown.
  std::optional<os::ChildExit> exit = {};
  /// What it was running: "square", "one of 3 tasks, square and others"; empty if it was idle.
  std::string task = {};
  /// The reason that it reported for giving up; empty if it reported nothing.
  std::string reason = {};

  /// The signal that killed the worker; 0 if none did.
  int signal() const noexcept { return exit && exit->killed ? exit->code : 0; }

  bool operator==(const TerminatedWorker&) const = default;
};

/// The reason why there are no results.
using TaskFailure = std::variant<Error, TransportableException, WorkerInterrupt, TerminatedWorker>;

/// One line for people.
std::string describe(const TaskFailure& failure);

/// Throws a tl::bad_expected_access: what `value()` of an Outcome that has none does.
[[noreturn]] void throw_failure(const TaskFailure& failure);

template <typename T>
using Outcome = Expected<T, TaskFailure>;

/// An Error, as the failure of an Outcome.
inline tl::unexpected<TaskFailure> failed(Error error) {
  return tl::unexpected<TaskFailure>(TaskFailure(std::move(error)));
}

/// The position of a task in its batch, for messages.
struct PositionInBatch {
  std::size_t number = 1;
  std::size_t of = 1;
};

/// Calls a task's function in this process.
///
/// Errors          TransportableException or WorkerInterrupt: what the task threw; Error: what it
///                 returned; function_not_supported: no function is registered by its name.
/// Source          joblib _parallel_backends.py, SafeFunction.
Outcome<Value> call_safely(const Functions& functions,
                           const TaskContext& context,
                           const Task& task,
                           PositionInBatch position = {});

/// Calls the tasks of a batch, up to the first failure. Arrays among the arguments are passed as
/// read-only, unless they are shared. After each task its arguments are destroyed. `after_each` is
/// called before that, whatever the outcome of the task. If it returns false, the next task is not
/// called: the outcome is operation_canceled.
Outcome<List> call_all(const Functions& functions,
                       const TaskContext& context,
                       Batch batch,
                       const std::function<bool()>& after_each = {});

}  // namespace lastref
