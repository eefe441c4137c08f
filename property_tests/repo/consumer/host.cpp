// host: a program that loads two shared objects which use lastref, and runs one of them.
//
// If they link the archive, each has its own copy of the library, though the loader may replace the
// symbols of one by those of the other (RTLD_GLOBAL). If they link the shared library, both use it.
#include <dlfcn.h>

#include <cstdio>

namespace {

template <typename Function>
Function* find(void* plugin, const char* name) {
  return reinterpret_cast<Function*>(::dlsym(plugin, name));
}

}  // namespace

int main(int argc, char** argv) {
  void* const one = ::dlopen(ONE_PLUGIN, RTLD_NOW | RTLD_GLOBAL);
  void* const other = ::dlopen(OTHER_PLUGIN, RTLD_NOW | RTLD_GLOBAL);
  if (one == nullptr || other == nullptr) {
    std::fprintf(stderr, "%s\n", ::dlerror());
    return 1;
  }
  const bool is_shared =
      find<const void*()>(one, "plugin_copy")() == find<const void*()>(other, "plugin_copy")();
  if (is_shared != (COPIES == 1)) {
    std::fprintf(stderr, "the plugins share a copy of the library: %d\n", is_shared ? 1 : 0);
    return 1;
  }
  return find<int(int, char**)>(one, "plugin_main")(argc, argv);
}
