// Bisection: which commit made something slower, where an answer may be "cannot tell".
//
// What a newcomer would get wrong: noise answers wrongly now and then, and a search by halves goes
// wrong with its first wrong answer. So an answer that cannot tell is asked for again; what stays
// undecided, or cannot be measured, is passed over and stays a suspect; and in the end the commit
// that is blamed is compared with the one before it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <tl/expected.hpp>

namespace lastref::perf {

/// Of a commit beside an older one.
enum class Answer : std::uint8_t { not_slower, slower, cannot_tell, cannot_be_measured };

/// Compares the second commit with the first; an error ends the search.
using AskAnswer = std::function<tl::expected<Answer, std::string>(const std::string& older,
                                                                  const std::string& newer)>;

struct BisectionOptions {
  std::string good;                ///< not slow
  std::vector<std::string> after;  ///< all commits behind it, oldest first; the last is slow
  int asks = 3;                    ///< of one comparison, until it is decided
};

struct Bisected {
  /// One of them made it slower; more than one only where those between were passed over.
  std::vector<std::string> suspects;
  std::string before;  ///< the newest commit that is known not to be slower
  /// The last suspect beside `before`. Unless it is slower, there was a wrong answer, or there are
  /// several steps, each too small to be seen.
  Answer confirmed = Answer::cannot_tell;
  std::size_t asked = 0;  ///< comparisons
};

/// Why there is nothing to be found.
struct NotBisected {
  enum class Why : std::uint8_t { not_slower, cannot_tell, cannot_be_measured, failed };
  Why why = Why::failed;
  std::string said = {};  ///< of what failed
};

/// Compares the two ends first, for without a difference every answer is noise.
tl::expected<Bisected, NotBisected> bisect(const BisectionOptions& options, const AskAnswer& ask);

}  // namespace lastref::perf
