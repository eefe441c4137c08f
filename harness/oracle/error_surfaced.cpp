// error-surfaced: an error that was put in is retried away, handled as documented, or told.
#include <algorithm>
#include <cerrno>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <tuple>

#include "harness/oracle/benign.hpp"
#include "harness/oracle/error_names.hpp"
#include "harness/oracle/oracles.hpp"

namespace lastref::harness::oracle {
namespace {

/// An error that says no more than that somebody else was faster, or that nothing was there to be
/// done.
struct Harmless {
  Call call;
  int error;
};

constexpr Harmless harmless[] = {
    {Call::unlink, ENOENT},
    {Call::remove_folder, ENOENT},
    {Call::unlink_shm, ENOENT},
    {Call::unlink_semaphore, ENOENT},
    {Call::status_at, ENOENT},
    {Call::read_folder, ENOENT},
    {Call::open_process, ESRCH},
    {Call::signal_process, ESRCH},
    {Call::wait_child, ECHILD},
    {Call::shut_down, ENOTCONN},
    {Call::peer_of, ENOTCONN},
    {Call::make_folder, EEXIST},
    {Call::rename_new, EEXIST},
    // Who came has gone again.
    {Call::accept, ECONNABORTED},
    // Who cannot tell how much space there is takes the next location, as documented.
    {Call::free_space, EACCES},
    {Call::free_space, EIO},
    // Whether what stays matters is no-leak's to say: a folder that others use is meant to stay.
    {Call::remove_folder, EACCES},
    {Call::remove_folder, EBUSY},
    {Call::remove_folder, ENOTEMPTY},
    {Call::send, EAGAIN},
    {Call::receive, EAGAIN},
    {Call::read_folder, EIO},
    // Somebody else has it: a sweep leaves the tree alone.
    {Call::lock_range, EAGAIN},
    // Tried again, and given up in the end, by a thread that has nobody to tell: no-hang judges
    // that.
    {Call::poll, ENOMEM},
    {Call::find_lock, ENOLCK},
    // Space that is not given back is there for whoever writes next.
    {Call::punch_hole, EIO},
    {Call::punch_hole, EOPNOTSUPP},
};

/// EINTR and would-block are for trying again, which a later success shows; close has nothing to
/// tell but to people, and destructors close quietly.
bool is_harmless(const Record& record) noexcept {
  return record.call == Call::close || record.error == EINTR || record.object == "stderr" ||
         std::ranges::any_of(harmless, [&](const Harmless& each) {
           return each.call == record.call && each.error == record.error;
         });
}

/// Whether `later` shows that `failed` was tried again on the same thing, and done, or that there
/// is nothing any more to do it to; or that a connection which failed was given up for another:
/// what that one has to tell is refcount-exact's to judge.
bool made_good(const Record& failed, const Record& later) noexcept {
  if (later.kind != RecordKind::end || later.process != failed.process) {
    return false;
  }
  const bool is_done = later.error == 0 || (later.error == ENOENT && !later.injected);
  const bool again = later.call == failed.call && later.object == failed.object.view() && is_done;
  const bool is_connection = failed.call == Call::send || failed.call == Call::receive;
  return again ||
         (is_connection && later.call == Call::close && later.object == failed.object.view());
}

/// Whether the operation that `failed` was part of did the same to something else, and succeeded:
/// a location that cannot be used is not the last one.
bool fell_back(const Record& failed,
               std::span<const Record> later,
               std::optional<std::string_view> operation) noexcept {
  if (!operation) {
    return false;
  }
  bool is_done_elsewhere = false;
  for (const Record& record : later) {
    if (record.process != failed.process) {
      continue;
    }
    if (record.kind == RecordKind::operation_end && record.name == *operation) {
      return is_done_elsewhere && record.error == 0;
    }
    is_done_elsewhere = is_done_elsewhere || (record.kind == RecordKind::end &&
                                              record.call == failed.call && record.error == 0);
  }
  return false;
}

/// Whether it is a worker of a pool: they are numbered.
bool is_hired(const Record& record) noexcept {
  constexpr std::string_view stem = "worker_";
  const std::string_view role = record.role.view();
  return role.starts_with(stem) && role.size() > stem.size() && role[stem.size()] >= '0' &&
         role[stem.size()] <= '9';
}

/// An operation that ends something for good.
bool is_last(std::string_view operation) noexcept {
  return operation == "leave" || operation == "end";
}

/// Follows who is inside an operation of the product; operations nest. On a role's first thread, a
/// call outside of any is the scenario's own, which gets the error itself.
class Operations {
 public:
  void read(const Record& record) {
    if (record.kind != RecordKind::fact) {
      first_actor_.try_emplace(record.process, record.actor);
    }
    root_died_ = root_died_ || (is_fact(record, fact::died) && record.role == "root");
    std::vector<std::string_view>& open = open_[record.process];
    if (record.kind == RecordKind::operation_begin) {
      open.push_back(record.name.view());
    } else if (record.kind == RecordKind::operation_end) {
      // Not always the innermost: another thread may have begun an operation since.
      const auto last = std::ranges::find(open.rbegin(), open.rend(), record.name.view());
      if (last != open.rend()) {
        open.erase(std::next(last).base());
      }
    }
  }

