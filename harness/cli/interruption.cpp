#include "harness/cli/interruption.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <filesystem>

namespace lastref::harness {
namespace {

constexpr std::array numbers = {SIGINT, SIGTERM};

/// A handler knows nothing else.
std::atomic<bool> noted = false;
static_assert(std::atomic<bool>::is_always_lock_free);

void note(int number) {
  if (noted.exchange(true)) {
    // It is blocked while its handler runs, and strikes right after.
    ::signal(number, SIG_DFL);
    ::raise(number);
  }
}

}  // namespace

Interruption::Interruption() noexcept {
  noted = false;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  for (const int number : numbers) {
    struct sigaction before {};
    ::sigaction(number, nullptr, &before);
    // What is ignored on purpose, as by nohup's like, stays ignored.
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
  return noted;
}

std::string new_temporary_file() {
  std::error_code error;
  std::string path = std::filesystem::temp_directory_path(error) / "lastref-gate-XXXXXX";
  const int file = ::mkstemp(path.data());
  if (error || file < 0) {
    return {};
  }
  ::close(file);
  return path;
}

}  // namespace lastref::harness
