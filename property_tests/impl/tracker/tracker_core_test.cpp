// tracker_core_test: the core of the tracker against a model of several clients.
//
// The model has one truth, the references that each client holds, and what each client believes of
// it. It knows nothing of the core's lists. It demands after each action: the names on record and
// the clean-ups that are queued are exactly those of the model; each request is answered once, and
// not before what it has to wait for; what a connected client has been sent brings its belief to
// the truth; no client that keeps to the protocol is reported.
#include "impl/tracker/tracker_core.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "property_tests/impl/tracker/generators.hpp"

namespace lastref::tracker {
namespace {

using Counts = std::map<Resource, std::uint64_t>;
using Requested = std::pair<ConnectionId, std::uint32_t>;

constexpr std::size_t clients_max = 3;
/// In the order of their clean-up.
const std::array resources = {Resource{.type = ResourceType::file, .name = "/a"},
                              Resource{.type = ResourceType::file, .name = "/d/f"},
                              Resource{.type = ResourceType::folder, .name = "/d"}};

/// A ledger that may fail to write.
class MapStore final : public NameStore {
 public:
  bool contains(const Resource& resource) const override { return alive.contains(resource); }
  std::optional<Identity> identity_of(const Resource& resource) const override {
    const auto found = alive.find(resource);
    return found == alive.end() ? std::nullopt : found->second;
  }
  Status enter(const Resource& resource, const std::optional<Identity>& identity) override {
    if (works) {
      alive[resource] = identity;
    }
    return written();
  }
  Status mark_dead(const Resource& resource) override {
    if (works) {
      alive.erase(resource);
    }
    return written();
  }
  Status forget(const Resource& resource) override {
    if (works && alive.erase(resource) > 0) {
      forgotten.insert(resource);
    }
    return written();
  }
  Status erase_tombstone(const Resource& resource) override {
    forgotten.erase(resource);
    return ok();
  }

  std::map<Resource, std::optional<Identity>> alive;
  std::set<Resource> forgotten;
  bool works = true;

 private:
  Status written() const {
    return works ? ok() : Status(failure(std::errc::io_error, "the ledger", Call::write_at));
  }
};

/// Clean-ups that begin and end when the test wants it.
class ManualCleanUps final : public CleanUpQueue {
 public:
  void add(Resource resource, const std::optional<Identity>&) override {
    is_begun.try_emplace(std::move(resource), false);
  }
  bool is_under_way(const Resource& resource) override { return has_begun(resource); }
  void cancel(const Resource& resource) override {
    if (!is_under_way(resource)) {
      is_begun.erase(resource);
    }
  }
  bool stop_retrying(const Resource& resource) override {
    cancel(resource);
    return !is_begun.contains(resource);
  }

  bool has_begun(const Resource& resource) const {
    const auto found = is_begun.find(resource);
    return found != is_begun.end() && found->second;
  }

  std::map<Resource, bool> is_begun;
};

struct Reply {
  ConnectionId to = 0;
  std::uint32_t id = 0;
  std::errc status{};
};
struct Post {
  ConnectionId to = 0;
  Message message;
};
struct Close {
  ConnectionId connection = 0;
};
using Event = std::variant<Reply, Post, Close>;

/// Notes what the core does, in order.
class NotingHost final : public TrackerHost {
 public:
  void reply(ConnectionId to, std::uint32_t id, std::errc status) noexcept override {
    events.emplace_back(Reply{.to = to, .id = id, .status = status});
  }
  void post(ConnectionId to, const Message& message) override {
    events.emplace_back(Post{.to = to, .message = message});
  }
  bool is_behind(ConnectionId connection) const noexcept override {
    return stalled.contains(connection);
  }
  bool is_any_behind() const noexcept override { return !stalled.empty(); }
  void give_up(ConnectionId) noexcept override { LASTREF_ASSERT(false); }
  void close(ConnectionId connection) noexcept override {
    stalled.erase(connection);
    events.emplace_back(Close{.connection = connection});
  }
  bool keep_process(ConnectionId) override { return true; }
  void member_joined(ConnectionId, MemberId member) noexcept override { members.insert(member); }
  void member_left(MemberId member) noexcept override { members.erase(member); }
  void complain(ConnectionId, std::string_view what, std::string_view) noexcept override {
    complaints.emplace_back(what);
  }
  void report_ledger_failure(const Resource&, const Error&) noexcept override {}
  void hit(Probe) noexcept override {}
  void step(Step) noexcept override {}

