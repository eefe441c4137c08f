// error-surfaced: an injected error is retried, handled as documented, or reported.
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <tuple>

#include "harness/oracle/benign.hpp"
#include "harness/oracle/operations.hpp"
#include "harness/oracle/registered_oracle.hpp"
#include "harness/platform/names.hpp"
#include "harness/scenario/responses.hpp"

namespace lastref::harness::oracle {
namespace {

/// Whether `later` closes the object of `failed`. A connection is replaced by another, and
/// refcount-exact judges the messages of that one. And closing the end of its own pipe wakes a
/// thread just as a byte in it does. A client that cannot be woken closes its connection instead:
/// its next operation reports it, if there is one.
bool gives_up(const Record& failed, const Record& later) noexcept {
  const bool is_deaf = failed.call == Call::read && failed.object == "pipe.read";
  const bool may_be_given_up = failed.call == Call::send || failed.call == Call::receive ||
                               (failed.call == Call::write && failed.object == "pipe.write");
  return later.call == Call::close && ((may_be_given_up && later.object == failed.object.view()) ||
                                       (is_deaf && later.object == "tracker"));
}

/// Whether the member that a tracker could not watch has connected: the tracker also notices the
/// end of that connection.
bool has_come(const Record& failed, const Record& later) noexcept {
  constexpr std::string_view process = "process:";
  constexpr std::string_view connection = "conn:";
  const std::string_view wanted = failed.object.view();
  const std::string_view met = later.object.view();
  return failed.call == Call::open_process && later.call == Call::receive && later.error == 0 &&
         wanted.starts_with(process) && met.starts_with(connection) &&
         wanted.substr(process.size()) == met.substr(connection.size());
}

/// The role of the client of a connection that the tracker refused; empty if it is another call.
std::string_view refused_client(const Record& failed) noexcept {
  constexpr std::string_view connection = "conn:";
  const std::string_view of = failed.object.view();
  return failed.call == Call::peer_of && is_tracker(failed) && of.starts_with(connection)
             ? of.substr(connection.size())
             : std::string_view();
}

/// Whether that client is killed before it reports the refusal.
bool has_lost_its_client(const Record& failed, const Record& later) noexcept {
  return is_fact(later, fact::died) && later.text != fact::ended && !later.role.view().empty() &&
         later.role.view() == refused_client(failed);
}

/// Whether it was dead when it was refused.
bool had_lost_its_client(const Record& failed, std::span<const Record> before) {
  const std::string_view client = refused_client(failed);
  if (client.empty()) {
    return false;
  }
  const auto last = std::find_if(before.rbegin(), before.rend(), [&](const Record& each) {
    return each.role.view() == client;
  });
  return last != before.rend() && is_fact(*last, fact::died);
}

/// Whether another sweep had removed the lock of the same cache, which it does last: then no file
/// of the cache is left that this one could miss.
bool had_been_swept(const Record& failed, std::span<const Record> before) {
  const std::string_view path = failed.text.view();
  const std::string lock = std::string(path.substr(0, path.rfind('.'))) + ".lock";
  return failed.call == Call::status_at && failed.object.view().starts_with("cache") &&
         std::ranges::any_of(before, [&](const Record& each) {
           return each.kind == RecordKind::end && is_removal(each.call) && each.error == 0 &&
                  each.text == lock;
         });
}

/// Whether `later` shows that `failed` was retried successfully on the same object, or that the
/// object no longer exists.
bool made_good(const Record& failed, const Record& later) noexcept {
  if (later.kind != RecordKind::end) {
    return false;
  }
  const bool is_same = later.call == failed.call && later.object == failed.object.view();
  const bool is_done = later.error == 0 || (later.error == ENOENT && !later.injected);
  // It is removed, whichever process did it.
  const bool by_another = is_removal(failed.call) && later.error == 0 && !failed.text.empty() &&
                          later.text == failed.text.view();
  // Or it is reported as missing, even if by a fault.
  const bool is_gone = is_removal(failed.call) && later.error == ENOENT &&
                       (later.call == Call::status_at || is_removal(later.call)) &&
                       later.text.view() == failed.text.view();
  // The mode of a folder is changed only so that something in it can be removed.
  const bool is_removed_anyway = failed.call == Call::change_mode && is_tracker(failed) &&
                                 later.call == Call::remove_folder && later.error == 0;
  return later.process == failed.process ? (is_same && is_done) || is_gone || is_removed_anyway ||
                                               gives_up(failed, later) || has_come(failed, later)
                                         : is_same && by_another;
}

/// Whether it is a worker of a pool: their roles are numbered.
bool is_hired(const Record& record) noexcept {
  constexpr std::string_view stem = "worker_";
  const std::string_view role = record.role.view();
  return role.starts_with(stem) && role.size() > stem.size() && role[stem.size()] >= '0' &&
         role[stem.size()] <= '9';
}

/// An injected error and its consequences.
struct Struck {
  const Record& failed;
  Response response;
  std::span<const Record> later;
  const Evidence& evidence;
  Operations::Names words;       ///< operations of its thread, the innermost last
  Operations::Names words_near;  ///< operations of its process
  bool comes_again;
  bool is_meant_to_fail;  ///< The innermost operation fails without a fault as well.
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

/// Whether the process of `later` is concerned by `failed`: a tracker reports to its clients, a
/// worker of a pool to its parent.
bool concerns(const Record& failed, const Record& later) noexcept {
  return later.process == failed.process || is_tracker(failed) || is_hired(failed);
}

/// Whether `later` is an operation that fails with exactly this error.
bool is_told(const Record& failed, const Record& later) noexcept {
  return later.kind == RecordKind::operation_end && later.error == failed.error &&
         concerns(failed, later);
}

/// The same for an error that `failed` has led to.
bool is_felt(const Record& failed, const Record& later) noexcept {
  return later.kind == RecordKind::operation_end && later.error != 0 && concerns(failed, later);
}

/// A worker with a dead parent has no process left to report to.
bool has_lost_its_parent(const Record& failed, const Record& later) noexcept {
  return is_fact(later, fact::died) && later.role == "root" && is_hired(failed);
}

/// The answer of a cache without space is false; only the first time it reports more.
bool is_refused(const Record& failed, const Record& later) noexcept {
  return later.process == failed.process && later.kind == RecordKind::operation_end &&
         later.name == "put" && later.text == "false" && failed.error == ENOSPC;
}

/// Whether any later record shows it, of all or of the notable ones.
template <typename Shows>
bool any_later(const Struck& struck, const Shows& shows) {
  return std::ranges::any_of(struck.later,
                             [&](const Record& later) { return shows(struck.failed, later); });
}
template <typename Shows>
bool any_notable(const Struck& struck, const Shows& shows) {
  const auto notable = struck.evidence.notable();
  const auto first = std::ranges::partition_point(
      notable, [&](const Record& each) { return &each <= &struck.failed; });
  return std::any_of(
      first, notable.end(), [&](const Record& later) { return shows(struck.failed, later); });
}

/// What follows, up to the end of the operation of the call; empty if it has none or does not end.
std::span<const Record> until_its_word_ends(const Struck& struck) {
  if (struck.words_near.empty()) {
    return {};
  }
  const auto end = std::ranges::find_if(struck.later, [&](const Record& later) {
    return later.process == struck.failed.process && later.kind == RecordKind::operation_end &&
           later.name == struck.words_near.back();
  });
  return end == struck.later.end() ? std::span<const Record>()
                                   : std::span(struck.later.begin(), std::next(end));
}

/// Whether the operation of the failed call made `call` later, for another object, and succeeded:
/// an unusable location is not the last one.
bool fell_back(const Struck& struck, Call call) {
  const std::span<const Record> rest = until_its_word_ends(struck);
  return !rest.empty() && (rest.back().error == 0 || struck.is_meant_to_fail) &&
         std::ranges::any_of(rest, [&](const Record& later) {
           return later.process == struck.failed.process && later.kind == RecordKind::end &&
                  later.call == call && later.error == 0;
         });
}

/// Zeros are written only in a location in which space cannot be allocated.
bool has_space_elsewhere(const Struck& struck) {
  return struck.failed.call == Call::write_at && fell_back(struck, Call::allocate);
}

/// Whether the operation of the call, which is to fail in any case, may report the death of its
/// worker instead.
bool fails_with_its_worker(const Struck& struck) {
  if (!struck.is_meant_to_fail) {
    return false;
  }
  const std::span<const Record> rest = until_its_word_ends(struck);
  const auto is_death = [](const Record& record) {
    return is_hired(record) && is_fact(record, fact::died);
  };
  // Another thread may have seen the death before the call.
  return !rest.empty() && rest.back().error != 0 &&
         (std::ranges::any_of(rest, is_death) ||
          std::ranges::any_of(struck.evidence.notable(), [&](const Record& record) {
            return is_death(record) && record.text != fact::ended;
          }));
}

/// Whether an operation that the call was part of fails with its error, or retries it successfully.
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

/// Whether an operation fails because the call fails in every location.
bool is_out_of_locations(const Struck& struck) {
  return struck.comes_again && any_notable(struck, [](const Record& failed, const Record& later) {
           return later.process == failed.process && later.kind == RecordKind::operation_end &&
                  later.error == ENOENT;
         });
}

/// A sweep and a visit of entries do what is possible, and report the rest. So does a cache that
/// cannot note when an entry was used.
bool is_said_meanwhile(const Struck& struck) {
  const bool is_note = struck.failed.call == Call::write_at && struck.failed.object == "entry";
  return (is_note || struck.words.back() == "sweep" || struck.words.back() == "visit") &&
         any_notable(struck, has_spoken);
}

/// Whether the thread of a client could not reach another tracker. It tries again, or gives up: an
/// operation that needs a tracker then fails, and other oracles judge those that do not fail.
bool is_attempt_of_client(const Struck& struck) {
  constexpr std::string_view objects[] = {"lock", "socket", "tree", "tracker"};
  const Record& failed = struck.failed;
  const bool is_message = failed.call == Call::send || failed.call == Call::receive;
  return struck.words.empty() && !is_tracker(failed) && !is_message &&
         (failed.call == Call::make_socket ||
          std::ranges::find(objects, failed.object.view()) != std::end(objects));
}

/// Whether the table of responses allows what has happened since.
bool is_answered(const Struck& struck) {
  if (is_attempt_of_client(struck) || any_notable(struck, has_died) ||
      any_notable(struck, has_lost_its_parent) || any_notable(struck, has_lost_its_client) ||
      fails_with_its_worker(struck)) {
    return true;
  }
  if (struck.response == Response::fail && !struck.words.empty()) {
    return is_answered_by_its_word(struck) || is_said_meanwhile(struck) ||
           has_space_elsewhere(struck) || (is_hired(struck.failed) && any_notable(struck, is_told));
  }
  // Outside of any operation, no caller waits for the error: the next operation meets its
  // consequences. An operation that removes what it created reports the error that made it do so;
  // no-leak judges whether the thing remains.
  const bool is_second = struck.words.empty() || is_removal(struck.failed.call);
  const bool is_heard = any_notable(struck, is_second ? is_felt : is_told);
  return is_heard || any_later(struck, made_good) || any_notable(struck, has_spoken) ||
         any_notable(struck, is_refused) || fell_back(struck, struck.failed.call) ||
         has_space_elsewhere(struck) || is_out_of_locations(struck);
}

/// On a thread of the product's own it can be reported only to the next operation.
bool may_be_told(const Struck& struck) {
  return is_tracker(struck.failed) || !struck.words_near.empty() ||
         any_notable(struck, [](const Record& failed, const Record& later) {
           return later.process == failed.process && later.kind == RecordKind::operation_begin &&
                  !is_last(later.name.view());
         });
}

/// Whether the error has to be reported. The scenario gets the errors of its own calls. A failed
/// write to standard error cannot be reported. And a leave promises only to do what is possible,
/// which no-leak judges.
bool matters(const Record& failed, const Operations& operations) {
  return failed.object != "stderr" && !operations.is_own(failed) &&
         std::ranges::none_of(operations.of_process(failed), is_last);
}

/// Whether a fault causes exactly this error permanently. A fault with another error does not
/// count.
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

/// Whether a report is required: works and quiet judge errors that must have no visible effect.
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
          .evidence = evidence,
          .words = operations.of_thread(failed),
          .words_near = words,
          .comes_again = comes_again(failed, evidence),
          .is_meant_to_fail = is_meant_to_fail(words, evidence.scenario)};
}

/// The object without its numbers: a fault concerns all files that differ only in them.
std::string kind_of(std::string_view object) {
  std::string kind(object);
  std::erase_if(kind, [](char letter) { return letter >= '0' && letter <= '9'; });
  return kind;
}

Finding unheard(const Record& failed) {
  return {.claim = "error-surfaced: an error is retried with success, or reported",
          .seen = name_of_error(failed.error) + " of " + std::string(failed.role.view()) + '/' +
                  std::string(failed.name.view()) + '(' + std::string(failed.object.view()) + ")#" +
                  std::to_string(failed.k) + " was not reported"};
}

/// An injected error is retried, handled as documented, or reported.
Judgement error_surfaced(const Evidence& evidence) {
  if (has_two_faults(evidence)) {
    return waived(Waiver::two_faults);
  }
  if (!has_injected(evidence)) {
    return {};
  }
  Judgement judgement;
  Operations operations;
  bool root_died = false;
  // A permanent failure has to be reported only once.
  std::set<std::tuple<std::uint16_t, Call, std::string>> told_of;
  for (std::size_t at = 0; at < evidence.records.size(); ++at) {
    const Record& failed = evidence.records[at];
    operations.read(failed);
    root_died = root_died || (is_fact(failed, fact::died) && failed.role == "root");
    if (failed.kind != RecordKind::end || !failed.injected || failed.name == allocation_site ||
        !matters(failed, operations) || (is_hired(failed) && root_died) ||
        had_lost_its_client(failed, evidence.records.first(at)) ||
        had_been_swept(failed, evidence.records.first(at))) {
      continue;
    }
    const Struck struck = struck_by(evidence, at, operations);
    if (!asks_for_an_ear(struck)) {
      continue;
    }
    ++judgement.look.seen;
    ++judgement.look.filled;
    const std::tuple of{failed.process, failed.call, kind_of(failed.object.view())};
    if (told_of.contains(of)) {
      continue;
    }
    if (struck.comes_again && (any_notable(struck, is_told) || any_notable(struck, has_spoken) ||
                               is_out_of_locations(struck))) {
      told_of.insert(of);
    } else if (!is_answered(struck) && may_be_told(struck)) {
      judgement.findings.push_back(unheard(failed));
    }
  }
  return judgement;
}

const RegisteredOracle registered_error_surfaced("error-surfaced",
                                                 Concern::conduct,
                                                 error_surfaced);

}  // namespace
}  // namespace lastref::harness::oracle
