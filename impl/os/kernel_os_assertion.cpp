// kernel_os_assertion: reports a failed assertion. A file of its own, because parsers need no more
// of a kernel.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <exception>

#include <lastref/error.hpp>

namespace lastref {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  std::array<char, 512> message{};  // The heap may be corrupt.
  const int size = std::snprintf(message.data(),
                                 message.size(),
                                 "lastref: assertion failed: %s (%s:%d)\n",
                                 condition,
                                 file,
                                 line);
  const auto end = std::min(message.size() - 1, static_cast<std::size_t>(std::max(size, 0)));
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), end);
  std::terminate();
}

}  // namespace lastref
