// TrackerCore: what the tracker knows of its members and their names, and what it decides. Pure: it
// makes no call, and has no descriptor and no clock.
//
// The daemon's round is: begin_round, read all connections, end_round, settle, act. A name that was
// at 0 before a round began and still is after a full one has no hold under way in any connection,
// so it may be removed (T9). Nothing is removed before every process that lived when this tracker
// started has announced what it holds or died (T6).
//
// A holder of a name that another process forgets is notified, so that it does not announce it to
// the next tracker. While a member may not have been notified, the name is a tombstone: it cannot
// be registered again, because a stale announcement would count for the new resource. Counts, too,
// are sent only after all members have announced.
//
// An operation that has no memory changes nothing. If there is none for a client's message, the
// client is refused if it waits for an answer. Otherwise it loses its connection, and announces all
// that it holds on another one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "impl/os/limits.hpp"
#include "impl/tracker/registry.hpp"
#include "impl/tracker/tracker_ports.hpp"

namespace lastref::tracker {

class TrackerCore {
 public:
  /// A process of the tree. `announced` is false while only its lock is known, or its open requests
  /// are still to be read. It is false again when its connection was lost, because its last
  /// messages may have been lost too.
  struct Member {
    os::Pid pid = 0;
    std::uint32_t nonce = 0;
    std::optional<ConnectionId> connection = {};
    bool announced = false;
    bool has_spoken = false;  ///< It was not only known by its lock.
    /// Names that others forgot while this process held them: it may have released before the
    /// notice.
    std::map<Resource, std::uint64_t> stale_counts = {};
  };

  TrackerCore(NameStore& names,
              CleanUpQueue& clean_ups,
              TrackerHost& host,
              const os::Limits& limits = os::usual_limits) noexcept
      : names_(names), clean_ups_(clean_ups), host_(host), limits_(limits) {}

  /// Takes over the names of an earlier tracker, which are alive or forgotten.
  ///
  /// Errors          of mark_dead.
  Status adopt(const std::vector<Resource>& alive, std::vector<Resource> forgotten);
  /// A process that has a lock has to announce itself.
  MemberId expect(os::Pid pid, std::uint32_t nonce);

  /// The message may be answered at once, or in a later round.
  void handle(ConnectionId from, os::Pid pid, Message message) noexcept;
  /// The connection has ended. That is no death: its process may live, and will announce again
  /// (T8). Returns whether it was a member's.
  bool disconnect(ConnectionId id) noexcept;
  /// The process has died, or gave up its lock. What it held is released in later rounds.
  void leave(MemberId id);

  void begin_round();
  /// `was_full`: everything that had been sent before the round was read.
  void end_round(bool was_full);
  /// Returns whether all members have announced.
  bool settle();
  /// Only when settled: answers, and dooms names that had no holder during a full round.
  void act(bool was_full);
  /// Records the end of a clean-up.
  ///
  /// Errors          of the clean-up, or of mark_dead: it is left to the end.
  Status finish_clean_up(Cleaned& cleaned);
  /// Handles the requests again that wait for the end of a clean-up or of a tombstone.
  void retry_parked();

  bool settled() const;
  /// Whether the next round is not to wait for a message.
  bool has_work() const;
  /// Whether references of members that have left are still counted.
  bool is_dropping() const noexcept { return !departed_.empty(); }
  const std::map<MemberId, Member>& members() const noexcept { return members_; }

  /// For the end: names that no process released. They are valid until the next call.
  std::map<ResourceType, std::vector<const Resource*>> leftovers_by_type() const;
  /// For the end: queues the clean-up of every name without a holder.
  void clean_up_rest();

 private:
  struct Connection {
    ConnectionId id = 0;
    os::Pid pid = 0;
    std::optional<MemberId> member = {};
    std::vector<MessageEntry> announcing = {};
  };
  /// A member that holds nothing more, though the registry may still have some of its references.
  struct Departed {
    MemberId member = no_member;
    bool abandons = false;  ///< Names without another holder were not released.
  };
  struct Request {
    ConnectionId from;
    Message message;
  };
  using Requests = std::list<Request>;

  static Requests take_first(Requests& requests, std::size_t count);
  void handle(Connection& connection, Message& message);
  Member& join(Connection& connection, std::uint32_t nonce);
  void handle_announcement(Connection& connection, Message& message);
  void handle_register(Connection& connection, Message& message);
  void handle_identify(Connection& connection, const Message& message);
  void handle_hold(Connection& connection, const Message& message);
  void handle_release(Connection& connection, const Message& message);
  void handle_forget(Connection& connection, const Message& message);
  bool may_be_over(const MessageEntry& entry) const;
  Status count(MemberId member, const MessageEntry& entry);
  bool is_stale_release(MemberId member, const MessageEntry& entry);
  void forget_due();
  bool stop_retrying(const Message& message);
  void put_off(std::span<const MessageEntry> entries);
  bool notify_forgotten(MemberId holder, const Resource& resource);
  void clear_tombstones();
  void erase_tombstone(const Resource& resource);
  void drop_departed();
  void answer_counts();
  void send_counts(const Connection& connection, const Message& message);
  void doom();
  void complain(const Connection& connection, std::string_view what) noexcept;
  void complain(const Connection& connection,
                std::string_view what,
                const Resource& about) noexcept;

  NameStore& names_;
  CleanUpQueue& clean_ups_;
  TrackerHost& host_;
  const os::Limits& limits_;
  Registry registry_;
  std::map<MemberId, Member> members_;
  std::map<ConnectionId, Connection> connections_;  // that have sent a message
  std::list<Departed> departed_;
  Requests parked_;                // registers of names that are being cleaned up, or tombstones
  Requests count_requests_;        // to be answered
  Requests forget_requests_;       // to be done when what others had sent by then has been read
  std::set<Resource> tombstones_;  // forgotten, while a member may believe that it holds them
  std::set<Resource> failed_;      // could not be cleaned up
  std::set<Resource> put_off_;     // could not be forgotten, and have no count
  std::set<Resource> abandoned_;   // doomed because their holder died, not released
  MemberId last_member_ = no_member;
  bool was_settled_ = false;
  bool waits_for_all_ = false;  // a parked register, for every announcement
  // When the round began:
  Registry::Stamp stamp_before_ = 0;
  std::size_t counts_before_ = 0;
  std::size_t forgets_before_ = 0;
};

}  // namespace lastref::tracker
