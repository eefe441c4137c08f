// list: lists scenarios, rows of the specification with the scenarios that cover them, rows of the
// tables of calls and of faults, and probes.
#include <array>
#include <iostream>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lastref/call.hpp>
#include <lastref/probe.hpp>

#include "harness/cli/checkout.hpp"
#include "harness/cli/names.hpp"
#include "harness/cli/target.hpp"
#include "harness/cli/verbs.hpp"
#include "harness/platform/names.hpp"
#include "harness/scenario/fault.hpp"
#include "harness/scenario/pattern.hpp"
#include "harness/scenario/product_limits.hpp"
#include "harness/scenario/responses.hpp"
#include "harness/scenario/scenario.hpp"
#include "harness/spec/mutant.hpp"
#include "harness/spec/rows.hpp"

namespace lastref::harness {
namespace {

/// "blocks, shortens".
std::string text_of_traits(const CallRow& row) {
  constexpr std::array names = {std::pair{Traits::blocks, "blocks"},
                                std::pair{Traits::shortens, "shortens"},
                                std::pair{Traits::observes, "observes"},
                                std::pair{Traits::process_private, "process-private"},
                                std::pair{Traits::private_on_pipes, "private on pipes"}};
  std::vector<std::string_view> traits;
  for (const auto& [trait, name] : names) {
    if (has(row.traits, trait)) {
      traits.emplace_back(name);
    }
  }
  return traits.empty() ? "plain" : fmt::format("{}", fmt::join(traits, ", "));
}

/// "EMFILE ENOSPC": the errnos of a call with that response, in `where`.
std::string errors_answered(const CallRow& row, Response how, Response ErrorRow::*where) {
  std::vector<std::string> errors;
  for (const ErrorRow& error : row.errors) {
    if (error.*where == how) {
      errors.push_back(name_of_error(error.error));
    }
  }
  return fmt::format("{}", fmt::join(errors, " "));
}

/// "retry: EINTR · fail: EACCES EMFILE".
std::string text_of_responses(const CallRow& row, Response ErrorRow::*where) {
  std::vector<std::string> parts;
  for (const Response how :
       {Response::ignore, Response::retry, Response::answer, Response::fall_back, Response::fail}) {
    if (const std::string errors = errors_answered(row, how, where); !errors.empty()) {
      parts.push_back(fmt::format("{}: {}", name_of(how), errors));
    }
  }
  return fmt::format("{}", fmt::join(parts, " · "));
}

/// One line for all processes, or one for trackers and one for others where they differ.
std::string lines_of_responses(const CallRow& row) {
  const std::string tracker = text_of_responses(row, &ErrorRow::in_tracker);
  const std::string others = text_of_responses(row, &ErrorRow::elsewhere);
  std::string lines;
  const auto add = [&lines](std::string_view processes, const std::string& responses) {
    if (!responses.empty()) {
      lines += fmt::format("    {:<9} {}\n", processes, responses);
    }
  };
  if (tracker == others) {
    add("all", tracker);
  } else {
    add("tracker", tracker);
    add("others", others);
  }
  if (has(row.traits, Traits::needed)) {
    lines += "    if it fails permanently, a tracker may leave names to the next start\n";
  }
  return lines;
}

std::string text_of_points() {
  std::string text =
      "What may be done about each errno:\n"
      "  ignore     it has no visible effect, however often it occurs\n"
      "  retry      it has no visible effect, if it occurs once\n"
      "  answer     it is a normal result of the call\n"
      "  fall back  another way is taken, or it is reported on standard error, or as below\n"
      "  fail       the operation fails with it; a tracker reports it\n\n";
  for (const CallRow& row : call_rows()) {
    text += fmt::format("{:<18} {:<22} {}\n", row.method, row.point, text_of_traits(row));
    text += lines_of_responses(row);
  }
  for (const StepRow& row : step_rows()) {
    text += fmt::format("{:<18} {:<22} step\n", row.name, row.point);
  }
  return text;
}

std::string text_of_faults() {
  std::string text;
  for (const FaultRow& row : fault_rows()) {
    const std::string_view where = row.where == FaultWhere::gated     ? "; only in scenarios"
                                   : row.where == FaultWhere::watched ? "; only in lastref run"
                                                                      : "";
    text += fmt::format("{:<22} {}{}\n", row.name, row.sentence, where);
  }
  return text;
}

std::string text_of_probes() {
  std::string text;
  for (const ProbeRow& row : probe_rows()) {
    text += fmt::format("{:<30} {}\n", row.name, row.sentence);
  }
  return text;
}

/// "    workers: 2 of 1, 2, 3 (processes)", a line for each.
std::string text_of_parameters(const Scenario& scenario) {
  std::string text;
  for (const DeclaredParameter& each : scenario.parameters) {
    if (each.name == limits_parameter) {
      continue;  // Every scenario has it.
    }
    if (each.form != nullptr) {
      text += fmt::format("    {}='{}': {}\n", each.name, each.usual, each.form->sentence);
      continue;
    }
    std::vector<std::string_view> values;
    for (const auto& value : each.values) {
      values.emplace_back(value.text);
    }
    text += fmt::format("    {}={} of {}{}\n",
                        each.name,
                        each.usual,
                        fmt::join(values, ", "),
                        each.unit.empty() ? "" : fmt::format(" ({})", each.unit));
  }
  return text;
}

std::string text_of_scenarios() {
  std::string text;
  for (const Scenario& scenario : catalog()) {
    text += fmt::format("{}{}{}{}\n{}    {}\n{}    {}\n",
                        scenario.name,
                        scenario.kernel_only ? "  (kernel)" : "",
                        scenario.is_long ? "  (long)" : "",
                        scenario.in_gate ? "" : "  (not in the gate)",
                        scenario.in_matrix() ? ""
                                             : fmt::format("    outside of the matrix: {}\n",
                                                           scenario.outside_matrix),
                        scenario.sentence,
                        text_of_parameters(scenario),
                        fmt::join(scenario.rows, " "));
  }
  return text;
}

class RowList {
 public:
  RowList(const ListOptions& options, Invocation& invocation)
      : options_(options), invocation_(invocation), json_(options.json) {}

