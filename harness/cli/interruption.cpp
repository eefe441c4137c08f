#include "harness/cli/interruption.hpp"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <ctime>

namespace lastref::harness {
namespace {

constexpr std::array numbers = {SIGINT, SIGTERM};

/// The only state of the handler.
std::atomic<int> noted = 0;
std::atomic<std::int64_t> noted_at = 0;  ///< Milliseconds
std::atomic<std::int64_t> together_for = -1;
static_assert(std::atomic<int>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

std::int64_t milliseconds_now() noexcept {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1000 + now.tv_nsec / 1'000'000;
}

void note(int number) {
  const std::int64_t now = milliseconds_now();
  int none = 0;
  if (noted.compare_exchange_strong(none, number)) {
    noted_at = now;
  } else if (now - noted_at > together_for) {
    // The signal is blocked while its handler runs, and is delivered right after.
    ::signal(number, SIG_DFL);
    ::raise(number);
  }
}

}  // namespace

Interruption::Interruption(std::chrono::milliseconds together) noexcept {
  noted = 0;
  together_for = together.count();
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  for (const int number : numbers) {
    struct sigaction before {};
    ::sigaction(number, nullptr, &before);
    // A signal that is ignored on purpose, for example by nohup, remains ignored.
    if (before.sa_handler != SIG_IGN) {
      ::sigaction(number, &action, nullptr);
    }
  }
}

Interruption::~Interruption() {
  for (const int number : numbers) {
    struct sigaction now {};
    ::sigaction(number, nullptr, &now);
    if (now.sa_handler == note) {
      ::signal(number, SIG_DFL);
    }
  }
}

bool Interruption::happened() noexcept {
  return noted != 0;
}

int Interruption::signal() noexcept {
  return noted;
}

}  // namespace lastref::harness
