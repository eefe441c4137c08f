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
/// This many connections in a row may end before they are accepted; more are a failure.
constexpr int aborted_max = 64;
/// Without space it is tried again after each of these pauses, ten seconds, while a client is
/// served.
constexpr int want_of_space_max = 200;
/// So that another user cannot fill the disk that standard error is written to.
constexpr std::uint64_t refusals_told_max = 10;
constexpr int complaints_max = 10;
/// Bytes of names in one line: a pipe takes all of it in one write, or nothing.
constexpr std::size_t leavings_size_max = 4000;
/// So often the tree itself is removed, until nothing of it is left.
constexpr int removals_max = 3;

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

/// Whether the error may go away when others free something.
bool is_want_of_space(std::errc code) {
  return code == std::errc::too_many_files_open ||
         code == std::errc::too_many_files_open_in_system || code == std::errc::no_buffer_space ||
         code == std::errc::not_enough_memory;
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

Status Daemon::accept_all() {
  for (int aborted = 0;;) {
    auto socket = os::retry_interrupted([&] { return os_.accept(listener_.get()); });
    if (!socket) {
      const std::errc code = socket.error().code;
      if (code == std::errc::connection_aborted && ++aborted < aborted_max) {
        os_.saw(Probe::connection_gone_before_accepted);
        continue;  // That connection is closed; the next may not be.
      }
      if (code == std::errc::resource_unavailable_try_again) {
        accept_failures_ = 0;
        return ok();
      }
      if (is_want_of_space(code) && refuse_one(code)) {
        accept_failures_ = 0;
        continue;
      }
      return put_off_accepting(socket.error());
    }
    accept_one(os::UniqueFd(os_, *socket));
  }
}

/// Without memory the connection is closed: its process connects again.
void Daemon::accept_one(os::UniqueFd accepted) {
  const auto peer = os_.peer_of(accepted.get());
  if (!peer || (peer->user != os_.user_id() && peer->user != 0)) {
    if (++refused_ <= refusals_told_max) {
      os::report_quietly(os_, [&] {
        return "lastref tracker: refused a connection " +
               (peer ? "of another user" : "of somebody unknown: " + describe(peer.error()));
      });
    }
    return;
  }
  const ConnectionId id = ++last_connection_;
  connections_.emplace(id, Connection{.link = Link(os_, std::move(accepted)), .peer = *peer});
  read_all(id);
}

/// There is no space for a connection, but for one that is told so at once and closed. Whether that
/// was done; who had not yet spoken comes again.
bool Daemon::refuse_one(std::errc why) {
  if (!spare_) {
    return false;
  }
  spare_.close_quietly();
  auto socket = os::retry_interrupted([&] { return os_.accept(listener_.get()); });
  const bool accepted = socket.has_value();
  if (accepted) {
    os_.saw(Probe::connection_refused_for_space);
    if (++refused_ <= refusals_told_max) {
      os::report_quietly(os_,
                         "lastref tracker: refused a connection: no descriptor is free for it, of "
                         "as many as the tracker may have (RLIMIT_NOFILE)");
    }
    Link link(os_, os::UniqueFd(os_, *socket));
    for (Arrival arrival = link.receive();
         arrival == Arrival::message || arrival == Arrival::malformed;
         arrival = link.receive()) {
      const auto& refusal = link.refusal();
      if (arrival == Arrival::message || refusal) {
        link.reply(arrival == Arrival::message ? link.received().id : refusal->id, why);
      }
      link.received_fds().clear();
    }
  }
  keep_spare();
  return accepted;
}

/// A descriptor that is given up for a moment where another one is needed.
void Daemon::keep_spare() {
  auto folder = os::open_file(os_, paths_.folder, {.folder = true});
  if (folder) {
    static_cast<void>(os_.lock_folder(folder->get()));  // Against what removes by age.
    spare_ = *std::move(folder);
  } else if (++refused_ <= refusals_told_max) {
    os::report_quietly(os_, [&] {
      return "lastref tracker: no descriptor is left to spare: " + describe(folder.error());
    });
  }
}

/// Accepting fails. Connected clients are served all the same, for long. The backlog contains no
/// holder except members that lost their connection, and the next round sees that they have none.
Status Daemon::put_off_accepting(const Error& why) {
  if (++accept_failures_ == 1) {
    os_.saw(Probe::accepting_put_off);
    round_was_full_ = false;
    os::report_quietly(
        os_, [&] { return "lastref tracker: nobody can be let in for now: " + describe(why); });
  }
  const bool can_wait = is_want_of_space(why.code) && !connections_.empty();
  if (accept_failures_ >= (can_wait ? want_of_space_max : failures_max)) {
    return failure(why);
  }
  accept_again_ = os_.now() + pause_after_failure;
  return ok();
}

/// Reports a process that breaks the protocol. That harms no other process, and the number of
/// reports is limited.
void Daemon::complain(Connection& connection,
                      std::string_view what,
                      std::string_view detail) noexcept {
  os_.saw(Probe::protocol_breached);
  if (++connection.complaints > complaints_max) {
    return;
  }
  os::report_quietly(os_, [&] {
    std::string line = "lastref tracker: process " + std::to_string(connection.peer.pid) + ": ";
    line.append(what).append(detail);
    if (connection.complaints == complaints_max) {
      line += " (no more is reported of this connection)";
    }
    return line;
  });
}

void Daemon::complain(Connection& connection,
                      std::string_view what,
                      const Resource& about) noexcept {
  std::string name;
  static_cast<void>(os::had_memory([&] { name = to_text(about); }));
  complain(connection, what, name);
}

void Daemon::answer(Connection& connection, std::uint32_t id, std::errc status) noexcept {
  connection.link.reply(id, status);
}

/// If there is no memory, a process that waits for an answer is refused. Any other loses its
/// connection, and announces what it holds on the next one.
void Daemon::try_to_take(ConnectionId id, Connection& connection, Message message) noexcept {
  if (os::had_memory([&] { take(id, connection, message); })) {
    return;
  }
  switch (message.verb) {
    case Verb::register_:
    case Verb::identify:
    case Verb::forget:
    case Verb::counts:
      answer(connection, message.id, std::errc::not_enough_memory);
      return;
    case Verb::announce:
    case Verb::hold:
    case Verb::release:
    case Verb::probe:
    case Verb::leave:
    case Verb::reply:
      connection.link.give_up();
      return;
  }
}

void Daemon::take(ConnectionId id, Connection& connection, Message& message) {
  const bool needs_membership = message.verb == Verb::register_ || message.verb == Verb::hold ||
                                message.verb == Verb::release || message.verb == Verb::forget ||
                                message.verb == Verb::identify;
  if (needs_membership && !connection.member) {
    complain(connection, "speaks before it has announced itself");
    if (message.verb == Verb::register_ || message.verb == Verb::forget ||
        message.verb == Verb::identify) {
      answer(connection, message.id, std::errc::operation_not_permitted);
    }
    return;
  }
  switch (message.verb) {
    case Verb::announce:
      take_announcement(connection, message);
      return;
    case Verb::register_:
      take_register(id, connection, message);
      return;
    case Verb::identify:
      take_identity(connection, message);
      return;
    case Verb::hold:
      take_hold(connection, message);
      return;
    case Verb::release:
      take_release(connection, message);
      return;
    case Verb::forget:
      forgets_.push_back({.from = id, .message = std::move(message)});
      return;
    case Verb::counts:
      asked_.push_back({.from = id, .message = std::move(message)});
      return;
    case Verb::probe:
      answer(connection, message.id);
      return;
    case Verb::leave:
      if (connection.member) {
        leave(*connection.member);
        connection.member.reset();
      }
      return;
    case Verb::reply:
      complain(connection, "answers a question that nobody asked");
      return;
  }
}

void Daemon::take_announcement(Connection& connection, Message& message) {
  const auto self = connection.member ? members_.find(*connection.member) : members_.end();
  if (self != members_.end() && !self->second.announced && message.entries.empty()) {
    self->second.announced = true;  // Its open requests have been read.
    return;
  }
  auto& fds = connection.link.received_fds();
  if (!fds.empty()) {
    connection.announcing_process = std::move(fds.front());
  }
  std::ranges::move(message.entries, std::back_inserter(connection.announcing));
  if (message.more) {
    return;
  }
  if (connection.member || !connection.announcing_process) {
    complain(connection, "announces itself twice, or without its process");
    answer(connection, message.id, std::errc::invalid_argument);
    return;
  }
  // A member that lost its connection comes back with its old nonce, and so does one that is only
  // known by its lock.
  const auto known = std::ranges::find_if(members_, [&](const auto& item) {
    const Member& member = item.second;
    return member.pid == connection.peer.pid && member.nonce == message.id;
  });
  std::map<MemberId, Member> made;
  const MemberId member = ++last_member_;
  Member& announced = made[member];
  announced = {.pid = connection.peer.pid, .nonce = message.id, .process = {}, .has_spoken = true};
  std::list<Leaving> left;
  if (known != members_.end()) {
    // The announcement contains whatever is unread in the old connection; if that were read later,
    // it would count twice.
    const MemberId before = known->first;
    announced.stale_counts = std::move(known->second.stale_counts);
    if (known->second.has_spoken) {
      os_.saw(Probe::member_came_back);
    }
    left.push_back({.member = before, .abandons = false});
    std::erase_if(connections_, [=](const auto& item) { return item.second.member == before; });
    leaving_.splice(leaving_.end(), left);
    members_.erase(known);
  }
  made.begin()->second.process = std::move(connection.announcing_process);
  members_.merge(made);
  connection.member = member;
  for (const Entry& entry : connection.announcing) {
    if (registry_.knows(entry.resource)) {
      registry_.add(member, entry.resource, entry.count);
    } else {
      // What the ledger does not know was forgotten, or cleaned up, and this process not told.
      os_.saw(Probe::announced_what_was_forgotten);
      announced.stale_counts[entry.resource] = entry.count;
      tell_forgotten(member, entry.resource);
    }
  }
  connection.announcing.clear();
  members_.at(member).announced = !message.again;
  answer(connection, message.id);
}

void Daemon::take_register(ConnectionId id, Connection& connection, Message& message) {
  for (const Entry& entry : message.entries) {
    // Either the thing is being deleted, and whoever creates it now would lose it; or somebody may
    // yet announce the life of the name that is over, or may be over. Wait for the end of that.
    const bool waits_for_all = may_be_over(entry);
    if (cleaner_.is_under_way(entry.resource) || tombstones_.contains(entry.resource) ||
        waits_for_all) {
      waits_for_all_ = waits_for_all_ || waits_for_all;
      os_.saw(Probe::register_waited);
      parked_.push_back({.from = id, .message = std::move(message)});
      return;
    }
  }
  for (const Entry& entry : message.entries) {
    // Where it is would depend on our own working folder, or on that of the next start.
    if (is_relative(entry.resource)) {
      answer(connection, message.id, std::errc::invalid_argument);
      return;
    }
    if (const Status counted = count(*connection.member, entry); !counted) {
      answer(connection, message.id, counted.error().code);
      return;
    }
    // From here on it is a name in use. What is refused is cleaned up as it would have been.
    cleaner_.cancel(entry.resource);
    left_.erase(entry.resource);
    put_off_.erase(entry.resource);
    abandoned_.erase(entry.resource);
  }
  answer(connection, message.id);
}

/// Whether only a later announcement can decide if the resource is still the one that is known.
bool Daemon::may_be_over(const Entry& entry) const {
  return !entry.identity && registry_.knows(entry.resource) &&
         registry_.count_of(entry.resource) == 0 && ledger_.identity_of(entry.resource) &&
         !settled();
}

/// Records the name and counts the reference, or neither. A name that is already held keeps its
/// known identity.
Status Daemon::count(MemberId member, const Entry& entry) {
  const bool was_known = registry_.knows(entry.resource);
  const bool goes_on = !entry.identity && registry_.count_of(entry.resource) > 0;
  registry_.add(member, entry.resource, entry.count);
  Status entered = os::within_memory("the ledger", [&] {
    return ledger_.enter(entry.resource,
                         goes_on ? ledger_.identity_of(entry.resource) : entry.identity);
  });
  if (!entered && was_known) {
    registry_.release(member, entry.resource, entry.count);
  } else if (!entered) {
    registry_.forget(entry.resource);
  }
  return entered;
}

/// A name without a count is ignored: its end may be on its way.
void Daemon::take_identity(Connection& connection, const Message& message) {
  for (const Entry& entry : message.entries) {
    Status entered =
        registry_.knows(entry.resource) ? ledger_.enter(entry.resource, entry.identity) : ok();
    if (!entered) {
      answer(connection, message.id, entered.error().code);
      return;
    }
  }
  answer(connection, message.id);
}

void Daemon::take_hold(Connection& connection, const Message& message) {
  for (const Entry& entry : message.entries) {
    if (registry_.knows(entry.resource)) {
      if (registry_.count_of(entry.resource) == 0) {
        os_.saw(Probe::doomed_name_held_again);
      }
      registry_.add(*connection.member, entry.resource, entry.count);
      abandoned_.erase(entry.resource);
      if (registry_.count_of(entry.resource) >= 3) {
        os_.saw(Probe::count_reached_three);
      }
    } else {
      complain(connection, "holds an unknown name: ", entry.resource);
    }
  }
}

void Daemon::take_release(Connection& connection, const Message& message) {
  for (const Entry& entry : message.entries) {
    const Released released = registry_.release(*connection.member, entry.resource, entry.count);
    if ((released == Released::unknown || released == Released::not_held) &&
        !is_stale_release(*connection.member, entry)) {
      complain(connection,
               released == Released::unknown ? "releases an unknown name: "
                                             : "releases a name that it does not hold: ",
               entry.resource);
    }
  }
}

/// Whether the process could not know that it no longer holds the name. Counts it as released.
bool Daemon::is_stale_release(MemberId member, const Entry& entry) {
  auto& stale_counts = members_.at(member).stale_counts;
  const auto found = stale_counts.find(entry.resource);
  if (found == stale_counts.end() || found->second < entry.count) {
    return false;
  }
  os_.saw(Probe::stale_release);
  found->second -= entry.count;
  if (found->second == 0) {
    stale_counts.erase(found);
  }
  return true;
}

/// Handles the first `count` waiting requests: a hold that was sent before a forget is forgotten
/// with the name, and is not a hold of an unknown name.
void Daemon::forget(std::ptrdiff_t count) {
  std::list<Parked> due;
  due.splice(due.end(), forgets_, forgets_.begin(), std::next(forgets_.begin(), count));
  while (!due.empty()) {
    std::list<Parked> each;
    each.splice(each.end(), due, due.begin());
    Message& message = each.front().message;
    const auto found = connections_.find(each.front().from);
    if (found == connections_.end()) {
      continue;
    }
    if (!renounce(message)) {
      // What may go at any moment is not forgotten yet.
      os_.saw(Probe::forget_waited);
      message.again = true;
      parked_.splice(parked_.end(), each);
    } else if (!os::had_memory([&] { take_forget(found->second, message); })) {
      answer(found->second, message.id, std::errc::not_enough_memory);
    }
  }
}

/// Whether the names are not being cleaned up, and will not be.
bool Daemon::renounce(const Message& message) {
  bool all = true;
  for (const Entry& entry : message.entries) {
    all = cleaner_.renounce(entry.resource) && all;
  }
  return all;
}

/// For names that could not be forgotten and have no count: their clean-up is already cancelled.
void Daemon::leave_to_the_end(std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    if (!registry_.knows(entry.resource) && ledger_.contains(entry.resource)) {
      put_off_.insert(entry.resource);
    }
  }
}

