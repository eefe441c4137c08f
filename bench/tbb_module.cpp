// tbb_module: oneTBB as a module that is loaded when it is measured, so that no worker loads it.
#include "bench/tbb_module.hpp"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/parallel_for.h>
#include <oneapi/tbb/task_arena.h>

#include <cstddef>
#include <new>

namespace lastref::bench {
namespace {

class Arena final : public TbbArena {
 public:
  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  ~Arena() override {
    arena_.terminate();
    tbb::finalize(handle_, std::nothrow);
  }
  void for_each(std::size_t count, const std::function<void(std::size_t)>& act) override {
    arena_.execute([&] { tbb::parallel_for(std::size_t{0}, count, act); });
  }

 private:
  tbb::task_scheduler_handle handle_{tbb::attach{}};
  tbb::task_arena arena_{2};
};

}  // namespace
}  // namespace lastref::bench

extern "C" lastref::bench::TbbArena* make_tbb_arena() {
  return new lastref::bench::Arena();
}
