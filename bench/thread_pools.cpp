#include "bench/thread_pools.hpp"

#include <dlfcn.h>

#include "bench/other_process.hpp"

namespace lastref::bench {

std::unique_ptr<TbbArena> TbbThreads::make() {
  static void* const module = ::dlopen(LASTREF_TBB_MODULE, RTLD_NOW | RTLD_LOCAL);
  static void* const found = module == nullptr ? nullptr : ::dlsym(module, "make_tbb_arena");
  if (found == nullptr) {
    give_up(::dlerror());
  }
  return std::unique_ptr<TbbArena>(reinterpret_cast<decltype(&make_tbb_arena)>(found)());
}

}  // namespace lastref::bench
