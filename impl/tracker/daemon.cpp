#include "impl/tracker/daemon.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include <lastref/probe.hpp>

#include "impl/os/within_memory.hpp"
#include "impl/tracker/insist.hpp"
namespace lastref::tracker {
namespace {

/// Messages read from one connection before the others get their turn.
constexpr std::size_t messages_per_round = 4096;
/// The loop's own calls may fail this often in a row before the tracker exits.
constexpr int failures_max = 10;
constexpr std::chrono::milliseconds pause_after_failure{50};
/// Between checks of the locks of members that have not announced what they hold.
constexpr std::chrono::milliseconds pause_between_looks{100};
/// Each check after a pause twice as long: some minutes in total since a connection was lost.
constexpr int looks_max = 12;
/// What a round polls first: the listening socket, and what is done beside the loop.
constexpr std::size_t own_items = 2;
/// Let go of, or doomed, in one round. Whoever speaks meanwhile waits for no more than these.
constexpr std::size_t names_per_round = 256;
constexpr std::size_t members_per_round = 16;

/// Whether a tracker before us has begun to end.
bool is_shut(os::Os& os, os::Fd listener) {
  std::array items{os::PollItem{.fd = listener, .want_read = true}};
  const auto polled =
      os::retry_interrupted([&] { return os.poll(items, std::chrono::nanoseconds(0)); });
  return polled && items[0].hung_up;
}

/// If a tracker before us was about to remove the tree, the ledger was empty already, and another
/// empty ledger is as good. A tree that has lost its ledger otherwise cannot be trusted.
Result<Ledger> open_ledger(os::Os& os, const TreePaths& paths, os::Fd listener) {
  auto ledger = Ledger::open(os, paths.ledger());
  if (failed_with(ledger, std::errc::no_such_file_or_directory) && is_shut(os, listener)) {
    os.saw(Probe::tree_was_nearly_gone);
    LASTREF_TRY(empty, os::open_file(os, paths.ledger(), {.write = true, .create = true}));
    empty.close_quietly();
    return Ledger::open(os, paths.ledger());
  }
  return ledger;
}

}  // namespace

Daemon::Daemon(os::Os& os, TreePaths paths, os::UniqueFd lock, Ledger ledger)
    : os_(os),
      paths_(std::move(paths)),
      lock_(std::move(lock)),
      ledger_(std::move(ledger)),
      cleaner_(os, {.aside = true}) {}

Result<std::unique_ptr<Daemon>> Daemon::start(os::Os& os,
                                              const TreePaths& paths,
                                              os::UniqueFd&& listener,
                                              OldParts old_parts) {
  LASTREF_TRY(lock, os::open_file(os, paths.lock(), {.write = true}));
  LASTREF_CHECK(lock_as_tracker(os, lock.get()));
  for (const os::UniqueFd& old_lock : old_parts.locks) {
    LASTREF_CHECK(lock_as_tracker(os, old_lock.get()));
  }
  const bool is_ledger_in_place = !old_parts.ledger;
  LASTREF_TRY(ledger,
              is_ledger_in_place ? open_ledger(os, paths, listener.get())
                                 : Ledger::of(os, std::move(old_parts.ledger)));
  std::unique_ptr<Daemon> daemon(new Daemon(os, paths, std::move(lock), std::move(ledger)));
  daemon->old_locks_ = std::move(old_parts.locks);
  daemon->is_ledger_in_place_ = is_ledger_in_place;
  for (const Resource& name : daemon->ledger_.names()) {
    if (is_relative(name)) {
      LASTREF_CHECK(daemon->ledger_.strike(name));  // Nobody knows where it was.
    } else {
      os.saw(Probe::names_adopted);
      daemon->registry_.adopt(name);
    }
  }
  for (Resource& name : daemon->ledger_.forgotten()) {
    os.saw(Probe::forget_adopted);
    daemon->tombstones_.insert(std::move(name));
  }
  LASTREF_CHECK(daemon->expect_members());
  daemon->keep_spare();
  daemon->listener_ = std::move(listener);
  return daemon;
}

/// Each process that has a byte of the lock and is not a member yet becomes a member that must
/// announce. If the process is in another pid namespace, only its lock shows its death.
Status Daemon::expect_members() {
  // In this order: a member locks its byte of the new lock before it gives up the old one.
  std::vector<Known> found;
  for (const os::UniqueFd& old_lock : old_locks_) {
    LASTREF_TRY(in_old, members_of(os_, old_lock.get()));
    found.insert(found.end(), in_old.begin(), in_old.end());
  }
  LASTREF_TRY(in_place, members_of(os_, lock_.get()));
  found.insert(found.end(), in_place.begin(), in_place.end());
  for (const auto& [pid, nonce] : found) {
    const bool known = std::ranges::any_of(
        members_, [of = nonce](const auto& item) { return item.second.nonce == of; });
    if (known) {
      continue;
    }
    auto process = pid > 0 ? os_.open_process(pid) : os::Fd::none;
    if (pid == 0) {
      look_again_ = os_.now() + pause_between_looks;
      looks_ = 0;
    } else if (!process) {
      if (process.error().code == std::errc::no_such_process) {
        continue;
      }
      return failure(process.error());
    }
    os_.saw(Probe::member_known_by_lock);
    members_.emplace(++last_member_,
                     Member{.pid = pid, .nonce = nonce, .process = os::UniqueFd(os_, *process)});
  }
  return ok();
}

Status Daemon::serve() noexcept {
  // A socket that never listens would never become readable either.
  if (Status accepted = os::within_memory("the tracker", [&] { return accept_all(); });
      !accepted && !os::is_no_memory(accepted.error())) {
    return accepted;
  }
  for (;;) {
    Result<bool> ended = os::within_memory("the tracker", [&] { return serve_once(); });
    if (!ended && os::is_no_memory(ended.error())) {
      if (++rounds_without_memory_ > pauses_without_memory_max) {
        return tl::unexpected<Error>(std::move(ended.error()));
      }
      static_cast<void>(os_.poll({}, pause_without_memory));
      continue;
    }
    rounds_without_memory_ = 0;
    if (!ended) {
      return tl::unexpected<Error>(std::move(ended.error()));
    }
    if (*ended) {
      return end();
    }
  }
}

/// One round, and what follows from it. Whether no member is left.
Result<bool> Daemon::serve_once() {
  const Registry::Stamp before = registry_.now();
  const auto asked_before = std::ssize(asked_);
  const auto forgets_before = std::ssize(forgets_);
  LASTREF_CHECK(round(poll_timeout()));
  if (round_was_full_) {
    forget(forgets_before);
  }
  let_go();
  look_for_locks();
  if (settled()) {
    if (!was_settled_) {
      was_settled_ = true;
      os_.step(Step::tracker_settled);
    }
    clear_tombstones();
    place_ledger();
    if (std::exchange(waits_for_all_, false)) {
      retry_parked();
    }
    if (round_was_full_) {
      tell_counts(asked_before);
      doom(before);
    }
  }
  clean();
  return has_ended();
}

/// Cleans up the names that have had no holder since before a full round. Without members they stay
/// for the end, which reports what was left.
void Daemon::doom(Registry::Stamp before) {
  if (members_.empty()) {
    return;
  }
  registry_.take_doomed(before, names_per_round, [this](const Resource& doomed) {
    os_.step(Step::tracker_doomed);
    cleaner_.add(doomed, ledger_.identity_of(doomed));
    abandoned_.erase(doomed);
  });
}

/// How long the next round may wait.
std::optional<std::chrono::nanoseconds> Daemon::poll_timeout() {
  if (poll_failures_ > 0 || look_failures_ > 0) {
    return pause_after_failure;
  }
  if (!round_was_full_ || members_.empty() || !forgets_.empty() || !leaving_.empty() ||
      (settled() && (registry_.has_doomed() || !asked_.empty()))) {
    return std::chrono::nanoseconds(0);
  }
  std::optional<os::Instant> next = cleaner_.due();
  if (accept_failures_ > 0 && (!next || accept_again_ < *next)) {
    next = accept_again_;
  }
  if (looks_again() && (!next || look_again_ < *next)) {
    next = look_again_;
  }
  return next ? std::optional(std::max(*next - os_.now(), os::Instant(0))) : std::nullopt;
}

bool Daemon::settled() const {
  return std::ranges::all_of(members_, [](const auto& item) { return item.second.announced; });
}

// A round has this many steps; each is short.
// NOLINTNEXTLINE(readability-function-size)
Status Daemon::round(std::optional<std::chrono::nanoseconds> timeout) {
  std::vector<os::PollItem>& items = polled_items_;
  std::vector<ConnectionId>& connections = polled_connections_;
  std::vector<MemberId>& members = polled_members_;
  items.clear();
  connections.clear();
  members.clear();
  items.push_back(
      {.fd = accept_failures_ == 0 ? listener_.get() : os::Fd::none, .want_read = true});
  items.push_back({.fd = cleaner_.news(), .want_read = true});
  for (const auto& [id, connection] : connections_) {
    items.push_back({.fd = connection.link.fd(),
                     .want_read = true,
                     .want_write = connection.link.wants_space()});
    connections.push_back(id);
  }
  for (const auto& [id, member] : members_) {
    items.push_back({.fd = member.process.get(), .want_read = true});
    members.push_back(id);
  }
  auto ready = os::retry_interrupted([&] { return os_.poll(items, timeout); });
  round_was_full_ = ready.has_value();
  if (!ready) {
    if (os::is_no_memory(ready.error())) {
      return failure(std::move(ready.error()));
    }
    if (++poll_failures_ == failures_max) {
      return failure(ready.error());
    }
    return ok();
  }
  poll_failures_ = 0;
  const std::span polled(items);
  const bool again = accept_failures_ > 0 && os_.now() >= accept_again_;
  if (polled[0].hung_up) {
    // A tracker before us had begun to end: whoever joins is refused, for good. There is always
    // something to poll there, and never anybody to accept.
    os_.saw(Probe::listener_was_shut);
    listener_.close_quietly();
  } else if (polled[0].readable || again) {
    LASTREF_CHECK(accept_all());
  }
  for (std::size_t index = 0; index < connections.size(); ++index) {
    const os::PollItem& item = polled[own_items + index];
    const auto found = connections_.find(connections[index]);
    if (found == connections_.end()) {
      continue;  // In this round, its process came back on another connection.
    }
    if (item.writable) {
      found->second.link.flush();
    }
    if (item.readable || item.hung_up || found->second.link.broken()) {
      const bool in_vain = read_all(connections[index]) == 0;
      // There is data that was not delivered to us.
      round_was_full_ = round_was_full_ && !(in_vain && connections_.contains(connections[index]));
    }
  }
  for (std::size_t index = 0; index < members.size(); ++index) {
    const os::PollItem& item = polled[own_items + connections.size() + index];
    if (item.readable && members_.contains(members[index])) {
      remove_member(members[index]);
    }
  }
  return ok();
}

/// Reads until there is nothing more; returns the number of messages.
std::size_t Daemon::read_all(ConnectionId id) {
  for (std::size_t read = 0; read < messages_per_round; ++read) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) {
      return read;
    }
    Connection& connection = found->second;
    switch (connection.link.receive()) {
      case Arrival::message:
        try_to_take(id, connection, std::move(connection.link.received()));
        break;
      case Arrival::malformed:
        if (!connection.link.reason().empty()) {
          os_.saw(Probe::malformed_message);
          complain(connection, "malformed message: ", connection.link.reason());
        }
        if (const auto& refusal = connection.link.refusal()) {
          answer(connection, refusal->id, refusal->why);
        }
        break;
      case Arrival::nothing:
        return read;
      case Arrival::end:
        drop_connection(id);
        return read;
    }
  }
  os_.saw(Probe::round_filled_by_one);
  round_was_full_ = false;
  return messages_per_round;
}

