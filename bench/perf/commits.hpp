// commits: what git knows of the commits of a checkout. Runs git; whatever it refuses is nothing.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "bench/perf/record.hpp"

namespace lastref::perf {

/// The commit of that name, with its whole hash; nothing if there is none, or no checkout.
std::optional<Commit> commit_in(const std::filesystem::path& checkout, const std::string& name);

/// What is checked out; if files that git keeps are others than it has, with "-modified-1a2b3c4d"
/// behind its hash, a digest of what is other, and with its time now. Seconds since 1970.
std::optional<Commit> checked_out(const std::filesystem::path& checkout, std::int64_t now);

/// Hashes of those after `good` up to `bad`, oldest first, along first parents; nothing unless
/// `good` is an ancestor of `bad`.
std::optional<std::vector<std::string>> commits_between(const std::filesystem::path& checkout,
                                                        const std::string& good,
                                                        const std::string& bad);

/// Where the checkout was cloned from, if that is a page; else empty.
std::string url_of(const std::filesystem::path& checkout);

/// The checkout that this program was built in; nothing if it lies elsewhere.
std::optional<std::filesystem::path> own_checkout();

}  // namespace lastref::perf
