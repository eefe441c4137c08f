#include "harness/explore/timeline.hpp"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <lastref/error.hpp>

#include "harness/platform/names.hpp"
#include "harness/scenario/fault.hpp"

namespace lastref::harness {
namespace {

/// The number of accesses of each actor, before and after the window, that may belong to a race.
constexpr std::size_t context = 4;
constexpr std::size_t recent_calls_max = 12;
constexpr std::size_t rows_in_short = 24;

/// A process and a thread of it.
using ActorKey = std::pair<std::uint16_t, std::uint16_t>;

struct Item {
  TimelineRow row;
  std::string name = {};  ///< Of a step: its text without the result
  std::string key = {};   ///< Of its object; empty: none that is shared
  std::string object = {};
  bool writes = false;
  bool is_mark = false;  ///< A switch or a fault
  std::optional<std::size_t> operation = {};
};

std::string call_text(std::string_view name, std::string_view object) {
  return fmt::format("{}({})", name, object);
}

bool starts_call(const Record& record) {
  return record.kind == RecordKind::begin && record.name != allocation_site;
}

/// The text of a fact or an operation, without the role.
std::string text_without_role(const Record& record) {
  std::string text = to_text(record).substr(record.role.view().size() + 1);
  constexpr std::string_view open_end = " ...";
  if (text.ends_with(open_end)) {
    text.resize(text.size() - open_end.size());
  }
  return text;
}

bool is_shown_fact(const Record& record) {
  return std::ranges::none_of(
      std::initializer_list<std::string_view>{
          fact::seen, fact::count, fact::counted, fact::counted_at_once},
      [&](std::string_view name) { return record.name == name; });
}

/// The object of a call as all actors know it; empty if only one process has it.
std::string key_of(const Record& record) {
  const std::string_view object = record.object.view();
  if (record.call == Call::none) {
    return "step " + std::string(record.name.view());  // Nothing says what it is about.
  }
  if (object.empty() || object == "anonymous" || object.starts_with("pipe.") ||
      object.starts_with("process") || has(row_of(record.call).traits, Traits::process_private)) {
    return {};
  }
  // The ends of one connection have different names.
  return object.starts_with("conn") ? "tracker" : std::string(object);
}

class Builder {
 public:
  Builder(const RunLog& log, std::span<const Finding> findings) : log_(log) {
    for (const Finding& each : findings) {
      if (std::ranges::find(left_, each.claim, &Finding::claim) == left_.end()) {
        left_.push_back(each);
      }
    }
  }

  Timeline build() {
    name_columns();
    list_items();
    find_window();
    find_races();
    select();
    return write();
  }

 private:
  void name_columns();
  std::size_t column_of(std::uint16_t process, std::uint16_t actor) const;
  std::size_t column_of_actor(std::uint16_t actor, std::size_t otherwise) const;
  void list_items();
  void add(Item item);
  void add_step(const RunStep& step);
  void add_begin(const Record& record);
  void add_end(const Record& record);
  void add_fact(const Record& record, const Record* next);
  bool add_finding(const Record& record);
  std::string text_before(std::size_t column, std::size_t from) const;
  void find_window();
  void find_context(std::ptrdiff_t from, std::ptrdiff_t step);
  void find_races();
  void select();
  Timeline write();

