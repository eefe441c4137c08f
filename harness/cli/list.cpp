// list: what there is. Scenarios, rows of the specification, rows of the table of calls.
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <lastref/call.hpp>

#include "harness/cli/verbs.hpp"
#include "harness/scenario/scenario.hpp"

namespace lastref::harness {
namespace {

struct ListOptions {
  bool points = false;
  bool rows = false;
};

std::string_view word_of(Traits traits) {
  switch (traits) {
    case Traits::plain:
      return "plain";
    case Traits::blocks:
      return "blocks";
    case Traits::shortens:
      return "shortens";
    case Traits::waits_short:
      return "waits, shortens";
  }
  return {};
}

std::string text_of_points() {
  std::string text;
  for (const CallRow& row : call_rows()) {
    std::vector<std::string_view> errors;
    for (const int error : row.errnos) {
      errors.emplace_back(strerrorname_np(error));
    }
    text += fmt::format("{:<18} {:<22} {:<16} {}\n",
                        row.method,
                        row.point,
                        word_of(row.traits),
                        fmt::join(errors, " "));
  }
  for (const StepRow& row : step_rows()) {
    text += fmt::format("{:<18} {:<22} {:<16}\n", row.name, row.point, "step");
  }
  return text;
}

/// "T10" after "T9".
struct ByNumber {
  bool operator()(const std::string& one, const std::string& other) const {
    return std::pair(one.size(), one) < std::pair(other.size(), other);
  }
};

std::string text_of_rows() {
  std::map<std::string, std::vector<std::string>, ByNumber> rows;
  for (const Scenario& scenario : catalog()) {
    for (const std::string& row : scenario.rows) {
      rows[row].push_back(scenario.name);
    }
  }
  std::string text;
  for (const auto& [row, names] : rows) {
    for (const std::string& name : names) {
      text += fmt::format("{:<5} {}\n", &name == names.data() ? row : "", name);
    }
  }
  return text;
}

std::string text_of_scenarios() {
  std::string text;
  for (const Scenario& scenario : catalog()) {
    text += fmt::format("{}{}{}\n    {}\n    {}\n",
                        scenario.name,
                        scenario.kernel_only ? "  (kernel)" : "",
                        scenario.in_gate ? "" : "  (not in the gate)",
                        scenario.sentence,
                        fmt::join(scenario.rows, " "));
  }
  return text;
}

}  // namespace

void add_list(CLI::App& app, Session& session) {
  auto options = std::make_shared<ListOptions>();
  CLI::App* verb = app.add_subcommand("list", "The scenarios, with what each shows");
  CLI::Option* points =
      verb->add_flag("--points", options->points, "The table of calls, with the errnos tried");
  verb->add_flag("--rows", options->rows, "Rows of the specification, with their scenarios")
      ->excludes(points);
  verb->callback([options, &session] {
    std::cout << (options->points ? text_of_points()
                  : options->rows ? text_of_rows()
                                  : text_of_scenarios())
              << std::flush;
    session.end(Exit::clean);
  });
}

}  // namespace lastref::harness
