#include "bench/processors.hpp"

#include <sched.h>

namespace lastref::bench {

void on_one_processor(benchmark::State& state, const std::function<void(benchmark::State&)>& run) {
  cpu_set_t before;
  cpu_set_t only;
  CPU_ZERO(&only);
  const int here = ::sched_getcpu();
  if (here >= 0) {
    CPU_SET(static_cast<std::size_t>(here), &only);
  }
  if (::sched_getaffinity(0, sizeof before, &before) != 0 ||
      ::sched_setaffinity(0, sizeof only, &only) != 0) {
    state.SkipWithError("cannot stay on one processor");
    return;
  }
  run(state);
  ::sched_setaffinity(0, sizeof before, &before);
}

}  // namespace lastref::bench