void Daemon::take_forget(Connection& connection, const Message& message) {
  std::set<Resource> made;  // tombstones, if they are needed
  for (const Entry& entry : message.entries) {
    made.insert(entry.resource);
  }
  for (const Entry& entry : message.entries) {
    const std::vector<MemberId> holders = registry_.holders_of(entry.resource);
    for (const MemberId holder : holders) {
      const auto found = members_.find(holder);
      if (found != members_.end() && holder != connection.member) {
        found->second.stale_counts.try_emplace(entry.resource, 0);
      }
    }
    // Nothing fails for want of memory from here on.
    if (Status struck = ledger_.forget(entry.resource); !struck) {
      static_cast<void>(os::had_memory(
          [&] { leave_to_the_end(std::span(&entry, std::to_address(message.entries.end()))); }));
      answer(connection, message.id, struck.error().code);
      return;
    }
    const bool was_left = left_.erase(entry.resource) + put_off_.erase(entry.resource) > 0;
    abandoned_.erase(entry.resource);  // Its holder may have died, and it may never be doomed.
    for (const MemberId holder : holders) {
      const auto found = members_.find(holder);
      if (found != members_.end() && holder != connection.member) {
        found->second.stale_counts.at(entry.resource) += registry_.count_of(holder, entry.resource);
      }
    }
    if (!registry_.forget(entry.resource) && !was_left && !message.again) {
      complain(connection, "forgets an unknown name: ", entry.resource);
    }
    // A member that has not announced yet may hold it, and not know that it is forgotten.
    bool all_told = settled();
    for (const MemberId holder : holders) {
      // Who has left never announces anything again.
      const bool need_not_know = holder == connection.member || !members_.contains(holder);
      all_told = (need_not_know || tell_forgotten(holder, entry.resource)) && all_told;
    }
    if (!all_told) {
      os_.saw(Probe::forget_told_late);
      tombstones_.insert(made.extract(entry.resource));
    }
  }
  answer(connection, message.id);
  for (const Entry& entry : message.entries) {
    if (connection.link.wants_space() || connection.link.broken()) {
      tombstones_.insert(made.extract(entry.resource));
    } else if (!tombstones_.contains(entry.resource)) {
      clear_tombstone(entry.resource);
    }
  }
}

