// commits: what git knows about the commits of a checkout. If git fails, there is no value.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/perf/record.hpp"

namespace lastref::perf {

/// The commit of that name, with its full hash; nothing if there is none, or no checkout.
std::optional<Commit> commit_in(const std::filesystem::path& checkout, const std::string& name);

/// The commit that is checked out. If tracked files are modified, "-modified-1a2b3c4d" follows its
/// hash, with a digest of the changes, and its time is `now`, in seconds since 1970.
std::optional<Commit> checked_out(const std::filesystem::path& checkout, std::int64_t now);

/// The hashes of the commits after `good` up to `bad`, oldest first, along first parents; nothing
/// unless `good` is an ancestor of `bad`.
std::optional<std::vector<std::string>> commits_between(const std::filesystem::path& checkout,
                                                        const std::string& good,
                                                        const std::string& bad);

/// The URL that the checkout was cloned from, if it is http or https; else empty.
std::string url_of(const std::filesystem::path& checkout);

/// The checkout that this program was built in; nothing if the program is not in a checkout.
std::optional<std::filesystem::path> own_checkout();

}  // namespace lastref::perf
