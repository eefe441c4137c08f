#include "property_tests/fuzz/fuzz.hpp"

#include <cstdint>
#include <cstdlib>
#include <iostream>

// Not with GCC: its sanitizer comes without the header.
#ifdef __has_feature
#if __has_feature(address_sanitizer)
#define LASTREF_COUNTS_MEMORY 1
#endif
#endif

#ifdef LASTREF_COUNTS_MEMORY
#include <sanitizer/allocator_interface.h>
#endif

namespace lastref::fuzz {
namespace {

/// bytes that any parser may allocate, however short its input: a buffer, a folder's name.
constexpr std::size_t free_of_charge = std::size_t{64} * 1024;

bool counting = false;
std::size_t counted = 0;

#ifdef LASTREF_COUNTS_MEMORY
void count(const volatile void*, std::size_t size) {
  counted += counting ? size : 0;
}

void ignore(const volatile void*) {}

const int hooked = __sanitizer_install_malloc_and_free_hooks(count, ignore);
#endif

}  // namespace

void expect(bool holds, std::string_view claim) {
  if (!holds) {
    std::cerr << "does not hold: " << claim << std::endl;
    std::abort();
  }
}

Allowance::Allowance(std::size_t input_size, std::size_t each_byte)
    : most_(free_of_charge + each_byte * input_size) {
#ifdef LASTREF_COUNTS_MEMORY
  expect(hooked > 0, "memory is counted");
#endif
  counted = 0;
  counting = true;
}

Allowance::~Allowance() {
  counting = false;
  expect(counted <= most_, "no memory is taken out of proportion to the input");
}

}  // namespace lastref::fuzz

// NOLINTNEXTLINE(readability-identifier-naming): the name that libFuzzer looks for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  lastref::fuzz::check({static_cast<const std::byte*>(static_cast<const void*>(bytes)), size});
  return 0;
}