  bool is_inside(const Record& record) const { return !open_of(record).empty(); }
  /// The innermost that its process is in.
  std::optional<std::string_view> operation_of(const Record& record) const {
    const std::vector<std::string_view>& open = open_of(record);
    return open.empty() ? std::nullopt : std::optional(open.back());
  }

  /// Leaving promises to do what can be done: the kernel says the rest, and no-leak judges it.
  bool excuse(const Record& failed) const {
    const std::vector<std::string_view>& open = open_of(failed);
    const bool own =
        !is_tracker(failed) && open.empty() && first_actor_.at(failed.process) == failed.actor;
    // A worker of a pool would have told its parent.
    const bool nobody_asks = is_hired(failed) && root_died_;
    return own || nobody_asks || std::ranges::any_of(open, is_last);
  }

 private:
  /// Of a process that has been read.
  const std::vector<std::string_view>& open_of(const Record& record) const {
    return open_.at(record.process);
  }

  bool root_died_ = false;
  std::map<std::uint16_t, std::uint16_t> first_actor_;
  std::map<std::uint16_t, std::vector<std::string_view>> open_;
};

/// Whether `later` shows that somebody who can act on it was told, or that it does not matter any
/// more.
bool told(const Record& failed, const Record& later) noexcept {
  // The tracker tells whoever asked; a worker of a pool the very error to its parent.
  const bool operation_failed = later.kind == RecordKind::operation_end && later.error != 0;
  if (later.process != failed.process) {
    const bool parent_died = is_fact(later, fact::died) && later.role == "root";
    return (operation_failed && is_tracker(failed)) ||
           (is_hired(failed) && (parent_died || (operation_failed && later.error == failed.error)));
  }
  const bool says_so =
      later.kind == RecordKind::end && later.name == "write" && later.object == "stderr";
  const bool died = is_fact(later, fact::died) && (later.text != fact::ended || later.value != 0);
  // Of a cache that finds no space, false is the answer; only the first time it says more.
  const bool refused = later.kind == RecordKind::operation_end && later.name == "put" &&
                       later.text == "false" && failed.error == ENOSPC;
  return operation_failed || says_so || died || refused;
}

}  // namespace

Judgement error_surfaced(const Evidence& evidence) {
  Judgement judgement;
  if (has_two_faults(evidence)) {
    return waived(Waiver::two_faults);
  }
  Operations operations;
  // Of what fails for ever it is enough to be told once.
  std::set<std::tuple<std::uint16_t, Call, std::string_view>> told_of;
  for (std::size_t at = 0; at < evidence.records.size(); ++at) {
    const Record& failed = evidence.records[at];
    operations.read(failed);
    if (failed.kind != RecordKind::end || !failed.injected || is_harmless(failed) ||
        operations.excuse(failed)) {
      continue;
    }
    ++judgement.look.seen;
    ++judgement.look.filled;
    const auto later = evidence.records.subspan(at + 1);
    const std::tuple of{failed.process, failed.call, failed.object.view()};
    if (std::ranges::any_of(later, [&](const Record& each) { return told(failed, each); })) {
      told_of.insert(of);
    }
    const bool surfaced =
        told_of.contains(of) || fell_back(failed, later, operations.operation_of(failed)) ||
        std::ranges::any_of(later, [&](const Record& each) { return made_good(failed, each); });
    // On a thread of the product's own, it can be told to the next operation only.
    const bool may_be_told =
        is_tracker(failed) ||
        std::ranges::any_of(later,
                            [&](const Record& record) {
                              return record.process == failed.process &&
                                     record.kind == RecordKind::operation_begin &&
                                     !is_last(record.name.view());
                            }) ||
        operations.is_inside(failed);
    if (!surfaced && may_be_told) {
      judgement.findings.push_back(
          {.claim = "error-surfaced: an error is retried away, or somebody is told",
           .seen = name_of_error(failed.error) + " of " + std::string(failed.role.view()) + '/' +
                   std::string(failed.name.view()) + '(' + std::string(failed.object.view()) +
                   ")#" + std::to_string(failed.k) + " went unheard"});
    }
  }
  return judgement;
}

}  // namespace lastref::harness::oracle
