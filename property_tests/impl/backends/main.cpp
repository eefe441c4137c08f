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
#include "property_tests/support/process_actions.hpp"

namespace {

/// The kernel, which starts no thread in a worker if the environment says so.
class ThreadlessOs final : public lastref::os::KernelOs {
 public:
  ThreadlessOs()
      : KernelOs({.program = lastref::this_program}),
        has_no_threads_(environment("LASTREF_TEST_WORKERS_HAVE_NO_THREADS") &&
                        environment(lastref::worker::marker)) {}

  lastref::Result<std::unique_ptr<lastref::os::Thread>> start_thread(
      std::function<void()> body, lastref::os::ThreadKind kind) noexcept override {
    if (has_no_threads_) {
      return lastref::failure(std::errc::resource_unavailable_try_again, "a thread");
    }
    return KernelOs::start_thread(std::move(body), kind);
  }

 private:
  bool has_no_threads_;  ///< Stored, because a worker soon removes its marker.
};

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
  // Never destroyed: values that tasks have kept use it to the end, and so do threads if one calls
  // exit.
  static auto& os = *new ThreadlessOs();
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
