// The cost of a Pool with two workers, compared with threads, with Python's pools and with files.
//
// Counters are the times of others as multiples of ours. `threads` is our backend of threads,
// `std_threads` a queue with futures, `tbb` oneTBB, `loky` joblib, and `executor` Python's
// concurrent.futures. `file` does the work of the row in forked processes, through one bare file in
// /dev/shm. `vector` is our pool with a std::vector in place of an array.
//
// Arrays are of float64. All of their elements are read, by each of two tasks or by the caller.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>

#include <lastref/parallel.hpp>
#include <lastref/pool.hpp>
#include <lastref/worker.hpp>

#include "bench/comparison.hpp"
#include "bench/noop_tasks.hpp"
#include "bench/other_process.hpp"
#include "bench/parallel_start.hpp"
#include "bench/shm_folder.hpp"
#include "bench/thread_pools.hpp"
#include "bench/times.hpp"
#include "bench/tree.hpp"
#include "bench/two_tasks.hpp"

namespace lastref::bench {
namespace {

constexpr unsigned two_jobs = 2;
constexpr std::size_t rows = 8;
constexpr int rounds = 3;

using Vector = std::vector<double>;
using Numbers = View<const double, 1>;

/// 0, 1, 2 ...
template <typename T>
std::vector<T> numbers(std::size_t count) {
  std::vector<T> all(count);
  std::iota(all.begin(), all.end(), T{0});
  return all;
}

// The tasks.

[[gnu::noinline]] int successor(int value) {
  return value + 1;
}

/// Adds numbers that are far apart, which a processor can do at the same time.
double sum_of(std::span<const double> values) {
  std::array<double, 8> sums{};
  std::size_t at = 0;
  for (; at + sums.size() <= values.size(); at += sums.size()) {
    for (std::size_t lane = 0; lane < sums.size(); ++lane) {
      sums[lane] += values[at + lane];
    }
  }
  return std::accumulate(values.begin() + static_cast<std::ptrdiff_t>(at),
                         values.end(),
                         std::accumulate(sums.begin(), sums.end(), 0.0));
}

double total_of_array(Numbers values, int /*task*/) {
  return sum_of(values.flat());
}

double total_of_vector(const Vector& values, int /*task*/) {
  return sum_of(values);
}

Vector filled_vector(std::size_t size) {
  return Vector(size, 1);
}

View<double, 1> filled_array(std::size_t size) {
  auto array = View<double, 1>::of(Array::zeros(dtype_of<double>().value(), {size}).value());
  std::ranges::fill(array->flat(), 1);
  return *array;
}

void fill(std::span<double> row, std::size_t number) {
  std::ranges::fill(row, static_cast<double>(number + 1));
}

void fill_row(View<double, 2> array, std::size_t row) {
  fill(array.row(row), row);
}

std::span<const double> values_of(const Vector& vector) {
  return vector;
}
std::span<const double> values_of(const View<double, 1>& view) {
  return view.flat();
}

/// Gigabytes. Memory that several processes share is divided among them.
double proportional_set_size(int /*task*/) {
  std::ifstream lines("/proc/self/smaps_rollup");
  for (std::string word; lines >> word;) {
    if (double kilobytes = 0; word == "Pss:" && lines >> kilobytes) {
      return kilobytes * 1024e-9;
    }
  }
  return 0;
}

// The others.

Measures operator+(Measures some, const Measures& more) {
  some.insert(more.begin(), more.end());
  return some;
}

/// Seconds of something that may fail.
template <typename Act>
std::optional<double> seconds_if(const Act& act) {
  bool is_done = false;
  const double spent = seconds([&] { is_done = act(); });
  return is_done ? std::optional(spent) : std::nullopt;
}

/// Figures that pool_peers.py measures.
Measures python(const std::string& what, std::int64_t count) {
  Measures all;
  for (const std::string peer : {"loky", "executor"}) {
    const std::string question = what + ' ' + peer + ' ' + std::to_string(count);
    all[peer] = [question]() -> std::optional<double> {
      static OtherProcess peers({LASTREF_PYTHON, LASTREF_POOL_PEERS});
      const auto answer = peers.ask(question);
      return answer ? std::optional(std::strtod(answer->c_str(), nullptr)) : std::nullopt;
    };
  }
  return all;
}

/// Threads that run, for `act`.
template <typename Act>
Measures warm_threads(const Act& act) {
  const auto with = [act]<typename Threads>(std::shared_ptr<Threads> threads) -> Measure {
    return [act, threads] { return seconds([&] { act(*threads); }); };
  };
  return {{"std_threads", with(std::make_shared<StdThreads>())},
          {"tbb", with(std::make_shared<TbbThreads>())}};
}

/// Our threads, for tasks that do nothing.
class OurThreads {
 public:
  explicit OurThreads(Tree& tree)
      : parallel_(
            tree.session(), noops(), {.n_jobs = int{two_jobs}, .backend = BackendKind::threads}) {}

