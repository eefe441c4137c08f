#include "bench/processors.hpp"

#include "harness/platform/one_processor.hpp"

namespace lastref::bench {

void on_one_processor(benchmark::State& state, const std::function<void(benchmark::State&)>& run) {
  harness::OneProcessor here;
  if (!here.stay()) {
    state.SkipWithError("cannot stay on one processor");
    return;
  }
  run(state);
}

}  // namespace lastref::bench
