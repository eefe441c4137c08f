// Pool: calls functions of yours in worker processes.
//
//   int main(int argc, char** argv) {
//     lastref::init(argc, argv);
//     lastref::Pool pool;
//     const auto squares = pool.map<square>(std::vector{1, 2, 3});
//   }
//
// A worker is a process of the same program: `init` does its work and does not return. A worker
// starts with the first task that no other one is free for, and is kept until the pool ends.
//
// Pitfalls:
// - If a worker dies, or a task exceeds its timeout, that task fails alone, and its worker is
//   replaced. A task that is retried may have had effects before. No other task is called twice.
// - Tasks of less than a millisecond and without a timeout are sent ahead, a few of one call for
//   each worker, while more wait than there are workers. They wait for the task before them, even
//   if it takes long. Others are not: many tasks of microseconds are faster in one `map` than with
//   a `submit` or a timeout for each.
// - A state is loaded by the first task of a worker that takes it, within that task's timeout.
// - A pool in a worker calls its functions in threads of that worker, as many as `workers` says. By
//   default it has none, and the thread that adds a task calls its function; so do all pools in
//   such threads. A thread cannot be killed: there, a timeout has no effect, a task that runs is
//   not stopped, and the end of the pool waits for it. Each thread loads the state.
// - All methods may be called from any thread. In a process that was forked from the owner of a
//   pool they fail with operation_not_permitted.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <lastref/codec.hpp>
#include <lastref/error.hpp>
#include <lastref/message.hpp>
#include <lastref/reducers.hpp>
#include <lastref/task.hpp>
#include <lastref/temporary_resources.hpp>
#include <lastref/typed_function.hpp>
#include <lastref/view.hpp>

namespace lastref {

/// The state that each worker loads once, for functions that take it as first parameter.
class State {
 public:
  State() = default;
  explicit State(const TypedFunction& loader) noexcept : loader_(&loader) {}
  /// Null if there is no state.
  const TypedFunction* loader() const noexcept { return loader_; }

 private:
  const TypedFunction* loader_ = nullptr;
};
/// For PoolOptions::state.
template <auto load>
[[gnu::visibility("hidden")]] inline const State state{StateOf<load>::registered};

struct TaskOptions {
  /// From the moment that its worker can begin; more than 0. None: no limit.
  std::optional<std::chrono::nanoseconds> timeout = {};
  int retries = 0;  ///< Attempts after a failure, a death or a timeout.
};

/// The program that is started as the workers of a pool.
struct Host {
  /// Searched on PATH if it has no slash. Empty: this program, in which main calls `init`.
  std::string program = {};
};
/// For PoolOptions::host, where main belongs to another program: in a plugin, or a library for
/// another language. The installed program `lastref`, or the one that LASTREF_HOST names, loads the
/// shared object of the first function that the pool calls, as it is at its path then. The object
/// needs a build id, by which it is recognised.
inline const Host installed{.program = "lastref"};
/// The same with another path of the program.
inline Host host(std::string program) {
  return {.program = std::move(program)};
}

struct PoolOptions {
  std::optional<int> workers = {};  ///< None: one for each core; in a worker, no threads.
  State state = {};
  std::optional<std::int64_t> max_tasks_per_worker = {};  ///< Then the worker is replaced.
  /// OMP_NUM_THREADS and the like, in the environment of workers.
  std::optional<int> threads_per_worker = {};
  Host host = {};
  TaskOptions tasks = {};  ///< For tasks without options of their own.
  /// How arrays travel. Elements of containers that are more than `max_nbytes`, and are written as
  /// their bytes, travel through files as well; so do such results.
  ForwardOptions arrays = {};
  TemporaryResourcesOptions temporary = {};
};

namespace backends {
class TaskPool;
struct TaskGroup;
}  // namespace backends

/// The tasks of one call, without types.
class Tasks {
 public:
  struct Finished {
    std::size_t index = 0;
    int attempts = 0;
    Result<SharedArguments> result;  ///< The bytes of the result.
  };

