#include "property_tests/impl/tracker/another_copy.hpp"

#include <memory>
#include <utility>

#include <lastref/kernel_os.hpp>
#include <lastref/slot_cache.hpp>
#include <lastref/tracker.hpp>
#include <lastref/tracker_client.hpp>

namespace lastref::pretend {
namespace {

os::KernelOs& process() {
  return os::KernelOs::of_process({.program = "/proc/self/exe"});
}

std::shared_ptr<tracker::Client>& client() {
  static std::shared_ptr<tracker::Client> only;
  return only;
}

bool join(const char* tree) {
  client().reset();
  auto joined = tracker::Client::join(process(), tree);
  if (joined) {
    client() = *std::move(joined);
  }
  return joined.has_value();
}

bool lead(const char* runtime) {
  client() = tracker::Client::lead(process(), {.runtime_folder = runtime});
  return client()->probe().has_value();
}

int sweep(const char* runtime) {
  const auto swept = tracker::sweep(process(), runtime);
  return swept ? static_cast<int>(swept->alive) : -1;
}

bool make_cache(const char* folder) {
  auto made =
      MultiprocessFileCache::make(process(), references_of(client()), 1, {.folder = folder});
  return made && (*made)->close();
}

const AnotherCopy functions = {
    .process = [] { return static_cast<const void*>(&process()); },
    .join = join,
    .leave = [] { client().reset(); },
    .lead = lead,
    .sweep = sweep,
    .make_cache = make_cache,
};

}  // namespace
}  // namespace lastref::pretend

extern "C" const lastref::pretend::AnotherCopy* another_copy() {
  return &lastref::pretend::functions;
}
