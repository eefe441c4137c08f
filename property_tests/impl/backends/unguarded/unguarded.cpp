#include "property_tests/impl/backends/unguarded/unguarded.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <fstream>
#include <memory>

#include <lastref/kernel_os.hpp>
#include <lastref/parallel.hpp>
#include <lastref/slot_cache.hpp>
#include <lastref/worker.hpp>

#include "property_tests/support/process_actions.hpp"
#include "property_tests/support/process_group.hpp"

namespace lastref::pretend {
namespace {

os::Os& this_os() {
  return os::KernelOs::of_process({.program = this_program});
}

/// Adds a line; returns the number of lines.
int count_process() {
  const std::string path = variable(log_variable);
  std::ofstream(path, std::ios::app) << "one\n";
  std::ifstream file(path);
  int lines = 0;
  for (std::string line; std::getline(file, line);) {
    ++lines;
  }
  return lines;
}

TaskFailure use(os::Os& os, const std::string& what) {
  const Session session = Session::lead(os);
  if (what == "cache") {
    const auto cache = MultiprocessFileCache::make(os, session.references, 10);
    return cache ? TaskFailure() : TaskFailure(cache.error());
  }
  if (what == "pool") {
    Parallel parallel(session, std::make_shared<Functions>(), {.n_jobs = 2});
    const auto results = parallel.run({{"one", {}}, {"two", {}}});
    return results ? TaskFailure() : results.error();
  }
  const auto tree = session.tree();
  return tree ? TaskFailure() : TaskFailure(tree.error());
}

const int before_main = variable(use_variable) == "static" ? use_unguarded("session") : 0;

}  // namespace

std::string variable(const char* name) {
  return this_os().environment(name).value_or("");
}

int use_unguarded(const std::string& what) {
  const int number = count_process();
  const std::string then = number > 1 ? variable(then_variable) : std::string();
  if (number > processes_max || then == "leaves") {
    return 3;
  }
  const TaskFailure failure = use(this_os(), what);
  std::fprintf(stderr, "%s\n", describe(failure).c_str());
  if (then == "stays") {
    lead_group();
    hang();
  }
  return 1;
}

}  // namespace lastref::pretend

int main(int argc, char** argv) {
  const std::string use = lastref::pretend::variable(lastref::pretend::use_variable);
  if (use.empty()) {
    testing::InitGoogleTest(&argc, argv);
    return RUN_ALL_TESTS();
  }
  if (use == "nothing") {
    lastref::pretend::hang();
  }
  if (use == "static") {
    return lastref::pretend::before_main;
  }
  if (use == "plugin") {
    void* const plugin = ::dlopen(LASTREF_TEST_PLUGIN, RTLD_NOW);
    const void* const code = plugin == nullptr ? nullptr : ::dlsym(plugin, "code_of_plugin");
    return code == nullptr ? 4 : *static_cast<const int*>(code);
  }
  return lastref::pretend::use_unguarded(use);
}
