#include "harness/mutant/test_programs.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "harness/platform/proc.hpp"
#include "harness/spec/rows.hpp"

namespace lastref::harness {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view all_targets = "all";
constexpr std::array<std::string_view, 2> folders_of_tests = {"property_tests", "bench"};

std::vector<std::string> words_of(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  std::vector<std::string> words;
  for (std::size_t at = text.find_first_not_of(blanks); at != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(blanks, at), text.size());
    words.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(blanks, end);
  }
  return words;
}

bool has_test_of(std::string_view source, const std::string& row) {
  return std::ranges::any_of(tests_of_source(source), [&](const std::string& test) {
    const std::vector<std::string> rows = rows_of_test(test);
    return std::ranges::find(rows, row) != rows.end();
  });
}

}  // namespace

std::vector<std::string> programs_of(std::string_view cmake, std::string_view source) {
  constexpr std::string_view makes = "lastref_test(";
  std::vector<std::string> programs;
  for (std::size_t at = cmake.find(makes); at != cmake.npos; at = cmake.find(makes, at)) {
    at += makes.size();
    const std::vector<std::string> words = words_of(cmake.substr(at, cmake.find(')', at) - at));
    if (std::ranges::find(words, source) != words.end()) {
      programs.push_back(words.front());
    }
  }
  return programs;
}

bool adds_test_of(std::string_view cmake, std::string_view row) {
  constexpr std::string_view adds = "add_test(NAME";
  for (std::size_t at = cmake.find(adds); at != cmake.npos; at = cmake.find(adds, at)) {
    at += adds.size();
    const std::vector<std::string> words = words_of(cmake.substr(at, cmake.find('\n', at) - at));
    const std::string name = words.empty() ? std::string() : words.front();
    const std::vector<std::string> rows = rows_of_test(name);
    if (std::ranges::find(rows, row) != rows.end()) {
      return true;
    }
  }
  return false;
}

Result<std::string> targets_naming(const std::string& checkout, const std::string& row) {
  std::set<std::string> targets;
  std::error_code error;
  for (const std::string_view folder : folders_of_tests) {
    const fs::path root = fs::path(checkout) / folder;
    for (fs::recursive_directory_iterator at(root, error), end; !error && at != end;
         at.increment(error)) {
      const fs::path& path = at->path();
      if (path.filename() == "CMakeLists.txt" && adds_test_of(read_file(path), row)) {
        return std::string(all_targets);
      }
      if (path.extension() == ".cpp" && has_test_of(read_file(path), row)) {
        const std::string list = read_file(path.parent_path() / "CMakeLists.txt");
        std::ranges::copy(programs_of(list, path.filename().string()),
                          std::inserter(targets, targets.end()));
      }
    }
    if (error) {
      return failure(static_cast<std::errc>(error.value()), root);
    }
  }
  return targets.empty() ? std::string()
                         : fmt::format("lastref_program {}", fmt::join(targets, " "));
}

}  // namespace lastref::harness
