#include "bench/perf/bisection.hpp"

#include <algorithm>
#include <bit>
#include <optional>
#include <utility>

#include "bench/perf/figures.hpp"
#include "bench/perf/git.hpp"
#include "bench/perf/verbs.hpp"
#include "harness/program/program.hpp"

namespace lastref::perf {
namespace {

using harness::Exit;
namespace fs = std::filesystem;

/// It may include a long build.
constexpr std::chrono::hours patience_for_comparison{240};

class Search {
 public:
  Search(const BisectionOptions& options, const AskAnswer& ask)
      : options_(options),
        ask_(ask),
        passed_over_(options.after.size(), false),
        slow_(options.after.size() - 1) {}

  Bisected run() {
    Bisected found{.ends = decide(options_.good, options_.after.back())};
    if (found.ends != Answer::slower) {
      return found;
    }
    while (const auto next = nearest_to_middle()) {
      const Answer answer = decide(options_.good, options_.after[*next]);
      if (answer == Answer::slower) {
        slow_ = *next;
      } else if (answer == Answer::not_slower) {
        begin_ = *next + 1;
      } else {
        passed_over_[*next] = true;
      }
    }
    found.before = begin_ == 0 ? options_.good : options_.after[begin_ - 1];
    for (std::size_t i = begin_; i <= slow_; ++i) {
      found.suspects.push_back(options_.after[i]);
    }
    found.confirmed = decide(found.before, found.suspects.back());
    found.asked = asked_;
    return found;
  }

 private:
  Answer decide(const std::string& older, const std::string& newer) {
    Answer answer = Answer::cannot_tell;
    for (int i = 0; i < options_.asks && answer == Answer::cannot_tell; ++i) {
      ++asked_;
      answer = ask_(older, newer);
    }
    return answer;
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

  const BisectionOptions& options_;
  const AskAnswer& ask_;
  std::vector<bool> passed_over_;
  std::size_t begin_ = 0;  ///< The first suspect: the commit before it is not slower.
  std::size_t slow_;       ///< The last suspect: it is slower.
  std::size_t asked_ = 0;
};

std::string subject_of(const fs::path& checkout, const std::string& hash) {
  return commit_in(checkout, hash).value_or(Commit()).subject;
}

/// Exit codes are those of `compare`, and 125 as in `git bisect run`.
Answer answer_of(const ProcessOptions& comparison) try {
  run_measured(comparison);
  return Answer::not_slower;
} catch (const FailedProcess& failed) {
  constexpr auto not_built = static_cast<int>(harness::Exit::does_not_apply);
  const int code = failed.why == FailedProcess::Why::exit_code ? failed.code : 0;
  if (code != 1 && code != 3 && code != not_built) {
    give_up("what compares: {}", failed.what());
  }
  return code == 1 ? Answer::slower : code == 3 ? Answer::cannot_tell : Answer::cannot_be_measured;
}

/// Runs the comparing program. Its path is relative to the current folder, not to the checkout.
AskAnswer comparing(const BisectOptions& options, const fs::path& checkout) {
  std::vector<std::string> program = {"/proc/self/exe", "compare"};
  if (!options.compare.empty()) {
    const bool is_path = options.compare.find('/') != std::string::npos;
    program = {is_path ? fs::absolute(options.compare).string() : options.compare};
  }
  return [=, number = 0, bench = options.bench](const std::string& older,
                                                const std::string& newer) mutable {
    say(fmt::format("comparison {}: {} {} and {}",
                    ++number,
                    short_commit(newer),
                    subject_of(checkout, newer),
                    short_commit(older)));
    std::vector<std::string> words = program;
    words.insert(words.end(), {older, newer, "--bench", bench});
    const Answer answer = answer_of({.words = std::move(words),
                                     .folder = checkout,
                                     .without = variables_of_git(),
                                     .log = {},
                                     .patience = patience_for_comparison});
    say(fmt::format("  {}", name_of(answer)));
    return answer;
  };
}

Exit tell(const Bisected& found, const BisectOptions& options, const fs::path& checkout) {
  switch (found.ends) {
    case Answer::not_slower:
      give_up("{} is not slower than {}: there is nothing to be found", options.bad, options.good);
    case Answer::cannot_be_measured:
      give_up("{} cannot be compared with {}", options.bad, options.good);
    case Answer::cannot_tell:
      say(fmt::format(
          "it is unclear whether {} is slower than {} at all", options.bad, options.good));
      return Exit::incomplete;
    case Answer::slower:
      break;
  }
  const std::size_t count = found.suspects.size();
  fmt::print("after {} comparisons, {} before {} that may have made it slower:\n",
             found.asked,
             short_commit(found.before),
             count == 1 ? "the commit" : fmt::format("{} commits", count));
  for (const std::string& suspect : found.suspects) {
    fmt::print("  {} {}\n", suspect, subject_of(checkout, suspect));
  }
  if (found.confirmed != Answer::slower) {
    fmt::print(
        "not confirmed: compared with the commit before it, the last of them {}{}; an answer was "
        "wrong, or it became slower in several small steps\n",
        found.confirmed == Answer::not_slower ? "is " : "",
        name_of(found.confirmed));
  }
  return count == 1 && found.confirmed == Answer::slower ? Exit::clean : Exit::incomplete;
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
    give_up("{} is not an ancestor of {} in this checkout", options.good, options.bad);
  }
  say(fmt::format(
      "{} commits, about {} comparisons", after->size(), std::bit_width(after->size()) + 2));
  const Bisected found = bisect({.good = hash_of(checkout, options.good).value_or(options.good),
                                 .after = *std::move(after),
                                 .asks = options.asks},
                                comparing(options, checkout));
  return tell(found, options, checkout);
}

Bisected bisect(const BisectionOptions& options, const AskAnswer& ask) {
  return Search(options, ask).run();
}

}  // namespace lastref::perf