/// A connection has ended. That is no death: its process may live, and will announce again (T8).
void Daemon::drop_connection(ConnectionId id) {
  const auto found = connections_.find(id);
  const auto member = members_.find(found->second.member.value_or(nobody));
  connections_.erase(found);
  if (member != members_.end()) {
    member->second.announced = false;
    look_again_ = os_.now() + pause_between_looks;
    looks_ = 0;
  }
  // Without memory the check is repeated later.
  static_cast<void>(os::had_memory([&] { leave_without_lock(); }));
}

/// A member that has no lock any more, and no connection, has left without a message on one. Some
/// were known by their lock alone: they sent a leave before they gave up the lock, or could not
/// join.
void Daemon::leave_without_lock() {
  if (settled()) {
    return;
  }
  std::set<MemberId> connected;
  for (const auto& [id, connection] : connections_) {
    connected.insert(connection.member.value_or(nobody));
  }
  std::vector<MemberId> gone;
  for (const auto& [id, member] : members_) {
    if (!member.announced && !connected.contains(id) && !has_lock(member)) {
      gone.push_back(id);
    }
  }
  if (!gone.empty()) {
    os_.saw(Probe::member_left_without_word);
  }
  std::ranges::for_each(gone, [this](MemberId id) { leave(id); });
}