  bool run(std::int64_t tasks) { return run_noops(parallel_, tasks).has_value(); }

 private:
  static std::shared_ptr<const Functions> noops() {
    auto functions = std::make_shared<Functions>();
    add_noop(*functions);
    return functions;
  }

  Parallel parallel_;
};

/// A file in /dev/shm. Its processes map it.
class File {
 public:
  explicit File(std::size_t size) : size_(size), fd_(open()) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() { ::close(fd_); }

  bool extend() const { return ::ftruncate(fd_, static_cast<off_t>(size_ * sizeof(double))) == 0; }
  /// Linux writes at most 2 GiB at once.
  bool write(std::span<const double> values) const {
    return ::write(fd_, values.data(), values.size_bytes()) ==
           static_cast<ssize_t>(values.size_bytes());
  }
  /// Calls act(values) with the file mapped.
  template <typename Act>
  bool map(const Act& act) const {
    const std::size_t bytes = size_ * sizeof(double);
    void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (at == MAP_FAILED) {
      return false;
    }
    act(std::span(static_cast<double*>(at), size_));
    return ::munmap(at, bytes) == 0;
  }
  /// Seconds of map(act(values, number)) in two processes.
  template <typename Act>
  std::optional<double> map_in_two(const Act& act) const {
    return seconds_in_parallel(
        two_jobs,
        [](unsigned) { return true; },
        [&](unsigned number) {
          return map([&](std::span<double> values) { act(values, number); });
        });
  }

 private:
  int open() const {
    return ::open((folder_.path() + "/file").c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0600);
  }

  ShmFolder folder_;
  std::size_t size_;
  int fd_;
};

std::optional<double> operator+(std::optional<double> one, std::optional<double> other) {
  return one && other ? std::optional(*one + *other) : std::nullopt;
}

// The rows.

/// A pool with running workers.
class WarmPool {
 public:
  explicit WarmPool(benchmark::State& state) : tree_(this_program) {
    if (tree_.ready(state)) {
      pool_.emplace(tree_.session(), PoolOptions{.workers = two_jobs});
      static_cast<void>(pool_->map<successor>(numbers<int>(1000)));
    }
  }
  /// False: the row has an error.
  explicit operator bool() const { return pool_.has_value(); }
  Pool& operator*() { return *pool_; }
  Pool* operator->() { return &*pool_; }
  Tree& tree() { return tree_; }

