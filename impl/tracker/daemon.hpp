// Daemon: the tracker's loop. One thread; the only wait is one poll.
//
// A round is: wait, accept all, read every connection until it has nothing more, see who died, read
// what the dead had sent, and only then drop what they held. A name that was at 0 before a round
// began and still is after a full one has no hold under way in any connection, so it may go (T9).
// Nothing goes before every process that lived when this tracker started has announced what it
// holds or died (T6).
//
// Who holds a name that another process forgets is told, so that it does not announce it to the
// next tracker. As long as somebody may not have been told, the name is a tombstone: it begins no
// new life, for a stale announcement would count in that. Nor are counts told before everybody has
// announced.
//
// What has no memory changes nothing and is tried again, a round after a pause. A client whose
// message has none is refused if it waits for an answer; else it loses its connection, and
// announces all that it holds on another one.
//
// What is left if it dies anywhere: the ledger names everything that was ever counted and is not
// yet clean, the members announce the rest to the next tracker; with no root left, the next start
// sweeps.
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

/// What is left of a tree that has lost parts, which were made again.
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

  /// Until the last process of the tree is gone and everything is clean.
  ///
  /// Errors          of poll or accept, when they fail again and again, and not_enough_memory, when
  ///                 there is none for long: the root may start another.
  ///                 For want of descriptors newcomers are refused, and who is there is served.
  Status serve() noexcept;

 private:
  /// A process of the tree. `announced` is false as long as only its lock is known, or requests
  /// that it had open are still to be read; and again when its connection was lost: then what it
  /// last said may have been lost too.
  struct Member {
    os::Pid pid = 0;
    std::uint32_t nonce = 0;
    os::UniqueFd process;
    bool announced = false;
    bool has_spoken = false;  ///< It was not only known by its lock.
    /// What others forgot while this process held it: it may have let go before it learned of that.
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
  /// Who holds nothing more, though the registry may have some of it still.
  struct Leaving {
    MemberId member = nobody;
    bool abandons = false;  ///< What nobody else holds was not released.
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
  std::set<Resource> tombstones_;  // forgotten, while somebody may believe that it holds them
  std::set<Resource> left_;        // could not be cleaned up
  std::set<Resource> put_off_;     // could not be forgotten, and nobody counts them
  std::set<Resource> abandoned_;   // doomed because their holder was gone, not released
  MemberId last_member_ = nobody;
  ConnectionId last_connection_ = 0;
  // Of the round, and kept for the next one, which then needs no memory.
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
  int look_failures_ = 0;          ///< At the locks, with nobody left, in a row.
  int rounds_without_memory_ = 0;  ///< In a row.
};

}  // namespace lastref::tracker
