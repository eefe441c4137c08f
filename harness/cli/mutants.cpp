// mutants: proves that the harness detects bugs. Each patch is applied to a copy of the checkout,
// which is built and given to hunters: its gate in both worlds, and its tests.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include <fmt/format.h>

#include "harness/cli/checkout.hpp"
#include "harness/cli/names.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/mutant/draw.hpp"
#include "harness/mutant/hunt.hpp"
#include "harness/scenario/pattern.hpp"

namespace lastref::harness {
namespace {

/// The number of mutants that do not compile which may be drawn for each wanted one.
constexpr std::size_t refusals_each = 5;

/// One line per mutant on standard error, which grows during the hunt.
class Progress {
 public:
  explicit Progress(std::size_t total) : total_(total) {}

  void begin(const Mutant& mutant) {
    std::cerr << fmt::format(
        "[{}/{}] {}/{}:{}", done_ + 1, total_, mutant.row, mutant.name, left());
    is_open_ = true;
  }
  void doing(std::string_view what) const { std::cerr << " " << what << "..." << std::flush; }
  void end(const Verdict& verdict) {
    std::cerr << (!verdict.builds     ? " does not build"
                  : verdict.is_seen() ? " seen"
                                      : " not seen")
              << std::endl;
    is_open_ = false;
    seconds_ += verdict.seconds;
    ++done_;
  }
  /// Call it before other output.
  void close() {
    if (is_open_) {
      std::cerr << std::endl;
    }
    is_open_ = false;
  }

 private:
  /// Estimates the remaining time from that of the finished ones.
  std::string left() const {
    const double each = done_ == 0 ? 0 : seconds_ / static_cast<double>(done_);
    return done_ == 0 ? ""
                      : fmt::format(" about {:.0f} min left;",
                                    each * static_cast<double>(total_ - done_) / 60);
  }

  std::size_t total_;
  std::size_t done_ = 0;
  double seconds_ = 0;
  bool is_open_ = false;
};

std::vector<Hunter> hunters_of(const MutantsOptions& options) {
  std::vector<Hunter> hunters;
  for (const HunterRow& each : all_hunters()) {
    if (options.by.empty() || std::ranges::find(options.by, each.name) != options.by.end()) {
      hunters.push_back(each.hunter);
    }
  }
  return hunters;
}

class MutantsVerb {
 public:
  MutantsVerb(const MutantsOptions& options, Invocation& invocation)
      : options_(options), invocation_(invocation), hunters_(hunters_of(options)) {}

  void run() {
    if (!find_checkout() || (!options_.draw && !choose())) {
      return;
    }
    if (options_.list) {
      list();
      return;
    }
    auto build = MutantBuild::open(checkout_, checkout_ + "/build/mutants");
    const Status done = !build           ? tl::unexpected(build.error())
                        : options_.check ? check(*build)
                                         : hunt(*build);
    if (!done) {
      invocation_.refuse("mutants: " + describe(done.error()));
    }
  }

 private:
  bool find_checkout() {
    checkout_ = options_.checkout.empty() ? checkout_of_program() : options_.checkout;
    if (checkout_.empty()) {
      invocation_.refuse("mutants: this program is not in a checkout; give --checkout");
    }
    return !checkout_.empty();
  }

  bool choose() {
    auto read = read_mutants(checkout_ + "/" + mutants_folder);
    if (!read) {
      invocation_.refuse("mutants: " + describe(read.error()));
      return false;
    }
    std::vector<std::string> known;
    for (Mutant& mutant : *read) {
      known.push_back(mutant.name);
      if (is_wanted(mutant)) {
        mutants_.push_back(std::move(mutant));
      }
    }
    if (mutants_.empty()) {
      invocation_.refuse(options_.names.empty()
                             ? fmt::format("no mutant of row {}", options_.row)
                             : fmt::format("no mutant {}{}",
                                           options_.names.front(),
                                           suggestion(options_.names.front(), known)));
      return false;
    }
    return true;
  }

  bool is_wanted(const Mutant& mutant) const {
    const auto names_it = [&](const std::string& name) { return matches(name, mutant.name); };
    return (options_.row.empty() || options_.row == mutant.row) &&
           (options_.names.empty() || std::ranges::any_of(options_.names, names_it));
  }

  void list() {
    for (const Mutant& mutant : mutants_) {
      std::cout << fmt::format(
          "{:<4} {}\n     {}\n     {}\n", mutant.row, mutant.name, mutant.claim, mutant.origin);
    }
    invocation_.end(Exit::clean);
  }

  Status check(MutantBuild& build) {
    LASTREF_CHECK(build.check(mutants_));
    std::cout << fmt::format("all {} patches fit\n", mutants_.size());
    invocation_.end(Exit::clean);
    return ok();
  }