/// Whether it is certain that `holder` reads the message before it announces anything again.
bool Daemon::tell_forgotten(MemberId holder, const Resource& resource) {
  const auto found = std::ranges::find_if(
      connections_, [holder](const auto& item) { return item.second.member == holder; });
  if (found == connections_.end()) {
    return false;
  }
  Link& link = found->second.link;
  if (!os::had_memory([&] {
        link.post(encode({.verb = Verb::forget, .entries = {{.resource = resource}}}));
      })) {
    link.give_up();
  }
  return !link.wants_space() && !link.broken();
}

/// Runs when all members have announced and all notices have been sent.
void Daemon::clear_tombstones() {
  const bool all_told =
      !tombstones_.empty() && std::ranges::none_of(connections_, [](const auto& item) {
        return item.second.link.wants_space() || item.second.link.broken();
      });
  if (!all_told) {
    return;
  }
  for (const Resource& tombstone : tombstones_) {
    clear_tombstone(tombstone);
  }
  tombstones_.clear();
  retry_parked();
}

void Daemon::clear_tombstone(const Resource& resource) {
  if (const Status done = ledger_.lay_to_rest(resource); !done) {
    report_not_struck(resource, done.error());
  }
}

void Daemon::report_not_struck(const Resource& resource, const Error& why) noexcept {
  os::report_quietly(os_, [&] {
    return "lastref tracker: could not strike " + to_text(resource) + ": " + describe(why);
  });
}

