#include "bench/perf/globs.hpp"

#include <fnmatch.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace lastref::perf {

bool match(const Globs& globs, const std::string& name) {
  return globs.empty() || std::ranges::any_of(globs, [&](const std::string& glob) {
           return ::fnmatch(glob.c_str(), name.c_str(), 0) == 0;
         });
}

std::string no_benchmark_matches(const Globs& globs) {
  if (globs.empty()) {
    return "there is no benchmark";
  }
  const std::string& first = globs.front();
  return fmt::format("no benchmark matches {}; a pattern is of whole names: '{}' or '*{}*' may do",
                     fmt::join(globs, " or "),
                     first + "/*",
                     first);
}

std::string glob_for(const std::string& name) {
  std::string glob;
  for (const char letter : name) {
    if (std::string_view(R"(\*?[)").find(letter) != std::string_view::npos) {
      glob += '\\';
    }
    glob += letter;
  }
  return glob;
}

}  // namespace lastref::perf
