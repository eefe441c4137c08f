// bisection: finds the commit that made something slower, where an answer may be "cannot tell".
//
// A common mistake: noise sometimes gives a wrong answer, and a binary search fails with its first
// wrong answer. So a comparison that cannot tell is repeated. A commit that stays undecided, or
// cannot be measured, is skipped and stays a suspect. Finally the blamed commit is compared with
// the one before it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "harness/platform/named_enum.hpp"

namespace lastref::perf {

/// The result for a commit compared with an older one.
LASTREF_NAMED_ENUM(Answer,
                   (not_slower, "not slower"),
                   (slower, "slower"),
                   (cannot_tell, "cannot tell"),
                   (cannot_be_measured, "cannot be measured"));

/// Compares the newer commit with the older one; an exception ends the search.
using AskAnswer = std::function<Answer(const std::string& older, const std::string& newer)>;

struct BisectionOptions {
  std::string good;                ///< not slow
  std::vector<std::string> after;  ///< all commits after it, oldest first; the last is slow
  int asks = 3;                    ///< maximum attempts for one comparison
};

struct Bisected {
  Answer ends = Answer::not_slower;  ///< Unless the last commit is slower, nothing else was done.
  /// One of them made it slower. There is more than one only if commits between were skipped.
  std::vector<std::string> suspects = {};
  std::string before = {};  ///< the newest commit that is known not to be slower
  /// The last suspect compared with `before`. Unless it is slower, an answer was wrong, or there
  /// are several steps, each too small to be seen.
  Answer confirmed = Answer::cannot_tell;
  std::size_t asked = 0;  ///< comparisons
};

/// Compares the two ends first, because without a difference every answer is noise. There is at
/// least one commit after the good one.
Bisected bisect(const BisectionOptions& options, const AskAnswer& ask);

}  // namespace lastref::perf