  std::vector<Event> events;
  std::set<ConnectionId> stalled;
  std::set<MemberId> members;
  std::vector<std::string> complaints;
};

/// What reaches a client, in order.
struct Granted {
  Resource resource;
};
struct Ended {
  Resource resource;
};
using Delivery = std::variant<Granted, Ended>;

struct Client {
  os::Pid pid = 0;
  std::uint32_t nonce = 0;
  bool is_member = false;
  bool has_announced = false;
  bool is_counted = false;  ///< This tracker knows what it holds.
  std::optional<ConnectionId> connection;
  std::optional<Requested> waits_for;  ///< It does nothing else meanwhile.
  bool is_answer_unsent = false;       ///< It waits for that as well.
  Counts believed;
  std::vector<Delivery> received;
  std::vector<Delivery> unsent;

  void read() {
    for (const Delivery& delivery : std::exchange(received, {})) {
      if (const auto* granted = std::get_if<Granted>(&delivery)) {
        ++believed[granted->resource];
      } else {
        believed.erase(std::get<Ended>(delivery).resource);
      }
    }
  }
  Counts after_reading_all() const {
    Client reader = *this;
    reader.received.insert(reader.received.end(), unsent.begin(), unsent.end());
    reader.read();
    return reader.believed;
  }
};

/// A name that is counted, or at 0 and not doomed yet.
struct Life {
  std::map<std::size_t, std::uint64_t> holders;
  int zero_since = 0;
  bool is_abandoned = false;
};

/// An earlier membership, which is counted until the round ends.
struct Departed {
  Counts held;
  bool is_dead = false;  ///< It did not come back on another connection.
};

struct Request {
  std::size_t client = 0;
  Verb verb = Verb::probe;
  Resource resource = {};
  std::optional<Identity> identity = {};
  int round = 0;
};

class Tree {
 public:
  Tree() { core_->begin_round(); }

  void announce(std::size_t client, bool is_open);
  void confirm(std::size_t client);
  void disconnect(std::size_t client);
  void die(std::size_t client);
  void stall(std::size_t client);
  void read_replies(std::size_t client);
  void read(std::size_t client) { clients_[client].read(); }
  void register_name(std::size_t client, const Resource& resource, bool has_identity);
  void hold(std::size_t client, const Resource& resource);
  void release(std::size_t client, const Resource& resource);
  void ask(std::size_t client, Verb verb, const Resource& resource);
  void round(bool is_full);
  void begin_clean_up(std::size_t number);
  void end_clean_up(std::size_t number, bool succeeds);
  void set_store(bool works) { store_.works = works; }
  void restart();
  void agree() const;
  /// Lets everything come to its end, and then all clients die.
  void finish();

 private:
  bool has_settled() const {
    return std::ranges::all_of(
        clients_, [](const Client& client) { return !client.is_member || client.has_announced; });
  }
  static bool is_waiting(const Client& client) {
    return client.waits_for || client.is_answer_unsent;
  }
  static bool may_speak(const Client& client) { return client.connection && !is_waiting(client); }
  std::uint64_t truth(std::size_t client, const Resource& resource) const {
    const auto life = lives_.find(resource);
    const bool holds = life != lives_.end() && life->second.holders.contains(client);
    return holds ? life->second.holders.at(client) : 0;
  }
  std::uint64_t counted(const Resource& resource) const {
    std::uint64_t sum = 0;
    for (std::size_t each = 0; each < clients_max; ++each) {
      sum += clients_[each].is_counted ? truth(each, resource) : 0;
    }
    for (const Departed& departed : departed_) {
      const auto held = departed.held.find(resource);
      sum += held == departed.held.end() ? 0 : held->second;
    }
    return sum;
  }
  bool waits(const Request& request) const {
    const auto alive = alive_.find(request.resource);
    const bool may_be_over = lives_.contains(request.resource) && !request.identity &&
                             alive->second && counted(request.resource) == 0 && !has_settled();
    return clean_ups_.has_begun(request.resource) || tombstones_.contains(request.resource) ||
           may_be_over;
  }

  void set(std::size_t client, const Resource& resource, std::uint64_t count);
  void depart(std::size_t client, bool is_dead);
  void lose_connection(std::size_t client);
  void send(std::size_t client, Message message);
  void request(std::size_t client, Verb verb, const Resource& resource, bool has_identity);

