// judge: runs all oracles, and turns the journal into crossings and text.
#include <algorithm>
#include <array>
#include <deque>
#include <iterator>
#include <map>

#include "harness/oracle/oracles.hpp"
#include "harness/oracle/results.hpp"

namespace lastref::harness {
namespace {

struct Oracle {
  std::string_view name;
  Judgement (*ask)(const Evidence&);
};

constexpr std::array oracles = {
    Oracle{"refuted", oracle::refuted},
    Oracle{"no-crash", oracle::no_crash},
    Oracle{"no-hang", oracle::no_hang},
    Oracle{"no-premature-unlink", oracle::no_premature_unlink},
    Oracle{"refcount-exact", oracle::refcount_exact},
    Oracle{"held-first", oracle::held_first},
    Oracle{"no-leak", oracle::no_leak},
    Oracle{"no-leak at the next start", oracle::no_leak_at_next_start},
    Oracle{"stays", oracle::stays},
    Oracle{"no-fd-or-map-leak", oracle::no_fd_leak},
    Oracle{"no-stray-process", oracle::no_stray_process},
    Oracle{"workers-follow", oracle::workers_follow},
    Oracle{"no-corruption", oracle::no_corruption},
    Oracle{"whole: arrays", oracle::arrays_are_whole},
    Oracle{"whole: live caches", oracle::live_caches_are_whole},
    Oracle{"whole: preserved caches", oracle::preserved_caches_are_whole},
    Oracle{"whole: ledgers", oracle::ledgers_are_whole},
    Oracle{"linearizable", oracle::caches_are_linearizable},
    Oracle{"private", oracle::is_private},
    Oracle{"error-surfaced", oracle::error_surfaced},
    Oracle{"quiet", oracle::quiet},
    Oracle{"works", oracle::works},
    Oracle{"synced-first", oracle::synced_first},
    Oracle{"same", oracle::same},
};
static_assert(oracles[index_of_same].ask == oracle::same);

constexpr std::size_t last_of_each_process = 10;

bool is_crossing(const Record& record) noexcept {
  return (record.kind == RecordKind::begin || record.kind == RecordKind::end) && !record.observed &&
         record.name != allocation_site;
}

}  // namespace

std::span<const std::string_view> oracle_names() noexcept {
  static constexpr auto names = [] {
    std::array<std::string_view, oracles.size()> all;
    std::ranges::transform(oracles, all.begin(), &Oracle::name);
    return all;
  }();
  return names;
}

std::vector<Judgement> judge(const Evidence& evidence) {
  std::vector<Judgement> judgements;
  judgements.reserve(oracles.size());
  for (const Oracle& oracle : oracles) {
    judgements.push_back(oracle.ask(evidence));
  }
  return judgements;
}

Outcome outcome_of(const Evidence& evidence) {
  Outcome outcome;
  for (Judgement& judgement : judge(evidence)) {
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
  if (evidence.plan.wants_results || outcome.looks[index_of_same].waiver == Waiver::none) {
    outcome.results = oracle::results_of(evidence);
  }
  if (!outcome.findings.empty() || outcome.results) {
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
