// mutants: proof that the harness sees planted bugs. Each patch is applied to a copy of the
// checkout, which is built and given to the gate and to the tests of the patch's row.
#include <algorithm>
#include <fstream>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/cli/checkout.hpp"
#include "harness/cli/names.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/mutant/workshop.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

std::string_view name_of(const Verdict& verdict) {
  return !verdict.builds     ? "DOES NOT BUILD"
         : verdict.elsewhere ? "NOT BY ITS ROW"
         : verdict.killed()  ? "killed"
                             : "SURVIVED";
}

bool is_good(const Verdict& verdict) {
  return verdict.builds && verdict.killed() && !verdict.elsewhere;
}

std::string text_of_finders(const Verdict& verdict) {
  std::string text;
  const Trial& gate = verdict.gate;
  if (gate.found) {
    text += fmt::format("      {}: {}\n", gate.scenario, gate.claim);
    text += gate.seen.empty() ? "" : fmt::format("      seen    {}\n", gate.seen);
    text += fmt::format("      repeat  {}\n", gate.replay);
  }
  if (verdict.tests.found) {
    text += fmt::format("      {} failing test{}, first {}\n",
                        verdict.tests.failed_tests,
                        verdict.tests.failed_tests == 1 ? "" : "s",
                        verdict.tests.scenario);
  }
  return text;
}

Json json_of(const Trial& trial) {
  if (!trial.found) {
    return nullptr;
  }
  return {{"by", trial.scenario},
          {"claim", trial.claim},
          {"seen", trial.seen},
          {"replay", trial.replay},
          {"runs", trial.runs},
          {"failed_tests", trial.failed_tests}};
}

Json json_of(const Mutant& mutant, const Verdict& verdict) {
  return {{"name", mutant.name},
          {"row", mutant.row},
          {"origin", mutant.origin},
          {"claim", mutant.claim},
          {"verdict", name_of(verdict)},
          {"gate", json_of(verdict.gate)},
          {"tests", json_of(verdict.tests)},
          {"seconds", verdict.seconds}};
}

class Hunt {
 public:
  Hunt(const MutantsOptions& options, Invocation& invocation)
      : options_(options), invocation_(invocation) {}

  void run() {
    if (!choose()) {
      return;
    }
    if (options_.list) {
      list();
      return;
    }
    auto workshop = Workshop::open({.checkout = checkout_,
                                    .folder = checkout_ + "/build/mutants",
                                    .budget = options_.budget,
                                    .seed = options_.seed});
    const Status done = !workshop        ? tl::unexpected(workshop.error())
                        : options_.check ? check(*workshop)
                                         : attack(*workshop);
    if (!done) {
      invocation_.refuse("mutants: " + describe(done.error()));
    }
  }

 private:
  bool choose() {
    checkout_ = options_.checkout.empty() ? checkout_of_program() : options_.checkout;
    if (checkout_.empty()) {
      invocation_.refuse("mutants: this program does not lie in a checkout; give --checkout");
      return false;
    }
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

  Status check(Workshop& workshop) {
    LASTREF_CHECK(workshop.check(mutants_));
    std::cout << fmt::format("all {} patches fit\n", mutants_.size());
    invocation_.end(Exit::clean);
    return ok();
  }

  Status attack(Workshop& workshop) {
    std::cerr << "lastref: building the copy that the bugs are planted in\n";
    LASTREF_CHECK(workshop.prepare());
    std::cerr << "lastref: trying it without any\n";
    LASTREF_TRY(unchanged, workshop.try_unchanged());
    if (unchanged.killed()) {
      // Whoever finds a bug where none was planted proves nothing by finding one.
      std::cout << "VIOLATION without any mutant\n" << text_of_finders(unchanged);
      invocation_.end(Exit::violation);
      return ok();
    }
    Json rows = Json::array();
    std::size_t good = 0;
    for (const Mutant& mutant : mutants_) {
      LASTREF_TRY(verdict, workshop.attack(mutant));
      good += is_good(verdict) ? 1U : 0U;
      rows.push_back(json_of(mutant, verdict));
      std::cout << fmt::format("{:<4} {:<46} {} ({:.0f} s)\n",
                               mutant.row,
                               mutant.name,
                               name_of(verdict),
                               verdict.seconds)
                << text_of_finders(verdict) << std::flush;
    }
    std::cout << fmt::format("{} of {} mutants killed by their rows\n", good, mutants_.size());
    invocation_.end(good == mutants_.size() ? Exit::clean : Exit::violation);
    return write(rows);
  }

  Status write(const Json& rows) const {
    if (options_.json.empty()) {
      return ok();
    }
    std::ofstream file(options_.json, std::ios::binary | std::ios::trunc);
    file << rows.dump(2, ' ', /*ensure_ascii=*/false, Json::error_handler_t::replace) << std::endl;
    return file ? ok() : failure(std::errc::io_error, options_.json);
  }

  const MutantsOptions& options_;
  Invocation& invocation_;
  std::string checkout_;
  std::vector<Mutant> mutants_;
};

}  // namespace

void run(const MutantsOptions& options, Invocation& invocation) {
  Hunt(options, invocation).run();
}

}  // namespace lastref::harness
