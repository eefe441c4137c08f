#include "bench/perf/built.hpp"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <string_view>
#include <system_error>

#include "bench/perf/measured_process.hpp"

namespace lastref::perf {
namespace {

/// The text after `start` in the first line that begins with it, up to `end`.
std::string after(const std::filesystem::path& path, std::string_view start, char end) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(start)) {
      const std::string rest = line.substr(start.size());
      return rest.substr(0, rest.find(end));
    }
  }
  return {};
}

std::string joined(const std::string& one, const std::string& other) {
  return one + (one.empty() || other.empty() ? "" : " ") + other;
}

}  // namespace

Built built_in(const std::filesystem::path& tree) {
  const std::filesystem::path cache = tree / "CMakeCache.txt";
  std::string type = after(cache, "CMAKE_BUILD_TYPE:STRING=", '\n');
  std::ranges::transform(type, type.begin(), [](unsigned char letter) {
    return static_cast<char>(std::toupper(letter));
  });
  Built built;
  built.flags = joined(after(cache, "CMAKE_CXX_FLAGS:STRING=", '\n'),
                       after(cache, "CMAKE_CXX_FLAGS_" + type + ":STRING=", '\n'));
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(tree / "CMakeFiles", error)) {
    const std::filesystem::path noted = entry.path() / "CMakeCXXCompiler.cmake";
    if (std::filesystem::exists(noted, error)) {
      built.compiler = joined(after(noted, "set(CMAKE_CXX_COMPILER_ID \"", '"'),
                              after(noted, "set(CMAKE_CXX_COMPILER_VERSION \"", '"'));
    }
  }
  return built;
}

bool is_up_to_date(const std::filesystem::path& tree) {
  const auto said = output_of(
      {.words = {"ninja", "-C", tree.string(), "-n", "lastref_program", "lastref_bench"}});
  return said && said->find("no work to do") != std::string::npos;
}

}  // namespace lastref::perf
