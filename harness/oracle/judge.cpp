// judge: all oracles, and the journal as crossings and as text.
#include <array>
#include <deque>
#include <map>

#include "harness/oracle/oracles.hpp"

namespace lastref::harness {
namespace {

using Oracle = std::vector<Finding> (*)(const Evidence&);

constexpr std::array<Oracle, 15> oracles = {oracle::refuted,
                                            oracle::no_crash,
                                            oracle::no_hang,
                                            oracle::no_premature_unlink,
                                            oracle::refcount_exact,
                                            oracle::no_leak,
                                            oracle::stays,
                                            oracle::no_fd_leak,
                                            oracle::no_stray_process,
                                            oracle::no_corruption,
                                            oracle::caches_are_linearizable,
                                            oracle::is_private,
                                            oracle::error_surfaced,
                                            oracle::quiet,
                                            oracle::works};

constexpr std::size_t last_of_each_process = 10;

bool is_crossing(const Record& record) noexcept {
  return (record.kind == RecordKind::begin || record.kind == RecordKind::end) && !record.observed;
}

}  // namespace

std::vector<Finding> judge(const Evidence& evidence) {
  std::vector<Finding> findings;
  for (const Oracle oracle : oracles) {
    for (Finding& finding : oracle(evidence)) {
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

Outcome outcome_of(const Evidence& evidence) {
  Outcome outcome;
  outcome.findings = judge(evidence);
  if (evidence.plan.wants_crossings) {
    outcome.crossings = crossings_of(evidence.records);
  }
  if (!outcome.findings.empty()) {
    outcome.last_crossings = last_crossings_of(evidence.records);
  }
  outcome.standard_error = evidence.standard_error;
  for (const Record& record : evidence.records) {
    outcome.kills += is_fact(record, fact::died) && record.text == fact::killed ? 1U : 0U;
    outcome.faults_fired += is_fact(record, fact::fired) ? 1U : 0U;
  }
  const oracle::Leftovers leftovers = oracle::leftovers_of(evidence);
  outcome.leftovers = leftovers.promised;
  outcome.unpromised = leftovers.unpromised;
  return outcome;
}

std::vector<Crossing> crossings_of(std::span<const Record> records) {
  std::vector<Crossing> crossings;
  std::map<std::pair<std::uint16_t, std::uint16_t>, std::size_t> under_way;
  for (const Record& record : records) {
    if (!is_crossing(record)) {
      continue;
    }
    const std::pair key{record.process, record.actor};
    if (record.kind == RecordKind::begin) {
      under_way[key] = crossings.size();
      crossings.push_back({.site = {.role = std::string(record.role.view()),
                                    .name = std::string(record.name.view()),
                                    .object = std::string(record.object.view()),
                                    .k = record.k},
                           .error = -1,
                           .injected = false,
                           .waited = false});
    } else if (const auto found = under_way.find(key); found != under_way.end()) {
      Crossing& crossing = crossings[found->second];
      crossing.error = record.error;
      crossing.injected = record.injected;
      crossing.waited = record.waited;
      under_way.erase(found);
    }
  }
  return crossings;
}

std::vector<std::string> last_crossings_of(std::span<const Record> records) {
  std::map<std::uint16_t, std::deque<std::string>> last;
  for (const Record& record : records) {
    // A call that came back is told by its end alone, unless it never came back.
    if (record.observed || record.kind == RecordKind::operation_begin) {
      continue;
    }
    std::deque<std::string>& lines = last[record.process];
    const bool completes =
        record.kind == RecordKind::end && !lines.empty() && lines.back().ends_with(" ...");
    if (completes) {
      lines.pop_back();
    }
    lines.push_back(to_text(record));
    if (lines.size() > last_of_each_process) {
      lines.pop_front();
    }
  }
  std::vector<std::string> all;
  for (const auto& [process, lines] : last) {
    all.insert(all.end(), lines.begin(), lines.end());
  }
  return all;
}

}  // namespace lastref::harness
