// kernel_os_assertion: where an assertion ends. Apart, because parsers need no more of a kernel.
#include <unistd.h>

#include <cstdlib>
#include <string>

#include <lastref/error.hpp>

namespace lastref {

void assertion_failed(const char* condition, const char* file, int line) noexcept {
  const std::string message = "lastref: assertion failed: " + std::string(condition) + " (" + file +
                              ":" + std::to_string(line) + ")\n";
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, message.data(), message.size());
  std::abort();
}

}  // namespace lastref
