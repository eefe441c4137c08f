// kernel_os: errors, clock, random bytes, environment.
#include <fcntl.h>
#include <signal.h>
#include <sys/random.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <ctime>
#include <new>
#include <utility>

#include <lastref/kernel_os.hpp>
#include <lastref/process_objects.hpp>

#include "impl/os/kernel_os_error.hpp"
#include "impl/os/kernel_os_locks.hpp"
#include "impl/os/kernel_os_numbers.hpp"
#include "impl/os/kernel_os_signals.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::os {

tl::unexpected<Error> failed(Call call, const std::string& subject) noexcept {
  return failed_with_code(errno, call, subject);
}

tl::unexpected<Error> failed_with_code(int code, Call call, const std::string& subject) noexcept {
  Error error{.code = std::errc{code}, .call = call, .subject = {}, .injected = false};
  static_cast<void>(had_memory([&] { error.subject = subject; }));
  return tl::unexpected<Error>(std::move(error));
}

tl::unexpected<Error> failed(Call call, Fd fd) noexcept {
  const int code = errno;
  return failure(std::errc{code}, "fd " + std::to_string(number(fd)), call);
}

tl::unexpected<Error> failed_process(Call call, Pid pid) noexcept {
  const int code = errno;
  return failure(std::errc{code}, "pid " + std::to_string(pid), call);
}

bool is_path(const std::string& text) noexcept {
  if (text.find('\0') == std::string::npos) {
    return true;
  }
  errno = EINVAL;
  return false;
}

namespace {

std::atomic<bool> size_signal_is_ours = false;

}  // namespace

bool is_size_signal_ours() noexcept {
  return size_signal_is_ours.load(std::memory_order_relaxed);
}

KernelOs& KernelOs::of_process(KernelOptions options) {
  alignas(KernelOs) static std::array<std::byte, sizeof(KernelOs)> place;
  static KernelOs& one = *new (place.data()) KernelOs(std::move(options));
  return one;
}

KernelOs::KernelOs(KernelOptions options) noexcept : program_(std::move(options.program)) {
  look_at_standard_numbers();
  // A write beyond RLIMIT_FSIZE raises it. Its default action would end a process that can handle
  // file_too_large as well. setrlimit(2). Python ignores it for the same reason.
  struct sigaction action {};
  ::sigaction(SIGXFSZ, nullptr, &action);
  if ((action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL) {
    action.sa_handler = SIG_IGN;
    ::sigaction(SIGXFSZ, &action, nullptr);
    size_signal_is_ours.store(true, std::memory_order_relaxed);
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

std::optional<std::string> KernelOs::environment(const std::string& name) {
  // The user that runs a set-user-id program must not choose where it puts its files.
  const char* const value = ::secure_getenv(name.c_str());
  return value == nullptr ? std::nullopt : std::optional<std::string>(value);
}

void KernelOs::keep_to_itself(std::span<const Fd> fds, const std::string& variable) noexcept {
  for (const Fd fd : fds) {
    // If it is not open, no other program can get it.
    ::fcntl(number(fd), F_SETFD, FD_CLOEXEC);
  }
  ::unsetenv(variable.c_str());  // NOLINT(concurrency-mt-unsafe): there are no other threads yet.
}

ProcessObjects& KernelOs::objects() {
  // Never destroyed: static objects may still use it.
  static GenerationsOfObjects& of_program =
      *std::make_unique<GenerationsOfObjects>(has_record_lock).release();
  return of_program.of(*this, process_token());
}

}  // namespace lastref::os
