// quiet: in an undisturbed run the messages that users need are written, and no others.
#include <algorithm>

#include "harness/oracle/benign.hpp"
#include "harness/oracle/registered_oracle.hpp"
#include "harness/scenario/ambient.hpp"

namespace lastref::harness::oracle {
namespace {

bool is_expected(const Scenario& scenario, std::string_view line) {
  const auto is_in_line = [&](const std::string& noise) {
    return line.find(noise) != std::string_view::npos;
  };
  return std::ranges::any_of(scenario.expected_noise, is_in_line) ||
         std::ranges::any_of(scenario.possible_noise, is_in_line);
}

/// In an undisturbed run the expected messages are written, and no others.
Judgement quiet(const Evidence& evidence) {
  Judgement judgement;
  const Ambient* const ambient = ambient_named(evidence.plan.ambient);
  if (ambient != nullptr && !ambient->is_quiet_judged) {
    return waived(Waiver::ambient);
  }
  if (!is_unnoticed(evidence)) {
    return waived(Waiver::has_fault);
  }
  judgement.look.seen = 1;
  for (const std::string& noise : evidence.scenario.expected_noise) {
    ++judgement.look.filled;
    if (evidence.standard_error.find(noise) == std::string_view::npos) {
      judgement.findings.push_back({.claim = "quiet: what users have to know is reported",
                                    .seen = "nothing like \"" + noise + "\" on standard error"});
    }
  }
  std::string_view rest = evidence.standard_error;
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    judgement.look.filled += line.empty() ? 0U : 1U;
    if (!line.empty() && !is_expected(evidence.scenario, line)) {
      judgement.findings.push_back({.claim = "quiet: without an error, nothing is reported",
                                    .seen = "\"" + std::string(line) + "\" on standard error"});
    }
  }
  return judgement;
}

const RegisteredOracle registered_quiet("quiet", Concern::conduct, quiet);

}  // namespace
}  // namespace lastref::harness::oracle
