#include "bench/perf/commits.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <utility>

#include "bench/perf/git.hpp"
#include "bench/perf/measured_process.hpp"

namespace lastref::perf {
namespace {

std::optional<std::string> git(const std::filesystem::path& checkout,
                               std::vector<std::string> words) {
  auto said = git_in(checkout, std::move(words));
  return said ? std::optional(*std::move(said)) : std::nullopt;
}

std::optional<std::int64_t> number_in(const std::string& text) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size() ? std::optional(number)
                                                                  : std::nullopt;
}

std::optional<std::string> hash_of(const std::filesystem::path& checkout, const std::string& name) {
  return git(checkout,
             {"rev-parse", "--verify", "--quiet", "--end-of-options", name + "^{commit}"});
}

/// "-1a2b3c4d"; or empty if git cannot show the changes.
std::string digest_of_changes(const std::filesystem::path& checkout) {
  constexpr std::size_t letters = 8;
  const auto changes =
      git(checkout, {"diff", "--no-ext-diff", "--no-textconv", "--no-color", "--binary", "HEAD"});
  const ScratchFolder scratch;
  const std::filesystem::path file = scratch.path() / "changes";
  if (!changes || !(std::ofstream(file, std::ios::binary) << *changes).flush()) {
    return {};
  }
  const auto digest = git(checkout, {"hash-object", "--no-filters", file.string()});
  return digest ? "-" + digest->substr(0, letters) : "";
}

}  // namespace

std::optional<Commit> commit_in(const std::filesystem::path& checkout, const std::string& name) {
  const auto hash = hash_of(checkout, name);
  if (!hash) {
    return std::nullopt;
  }
  const auto shown = [&](const char* what) {
    // Otherwise git may print a signature first: log.showSignature, git-config(1).
    return git(checkout, {"show", "--no-show-signature", "--no-patch", what, *hash});
  };
  const auto time = shown("--format=%ct");
  const auto subject = shown("--format=%s");
  // A shallow clone lacks ancestors of the commit.
  const bool has_all = git(checkout, {"rev-parse", "--is-shallow-repository"}) == "false";
  const auto count = has_all ? git(checkout, {"rev-list", "--count", *hash}) : std::nullopt;
  const auto seconds = number_in(time.value_or(""));
  if (!seconds || !subject) {
    return std::nullopt;
  }
  return Commit{.name = *hash,
                .time = *seconds,
                .position = number_in(count.value_or("")),
                .subject = *subject};
}

std::optional<Commit> checked_out(const std::filesystem::path& checkout, std::int64_t now) {
  auto commit = commit_in(checkout, "HEAD");
  if (!commit) {
    return std::nullopt;
  }
  const auto changed = git(checkout, {"status", "--porcelain", "--untracked-files=no"});
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
  if (!from || !to || !git(checkout, {"merge-base", "--is-ancestor", *from, *to})) {
    return std::nullopt;
  }
  const auto said = git(checkout, {"rev-list", "--first-parent", "--reverse", *to, "^" + *from});
  std::vector<std::string> hashes;
  std::istringstream lines(said.value_or(""));
  for (std::string hash; std::getline(lines, hash);) {
    hashes.push_back(hash);
  }
  return hashes;
}

std::string url_of(const std::filesystem::path& checkout) {
  std::string url = git(checkout, {"remote", "get-url", "origin"}).value_or("");
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