  Tasks(std::shared_ptr<backends::TaskPool> pool, std::shared_ptr<backends::TaskGroup> group)
      : pool_(std::move(pool)), group_(std::move(group)) {}
  Tasks(Tasks&&) noexcept = default;
  Tasks& operator=(Tasks&&) = delete;
  Tasks(const Tasks&) = delete;
  Tasks& operator=(const Tasks&) = delete;
  /// Tasks that are not finished run on, and their results are dropped.
  ~Tasks();

  /// For the arguments of a task.
  Writer writer() const;
  Status add(std::size_t index, Writer own);
  /// Whether another task would be sent soon.
  bool is_hungry() const;
  /// Waits for a task to finish, in any order. None: all have finished, and were returned.
  std::optional<Finished> next() noexcept;
  /// Waits up to `timeout`. Whether `next` would return at once.
  bool wait_for(std::chrono::nanoseconds timeout);
  /// The same for the first of these of which `next` would return at once. None: the time is over,
  /// or there are none.
  ///
  /// Errors          invalid_argument: they are of two pools.
  static Result<std::optional<std::size_t>> wait_any(
      std::span<const Tasks* const> all, std::optional<std::chrono::nanoseconds> timeout);
  /// Drops queued tasks, and kills the workers of those that run.
  void cancel() noexcept;

 private:
  std::shared_ptr<backends::TaskPool> pool_;
  std::shared_ptr<backends::TaskGroup> group_;
};

template <typename R>
Result<R> result_of(Tasks::Finished& finished) {
  if (!finished.result) {
    return failure(std::move(finished.result).error());
  }
  if constexpr (std::is_void_v<R>) {
    return ok();
  } else {
    return result_within_memory("a result", [&] {
      return decode<R>(Reader(finished.result->bytes, finished.result->arrays));
    });
  }
}

/// The result of a task that may still run. Its destructor does not wait.
template <typename R>
class Future {
 public:
  explicit Future(Result<Tasks> tasks) {
    Status made = result_within_memory("a future", [&]() -> Status {
      LASTREF_TRY(own, std::move(tasks));
      tasks_ = std::make_unique<Tasks>(std::move(own));
      return ok();
    });
    if (!made) {
      error_ = std::move(made).error();
    }
  }

  /// Waits for the result, which can be taken once.
  ///
  /// Errors          of the task; owner_dead: its worker has died; stream_timeout: it exceeded its
  ///                 timeout; operation_canceled: it was cancelled, or the pool has ended;
  ///                 invalid_argument: the result was taken already; of the start of the pool.
  Result<R> get() {
    is_taken_ = true;
    auto finished = error_ ? std::nullopt : tasks_->next();
    if (finished) {
      return result_of<R>(*finished);
    }
    return result_within_memory("a future", [&]() -> Result<R> {
      return error_ ? failure(*error_)
                    : failure(std::errc::invalid_argument,
                              "the result of a task that was taken already");
    });
  }

  /// Waits up to `timeout`, and returns whether `get` would return at once.
  bool wait_for(std::chrono::nanoseconds timeout) { return error_ || tasks_->wait_for(timeout); }

  bool is_taken() const noexcept { return is_taken_; }
  /// Null if its task could not be started.
  const Tasks* tasks() const noexcept { return tasks_.get(); }

  /// Makes the task fail with operation_canceled. If it runs, its worker is killed.
  void cancel() {
    if (tasks_) {
      tasks_->cancel();
    }
  }

