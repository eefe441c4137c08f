// a_worker_is_killed: a worker dies in the middle of a call. The call fails with that reason, and
// the next call of the same object starts new workers. Nothing remains of either, whatever the
// worker had mapped.
#include <csignal>
#include <cstdio>

#include <lastref/kernel_os.hpp>
#include <lastref/parallel.hpp>
#include <lastref/worker.hpp>

using lastref::Array;
using lastref::Result;
using lastref::Value;

Result<Value> element(const lastref::TaskContext&, const lastref::Arguments& arguments) {
  LASTREF_TRY(array, arguments.as<Array>(0));
  LASTREF_TRY(index, arguments.as<std::int64_t>(1));
  if (index == 13) {
    std::raise(SIGKILL);  // As the kernel does when memory runs out.
  }
  return reinterpret_cast<const std::int64_t*>(array.data())[index];
}

/// Whether there are any.
bool print_elements(lastref::Parallel& parallel, const Array& array, int first, int end) {
  std::vector<lastref::Task> tasks;
  for (int index = first; index < end; ++index) {
    tasks.push_back({"element", {array, index}});
  }
  const auto elements = parallel.run(tasks);
  if (!elements) {
    std::printf("no elements: %s\n", describe(elements.error()).c_str());
    return false;
  }
  for (const Value& each : *elements) {
    std::printf("%ld\n", each.as<std::int64_t>().value_or(-1));
  }
  return true;
}

Result<Array> mostly_zeros() {
  LASTREF_TRY(dtype, lastref::DType::parse("<i8"));
  LASTREF_TRY(array, Array::zeros(dtype, {1'000'000}));
  LASTREF_TRY(data, array.mutable_data());
  reinterpret_cast<std::int64_t*>(data)[21] = 42;
  return array;
}

int main(int argc, char** argv) {
  auto& os = lastref::os::KernelOs::of_process({.program = lastref::this_program});
  const auto functions = std::make_shared<lastref::Functions>();
  if (const auto added = functions->add("element", element); !added) {
    std::printf("no function: %s\n", describe(added.error()).c_str());
    return 1;
  }
  const std::vector<std::string> arguments(argv, argv + argc);
  if (const auto code = lastref::run_if_spawned(os, *functions, arguments)) {
    return *code;  // It was a worker.
  }

  const auto array = mostly_zeros();
  if (!array) {
    std::printf("no array: %s\n", describe(array.error()).c_str());
    return 1;
  }

  lastref::Parallel parallel(lastref::Session::lead(os), functions, {.n_jobs = 2});
  print_elements(parallel, *array, 10, 20);                 // Fails at 13.
  return print_elements(parallel, *array, 20, 23) ? 0 : 1;  // Runs in new workers.
}
