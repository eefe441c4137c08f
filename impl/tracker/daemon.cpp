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

constexpr std::chrono::milliseconds pause_after_failure{50};
/// Between checks of the locks of members that have not announced what they hold.
constexpr std::chrono::milliseconds pause_between_lock_checks{100};
/// What a round polls first: the listening socket, and the background jobs.
constexpr std::size_t own_items = 2;

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
    os.hit(Probe::tree_was_nearly_gone);
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

Daemon::Processes::node_type Daemon::node_of(os::UniqueFd process) {
  Processes made;
  made.emplace(no_member, std::move(process));
  return made.extract(made.begin());
}

Daemon::Daemon(os::Os& os, TreePaths paths, os::UniqueFd lock, Ledger ledger)
    : os_(os),
      limits_(os::limits_of(os)),
      paths_(std::move(paths)),
      lock_(std::move(lock)),
      ledger_(std::move(ledger)),
      cleaner_(os, {.aside = true}),
      core_(ledger_, cleaner_, *this, limits_) {}

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
  LASTREF_CHECK(daemon->core_.adopt(daemon->ledger_.names(), daemon->ledger_.forgotten()));
  LASTREF_CHECK(daemon->expect_members());
  daemon->keep_spare();
  daemon->listener_ = std::move(listener);
  return daemon;
}

