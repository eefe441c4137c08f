#include "bench/perf/git.hpp"

#include <utility>

namespace lastref::perf {

std::vector<std::string> variables_of_git() {
  return {"GIT_ALTERNATE_OBJECT_DIRECTORIES",
          "GIT_COMMON_DIR",
          "GIT_CONFIG",
          "GIT_DIR",
          "GIT_GRAFT_FILE",
          "GIT_IMPLICIT_WORK_TREE",
          "GIT_INDEX_FILE",
          "GIT_INTERNAL_SUPER_PREFIX",
          "GIT_NO_REPLACE_OBJECTS",
          "GIT_OBJECT_DIRECTORY",
          "GIT_PREFIX",
          "GIT_REPLACE_REF_BASE",
          "GIT_SHALLOW_FILE",
          "GIT_WORK_TREE"};
}

tl::expected<std::string, FailedProcess> git_in(const std::filesystem::path& folder,
                                                std::vector<std::string> words,
                                                int kept_open) {
  words.insert(words.begin(), "git");
  auto said = output_of({.words = std::move(words),
                         .folder = folder,
                         .without = variables_of_git(),
                         .kept_open = kept_open});
  while (said && said->ends_with('\n')) {
    said->pop_back();
  }
  return said;
}

}  // namespace lastref::perf
