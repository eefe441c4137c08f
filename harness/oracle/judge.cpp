// judge: runs all oracles, and turns the journal into crossings and text.
#include <algorithm>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <utility>

#include "harness/journal/run_log.hpp"
#include "harness/oracle/leftovers.hpp"
#include "harness/oracle/registered_oracle.hpp"
#include "harness/oracle/results.hpp"

namespace lastref::harness {
namespace {

constexpr std::size_t last_of_each_process = 10;

bool is_crossing(const Record& record) noexcept {
  return (record.kind == RecordKind::begin || record.kind == RecordKind::end) && !record.observed &&
         record.name != allocation_site;
}

/// Whether oracles read the end of this call, if it did not fail by a fault.
bool changes_something(const Record& record) noexcept {
  switch (record.call) {
    case Call::none:
      return record.name == row_of(Step::word_change).name;
    case Call::close:
      return record.object == "lock";
    case Call::write:
      return record.object == "stderr";
    case Call::unmap:
      return true;
    case Call::open:
    case Call::write_at:
    case Call::sync:
    case Call::rename:
    case Call::rename_new:
    case Call::link:
    case Call::make_folder:
    case Call::map:
    case Call::create_shm:
    case Call::create_semaphore:
    case Call::bind:
      return record.error == 0;
    default:
      return record.error == 0 && (is_removal(record.call) || record.text.view().ends_with(".npy"));
  }
}

}  // namespace

bool is_notable(const Record& record) noexcept {
  return record.kind == RecordKind::end ? record.injected || changes_something(record)
                                        : record.kind != RecordKind::begin || record.injected;
}

void NotableRecords::select(std::span<const Record> records) const {
  if (from_.data() == records.data() && from_.size() == records.size()) {
    return;
  }
  from_ = records;
  selected_.clear();
  for (const Record& record : records) {
    if (is_notable(record)) {
      selected_.push_back(&record);
    }
  }
}

namespace oracle {

constinit const RegisteredOracle* RegisteredOracle::last_ = nullptr;

const std::vector<const RegisteredOracle*>& RegisteredOracle::all() {
  static const std::vector<const RegisteredOracle*> sorted = [] {
    std::vector<const RegisteredOracle*> oracles;
    for (const auto* each = last_; each != nullptr; each = each->next_) {
      oracles.push_back(each);
    }
    std::ranges::sort(oracles, {}, [](const RegisteredOracle* each) {
      return std::pair(each->concern_, each->name_);
    });
    return oracles;
  }();
  return sorted;
}

}  // namespace oracle

using oracle::RegisteredOracle;

const std::vector<std::string_view>& oracle_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    std::ranges::transform(
        RegisteredOracle::all(), std::back_inserter(all), &RegisteredOracle::name);
    return all;
  }();
  return names;
}

std::vector<std::string_view> names_of_general_oracles() {
  std::vector<std::string_view> names;
  for (const RegisteredOracle* each : RegisteredOracle::all()) {
    if (each->judges_programs()) {
      names.push_back(each->name());
    }
  }
  return names;
}

std::size_t index_of_oracle(std::string_view name) {
  const auto found = std::ranges::find(oracle_names(), name);
  LASTREF_ASSERT(found != oracle_names().end());
  return static_cast<std::size_t>(found - oracle_names().begin());
}

Judgement judge_by(std::string_view name, const Evidence& evidence) {
  return RegisteredOracle::all()[index_of_oracle(name)]->judge(evidence);
}

Outcome outcome_of(const Evidence& evidence) {
  Outcome outcome;
  for (const RegisteredOracle* each : RegisteredOracle::all()) {
    Judgement judgement = each->judge(evidence);
    std::ranges::move(judgement.findings, std::back_inserter(outcome.findings));
    outcome.looks.push_back(judgement.look);
  }
  if (evidence.plan.wants_crossings) {
    outcome.crossings = crossings_of(evidence.records);
  } else if (evidence.plan.wants_aftermath) {
    outcome.crossings = crossings_of(evidence.records);
    std::erase_if(outcome.crossings, [](const Crossing& each) { return each.callers == 0; });
  }
  if (evidence.plan.wants_allocations) {
    outcome.allocations = allocations_of(evidence.records);
  }
  if (evidence.plan.wants_results ||
      outcome.looks[index_of_oracle("same")].waiver == Waiver::none) {
    outcome.results = oracle::results_of(evidence);
  }
  if (evidence.plan.wants_log) {
    outcome.log = std::make_shared<RunLog>();
    outcome.log->records.assign(evidence.records.begin(), evidence.records.end());
  }
  if (!outcome.findings.empty() || outcome.results) {
    outcome.last_crossings = last_crossings_of(evidence.records);
  }
  outcome.standard_error = evidence.standard_error;
  for (const Record& record : evidence.notable()) {
    outcome.kills += is_fact(record, fact::died) && record.text == fact::killed ? 1U : 0U;
    outcome.faults_fired += is_fact(record, fact::fired) ? 1U : 0U;
  }
  const oracle::Leftovers leftovers = oracle::leftovers_of(evidence);
  outcome.leftovers = leftovers.promised;
  outcome.permitted_leftovers = leftovers.permitted;
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
      crossings.push_back(
          {.site = {.role = std::string(record.role.view()),
                    .name = std::string(record.name.view()),
                    .object = std::string(record.object.view()),
                    .k = record.k},
           .error = -1,
           .injected = false,
           .waited = false,
           .has_limit = record.call == Call::poll && record.value > 0,
           .may_be_cut = may_be_cut(record.name.view(), record.object.view(), record.value),
           .callers = record.callers});
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

std::vector<Crossing> allocations_of(std::span<const Record> records) {
  std::vector<Crossing> allocations;
  for (const Record& record : records) {
    if (record.kind == RecordKind::begin && record.name == allocation_site) {
      allocations.push_back({.site = {.role = std::string(record.role.view()),
                                      .name = std::string(record.name.view()),
                                      .object = {},
                                      .k = record.k},
                             .callers = record.callers});
    }
  }
  return allocations;
}

std::vector<std::string> last_crossings_of(std::span<const Record> records) {
  std::map<std::uint16_t, std::deque<std::string>> last;
  for (const Record& record : records) {
    // A call that returned is listed by its end alone.
    const bool is_noted_allocation =
        record.kind == RecordKind::begin && record.name == allocation_site;
    if (record.observed || record.kind == RecordKind::operation_begin || is_noted_allocation) {
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
