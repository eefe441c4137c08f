#include "harness/platform/one_processor.hpp"

#include <sched.h>

#include <cstddef>

namespace lastref::harness {

struct OneProcessor::Before {
  cpu_set_t processors{};
};

OneProcessor::OneProcessor() noexcept = default;

std::optional<int> OneProcessor::share_with(int process) noexcept {
  const int here = ::sched_getcpu();
  cpu_set_t before{};
  cpu_set_t one{};
  if (here < 0 || here >= CPU_SETSIZE || ::sched_getaffinity(0, sizeof before, &before) != 0) {
    return std::nullopt;
  }
  CPU_SET(static_cast<std::size_t>(here), &one);
  if (::sched_setaffinity(process, sizeof one, &one) != 0 ||
      ::sched_setaffinity(0, sizeof one, &one) != 0) {
    return std::nullopt;
  }
  before_ = std::make_unique<Before>(Before{before});
  return here;
}

OneProcessor::~OneProcessor() {
  if (before_) {
    ::sched_setaffinity(0, sizeof before_->processors, &before_->processors);
  }
}

}  // namespace lastref::harness
