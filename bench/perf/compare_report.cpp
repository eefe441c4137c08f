// The report of a comparison, as text and as JSON.
#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "bench/perf/benchmark_program.hpp"
#include "bench/perf/compare.hpp"
#include "bench/perf/machine.hpp"

namespace lastref::perf {
namespace {

using Json = nlohmann::ordered_json;

bool needs_another_look(const ComparedRow& row) {
  return (row.judgement.verdict == Verdict::slower && row.judgement.is_beyond) ||
         row.judgement.verdict == Verdict::cannot_tell;
}

std::string verdict_of(const Judgement& judgement, const Rules& rules) {
  const double percent = rules.tolerance * 100;
  switch (judgement.verdict) {
    case Verdict::same:
      return fmt::format("same within ±{:g} %", percent);
    case Verdict::faster:
    case Verdict::slower:
      return fmt::format("{}, {} {:g} %",
                         name_of(judgement.verdict),
                         judgement.is_beyond ? "beyond" : "within",
                         percent);
    case Verdict::cannot_tell:
      return name_of(judgement.verdict);
  }
  return {};
}

std::string bound(double value) {
  return std::isfinite(value) && value > 0 ? fmt::format("{:.3f}", value) : "?";
}

/// The width of UTF-8 text, to align columns.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char byte) { return (byte & 0xC0) != 0x80; }));
}

std::string filled_up(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, width_of(text)), ' ');
}

std::size_t count_of(const Comparison& comparison, Verdict verdict, bool is_beyond) {
  return static_cast<std::size_t>(std::ranges::count_if(comparison.rows, [&](const auto& row) {
    return row.judgement.verdict == verdict && row.judgement.is_beyond == is_beyond;
  }));
}

std::string totals_of(const Comparison& comparison) {
  struct Kind {
    std::size_t count;
    const char* what;
  };
  std::string line;
  for (const auto& [count, what] : std::initializer_list<Kind>{
           {count_of(comparison, Verdict::slower, /*is_beyond=*/true),
            "slower beyond the tolerance"},
           {count_of(comparison, Verdict::slower, /*is_beyond=*/false), "slower within it"},
           {count_of(comparison, Verdict::faster, /*is_beyond=*/true), "faster beyond it"},
           {count_of(comparison, Verdict::faster, /*is_beyond=*/false), "faster within it"},
           {count_of(comparison, Verdict::same, /*is_beyond=*/false), "the same"},
           {count_of(comparison, Verdict::cannot_tell, /*is_beyond=*/false), "cannot be told"}}) {
    if (count > 0) {
      line += fmt::format("{}{} {}", line.empty() ? "" : ", ", count, what);
    }
  }
  return line;
}

std::string list_of(const char* title, const std::vector<std::string>& names) {
  return names.empty() ? "" : fmt::format("{}: {}\n", title, fmt::join(names, ", "));
}

/// Quotes a word for a shell, which expands ~ to a home folder at the beginning of a name.
std::string for_shell(const std::string& word) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:=,+@%~^";
  const std::size_t home = word.find('~');
  const bool has_home =
      home != std::string::npos && (home == 0 || word[home - 1] == ':' || word[home - 1] == '=');
  if (!word.empty() && !has_home && word.find_first_not_of(plain) == std::string::npos) {
    return word;
  }
  std::string safe = "'";
  for (const char letter : word) {
    safe += letter == '\'' ? std::string(R"('\'')") : std::string(1, letter);
  }
  return safe + '\'';
}

Json json_of(double value) {
  return std::isfinite(value) ? Json(value) : Json(nullptr);
}

Json json_of(const ComparedRow& row) {
  const Judgement& judgement = row.judgement;
  return {{"name", row.name},
          {"verdict", name_of(judgement.verdict)},
          {"beyond_tolerance", judgement.is_beyond},
          {"ratio", json_of(judgement.ratio)},
          {"ratio_low", json_of(judgement.interval.low)},
          {"ratio_high", json_of(judgement.interval.high)},
          {"p", judgement.p},
          {judgement.has_pairs ? "pairs" : "repetitions", judgement.pairs},
          {"why", judgement.why.empty() ? Json(nullptr) : Json(judgement.why)},
          {"a_seconds", row.a},
          {"b_seconds", row.b}};
}

}  // namespace