 private:
  Tree tree_;
  std::optional<Pool> pool_;
};

template <typename Threads>
void run_tiny(Threads& threads, std::int64_t count) {
  std::vector<int> results(static_cast<std::size_t>(count));
  threads.for_each(results.size(),
                   [&](std::size_t index) { results[index] = successor(static_cast<int>(index)); });
  benchmark::DoNotOptimize(results.data());
}

bool run_tiny(Pool& pool, std::int64_t count) {
  return pool.map<successor>(numbers<int>(static_cast<std::size_t>(count))).has_value();
}

/// With the start and the end of the pool.
void tiny_tasks_cold(benchmark::State& state) {
  Tree tree(this_program);
  if (!tree.ready(state)) {
    return;
  }
  const std::int64_t count = state.range(0);
  const auto cold = [count]<typename Threads>() -> Measure {
    return [count] {
      return seconds([&] {
        Threads threads;
        run_tiny(threads, count);
      });
    };
  };
  const auto ours = [&] {
    return seconds_if([&] {
      Pool pool(tree.session(), {.workers = two_jobs});
      return run_tiny(pool, count);
    });
  };
  const auto our_threads = [&] { return seconds_if([&] { return OurThreads(tree).run(count); }); };
  compare(state,
          ours,
          {.always = {{"std_threads", cold.operator()<StdThreads>()},
                      {"tbb", cold.operator()<TbbThreads>()},
                      {"threads", our_threads}},
           .seldom = python("tiny_cold", count)});
}

void tiny_tasks_warm(benchmark::State& state) {
  WarmPool pool(state);
  if (!pool) {
    return;
  }
  const std::int64_t count = state.range(0);
  OurThreads our_threads(pool.tree());
  const Measures always = warm_threads([count](auto& threads) { run_tiny(threads, count); });
  compare(state,
          [&] { return seconds_if([&] { return run_tiny(*pool, count); }); },
          {.always = always +
                     Measures{{"threads",
                               [&] { return seconds_if([&] { return our_threads.run(count); }); }}},
           .seldom = python("tiny_warm", count)});
}

/// The time is memory: 1 ns is 1 byte.
void memory_of_a_warm_worker(benchmark::State& state) {
  WarmPool pool(state);
  if (!pool) {
    return;
  }
  const auto ours = [&]() -> std::optional<double> {
    auto found = pool->submit<proportional_set_size>(0).get();
    return found ? std::optional(*found) : std::nullopt;
  };
  state.counters["MB"] = 1000 * compare(state, ours, {.seldom = python("memory", 0)});
}

std::size_t elements(const benchmark::State& state) {
  return static_cast<std::size_t>(state.range(0)) / sizeof(double);
}

void sizes(benchmark::internal::Benchmark* row) {
  row->Arg(1'000'000)->Arg(1'000'000'000)->Iterations(rounds)->UseManualTime();
}

/// Two tasks that sum the values, which are new each time or were sent before.
template <auto total, typename Values>
Measure two_sums(Pool& pool, Values (*make)(std::size_t), std::size_t size, bool are_new) {
  const auto sum = [&pool](const Values& values) {
    return pool.map<total>(values, numbers<int>(two_jobs)).has_value();
  };
  if (are_new) {
    return [=] {
      const Values values = make(size);
      return seconds_if([&] { return sum(values); });
    };
  }
  const auto values = std::make_shared<const Values>(make(size));
  static_cast<void>(sum(*values));
  return [=] { return seconds_if([&] { return sum(*values); }); };
}

Measure two_sums_of_file(const std::shared_ptr<const Vector>& values, bool are_new) {
  const auto file = std::make_shared<const File>(values->size());
  const auto read = [](const File& from) {
    return from.map_in_two(
        [](std::span<double> mapped, unsigned) { benchmark::DoNotOptimize(sum_of(mapped)); });
  };
  if (!are_new) {
    file->write(*values);
    return [=] { return read(*file); };
  }
  return [=]() -> std::optional<double> {
    const File written(values->size());
    return seconds_if([&] { return written.write(*values); }) + read(written);
  };
}

void array_argument(benchmark::State& state, bool is_new) {
  WarmPool pool(state);
  if (!pool) {
    return;
  }
  const std::size_t size = elements(state);
  const auto values = std::make_shared<const Vector>(with_peers() ? filled_vector(size) : Vector());
  Measures others = warm_threads([values](auto& threads) {
    threads.for_each(two_jobs, [&](std::size_t) { benchmark::DoNotOptimize(sum_of(*values)); });
  });
  others["file"] = two_sums_of_file(values, is_new);
  compare(state,
          two_sums<total_of_array>(*pool, filled_array, size, is_new),
          {.always = others,
           .seldom = python(is_new ? "first" : "second", state.range(0)) +
                     Measures{{"vector",
                               two_sums<total_of_vector>(*pool, filled_vector, size, is_new)}}});
}

/// A task makes it, and the caller sums it.
template <auto make>
Measure sum_of_result(Pool& pool, std::size_t size) {
  return [&pool, size] {
    return seconds_if([&] {
      auto result = pool.submit<make>(size).get();
      if (result) {
        benchmark::DoNotOptimize(sum_of(values_of(*result)));
      }
      return result.has_value();
    });
  };
}

void array_result(benchmark::State& state) {
  WarmPool pool(state);
  if (!pool) {
    return;
  }
  const std::size_t size = elements(state);
  Measures others = warm_threads([size](auto& threads) {
    Vector made;
    threads.for_each(1, [&](std::size_t) { made = filled_vector(size); });
    benchmark::DoNotOptimize(sum_of(made));
  });
  others["file"] = [size] {
    const File file(size);
    return seconds_if([&] {
      return file.write(filled_vector(size)) &&
             file.map([](std::span<double> mapped) { benchmark::DoNotOptimize(sum_of(mapped)); });
    });
  };
  compare(state,
          sum_of_result<filled_array>(*pool, size),
          {.always = others,
           .seldom = python("result", state.range(0)) +
                     Measures{{"vector", sum_of_result<filled_vector>(*pool, size)}}});
}

/// A new array of which each task fills a row.
void array_in_place(benchmark::State& state) {
  WarmPool pool(state);
  if (!pool) {
    return;
  }
  const std::size_t width = elements(state) / rows;
  Measures others = warm_threads([width](auto& threads) {
    Vector made(rows * width);
    threads.for_each(
        rows, [&](std::size_t row) { fill(std::span(made).subspan(row * width, width), row); });
  });
  others["file"] = [width]() -> std::optional<double> {
    const File file(rows * width);
    return seconds_if([&] { return file.extend(); }) +
           file.map_in_two([width](std::span<double> mapped, unsigned number) {
             for (std::size_t row = number; row < rows; row += two_jobs) {
               fill(mapped.subspan(row * width, width), row);
             }
           });
  };
  const auto ours = [&] {
    return seconds_if([&] {
      auto array = pool->zeros<double>(rows, width);
      return array && pool->for_each<fill_row>(*array, numbers<std::size_t>(rows));
    });
  };
  compare(state, ours, {.always = others, .seldom = python("in_place", state.range(0))});
}

Measure program(const std::vector<std::string>& arguments) {
  return [arguments] { return seconds_if([&] { return OtherProcess(arguments).end() == 0; }); };
}

/// From the start of a program to its end. The programs in C++ are this one.
void program_of_two_tasks(benchmark::State& state) {
  const auto native = [](const char* pool) { return program({this_program, "--two-tasks", pool}); };
  const auto peer = [](const char* pool) {
    return program({LASTREF_PYTHON, LASTREF_POOL_PEERS, "two", pool});
  };
  compare(state,
          native("processes"),
          {.always = {{"threads", native("threads")},
                      {"std_threads", native("std_threads")},
                      {"tbb", native("tbb")}},
           .seldom = {{"loky", peer("loky")}, {"executor", peer("executor")}}});
}

BENCHMARK(tiny_tasks_cold)->Arg(10'000)->UseManualTime();
BENCHMARK(tiny_tasks_warm)->Arg(100)->Arg(10'000)->UseManualTime();
BENCHMARK(memory_of_a_warm_worker)->Iterations(rounds)->UseManualTime();
BENCHMARK_CAPTURE(array_argument, first_call, true)->Apply(sizes);
BENCHMARK_CAPTURE(array_argument, second_call, false)->Apply(sizes);
BENCHMARK(array_result)->Apply(sizes);
BENCHMARK(array_in_place)->Apply(sizes);
BENCHMARK(program_of_two_tasks)->UseManualTime();

}  // namespace

std::optional<int> run_two_tasks(std::span<const std::string> arguments) {
  if (arguments.size() != 3 || arguments[1] != "--two-tasks") {
    return std::nullopt;
  }
  const std::string& kind = arguments[2];
  bool is_done = true;
  if (kind == "std_threads") {
    StdThreads threads;
    run_tiny(threads, two_jobs);
  } else if (kind == "tbb") {
    TbbThreads threads;
    run_tiny(threads, two_jobs);
  } else {
    Tree tree(this_program);
    Pool pool(tree.session(), {.workers = two_jobs});
    is_done = kind == "processes" ? run_tiny(pool, two_jobs) : OurThreads(tree).run(two_jobs);
  }
  return is_done ? 0 : 1;
}

}  // namespace lastref::bench
