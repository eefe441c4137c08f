#include "harness/report/junit.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "harness/platform/names.hpp"
#include "harness/report/bytes_in_json.hpp"

namespace lastref::harness {
namespace {

void add_violations(const ViolationGroup& group, std::string& xml) {
  xml += fmt::format("      <failure type=\"violation\" message=\"{}\">", xml_of(group.claim));
  std::string text = counted(group.count, "time") + ".\n";
  for (const Violation& violation : group.first) {
    if (!group.label.empty()) {
      text += fmt::format("{} {}\n", group.label, violation.seen);
      continue;
    }
    text += fmt::format(
        "\nseen: {}\n{}\n", violation.seen, violation.repeats ? "repeats" : "did not repeat");
    for (const std::string& line : violation.last_crossings) {
      text += "  " + line + "\n";
    }
    text += violation.replay + "\n";
  }
  if (!group.label.empty() && !group.first.empty()) {
    text += group.first.front().replay + "\n";
  }
  xml += xml_of(text) + "</failure>\n";
}

void add_difference(const Difference& difference, std::string& xml) {
  xml += fmt::format("      <error type=\"not_deterministic\" message=\"{}\">{}</error>\n",
                     xml_of("the same plan gave different runs"),
                     xml_of(difference.seen + "\n" + difference.replay));
}

struct Suite {
  std::string body;
  std::size_t tests = 0;
  std::size_t failures = 0;
  std::size_t errors = 0;

  void add(const Report& report, const ReportCase& each) {
    std::string inside;
    bool fails = false;
    bool errs = false;
    for (const ViolationGroup& group : report.groups) {
      if (group.scenario == each.scenario) {
        add_violations(group, inside);
        fails = true;
      }
    }
    for (const Difference& difference : report.differences) {
      if (difference.scenario == each.scenario) {
        add_difference(difference, inside);
        errs = true;
      }
    }
    if (!each.error.empty()) {
      inside += fmt::format("      <error type=\"incomplete\" message=\"{}\">{}</error>\n",
                            xml_of(each.error.substr(0, each.error.find('\n'))),
                            xml_of(each.error));
      errs = true;
    }
    if (!each.output.empty()) {
      inside += fmt::format("      <system-out>{}</system-out>\n", xml_of(each.output));
    }
    ++tests;
    failures += fails ? 1U : 0U;
    errors += errs ? 1U : 0U;
    body += fmt::format(
        "    <testcase classname=\"{}\" name=\"{}\" time=\"{:.3f}\">\n{}    </testcase>\n",
        xml_of(each.suite),
        xml_of(each.name),
        each.seconds,
        inside);
  }
};

}  // namespace

std::size_t size_in_xml(std::string_view text) {
  const char first = text.front();
  const bool is_control = (first >= 0 && first < ' ') || first == 0x7f;
  return is_control && first != '\t' && first != '\n' ? 0 : size_of_character(text);
}

std::string xml_of(std::string_view text) {
  std::string xml;
  while (!text.empty()) {
    const std::size_t size = size_in_xml(text);
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
  for (const ReportCase& each : report.cases) {
    suites[each.suite].add(report, each);
  }
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
      "<testsuites name=\"lastref {}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" "
      "time=\"{:.3f}\">\n{}</testsuites>\n",
      xml_of(report.verb),
      all.tests,
      all.failures,
      all.errors,
      report.seconds,
      body);
}

}  // namespace lastref::harness
