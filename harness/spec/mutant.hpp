// Mutant: a planted bug. A file of a few header lines and a patch:
//
//   Row: T7
//   Origin: where such a bug occurred, or the promise that it breaks
//   Claim: what no longer holds
//
//   --- a/impl/tracker/cleaner.cpp
//   +++ b/impl/tracker/cleaner.cpp
//   @@ -1,3 +1,3 @@ ...
//
// Its name is that of its file without ".patch"; the file is in the folder of its row's letter.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <lastref/error.hpp>

namespace lastref::harness {

struct Mutant {
  std::string name;
  std::string row;                 ///< of the specification, such as "T7"
  std::string origin;              ///< One line
  std::string claim;               ///< One line
  std::vector<std::string> files;  ///< that it changes, relative to the checkout
};

/// Fails with invalid_argument and a description: a name with characters other than a-z, 0-9 and _;
/// a header line missing, unknown, twice or empty; no change; a change outside of `impl`.
Result<Mutant> parse_mutant(std::string name, std::string_view text);

/// All in `folder` and below, by row, then by name. Fails if one of them cannot be read or is at
/// another path than that of path_of, or if there is none.
Result<std::vector<Mutant>> read_mutants(const std::string& folder);

/// "T/name.patch", relative to the folder of all mutants.
std::string path_of(const Mutant& mutant);

/// "T9" before "T10".
bool row_is_before(std::string_view one, std::string_view other) noexcept;

}  // namespace lastref::harness
