#include "harness/explore/crash_note.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <cstddef>
#include <string_view>

namespace lastref::harness {
namespace {

constexpr std::array deadly = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
constexpr std::size_t stack_size = 64UL << 10U;

pid_t told_of = 0;  // A copy of this process dies in the usual way.
thread_local std::string note;
std::atomic_flag is_told;
thread_local bool is_telling = false;
// NOLINTNEXTLINE(*-avoid-c-arrays): of the thread, and as large as a stack
alignas(std::max_align_t) thread_local std::byte stack[stack_size];

void say(std::string_view text) noexcept {
  while (!text.empty()) {
    const ssize_t written = ::write(STDOUT_FILENO, text.data(), text.size());
    if (written <= 0) {
      return;
    }
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void tell(int number) {
  if (::getpid() != told_of || note.empty() || is_telling) {
    ::signal(number, SIG_DFL);
    ::raise(number);
    return;
  }
  while (is_told.test_and_set()) {
    ::pause();  // The thread that crashed first ends the process.
  }
  is_telling = true;
  std::array<char, 2> digits = {static_cast<char>('0' + number / 10 % 10),
                                static_cast<char>('0' + number % 10)};
  say(note);
  say("  observed      the world itself crashed in it, by signal ");
  say({digits.data(), digits.size()});
  say("\n1 violation, and nothing after it was run (exit 1)\n");
  ::_exit(1);
}

}  // namespace

CrashesAreTold::CrashesAreTold() noexcept {
  told_of = ::getpid();
  struct sigaction action {};
  action.sa_handler = tell;
  action.sa_flags = static_cast<int>(SA_ONSTACK);
  for (const int number : deadly) {
    struct sigaction before {};
    if (::sigaction(number, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
      ::sigaction(number, &action, nullptr);
    }
  }
}

CrashesAreTold::~CrashesAreTold() {
  for (const int number : deadly) {
    struct sigaction now {};
    if (::sigaction(number, nullptr, &now) == 0 && now.sa_handler == tell) {
      ::signal(number, SIG_DFL);
    }
  }
}

CrashNote::CrashNote() noexcept {
  const stack_t own = {.ss_sp = &stack[0], .ss_flags = 0, .ss_size = stack_size};
  ::sigaltstack(&own, nullptr);
}

CrashNote::~CrashNote() {
  end();
  const stack_t none = {.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
  ::sigaltstack(&none, nullptr);
}

void CrashNote::begin(const std::string& scenario, const std::string& command) {
  note = "VIOLATION " + scenario +
         "\n  claim         no-crash: what is run ends no process but its own\n" +
         "  reproduce     " + command + "\n";
}

void CrashNote::end() noexcept {
  note.clear();
}

}  // namespace lastref::harness
