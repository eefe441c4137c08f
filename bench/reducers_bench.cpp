// The cost of sending an array through a file, compared with the cost of moving its bytes.
//
// Each iteration measures the reducer and its lower bounds one after another. The counters are
// ratios of medians; compare these. Files are in /dev/shm. Python runs joblib's reducer in the same
// run, if there is a Python.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include <benchmark/benchmark.h>
#include <nlohmann/json.hpp>

#include <lastref/reducers.hpp>

#include "bench/comparison.hpp"
#include "bench/processors.hpp"
#include "bench/shm_folder.hpp"
#include "bench/times.hpp"
#include "bench/tree.hpp"

namespace {

using lastref::Array;
using lastref::bench::on_one_processor;
using lastref::bench::seconds;
using lastref::bench::Times;
using lastref::bench::Tree;
using lastref::bench::with_peers;

constexpr std::int64_t mega = 1'000'000;

/// A sender and a receiver in one process.
struct Pair {
  explicit Pair(Tree& tree)
      : references(lastref::references_of(tree.shared_client())),
        resources(std::shared_ptr(
            lastref::TemporaryResources::make(tree.os(), references, {.root = "/dev/shm"})
                .value())),
        reducer(tree.os(), references, resources, {.max_nbytes = 1000}),
        receiver(tree.os(), references) {}