/// Each process that has a byte of the lock and is not a member yet becomes a member that must
/// announce. If the process is in another pid namespace, only its lock shows its death.
Status Daemon::expect_members() {
  // In this order: a member locks its byte of the new lock before it gives up the old one.
  std::vector<KnownMember> found;
  for (const os::UniqueFd& old_lock : old_locks_) {
    LASTREF_TRY(in_old, members_of(os_, old_lock.get()));
    found.insert(found.end(), in_old.begin(), in_old.end());
  }
  LASTREF_TRY(in_place, members_of(os_, lock_.get()));
  found.insert(found.end(), in_place.begin(), in_place.end());
  for (const auto& [pid, nonce] : found) {
    const bool known = std::ranges::any_of(
        core_.members(), [of = nonce](const auto& item) { return item.second.nonce == of; });
    if (known) {
      continue;
    }
    auto process = pid > 0 ? os_.open_process(pid) : os::Fd::none;
    if (pid == 0) {
      look_again_ = os_.now() + pause_between_lock_checks;
      looks_ = 0;
    } else if (!process) {
      if (process.error().code == std::errc::no_such_process) {
        continue;
      }
      return failure(process.error());
    }
    os_.hit(Probe::member_known_by_lock);
    auto node = node_of(os::UniqueFd(os_, *process));
    node.key() = core_.expect(pid, nonce);
    processes_.insert(std::move(node));
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
      if (++rounds_without_memory_ > limits_.memory_pauses) {
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
  core_.begin_round();
  LASTREF_CHECK(round(poll_timeout()));
  core_.end_round(round_was_full_);
  look_for_locks();
  if (core_.settle()) {
    place_ledger();
    core_.act(round_was_full_);
  }
  clean();
  return has_ended();
}

/// How long the next round may wait.
std::optional<std::chrono::nanoseconds> Daemon::poll_timeout() {
  if (poll_failures_ > 0 || look_failures_ > 0) {
    return pause_after_failure;
  }
  if (!round_was_full_ || core_.has_work()) {
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
  items.push_back({.fd = cleaner_.completion_fd(), .want_read = true});
  for (const auto& [id, connection] : connections_) {
    items.push_back({.fd = connection.link.fd(),
                     .want_read = true,
                     .want_write = connection.link.wants_space()});
    connections.push_back(id);
  }
  for (const auto& [id, process] : processes_) {
    items.push_back({.fd = process.get(), .want_read = true});
    members.push_back(id);
  }
  auto ready = os::retry_interrupted([&] { return os_.poll(items, timeout); });
  round_was_full_ = ready.has_value();
  if (!ready) {
    if (os::is_no_memory(ready.error())) {
      return failure(std::move(ready.error()));
    }
    if (++poll_failures_ == limits_.tracker_failures) {
      return failure(ready.error());
    }
    return ok();
  }
  poll_failures_ = 0;
  const std::span polled(items);
  const bool again = accept_failures_ > 0 && os_.now() >= accept_again_;
  if (polled[0].hung_up) {
    // A tracker before us had begun to end: processes that join are refused permanently. The
    // socket is always ready, and never has a connection to accept.
    os_.hit(Probe::listener_was_shut);
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
    if (item.readable && processes_.contains(members[index])) {
      remove_member(members[index]);
    }
  }
  return ok();
}

/// Reads until there is nothing more; returns the number of messages.
std::size_t Daemon::read_all(ConnectionId id) {
  for (std::size_t read = 0; read < limits_.messages_per_round; ++read) {
    const auto found = connections_.find(id);
    if (found == connections_.end()) {
      return read;
    }
    Connection& connection = found->second;
    switch (connection.link.receive()) {
      case Arrival::message:
        core_.handle(id, connection.peer.pid, std::move(connection.link.received()));
        break;
      case Arrival::malformed:
        if (!connection.link.reason().empty()) {
          os_.hit(Probe::malformed_message);
          complain(id, "malformed message: ", connection.link.reason());
        }
        if (const auto& refusal = connection.link.refusal()) {
          reply(id, refusal->id, refusal->why);
        }
        break;
      case Arrival::nothing:
        return read;
      case Arrival::end:
        drop_connection(id);
        return read;
    }
  }
  os_.hit(Probe::round_filled_by_one);
  round_was_full_ = false;
  return limits_.messages_per_round;
}

void Daemon::drop_connection(ConnectionId id) {
  connections_.erase(id);
  if (core_.disconnect(id)) {
    look_again_ = os_.now() + pause_between_lock_checks;
    looks_ = 0;
  }
  // Without memory the check is repeated later.
  static_cast<void>(os::had_memory([&] { leave_without_lock(); }));
}

/// A member that has no lock any more, and no connection, has left without a message on one. Some
/// were known by their lock alone: they sent a leave before they gave up the lock, or could not
/// join.
void Daemon::leave_without_lock() {
  std::vector<MemberId> left;
  for (const auto& [id, member] : core_.members()) {
    if (!member.announced && !member.connection && !has_lock(member.nonce)) {
      left.push_back(id);
    }
  }
  if (!left.empty()) {
    os_.hit(Probe::member_left_without_word);
  }
  std::ranges::for_each(left, [this](MemberId id) { core_.leave(id); });
}

bool Daemon::looks_again() const {
  return !core_.settled() && (looks_ < limits_.lock_checks ||
                              std::ranges::any_of(core_.members(), [&](const auto& item) {
                                return !item.second.announced && !processes_.at(item.first);
                              }));
}

bool Daemon::has_lock(std::uint32_t nonce) const {
  return std::ranges::any_of(
             old_locks_,
             [&](const os::UniqueFd& old_lock) { return is_member(os_, old_lock.get(), nonce); }) ||
         is_member(os_, lock_.get(), nonce);
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
/// sends nothing more. The intervals grow, to some minutes in total, because a member that cannot
/// continue gives up its lock soon.
void Daemon::look_for_locks() {
  if (looks_again()) {
    if (const os::Instant now = os_.now(); now >= look_again_) {
      leave_without_lock();
      looks_ = std::min(looks_ + 1, limits_.lock_checks);
      look_again_ = now + pause_between_lock_checks * (1 << (looks_ - 1));
    }
  }
}

/// A process has died. Its messages are read first, then its references are dropped. If there is
/// more to read than a round allows, its process descriptor stays readable and the next round
/// continues.
void Daemon::remove_member(MemberId id) {
  if (const auto connection = core_.members().at(id).connection) {
    if (read_all(*connection) > 0) {
      os_.hit(Probe::last_words_heard);
    }
    if (!round_was_full_) {
      return;
    }
    connections_.erase(*connection);
    core_.disconnect(*connection);
  }
  if (processes_.contains(id)) {
    core_.leave(id);
  }
}

void Daemon::clean() {
  if (cleaner_.empty()) {
    return;
  }
  std::vector<Cleaned> ended = cleaner_.step(os_.now());
  for (Cleaned& cleaned : ended) {
    const Status done = core_.finish_clean_up(cleaned);
    if (cleaned.identity_mismatch) {
      os::report_quietly(os_, [&] {
        return "lastref tracker: " + to_text(cleaned.resource) +
               " is left alone: it is not what was counted by that name";
      });
    }
    if (!done) {
      os::report_quietly(os_, [&] {
        return "lastref tracker: could not clean up " + to_text(cleaned.resource) + ": " +
               describe(done.error());
      });
    }
  }
  if (!ended.empty()) {
    core_.retry_parked();
  }
}

/// Whether no process is left: no member, and no lock of a process that has yet to announce.
Result<bool> Daemon::has_ended() {
  if (!core_.members().empty()) {
    look_failures_ = 0;  // Waits for processes that joined since, without a time limit.
    return false;
  }
  if (core_.is_dropping() || !round_was_full_) {
    return false;
  }
  if (const Status looked = expect_members(); !looked) {
    if (++look_failures_ == limits_.tracker_failures) {
      return failure(looked.error());
    }
    return false;
  }
  look_failures_ = 0;
  return core_.members().empty();
}

Status Daemon::accept_all() {
  for (int aborted = 0;;) {
    auto socket = os::retry_interrupted([&] { return os_.accept(listener_.get()); });
    if (!socket) {
      const std::errc code = socket.error().code;
      if (code == std::errc::connection_aborted && ++aborted < limits_.aborted_connections) {
        os_.hit(Probe::connection_gone_before_accepted);
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
    if (++refused_ <= limits_.reported_refusals) {
      os::report_quietly(os_, [&] {
        return "lastref tracker: refused a connection " +
               (peer ? "of another user" : "of an unknown process: " + describe(peer.error()));
      });
    }
    return;
  }
  const ConnectionId id = ++last_connection_;
  connections_.emplace(id, Connection{.link = Link(os_, std::move(accepted)), .peer = *peer})
      .first->second.link.read_to_the_end();
  read_all(id);
}

/// Without space for a connection, accepts one, reports that to it and closes it at once. Returns
/// whether that was done. A process that has not sent anything yet connects again.
bool Daemon::refuse_one(std::errc why) {
  if (!spare_) {
    return false;
  }
  spare_.close_quietly();
  auto socket = os::retry_interrupted([&] { return os_.accept(listener_.get()); });
  const bool accepted = socket.has_value();
  if (accepted) {
    os_.hit(Probe::connection_refused_for_space);
    if (++refused_ <= limits_.reported_refusals) {
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
  } else if (++refused_ <= limits_.reported_refusals) {
    os::report_quietly(os_, [&] {
      return "lastref tracker: no descriptor is left to spare: " + describe(folder.error());
    });
  }
}

/// Accepting fails. Connected clients are served all the same, for long. The backlog contains no
/// holder except members that lost their connection, and the next round sees that they have none.
Status Daemon::put_off_accepting(const Error& why) {
  if (++accept_failures_ == 1) {
    os_.hit(Probe::accepting_put_off);
    round_was_full_ = false;
    os::report_quietly(
        os_, [&] { return "lastref tracker: not accepting connections: " + describe(why); });
  }
  const bool can_wait = is_want_of_space(why.code) && !connections_.empty();
  if (accept_failures_ >= (can_wait ? limits_.accept_attempts : limits_.tracker_failures)) {
    return failure(why);
  }
  accept_again_ = os_.now() + pause_after_failure;
  return ok();
}

void Daemon::reply(ConnectionId to, std::uint32_t id, std::errc status) noexcept {
  connections_.at(to).link.reply(id, status);
}

void Daemon::post(ConnectionId to, const Message& message) {
  Link& link = connections_.at(to).link;
  for (Packet& packet : encode_split(message, limits_)) {
    link.post(std::move(packet));
  }
}

bool Daemon::is_behind(ConnectionId id) const noexcept {
  const Link& link = connections_.at(id).link;
  return link.wants_space() || link.broken();
}

bool Daemon::is_any_behind() const noexcept {
  return std::ranges::any_of(connections_,
                             [this](const auto& item) { return is_behind(item.first); });
}

void Daemon::give_up(ConnectionId id) noexcept {
  connections_.at(id).link.give_up();
}

void Daemon::close(ConnectionId id) noexcept {
  connections_.erase(id);
}

bool Daemon::keep_process(ConnectionId id) {
  Connection& connection = connections_.at(id);
  if (auto& fds = connection.link.received_fds(); !fds.empty()) {
    connection.process = node_of(std::move(fds.front()));
  }
  return !connection.process.empty();
}

void Daemon::member_joined(ConnectionId id, MemberId member) noexcept {
  auto& process = connections_.at(id).process;
  process.key() = member;
  processes_.insert(std::move(process));
}

void Daemon::member_left(MemberId member) noexcept {
  processes_.erase(member);
}

/// Reports a process that breaks the protocol. That harms no other process, and the number of
/// reports is limited, so that another user cannot fill the disk that standard error is written to.
void Daemon::complain(ConnectionId about, std::string_view what, std::string_view detail) noexcept {
  os_.hit(Probe::protocol_breached);
  Connection& connection = connections_.at(about);
  if (++connection.complaints > limits_.reported_complaints) {
    return;
  }
  os::report_quietly(os_, [&] {
    std::string line = "lastref tracker: process " + std::to_string(connection.peer.pid) + ": ";
    line.append(what).append(detail);
    if (connection.complaints == limits_.reported_complaints) {
      line += " (no more is reported of this connection)";
    }
    return line;
  });
}

void Daemon::report_ledger_failure(const Resource& resource, const Error& why) noexcept {
  os::report_quietly(os_, [&] {
    return "lastref tracker: could not remove from the ledger: " + to_text(resource) + ": " +
           describe(why);
  });
}

/// A line for each type, with the names that were not released. A pipe takes all of it in one
/// write, or nothing.
std::vector<std::string> Daemon::leftover_lines() const {
  std::vector<std::string> lines;
  for (const auto& [type, of_type] : core_.leftovers_by_type()) {
    std::string line = "lastref tracker: the last process of the tree has ended: removing " +
                       std::to_string(of_type.size()) + " " + std::string(name_of(type)) +
                       (of_type.size() == 1 ? ":" : "s:");
    std::size_t told = 0;
    for (; told < of_type.size(); ++told) {
      const std::string name = " " + to_text(*of_type[told]);
      if (line.size() + name.size() > limits_.leftovers_line) {
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
      os_.hit(Probe::end_cleaned_what_was_put_off);
      if (const Status marked = ledger_.mark_dead(cleaned.resource); !marked) {
        // If all else is clean, the ledger itself goes.
        report_ledger_failure(cleaned.resource, marked.error());
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
  std::array items{os::PollItem{.fd = cleaner_.completion_fd(), .want_read = true}};
  const auto waited = os_.poll(items, timeout);
  if (!waited && waited.error().code != std::errc::interrupted &&
      ++poll_failures_ == limits_.tracker_failures) {
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
    lines = leftover_lines();
    return ok();
  }));
  if (!lines.empty()) {
    os_.hit(Probe::names_left_behind);
  }
  LASTREF_CHECK(insist(os_, [&] {
    core_.clean_up_rest();
    return ok();
  }));
  LASTREF_CHECK(insist(os_, [this] { return clean_all(); }));
  // After the clean-up, which must not wait for a reader.
  for (const std::string& line : lines) {
    os::report_quietly(os_, line);
  }
  if (accept_failures_ > 0) {
    os::report_quietly(os_, "lastref tracker: could not accept connections any more");
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
    os_.hit(Probe::names_left_to_next_start);
    return os::discard(os_, removal->socket());
  }
  Status removed = removal->remove(os_);
  for (int removals = 1; !removed && removals < limits_.tree_removals; ++removals) {
    os_.hit(Probe::tree_removed_at_second_try);
    removed = removal->remove(os_);  // What is already removed is no error.
  }
  return removed;
}

}  // namespace lastref::tracker