  void run() {
    if (!json_.open()) {
      invocation_.refuse("cannot write " + json_.path());
      return;
    }
    if (const Status read = read_checkout(); !read) {
      invocation_.refuse("list: " + describe(read.error()));
      return;
    }
    listing_.proof = prove(
        all_rows(),
        {.tests = tests_, .scenarios = catalog(), .ambients = ambients(), .mutants = mutants_});
    if (!choose()) {
      return;
    }
    invocation_.end(Exit::clean);
    give();
  }

 private:
  Status read_checkout() {
    const std::string checkout =
        options_.checkout.empty() ? checkout_of_program() : options_.checkout;
    if (checkout.empty()) {
      return ok();
    }
    LASTREF_TRY(tests, read_tests(checkout + "/" + tests_folder));
    LASTREF_TRY(mutants, read_mutants(checkout + "/" + mutants_folder));
    tests_ = std::move(tests);
    mutants_ = std::move(mutants);
    listing_.checkout = checkout;
    return ok();
  }

  /// Keeps the rows that are wanted.
  bool choose() {
    if (options_.rows.empty()) {
      return true;
    }
    std::erase_if(listing_.proof.rows,
                  [this](const RowParts& parts) { return !matches(options_.rows, parts.row.id); });
    if (listing_.proof.rows.empty()) {
      invocation_.refuse(fmt::format("no row {}", options_.rows));
    }
    return !listing_.proof.rows.empty();
  }

  void give() {
    if (json_.wanted() && !json_.write(to_json(listing_))) {
      invocation_.refuse("cannot write " + json_.path());
    }
    std::ostream& out = json_.takes_standard_output() ? std::cerr : std::cout;
    out << (options_.rows.empty() ? to_text(listing_) : names_to_text(listing_)) << std::flush;
    if (!listing_.checkout) {
      std::cerr << "lastref: this program does not lie in a checkout: tests and mutants are not "
                   "seen; give --checkout\n";
      return;
    }
    for (const std::string& complaint : complaints(listing_.proof)) {
      std::cerr << "lastref: " << complaint << '\n';
    }
  }

  const ListOptions& options_;
  Invocation& invocation_;
  Target json_;
  std::vector<std::string> tests_;
  std::vector<Mutant> mutants_;
  RowListing listing_;
};

}  // namespace

void run(const ListOptions& options, Invocation& invocation) {
  if (options.wants_rows) {
    RowList(options, invocation).run();
    return;
  }
  std::cout << (options.points   ? text_of_points()
                : options.faults ? text_of_faults()
                : options.probes ? text_of_probes()
                                 : text_of_scenarios())
            << std::flush;
  invocation.end(Exit::clean);
}

}  // namespace lastref::harness
