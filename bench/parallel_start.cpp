#include "bench/parallel_start.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <new>
#include <span>
#include <vector>

namespace lastref::bench {
namespace {

using Clock = std::chrono::steady_clock;  // CLOCK_MONOTONIC, the same for all processes

struct Span {
  Clock::time_point begin;
  Clock::time_point end;
};

/// On a page that all processes share.
struct SharedPage {
  static constexpr unsigned processes_max = 16;

  std::atomic<unsigned> arrived{0};
  Span spans[processes_max];
};

void run_child(SharedPage& shared,
               unsigned index,
               unsigned processes,
               const std::function<bool(unsigned)>& prepare,
               const std::function<bool(unsigned)>& act) {
  const bool is_ready = prepare(index);
  shared.arrived.fetch_add(1);
  while (shared.arrived.load() < processes) {
    ::sched_yield();
  }
  shared.spans[index].begin = Clock::now();
  const bool is_done = is_ready && act(index);
  shared.spans[index].end = Clock::now();
  ::_exit(is_done ? 0 : 1);
}

}  // namespace

std::optional<double> seconds_in_parallel(unsigned processes,
                                          const std::function<bool(unsigned)>& prepare,
                                          const std::function<bool(unsigned)>& act) {
  void* const page = ::mmap(
      nullptr, sizeof(SharedPage), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || processes > SharedPage::processes_max) {
    return std::nullopt;
  }
  auto* const shared = new (page) SharedPage;
  std::vector<pid_t> children;
  bool are_all_done = true;
  for (unsigned index = 0; index < processes; ++index) {
    const pid_t child = ::fork();
    if (child == 0) {
      run_child(*shared, index, processes, prepare, act);
    }
    if (child < 0) {
      shared->arrived.fetch_add(1);  // So that the others do not wait for it.
      are_all_done = false;
    } else {
      children.push_back(child);
    }
  }
  for (const pid_t child : children) {
    int status = 0;
    are_all_done = ::waitpid(child, &status, 0) == child && status == 0 && are_all_done;
  }
  Span all = shared->spans[0];
  for (const Span& each : std::span(shared->spans).first(processes)) {
    all.begin = std::min(all.begin, each.begin);
    all.end = std::max(all.end, each.end);
  }
  ::munmap(page, sizeof(SharedPage));
  return are_all_done ? std::optional(std::chrono::duration<double>(all.end - all.begin).count())
                      : std::nullopt;
}

}  // namespace lastref::bench