 private:
  std::unique_ptr<Tasks> tasks_;
  std::optional<Error> error_;
  bool is_taken_ = false;
};

/// Waits until `get` of one of the futures would return at once, and returns the index of the first
/// one. Those of which the result was taken do not count. None: there is no other, or the time is
/// over.
///
///   while (const auto ready = lastref::wait_any(futures).value()) {
///     use(futures[*ready].get());
///   }
///
/// Errors          invalid_argument: they are of two pools.
template <std::ranges::forward_range Futures>
Result<std::optional<std::size_t>> wait_any(const Futures& futures,
                                            std::optional<std::chrono::nanoseconds> timeout = {}) {
  return result_within_memory("futures", [&]() -> Result<std::optional<std::size_t>> {
    std::vector<const Tasks*> tasks;
    std::vector<std::size_t> indices;
    std::size_t index = 0;
    for (const auto& each : futures) {
      if (!each.is_taken() && each.tasks() == nullptr) {
        return index;
      }
      if (!each.is_taken()) {
        tasks.push_back(each.tasks());
        indices.push_back(index);
      }
      ++index;
    }
    LASTREF_TRY(ready, Tasks::wait_any(tasks, timeout));
    return ready ? std::optional(indices[*ready]) : std::nullopt;
  });
}

template <typename R>
struct Completion {
  std::size_t index = 0;  ///< Of the element of the range.
  int attempts = 0;
  Result<R> result;
};

/// Results in the order in which they are completed. Elements of the range are taken when a worker
/// may need them. The end of its life cancels what is left, and waits for nothing.
template <auto f, std::size_t shared, typename Range>
class Completed {
 public:
  using R = ResultOf<f>;

  class Iterator {
   public:
    using value_type = Completion<R>;
    using difference_type = std::ptrdiff_t;

    explicit Iterator(Completed& all) noexcept : all_(&all) {}
    const Completion<R>& operator*() const { return *all_->current_; }
    Iterator& operator++() {
      all_->advance();
      return *this;
    }
    void operator++(int) { ++*this; }
    bool operator==(std::default_sentinel_t) const { return !all_->current_; }

   private:
    Completed* all_;
  };

  Completed(Result<Tasks> tasks, Range range)
      : tasks_(std::move(tasks)),
        range_(std::forward<Range>(range)),
        next_(std::ranges::begin(range_)) {}
  Completed(const Completed&) = delete;
  Completed& operator=(const Completed&) = delete;
  ~Completed() {
    if (tasks_) {
      tasks_->cancel();
    }
  }

  /// Can be called once.
  Iterator begin() {
    advance();
    return Iterator(*this);
  }
  std::default_sentinel_t end() const noexcept { return {}; }

  /// Takes the next result; there is none at the end. An error before that cancels what is left,
  /// and is the last result. With `takes_more`, elements are taken even if there is a result.
  void advance(bool takes_more = false) {
    current_.reset();
    if (is_over_) {
      return;
    }
    Status sent = tasks_ ? result_within_memory("a task", [&] { return send(takes_more); })
                         : Status(failure(std::move(tasks_).error()));
    if (!sent) {
      is_over_ = true;
      if (tasks_) {
        tasks_->cancel();
      }
      current_.emplace(Completion<R>{.index = count_, .result = failure(std::move(sent).error())});
    } else if (auto finished = tasks_->next()) {
      current_.emplace(Completion<R>{.index = finished->index,
                                     .attempts = finished->attempts,
                                     .result = result_of<R>(*finished)});
    }
  }

  std::optional<Completion<R>>& current() noexcept { return current_; }

 private:
  static constexpr std::size_t states = parameters_of<f> - shared - 1;
  using Typed = TypedCall<f, states, shared>;
  using Element = std::remove_cvref_t<ParameterOf<f, parameters_of<f> - 1>>;

  /// Elements for which a worker may be free soon. One for each result, so that workers have tasks,
  /// but no more if that would delay a result: the range may be slow.
  Status send(bool takes_more) {
    bool is_first = true;
    while (next_ != std::ranges::end(range_) && tasks_->is_hungry() &&
           (takes_more || std::exchange(is_first, false) ||
            !tasks_->wait_for(std::chrono::nanoseconds::zero()))) {
      Writer own = tasks_->writer();
      Typed::template write<parameters_of<f> - 1>(own, static_cast<const Element&>(*next_));
      LASTREF_CHECK(tasks_->add(count_, std::move(own)));
      ++count_;
      ++next_;
    }
    return ok();
  }