bool Daemon::looks_again() const {
  return !settled() && (looks_ < looks_max || std::ranges::any_of(members_, [](const auto& item) {
                          return !item.second.announced && !item.second.process;
                        }));
}

bool Daemon::has_lock(const Member& member) const {
  return std::ranges::any_of(old_locks_,
                             [&](const os::UniqueFd& old_lock) {
                               return is_member(os_, old_lock.get(), member.nonce);
                             }) ||
         is_member(os_, lock_.get(), member.nonce);
}

/// For a tree that has lost parts: moves the names to where a sweep would find them, as soon as the
/// sweep would also see that all members live.
void Daemon::place_ledger() {
  if (is_ledger_in_place_) {
    return;
  }
  for (const os::UniqueFd& old_lock : old_locks_) {
    const auto members = members_of(os_, old_lock.get());
    if (!members || !members->empty()) {
      return;
    }
  }
  old_locks_.clear();
  is_ledger_in_place_ = true;
  if (const Status moved = ledger_.move_to(paths_.ledger()); !moved) {
    os::report_quietly(
        os_, "lastref tracker: its ledger is not where it was: " + describe(moved.error()));
  }
}

/// Checks the locks at intervals as well: a member that lost its connection, and then its lock,
/// sends nothing more. The intervals grow, because a member that cannot continue gives up its lock
/// soon.
void Daemon::look_for_locks() {
  if (looks_again()) {
    if (const os::Instant now = os_.now(); now >= look_again_) {
      leave_without_lock();
      looks_ = std::min(looks_ + 1, looks_max);
      look_again_ = now + pause_between_looks * (1 << (looks_ - 1));
    }
  }
}