  std::shared_ptr<lastref::References> references;
  std::shared_ptr<lastref::TemporaryResources> resources;
  lastref::ForwardReducer reducer;
  lastref::Receiver receiver;
};

/// `size` bytes, with each page touched.
lastref::MemoryRef bytes_of(std::size_t size) {
  auto memory = lastref::Memory::uninitialized(size).value();
  std::memset(memory->bytes().data(), 1, size);
  return memory;
}

/// A new array over the same bytes.
Array array_over(const lastref::MemoryRef& memory) {
  return Array::over(
             memory,
             {.dtype = lastref::DType::parse("|u1").value(), .shape = {memory->bytes().size()}})
      .value();
}

std::string path_of(const lastref::Sent& sent) {
  return std::get<lastref::LoadTemporaryMemmap>(sent.reduction).filename;
}

/// One write() of the bytes to a new file. Linux writes at most 2 GiB at once.
double one_write(const lastref::MemoryRef& memory) {
  const lastref::bench::ShmFolder folder;
  const std::string path = folder.path() + "/write";
  const double spent = seconds([&] {
    const int fd = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
    benchmark::DoNotOptimize(::write(fd, memory->bytes().data(), memory->bytes().size()));
    ::close(fd);
  });
  return spent;
}

void wait_until_gone(const std::string& path) {
  while (::access(path.c_str(), F_OK) == 0) {
  }
}

bool has_space(benchmark::State& state, Tree& tree) {
  const auto free = tree.os().free_space("/dev/shm");
  if (!free || *free < 2 * static_cast<std::uint64_t>(state.range(0))) {
    state.SkipWithError("no space on /dev/shm");
    return false;
  }
  return tree.ready(state);
}

void dump_of_a_new_array(benchmark::State& state) {
  Tree tree;
  if (!has_space(state, tree)) {
    return;
  }
  Pair pair(tree);
  const lastref::MemoryRef memory = bytes_of(static_cast<std::size_t>(state.range(0)));
  const lastref::MemoryRef copy = bytes_of(memory->bytes().size());
  Times dumps;
  Times writes;
  Times copies;
  for (auto _ : state) {
    if (with_peers()) {
      copies.add(seconds([&] {
        std::memcpy(copy->bytes().data(), memory->bytes().data(), copy->bytes().size());
        benchmark::ClobberMemory();
      }));
      writes.add(one_write(memory));
    }
    const Array array = array_over(memory);
    std::optional<lastref::Sent> sent;
    const double spent = seconds([&] { sent = pair.reducer.reduce(array).value(); });
    const std::string path = path_of(*sent);
    sent.reset();
    static_cast<void>(pair.reducer.invalidate(array));
    wait_until_gone(path);
    dumps.add(spent);
    state.SetIterationTime(spent);
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
  state.counters["spread"] = dumps.spread();
  if (with_peers()) {
    state.counters["over_write"] = dumps.median() / writes.median();
    state.counters["over_memcpy"] = dumps.median() / copies.median();
  }
}
BENCHMARK(dump_of_a_new_array)->Arg(mega)->Arg(100 * mega)->Arg(1000 * mega)->UseManualTime();

/// The time is independent of the size: the file already exists.
void reduce_a_known_array(benchmark::State& state) {
  Tree tree;
  if (!has_space(state, tree)) {
    return;
  }
  Pair pair(tree);
  const Array array = array_over(bytes_of(static_cast<std::size_t>(state.range(0))));
  const auto kept = pair.reducer.reduce(array);
  for (auto _ : state) {
    benchmark::DoNotOptimize(pair.reducer.reduce(array));
  }
}
BENCHMARK(reduce_a_known_array)->Arg(mega)->Arg(100 * mega)->UseRealTime();
BENCHMARK_CAPTURE(on_one_processor, reduce_a_known_array, reduce_a_known_array)
    ->Arg(mega)
    ->UseRealTime();

/// Rebuilds and releases an array, compared with a bare open, mmap, munmap, close.
void load(benchmark::State& state) {
  Tree tree;
  if (!has_space(state, tree)) {
    return;
  }
  Pair pair(tree);
  const Array array = array_over(bytes_of(static_cast<std::size_t>(state.range(0))));
  const auto sent = pair.reducer.reduce(array).value();
  const std::string path = path_of(sent);
  const auto size = static_cast<std::size_t>(state.range(0));
  Times loads;
  Times maps;
  for (auto _ : state) {
    if (with_peers()) {
      maps.add(seconds([&] {
        const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        void* const mapped = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, 0);
        ::close(fd);
        ::munmap(mapped, size);
      }));
    }
    const double spent =
        seconds([&] { benchmark::DoNotOptimize(pair.receiver.rebuild(sent.reduction)); });
    loads.add(spent);
    state.SetIterationTime(spent);
  }
  state.counters["spread"] = loads.spread();
  if (with_peers()) {
    state.counters["over_open_mmap"] = loads.median() / maps.median();
  }
}
BENCHMARK(load)->Arg(mega)->Arg(100 * mega)->UseManualTime();
BENCHMARK_CAPTURE(on_one_processor, load, load)->Arg(mega)->UseManualTime();

/// The standard output of a Python program.
std::string output_of(const std::vector<std::string>& arguments) {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    return {};
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDOUT_FILENO);
    std::vector<char*> pointers;
    for (const std::string& argument : arguments) {
      pointers.push_back(const_cast<char*>(argument.c_str()));
    }
    pointers.push_back(nullptr);
    ::execv(pointers.front(), pointers.data());
    ::_exit(127);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> bytes{};
  for (ssize_t size = 0; (size = ::read(ends[0], bytes.data(), bytes.size())) > 0;) {
    text.append(bytes.data(), static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  return text;
}

/// Medians measured by Python: a new array (the time of the row), a known one, a load.
void joblib_reducer(benchmark::State& state) {
  const std::string repeats = state.range(0) > 100 * mega ? "3" : "7";
  if (!with_peers()) {
    state.SkipWithError("it is a peer");
    return;
  }
  for (auto _ : state) {
    const auto told = nlohmann::json::parse(
        output_of(
            {LASTREF_PYTHON, LASTREF_JOBLIB_REDUCER, std::to_string(state.range(0)), repeats}),
        nullptr,
        /*allow_exceptions=*/false);
    if (!told.is_object()) {
      state.SkipWithError("no joblib");
      return;
    }
    state.SetIterationTime(told["new"]);
    state.counters["known_us"] = told["known"].get<double>() * 1e6;
    state.counters["load_us"] = told["load"].get<double>() * 1e6;
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(joblib_reducer)
    ->Arg(mega)
    ->Arg(100 * mega)
    ->Arg(1000 * mega)
    ->Iterations(1)
    ->UseManualTime();

}  // namespace
