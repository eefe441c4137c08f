// The test program of backends, which is also the tracker, the workers and a parent that is killed.
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/worker.hpp>

#include "property_tests/impl/backends/fixture.hpp"
#include "property_tests/impl/backends/functions.hpp"
#include "property_tests/support/hooked_os.hpp"
#include "property_tests/support/process_actions.hpp"

namespace {

using lastref::pretend::Crossing;
using lastref::pretend::Decision;
using lastref::pretend::Fate;
using lastref::pretend::HookedOs;

/// The kernel, which starts no thread in a worker if the environment says so.
lastref::os::Os& make_os() {
  const lastref::os::KernelOptions options{.program = lastref::this_program};
  // Never destroyed: values that tasks have kept use it to the end, and so do threads if one calls
  // exit.
  static auto& kernel = *new lastref::os::KernelOs(options);
  if (!kernel.environment("LASTREF_TEST_WORKERS_HAVE_NO_THREADS") ||
      !kernel.environment(lastref::worker::marker)) {
    return kernel;
  }
  static auto& hooked = *new HookedOs(options);
  hooked.before = [](const Crossing& crossing) -> Decision {
    return {.fate = crossing.call == lastref::Call::start_thread ? Fate::fail : Fate::pass,
            .code = std::errc::resource_unavailable_try_again};
  };
  return hooked;
}

/// {folder}: has two workers that never end, and continues with `then`.
int be_parent(lastref::os::Os& os, const std::string& folder, const std::function<void()>& then) {
  lastref::ProcessBackend backend(lastref::Session::lead(os), lastref::pretend::test_functions());
  if (!backend.configure({.n_jobs = 2, .temporary = {.root = folder + "/files"}})) {
    return 1;
  }
  const auto array = lastref::pretend::array_of(2'000'000);
  for (const char* name : {"one", "two"}) {
    const std::string mark = folder + "/marks/" + name;
    if (!backend.apply_async({{"mark_and_hang", {mark, array}}}, {})) {
      return 2;
    }
  }
  then();
  lastref::pretend::hang();
}

}  // namespace

int main(int argc, char** argv) {
  lastref::os::Os& os = make_os();
  const std::vector<std::string> arguments(argv, argv + argc);
  if (const auto code =
          lastref::run_if_spawned(os, *lastref::pretend::test_functions(), arguments)) {
    return *code;
  }
  if (argc > 2 && arguments[0] == "lastref" && arguments[1] == "parent") {
    // With a copy that inherits everything.
    return be_parent(os, arguments[2], [&] {
      if (lastref::pretend::fork_here() == 0) {
        std::ofstream(arguments[2] + "/marks/stranger") << "x";
      }
    });
  }
  if (argc > 2 && arguments[0] == "lastref" && arguments[1] == "executing_parent") {
    return be_parent(os, arguments[2], [&] {
      lastref::pretend::until([&] { return std::ifstream(arguments[2] + "/marks/go").good(); });
      lastref::pretend::execute_endless_program();
    });
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