  Result<Tasks> tasks_;
  Range range_;
  std::ranges::iterator_t<Range> next_;
  std::size_t count_ = 0;
  std::optional<Completion<R>> current_;
  bool is_over_ = false;
};

class Pool {
 public:
  /// Starts no process. If it cannot work, its calls return the error.
  explicit Pool(PoolOptions options = {});
  /// A pool in this membership of a tree, for tests with an Os of their own. Its workers call
  /// serve_worker with typed_functions.
  explicit Pool(Session session, PoolOptions options = {});
  /// Futures stay valid. Calls of a pool that was moved from fail with invalid_argument.
  Pool(Pool&& other) noexcept;
  Pool& operator=(Pool&& other) noexcept;
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;
  /// Makes unfinished tasks fail with operation_canceled, and ends the workers.
  ~Pool();

  /// Calls f(shared..., element) for each element of the range, which is the last argument. Results
  /// are in the order of the elements.
  ///
  /// Errors          the first error of a task, as Future::get; the other tasks are cancelled.
  template <auto f, typename... Arguments>
  Result<std::vector<ResultOf<f>>> map(Arguments&&... arguments) {
    static_assert(!std::is_void_v<ResultOf<f>>, "f returns nothing: use for_each");
    return result_within_memory("results", [&]() -> Result<std::vector<ResultOf<f>>> {
      std::vector<std::optional<ResultOf<f>>> collected;
      LASTREF_CHECK(run<f>(
          [&](auto& done) {
            if (done.index >= collected.size()) {
              collected.resize(done.index + 1);
            }
            collected[done.index] = *std::move(done.result);
          },
          std::forward<Arguments>(arguments)...));
      std::vector<ResultOf<f>> results;
      results.reserve(collected.size());
      for (auto& each : collected) {
        results.push_back(*std::move(each));
      }
      return results;
    });
  }

  /// f is an argument of the template: map<f>(range), and for_each and submit alike.
  template <typename Function, typename... Arguments>
  void map(Function&&, Arguments&&...) = delete;
  template <typename Function, typename... Arguments>
  void for_each(Function&&, Arguments&&...) = delete;
  template <typename Function, typename... Arguments>
  void submit(Function&&, Arguments&&...) = delete;

  /// As map, without results.
  template <auto f, typename... Arguments>
  Status for_each(Arguments&&... arguments) {
    return result_within_memory(
        "a call", [&] { return run<f>([](auto&) {}, std::forward<Arguments>(arguments)...); });
  }

  /// Calls f(arguments...) once.
  template <auto f, typename... Arguments>
  Future<ResultOf<f>> submit(const Arguments&... arguments) {
    constexpr std::size_t states = states_of<f, sizeof...(Arguments)>();
    using Typed = TypedCall<f, states, 0>;
    return Future<ResultOf<f>>(result_within_memory("a task", [&]() -> Result<Tasks> {
      LASTREF_TRY(tasks, begin(Typed::registered, std::nullopt, std::nullopt));
      Writer own = tasks.writer();
      [&]<std::size_t... index>(std::index_sequence<index...>) {
        Typed::template write<states>(
            own, as<std::remove_cvref_t<ParameterOf<f, states + index>>>(arguments)...);
      }
      (std::index_sequence_for<Arguments...>());
      LASTREF_CHECK(tasks.add(0, std::move(own)));
      return tasks;
    }));
  }

  /// Calls f(element) for each element, and returns results in the order of their completion.
  template <auto f, std::ranges::input_range Range>
  auto as_completed(Range&& range, TaskOptions options) {
    return completed<f>(options, std::forward<Range>(range));
  }
  template <auto f, typename... Arguments>
  auto as_completed(Arguments&&... arguments) {
    return completed<f>(std::nullopt, std::forward<Arguments>(arguments)...);
  }

