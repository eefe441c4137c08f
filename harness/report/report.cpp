#include "harness/report/report.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "harness/platform/hash.hpp"

namespace lastref::harness {
namespace {

bool is_digit(char sign) noexcept {
  return sign >= '0' && sign <= '9';
}

bool is_part_of_name(char sign) noexcept {
  return is_digit(sign) || (sign >= 'a' && sign <= 'z') || (sign >= 'A' && sign <= 'Z');
}

/// "/files/a17.bin" is "/files/#.bin".
std::string without_numbers(std::string_view word) {
  std::string shape;
  while (!word.empty()) {
    const auto end = std::ranges::find_if_not(word, is_part_of_name);
    const std::string_view name(word.begin(), end);
    const bool has_digit = std::ranges::any_of(name, is_digit);
    shape.append(has_digit ? "#" : name);
    word.remove_prefix(name.size());
    if (!word.empty()) {
      shape += word.front();
      word.remove_prefix(1);
    }
  }
  return shape;
}

/// "1, 2, 3 are held" is "#, # are held": a list has the same shape, however long it is.
std::string shape_of(std::string_view seen) {
  std::string shape;
  std::string last;
  while (!seen.empty()) {
    const std::size_t end = std::min(seen.find_first_of(" \n"), seen.size());
    std::string word = without_numbers(seen.substr(0, end));
    seen.remove_prefix(std::min(end + 1, seen.size()));
    if (word != last) {
      shape += word + ' ';
    }
    last = std::move(word);
  }
  return shape;
}

}  // namespace

ReportCase case_of_scenario(const std::string& name) {
  const std::size_t slash = name.find('/');
  return {.suite = name.substr(0, slash),
          .name = slash == std::string::npos ? name : name.substr(slash + 1),
          .scenario = name};
}

std::string fingerprint_of(std::string_view scenario,
                           std::string_view claim,
                           std::string_view seen) {
  const std::uint64_t hash = hash_of(fmt::format("{}\n{}\n{}", scenario, claim, shape_of(seen)));
  return fmt::format("{:08x}", (hash ^ hash >> 32U) & 0xffffffffU);
}

void add(Report& report, Violation violation, std::string_view label) {
  auto group = std::ranges::find_if(report.groups, [&](const ViolationGroup& each) {
    return each.scenario == violation.scenario && each.claim == violation.claim &&
           each.label == label &&
           (each.fingerprint.empty() || violation.fingerprint.empty() ||
            each.fingerprint == violation.fingerprint);
  });
  if (group == report.groups.end()) {
    report.groups.push_back({.scenario = violation.scenario,
                             .claim = violation.claim,
                             .count = 0,
                             .first = {},
                             .label = std::string(label),
                             .fingerprint = violation.fingerprint});
    group = report.groups.end() - 1;
  }
  ++group->count;
  group->first.push_back(std::move(violation));
}

}  // namespace lastref::harness