/// A process has died. Its messages are read first, then its references are dropped. If there is
/// more to read than a round allows, its process descriptor stays readable and the next round
/// continues.
void Daemon::remove_member(MemberId id) {
  const auto last_messages = std::ranges::find_if(
      connections_, [id](const auto& item) { return item.second.member == id; });
  if (last_messages != connections_.end()) {
    const ConnectionId connection = last_messages->first;
    if (read_all(connection) > 0) {
      os_.saw(Probe::last_words_heard);
    }
    if (!round_was_full_) {
      return;
    }
    connections_.erase(connection);
  }
  if (members_.contains(id)) {
    leave(id);
  }
}

void Daemon::leave(MemberId id) {
  leaving_.push_back({.member = id, .abandons = true});
  members_.erase(id);
}

/// Drops the references of members that have left, a bounded number of names in a round.
void Daemon::let_go() {
  for (std::size_t left = 0; !leaving_.empty() && left < members_per_round; ++left) {
    const Leaving& first = leaving_.front();
    registry_.drop(first.member, names_per_round, [&](const Resource& name) {
      if (first.abandons) {
        os_.saw(Probe::member_died_with_names);
        // Without memory it is not reported at the end.
        static_cast<void>(os::had_memory([&] { abandoned_.insert(name); }));
      }
    });
    if (registry_.holds_anything(first.member)) {
      return;
    }
    leaving_.pop_front();
  }
}

void Daemon::clean() {
  if (cleaner_.empty()) {
    return;
  }
  std::vector<Cleaned> ended = cleaner_.step(os_.now());
  for (Cleaned& cleaned : ended) {
    Status done = std::move(cleaned.status);
    if (done) {
      done = ledger_.strike(cleaned.resource);
    }
    if (cleaned.was_anothers) {
      os::report_quietly(os_, [&] {
        return "lastref tracker: " + to_text(cleaned.resource) +
               " is left alone: it is not what was counted by that name";
      });
    }
    if (!done) {
      os_.saw(Probe::clean_up_put_off_to_end);
      // The ledger contains it as well, and is read at the end.
      static_cast<void>(os::had_memory([&] { left_.insert(cleaned.resource); }));
      if (cleaned.identity) {
        static_cast<void>(os::within_memory(
            "the ledger", [&] { return ledger_.enter(cleaned.resource, cleaned.identity); }));
      }
      os::report_quietly(os_, [&] {
        return "lastref tracker: could not clean up " + to_text(cleaned.resource) + ": " +
               describe(done.error());
      });
    }
  }
  if (!ended.empty()) {
    retry_parked();
  }
}

void Daemon::retry_parked() {
  std::list<Parked> waiting;
  waiting.swap(parked_);
  for (Parked& parked : waiting) {
    if (const auto found = connections_.find(parked.from); found != connections_.end()) {
      try_to_take(parked.from, found->second, std::move(parked.message));
    }
  }
}

/// Whether nobody is left: no member, and no lock of a process that has yet to announce.
Result<bool> Daemon::has_ended() {
  if (!members_.empty()) {
    look_failures_ = 0;  // Whoever has come since is waited for, and not by the clock.
    return false;
  }
  if (!leaving_.empty() || !round_was_full_) {
    return false;
  }
  if (const Status looked = expect_members(); !looked) {
    if (++look_failures_ == failures_max) {
      return failure(looked.error());
    }
    return false;
  }
  look_failures_ = 0;
  return members_.empty();
}

}  // namespace lastref::tracker
