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
namespace {

/// Empty if there is no memory for it: that needs none.
std::string description_of(const Error& error) {
  std::string text;
  static_cast<void>(os::had_memory([&] { text = describe(error); }));
  return text;
}

}  // namespace

Failure::Failure(Error error)
    : std::runtime_error(description_of(error)), error_(std::move(error)) {}

/// Throws a Failure also if there is no memory for the texts of the error.
void throw_failure(const Error& error) {
  Error copy{.code = error.code, .call = error.call, .subject = {}, .injected = error.injected};
  static_cast<void>(os::had_memory([&] { copy.subject = error.subject; }));
  throw Failure(std::move(copy));
}

bool call_within_memory(void (*body)(void* argument), void* argument) {
  return os::had_memory([&] { body(argument); });
}

int fail(const Error& error) noexcept {
  os::KernelOs os;
  os::report_quietly(
      os, [&] { return std::string(program_invocation_short_name) + ": " + describe(error); });
  return EXIT_FAILURE;
}

}  // namespace lastref
