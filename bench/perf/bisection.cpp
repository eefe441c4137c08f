#include "bench/perf/bisection.hpp"

#include <algorithm>
#include <utility>

namespace lastref::perf {
namespace {

using Why = NotBisected::Why;

class Search {
 public:
  Search(const BisectionOptions& options, const AskAnswer& ask)
      : options_(options),
        ask_(ask),
        passed_over_(options.after.size(), false),
        slow_(options.after.size() - 1) {}

  tl::expected<Bisected, NotBisected> run() {
    const auto ends = decide(options_.good, options_.after.back());
    if (!ends) {
      return tl::unexpected(ends.error());
    }
    if (*ends != Answer::slower) {
      return tl::unexpected(NotBisected{.why = why_of(*ends)});
    }
    while (const auto next = nearest_to_middle()) {
      const auto answer = decide(options_.good, options_.after[*next]);
      if (!answer) {
        return tl::unexpected(answer.error());
      }
      if (*answer == Answer::slower) {
        slow_ = *next;
      } else if (*answer == Answer::not_slower) {
        begin_ = *next + 1;
      } else {
        passed_over_[*next] = true;
      }
    }
    return confirm();
  }

 private:
  static Why why_of(Answer answer) {
    switch (answer) {
      case Answer::not_slower:
        return Why::not_slower;
      case Answer::cannot_be_measured:
        return Why::cannot_be_measured;
      case Answer::slower:
      case Answer::cannot_tell:
        break;
    }
    return Why::cannot_tell;
  }

  tl::expected<Answer, NotBisected> decide(const std::string& older, const std::string& newer) {
    for (int i = 0; i < options_.asks; ++i) {
      ++asked_;
      const auto answer = ask_(older, newer);
      if (!answer) {
        return tl::unexpected(NotBisected{.why = Why::failed, .said = answer.error()});
      }
      if (*answer != Answer::cannot_tell) {
        return *answer;
      }
    }
    return Answer::cannot_tell;
  }

  /// The undecided commit nearest to the middle; nothing at the end.
  std::optional<std::size_t> nearest_to_middle() const {
    const std::size_t middle = begin_ + (slow_ - begin_) / 2;
    std::optional<std::size_t> nearest;
    const auto distance = [&](std::size_t index) {
      return std::max(index, middle) - std::min(index, middle);
    };
    for (std::size_t i = begin_; i < slow_; ++i) {
      if (!passed_over_[i] && (!nearest || distance(i) < distance(*nearest))) {
        nearest = i;
      }
    }
    return nearest;
  }

  tl::expected<Bisected, NotBisected> confirm() {
    Bisected found;
    found.before = begin_ == 0 ? options_.good : options_.after[begin_ - 1];
    for (std::size_t i = begin_; i <= slow_; ++i) {
      found.suspects.push_back(options_.after[i]);
    }
    const auto confirmed = decide(found.before, found.suspects.back());
    if (!confirmed) {
      return tl::unexpected(confirmed.error());
    }
    found.confirmed = *confirmed;
    found.asked = asked_;
    return found;
  }

  const BisectionOptions& options_;
  const AskAnswer& ask_;
  std::vector<bool> passed_over_;
  std::size_t begin_ = 0;  ///< The first suspect: the commit before it is not slower.
  std::size_t slow_;       ///< The last suspect: it is slower.
  std::size_t asked_ = 0;
};

}  // namespace

tl::expected<Bisected, NotBisected> bisect(const BisectionOptions& options, const AskAnswer& ask) {
  if (options.after.empty()) {
    return tl::unexpected(NotBisected{.why = Why::not_slower});
  }
  return Search(options, ask).run();
}

}  // namespace lastref::perf
