// parallel_map: sums the rows of a big array in two worker processes.
//
// The array is written to one file, which both workers map; the file is removed when the call ends.
#include <cmath>
#include <cstdio>
#include <numeric>

#include <lastref/kernel_os.hpp>
#include <lastref/parallel.hpp>
#include <lastref/worker.hpp>

using lastref::Array;
using lastref::Result;
using lastref::Value;

Result<Value> sum_of_row(const lastref::TaskContext&, const lastref::Arguments& arguments) {
  LASTREF_TRY(array, arguments.as<Array>(0));
  LASTREF_TRY(row, arguments.as<std::int64_t>(1));
  LASTREF_TRY(line, array.pick(0, row));
  const auto* const numbers = reinterpret_cast<const double*>(line.data());
  return std::accumulate(numbers, numbers + line.size(), 0.0);
}

Result<Array> numbered_rows() {
  LASTREF_TRY(dtype, lastref::DType::parse("<f8"));
  LASTREF_TRY(array, Array::zeros(dtype, {8, 1'000'000}));
  LASTREF_TRY(data, array.mutable_data());
  auto* const numbers = reinterpret_cast<double*>(data);
  std::iota(numbers, numbers + array.size(), 0.0);
  return array;
}

int main(int argc, char** argv) {
  auto& os = lastref::os::KernelOs::of_process({.program = lastref::this_program});
  const auto functions = std::make_shared<lastref::Functions>();
  if (const auto added = functions->add("sum_of_row", sum_of_row); !added) {
    std::fprintf(stderr, "no function: %s\n", describe(added.error()).c_str());
    return 1;
  }
  const std::vector<std::string> arguments(argv, argv + argc);
  if (const auto code = lastref::run_if_spawned(os, *functions, arguments)) {
    return *code;  // It was a worker.
  }

  const auto array = numbered_rows();
  if (!array) {
    std::fprintf(stderr, "no array: %s\n", describe(array.error()).c_str());
    return 1;
  }

  lastref::Parallel parallel(lastref::Session::lead(os), functions, {.n_jobs = 2});
  std::vector<lastref::Task> tasks;
  for (int row = 0; row < 8; ++row) {
    tasks.push_back({"sum_of_row", {*array, row}});
  }
  const auto sums = parallel.run(tasks);
  if (!sums) {
    std::fprintf(stderr, "no sums: %s\n", describe(sums.error()).c_str());
    return 1;
  }
  for (const Value& sum : *sums) {
    std::printf("%.0f\n", sum.as<double>().value_or(NAN));
  }
  return 0;
}
