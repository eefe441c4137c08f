#include "bench/perf/git.hpp"

#include <iterator>
#include <sstream>

#include "bench/perf/figures.hpp"
#include "bench/perf/files.hpp"

namespace lastref::perf {

std::vector<std::string> variables_of_git() {
  std::istringstream names(
      "GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_COMMON_DIR GIT_CONFIG GIT_DIR GIT_GRAFT_FILE "
      "GIT_IMPLICIT_WORK_TREE GIT_INDEX_FILE GIT_INTERNAL_SUPER_PREFIX GIT_NO_REPLACE_OBJECTS "
      "GIT_OBJECT_DIRECTORY GIT_PREFIX GIT_REPLACE_REF_BASE GIT_SHALLOW_FILE GIT_WORK_TREE");
  return {std::istream_iterator<std::string>(names), {}};
}

std::string git_in(const std::filesystem::path& folder,
                   std::vector<std::string> words,
                   int kept_open) {
  words.insert(words.begin(), "git");
  std::string said = output_of({.words = std::move(words),
                                .folder = folder,
                                .without = variables_of_git(),
                                .kept_open = kept_open});
  said.erase(said.find_last_not_of('\n') + 1);
  return said;
}

std::optional<std::string> ask_git(const std::filesystem::path& folder,
                                   std::vector<std::string> words) try {
  return git_in(folder, std::move(words));
} catch (const FailedProcess&) {
  return std::nullopt;
}

namespace {

/// "-1a2b3c4d"; or empty if git cannot show the changes.
std::string digest_of_changes(const std::filesystem::path& checkout) {
  constexpr std::size_t letters = 8;
  const auto changes = ask_git(
      checkout, {"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--binary", "HEAD"});
  const ScratchFolder scratch;
  const std::filesystem::path file = scratch.path() / "changes";
  write_whole(file, changes.value_or(""));
  const auto digest = ask_git(checkout, {"hash-object", "--no-filters", file.string()});
  return changes && digest ? "-" + digest->substr(0, letters) : "";
}

}  // namespace

std::optional<std::string> hash_of(const std::filesystem::path& checkout, const std::string& name) {
  // Otherwise a name that begins with a dash would be an option of git.
  return ask_git(checkout,
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
  Commit commit{.name = *hash,
                .time = number_in<std::int64_t>(shown("--format=%ct")).value_or(0),
                .subject = shown("--format=%s")};
  // A shallow clone lacks ancestors of the commit.
  if (ask_git(checkout, {"rev-parse", "--is-shallow-repository"}) == "false") {
    commit.position = number_in<std::int64_t>(git_in(checkout, {"rev-list", "--count", *hash}));
  }
  return commit;
}

std::optional<Commit> checked_out(const std::filesystem::path& checkout, std::int64_t now) {
  auto commit = commit_in(checkout, "HEAD");
  if (!commit) {
    return std::nullopt;
  }
  if (!git_in(checkout, {"status", "--porcelain", "--untracked-files=no"}).empty()) {
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
  if (!from || !to || !ask_git(checkout, {"merge-base", "--is-ancestor", *from, *to})) {
    return std::nullopt;
  }
  std::vector<std::string> hashes;
  std::istringstream lines(
      git_in(checkout, {"rev-list", "--first-parent", "--reverse", *to, "^" + *from}));
  for (std::string hash; std::getline(lines, hash);) {
    hashes.push_back(hash);
  }
  return hashes;
}

std::string url_of(const std::filesystem::path& checkout) {
  std::string url = ask_git(checkout, {"remote", "get-url", "origin"}).value_or("");
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