  /// Returns an array of zeros that workers can write in place. Its memory is a file of which all
  /// space is allocated. The file is removed with the last view of the array, or with this process.
  ///
  /// Errors          invalid_argument: a negative extent; value_too_large: more bytes than there
  ///                 are addresses; no_space_on_device; others of TemporaryResources::publish.
  ///                 Nothing remains.
  template <typename T, std::integral... Extents>
  Result<View<T, sizeof...(Extents)>> zeros(Extents... extents) {
    using Zeros = View<T, sizeof...(Extents)>;
    return result_within_memory("an array", [&]() -> Result<Zeros> {
      if (((static_cast<std::int64_t>(extents) < 0) || ...)) {
        std::string shape;
        ((shape += (shape.empty() ? "" : ", ") + std::to_string(extents)), ...);
        return failure(std::errc::invalid_argument, "zeros of shape (" + shape + ')');
      }
      LASTREF_TRY(dtype, dtype_of<T>());
      LASTREF_TRY(array, zeros_of(dtype, Shape{static_cast<std::size_t>(extents)...}));
      return Zeros::of(std::move(array));
    });
  }

 private:
  /// 1 if the first parameter is the state, as it is if one argument is missing.
  template <auto f, std::size_t arguments>
  static constexpr std::size_t states_of() {
    static_assert(arguments == parameters_of<f> || arguments + 1 == parameters_of<f>,
                  "f has another number of parameters");
    static_assert(std::is_void_v<ResultOf<f>> || Encodable<ResultOf<f>>,
                  "the result of f has no codec: specialise lastref::Codec");
    return parameters_of<f> - arguments;
  }

  template <typename T, typename Argument>
  static const T& as(const Argument& argument) requires(std::same_as<T, Argument>) {
    return argument;
  }
  template <typename T, typename Argument>
  static T as(const Argument& argument) requires(!std::same_as<T, Argument>) {
    static_assert(std::convertible_to<const Argument&, T>, "f has a parameter of another type");
    return argument;
  }

  Status check() const;
  Writer writer() const;
  Result<Tasks> begin(const TypedFunction& function,
                      std::optional<Writer> shared,
                      std::optional<TaskOptions> options);
  Result<Array> zeros_of(DType dtype, Shape shape);

  template <auto f, typename... Arguments>
  auto completed(std::optional<TaskOptions> options, Arguments&&... arguments) {
    auto all = std::forward_as_tuple(std::forward<Arguments>(arguments)...);
    constexpr std::size_t shared = sizeof...(Arguments) - 1;
    constexpr std::size_t states = states_of<f, sizeof...(Arguments)>();
    using Range = std::tuple_element_t<shared, std::tuple<Arguments...>>;
    using Typed = TypedCall<f, states, shared>;
    static_assert(std::ranges::input_range<Range>, "the last argument is no range");
    static_assert(std::convertible_to<std::ranges::range_reference_t<Range>,
                                      std::remove_cvref_t<ParameterOf<f, parameters_of<f> - 1>>>,
                  "f has a last parameter of another type than the elements of the range");
    Result<Tasks> tasks = result_within_memory("a call", [&] {
      std::optional<Writer> common;
      if constexpr (shared > 0) {
        common.emplace(writer());
        [&]<std::size_t... index>(std::index_sequence<index...>) {
          Typed::template write<states>(
              *common,
              as<std::remove_cvref_t<ParameterOf<f, states + index>>>(std::get<index>(all))...);
        }
        (std::make_index_sequence<shared>());
      }
      return begin(Typed::registered, std::move(common), options);
    });
    return Completed<f, shared, Range>(std::move(tasks), std::get<shared>(std::move(all)));
  }

  template <auto f, typename Use, typename... Arguments>
  Status run(Use use, Arguments&&... arguments) {
    auto all = completed<f>(std::nullopt, std::forward<Arguments>(arguments)...);
    for (all.advance(true); all.current(); all.advance(true)) {
      LASTREF_CHECK(status_of(all.current()->result));
      use(*all.current());
    }
    return ok();
  }

  std::shared_ptr<backends::TaskPool> pool_;
  bool was_moved_from_ = false;
};

}  // namespace lastref
