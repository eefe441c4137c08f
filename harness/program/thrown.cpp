#include "harness/program/thrown.hpp"

#include <cstddef>

namespace lastref::harness {
namespace {

thread_local constinit std::uint64_t thrown = 0;

}  // namespace

std::uint64_t exceptions_thrown() noexcept {
  return thrown;
}

}  // namespace lastref::harness

// The linker replaces calls of the first by the second: option --wrap of ld(1).
// NOLINTBEGIN(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming)
extern "C" void* __real___cxa_allocate_exception(std::size_t size) noexcept;
extern "C" void* __wrap___cxa_allocate_exception(std::size_t size) noexcept {
  ++lastref::harness::thrown;
  return __real___cxa_allocate_exception(size);
}
// NOLINTEND(bugprone-reserved-identifier,cert-dcl*,readability-identifier-naming)
