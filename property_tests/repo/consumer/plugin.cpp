// plugin: a shared object that uses lastref; see host.cpp.
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <lastref/kernel_os.hpp>
#include <lastref/parallel.hpp>
#include <lastref/worker.hpp>

using lastref::Result;
using lastref::Value;

namespace {

Result<Value> twice(const lastref::TaskContext&, std::span<const Value> arguments) {
  LASTREF_TRY(number, arguments[0].as<std::int64_t>());
  return 2 * number;
}

lastref::os::KernelOs& os_of_process() {
  return lastref::os::KernelOs::of_process({.program = lastref::this_program});
}

}  // namespace

/// What is there once for each copy of the library.
extern "C" const void* plugin_copy() {
  return &os_of_process();
}

extern "C" int plugin_main(int argc, char** argv) {
  lastref::os::KernelOs& os = os_of_process();
  const auto functions = std::make_shared<lastref::Functions>();
  if (const auto added = functions->add("twice", twice); !added) {
    std::fprintf(stderr, "no function: %s\n", describe(added.error()).c_str());
    return 1;
  }
  const std::vector<std::string> arguments(argv, argv + argc);
  if (const auto code = lastref::run_if_spawned(os, *functions, arguments)) {
    return *code;
  }

  lastref::Parallel parallel(lastref::Session::lead(os), functions, {.n_jobs = 2});
  std::vector<lastref::Task> tasks;
  tasks.push_back({"twice", {std::int64_t{21}}});
  const auto results = parallel.run(tasks);
  if (!results) {
    std::fprintf(stderr, "no results: %s\n", describe(results.error()).c_str());
    return 1;
  }
  std::printf("%d\n", static_cast<int>((*results)[0].as<std::int64_t>().value_or(0)));
  return 0;
}
