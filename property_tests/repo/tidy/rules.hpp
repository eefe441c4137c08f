// rules: what a reader would complain about and clang-tidy cannot see.
//
// Every rule is a pure function of text, so that each can be shown a violation; tidy_test does
// that, and then shows them the checkout.
#pragma once

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lastref::tidy {

/// Sources that speak to the kernel themselves. Each is small, and none decides anything.
inline constexpr auto at_the_kernel = std::to_array<std::string_view>({
    "impl/os/kernel_os",
    "bench/",  // Measures the kernel next to us.
    "harness/cli/interruption",
    "harness/explore/crash_note",  // Hears what would end the program.
    "harness/history/history_log",
    "harness/instrument/callers",  // Reads the program's stack and symbols.
    "harness/instrument/instrumented_os",
    "harness/journal/journal",
    "harness/kernel/",
    "harness/warden/",  // Watches what calls it without us.
    "harness/platform/",
    "harness/program/arena",    // Memory that no fork copies.
    "harness/program/program",  // Its children are its own; those of Os are not.
    "property_tests/attack/other_user",
    "property_tests/harness/explore/crash_note",
    "property_tests/harness/warden/",
    "property_tests/harness/platform/",
    "property_tests/harness/program/",
    "property_tests/impl/backends/embedded_test",
    "property_tests/impl/backends/forked_table_test",
    "property_tests/impl/backends/unguarded/",  // Executes itself, and loads a shared object.
    "property_tests/support/exclusive_lock",
    "property_tests/support/failing_memory",
    "property_tests/support/process_actions",
    "property_tests/impl/cache/forked",
    "property_tests/impl/os/kernel_os_embedded_test",
    "property_tests/impl/pool/hosted_test",         // Loads shared objects.
    "property_tests/impl/pool/plugin_caller",       // A program that has nothing else.
    "property_tests/impl/tracker/two_copies_test",  // Loads a shared object.
    "property_tests/repo/consumer/host",            // Loads shared objects.
    "property_tests/repo/examples/",                // As strangers write.
    "property_tests/harness/cli/gate_process",
    "property_tests/harness/cli/sweep_process",
    "property_tests/harness/kernel/progress_timeout",
    "property_tests/support/process_group",
    "property_tests/support/usual_signals",
});

// What several rules ask about a path or a line.

inline bool starts_with_any(std::string_view path, std::span<const std::string_view> prefixes) {
  return std::ranges::any_of(prefixes, [&](auto prefix) { return path.starts_with(prefix); });
}

inline bool is_cpp(std::string_view path) {
  return path.ends_with(".cpp") || path.ends_with(".hpp") || path.ends_with(".def");
}

inline bool is_word(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

inline std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

struct File {
  std::string path;  ///< From the checkout, with slashes.
  std::string text;
};

struct Finding {
  std::string path;
  std::size_t line = 0;  ///< From 1; 0 is the file as a whole.
  std::string complaint;

  bool operator==(const Finding&) const = default;
};

/// "impl/os/calls.cpp:12: complaint", as compilers say it.
std::ostream& operator<<(std::ostream& out, const Finding& finding);

/// The room that a path lies in; nothing if no room does.
std::string_view room_of(std::string_view path);

/// Rooms include downward only; kernel headers and libfiu are included in few places only.
std::vector<Finding> check_includes(const File& file);
/// Words that have a better replacement.
std::vector<Finding> check_words(const File& file);
/// A limit of the product is a row of impl/os/limits.def, unless something else fixes it.
std::vector<Finding> check_limits(const File& file);
/// Lengths, the first line, the title, paths of one machine.
std::vector<Finding> check_shape(const File& file);
/// A public function above impl/os that returns a Result documents its Errors.
std::vector<Finding> check_docs(const File& file);
/// Every transcript belongs to a source of its name.
std::vector<Finding> check_transcripts(std::span<const File> files);
/// Every source belongs to a target: a source that no CMakeLists.txt names is dead.
std::vector<Finding> check_sources(std::span<const File> files);

/// The number of words in `text` that prose avoids.
std::size_t count_avoided_words(std::string_view text);

/// The exact number of such words in the pages and sources of a folder. It may only decrease.
struct WordLimit {
  std::string_view folder;
  std::size_t words;
};
std::vector<Finding> check_prose(std::span<const File> files, std::span<const WordLimit> limits);

/// All rules on all files, except check_prose.
std::vector<Finding> check(std::span<const File> files);

}  // namespace lastref::tidy
