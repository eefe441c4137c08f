#include "impl/os/kernel_os_loader.hpp"

#include <dlfcn.h>
#include <link.h>

namespace lastref::os {

Result<ObjectFile> load_object_file(const std::string& path) {
  // A symbol that is missing is an error of the load, and not later the death of a worker.
  void* const object = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  link_map* map = nullptr;
  if (object == nullptr || ::dlinfo(object, RTLD_DI_LINKMAP, &map) != 0) {
    const char* const reason =
        ::dlerror();  // NOLINT(concurrency-mt-unsafe): glibc has one a thread
    return failure(std::errc::executable_format_error, reason == nullptr ? path : reason);
  }
  const auto loaded = object_file_at(reinterpret_cast<std::uintptr_t>(map->l_ld));
  if (!loaded) {
    return failure(std::errc::executable_format_error, path);
  }
  return *loaded;
}

}  // namespace lastref::os
