// wire: numbers and texts as bytes, little-endian, one after the other.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <lastref/os.hpp>
#include <lastref/owners.hpp>

namespace lastref::os {

static_assert(std::endian::native == std::endian::little, "other byte orders are not supported");

using Packed = std::vector<std::byte>;

template <typename Number>
requires std::integral<Number> || std::floating_point<Number>
void put(Packed& into, Number number) {
  const std::size_t at = into.size();
  into.resize(at + sizeof number);
  std::memcpy(into.data() + at, &number, sizeof number);
}

/// With its length before it.
inline void put(Packed& into, Bytes bytes) {
  put(into, std::uint64_t{bytes.size()});
  into.insert(into.end(), bytes.begin(), bytes.end());
}

inline void put(Packed& into, std::string_view text) {
  put(into, bytes_of(text));
}

/// Takes values off the front. After the first error every value is zero or empty.
class Unpacker {
 public:
  explicit Unpacker(Bytes bytes) noexcept : bytes_(bytes) {}

  template <typename Number>
  requires std::integral<Number> || std::floating_point<Number> Number number()
  noexcept {
    std::array<std::byte, sizeof(Number)> taken{};
    std::ranges::copy(take(sizeof(Number)), taken.begin());
    return std::bit_cast<Number>(taken);
  }

  /// Bytes that `put` wrote with their length.
  Bytes bytes() noexcept { return take(number<std::uint64_t>()); }

  std::string text() {
    const Bytes taken = bytes();
    std::string text(taken.size(), '\0');
    if (!taken.empty()) {
      std::memcpy(text.data(), taken.data(), taken.size());
    }
    return text;
  }

  /// All that is left.
  Bytes rest() noexcept { return std::exchange(bytes_, {}); }

  /// The number of values that follow, of which each takes one byte or more.
  std::size_t count() noexcept {
    const auto count = number<std::uint64_t>();
    if (count > bytes_.size()) {
      fail("more things than bytes");
      return 0;
    }
    return static_cast<std::size_t>(count);
  }

  /// Only the first reason is kept.
  void fail(const char* reason) noexcept {
    reason_ = reason_ == nullptr ? reason : reason_;
    bytes_ = {};
  }
  bool failed() const noexcept { return reason_ != nullptr; }
  bool at_end() const noexcept { return bytes_.empty(); }
  /// bytes
  std::size_t left() const noexcept { return bytes_.size(); }

  /// Errors          bad_message, with the reason as subject: also if bytes are left.
  Status finish() const {
    if (reason_ != nullptr) {
      return failure(std::errc::bad_message, reason_);
    }
    return at_end() ? ok() : failure(std::errc::bad_message, "bytes after the end");
  }

 private:
  Bytes take(std::uint64_t size) noexcept {
    if (size > bytes_.size()) {
      fail("cut short");
      return {};
    }
    const Bytes taken = bytes_.first(static_cast<std::size_t>(size));
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }

  Bytes bytes_;
  const char* reason_ = nullptr;
};

}  // namespace lastref::os
