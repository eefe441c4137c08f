// Value: an argument or result of a task, in any process.
//
// A value is nothing, a truth value, a signed 64-bit integer, a floating-point number, a text, a
// string of bytes, an array, or a list or map of values. Copies of a value share its arrays and
// nothing else.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <lastref/array.hpp>
#include <lastref/error.hpp>

namespace lastref {

class Value;
using ByteString = std::vector<std::byte>;
using List = std::vector<Value>;
using Map = std::map<std::string, Value>;

/// An integer type of which every value fits into a signed 64-bit integer.
template <typename Number>
concept WholeNumber = std::integral<Number> && !std::same_as<Number, bool> &&
                      (sizeof(Number) < sizeof(std::int64_t) || std::signed_integral<Number>);

// NOLINTBEGIN(google-explicit-constructor): a value is what it is made of, so that arguments and
// results read as themselves.
class Value {
 public:
  using Content = std::variant<std::monostate,
                               bool,
                               std::int64_t,
                               double,
                               std::string,
                               ByteString,
                               Array,
                               List,
                               Map>;

  Value() noexcept = default;
  template <std::same_as<bool> Truth>
  Value(Truth truth) noexcept : content_(truth) {}
  template <WholeNumber Number>
  Value(Number number) noexcept : content_(static_cast<std::int64_t>(number)) {}
  /// A number that might not fit is not silently converted to a floating-point number.
  template <std::unsigned_integral Number>
  requires(!WholeNumber<Number> && !std::same_as<Number, bool>) Value(Number number)
  = delete;
  template <std::floating_point Number>
  requires(sizeof(Number) <= sizeof(double)) Value(Number number)
  noexcept : content_(static_cast<double>(number)) {}
  Value(std::string text) noexcept : content_(std::move(text)) {}
  Value(std::string_view text) : content_(std::string(text)) {}
  Value(const char* text) : content_(std::string(text)) {}
  Value(ByteString bytes) noexcept : content_(std::move(bytes)) {}
  Value(Array array) noexcept : content_(std::move(array)) {}
  Value(List list) noexcept : content_(std::move(list)) {}
  Value(Map map) noexcept : content_(std::move(map)) {}

  const Content& content() const noexcept { return content_; }
  Content& content() noexcept { return content_; }

  /// Returns null if the value is of another kind.
  template <typename Kind>
  const Kind* get_if() const noexcept {
    return std::get_if<Kind>(&content_);
  }

  /// Returns a copy of the content.
  ///
  /// Errors          invalid_argument, with the expected and the observed kind as subject.
  template <typename Kind>
  Result<Kind> as() const {
    if (const Kind* kind = get_if<Kind>()) {
      return *kind;
    }
    return failure(std::errc::invalid_argument, mismatch(kind_name_of<Kind>()));
  }

  /// "nothing", "a truth value", ...
  std::string_view kind_name() const noexcept { return kind_name_at(content_.index()); }
  template <typename Kind>
  static std::string_view kind_name_of() noexcept {
    return kind_name_at(index_in<Kind>(static_cast<const Content*>(nullptr)));
  }
  /// "expected an array, observed a text"
  std::string mismatch(std::string_view expected) const;

  /// Compares arrays by their contents, and floating-point numbers by their bits.
  bool operator==(const Value& other) const;

 private:
  template <typename Kind, typename... Kinds>
  static constexpr std::size_t index_in(const std::variant<Kinds...>*) noexcept {
    std::size_t index = 0;
    static_cast<void>(((std::same_as<Kind, Kinds> || (++index, false)) || ...));
    return index;
  }
  static std::string_view kind_name_at(std::size_t index) noexcept;

  Content content_;
};
// NOLINTEND(google-explicit-constructor)

}  // namespace lastref