  const RunLog& log_;
  std::vector<Finding> left_;
  std::map<ActorKey, std::size_t> columns_;
  std::vector<std::string> names_;
  std::vector<Item> items_;
  std::map<std::size_t, std::size_t> open_;        ///< By column: the call in progress
  std::map<std::size_t, std::size_t> operations_;  ///< Likewise
  std::map<std::size_t, std::string> faults_;      ///< By column: of its next call
  std::size_t begin_ = 0;                          ///< The window, in items
  std::size_t end_ = 0;
  std::vector<bool> is_candidate_;
  std::vector<bool> is_shown_;
  std::set<std::string> races_;
  std::size_t switches_ = 0;
};

void Builder::name_columns() {
  std::map<std::uint16_t, std::string> roles;
  std::set<ActorKey> keys;
  for (const Record& each : log_.records) {
    if (each.observed) {
      continue;
    }
    roles.try_emplace(each.process, each.role.view());
    if (each.kind != RecordKind::fact) {
      keys.emplace(each.process, each.actor);
    }
  }
  for (const RunStep& each : log_.steps) {
    roles.try_emplace(each.process, each.role.view());
    keys.emplace(each.process, each.actor);
  }
  // A process may have ended before its first call.
  for (const auto& [process, role] : roles) {
    const auto first = keys.lower_bound({process, 0});
    if (first == keys.end() || first->first != process) {
      keys.emplace(process, static_cast<std::uint16_t>(~0U));
    }
  }
  std::map<std::uint16_t, int> threads;
  for (const ActorKey& each : keys) {
    const int thread = ++threads[each.first];
    columns_[each] = names_.size();
    names_.push_back(roles[each.first] +
                     (thread == 1 ? std::string() : " thread " + std::to_string(thread)));
  }
}

/// A fact may be recorded while an actor of another process runs: then it is about the first actor
/// of its own.
std::size_t Builder::column_of(std::uint16_t process, std::uint16_t actor) const {
  const auto found = columns_.find({process, actor});
  return found != columns_.end() ? found->second : columns_.lower_bound({process, 0})->second;
}

std::size_t Builder::column_of_actor(std::uint16_t actor, std::size_t otherwise) const {
  const auto found =
      std::ranges::find(columns_, actor, [](const auto& each) { return each.first.second; });
  return found == columns_.end() ? otherwise : found->second;
}

void Builder::list_items() {
  auto step = log_.steps.begin();
  for (std::size_t at = 0; at < log_.records.size(); ++at) {
    for (; step != log_.steps.end() && step->record <= at; ++step) {
      add_step(*step);
    }
    const Record& record = log_.records[at];
    if (record.observed) {
      continue;
    }
    const std::size_t column = column_of(record.process, record.actor);
    switch (record.kind) {
      case RecordKind::begin:
        add_begin(record);
        break;
      case RecordKind::end:
        add_end(record);
        break;
      case RecordKind::operation_begin:
        add({.row = {.kind = TimelineRow::Kind::operation,
                     .actor = column,
                     .text = text_without_role(record)}});
        operations_[column] = items_.size() - 1;
        break;
      case RecordKind::operation_end:
        operations_.erase(column);
        break;
      case RecordKind::fact:
        add_fact(record, at + 1 < log_.records.size() ? &log_.records[at + 1] : nullptr);
    }
  }
  for (; step != log_.steps.end(); ++step) {
    add_step(*step);
  }
  for (const auto& [column, at] : open_) {
    items_[at].row.text += " ...";
  }
  for (std::size_t at = 0; at < items_.size(); ++at) {
    if (TimelineRow& row = items_[at].row; row.to) {
      row.text = text_before(row.actor, at);
    }
  }
}

void Builder::add(Item item) {
  if (const auto found = operations_.find(item.row.actor); found != operations_.end()) {
    item.operation = found->second;
  }
  items_.push_back(std::move(item));
}

void Builder::add_step(const RunStep& step) {
  const std::size_t column = column_of(step.process, step.actor);
  if (!step.is_switch) {
    const std::string text = call_text(step.name.view(), step.object.view());
    add({.row = {.actor = column, .text = text},
         .name = text,
         .key = std::to_string(step.process) + '/' + std::string(step.object.view()),
         .object = std::string(step.object.view()) + " of " + std::string(step.role.view()),
         .writes = step.writes});
    return;
  }
  add({.row = {.kind = TimelineRow::Kind::turn,
               .actor = column_of_actor(step.usual, column),
               .to = column_of_actor(step.to, column)},
       .is_mark = true});
  ++switches_;
}

void Builder::add_begin(const Record& record) {
  if (!starts_call(record)) {
    return;
  }
  const std::size_t column = column_of(record.process, record.actor);
  std::string text = call_text(record.name.view(), record.object.view());
  if (record.k > 1) {
    text += '#' + std::to_string(record.k);
  }
  Item item{
      .row = {.actor = column, .text = text},
      .name = text,
      .key = key_of(record),
      .object = std::string(record.call == Call::none ? record.name.view() : record.object.view()),
      .writes = !only_reads(record.call)};
  if (const auto fault = faults_.find(column); fault != faults_.end()) {
    item.row.text += " [" + fault->second + "]";
    item.row.is_fault = true;
    item.is_mark = true;
    faults_.erase(fault);
  }
  add(std::move(item));
  open_[column] = items_.size() - 1;
}

void Builder::add_end(const Record& record) {
  const std::size_t column = column_of(record.process, record.actor);
  const auto found = open_.find(column);
  const bool is_at_once = found != open_.end() && found->second + 1 == items_.size();
  if (!is_at_once) {
    Item returned{
        .row = {.actor = column, .text = call_text(record.name.view(), record.object.view())},
        .key = key_of(record),
        .object = std::string(record.object.view())};
    returned.name = returned.row.text;
    if (found != open_.end()) {
      items_[found->second].row.text += " ...";
    }
    add(std::move(returned));
  }
  if (found != open_.end()) {
    open_.erase(found);
  }
  Item& item = items_.back();
  if (record.error != 0) {
    const char* const name = strerrorname_np(record.error);
    item.row.text += std::string(" = ") + (name == nullptr ? "?" : name);
  } else if (!is_at_once) {
    item.row.text += " = ok";
  }
  if (record.injected) {
    item.row.text += item.row.is_fault ? "" : " [injected]";
    item.row.is_fault = true;
    item.is_mark = true;
  }
}

void Builder::add_fact(const Record& record, const Record* next) {
  const std::size_t column = column_of(record.process, record.actor);
  if (add_finding(record) || !is_shown_fact(record)) {
    return;
  }
  if (record.name == fact::fired) {
    const bool is_of_next = next != nullptr && starts_call(*next) &&
                            next->process == record.process && next->actor == record.actor;
    const std::string kind(record.text.view());
    if (is_of_next) {
      faults_[column] = kind;
      return;
    }
    add({.row = {.kind = TimelineRow::Kind::event,
                 .actor = column,
                 .text = "[" + kind + "]",
                 .is_fault = true},
         .is_mark = true});
    return;
  }
  const bool is_early = record.name == fact::early;
  const bool is_of_process = record.name == fact::born || record.name == fact::died;
  add({.row = {.kind = is_early ? TimelineRow::Kind::turn : TimelineRow::Kind::event,
               .actor = is_of_process ? columns_.lower_bound({record.process, 0})->second : column,
               .text = is_early ? "its time limit ends early" : text_without_role(record)},
       .is_mark = is_early});
  switches_ += is_early ? 1U : 0U;
}

/// Whether the record is where a finding was made: a claim of the scenario, or a hang.
bool Builder::add_finding(const Record& record) {
  const bool is_hang = record.name == fact::hang;
  if (!is_hang && record.name != fact::refuted) {
    return false;
  }
  const auto found = std::ranges::find_if(left_, [&](const Finding& each) {
    return is_hang ? each.claim.starts_with("no-hang")
                   : journal_text(each.claim) == record.text.view();
  });
  if (found == left_.end()) {
    return false;
  }
  add({.row = {.kind = TimelineRow::Kind::finding,
               .actor = column_of(record.process, record.actor),
               .text = found->claim + (found->seen.empty() ? "" : ": " + found->seen)}});
  left_.erase(found);
  return true;
}

/// What an actor was about to do.
std::string Builder::text_before(std::size_t column, std::size_t from) const {
  const auto next = std::find_if(
      items_.begin() + static_cast<std::ptrdiff_t>(from), items_.end(), [&](const Item& each) {
        return each.row.actor == column && !each.name.empty();
      });
  return next == items_.end() ? "paused" : "paused before " + next->name;
}

void Builder::find_window() {
  is_candidate_.assign(items_.size(), false);
  begin_ = items_.size();
  for (std::size_t at = 0; at < items_.size(); ++at) {
    if (!items_[at].is_mark) {
      continue;
    }
    begin_ = std::min(begin_, at);
    end_ = std::max(end_, at + 1);
    for (std::size_t later = at + 1; items_[at].row.to && later < items_.size(); ++later) {
      if (items_[later].row.actor == items_[at].row.actor && !items_[later].name.empty()) {
        end_ = std::max(end_, later + 1);
        break;
      }
    }
  }
  if (begin_ >= end_) {
    begin_ = 0;
    end_ = items_.size();
  }
  std::fill(is_candidate_.begin() + static_cast<std::ptrdiff_t>(begin_),
            is_candidate_.begin() + static_cast<std::ptrdiff_t>(end_),
            true);
  find_context(static_cast<std::ptrdiff_t>(begin_) - 1, -1);
  find_context(static_cast<std::ptrdiff_t>(end_), 1);
}

/// Of the actors that have an item in the window.
void Builder::find_context(std::ptrdiff_t from, std::ptrdiff_t step) {
  std::map<std::size_t, std::size_t> left;
  for (std::size_t at = begin_; at < end_; ++at) {
    left[items_[at].row.actor] = context;
    left[items_[at].row.to.value_or(items_[at].row.actor)] = context;
  }
  const auto size = static_cast<std::ptrdiff_t>(items_.size());
  for (std::ptrdiff_t at = from; at >= 0 && at < size; at += step) {
    const Item& item = items_[static_cast<std::size_t>(at)];
    if (std::size_t& mine = left[item.row.actor]; !item.key.empty() && mine > 0) {
      --mine;
      is_candidate_[static_cast<std::size_t>(at)] = true;
    }
  }
}

void Builder::find_races() {
  struct Accesses {
    std::set<std::size_t> all;
    std::set<std::size_t> writers;
  };
  std::map<std::string, Accesses> by_key;
  for (std::size_t at = 0; at < items_.size(); ++at) {
    const Item& item = items_[at];
    if (is_candidate_[at] && !item.key.empty()) {
      Accesses& accesses = by_key[item.key];
      accesses.all.insert(item.row.actor);
      if (item.writes) {
        accesses.writers.insert(item.row.actor);
      }
    }
  }
  for (const auto& [key, accesses] : by_key) {
    if (accesses.all.size() > 1 && !accesses.writers.empty()) {
      races_.insert(key);
    }
  }
  for (Item& item : items_) {
    item.row.is_race = races_.contains(item.key);
  }
}

void Builder::select() {
  is_shown_.assign(items_.size(), false);
  for (std::size_t at = 0; at < items_.size(); ++at) {
    const Item& item = items_[at];
    const bool is_in_window = at >= begin_ && at < end_;
    switch (item.row.kind) {
      case TimelineRow::Kind::finding:
        is_shown_[at] = true;
        break;
      case TimelineRow::Kind::operation:
      case TimelineRow::Kind::gap:
        break;
      case TimelineRow::Kind::turn:
      case TimelineRow::Kind::event:
        is_shown_[at] = is_in_window;
        break;
      case TimelineRow::Kind::step:
        is_shown_[at] = is_candidate_[at] && (item.row.is_race || item.is_mark || races_.empty());
    }
    if (is_shown_[at] && item.operation) {
      is_shown_[*item.operation] = true;
    }
  }
}

Timeline Builder::write() {
  Timeline timeline{.findings = std::move(left_), .switches = switches_};
  std::vector<std::optional<std::size_t>> places(names_.size());
  std::set<std::size_t> used;
  for (std::size_t at = 0; at < items_.size(); ++at) {
    if (is_shown_[at]) {
      used.insert(items_[at].row.actor);
      used.insert(items_[at].row.to.value_or(items_[at].row.actor));
    }
  }
  for (std::size_t column = 0; column < names_.size(); ++column) {
    if (used.contains(column)) {
      places[column] = timeline.actors.size();
    }
    (used.contains(column) ? timeline.actors : timeline.others).push_back(names_[column]);
  }
  std::set<std::string> objects;
  std::size_t left_out = 0;
  for (std::size_t at = 0; at < items_.size(); ++at) {
    if (!is_shown_[at]) {
      left_out += is_candidate_[at] ? 0U : 1U;
      continue;
    }
    TimelineRow& row = items_[at].row;
    if (left_out > 0 && !timeline.rows.empty()) {
      timeline.rows.push_back(
          {.kind = TimelineRow::Kind::gap, .text = counted(left_out, "other step")});
    }
    left_out = 0;
    row.actor = *places[row.actor];
    row.to = row.to ? places[*row.to] : std::nullopt;
    if (row.is_race) {
      objects.insert(items_[at].object);
    }
    timeline.rows.push_back(std::move(row));
  }
  timeline.objects.assign(objects.begin(), objects.end());
  return timeline;
}

}  // namespace

Timeline timeline_of(const RunLog& log, std::span<const Finding> findings) {
  return Builder(log, findings).build();
}

void explain(Violation& violation, const Timeline& timeline) {
  if (timeline.switches == 0) {
    return;
  }
  violation.timeline = to_text(timeline, {.rows_max = rows_in_short});
  std::vector<std::string> calls;
  for (const TimelineRow& row : timeline.rows) {
    if (row.is_race) {
      calls.push_back(timeline.actors[row.actor] + ' ' + row.text);
    }
  }
  if (!calls.empty()) {
    const std::size_t count = std::min(calls.size(), recent_calls_max);
    violation.last_crossings.assign(calls.end() - static_cast<std::ptrdiff_t>(count), calls.end());
  }
}

}  // namespace lastref::harness
