// failure: how an error reaches code that expects an exception, or the user.
#include <cerrno>
#include <cstdlib>
#include <new>
#include <string>
#include <utility>

#include <lastref/error.hpp>
#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>

#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

/// Without memory for it: an empty text, which needs none.
template <typename Make>
auto if_there_is_memory(Make make) -> decltype(make()) {
  try {
    return make();
  } catch (const std::bad_alloc&) {
    return {};
  }
}

}  // namespace

Failure::Failure(Error error)
    : std::runtime_error(if_there_is_memory([&] { return describe(error); })),
      error_(std::move(error)) {}

/// Throws a Failure also if there is no memory for the texts of the error.
void throw_failure(const Error& error) {
  std::string subject = if_there_is_memory([&] { return error.subject; });
  throw Failure({.code = error.code,
                 .call = error.call,
                 .subject = std::move(subject),
                 .injected = error.injected});
}

int fail(const Error& error) noexcept {
  os::KernelOs os;
  os::report_quietly(
      os, [&] { return std::string(program_invocation_short_name) + ": " + describe(error); });
  return EXIT_FAILURE;
}

}  // namespace lastref
