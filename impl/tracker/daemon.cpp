#include "impl/tracker/daemon.hpp"

#include <algorithm>

namespace lastref::tracker {
namespace {

/// Messages read from one connection before the others get their turn.
constexpr std::size_t messages_per_round = 4096;
/// Connections may be gone before they are accepted so often in a row before that is a failure.
constexpr int aborted_max = 64;
/// A call of the loop itself may fail so often in a row before the tracker gives up its life.
constexpr int failures_max = 10;
constexpr std::chrono::milliseconds pause_after_failure{50};
/// So that a stranger cannot fill the disk that standard error goes to.
constexpr std::uint64_t refusals_told_max = 10;

}  // namespace

Daemon::Daemon(os::Os& os, TreePaths paths, os::UniqueFd lock, os::UniqueFd listener, Ledger ledger)
    : os_(os),
      paths_(std::move(paths)),
      lock_(std::move(lock)),
      listener_(std::move(listener)),
      ledger_(std::move(ledger)),
      cleaner_(os) {}

Result<std::unique_ptr<Daemon>> Daemon::start(os::Os& os, TreePaths paths, os::UniqueFd listener) {
  LASTREF_TRY(lock, os::open_file(os, paths.lock(), {.write = true}));
  LASTREF_CHECK(lock_as_tracker(os, lock.get()));
  LASTREF_TRY(ledger, Ledger::open(os, paths.ledger()));
  std::unique_ptr<Daemon> daemon(
      new Daemon(os, std::move(paths), std::move(lock), std::move(listener), std::move(ledger)));
  for (const Resource& name : daemon->ledger_.names()) {
    daemon->registry_.adopt(name);
  }
  for (Resource& name : daemon->ledger_.forgotten()) {
    daemon->ghosts_.insert(std::move(name));
  }
  LASTREF_CHECK(daemon->expect_members());
  return daemon;
}

/// Every process that has its byte of the lock and is not a member yet becomes one that must
/// announce.
Status Daemon::expect_members() {
  LASTREF_TRY(pids, members_of(os_, lock_.get()));
  for (const os::Pid pid : pids) {
    const bool known =
        std::ranges::any_of(members_, [pid](const auto& item) { return item.second.pid == pid; });
    if (known) {
      continue;
    }
    auto process = os_.open_process(pid);
    if (!process) {
      if (process.error().code == std::errc::no_such_process) {
        continue;
      }
      return tl::unexpected<Error>(process.error());
    }
    members_.emplace(++last_member_, Member{.pid = pid, .process = os::UniqueFd(os_, *process)});
  }
  return ok();
}

Status Daemon::serve() {
  // Something that never listens would never become readable either.
  LASTREF_CHECK(accept_all());
  for (;;) {
    const Registry::Stamp before = registry_.now();
    const std::size_t asked_before = asked_.size();
    const std::size_t forgets_before = forgets_.size();
    LASTREF_CHECK(round(patience()));
    if (round_was_full_) {
      forget(forgets_before);
    }
    if (settled()) {
      if (!was_settled_) {
        was_settled_ = true;
        os_.step(Step::tracker_settled);
      }
      lay_ghosts();
      retry_parked();
      if (round_was_full_) {
        const auto end = asked_.begin() + static_cast<std::ptrdiff_t>(asked_before);
        tell_counts({asked_.begin(), end});
        asked_.erase(asked_.begin(), end);
        for (Resource& doomed : registry_.take_doomed(before)) {
          os_.step(Step::tracker_doomed);
          abandoned_.erase(doomed);
          cleaner_.add(std::move(doomed));
        }
      }
    }
    clean();
    LASTREF_TRY(ended, has_ended());
    if (ended) {
      return end();
    }
  }
}

/// How long the next round may wait.
std::optional<std::chrono::nanoseconds> Daemon::patience() {
  if (accept_failures_ > 0 || poll_failures_ > 0) {
    return pause_after_failure;
  }
  if (!round_was_full_ || members_.empty() || !forgets_.empty() ||
      (settled() && (registry_.has_doomed() || !asked_.empty()))) {
    return std::chrono::nanoseconds(0);
  }
  if (const auto due = cleaner_.due()) {
    return std::max(*due - os_.now(), os::Instant(0));
  }
  return std::nullopt;
}

bool Daemon::settled() const {
  return std::ranges::all_of(members_, [](const auto& item) { return item.second.announced; });
}

Status Daemon::round(std::optional<std::chrono::nanoseconds> timeout) {
  std::vector<os::PollItem> items{{.fd = listener_.get(), .want_read = accept_failures_ == 0}};
  std::vector<ConnectionId> connections;
  std::vector<MemberId> members;
  for (const auto& [id, connection] : connections_) {
    items.push_back({.fd = connection.link.fd(),
                     .want_read = true,
                     .want_write = connection.link.wants_room()});
    connections.push_back(id);
  }
  for (const auto& [id, member] : members_) {
    items.push_back({.fd = member.process.get(), .want_read = true});
    members.push_back(id);
  }
  const auto ready = os::retry_interrupted([&] { return os_.poll(items, timeout); });
  round_was_full_ = ready.has_value();
  if (!ready) {
    if (++poll_failures_ == failures_max) {
      return tl::unexpected<Error>(ready.error());
    }
    return ok();
  }
  poll_failures_ = 0;
  const std::span polled(items);
  if (polled[0].readable || accept_failures_ > 0) {
    LASTREF_CHECK(accept_all());
  }
  for (std::size_t index = 0; index < connections.size(); ++index) {
    const os::PollItem& item = polled[1 + index];
    const auto found = connections_.find(connections[index]);
    if (found == connections_.end()) {
      continue;  // Its process came back on another one in this very round.
    }
    if (item.writable) {
      found->second.link.flush();
    }
    if (item.readable || item.hung_up || found->second.link.broken()) {
      const bool in_vain = read_all(connections[index]) == 0;
      // Something lies there that we were not given.
      round_was_full_ = round_was_full_ && !(in_vain && connections_.contains(connections[index]));
    }
  }
  for (std::size_t index = 0; index < members.size(); ++index) {
    const os::PollItem& item = polled[1 + connections.size() + index];
    if (item.readable && members_.contains(members[index])) {
      bury(members[index]);
    }
  }
  return ok();
}

Status Daemon::accept_all() {
  for (int aborted = 0;;) {
    auto socket = os::retry_interrupted([&] { return os_.accept(listener_.get()); });
    if (!socket) {
      const std::errc code = socket.error().code;
      if (code == std::errc::connection_aborted && ++aborted < aborted_max) {
        continue;  // That one is gone; the next may not be.
      }
      if (code == std::errc::resource_unavailable_try_again) {
        accept_failures_ = 0;
        return ok();
      }
      // Who waits in the backlog may hold what looks released.
      round_was_full_ = false;
      if (++accept_failures_ == failures_max) {
        return tl::unexpected<Error>(socket.error());
      }
      return ok();
    }
    os::UniqueFd accepted(os_, *socket);
    const auto peer = os_.peer_of(accepted.get());
    if (!peer || (peer->user != os_.user_id() && peer->user != 0)) {
      if (++refused_ <= refusals_told_max) {
        os::report_quietly(os_, "lastref tracker: refused a connection of another user");
      }
      continue;
    }
    const ConnectionId id = ++last_connection_;
    connections_.emplace(id, Connection{.link = Link(os_, std::move(accepted)), .peer = *peer});
    read_all(id);
  }
}

/// Reads until there is nothing more; says how many messages there were.
std::size_t Daemon::read_all(ConnectionId id) {
  for (std::size_t read = 0; read < messages_per_round; ++read) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) {
      return read;
    }
    Connection& connection = found->second;
    switch (connection.link.receive()) {
      case Arrival::message:
        take(id, connection, std::move(connection.link.received()));
        break;
      case Arrival::malformed:
        complain(connection, "malformed message: " + connection.link.reason());
        break;
      case Arrival::nothing:
        return read;
      case Arrival::end:
        lose(id);
        return read;
    }
  }
  round_was_full_ = false;
  return messages_per_round;
}

