#include "impl/tracker/tree_repair.hpp"

#include <algorithm>
#include <utility>

#include <lastref/probe.hpp>

#include "impl/os/limits.hpp"
#include "impl/tracker/ledger.hpp"

namespace lastref::tracker {
namespace {

Result<std::optional<os::LockHolder>> find_any_lock(os::Os& os, os::Fd lock) {
  return os.find_lock(lock, {.kind = os::LockKind::exclusive, .start = 0, .length = 0});
}

/// Ends the connections that wait for a tracker at a socket without a name, so that their clients
/// connect again. A forked child may keep the socket open, so that closing it is not enough.
void end_waiting(os::Os& os, os::Fd listener) {
  const os::Limits& limits = os::limits_of(os);
  static_cast<void>(os.shut_down(listener));
  int aborted = 0;
  for (int ended = 0; ended < limits.ended_clients; ++ended) {
    const auto socket = os::retry_interrupted([&] { return os.accept(listener); });
    if (socket) {
      os::UniqueFd(os, *socket).close_quietly();
    } else if (socket.error().code != std::errc::connection_aborted ||
               ++aborted == limits.aborted_connections) {
      return;
    }
  }
}

}  // namespace

Result<bool> TreeRepair::repair(std::uint32_t nonce) {
  for (int tries = 1;; ++tries) {
    Result<bool> repaired = repair_once(nonce);
    if (repaired || tries == os::limits_of(os_).tree_attempts) {
      return repaired;
    }
  }
}

Result<bool> TreeRepair::repair_once(std::uint32_t nonce) {
  LASTREF_CHECK(forget_blank_ledger());
  LASTREF_TRY(lost, find_lost(os_, paths_, lock_, parts_));
  if (!lost.any()) {
    return false;
  }
  LASTREF_CHECK(make_again(lost, nonce));
  return true;
}

Status TreeRepair::make_again(const LostParts& lost, std::uint32_t nonce) {
  if (lost.lock || lost.ledger) {
    if (!old_ledger_) {
      old_ledger_ = std::move(parts_.ledger);
    }
    parts_.ledger.close_quietly();
  }
  if (lost.lock) {
    old_locks_.reserve(old_locks_.size() + 1);
    LASTREF_TRY(lock, make_lock_again(os_, paths_, nonce));
    std::swap(lock_, lock);
    old_locks_.push_back(std::move(lock));
    // The root keeps its other byte of the old lock: members use it to test whether the root is
    // alive.
    if (nonce != 0) {
      static_cast<void>(leave_lock(old_locks_.back(), nonce));
    }
  }
  if (lost.lock || lost.ledger) {
    // Before the ledger: without the ledger, the next try gets here again.
    LASTREF_TRY(folder, open_tree_folder(os_, paths_));
    parts_.folder = std::move(folder);
    LASTREF_CHECK(os::discard(os_, paths_.ledger()));
    LASTREF_TRY(ledger, make_ledger(os_, paths_));
    parts_.ledger = std::move(ledger);
  }
  if (lost.socket || !parts_.listener) {
    if (parts_.listener) {
      end_waiting(os_, parts_.listener.get());
    }
    LASTREF_CHECK(os::discard(os_, paths_.socket()));
    LASTREF_TRY(listener, make_listener(os_, paths_));
    parts_.listener = std::move(listener);
  }
  os_.hit(Probe::tree_repaired);
  return ok();
}

std::string TreeRepair::repair_notice() const {
  return "lastref: files in " + paths_.folder +
         " were removed; they were made again, and another tracker starts";
}

/// The old ledger is no longer needed when a tracker has moved its names into the new one.
Status TreeRepair::forget_blank_ledger() {
  if (old_ledger_) {
    LASTREF_TRY(blank, Ledger::is_blank(os_, old_ledger_.get()));
    if (blank) {
      old_ledger_.close_quietly();
    }
  }
  return ok();
}

void TreeRepair::save_names(bool has_others) {
  if (!lock_) {
    return;
  }
  Result<bool> saved = has_unsaved_names();
  for (int tries = 1; !saved && tries < os::limits_of(os_).tree_attempts; ++tries) {
    saved = has_unsaved_names();
  }
  if (saved && *saved) {
    saved = repair(0);
    const auto moved = [&]() -> Status {
      LASTREF_TRY(ledger, Ledger::of(os_, std::move(old_ledger_)));
      return ledger.move_to(paths_.ledger());
    };
    if (saved && old_ledger_ && !has_others) {
      if (const Status done = moved(); !done) {
        saved = failure(done.error());
      }
    }
  }
  if (!saved) {
    os::report_quietly(
        os_, "lastref: a tree that lost files is not cleaned up: " + describe(saved.error()));
  } else if (*saved) {
    os::report_quietly(os_, "lastref: files in " + paths_.folder + " were removed");
  }
}

/// Whether the last tracker had names that a sweep would not find.
Result<bool> TreeRepair::has_unsaved_names() {
  LASTREF_CHECK(forget_blank_ledger());
  if (old_ledger_) {
    return true;
  }
  LASTREF_TRY(lost, find_lost(os_, paths_, lock_, parts_));
  return lost.any() && parts_.ledger ? Ledger::has_names(os_, parts_.ledger.get())
                                     : Result<bool>(false);
}

bool TreeRepair::has_others() {
  return std::ranges::any_of(old_locks_, [&](const LockFile& old_lock) {
    auto holder = find_any_lock(os_, old_lock.get());
    for (int tries = 1; !holder && tries < os::limits_of(os_).tree_attempts; ++tries) {
      holder = find_any_lock(os_, old_lock.get());
    }
    return !holder || holder->has_value();
  });
}

}  // namespace lastref::tracker
