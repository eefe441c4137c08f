// Daemon: the tracker's loop. One thread; the only wait is one poll.
//
// A round is: wait, accept all, read every connection until it has nothing more, see which
// processes died, read what the dead had sent, and only then drop what they held. A name that was
// at 0 before a round began and still is after a full one has no hold under way in any connection,
// so it may be removed (T9). Nothing is removed before every process that lived when this tracker
// started has announced what it holds or died (T6).
//
// A holder of a name that another process forgets is notified, so that it does not announce it to
// the next tracker. While a member may not have been notified, the name is a tombstone: it cannot
// be registered again, because a stale announcement would count for the new resource. Counts, too,
// are sent only after all members have announced.
//
// An operation that has no memory changes nothing and is tried again, a round after a pause. If
// there is none for a client's message, the client is refused if it waits for an answer. Otherwise
// it loses its connection, and announces all that it holds on another one.
//
// If the tracker dies at any point, the ledger names everything that was ever counted and is not
// yet clean, and the members announce the rest to the next tracker. With no root left, the next
// start sweeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "impl/tracker/cleaner.hpp"
#include "impl/tracker/ledger.hpp"
#include "impl/tracker/link.hpp"
#include "impl/tracker/registry.hpp"
#include "impl/tracker/tree.hpp"

namespace lastref::tracker {

/// The old parts of a tree that has lost parts, which were recreated.
struct OldParts {
  os::UniqueFd ledger = {};              ///< With the names, instead of the one in the folder.
  std::vector<os::UniqueFd> locks = {};  ///< In which members may still have their bytes.
};

class Daemon {
 public:
  /// On an error the listener is still the caller's.
  ///
  /// Errors          device_or_resource_busy: another tracker serves the tree.
  static Result<std::unique_ptr<Daemon>> start(os::Os& os,
                                               const TreePaths& paths,
                                               os::UniqueFd&& listener,
                                               OldParts old_parts = {});

  /// Serves until the last process of the tree has left and everything is clean.
  ///
  /// Errors          of poll or accept, when they fail again and again, and not_enough_memory, when
  ///                 there is none for a long time: the root may start another.
  ///                 If there are no descriptors, new clients are refused, and the others are
  ///                 served.
  Status serve() noexcept;

 private:
  /// A process of the tree. `announced` is false while only its lock is known, or its open requests
  /// are still to be read. It is false again when its connection was lost, because its last
  /// messages may have been lost too.
  struct Member {
    os::Pid pid = 0;
    std::uint32_t nonce = 0;
    os::UniqueFd process;
    bool announced = false;
    bool has_spoken = false;  ///< It was not only known by its lock.
    /// Names that others forgot while this process held them: it may have released before the
    /// notice.
    std::map<Resource, std::uint64_t> stale_counts = {};
  };
  struct Connection {
    Link link;
    os::Peer peer;
    std::optional<MemberId> member = {};
    std::vector<Entry> announcing = {};
    os::UniqueFd announcing_process = {};
    int complaints = 0;
  };
  /// A member that holds nothing more, though the registry may still have some of its references.
  struct Leaving {
    MemberId member = nobody;
    bool abandons = false;  ///< Names without another holder were not released.
  };
  using ConnectionId = std::uint64_t;
  struct Parked {
    ConnectionId from;
    Message message;
  };

  Daemon(os::Os& os, TreePaths paths, os::UniqueFd lock, Ledger ledger);
  bool has_lock(const Member& member) const;
  void place_ledger();

  Status expect_members();
  Result<bool> serve_once();
  Status round(std::optional<std::chrono::nanoseconds> timeout);
  std::optional<std::chrono::nanoseconds> poll_timeout();
  Status accept_all();
  bool refuse_one(std::errc why);
  void keep_spare();
  Status put_off_accepting(const Error& why);
  std::size_t read_all(ConnectionId id);
  void drop_connection(ConnectionId id);
  void accept_one(os::UniqueFd accepted);
  void leave_without_lock();
  bool looks_again() const;
  void look_for_locks();
  void let_go();
  void doom(Registry::Stamp before);
  void remove_member(MemberId id);
  bool settled() const;
  void clean();
  Result<bool> has_ended();
  Status end();
  bool try_again();

  void try_to_take(ConnectionId id, Connection& connection, Message message) noexcept;
  void take(ConnectionId id, Connection& connection, Message& message);
  void take_announcement(Connection& connection, Message& message);
  void take_register(ConnectionId id, Connection& connection, Message& message);
  void forget(std::ptrdiff_t count);
  bool renounce(const Message& message);
  void leave_to_the_end(std::span<const Entry> entries);
  void take_forget(Connection& connection, const Message& message);
  void take_release(Connection& connection, const Message& message);
  bool is_stale_release(MemberId member, const Entry& entry);
  bool tell_forgotten(MemberId holder, const Resource& resource);
  void clear_tombstones();
  void clear_tombstone(const Resource& resource);
  void report_not_struck(const Resource& resource, const Error& why) noexcept;
  void retry_parked();
  bool may_be_over(const Entry& entry) const;
  Status count(MemberId member, const Entry& entry);
  void take_identity(Connection& connection, const Message& message);
  void take_hold(Connection& connection, const Message& message);
  void tell_counts(std::ptrdiff_t count);
  void tell_counts(Connection& connection, const Message& message);
  void answer(Connection& connection, std::uint32_t id, std::errc status = {}) noexcept;
  void leave(MemberId id);
  void complain(Connection& connection,
                std::string_view what,
                std::string_view detail = {}) noexcept;
  void complain(Connection& connection, std::string_view what, const Resource& about) noexcept;
  std::vector<std::string> leavings() const;
  Status wait_for_clean_up();
  Status clean_all();

  os::Os& os_;
  TreePaths paths_;
  os::UniqueFd lock_;
  std::vector<os::UniqueFd> old_locks_;
  bool is_ledger_in_place_ = true;
  os::UniqueFd listener_;
  Ledger ledger_;
  Registry registry_;
  Cleaner cleaner_;
  std::map<MemberId, Member> members_;
  std::list<Leaving> leaving_;
  std::map<ConnectionId, Connection> connections_;
  std::list<Parked> parked_;       // registers of names that are being cleaned up, or tombstones
  std::list<Parked> asked_;        // for counts
  std::list<Parked> forgets_;      // to be done when what others had sent by then has been read
  std::set<Resource> tombstones_;  // forgotten, while a member may believe that it holds them
  std::set<Resource> left_;        // could not be cleaned up
  std::set<Resource> put_off_;     // could not be forgotten, and have no count
  std::set<Resource> abandoned_;   // doomed because their holder died, not released
  MemberId last_member_ = nobody;
  ConnectionId last_connection_ = 0;
  // Of the round. They are kept so that the next round needs no memory.
  std::vector<os::PollItem> polled_items_;
  std::vector<ConnectionId> polled_connections_;
  std::vector<MemberId> polled_members_;
  bool round_was_full_ = true;
  bool was_settled_ = false;
  bool waits_for_all_ = false;  // a parked register, for every announcement
  os::UniqueFd spare_;
  int accept_failures_ = 0;
  os::Instant accept_again_{0};
  os::Instant look_again_{0};
  int looks_ = 0;
  std::uint64_t refused_ = 0;  // connections
  int poll_failures_ = 0;
  int look_failures_ = 0;          ///< Of checks of the locks without a member, in a row.
  int rounds_without_memory_ = 0;  ///< In a row.
};

}  // namespace lastref::tracker