/// Answers the first `count` requests, only after a round that began when they had been read: that
/// round sees any death before the request. Nor does it answer before all references of the members
/// that left are dropped.
void Daemon::tell_counts(std::ptrdiff_t count) {
  if (!leaving_.empty()) {
    return;
  }
  std::list<Parked> due;
  due.splice(due.end(), asked_, asked_.begin(), std::next(asked_.begin(), count));
  for (const Parked& question : due) {
    const auto found = connections_.find(question.from);
    if (found != connections_.end() &&
        !os::had_memory([&] { tell_counts(found->second, question.message); })) {
      answer(found->second, question.message.id, std::errc::not_enough_memory);
    }
  }
}

void Daemon::tell_counts(Connection& connection, const Message& message) {
  Message reply{.verb = Verb::reply, .id = message.id, .entries = {}};
  for (const Holding& holding : registry_.holdings()) {
    const auto holder = members_.find(holding.holder);
    reply.entries.push_back({.resource = holding.resource,
                             .holder = holder == members_.end() ? 0 : holder->second.pid,
                             .count = holding.count});
  }
  for (Packet& packet : encode_split(reply)) {
    connection.link.post(std::move(packet));
  }
}

/// A line for each type, with the names that were not released.
std::vector<std::string> Daemon::leavings() const {
  std::map<ResourceType, std::vector<const Resource*>> names;
  for (const Resource& resource : abandoned_) {
    if (registry_.knows(resource) && registry_.count_of(resource) == 0) {
      names[resource.type].push_back(&resource);
    }
  }
  std::vector<std::string> lines;
  for (const auto& [type, of_type] : names) {
    std::string line = "lastref tracker: the last process of the tree left " +
                       std::to_string(of_type.size()) + " " + std::string(name_of(type)) +
                       (of_type.size() == 1 ? ":" : "s:");
    std::size_t told = 0;
    for (; told < of_type.size(); ++told) {
      const std::string name = " " + to_text(*of_type[told]);
      if (line.size() + name.size() > leavings_size_max) {
        break;
      }
      line += name;
    }
    if (told < of_type.size()) {
      line += " and " + std::to_string(of_type.size() - told) + " more";
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

/// Tries again to clean up what could not be cleaned up before: it may have been removed with the
/// folder that contained it, or after its name was registered again. Returns whether nothing is
/// left.
bool Daemon::try_again() {
  Cleaner cleaner(os_, {.attempts = 1});
  std::vector<Resource> names = ledger_.names();
  order_for_cleanup(names);
  for (const Resource& name : names) {
    cleaner.add(name, ledger_.identity_of(name));
  }
  bool clean = true;
  while (!cleaner.empty()) {
    for (const Cleaned& cleaned : cleaner.step(os_.now())) {
      if (!cleaned.status) {
        clean = false;
        os::report_quietly(os_, [&] {
          return "lastref tracker: left to the next start: " + to_text(cleaned.resource) + ": " +
                 describe(cleaned.status.error());
        });
        continue;
      }
      os_.saw(Probe::end_cleaned_what_was_put_off);
      if (const Status struck = ledger_.strike(cleaned.resource); !struck) {
        // If all else is clean, the ledger itself goes.
        report_not_struck(cleaned.resource, struck.error());
      }
    }
  }
  return clean;
}

/// For the end, when there is no client left to serve.
Status Daemon::wait_for_clean_up() {
  std::optional<std::chrono::nanoseconds> timeout;
  if (const auto due = cleaner_.due()) {
    timeout = *due - os_.now();
    if (*timeout <= os::Instant(0)) {
      return ok();
    }
  }
  std::array items{os::PollItem{.fd = cleaner_.news(), .want_read = true}};
  const auto waited = os_.poll(items, timeout);
  if (!waited && waited.error().code != std::errc::interrupted &&
      ++poll_failures_ == failures_max) {
    return failure(waited.error());
  }
  return ok();
}

Status Daemon::clean_all() {
  while (!cleaner_.empty()) {
    LASTREF_CHECK(wait_for_clean_up());
    clean();
  }
  return ok();
}

Status Daemon::end() {
  os_.step(Step::tracker_ending);
  // From here on joining is refused. A client that has connected meanwhile sees the end of its
  // connection.
  if (listener_) {
    static_cast<void>(os_.shut_down(listener_.get()));
  }
  std::vector<std::string> lines;
  LASTREF_CHECK(insist(os_, [&] {
    lines = leavings();
    return ok();
  }));
  if (!lines.empty()) {
    os_.saw(Probe::names_left_behind);
  }
  LASTREF_CHECK(insist(os_, [&] {
    std::vector<Resource> names = registry_.doomed();
    names.insert(names.end(), put_off_.begin(), put_off_.end());
    order_for_cleanup(names);
    for (const Resource& name : names) {
      cleaner_.add(name, ledger_.identity_of(name));
    }
    return ok();
  }));
  LASTREF_CHECK(insist(os_, [this] { return clean_all(); }));
  // After the deed, which must not wait for somebody to read.
  for (const std::string& line : lines) {
    os::report_quietly(os_, line);
  }
  if (accept_failures_ > 0) {
    os::report_quietly(os_, "lastref tracker: to the end nobody more could be let in");
  }
  bool is_clean = false;
  LASTREF_CHECK(insist(os_, [&] {
    is_clean = try_again();
    return ok();
  }));
  std::optional<TreeRemoval> removal;
  LASTREF_CHECK(insist(os_, [&] {
    removal.emplace(paths_);
    return ok();
  }));
  if (!is_clean) {
    // The ledger stays, and no process does: the next start tries again.
    os_.saw(Probe::names_left_to_next_start);
    return os::discard(os_, removal->socket());
  }
  Status removed = removal->remove(os_);
  for (int removals = 1; !removed && removals < removals_max; ++removals) {
    os_.saw(Probe::tree_removed_at_second_try);
    removed = removal->remove(os_);  // What is already removed is no error.
  }
  return removed;
}

}  // namespace lastref::tracker
