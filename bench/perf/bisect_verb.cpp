// bisect: searches for the commit that made a benchmark slower, by `compare` or a program like it.
#include <bit>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "bench/perf/bisection.hpp"
#include "bench/perf/commits.hpp"
#include "bench/perf/figures.hpp"
#include "bench/perf/git.hpp"
#include "bench/perf/measured_process.hpp"
#include "bench/perf/verbs.hpp"
#include "harness/program/program.hpp"

namespace lastref::perf {
namespace {

using harness::Exit;
namespace fs = std::filesystem;

constexpr std::chrono::hours patience{240};  // per comparison, which may include a long build

struct BisectOptions {
  std::string good = {};
  std::string bad = {};
  std::string bench = {};  ///< a glob
  std::string compare = {};
  int asks = 3;
};

void say(const std::string& what) {
  std::cerr << what << std::endl;  // A write error does not matter.
}

Exit refuse(const std::string& why) {
  say("lastref perf bisect: " + why);
  return Exit::unusable;
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

  tl::expected<Answer, std::string> operator()(const std::string& older, const std::string& newer) {
    say(fmt::format("comparison {}: {} beside {}", ++number_, name_of(newer), short_commit(older)));
    std::vector<std::string> words = program();
    words.insert(words.end(), {older, newer, "--bench", options_.bench});
    const auto done = run_measured({.words = std::move(words),
                                    .folder = checkout_,
                                    .without = variables_of_git(),
                                    .log = {},
                                    .patience = patience});
    const auto answer = answer_of(done);
    if (!answer) {
      return tl::unexpected<std::string>("what compares: " + describe(done.error()));
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
      case harness::exit_does_not_apply:
        return Answer::cannot_be_measured;
      default:
        return std::nullopt;
    }
  }

  const BisectOptions& options_;
  const fs::path& checkout_;
  std::size_t number_ = 0;
};

Exit refuse(const NotBisected& not_bisected, const BisectOptions& options) {
  switch (not_bisected.why) {
    case NotBisected::Why::not_slower:
      return refuse(fmt::format(
          "{} is not slower than {}: there is nothing to be found", options.bad, options.good));
    case NotBisected::Why::cannot_be_measured:
      return refuse(fmt::format("{} cannot be measured beside {}", options.bad, options.good));
    case NotBisected::Why::cannot_tell:
      say(fmt::format(
          "whether {} is slower than {} at all cannot be told", options.bad, options.good));
      return Exit::incomplete;
    case NotBisected::Why::failed:
      break;
  }
  return refuse(not_bisected.said);
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
        "not confirmed: beside the commit before it the last of them {}; an answer was wrong, "
        "or it became slower in several small steps\n",
        found.confirmed == Answer::not_slower ? "is not slower" : word_of(found.confirmed));
  }
  return found.suspects.size() == 1 && found.confirmed == Answer::slower ? Exit::clean
                                                                         : Exit::incomplete;
}

Exit run_bisect(const BisectOptions& options) {
  // The current folder comes first: it may be another checkout, with its own comparing program.
  fs::path checkout = ".";
  auto after = commits_between(checkout, options.good, options.bad);
  if (const auto own = own_checkout(); !after && own) {
    checkout = *own;
    after = commits_between(checkout, options.good, options.bad);
  }
  if (!after || after->empty()) {
    return refuse(
        fmt::format("{} does not stand below {} in this checkout", options.good, options.bad));
  }
  const auto good = commit_in(checkout, options.good);
  say(fmt::format(
      "{} commits, about {} comparisons", after->size(), std::bit_width(after->size()) + 2));
  const auto found = bisect(
      {.good = good ? good->name : options.good, .after = *std::move(after), .asks = options.asks},
      Comparing(options, checkout));
  return found ? tell(*found, checkout) : refuse(found.error(), options);
}

}  // namespace

void add_bisect(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<BisectOptions>();
  CLI::App* verb = app.add_subcommand("bisect", "Which commit made a benchmark slower");
  verb->add_option("GOOD", options->good, "A commit that is not slow")->required();
  verb->add_option("BAD", options->bad, "A later one that is")->required();
  verb->add_option("--bench", options->bench, "The benchmark, by a pattern as shells have it")
      ->required();
  verb->add_option(
      "--compare",
      options->compare,
      "What compares instead of lastref perf compare: it is given A B --bench GLOB, "
      "and exits with 0: not slower, 1: slower, 3: cannot tell, 125: cannot be measured");
  verb->add_option("--asks", options->asks, "Of one comparison, until it can be told")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  verb->callback([options, &chosen] { chosen = [options] { return run_bisect(*options); }; });
}

}  // namespace lastref::perf
