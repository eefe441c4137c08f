#include "bench/growth_kinds.hpp"

#include <malloc.h>

#include <cstdio>
#include <utility>

namespace lastref::bench {
namespace {

using Clock = std::chrono::steady_clock;

}  // namespace

Calls::Calls(const Plan& plan, std::function<void(std::uint64_t)> look)
    : plan_(plan),
      look_(std::move(look)),
      end_(Clock::now() + plan.time_max),
      told_(Clock::now()) {}

bool Calls::go_on(std::uint64_t done) {
  const bool is_first = done == plan_.first && !is_first_over_;
  const auto now = Clock::now();
  const bool is_last = done == plan_.last || (done > plan_.first && now > end_);
  if (is_first || is_last) {
    is_first_over_ = true;
    look_(done);
  }
  if (now - told_ > std::chrono::seconds(10)) {
    told_ = now;
    std::fprintf(stderr, "growth:   %llu calls\n", static_cast<unsigned long long>(done));
  }
  return !is_last;
}

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  for (const auto& some : {kinds_of_names(), kinds_of_calls(), kinds_of_caches()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

std::size_t live_bytes() {
  const struct mallinfo2 all = ::mallinfo2();
  return all.uordblks + all.hblkhd;
}

}  // namespace lastref::bench
