// kernel_os: errors, clock, chance, environment.
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <ctime>
#include <utility>

#include <lastref/kernel_os.hpp>

#include "impl/os/kernel_os_error.hpp"

namespace lastref::os {

tl::unexpected<Error> failed(Call call, const std::string& subject) noexcept {
  const int code = errno;
  return failure(std::errc{code}, subject, call);
}

tl::unexpected<Error> failed(Call call, Fd fd) noexcept {
  const int code = errno;
  return failure(std::errc{code}, "fd " + std::to_string(number(fd)), call);
}

tl::unexpected<Error> failed_process(Call call, Pid pid) noexcept {
  const int code = errno;
  return failure(std::errc{code}, "pid " + std::to_string(pid), call);
}

KernelOs::KernelOs(KernelOptions options) noexcept : program_(std::move(options.program)) {
  // A write beyond RLIMIT_FSIZE raises it, and its default action would end a process that can as
  // well be told file_too_large. setrlimit(2). Python ignores it for the same reason.
  struct sigaction action {};
  ::sigaction(SIGXFSZ, nullptr, &action);
  if ((action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL) {
    action.sa_handler = SIG_IGN;
    ::sigaction(SIGXFSZ, &action, nullptr);
  }
}

Instant KernelOs::now() noexcept {
  timespec time{};
  const int result = ::clock_gettime(CLOCK_MONOTONIC, &time);
  LASTREF_ASSERT(result == 0);
  return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

Status KernelOs::entropy(Buffer into) noexcept {
  const ssize_t count = ::getrandom(into.data(), into.size(), 0);
  if (count < 0) {
    return failed(Call::entropy, std::string());
  }
  if (std::cmp_less(count, into.size())) {
    // Only above 256 bytes, and only because of a signal. getrandom(2), "Interruption by a signal".
    return failure(std::errc::interrupted, {}, Call::entropy);
  }
  return ok();
}

std::optional<std::string> KernelOs::environment(const std::string& name) noexcept {
  // Whoever runs a set-user-id program must not choose where it puts its files.
  const char* const value = ::secure_getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

}  // namespace lastref::os
