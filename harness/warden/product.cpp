#include "harness/warden/product.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "harness/platform/hash.hpp"

namespace lastref::harness::warden {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view none = "none";
constexpr std::size_t digits = 16;

bool is_content(std::string_view text) {
  constexpr std::string_view hexadecimal = "0123456789abcdef";
  return text == none ||
         (text.size() == digits && text.find_first_not_of(hexadecimal) == std::string_view::npos);
}

}  // namespace

Result<Product> parse_product(std::string_view text) {
  const std::size_t equals = text.rfind('=');
  const bool has_content = equals != std::string_view::npos && is_content(text.substr(equals + 1));
  const std::string_view path = has_content ? text.substr(0, equals) : text;
  if (path.empty()) {
    return failure(std::errc::invalid_argument,
                   fmt::format("\"{}\" is not FILE or FILE=CONTENT", text));
  }
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error) {
    return failure(std::errc::invalid_argument, fmt::format("{}: {}", path, error.message()));
  }
  return Product{.path = absolute.lexically_normal().string(),
                 .expected = std::string(has_content ? text.substr(equals + 1) : "")};
}

std::string content_of(const std::string& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    return std::string(none);
  }
  std::ifstream file(path, std::ios::binary);
  std::array<char, std::size_t{1} << 16U> block{};
  std::uint64_t hash = hash_of({});
  do {
    file.read(block.data(), block.size());
    const auto count = static_cast<std::size_t>(file.gcount());
    hash = hash_of({block.data(), count}, hash);
  } while (file);
  return file.eof() ? fmt::format("{:016x}", hash) : std::string(none);
}

std::string difference_of(const Product& product, std::string_view content) {
  if (product.expected.empty() || content == product.expected) {
    return {};
  }
  return fmt::format("{} {}",
                     product.path,
                     content == none            ? "does not exist"
                     : product.expected == none ? "exists"
                                                : "has another content");
}

}  // namespace lastref::harness::warden
