#include "harness/report/junit.hpp"

#include <algorithm>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "harness/platform/names.hpp"

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
