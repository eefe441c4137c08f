#include "bench/perf/bisection.hpp"

#include <algorithm>
#include <bit>
#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/perf/figures.hpp"
#include "bench/perf/git.hpp"
#include "bench/perf/process.hpp"
#include "bench/perf/verbs.hpp"
#include "harness/program/program.hpp"

namespace lastref::perf {
namespace {

class Search {
 public:
  Search(const BisectionOptions& options, const AskAnswer& ask)
      : options_(options),
        ask_(ask),
        passed_over_(options.after.size(), false),
        slow_(options.after.size() - 1) {}

  tl::expected<Bisected, BisectError> run() {
    const auto ends = decide(options_.good, options_.after.back());
    if (!ends) {
      return tl::unexpected(ends.error());
    }
    if (*ends != Answer::slower) {
      return tl::unexpected(BisectError{.why = *ends});
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
  tl::expected<Answer, BisectError> decide(const std::string& older, const std::string& newer) {
    for (int i = 0; i < options_.asks; ++i) {
      ++asked_;
      const auto answer = ask_(older, newer);
      if (!answer) {
        return tl::unexpected(BisectError{.said = answer.error()});
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

  tl::expected<Bisected, BisectError> confirm() {
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

using harness::Exit;
namespace fs = std::filesystem;

/// It may include a long build.
constexpr std::chrono::hours patience_for_comparison{240};

Exit complain(const std::string& why) {
  return refuse(why, "lastref perf bisect");
}

const char* word_of(Answer answer) {
  switch (answer) {
    case Answer::not_slower:
      return "not slower";
    case Answer::slower:
      return "slower";
    case Answer::cannot_tell:
      return "cannot tell";
    case Answer::cannot_be_measured:
      break;
  }
  return "cannot be measured";
}

/// Runs the comparing program and reads its exit code.
class Comparing {
 public:
  Comparing(const BisectOptions& options, const fs::path& checkout)
      : options_(options), checkout_(checkout) {}

  OrWhy<Answer> operator()(const std::string& older, const std::string& newer) {
    say(fmt::format("comparison {}: {} and {}", ++number_, name_of(newer), short_commit(older)));
    std::vector<std::string> words = program();
    words.insert(words.end(), {older, newer, "--bench", options_.bench});
    const auto done = run_measured({.words = std::move(words),
                                    .folder = checkout_,
                                    .without = variables_of_git(),
                                    .log = {},
                                    .patience = patience_for_comparison});
    const auto answer = answer_of(done);
    if (!answer) {
      return no("what compares: " + describe(done.error()));
    }
    say(fmt::format("  {}", word_of(*answer)));
    return *answer;
  }

 private:
  std::string name_of(const std::string& hash) const {
    const auto commit = commit_in(checkout_, hash);
    return fmt::format("{} {}", short_commit(hash), commit ? commit->subject : "");
  }

  /// A path is relative to the current folder, not to the checkout.
  std::vector<std::string> program() const {
    if (options_.compare.empty()) {
      return {"/proc/self/exe", "compare"};
    }
    const bool is_path = options_.compare.find('/') != std::string::npos;
    return {is_path ? fs::absolute(options_.compare).string() : options_.compare};
  }

  /// Exit codes are those of `compare`, and 125 as in `git bisect run`.
  static std::optional<Answer> answer_of(const tl::expected<ProcessTimes, FailedProcess>& done) {
    if (done) {
      return Answer::not_slower;
    }
    if (done.error().why != FailedProcess::Why::exit_code) {
      return std::nullopt;
    }
    switch (done.error().code) {
      case 1:
        return Answer::slower;
      case 3:
        return Answer::cannot_tell;
      case static_cast<int>(harness::Exit::does_not_apply):
        return Answer::cannot_be_measured;
      default:
        return std::nullopt;
    }
  }

  const BisectOptions& options_;
  const fs::path& checkout_;
  std::size_t number_ = 0;
};

Exit complain(const BisectError& not_bisected, const BisectOptions& options) {
  if (!not_bisected.why) {
    return complain(not_bisected.said);
  }
  if (*not_bisected.why == Answer::not_slower) {
    return complain(fmt::format(
        "{} is not slower than {}: there is nothing to be found", options.bad, options.good));
  }
  if (*not_bisected.why == Answer::cannot_be_measured) {
    return complain(fmt::format("{} cannot be compared with {}", options.bad, options.good));
  }
  say(fmt::format("it is unclear whether {} is slower than {} at all", options.bad, options.good));
  return Exit::incomplete;
}

Exit tell(const Bisected& found, const fs::path& checkout) {
  fmt::print(
      "after {} comparisons, {} before {} that may have made it slower:\n",
      found.asked,
      short_commit(found.before),
      found.suspects.size() == 1 ? "the commit" : fmt::format("{} commits", found.suspects.size()));
  for (const std::string& suspect : found.suspects) {
    const auto commit = commit_in(checkout, suspect);
    fmt::print("  {} {}\n", suspect, commit ? commit->subject : "");
  }
  if (found.confirmed != Answer::slower) {
    fmt::print(
        "not confirmed: compared with the commit before it, the last of them {}; an answer was "
        "wrong, "
        "or it became slower in several small steps\n",
        found.confirmed == Answer::not_slower ? "is not slower" : word_of(found.confirmed));
  }
  return found.suspects.size() == 1 && found.confirmed == Answer::slower ? Exit::clean
                                                                         : Exit::incomplete;
}

}  // namespace

Exit run_bisect(const BisectOptions& options) {
  // The current folder comes first: it may be another checkout, with its own comparing program.
  fs::path checkout = ".";
  auto after = commits_between(checkout, options.good, options.bad);
  if (const auto own = own_checkout(); !after && own) {
    checkout = *own;
    after = commits_between(checkout, options.good, options.bad);
  }
  if (!after || after->empty()) {
    return complain(
        fmt::format("{} is not an ancestor of {} in this checkout", options.good, options.bad));
  }
  const auto good = commit_in(checkout, options.good);
  say(fmt::format(
      "{} commits, about {} comparisons", after->size(), std::bit_width(after->size()) + 2));
  const auto found = bisect(
      {.good = good ? good->name : options.good, .after = *std::move(after), .asks = options.asks},
      Comparing(options, checkout));
  return found ? tell(*found, checkout) : complain(found.error(), options);
}

tl::expected<Bisected, BisectError> bisect(const BisectionOptions& options, const AskAnswer& ask) {
  if (options.after.empty()) {
    return tl::unexpected(BisectError{.why = Answer::not_slower});
  }
  return Search(options, ask).run();
}

}  // namespace lastref::perf
