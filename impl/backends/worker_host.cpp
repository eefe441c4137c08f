// lastref-worker: the worker of pools in programs that have no main of ours.
//
// It loads the shared object that has the functions, and calls its init_here: from then on the copy
// of the library that the object uses does the work. So that copy and the pool's are the same one,
// and this program may be of another version.
//
// A program of its own, because `lastref` is linked statically, and such a program cannot load
// shared objects safely: dlopen(3) would load a second C library. `lastref worker` executes it. So
// only `lastref` has to be on PATH, and an installation can be moved as a whole.
#include <charconv>
#include <cstdint>
#include <string>
#include <vector>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>
#include <lastref/typed_function.hpp>
#include <lastref/worker.hpp>

#include "impl/os/kernel_os_loader.hpp"

namespace lastref {
namespace {

/// {"lastref", "worker", folder of the tree, number, path, build id, place of init_here}
constexpr std::size_t arguments_of_worker = 7;

Result<TypedFunction::Init> find_init(const std::vector<std::string>& arguments) {
  const std::string& path = arguments[4];
  const std::string& build_id = arguments[5];
  if (path.empty()) {
    return failure(std::errc::function_not_supported,
                   "the function is in a program: only a shared object can be loaded");
  }
  LASTREF_TRY(object, os::load_object_file(path));
  if (object.build_id != build_id) {
    return failure(std::errc::function_not_supported,
                   path + " is of another build now: " + object.build_id + ", not " + build_id);
  }
  std::uintptr_t place = 0;
  std::from_chars(arguments[6].data(), arguments[6].data() + arguments[6].size(), place);
  // NOLINTNEXTLINE(performance-no-int-to-ptr): it is the same place in the same build.
  return reinterpret_cast<TypedFunction::Init>(object.base + place);
}

int run(const std::vector<std::string>& arguments, int argc, char** argv) {
  auto& os = os::KernelOs::of_process({.program = this_program});
  if (arguments.size() != arguments_of_worker || !os.environment(worker::marker)) {
    const auto code = run_if_spawned(os, Functions(), arguments);  // The tracker
    if (!code) {
      os::report_quietly(os, "lastref worker: is started by a pool");
    }
    return code.value_or(2);
  }
  const auto init = find_init(arguments);
  if (!init) {
    return serve_worker(os, [&]() -> Result<Session> { return failure(init.error()); }, {});
  }
  (*init)(argc, argv);
  return 2;  // Not reached.
}

}  // namespace
}  // namespace lastref

int main(int argc, char** argv) {
  return lastref::run(std::vector<std::string>(argv, argv + argc), argc, argv);
}
