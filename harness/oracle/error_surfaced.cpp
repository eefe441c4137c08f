// error-surfaced: an error that was put in is retried away, handled as documented, or told.
#include <algorithm>
#include <cerrno>
#include <optional>
#include <set>
#include <tuple>

#include "harness/oracle/benign.hpp"
#include "harness/oracle/error_names.hpp"
#include "harness/oracle/operations.hpp"
#include "harness/oracle/oracles.hpp"
#include "harness/scenario/responses.hpp"

namespace lastref::harness::oracle {
namespace {

/// Whether `later` closes what `failed` could not use: a connection is given up for another, and
/// what that one has to tell is refcount-exact's to judge; and the end of a pipe of its own wakes a
/// thread as well as a byte in it.
bool gives_up(const Record& failed, const Record& later) noexcept {
  const bool may_be_given_up = failed.call == Call::send || failed.call == Call::receive ||
                               (failed.call == Call::write && failed.object == "pipe.write");
  return may_be_given_up && later.call == Call::close && later.object == failed.object.view();
}

/// Whether the member whom a tracker could not watch has come to it: it hears of the end of that
/// connection, too.
bool has_come(const Record& failed, const Record& later) noexcept {
  constexpr std::string_view process = "process:";
  constexpr std::string_view connection = "conn:";
  const std::string_view wanted = failed.object.view();
  const std::string_view met = later.object.view();
  return failed.call == Call::open_process && later.call == Call::receive && later.error == 0 &&
         wanted.starts_with(process) && met.starts_with(connection) &&
         wanted.substr(process.size()) == met.substr(connection.size());
}

/// Whether `later` shows that `failed` was tried again on the same thing, and done, or that there
/// is nothing any more to do it to.
bool made_good(const Record& failed, const Record& later) noexcept {
  if (later.kind != RecordKind::end) {
    return false;
  }
  const bool is_same = later.call == failed.call && later.object == failed.object.view();
  const bool is_done = later.error == 0 || (later.error == ENOENT && !later.injected);
  // Gone is gone, whoever did it.
  const bool by_another = is_removal(failed.call) && later.error == 0 && !failed.text.empty() &&
                          later.text == failed.text.view();
  // Or is said to be gone, be it by a fault.
  const bool is_gone = is_removal(failed.call) && later.error == ENOENT &&
                       (later.call == Call::status_at || is_removal(later.call)) &&
                       later.text.view() == failed.text.view();
  return later.process == failed.process
             ? (is_same && is_done) || is_gone || gives_up(failed, later) || has_come(failed, later)
             : is_same && by_another;
}

/// Whether it is a worker of a pool: they are numbered.
bool is_hired(const Record& record) noexcept {
  constexpr std::string_view stem = "worker_";
  const std::string_view role = record.role.view();
  return role.starts_with(stem) && role.size() > stem.size() && role[stem.size()] >= '0' &&
         role[stem.size()] <= '9';
}

/// An error that was put in, and what has come of it.
struct Struck {
  const Record& failed;
  Response response;
  std::span<const Record> later;
  Operations::Names words;       ///< of its thread, the innermost last
  Operations::Names words_near;  ///< of its process
  bool comes_again;
  bool is_meant_to_fail;  ///< The innermost word does without a fault as well.
};

bool has_spoken(const Record& failed, const Record& later) noexcept {
  return later.process == failed.process && later.kind == RecordKind::end &&
         later.name == "write" && later.object == "stderr";
}

/// In a way that others see.
bool has_died(const Record& failed, const Record& later) noexcept {
  return later.process == failed.process && is_fact(later, fact::died) &&
         (later.text != fact::ended || later.value != 0);
}

/// Whether `failed` is any of the business of whoever wrote `later`: a tracker tells whoever asked,
/// a worker of a pool its parent.
bool concerns(const Record& failed, const Record& later) noexcept {
  return later.process == failed.process || is_tracker(failed) || is_hired(failed);
}

/// Whether `later` is an operation that fails with the very error.
bool is_told(const Record& failed, const Record& later) noexcept {
  return later.kind == RecordKind::operation_end && later.error == failed.error &&
         concerns(failed, later);
}

/// The same, with what the error has led to.
bool is_felt(const Record& failed, const Record& later) noexcept {
  return later.kind == RecordKind::operation_end && later.error != 0 && concerns(failed, later);
}

/// A worker whose parent died has nobody left to tell.
bool has_lost_its_parent(const Record& failed, const Record& later) noexcept {
  return is_fact(later, fact::died) && later.role == "root" && is_hired(failed);
}

/// Of a cache that finds no space, false is the answer; only the first time it says more.
bool is_refused(const Record& failed, const Record& later) noexcept {
  return later.process == failed.process && later.kind == RecordKind::operation_end &&
         later.name == "put" && later.text == "false" && failed.error == ENOSPC;
}

bool any_later(const Struck& struck, bool (*shows)(const Record&, const Record&) noexcept) {
  return std::ranges::any_of(struck.later,
                             [&](const Record& later) { return shows(struck.failed, later); });
}

/// Whether the operation that the call was part of did the same to something else, and succeeded: a
/// location that cannot be used is not the last one.
bool fell_back(const Struck& struck) {
  if (struck.words_near.empty()) {
    return false;
  }
  bool is_done_elsewhere = false;
  for (const Record& record : struck.later) {
    if (record.process != struck.failed.process) {
      continue;
    }
    if (record.kind == RecordKind::operation_end && record.name == struck.words_near.back()) {
      return is_done_elsewhere && (record.error == 0 || struck.is_meant_to_fail);
    }
    is_done_elsewhere =
        is_done_elsewhere ||
        (record.kind == RecordKind::end && record.call == struck.failed.call && record.error == 0);
  }
  return false;
}

/// Whether a word that the call was part of fails with its error, or tries again with success.
bool is_answered_by_its_word(const Struck& struck) {
  Operations::Names open = struck.words;
  for (const Record& later : struck.later) {
    if (made_good(struck.failed, later)) {
      return true;
    }
    if (later.process != struck.failed.process || later.actor != struck.failed.actor) {
      continue;
    }
    if (later.kind == RecordKind::operation_begin) {
      open.push_back(later.name.view());
    } else if (later.kind == RecordKind::operation_end) {
      const bool was_under_way = open.size() <= struck.words.size();
      open.pop_back();
      if (was_under_way && later.error == struck.failed.error) {
        return true;
      }
      if (open.empty()) {
        return false;
      }
    }
  }
  return false;
}

/// Whether a word fails because there is no location left in which the call does not.
bool is_out_of_locations(const Struck& struck) {
  return struck.comes_again && std::ranges::any_of(struck.later, [&](const Record& later) {
           return later.process == struck.failed.process &&
                  later.kind == RecordKind::operation_end && later.error == ENOENT;
         });
}

/// A sweep does what it can, and says what stays.
bool is_said_by_a_sweep(const Struck& struck) {
  return struck.words.back() == "sweep" && any_later(struck, has_spoken);
}

/// Whether what has happened since is among what the table of responses lets happen.
bool is_answered(const Struck& struck) {
  if (any_later(struck, has_died) || any_later(struck, has_lost_its_parent)) {
    return true;
  }
  if (struck.response == Response::fail && !struck.words.empty()) {
    return is_answered_by_its_word(struck) || is_said_by_a_sweep(struck) ||
           (is_hired(struck.failed) && any_later(struck, is_told));
  }
  // Outside of any word nobody waits for the error: the next one meets what has come of it. And who
  // takes back what it made says what went wrong before; whether it stays is no-leak's to judge.
  const bool is_second = struck.words.empty() || is_removal(struck.failed.call);
  const bool is_heard = any_later(struck, is_second ? is_felt : is_told);
  return is_heard || any_later(struck, made_good) || any_later(struck, has_spoken) ||
         any_later(struck, is_refused) || fell_back(struck) || is_out_of_locations(struck);
}

/// On a thread of the product's own, it can be told to the next operation only.
bool may_be_told(const Struck& struck) {
  return is_tracker(struck.failed) || !struck.words_near.empty() ||
         std::ranges::any_of(struck.later, [&](const Record& later) {
           return later.process == struck.failed.process &&
                  later.kind == RecordKind::operation_begin && !is_last(later.name.view());
         });
}

/// Whether anybody has to hear of it. The scenario gets the errors of its own calls itself; what
/// cannot be written on standard error cannot be told; and leaving promises to do what can be done,
/// which no-leak judges.
bool matters(const Record& failed, const Operations& operations) {
  return failed.object != "stderr" && !operations.is_own(failed) &&
         std::ranges::none_of(operations.of_process(failed), is_last);
}

/// Whether a fault brings this very error for ever. One that brings another is another story.
bool comes_again(const Record& failed, const Evidence& evidence) {
  return std::ranges::any_of(evidence.plan.faults, [&](const Fault& fault) {
    return fault.error == failed.error &&
           fails_for_ever(fault, failed.role.view(), failed.name.view());
  });
}

bool is_meant_to_fail(const Operations::Names& words, const Scenario& scenario) {
  const auto& failing = scenario.failing_operations;
  return !words.empty() && std::ranges::find(failing, words.back()) != failing.end();
}

/// Whether there is something to be heard: what nobody may notice, works and quiet judge.
bool asks_for_an_ear(const Struck& struck) {
  return struck.response == Response::fail || struck.response == Response::fall_back ||
         (struck.response == Response::retry && struck.comes_again) ||
         struck.response == Response::none;
}

Struck struck_by(const Evidence& evidence, std::size_t at, const Operations& operations) {
  const Record& failed = evidence.records[at];
  const Operations::Names& words = operations.of_process(failed);
  return {.failed = failed,
          .response = response_to(failed.call, failed.error, failed.role.view()),
          .later = evidence.records.subspan(at + 1),
          .words = operations.of_thread(failed),
          .words_near = words,
          .comes_again = comes_again(failed, evidence),
          .is_meant_to_fail = is_meant_to_fail(words, evidence.scenario)};
}

Finding unheard(const Record& failed) {
  return {.claim = "error-surfaced: an error is retried away, or somebody is told",
          .seen = name_of_error(failed.error) + " of " + std::string(failed.role.view()) + '/' +
                  std::string(failed.name.view()) + '(' + std::string(failed.object.view()) + ")#" +
                  std::to_string(failed.k) + " went unheard"};
}

}  // namespace

Judgement error_surfaced(const Evidence& evidence) {
  if (has_two_faults(evidence)) {
    return waived(Waiver::two_faults);
  }
  Judgement judgement;
  Operations operations;
  bool root_died = false;
  // Of what fails for ever it is enough to be told once.
  std::set<std::tuple<std::uint16_t, Call, std::string_view>> told_of;
  for (std::size_t at = 0; at < evidence.records.size(); ++at) {
    const Record& failed = evidence.records[at];
    operations.read(failed);
    root_died = root_died || (is_fact(failed, fact::died) && failed.role == "root");
    if (failed.kind != RecordKind::end || !failed.injected || failed.name == allocation_site ||
        !matters(failed, operations) || (is_hired(failed) && root_died)) {
      continue;
    }
    const Struck struck = struck_by(evidence, at, operations);
    if (!asks_for_an_ear(struck)) {
      continue;
    }
    ++judgement.look.seen;
    ++judgement.look.filled;
    const std::tuple of{failed.process, failed.call, failed.object.view()};
    if (told_of.contains(of)) {
      continue;
    }
    if (struck.comes_again && (any_later(struck, is_told) || any_later(struck, has_spoken))) {
      told_of.insert(of);
    } else if (!is_answered(struck) && may_be_told(struck)) {
      judgement.findings.push_back(unheard(failed));
    }
  }
  return judgement;
}

}  // namespace lastref::harness::oracle
