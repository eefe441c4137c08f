// fuzz: shared by all targets. A target is one source that defines `check`: it passes any bytes to
// one parser through its public interface, and checks what must be true of the result.
//
// Linked with libFuzzer (preset `fuzz`) a target generates its inputs; linked with replay.cpp it
// reads those of property_tests/fuzz/corpus. The bytes are in a heap block of their own, so with
// AddressSanitizer every call also checks that nothing beyond them is read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <lastref/error.hpp>
#include <lastref/os.hpp>

namespace lastref::fuzz {

/// Defined by each target. Returns if the result is as expected.
void check(os::Bytes input);

/// Unless `holds`, ends the process, and prints the claim.
void expect(bool holds, std::string_view claim);

/// As text; nothing is copied.
inline std::string_view text_of(os::Bytes bytes) noexcept {
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

/// An error has a reason.
inline void expect_reason(const Error& error) {
  expect(!error.subject.empty(), "what is refused is refused with a reason");
}

/// The code is one of those that the interface documents.
template <typename... Codes>
void expect_refused(const Error& error, Codes... codes) {
  expect(((error.code == codes) || ...), "what is refused is refused with a code of the door");
  expect_reason(error);
}

/// During its lifetime, allocated memory is counted, whether or not it is freed. Counts nothing
/// without AddressSanitizer.
class Allowance {
 public:
  /// After parsing, a byte of input may be a value of some dozens of bytes.
  explicit Allowance(std::size_t input_size, std::size_t each_byte = 128);
  Allowance(const Allowance&) = delete;
  Allowance& operator=(const Allowance&) = delete;
  /// Ends the process if too much was allocated.
  ~Allowance();

 private:
  std::size_t most_;
};

/// Calls `parse`, which must not allocate memory out of proportion to its input: sizes and counts
/// in the input are not trusted.
template <typename Parse>
auto in_proportion(os::Bytes input, Parse parse) {
  const Allowance allowance(input.size());
  return parse();
}

}  // namespace lastref::fuzz
