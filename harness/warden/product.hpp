// Product: a file that a program has to leave, and what its content has to be.
#pragma once

#include <string>
#include <string_view>

#include <lastref/error.hpp>

namespace lastref::harness::warden {

struct Product {
  std::string path;      ///< absolute
  std::string expected;  ///< As content_of() returns it; empty: any
};

/// "FILE" or "FILE=CONTENT". A relative name is below the working folder.
///
/// Errors          invalid_argument describes the error in the text.
Result<Product> parse_product(std::string_view text);

/// 16 hexadecimal digits that distinguish contents of files, or "none" if there is no regular file,
/// or it cannot be read.
std::string content_of(const std::string& path);

/// How the content that it has differs from what is expected; empty: it does not.
std::string difference_of(const Product& product, std::string_view content);

}  // namespace lastref::harness::warden
