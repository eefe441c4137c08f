#include "impl/tracker/tracker_core.hpp"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "impl/os/within_memory.hpp"

namespace lastref::tracker {
namespace {

bool is_answered(Verb verb) noexcept {
  return verb == Verb::register_ || verb == Verb::identify || verb == Verb::forget ||
         verb == Verb::counts;
}

}  // namespace

Status TrackerCore::adopt(const std::vector<Resource>& alive, std::vector<Resource> forgotten) {
  for (const Resource& name : alive) {
    if (is_relative(name)) {
      LASTREF_CHECK(names_.mark_dead(name));  // Its folder is unknown.
    } else {
      host_.hit(Probe::names_adopted);
      registry_.adopt(name);
    }
  }
  for (Resource& name : forgotten) {
    host_.hit(Probe::forget_adopted);
    tombstones_.insert(std::move(name));
  }
  return ok();
}

MemberId TrackerCore::expect(os::Pid pid, std::uint32_t nonce) {
  members_.emplace(++last_member_, Member{.pid = pid, .nonce = nonce});
  return last_member_;
}

bool TrackerCore::settled() const {
  return std::ranges::all_of(members_, [](const auto& item) { return item.second.announced; });
}

bool TrackerCore::has_work() const {
  return members_.empty() || !forget_requests_.empty() || is_dropping() ||
         (settled() && (registry_.has_doomed() || !count_requests_.empty()));
}

void TrackerCore::begin_round() {
  stamp_before_ = registry_.now();
  counts_before_ = count_requests_.size();
  forgets_before_ = forget_requests_.size();
}

void TrackerCore::end_round(bool was_full) {
  if (was_full) {
    forget_due();
  }
  drop_departed();
}

bool TrackerCore::settle() {
  if (!settled()) {
    return false;
  }
  if (!was_settled_) {
    was_settled_ = true;
    host_.step(Step::tracker_settled);
  }
  clear_tombstones();
  return true;
}

void TrackerCore::act(bool was_full) {
  if (std::exchange(waits_for_all_, false)) {
    retry_parked();
  }
  if (was_full) {
    answer_counts();
    doom();
  }
}

/// Without members the names stay for the end, which reports what was left. A client that sends a
/// message meanwhile waits for no more than the names of one round.
void TrackerCore::doom() {
  if (members_.empty()) {
    return;
  }
  registry_.take_doomed(stamp_before_, limits_.names_per_round, [this](const Resource& doomed) {
    host_.step(Step::tracker_doomed);
    clean_ups_.add(doomed, names_.identity_of(doomed));
    abandoned_.erase(doomed);
  });
}

Status TrackerCore::finish_clean_up(Cleaned& cleaned) {
  Status done = std::move(cleaned.status);
  if (done) {
    done = names_.mark_dead(cleaned.resource);
  }
  if (!done) {
    host_.hit(Probe::clean_up_put_off_to_end);
    // The name is on record as well, and is read at the end.
    static_cast<void>(os::had_memory([&] { failed_.insert(cleaned.resource); }));
    if (cleaned.identity) {
      static_cast<void>(os::within_memory(
          "the ledger", [&] { return names_.enter(cleaned.resource, cleaned.identity); }));
    }
  }
  return done;
}

void TrackerCore::retry_parked() {
  Requests waiting;
  waiting.swap(parked_);
  for (Request& request : waiting) {
    if (const auto found = connections_.find(request.from); found != connections_.end()) {
      handle(request.from, found->second.pid, std::move(request.message));
    }
  }
}

bool TrackerCore::disconnect(ConnectionId id) noexcept {
  const auto connection = connections_.extract(id);
  if (!connection || !connection.mapped().member) {
    return false;
  }
  Member& member = members_.at(*connection.mapped().member);
  member.announced = false;
  member.connection.reset();
  return true;
}

void TrackerCore::leave(MemberId id) {
  departed_.push_back({.member = id, .abandons = true});
  const auto left = members_.find(id);
  if (left->second.connection) {
    connections_.at(*left->second.connection).member.reset();
  }
  members_.erase(left);
  host_.member_left(id);
}

/// Drops the references of members that have left, a bounded number of names in a round.
void TrackerCore::drop_departed() {
  for (std::size_t dropped = 0; is_dropping() && dropped < limits_.members_per_round; ++dropped) {
    const Departed& first = departed_.front();
    registry_.drop(first.member, limits_.names_per_round, [&](const Resource& name) {
      if (first.abandons) {
        host_.hit(Probe::member_died_with_names);
        // Without memory it is not reported at the end.
        static_cast<void>(os::had_memory([&] { abandoned_.insert(name); }));
      }
    });
    if (registry_.holds_anything(first.member)) {
      return;
    }
    departed_.pop_front();
  }
}

void TrackerCore::complain(const Connection& connection, std::string_view what) noexcept {
  host_.complain(connection.id, what, {});
}

void TrackerCore::complain(const Connection& connection,
                           std::string_view what,
                           const Resource& about) noexcept {
  std::string name;
  static_cast<void>(os::had_memory([&] { name = to_text(about); }));
  host_.complain(connection.id, what, name);
}

void TrackerCore::handle(ConnectionId from, os::Pid pid, Message message) noexcept {
  const bool done = os::had_memory([&] {
    handle(connections_.try_emplace(from, Connection{.id = from, .pid = pid}).first->second,
           message);
  });
  if (!done && is_answered(message.verb)) {
    host_.reply(from, message.id, std::errc::not_enough_memory);
  } else if (!done) {
    host_.give_up(from);
  }
}

void TrackerCore::handle(Connection& connection, Message& message) {
  const bool is_request = message.verb == Verb::register_ || message.verb == Verb::forget ||
                          message.verb == Verb::identify;
  if (!connection.member &&
      (is_request || message.verb == Verb::hold || message.verb == Verb::release)) {
    complain(connection, "speaks before it has announced itself");
    if (is_request) {
      host_.reply(connection.id, message.id, std::errc::operation_not_permitted);
    }
    return;
  }
  switch (message.verb) {
    case Verb::announce:
      handle_announcement(connection, message);
      return;
    case Verb::register_:
      handle_register(connection, message);
      return;
    case Verb::identify:
      handle_identify(connection, message);
      return;
    case Verb::hold:
      handle_hold(connection, message);
      return;
    case Verb::release:
      handle_release(connection, message);
      return;
    case Verb::forget:
      forget_requests_.push_back({.from = connection.id, .message = std::move(message)});
      return;
    case Verb::counts:
      count_requests_.push_back({.from = connection.id, .message = std::move(message)});
      return;
    case Verb::probe:
      host_.reply(connection.id, message.id, {});
      return;
    case Verb::leave:
      if (connection.member) {
        leave(*connection.member);
      }
      return;
    case Verb::reply:
      complain(connection, "replies without a request");
      return;
  }
}

TrackerCore::Member& TrackerCore::join(Connection& connection, std::uint32_t nonce) {
  // A member that lost its connection comes back with its old nonce, and so does one that is only
  // known by its lock.
  const auto known = std::ranges::find_if(members_, [&](const auto& item) {
    const Member& member = item.second;
    return member.pid == connection.pid && member.nonce == nonce;
  });
  std::map<MemberId, Member> made;
  const MemberId id = ++last_member_;
  Member& member = made[id];
  member = {.pid = connection.pid, .nonce = nonce, .connection = connection.id, .has_spoken = true};
  std::list<Departed> departed;
  if (known != members_.end()) {
    // The announcement contains whatever is unread in the old connection; if that were read later,
    // it would count twice.
    const MemberId before = known->first;
    member.stale_counts = std::move(known->second.stale_counts);
    if (known->second.has_spoken) {
      host_.hit(Probe::member_came_back);
    }
    departed.push_back({.member = before, .abandons = false});
    if (const auto old = known->second.connection) {
      connections_.erase(*old);
      host_.close(*old);
    }
    departed_.splice(departed_.end(), departed);
    members_.erase(known);
    host_.member_left(before);
  }
  members_.merge(made);
  connection.member = id;
  host_.member_joined(connection.id, id);
  return member;
}

void TrackerCore::handle_announcement(Connection& connection, Message& message) {
  const auto self = members_.find(connection.member.value_or(no_member));
  if (self != members_.end() && !self->second.announced && message.entries.empty()) {
    self->second.announced = true;  // Its open requests have been read.
    return;
  }
  const bool has_process = host_.keep_process(connection.id);
  std::ranges::move(message.entries, std::back_inserter(connection.announcing));
  if (message.more) {
    return;
  }
  if (connection.member || !has_process) {
    complain(connection, "announces itself twice, or without its process");
    host_.reply(connection.id, message.id, std::errc::invalid_argument);
    return;
  }
  Member& member = join(connection, message.id);
  for (const MessageEntry& entry : connection.announcing) {
    if (registry_.knows(entry.resource)) {
      registry_.add(*connection.member, entry.resource, entry.count);
    } else {
      // What is not on record was forgotten, or cleaned up, and this process was not notified.
      host_.hit(Probe::announced_what_was_forgotten);
      member.stale_counts[entry.resource] = entry.count;
      notify_forgotten(*connection.member, entry.resource);
    }
  }
  connection.announcing.clear();
  member.announced = !message.again;
  host_.reply(connection.id, message.id, {});
}

void TrackerCore::handle_register(Connection& connection, Message& message) {
  for (const MessageEntry& entry : message.entries) {
    // Either the resource is being deleted, and a process that creates it now would lose it; or a
    // member may yet announce the life of the name that is over, or may be over.
    const bool waits_for_all = may_be_over(entry);
    if (clean_ups_.is_under_way(entry.resource) || tombstones_.contains(entry.resource) ||
        waits_for_all) {
      waits_for_all_ = waits_for_all_ || waits_for_all;
      host_.hit(Probe::register_waited);
      parked_.push_back({.from = connection.id, .message = std::move(message)});
      return;
    }
  }
  for (const MessageEntry& entry : message.entries) {
    // A relative name would depend on our own working folder, or on that of the next start.
    if (is_relative(entry.resource)) {
      host_.reply(connection.id, message.id, std::errc::invalid_argument);
      return;
    }
    if (const Status counted = count(*connection.member, entry); !counted) {
      host_.reply(connection.id, message.id, counted.error().code);
      return;
    }
    // From here on it is a name in use. What is refused is cleaned up as it would have been.
    clean_ups_.cancel(entry.resource);
    failed_.erase(entry.resource);
    put_off_.erase(entry.resource);
    abandoned_.erase(entry.resource);
  }
  host_.reply(connection.id, message.id, {});
}

/// Whether only a later announcement can decide if the resource is still the one that is known.
bool TrackerCore::may_be_over(const MessageEntry& entry) const {
  return !entry.identity && registry_.knows(entry.resource) &&
         registry_.count_of(entry.resource) == 0 && names_.identity_of(entry.resource) &&
         !settled();
}

/// Records the name and counts the reference, or neither. A name that is already held keeps its
/// known identity.
Status TrackerCore::count(MemberId member, const MessageEntry& entry) {
  const bool was_known = registry_.knows(entry.resource);
  const bool goes_on = !entry.identity && registry_.count_of(entry.resource) > 0;
  registry_.add(member, entry.resource, entry.count);
  Status entered = os::within_memory("the ledger", [&] {
    return names_.enter(entry.resource,
                        goes_on ? names_.identity_of(entry.resource) : entry.identity);
  });
  if (!entered && was_known) {
    registry_.release(member, entry.resource, entry.count);
  } else if (!entered) {
    registry_.forget(entry.resource);
  }
  return entered;
}

/// A name without a count is ignored: its end may be on its way.
void TrackerCore::handle_identify(Connection& connection, const Message& message) {
  for (const MessageEntry& entry : message.entries) {
    Status entered =
        registry_.knows(entry.resource) ? names_.enter(entry.resource, entry.identity) : ok();
    if (!entered) {
      host_.reply(connection.id, message.id, entered.error().code);
      return;
    }
  }
  host_.reply(connection.id, message.id, {});
}

void TrackerCore::handle_hold(Connection& connection, const Message& message) {
  for (const MessageEntry& entry : message.entries) {
    if (registry_.knows(entry.resource)) {
      if (registry_.count_of(entry.resource) == 0) {
        host_.hit(Probe::doomed_name_held_again);
      }
      registry_.add(*connection.member, entry.resource, entry.count);
      abandoned_.erase(entry.resource);
      if (registry_.count_of(entry.resource) >= 3) {
        host_.hit(Probe::count_reached_three);
      }
    } else {
      complain(connection, "holds an unknown name: ", entry.resource);
    }
  }
}

void TrackerCore::handle_release(Connection& connection, const Message& message) {
  for (const MessageEntry& entry : message.entries) {
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
bool TrackerCore::is_stale_release(MemberId member, const MessageEntry& entry) {
  auto& stale_counts = members_.at(member).stale_counts;
  const auto found = stale_counts.find(entry.resource);
  if (found == stale_counts.end() || found->second < entry.count) {
    return false;
  }
  host_.hit(Probe::stale_release);
  found->second -= entry.count;
  if (found->second == 0) {
    stale_counts.erase(found);
  }
  return true;
}

TrackerCore::Requests TrackerCore::take_first(Requests& requests, std::size_t count) {
  Requests due;
  due.splice(due.end(),
             requests,
             requests.begin(),
             std::next(requests.begin(), static_cast<std::ptrdiff_t>(count)));
  return due;
}

/// Handles the requests that were waiting when the round began: a hold that was sent before a
/// forget is forgotten with the name, and is not a hold of an unknown name.
void TrackerCore::forget_due() {
  Requests due = take_first(forget_requests_, forgets_before_);
  while (!due.empty()) {
    Requests each = take_first(due, 1);
    Message& message = each.front().message;
    const auto found = connections_.find(each.front().from);
    if (found == connections_.end()) {
      continue;
    }
    if (!stop_retrying(message)) {
      // A name that may be removed at any moment is not forgotten yet.
      host_.hit(Probe::forget_waited);
      message.again = true;
      parked_.splice(parked_.end(), each);
    } else if (!os::had_memory([&] { handle_forget(found->second, message); })) {
      host_.reply(found->first, message.id, std::errc::not_enough_memory);
    }
  }
}

/// Whether the names are not being cleaned up, and will not be.
bool TrackerCore::stop_retrying(const Message& message) {
  bool all = true;
  for (const MessageEntry& entry : message.entries) {
    all = clean_ups_.stop_retrying(entry.resource) && all;
  }
  return all;
}

/// For names that could not be forgotten and have no count: their clean-up is already cancelled.
void TrackerCore::put_off(std::span<const MessageEntry> entries) {
  for (const MessageEntry& entry : entries) {
    if (!registry_.knows(entry.resource) && names_.contains(entry.resource)) {
      put_off_.insert(entry.resource);
    }
  }
}

void TrackerCore::handle_forget(Connection& connection, const Message& message) {
  std::set<Resource> made;  // tombstones, if they are needed
  for (const MessageEntry& entry : message.entries) {
    made.insert(entry.resource);
  }
  for (const MessageEntry& entry : message.entries) {
    const std::vector<MemberId> holders = registry_.holders_of(entry.resource);
    for (const MemberId holder : holders) {
      const auto found = members_.find(holder);
      if (found != members_.end() && holder != connection.member) {
        found->second.stale_counts.try_emplace(entry.resource, 0);
      }
    }
    // Nothing fails for want of memory from here on.
    if (Status forgotten = names_.forget(entry.resource); !forgotten) {
      static_cast<void>(os::had_memory(
          [&] { put_off(std::span(&entry, std::to_address(message.entries.end()))); }));
      host_.reply(connection.id, message.id, forgotten.error().code);
      return;
    }
    const bool was_left = failed_.erase(entry.resource) + put_off_.erase(entry.resource) > 0;
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
    bool all_notified = settled();
    for (const MemberId holder : holders) {
      // A member that has left never announces anything again.
      const bool need_not_know = holder == connection.member || !members_.contains(holder);
      all_notified = (need_not_know || notify_forgotten(holder, entry.resource)) && all_notified;
    }
    if (!all_notified) {
      host_.hit(Probe::forget_told_late);
      tombstones_.insert(made.extract(entry.resource));
    }
  }
  host_.reply(connection.id, message.id, {});
  for (const MessageEntry& entry : message.entries) {
    if (host_.is_behind(connection.id)) {
      tombstones_.insert(made.extract(entry.resource));
    } else if (!tombstones_.contains(entry.resource)) {
      erase_tombstone(entry.resource);
    }
  }
}

/// Whether it is certain that `holder` reads the message before it announces anything again.
bool TrackerCore::notify_forgotten(MemberId holder, const Resource& resource) {
  const auto connection = members_.at(holder).connection;
  if (!connection) {
    return false;
  }
  if (!os::had_memory([&] {
        host_.post(*connection, {.verb = Verb::forget, .entries = {{.resource = resource}}});
      })) {
    host_.give_up(*connection);
  }
  return !host_.is_behind(*connection);
}

/// Runs when all members have announced. It waits until all notices have been sent.
void TrackerCore::clear_tombstones() {
  if (tombstones_.empty() || host_.is_any_behind()) {
    return;
  }
  for (const Resource& tombstone : tombstones_) {
    erase_tombstone(tombstone);
  }
  tombstones_.clear();
  retry_parked();
}

void TrackerCore::erase_tombstone(const Resource& resource) {
  if (const Status erased = names_.erase_tombstone(resource); !erased) {
    host_.report_ledger_failure(resource, erased.error());
  }
}

/// Answers the requests that had been read when the round began: the round saw any death before
/// them. Nor does it answer before all references of the members that left are dropped.
void TrackerCore::answer_counts() {
  if (is_dropping()) {
    return;
  }
  const Requests due = take_first(count_requests_, counts_before_);
  for (const Request& request : due) {
    const auto found = connections_.find(request.from);
    if (found != connections_.end() &&
        !os::had_memory([&] { send_counts(found->second, request.message); })) {
      host_.reply(found->first, request.message.id, std::errc::not_enough_memory);
    }
  }
}

void TrackerCore::send_counts(const Connection& connection, const Message& message) {
  Message reply{.verb = Verb::reply, .id = message.id, .entries = {}};
  for (const Holding& holding : registry_.holdings()) {
    const auto holder = members_.find(holding.holder);
    reply.entries.push_back({.resource = holding.resource,
                             .holder = holder == members_.end() ? 0 : holder->second.pid,
                             .count = holding.count});
  }
  host_.post(connection.id, reply);
}

std::map<ResourceType, std::vector<const Resource*>> TrackerCore::leftovers_by_type() const {
  std::map<ResourceType, std::vector<const Resource*>> names;
  for (const Resource& resource : abandoned_) {
    if (registry_.knows(resource) && registry_.count_of(resource) == 0) {
      names[resource.type].push_back(&resource);
    }
  }
  return names;
}

void TrackerCore::clean_up_rest() {
  std::vector<Resource> names = registry_.doomed();
  names.insert(names.end(), put_off_.begin(), put_off_.end());
  order_for_cleanup(names);
  for (const Resource& name : names) {
    clean_ups_.add(name, names_.identity_of(name));
  }
}

}  // namespace lastref::tracker
