// linearizable: the histories of caches, from the operations of a run.
//
// An operation "put", "get" or "freeze" begins with "<cache>", "<cache> <slot>" or "<cache> <slot>
// <value>", and ends with its answer: true, false, none, or the value; or with an error. The
// position of a record in the journal is its moment.
#include <algorithm>
#include <cerrno>
#include <charconv>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "harness/history/history.hpp"
#include "harness/oracle/registered_oracle.hpp"

namespace lastref::harness::oracle {
namespace {

std::optional<OperationKind> kind_of(const Record& record) {
  if (record.kind != RecordKind::operation_begin && record.kind != RecordKind::operation_end) {
    return std::nullopt;
  }
  if (record.name == "put") {
    return OperationKind::put;
  }
  if (record.name == "get") {
    return OperationKind::get;
  }
  return record.name == "freeze" ? std::optional(OperationKind::freeze) : std::nullopt;
}

std::uint64_t number_of(std::string_view text) {
  std::uint64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

/// Removes and returns the first token.
std::string_view take_token(std::string_view& text) {
  const std::size_t end = std::min(text.find(' '), text.size());
  const std::string_view token = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return token;
}

/// Whether a preserve that was refused may have frozen its cache: its name was free when the call
/// began, and then was not.
bool may_have_frozen(const Evidence& evidence) {
  return std::ranges::any_of(evidence.notable(), [](const Record& record) {
    return record.injected && record.error == EEXIST &&
           (record.call == Call::rename_new || record.call == Call::link);
  });
}

void end(Operation& operation, const Record& record, Moment moment, bool is_freeze_certain) {
  operation.returned = moment;
  const std::string_view answer = record.text.view();
  const bool is_uncertain = operation.kind == OperationKind::freeze && !is_freeze_certain;
  if (record.error != 0 || (is_uncertain && answer != "true")) {
    operation.ending = Ending::failed;
  } else if (operation.kind != OperationKind::get) {
    operation.ending = answer == "true" ? Ending::yes : Ending::no;
  } else if (answer == "none") {
    operation.ending = Ending::nothing;
  } else {
    operation.ending = Ending::value;
    operation.value = number_of(answer);
  }
}

/// Whether a put may be refused for lack of space.
bool may_refuse(const Evidence& evidence) {
  return evidence.scenario.caches_refuse ||
         std::ranges::any_of(evidence.notable(), [](const Record& record) {
           return record.injected && record.error == ENOSPC;
         });
}

/// The answers of a cache to its callers have an order that write-once slots allow.
Judgement caches_are_linearizable(const Evidence& evidence) {
  std::map<std::string, History, std::less<>> histories;
  using Caller = std::pair<std::uint16_t, std::uint16_t>;
  std::map<Caller, std::pair<History*, std::size_t>> under_way;
  const bool is_freeze_certain = !may_have_frozen(evidence);
  for (const Record& record : evidence.notable()) {
    const auto kind = kind_of(record);
    if (!kind) {
      continue;
    }
    const auto moment = static_cast<Moment>(&record - evidence.records.data() + 1);
    const Caller caller(record.process, record.actor);
    if (record.kind == RecordKind::operation_end) {
      if (const auto found = under_way.find(caller); found != under_way.end()) {
        Operation& operation = found->second.first->operations[found->second.second];
        end(operation, record, moment, is_freeze_certain);
        under_way.erase(found);
      }
      continue;
    }
    std::string_view asked = record.text.view();
    History& history = histories[std::string(take_token(asked))];
    Operation operation{.invoked = moment, .kind = *kind};
    operation.slot = number_of(take_token(asked));
    operation.value = number_of(asked);
    operation.actor = static_cast<std::uint32_t>(history.actors.size());
    history.actors.emplace_back(record.role.view());
    under_way[caller] = {&history, history.operations.size()};
    history.operations.push_back(operation);
  }
  Judgement judgement;
  for (auto& [cache, history] : histories) {
    judgement.look.seen += static_cast<std::uint32_t>(history.operations.size());
    // Counts informative answers; the answer for an empty slot is not one.
    judgement.look.filled += static_cast<std::uint32_t>(
        std::ranges::count_if(history.operations, [](const Operation& each) {
          return each.ending == Ending::value || each.ending == Ending::yes;
        }));
    history.refusals = may_refuse(evidence)           ? Refusals::at_any_time
                       : cache.starts_with("limited") ? Refusals::at_a_limit
                                                      : Refusals::when_frozen;
    for (Finding& finding : linearizable(history)) {
      judgement.findings.push_back(std::move(finding));
    }
  }
  return judgement;
}

const RegisteredOracle registered_caches_are_linearizable("linearizable",
                                                          Concern::contents,
                                                          caches_are_linearizable);

}  // namespace
}  // namespace lastref::harness::oracle
