// How the tracker handles each message. The loop that reads them is in daemon.cpp.
#include <algorithm>
#include <iterator>

#include <lastref/probe.hpp>

#include "impl/os/within_memory.hpp"
#include "impl/tracker/daemon.hpp"

namespace lastref::tracker {
namespace {

constexpr int complaints_max = 10;

}  // namespace

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

}  // namespace lastref::tracker
