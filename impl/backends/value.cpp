#include <array>
#include <bit>

#include <lastref/value.hpp>

namespace lastref {

std::string_view Value::kind_name_at(std::size_t index) noexcept {
  static constexpr std::array<std::string_view, std::variant_size_v<Content>> names = {
      "nothing",
      "a truth value",
      "a whole number",
      "a floating-point number",
      "a text",
      "a byte string",
      "an array",
      "a list",
      "a map"};
  return names[index];
}

std::string Value::mismatch(std::string_view expected) const {
  return "expected " + std::string(expected) + ", observed " + std::string(kind_name());
}

bool Value::operator==(const Value& other) const {
  if (content_.index() != other.content_.index()) {
    return false;
  }
  return std::visit(
      [&](const auto& mine) {
        using Kind = std::remove_cvref_t<decltype(mine)>;
        const Kind& theirs = std::get<Kind>(other.content_);
        if constexpr (std::same_as<Kind, Array>) {
          return contents_equal(mine, theirs);
        } else if constexpr (std::same_as<Kind, double>) {
          return std::bit_cast<std::uint64_t>(mine) == std::bit_cast<std::uint64_t>(theirs);
        } else {
          return mine == theirs;
        }
      },
      content_);
}

}  // namespace lastref