std::string text_of(const Comparison& comparison, const CompareOptions& options) {
  std::size_t name_width = 9;
  std::size_t verdict_width = 7;
  for (const ComparedRow& row : comparison.rows) {
    name_width = std::max(name_width, width_of(row.name));
    verdict_width = std::max(verdict_width, width_of(verdict_of(row.judgement, comparison.rules)));
  }
  std::string text = fmt::format("{}  {}  {:>7}  {:>15}  {:>7}  {:>5}\n",
                                 filled_up("", name_width),
                                 filled_up("B is", verdict_width),
                                 "B to A",
                                 "interval",
                                 "p",
                                 comparison.has_pairs ? "pairs" : "times");
  for (const ComparedRow& row : comparison.rows) {
    const Judgement& judgement = row.judgement;
    text += fmt::format("{}  {}  {:>7}  {:>15}  {:>7.1g}  {:>5}{}\n",
                        filled_up(row.name, name_width),
                        filled_up(verdict_of(judgement, comparison.rules), verdict_width),
                        bound(judgement.ratio),
                        bound(judgement.interval.low) + " to " + bound(judgement.interval.high),
                        judgement.p,
                        judgement.pairs,
                        judgement.why.empty() ? "" : "  " + judgement.why);
  }
  text += list_of("only in A", comparison.only_in_a);
  text += list_of("only in B", comparison.only_in_b);
  text += totals_of(comparison) + '\n';
  if (comparison.has_pairs) {
    text += fmt::format("on {}\n", name_of(this_machine()));
  } else {
    text += "not measured in pairs: what the machine did meanwhile looks like the program\n";
  }
  if (exit_of(comparison) != harness::Exit::clean) {
    text += "again: " + command_for(comparison, options) + '\n';
  }
  return text;
}

std::string command_for(const Comparison& comparison, const CompareOptions& options) {
  std::string command =
      fmt::format("lastref perf compare {} {}", for_shell(options.a), for_shell(options.b));
  if (options.command.empty()) {
    for (const ComparedRow& row : comparison.rows) {
      if (needs_another_look(row)) {
        command += " --bench " + for_shell(glob_for(row.name));
      }
    }
  }
  const CompareOptions usual;
  if (options.rules.tolerance != usual.rules.tolerance) {
    command += fmt::format(" --tolerance {:g}", options.rules.tolerance * 100);
  }
  if (options.rules.alpha != usual.rules.alpha) {
    command += fmt::format(" --alpha {:g}", options.rules.alpha);
  }
  if (options.rules.pairs_max != usual.rules.pairs_max) {
    command += fmt::format(" --pairs-max {}", options.rules.pairs_max);
  }
  if (options.seconds_at_least != usual.seconds_at_least) {
    command += fmt::format(" --min-time {:g}", options.seconds_at_least);
  }
  if (options.patience != usual.patience) {
    command += fmt::format(" --patience {}", options.patience.count());
  }
  if (options.budget) {
    command += fmt::format(" --budget {}", *options.budget);
  }
  if (options.with_peers) {
    command += " --with-peers";
  }
  if (!options.sides.build.empty()) {
    command += " --build " + for_shell(options.sides.build);
  }
  if (!options.sides.program.empty()) {
    command += " --program " + for_shell(options.sides.program.string());
  }
  command += fmt::format(" --seed {}", comparison.seed);
  if (!options.command.empty()) {
    command += " --";
    for (const std::string& word : options.command) {
      command += ' ' + for_shell(word);
    }
  }
  return command;
}

std::string to_json(const Comparison& comparison) {
  Json rows = Json::array();
  for (const ComparedRow& row : comparison.rows) {
    rows.push_back(json_of(row));
  }
  const Json all = {{"format", "lastref-perf-compare 1"},
                    {"a", comparison.a},
                    {"b", comparison.b},
                    {"machine", name_of(this_machine())},
                    {"seed", comparison.seed},
                    {"tolerance", comparison.rules.tolerance},
                    {"alpha", comparison.rules.alpha},
                    {"coverage", comparison.rules.coverage},
                    {"rows", std::move(rows)},
                    {"only_in_a", comparison.only_in_a},
                    {"only_in_b", comparison.only_in_b},
                    {"exit", static_cast<int>(exit_of(comparison))}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
}

}  // namespace lastref::perf
