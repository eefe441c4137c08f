#include "harness/cli/sweep_report.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/platform/names.hpp"
#include "harness/warden/tree_fault.hpp"

namespace lastref::harness {
namespace {

using Json = nlohmann::ordered_json;

/// The text without the numbers of threads and children.
std::string without_numbers(std::string_view text) {
  static constexpr std::string_view before[] = {"(thread ", "child.", "orphan.", ", and "};
  std::string kept;
  while (!text.empty()) {
    std::size_t length = 1;
    for (const std::string_view word : before) {
      length = text.starts_with(word) ? word.size() : length;
    }
    kept += text.substr(0, length);
    text.remove_prefix(length);
    if (length > 1) {
      text.remove_prefix(std::min(text.find_first_not_of("0123456789."), text.size()));
      kept += '*';
    }
  }
  return kept;
}

/// Which kinds of faults explain a finding best: a program cannot prevent that SIGKILL leaves
/// something, but can handle errors and other signals. A limit may cause several errors.
int rank_of(const std::string& cell) {
  const auto fault = warden::parse_tree_fault(cell);
  const FaultEffect effect = fault ? row_of(fault->action.kind).effect : FaultEffect::send;
  return effect == FaultEffect::kill ? 2 : effect == FaultEffect::send ? 1 : 0;
}

/// "root/openat(/tmp/a)": where the fault is injected, whichever it is.
std::string place_of(const std::string& cell) {
  const auto fault = warden::parse_tree_fault(cell);
  return fault ? fmt::format("{}/{}({})", fault->role, fault->call, fault->object) : cell;
}

/// "after FAULT, 5 of 5 times", what makes its call, and the other faults that show it.
std::string examples_of(const SweptProgram& program, const SweepGroup& group) {
  const Confirmation* const found = confirmation_of(program, group);
  const Confirmation confirmed = found == nullptr ? Confirmation() : *found;
  std::string text = fmt::format("\n                after {}, {} of {} times",
                                 program.cells[group.cells.front()],
                                 confirmed.times,
                                 confirmed.runs);
  if (const std::string& at = program.outcomes.at(group.cells.front()).at; !at.empty()) {
    text += fmt::format("\n                at {}", at);
  }
  constexpr std::size_t shown_max = 4;
  for (std::size_t at = 1; at < std::min(group.cells.size(), shown_max); ++at) {
    text += fmt::format("\n                also after {}", program.cells[group.cells[at]]);
  }
  if (group.cells.size() > shown_max) {
    text += fmt::format("\n                and {} more", group.cells.size() - shown_max);
  }
  return text;
}

/// The same text in each checkout of a project
std::string without_folder(std::string text, const std::string& folder) {
  for (std::size_t at = text.find(folder); !folder.empty() && at != std::string::npos;
       at = text.find(folder, at)) {
    text.erase(at, folder.size());
  }
  return text;
}

void add_findings(Report& report,
                  const SweptProgram& program,
                  const std::vector<SweepGroup>& groups) {
  for (const SweepGroup& group : groups) {
    const Confirmation* const confirmed = confirmation_of(program, group);
    add(report,
        {.scenario = program.name,
         .claim = group.shown.claim,
         .seen = group.shown.seen + examples_of(program, group),
         .fingerprint = group.fingerprint,
         .repeats = confirmed != nullptr && confirmed->times > 1,
         .replay = program.outcomes.at(group.cells.front()).command},
        "");
  }
}

SweepCell::Outcome outcome_of(const SweptProgram& program, std::size_t cell) {
  const auto outcome = program.outcomes.find(cell);
  if (outcome == program.outcomes.end()) {
    return SweepCell::Outcome::not_tried;
  }
  switch (outcome->second.result) {
    case CellResult::tried:
      return SweepCell::Outcome::clean;
    case CellResult::not_injected:
      return SweepCell::Outcome::not_injected;
    case CellResult::refused:
      return SweepCell::Outcome::not_tried;
  }
  LASTREF_ASSERT(false);
}

SweepMap map_of(const SweptProgram& program, const std::vector<SweepGroup>& groups) {
  SweepMap map{.program = program.name};
  for (std::size_t at = 0; at < program.cells.size(); ++at) {
    const std::string& cell = program.cells[at];
    const auto fault = warden::parse_tree_fault(cell);
    if (!fault) {
      const std::size_t space = cell.find(' ');  // "private /dev/shm=4k"
      map.cells.push_back({.role = "*",
                           .call = cell.substr(0, space),
                           .object = cell.substr(space + 1),
                           .k = 1,
                           .fault = "whole run",
                           .outcome = outcome_of(program, at)});
      continue;
    }
    map.cells.push_back({.role = fault->role,
                         .call = std::string(fault->call),
                         .object = fault->object,
                         .k = fault->k,
                         .fault = to_text(fault->action),
                         .outcome = outcome_of(program, at)});
  }
  for (const SweepGroup& group : groups) {
    for (const std::size_t at : group.cells) {
      map.cells[at].outcome = SweepCell::Outcome::finding;
      map.cells[at].fingerprints.push_back(group.fingerprint);
    }
  }
  return map;
}

/// What runs without faults show, by fingerprint
std::map<std::string, ShownFinding> without_faults(const SweptProgram& program) {
  std::map<std::string, ShownFinding> all;
  for (const ShownFinding& each : program.shown_without_faults) {
    all.emplace(fingerprint_of(program, each, std::nullopt), each);
  }
  return all;
}

}  // namespace

bool is_hang(const ShownFinding& shown) {
  return shown.claim.starts_with("no-hang:");
}

std::string fingerprint_of(const SweptProgram& program,
                           const ShownFinding& shown,
                           std::optional<std::size_t> cell) {
  const std::string what = is_hang(shown) && cell ? place_of(program.cells[*cell]) : shown.seen;
  return fingerprint_of(
      program.name, shown.claim, without_numbers(without_folder(what, program.folder)));
}

std::vector<SweepGroup> groups_of(const SweptProgram& program) {
  std::vector<std::tuple<int, std::size_t>> order;
  for (const auto& [cell, outcome] : program.outcomes) {
    if (!outcome.shown.empty()) {
      order.emplace_back(rank_of(program.cells[cell]), cell);
    }
  }
  std::ranges::sort(order);
  const std::map<std::string, ShownFinding> dropped = without_faults(program);
  std::vector<SweepGroup> groups;
  for (const auto& [rank, cell] : order) {
    for (const ShownFinding& shown : program.outcomes.at(cell).shown) {
      const std::string fingerprint = fingerprint_of(program, shown, cell);
      if (dropped.contains(fingerprint)) {
        continue;
      }
      auto group = std::ranges::find(groups, fingerprint, &SweepGroup::fingerprint);
      if (group == groups.end()) {
        groups.push_back({.fingerprint = fingerprint, .shown = shown, .cells = {}});
        group = groups.end() - 1;
      }
      if (group->cells.empty() || group->cells.back() != cell) {
        group->cells.push_back(cell);  // One run may show the same of several processes.
      }
    }
  }
  return groups;
}

const Confirmation* confirmation_of(const SweptProgram& program, const SweepGroup& group) {
  const auto found = std::ranges::find_if(program.confirmations, [&](const Confirmation& each) {
    return each.cell == group.cells.front() &&
           fingerprint_of(program, each.shown, each.cell) == group.fingerprint;
  });
  return found == program.confirmations.end() ? nullptr : &*found;
}

Report report_of(const SweptProgram& program, std::size_t wanted) {
  const std::vector<SweepGroup> groups = groups_of(program);
  std::vector<std::string> not_injected;
  std::string after;
  for (const auto& [fingerprint, shown] : without_faults(program)) {
    after += fmt::format("NOT COMPARED   {} in a run without faults, too\n", shown.seen);
  }
  std::string refused;
  for (const auto& [cell, outcome] : program.outcomes) {
    if (outcome.result == CellResult::not_injected) {
      not_injected.push_back(program.cells[cell]);
      after += fmt::format("NOT INJECTED   {}\n", program.cells[cell]);
    } else if (outcome.result == CellResult::refused) {
      refused += fmt::format("NOT TRIED      {}: {}\n", program.cells[cell], outcome.why);
    }
  }
  const std::size_t tried = program.outcomes.size();
  const bool is_complete = tried >= wanted && not_injected.empty() && refused.empty();
  Report report{.verb = "run",
                .exit = !groups.empty() ? Exit::violation
                        : is_complete   ? Exit::clean
                                        : Exit::incomplete,
                .verdict = fmt::format("{} of {} faults tried, {} not injected; {}",
                                       tried,
                                       wanted,
                                       not_injected.size(),
                                       counted(groups.size(), "finding")),
                .after = after + refused};
  add_findings(report, program, groups);
  report.fields = std::make_shared<const Json>(Json{{"faults", wanted},
                                                    {"all_faults", program.cells.size()},
                                                    {"tried", tried},
                                                    {"not_injected", not_injected}});
  report.maps = {map_of(program, groups)};
  report.cases = {{.suite = "run",
                   .name = program.name,
                   .scenario = program.name,
                   .error = report.exit == Exit::incomplete ? report.verdict : "",
                   .line = program.line}};
  return report;
}

}  // namespace lastref::harness
