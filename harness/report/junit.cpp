#include "harness/report/junit.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

namespace lastref::harness {
namespace {

/// The length of the UTF-8 character at the front, 0 if it is not one that XML allows.
std::size_t size_of_character(std::string_view text) {
  const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    const bool allowed = (first >= 0x20 && first != 0x7f) || first == '\t' || first == '\n';
    return allowed ? 1 : 0;
  }
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < size) {
    return 0;
  }
  std::uint32_t code = first & (0xffU >> (size + 1));
  for (std::size_t at = 1; at < size; ++at) {
    if ((byte(at) & 0xc0U) != 0x80U) {
      return 0;
    }
    code = code << 6U | (byte(at) & 0x3fU);
  }
  const bool overlong = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  const bool no_character = code == 0xfffe || code == 0xffff || code > 0x10ffff;
  return overlong || surrogate || no_character ? 0 : size;
}

std::string_view family_of(std::string_view scenario) {
  return scenario.substr(0, scenario.find('/'));
}

std::string_view rest_of(std::string_view scenario) {
  const std::size_t slash = scenario.find('/');
  return slash == std::string_view::npos ? scenario : scenario.substr(slash + 1);
}

void add_violations(const ViolationGroup& group, std::string& xml) {
  xml += fmt::format("      <failure type=\"violation\" message=\"{}\">", xml_of(group.claim));
  xml += xml_of(fmt::format("{} times.\n", group.count));
  for (const Violation& violation : group.first) {
    xml += xml_of(fmt::format(
        "\nseen: {}\n{}\n", violation.seen, violation.repeats ? "repeats" : "did not repeat"));
    for (const std::string& line : violation.last_crossings) {
      xml += xml_of("  " + line + "\n");
    }
    xml += xml_of(violation.replay + "\n");
  }
  xml += "</failure>\n";
}

void add_difference(const Difference& difference, std::string& xml) {
  xml += fmt::format("      <error type=\"not_deterministic\" message=\"{}\">{}</error>\n",
                     xml_of("the same plan gave different runs"),
                     xml_of(difference.seen + "\n" + difference.replay));
}

struct Case {
  std::string body;
  bool fails = false;
  bool errs = false;
  double seconds = 0;
};

Case case_of(const Report& report, const ScenarioReport& scenario) {
  Case made;
  made.seconds = scenario.seconds;
  for (const ViolationGroup& group : report.groups) {
    if (group.scenario == scenario.name) {
      add_violations(group, made.body);
      made.fails = true;
    }
  }
  for (const Difference& difference : report.differences) {
    if (difference.scenario == scenario.name) {
      add_difference(difference, made.body);
      made.errs = true;
    }
  }
  made.body += fmt::format("      <system-out>{}</system-out>\n",
                           xml_of(fmt::format("{}\n{} sites, {} of {} faults executed, {} runs",
                                              scenario.sentence,
                                              scenario.sites,
                                              scenario.matrix.executed,
                                              scenario.matrix.total,
                                              scenario.runs)));
  return made;
}

/// Problems of the whole that belong to no single scenario.
Case case_of_completeness(const Report& report) {
  Case made;
  if (exit_of(report) == Exit::incomplete) {
    std::string text = verdict_of(report);
    for (const std::string& point : report.never_reached) {
      text += "\nnever reached: " + point;
    }
    for (const ProbeReport* probe : never_seen(report)) {
      text += "\nnever seen: " + probe->name + ": " + probe->sentence;
    }
    made.body = fmt::format("      <error type=\"incomplete\" message=\"{}\">{}</error>\n",
                            xml_of(verdict_of(report)),
                            xml_of(text));
    made.errs = true;
  }
  return made;
}

struct Suite {
  std::string body;
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;

  void add(std::string_view family, std::string_view name, const Case& made) {
    ++tests;
    failures += made.fails ? 1U : 0U;
    errors += made.errs ? 1U : 0U;
    body += fmt::format(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">\n{}    "
        "</testcase>\n",
        xml_of(family),
        xml_of(name),
        made.seconds,
        made.body);
  }
};

}  // namespace

std::string xml_of(std::string_view text) {
  std::string xml;
  while (!text.empty()) {
    const std::size_t size = size_of_character(text);
    switch (size == 0 ? '\0' : text.front()) {
      case '\0':
        xml += '?';
        break;
      case '&':
        xml += "&amp;";
        break;
      case '<':
        xml += "&lt;";
        break;
      case '>':
        xml += "&gt;";
        break;
      case '"':
        xml += "&quot;";
        break;
      default:
        xml += text.substr(0, size);
    }
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return xml;
}

std::string to_junit(const Report& report) {
  std::map<std::string, Suite, std::less<>> suites;
  for (const ScenarioReport& scenario : report.scenarios) {
    const std::string_view family = family_of(scenario.name);
    suites[std::string(family)].add(family, rest_of(scenario.name), case_of(report, scenario));
  }
  suites["gate"].add("gate", "complete", case_of_completeness(report));
  Suite all;
  std::string body;
  for (const auto& [family, suite] : suites) {
    body += fmt::format(
        "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\">\n{}  </testsuite>\n",
        xml_of(family),
        suite.tests,
        suite.failures,
        suite.errors,
        suite.body);
    all.tests += suite.tests;
    all.failures += suite.failures;
    all.errors += suite.errors;
  }
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<testsuites name=\"lastref gate\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
      "time=\"{:.3f}\">\n{}</testsuites>\n",
      all.tests,
      all.failures,
      all.errors,
      report.seconds,
      body);
}

}  // namespace lastref::harness