/// A connection has ended, which is no death: its process may live, and will announce again (T8).
void Daemon::lose(ConnectionId id) {
  const auto found = connections_.find(id);
  const auto member = members_.find(found->second.member.value_or(nobody));
  connections_.erase(found);
  if (member != members_.end()) {
    member->second.announced = false;
  }
  leave_without_lock();
}

/// Who has no lock any more, and no connection to say so, has left. That may be one who was known
/// by its lock alone: it said that it leaves before it gave its lock up, or could not join.
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
    if (!member.announced && !connected.contains(id) && !is_member(os_, lock_.get(), member.pid)) {
      gone.push_back(id);
    }
  }
  std::ranges::for_each(gone, [this](MemberId id) { leave(id); });
}

/// A process has died. What it had sent comes first, then its references go. With more to read than
/// a round allows, it stays readable and the next round goes on.
void Daemon::bury(MemberId id) {
  const auto last_words = std::ranges::find_if(
      connections_, [id](const auto& item) { return item.second.member == id; });
  if (last_words != connections_.end()) {
    const ConnectionId connection = last_words->first;
    read_all(connection);
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
  for (Resource& name : registry_.drop(id)) {
    abandoned_.insert(std::move(name));
  }
  members_.erase(id);
}

void Daemon::clean() {
  const auto due = cleaner_.due();
  if (!due) {
    return;
  }
  for (const Cleaned& cleaned : cleaner_.step(os_.now())) {
    Status done = cleaned.status;
    if (done) {
      done = ledger_.strike(cleaned.resource);
    }
    if (!done) {
      left_.insert(cleaned.resource);
      os::report_quietly(os_,
                         "lastref tracker: could not clean up " + to_text(cleaned.resource) + ": " +
                             describe(done.error()));
    }
  }
  retry_parked();
}

void Daemon::retry_parked() {
  std::vector<Parked> waiting;
  std::swap(waiting, parked_);
  for (Parked& parked : waiting) {
    if (const auto found = connections_.find(parked.from); found != connections_.end()) {
      take(parked.from, found->second, std::move(parked.message));
    }
  }
}

/// Whether nobody is left: no member, and no lock of a process that has yet to announce.
Result<bool> Daemon::has_ended() {
  if (!members_.empty() || !round_was_full_) {
    return false;
  }
  LASTREF_CHECK(expect_members());
  return members_.empty();
}

void Daemon::warn_of_abandoned() {
  std::map<ResourceType, std::vector<std::string>> names;
  for (const Resource& resource : abandoned_) {
    if (registry_.knows(resource) && registry_.count_of(resource) == 0) {
      names[resource.type].push_back(to_text(resource));
    }
  }
  for (const auto& [type, of_type] : names) {
    std::string line = "lastref tracker: the last process of the tree left " +
                       std::to_string(of_type.size()) + " " + std::string(word_of(type)) +
                       (of_type.size() == 1 ? ":" : "s:");
    for (const std::string& name : of_type) {
      line += " " + name;
    }
    os::report_quietly(os_, line);
  }
}

/// Once more what could not be cleaned up: it may have gone with a folder that it lay in, or with a
/// later life of its name. Whether nothing is left.
bool Daemon::try_again() {
  Cleaner cleaner(os_, /*attempts=*/1);
  std::vector<Resource> names(left_.begin(), left_.end());
  order_for_cleanup(names);
  for (Resource& name : names) {
    cleaner.add(std::move(name));
  }
  bool clean = true;
  while (!cleaner.empty()) {
    for (const Cleaned& cleaned : cleaner.step(os_.now())) {
      const Status done = cleaned.status ? ledger_.strike(cleaned.resource) : cleaned.status;
      if (!done) {
        clean = false;
        os::report_quietly(os_,
                           "lastref tracker: left to the next start: " + to_text(cleaned.resource) +
                               ": " + describe(done.error()));
      }
    }
  }
  return clean;
}

Status Daemon::end() {
  os_.step(Step::tracker_ending);
  // From here on joining is refused; who has connected meanwhile is told by the end of its
  // connection.
  static_cast<void>(os_.shut_down(listener_.get()));
  warn_of_abandoned();
  for (Resource& name : registry_.take_all_doomed()) {
    cleaner_.add(std::move(name));
  }
  while (!cleaner_.empty()) {
    const auto pause =
        std::max(cleaner_.due().value_or(os::Instant(0)) - os_.now(), os::Instant(0));
    if (pause > os::Instant(0)) {
      const auto waited = os_.poll({}, pause);
      if (!waited && waited.error().code != std::errc::interrupted &&
          ++poll_failures_ == failures_max) {
        return tl::unexpected<Error>(waited.error());
      }
    }
    clean();
  }
  if (!try_again()) {
    // The ledger stays, and no process does: the next start tries again.
    return os::discard(os_, paths_.socket());
  }
  return remove_tree(os_, paths_);
}

}  // namespace lastref::tracker
