#include "bench/counted/mark.hpp"

#include <sys/prctl.h>

namespace lastref::bench {
namespace {

void say(Mark mark) noexcept {
  ::prctl(static_cast<int>(mark_option), static_cast<unsigned long>(mark), &own_counts, 0UL, 0UL);
}

}  // namespace

OwnCounts own_counts{};

Marked::Marked() noexcept {
  say(Mark::begin);
}

Marked::~Marked() {
  say(Mark::end);
}

}  // namespace lastref::bench