  void see_events();
  void see(const Reply& reply);
  void see(const Post& post);
  void see(const Close& close);
  void see_register(const Request& request, std::errc status);
  void see_forget(const Request& request, std::errc status);
  void deliver(std::size_t client, Delivery delivery);
  void deliver_answer(std::size_t client, Delivery delivery);
  void expect_no_register_waits_in_vain() const;
  std::size_t client_of(ConnectionId connection) const;

  MapStore store_;
  ManualCleanUps clean_ups_;
  NotingHost host_;
  std::unique_ptr<TrackerCore> core_ = std::make_unique<TrackerCore>(store_, clean_ups_, host_);

  std::array<Client, clients_max> clients_;
  std::map<Resource, Life> lives_;
  std::map<Resource, std::optional<Identity>> alive_;  ///< on record
  std::map<Resource, bool> tombstones_;  ///< Whether the name was on record when it was forgotten.
  std::set<Resource> cleaning_;
  std::set<Resource> put_off_;  ///< Neither counted nor cleaned up, because forgetting failed.
  std::vector<Departed> departed_;
  std::map<Requested, Request> open_;
  std::vector<Requested> answered_counts_;
  int round_ = 1;
  ConnectionId last_connection_ = 0;
  std::uint32_t last_id_ = 0;
  os::Pid last_pid_ = 100;
};

void Tree::set(std::size_t client, const Resource& resource, std::uint64_t count) {
  Life& life = lives_.at(resource);
  const bool was_counted = counted(resource) > 0;
  life.holders[client] = count;
  if (count == 0) {
    life.holders.erase(client);
  }
  if (was_counted && counted(resource) == 0) {
    life.zero_since = round_;
  }
}

void Tree::depart(std::size_t client, bool is_dead) {
  Departed& departed = departed_.emplace_back(Departed{.held = {}, .is_dead = is_dead});
  for (const Resource& resource : resources) {
    if (const std::uint64_t held = truth(client, resource); held > 0) {
      departed.held[resource] = clients_[client].is_counted ? held : 0;
      if (is_dead) {
        lives_.at(resource).holders.erase(client);
      }
    }
  }
}

std::size_t Tree::client_of(ConnectionId connection) const {
  const auto found = std::ranges::find(
      clients_, std::optional(connection), [](const Client& client) { return client.connection; });
  RC_ASSERT(found != clients_.end());
  return static_cast<std::size_t>(found - clients_.begin());
}

/// What was not sent is lost, and so are the answers.
void Tree::lose_connection(std::size_t client) {
  Client& lost = clients_[client];
  std::erase_if(open_, [&](const auto& item) { return item.first.first == lost.connection; });
  host_.stalled.erase(*lost.connection);
  lost.connection.reset();
  lost.waits_for.reset();
  lost.is_answer_unsent = false;
  lost.unsent.clear();
  lost.has_announced = false;
}

void Tree::send(std::size_t client, Message message) {
  const Client& from = clients_[client];
  core_->handle(*from.connection, from.pid, std::move(message));
  see_events();
}

void Tree::request(std::size_t client, Verb verb, const Resource& resource, bool has_identity) {
  Client& from = clients_[client];
  const std::uint32_t id = ++last_id_;
  Request asked{.client = client, .verb = verb, .resource = resource, .round = round_};
  if (has_identity) {
    asked.identity = Identity{.device = 1, .inode = id, .btime = 1};
  }
  const bool must_wait =
      verb == Verb::forget || verb == Verb::counts || (verb == Verb::register_ && waits(asked));
  from.waits_for = Requested(*from.connection, id);
  open_.emplace(*from.waits_for, asked);
  Message message{.verb = verb, .id = id, .entries = {}};
  if (verb != Verb::counts && verb != Verb::probe) {
    message.entries.push_back({.resource = resource, .identity = asked.identity});
  }
  send(client, std::move(message));
  RC_ASSERT(from.waits_for.has_value() == must_wait);
}

void Tree::announce(std::size_t client, bool is_open) {
  Client& self = clients_[client];
  if (is_waiting(self)) {
    return;
  }
  if (self.pid == 0) {
    self.pid = ++last_pid_;
    self.nonce = static_cast<std::uint32_t>(last_pid_);
  }
  self.read();
  const auto old = self.connection;
  const ConnectionId connection = ++last_connection_;
  Message message{.verb = Verb::announce, .again = is_open, .id = self.nonce, .entries = {}};
  for (const auto& [resource, count] : self.believed) {
    if (count > 0) {
      message.entries.push_back({.resource = resource, .count = count});
    }
  }
  if (self.is_member) {
    depart(client, /*is_dead=*/false);
  }
  for (const Resource& resource : resources) {
    if (lives_.contains(resource)) {
      const auto known = self.believed.find(resource);
      const std::uint64_t announced = known == self.believed.end() ? 0 : known->second;
      set(client, resource, std::min(announced, truth(client, resource)));
    }
  }
  open_.emplace(Requested(connection, self.nonce),
                Request{.client = client, .verb = Verb::announce});
  core_->handle(connection, self.pid, std::move(message));
  if (old) {
    const auto closed = std::ranges::find_if(
        host_.events, [](const Event& event) { return std::holds_alternative<Close>(event); });
    RC_ASSERT(closed != host_.events.end());
    RC_ASSERT(std::get<Close>(*closed).connection == *old);
    host_.events.erase(closed);
    lose_connection(client);
  }
  self.connection = connection;
  self.is_member = true;
  self.is_counted = true;
  self.has_announced = !is_open;
  see_events();
  RC_ASSERT(!open_.contains(Requested(connection, self.nonce)));
}

void Tree::die(std::size_t client) {
  Client& dead = clients_[client];
  if (dead.connection) {
    RC_ASSERT(core_->disconnect(*dead.connection));
    lose_connection(client);
  }
  if (dead.is_member) {
    for (const auto& [id, member] : core_->members()) {
      if (member.pid == dead.pid) {
        core_->leave(id);
        break;
      }
    }
    depart(client, /*is_dead=*/true);
  }
  dead = {};
}

void Tree::hold(std::size_t client, const Resource& resource) {
  Client& self = clients_[client];
  self.read();
  const auto life = lives_.find(resource);
  if (!may_speak(self) || life == lives_.end() || tombstones_.contains(resource) ||
      self.believed[resource] != truth(client, resource)) {
    return;
  }
  ++self.believed[resource];
  set(client, resource, truth(client, resource) + 1);
  life->second.is_abandoned = false;
  send(client, {.verb = Verb::hold, .entries = {{.resource = resource}}});
}

/// A client without a connection releases as well, and does not announce what it released.
void Tree::release(std::size_t client, const Resource& resource) {
  Client& self = clients_[client];
  if (self.pid == 0 || is_waiting(self) || self.believed[resource] == 0) {
    return;
  }
  --self.believed[resource];
  if (!self.connection) {
    return;
  }
  if (const std::uint64_t held = truth(client, resource); held > 0) {
    set(client, resource, held - 1);
  }
  send(client, {.verb = Verb::release, .entries = {{.resource = resource}}});
}

void Tree::see_events() {
  for (const Event& event : std::exchange(host_.events, {})) {
    std::visit([this](const auto& each) { see(each); }, event);
  }
}

void Tree::deliver(std::size_t client, Delivery delivery) {
  Client& to = clients_[client];
  (host_.is_behind(*to.connection) ? to.unsent : to.received).push_back(std::move(delivery));
}

/// To a client that has read everything before it as well when it continues.
void Tree::deliver_answer(std::size_t client, Delivery delivery) {
  deliver(client, std::move(delivery));
  if (clients_[client].unsent.empty()) {
    clients_[client].read();
  } else {
    clients_[client].is_answer_unsent = true;
  }
}

void Tree::see(const Reply& reply) {
  const auto found = open_.find({reply.to, reply.id});
  RC_ASSERT(found != open_.end());  // It is answered once.
  const Request request = found->second;
  open_.erase(found);
  Client& client = clients_[request.client];
  if (request.verb != Verb::announce) {
    RC_ASSERT(client.waits_for == Requested(reply.to, reply.id));
    client.waits_for.reset();
  }
  if (request.verb == Verb::register_) {
    see_register(request, reply.status);
  } else if (request.verb == Verb::forget) {
    see_forget(request, reply.status);
  } else if (request.verb == Verb::identify && lives_.contains(request.resource)) {
    RC_ASSERT((reply.status == std::errc()) == store_.works);
    if (store_.works) {
      alive_.at(request.resource) = request.identity;
    }
  } else {
    RC_ASSERT(reply.status == std::errc());
  }
}

void Tree::see_register(const Request& request, std::errc status) {
  RC_ASSERT(!waits(request));
  RC_ASSERT((status == std::errc()) == store_.works);
  if (!store_.works) {
    if (const auto life = lives_.find(request.resource);
        life != lives_.end() && counted(request.resource) == 0) {
      life->second.zero_since = round_;  // It was counted for a moment.
    }
    return;
  }
  if (counted(request.resource) == 0 || request.identity) {
    alive_[request.resource] = request.identity;
  }
  cleaning_.erase(request.resource);
  put_off_.erase(request.resource);
  lives_.try_emplace(request.resource);
  lives_.at(request.resource).is_abandoned = false;
  set(request.client, request.resource, truth(request.client, request.resource) + 1);
  deliver_answer(request.client, Granted{.resource = request.resource});
}

void Tree::see_forget(const Request& request, std::errc status) {
  RC_ASSERT(request.round < round_);
  RC_ASSERT(!clean_ups_.is_begun.contains(request.resource));
  cleaning_.erase(request.resource);
  RC_ASSERT((status == std::errc()) == store_.works);
  if (!store_.works) {
    if (!lives_.contains(request.resource) && alive_.contains(request.resource)) {
      put_off_.insert(request.resource);
    }
    return;
  }
  put_off_.erase(request.resource);
  bool all_know = has_settled() && !host_.is_behind(*clients_[request.client].connection);
  for (std::size_t each = 0; each < clients_max; ++each) {
    const Client& holder = clients_[each];
    if (each != request.client && holder.is_member && truth(each, request.resource) > 0) {
      all_know = all_know && holder.connection && !host_.is_behind(*holder.connection);
    }
  }
  const bool was_alive = alive_.erase(request.resource) > 0;
  if (!all_know) {
    bool& is_on_record = tombstones_[request.resource];
    is_on_record = is_on_record || was_alive;
  }
  lives_.erase(request.resource);
  for (Departed& departed : departed_) {
    departed.held.erase(request.resource);
  }
  deliver_answer(request.client, Ended{.resource = request.resource});
}

void Tree::see(const Post& post) {
  const std::size_t client = client_of(post.to);
  if (post.message.verb == Verb::forget) {
    deliver(client, Ended{.resource = post.message.entries.front().resource});
    return;
  }
  RC_ASSERT(post.message.verb == Verb::reply);
  const auto found = open_.find({post.to, post.message.id});
  RC_ASSERT(found != open_.end());
  RC_ASSERT(found->second.verb == Verb::counts);
  RC_ASSERT(found->second.round < round_);
  RC_ASSERT(has_settled());
  std::vector<MessageEntry> held;
  for (const Resource& resource : resources) {
    for (std::size_t each = 0; each < clients_max; ++each) {
      if (const std::uint64_t count = truth(each, resource); count > 0) {
        held.push_back({.resource = resource, .holder = clients_[each].pid, .count = count});
      }
    }
  }
  const auto in_order = [](const MessageEntry& one, const MessageEntry& other) {
    return std::pair(one.resource, one.holder) < std::pair(other.resource, other.holder);
  };
  std::vector<MessageEntry> told = post.message.entries;
  std::ranges::sort(told, in_order);
  std::ranges::sort(held, in_order);
  RC_ASSERT(told == held);
  clients_[client].waits_for.reset();
  open_.erase(found);
}

void Tree::see(const Close&) {
  RC_FAIL("A connection is closed that its client did not replace.");
}

void Tree::round(bool is_full) {
  core_->end_round(is_full);
  see_events();
  for (; !departed_.empty(); departed_.erase(departed_.begin())) {
    Departed& first = departed_.front();
    for (auto& [resource, count] : first.held) {
      if (std::exchange(count, 0) > 0 && counted(resource) == 0) {
        lives_.at(resource).zero_since = round_;
        lives_.at(resource).is_abandoned = first.is_dead;
      }
    }
  }
  const bool is_settled = has_settled();
  if (is_settled && host_.stalled.empty()) {
    tombstones_.clear();
  }
  RC_ASSERT(core_->settle() == is_settled);
  see_events();
  if (is_settled) {
    core_->act(is_full);
    see_events();
    expect_no_register_waits_in_vain();
  }
  const bool has_members =
      std::ranges::any_of(clients_, [](const Client& client) { return client.is_member; });
  for (const Resource& resource : resources) {
    const auto life = lives_.find(resource);
    const bool is_due = is_settled && is_full && has_members && life != lives_.end() &&
                        life->second.holders.empty() && life->second.zero_since < round_;
    const bool is_occupied = std::ranges::any_of(
        lives_, [&](const auto& item) { return item.first.name.starts_with(resource.name + "/"); });
    if (is_due && !is_occupied) {
      lives_.erase(life);
      cleaning_.insert(resource);
    }
  }
  if (is_settled && is_full) {
    for (const auto& [requested, request] : open_) {
      RC_ASSERT(!(request.verb == Verb::counts && request.round < round_));
    }
  }
  ++round_;
  core_->begin_round();
}

void Tree::expect_no_register_waits_in_vain() const {
  for (const auto& [requested, request] : open_) {
    RC_ASSERT(!(request.verb == Verb::register_ && !waits(request)));
  }
}

void Tree::end_clean_up(std::size_t number, bool succeeds) {
  std::vector<Resource> begun;
  for (const auto& [resource, is_begun] : clean_ups_.is_begun) {
    if (is_begun) {
      begun.push_back(resource);
    }
  }
  if (begun.empty()) {
    return;
  }
  const Resource resource = begun[number % begun.size()];
  clean_ups_.is_begun.erase(resource);
  cleaning_.erase(resource);
  Cleaned cleaned{.resource = resource, .status = ok()};
  if (!succeeds) {
    cleaned.status = failure(std::errc::permission_denied, resource.name, Call::unlink);
    cleaned.identity = Identity{.device = 2, .inode = 2, .btime = 2};
    if (store_.works) {
      alive_.at(resource) = cleaned.identity;
    }
  } else if (store_.works) {
    alive_.erase(resource);
  }
  RC_ASSERT(core_->finish_clean_up(cleaned).has_value() == (succeeds && store_.works));
  core_->retry_parked();
  see_events();
  if (has_settled()) {
    expect_no_register_waits_in_vain();
  }
}

/// The tracker dies, and another one starts.
void Tree::restart() {
  clean_ups_.is_begun.clear();
  cleaning_.clear();
  departed_.clear();
  put_off_.clear();
  host_.members.clear();
  for (std::size_t each = 0; each < clients_max; ++each) {
    if (clients_[each].connection) {
      lose_connection(each);
    }
    clients_[each].is_counted = false;
  }
  for (auto& [resource, life] : lives_) {
    life.is_abandoned = false;
  }
  for (const auto& [resource, identity] : alive_) {
    lives_.try_emplace(resource);
    for (std::size_t each = 0; each < clients_max; ++each) {
      const Counts believed = clients_[each].after_reading_all();
      const auto known = believed.find(resource);
      const std::uint64_t held = truth(each, resource);
      set(each, resource, known == believed.end() ? 0 : std::min(held, known->second));
    }
    lives_.at(resource).zero_since = round_ - 1;
  }
  std::erase_if(tombstones_, [](const auto& item) { return !item.second; });
  core_ = std::make_unique<TrackerCore>(store_, clean_ups_, host_);
  std::vector<Resource> names;
  for (const auto& [resource, identity] : store_.alive) {
    names.push_back(resource);
  }
  RC_ASSERT(core_->adopt(names, {store_.forgotten.begin(), store_.forgotten.end()}).has_value());
  for (const Client& client : clients_) {
    if (client.is_member) {
      host_.members.insert(core_->expect(client.pid, client.nonce));
    }
  }
  core_->begin_round();
}

void Tree::confirm(std::size_t client) {
  Client& self = clients_[client];
  if (self.connection && !self.has_announced) {
    self.has_announced = true;
    send(client, {.verb = Verb::announce, .id = self.nonce, .entries = {}});
  }
}

void Tree::disconnect(std::size_t client) {
  if (const auto connection = clients_[client].connection) {
    RC_ASSERT(core_->disconnect(*connection));
    lose_connection(client);
  }
}

/// From now on nothing is sent to it.
void Tree::stall(std::size_t client) {
  if (const auto connection = clients_[client].connection) {
    host_.stalled.insert(*connection);
  }
}

void Tree::read_replies(std::size_t client) {
  Client& self = clients_[client];
  if (self.connection) {
    host_.stalled.erase(*self.connection);
    std::ranges::move(std::exchange(self.unsent, {}), std::back_inserter(self.received));
    if (std::exchange(self.is_answer_unsent, false)) {
      self.read();
    }
  }
}

void Tree::register_name(std::size_t client, const Resource& resource, bool has_identity) {
  Client& self = clients_[client];
  if (may_speak(self)) {
    self.read();
    if (self.believed[resource] == truth(client, resource)) {
      request(client, Verb::register_, resource, has_identity);
    }
  }
}

void Tree::ask(std::size_t client, Verb verb, const Resource& resource) {
  if (may_speak(clients_[client])) {
    request(client, verb, resource, verb == Verb::identify);
  }
}

void Tree::begin_clean_up(std::size_t number) {
  if (!clean_ups_.is_begun.empty()) {
    std::next(clean_ups_.is_begun.begin(),
              static_cast<std::ptrdiff_t>(number % clean_ups_.is_begun.size()))
        ->second = true;
  }
}

void Tree::agree() const {
  RC_ASSERT(store_.alive == alive_);
  std::set<Resource> forgotten;
  for (const auto& [resource, is_on_record] : tombstones_) {
    if (is_on_record) {
      forgotten.insert(resource);
    }
  }
  RC_ASSERT(store_.forgotten == forgotten);
  std::set<Resource> queued;
  for (const auto& [resource, begun] : clean_ups_.is_begun) {
    queued.insert(resource);
    RC_ASSERT(counted(resource) == 0U);
  }
  RC_ASSERT(queued == cleaning_);
  for (const auto& [resource, life] : lives_) {
    RC_ASSERT(alive_.contains(resource));
  }
  std::set<MemberId> members;
  for (const auto& [id, member] : core_->members()) {
    members.insert(id);
  }
  RC_ASSERT(host_.members == members);
  for (std::size_t each = 0; each < clients_max; ++each) {
    const Client& client = clients_[each];
    if (client.connection && client.is_counted) {
      Counts believed = client.after_reading_all();
      for (const Resource& resource : resources) {
        RC_ASSERT(believed[resource] == truth(each, resource));
      }
    }
  }
  for (const std::string& complaint : host_.complaints) {
    RC_ASSERT(complaint == "forgets an unknown name: ");
  }
}

void Tree::finish() {
  set_store(/*works=*/true);
  const auto rounds = [this] {
    for (int times = 0; times < 4; ++times) {
      round(/*is_full=*/true);
      for (std::size_t each = 0; each < resources.size(); ++each) {
        begin_clean_up(0);
        end_clean_up(0, /*succeeds=*/true);
      }
      agree();
    }
  };
  for (std::size_t each = 0; each < clients_max; ++each) {
    read_replies(each);
    if (clients_[each].is_member && !clients_[each].connection) {
      announce(each, /*is_open=*/false);
    }
    confirm(each);
  }
  rounds();
  RC_ASSERT(open_.empty());
  if (std::ranges::any_of(clients_, [](const Client& client) { return client.is_member; })) {
    for (const auto& life : lives_) {
      const bool is_held = std::ranges::any_of(lives_, [&](const auto& item) {
        const bool is_in = item.first.name.starts_with(life.first.name + "/");
        return (is_in || item.first == life.first) && !item.second.holders.empty();
      });
      RC_ASSERT(is_held);
    }
  }
  for (std::size_t each = 0; each < clients_max; ++each) {
    die(each);
  }
  rounds();
  RC_ASSERT(core_->members().empty());
  RC_ASSERT(!core_->is_dropping());
  std::set<Resource> abandoned;
  for (const auto& [resource, life] : lives_) {
    if (life.is_abandoned && life.holders.empty()) {
      abandoned.insert(resource);
    }
  }
  std::set<Resource> reported;
  for (const auto& [type, names] : core_->leftovers_by_type()) {
    for (const Resource* name : names) {
      RC_ASSERT(name->type == type);
      reported.insert(*name);
    }
  }
  RC_ASSERT(reported == abandoned);
  core_->clean_up_rest();
  cleaning_ = put_off_;
  for (const auto& [resource, life] : lives_) {
    cleaning_.insert(resource);
  }
  agree();
}

struct Action {
  std::size_t kind = 0;
  std::size_t client = 0;
  std::size_t resource = 0;
  bool flag = false;
};

struct Kind {
  std::string_view name;
  std::size_t weight = 1;
  std::function<void(Tree&, const Action&, const Resource&)> run;
};

const std::vector<Kind> kinds = {
    {"announce", 6, [](auto& tree, auto& of, auto&) { tree.announce(of.client, of.flag); }},
    {"confirm", 2, [](auto& tree, auto& of, auto&) { tree.confirm(of.client); }},
    {"disconnect", 2, [](auto& tree, auto& of, auto&) { tree.disconnect(of.client); }},
    {"die", 1, [](auto& tree, auto& of, auto&) { tree.die(of.client); }},
    {"stall", 2, [](auto& tree, auto& of, auto&) { tree.stall(of.client); }},
    {"read_replies", 2, [](auto& tree, auto& of, auto&) { tree.read_replies(of.client); }},
    {"read", 2, [](auto& tree, auto& of, auto&) { tree.read(of.client); }},
    {"register",
     8,
     [](auto& tree, auto& of, auto& name) { tree.register_name(of.client, name, of.flag); }},
    {"hold", 4, [](auto& tree, auto& of, auto& name) { tree.hold(of.client, name); }},
    {"release", 8, [](auto& tree, auto& of, auto& name) { tree.release(of.client, name); }},
    {"forget",
     4,
     [](auto& tree, auto& of, auto& name) { tree.ask(of.client, Verb::forget, name); }},
    {"identify",
     1,
     [](auto& tree, auto& of, auto& name) { tree.ask(of.client, Verb::identify, name); }},
    {"counts",
     2,
     [](auto& tree, auto& of, auto& name) { tree.ask(of.client, Verb::counts, name); }},
    {"probe", 1, [](auto& tree, auto& of, auto& name) { tree.ask(of.client, Verb::probe, name); }},
    {"full_round", 12, [](auto& tree, auto&, auto&) { tree.round(/*is_full=*/true); }},
    {"partial_round", 1, [](auto& tree, auto&, auto&) { tree.round(/*is_full=*/false); }},
    {"begin_clean_up", 4, [](auto& tree, auto& of, auto&) { tree.begin_clean_up(of.resource); }},
    {"end_clean_up",
     2,
     [](auto& tree, auto& of, auto&) { tree.end_clean_up(of.resource, /*succeeds=*/true); }},
    {"fail_clean_up",
     2,
     [](auto& tree, auto& of, auto&) { tree.end_clean_up(of.resource, /*succeeds=*/false); }},
    {"break_store", 1, [](auto& tree, auto&, auto&) { tree.set_store(/*works=*/false); }},
    {"mend_store", 2, [](auto& tree, auto&, auto&) { tree.set_store(/*works=*/true); }},
    {"restart", 1, [](auto& tree, auto&, auto&) { tree.restart(); }},
};

std::ostream& operator<<(std::ostream& out, const Action& action) {
  return out << kinds[action.kind].name << "(" << action.client << " "
             << resources.at(action.resource).name << (action.flag ? " !" : "") << ")";
}

rc::Gen<Action> any_action() {
  std::vector<std::size_t> drawn;
  for (std::size_t kind = 0; kind < kinds.size(); ++kind) {
    drawn.insert(drawn.end(), kinds[kind].weight, kind);
  }
  return rc::gen::build<Action>(
      rc::gen::set(&Action::kind, rc::gen::elementOf(drawn)),
      rc::gen::set(&Action::client, rc::gen::inRange<std::size_t>(0, clients_max)),
      rc::gen::set(&Action::resource, rc::gen::inRange<std::size_t>(0, resources.size())),
      rc::gen::set(&Action::flag, rc::gen::weightedElement<bool>({{3, false}, {1, true}})));
}

RC_GTEST_PROP(TrackerCoreProperties, any_history_agrees_with_the_model_T3_T5_T6_T9_T11, ()) {
  Tree tree;
  const auto actions = rc::gen::container<std::vector<Action>>(any_action());
  for (const Action& action : *rc::gen::scale(5, actions)) {
    kinds[action.kind].run(tree, action, resources.at(action.resource));
    tree.agree();
  }
  tree.finish();
}

}  // namespace
}  // namespace lastref::tracker
