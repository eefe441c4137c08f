// stream: results as they complete; bad items, hanging items and dying workers fail alone.
#include <chrono>
#include <csignal>
#include <cstdio>
#include <ranges>
#include <stdexcept>
#include <thread>

#include <lastref/pool.hpp>

using namespace std::chrono_literals;

int work(int item) {
  if (item % 10 == 3) {
    throw std::runtime_error("item " + std::to_string(item) + " is bad");
  }
  if (item == 28) {
    std::raise(SIGKILL);
  }
  if (item == 31) {
    std::this_thread::sleep_for(1h);
  }
  return item * item;
}

int main(int argc, char** argv) {
  lastref::init(argc, argv);
  lastref::Pool pool({.workers = 2});
  int good = 0;
  for (const auto& done :
       pool.as_completed<work>(std::views::iota(0, 40), {.timeout = 500ms, .retries = 1})) {
    if (done.result) {
      ++good;
    } else {  // "item 28, attempt 2: task 28, work, worker 4711: killed by SIGKILL"
      std::printf("item %zu, attempt %d: %s\n",
                  done.index,
                  done.attempts,
                  done.result.error().what().c_str());
    }
    if (good == 30) {
      break;  // Cancels the rest, and does not wait.
    }
  }
}
