// failure: how an error reaches code that expects an exception, or the user.
#include <cerrno>
#include <cstdlib>
#include <string>
#include <utility>

#include <lastref/error.hpp>
#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>

#include "impl/os/within_memory.hpp"

namespace lastref {

Failure::Failure(Error error) : std::runtime_error(describe(error)), error_(std::move(error)) {}

void throw_failure(const Error& error) {
  throw Failure(error);
}

int fail(const Error& error) noexcept {
  os::KernelOs os;
  os::report_quietly(
      os, [&] { return std::string(program_invocation_short_name) + ": " + describe(error); });
  return EXIT_FAILURE;
}

}  // namespace lastref
