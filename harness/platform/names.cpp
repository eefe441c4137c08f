#include "harness/platform/names.hpp"

#include <seccomp.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

namespace lastref::harness {

std::string name_of_error(int error) {
  const char* const name = ::strerrorname_np(error);
  return name == nullptr ? std::to_string(error) : name;
}

std::optional<int> error_named(std::string_view name) noexcept {
  if (name == "EWOULDBLOCK" || name == "ENOTSUP") {
    return name == "ENOTSUP" ? ENOTSUP : EWOULDBLOCK;
  }
  constexpr int errors_end = 134;  // errno-base.h, errno.h
  for (int error = 1; error < errors_end; ++error) {
    if (name_of_error(error) == name) {
      return error;
    }
  }
  return std::nullopt;
}

std::string counted(std::size_t number, std::string_view noun, std::string_view ending) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? std::string_view() : ending);
}

std::string name_of_call(long number) {
  char* const name = ::seccomp_syscall_resolve_num_arch(SCMP_ARCH_NATIVE, static_cast<int>(number));
  std::string text = name == nullptr ? fmt::format("call_{}", number) : name;
  std::free(name);
  return text;
}

std::string name_of_signal(int signal) {
  const char* const name = ::sigabbrev_np(signal);
  return name == nullptr ? std::to_string(signal) : name;
}

}  // namespace lastref::harness
