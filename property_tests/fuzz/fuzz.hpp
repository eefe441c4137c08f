// fuzz: what every target has. A target is one source that defines `check`: it hands any bytes at
// all to one parser through its real door, and says what must be true of what comes back.
//
// Linked with libFuzzer (preset `fuzz`) a target makes up its inputs; linked with replay.cpp it
// reads those of property_tests/fuzz/corpus. The bytes lie at a place of their own on the heap, so
// with AddressSanitizer every call is also a test that nothing beyond them is read.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <lastref/error.hpp>
#include <lastref/os.hpp>

namespace lastref::fuzz {

/// Defined by each target. Comes back if all is well.
void check(os::Bytes input);

/// Ends the process, and says what should have been, unless it holds.
void expect(bool holds, std::string_view claim);

/// As text; nothing is copied.
inline std::string_view text_of(os::Bytes bytes) noexcept {
  return {static_cast<const char*>(static_cast<const void*>(bytes.data())), bytes.size()};
}

/// A refusal says why.
inline void expect_reason(const Error& error) {
  expect(!error.subject.empty(), "what is refused is refused with a reason");
}

/// Where the code is one of those that the door names.
template <typename... Codes>
void expect_refused(const Error& error, Codes... codes) {
  expect(((error.code == codes) || ...), "what is refused is refused with a code of the door");
  expect_reason(error);
}

/// While it lives, memory that is asked for is counted, whether or not it is given back. Counts
/// nothing without AddressSanitizer.
class Allowance {
 public:
  /// Parsed, a byte of input may become a value of some dozens of bytes.
  explicit Allowance(std::size_t input_size, std::size_t each_byte = 128);
  Allowance(const Allowance&) = delete;
  Allowance& operator=(const Allowance&) = delete;
  /// Ends the process if it was too much.
  ~Allowance();

 private:
  std::size_t most_;
};

/// Calls `parse`, which shall take no memory out of proportion to its input: sizes and counts in
/// the input are a stranger's.
template <typename Parse>
auto in_proportion(os::Bytes input, Parse parse) {
  const Allowance allowance(input.size());
  return parse();
}

}  // namespace lastref::fuzz