  Status hunt(MutantBuild& build) {
    Progress progress(options_.draw.value_or(mutants_.size()));
    std::cerr << "the copy for planted bugs:";
    LASTREF_CHECK(build.prepare());
    LASTREF_TRY(hunt,
                Hunt::begin(build,
                            {.hunters = hunters_,
                             .all_hunters = options_.all_hunters,
                             .again = options_.again,
                             .budget = options_.budget,
                             .seed = options_.seed,
                             .seeds = options_.seeds,
                             .policies = options_.policies,
                             .doing = [&](std::string_view what) { progress.doing(what); }}));
    std::cerr << std::endl;
    std::cout << heading_of(hunters_) << std::flush;
    const Status done =
        options_.draw ? attack_drawn(hunt, progress) : attack_planned(hunt, progress);
    progress.close();
    LASTREF_CHECK(done);
    if (hunt.false_positive()) {
      // A hunter that finds a bug where none was planted proves nothing by finding one.
      Verdict unplanted;
      unplanted.mutant.name = "none";
      unplanted.trials.emplace(*hunt.false_positive(), std::vector{hunt.false_trial()});
      std::cout << "VIOLATION without any mutant\n" << text_of(unplanted, hunters_);
      invocation_.end(Exit::violation);
      return ok();
    }
    return finish();
  }

  Status attack_planned(Hunt& hunt, Progress& progress) {
    for (const Mutant& mutant : mutants_) {
      progress.begin(mutant);
      LASTREF_TRY(verdict, hunt.run(planting_of(mutant)));
      if (hunt.false_positive()) {
        return ok();
      }
      take(std::move(verdict), progress);
    }
    return ok();
  }

  Status attack_drawn(Hunt& hunt, Progress& progress) {
    LASTREF_TRY(sources, read_sources(checkout_));
    Draw draw(std::move(sources), options_.seed);
    const std::string folder = fmt::format("drawn/{}", options_.seed);
    const std::size_t refusals_most = refusals_each * *options_.draw;
    while (verdicts_.size() < *options_.draw && refused_ <= refusals_most) {
      const std::optional<Drawn> drawn = draw.next();
      if (!drawn) {
        return ok();
      }
      LASTREF_TRY(planting, write_down(*drawn, folder));
      progress.begin(planting.mutant);
      LASTREF_TRY(verdict, hunt.run(planting));
      if (hunt.false_positive()) {
        return ok();
      }
      if (verdict.builds) {
        take(std::move(verdict), progress);
        continue;
      }
      std::cerr << " does not build, drawn again" << std::endl;
      std::error_code error;
      std::filesystem::remove(checkout_ + "/build/mutants/" + folder + "/" + drawn->name + ".patch",
                              error);
      ++refused_;
      draw.refuse(*drawn);
    }
    return ok();
  }

  Result<Planting> write_down(const Drawn& drawn, const std::string& folder) {
    const std::string text = patch_of(drawn, options_.seed);
    LASTREF_TRY(mutant, parse_mutant(drawn.name, text));
    const std::string patch = folder + "/" + drawn.name + ".patch";
    const std::filesystem::path path = checkout_ + "/build/mutants/" + patch;
    std::error_code error;
    std::filesystem::create_directories(path.parent_path(), error);
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text << std::flush;
    return file ? Result<Planting>(Planting{.mutant = std::move(mutant), .patch = "../" + patch})
                : failure(std::errc::io_error, path);
  }

  void take(Verdict verdict, Progress& progress) {
    progress.end(verdict);
    std::cout << text_of(verdict, hunters_) << std::flush;
    verdicts_.push_back(std::move(verdict));
  }

  Status finish() {
    std::cout << totals_of(verdicts_, hunters_);
    if (options_.draw) {
      std::cout << fmt::format("{} were replaced, because they do not build\n", refused_);
    }
    invocation_.end(exit_of_all());
    if (options_.json.empty()) {
      return ok();
    }
    std::ofstream file(options_.json, std::ios::binary | std::ios::trunc);
    file << to_json(verdicts_, hunters_) << std::flush;
    return file ? ok() : failure(std::errc::io_error, options_.json);
  }

  /// A mutant that all hunters missed decides; then work left undone.
  Exit exit_of_all() const {
    bool is_complete = !options_.draw || verdicts_.size() == *options_.draw;
    for (const Verdict& verdict : verdicts_) {
      if (verdict.is_seen()) {
        continue;
      }
      const bool left_open = std::ranges::any_of(verdict.trials, [](const auto& each) {
        return result_of(each.second).sight == Sight::incomplete;
      });
      if (!left_open) {
        return Exit::violation;
      }
      is_complete = false;
    }
    return is_complete ? Exit::clean : Exit::incomplete;
  }

  const MutantsOptions& options_;
  Invocation& invocation_;
  std::vector<Hunter> hunters_;
  std::string checkout_;
  std::vector<Mutant> mutants_;
  std::vector<Verdict> verdicts_;
  std::size_t refused_ = 0;
};

}  // namespace

void run(const MutantsOptions& options, Invocation& invocation) {
  MutantsVerb(options, invocation).run();
}

}  // namespace lastref::harness
