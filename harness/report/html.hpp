// html: what the pages of all reports share: escaped text, and a frame for light and dark mode.
#pragma once

#include <string>
#include <string_view>

namespace lastref::harness {

/// Bytes that are not UTF-8 and control characters are shown as "\xff"; ends of lines and tabs
/// remain.
std::string visible(std::string_view text);

/// Escapes untrusted text, so that HTML shows it and does nothing else. For text and for attributes
/// in single or double quotes. What is not visible is shown as visible() shows it.
std::string html(std::string_view text);

/// A self-contained page, which loads nothing.
struct Page {
  std::string title;
  std::string_view style;  ///< Rules in addition to those of all pages
  std::string body;        ///< HTML below the title
  std::string_view script = {};
};

/// The rules of all pages define the colours --ground, --edge, --text and --quiet, and the classes
/// "quiet" and "number". Without a script of its own, no script runs.
std::string to_html(const Page& page);

}  // namespace lastref::harness
