#include "bench/perf/git.hpp"

#include <algorithm>
#include <sstream>
#include <utility>

#include "bench/perf/figures.hpp"
#include "bench/perf/files.hpp"

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

OrWhy<std::string> git_in(const std::filesystem::path& folder,
                          std::vector<std::string> words,
                          int kept_open) {
  words.insert(words.begin(), "git");
  auto said = output_of({.words = std::move(words),
                         .folder = folder,
                         .without = variables_of_git(),
                         .kept_open = kept_open})
                  .map_error([](const FailedProcess& failed) { return describe(failed); });
  while (said && said->ends_with('\n')) {
    said->pop_back();
  }
  return said;
}

namespace {

/// "-1a2b3c4d"; or empty if git cannot show the changes.
std::string digest_of_changes(const std::filesystem::path& checkout) {
  constexpr std::size_t letters = 8;
  const auto changes = git_in(
      checkout, {"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--binary", "HEAD"});
  const ScratchFolder scratch;
  const std::filesystem::path file = scratch.path() / "changes";
  if (!changes || !write_whole(file, *changes)) {
    return {};
  }
  const auto digest = git_in(checkout, {"hash-object", "--no-filters", file.string()});
  return digest ? "-" + digest->substr(0, letters) : "";
}

}  // namespace

OrWhy<std::string> hash_of(const std::filesystem::path& checkout, const std::string& name) {
  // Otherwise a name that begins with a dash would be an option of git.
  return git_in(checkout,
                {"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"});
}

std::optional<Commit> commit_in(const std::filesystem::path& checkout, const std::string& name) {
  const auto hash = hash_of(checkout, name);
  if (!hash) {
    return std::nullopt;
  }
  const auto shown = [&](const char* what) {
    // Otherwise git may print a signature first: log.showSignature, git-config(1).
    return git_in(checkout, {"show", "--no-show-signature", "--no-patch", what, *hash});
  };
  const auto time = shown("--format=%ct");
  const auto subject = shown("--format=%s");
  // A shallow clone lacks ancestors of the commit.
  const bool has_all = git_in(checkout, {"rev-parse", "--is-shallow-repository"}) == "false";
  const auto count = has_all ? git_in(checkout, {"rev-list", "--count", *hash}) : no("");
  const auto seconds = number_in<std::int64_t>(time.value_or(""));
  if (!seconds || !subject) {
    return std::nullopt;
  }
  return Commit{.name = *hash,
                .time = *seconds,
                .position = number_in<std::int64_t>(count.value_or("")),
                .subject = *subject};
}

std::optional<Commit> checked_out(const std::filesystem::path& checkout, std::int64_t now) {
  auto commit = commit_in(checkout, "HEAD");
  if (!commit) {
    return std::nullopt;
  }
  const auto changed = git_in(checkout, {"status", "--porcelain", "--untracked-files=no"});
  if (changed && !changed->empty()) {
    commit->name += "-modified" + digest_of_changes(checkout);
    commit->time = now;
  }
  return commit;
}

std::optional<std::vector<std::string>> commits_between(const std::filesystem::path& checkout,
                                                        const std::string& good,
                                                        const std::string& bad) {
  const auto from = hash_of(checkout, good);
  const auto to = hash_of(checkout, bad);
  if (!from || !to || !git_in(checkout, {"merge-base", "--is-ancestor", *from, *to})) {
    return std::nullopt;
  }
  const auto said = git_in(checkout, {"rev-list", "--first-parent", "--reverse", *to, "^" + *from});
  std::vector<std::string> hashes;
  std::istringstream lines(said.value_or(""));
  for (std::string hash; std::getline(lines, hash);) {
    hashes.push_back(hash);
  }
  return hashes;
}

std::string url_of(const std::filesystem::path& checkout) {
  std::string url = git_in(checkout, {"remote", "get-url", "origin"}).value_or("");
  if (!url.starts_with("https://") && !url.starts_with("http://")) {
    return {};
  }
  // Remove the user name and password of the URL.
  const std::size_t host = url.find("://") + 3;
  if (const std::size_t at = url.find('@', host); at < url.find('/', host)) {
    url.erase(host, at + 1 - host);
  }
  if (url.ends_with(".git")) {
    url.resize(url.size() - 4);
  }
  return url;
}

std::optional<std::filesystem::path> own_checkout() {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::read_symlink("/proc/self/exe", error);
  while (!folder.empty() && folder != folder.root_path()) {
    folder = folder.parent_path();
    if (std::filesystem::exists(folder / ".git", error)) {
      return folder;
    }
  }
  return std::nullopt;
}

}  // namespace lastref::perf
