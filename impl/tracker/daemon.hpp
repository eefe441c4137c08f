// Daemon: the tracker's loop. One thread; the only wait is one poll.
//
// A round is: wait, accept all, read every connection until it has nothing more, see which
// processes died, read what the dead had sent, and only then drop what they held. TrackerCore
// decides what follows from the messages and deaths, and calls the daemon for what has to be done.
//
// A round that has no memory is tried again after a pause.
//
// If the tracker dies at any point, the ledger names everything that was ever counted and is not
// yet clean, and the members announce the rest to the next tracker. With no root left, the next
// start sweeps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "impl/os/limits.hpp"
#include "impl/tracker/cleaner.hpp"
#include "impl/tracker/ledger.hpp"
#include "impl/tracker/link.hpp"
#include "impl/tracker/tracker_core.hpp"
#include "impl/tracker/tree.hpp"

namespace lastref::tracker {

/// The old parts of a tree that has lost parts, which were recreated.
struct OldParts {
  os::UniqueFd ledger = {};              ///< With the names, instead of the one in the folder.
  std::vector<os::UniqueFd> locks = {};  ///< In which members may still have their bytes.
};

class Daemon final : private TrackerHost {
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
  /// The descriptors of the members' processes; none of a process in another pid namespace.
  using Processes = std::map<MemberId, os::UniqueFd>;
  struct Connection {
    Link link;
    os::Peer peer;
    Processes::node_type process = {};  ///< Of a process that has not announced itself.
    int complaints = 0;
  };

  Daemon(os::Os& os, TreePaths paths, os::UniqueFd lock, Ledger ledger);
  static Processes::node_type node_of(os::UniqueFd process);
  bool has_lock(std::uint32_t nonce) const;
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
  void remove_member(MemberId id);
  void clean();
  Result<bool> has_ended();
  Status end();
  bool try_again();

  void reply(ConnectionId to, std::uint32_t id, std::errc status) noexcept override;
  void post(ConnectionId to, const Message& message) override;
  bool is_behind(ConnectionId id) const noexcept override;
  bool is_any_behind() const noexcept override;
  void give_up(ConnectionId id) noexcept override;
  void close(ConnectionId id) noexcept override;
  bool keep_process(ConnectionId id) override;
  void member_joined(ConnectionId id, MemberId member) noexcept override;
  void member_left(MemberId member) noexcept override;
  void complain(ConnectionId about,
                std::string_view what,
                std::string_view detail) noexcept override;
  void report_ledger_failure(const Resource& resource, const Error& why) noexcept override;
  void hit(Probe probe) noexcept override { os_.hit(probe); }
  void step(Step step) noexcept override { os_.step(step); }

  std::vector<std::string> leftover_lines() const;
  Status wait_for_clean_up();
  Status clean_all();

  os::Os& os_;
  const os::Limits& limits_;
  TreePaths paths_;
  os::UniqueFd lock_;
  std::vector<os::UniqueFd> old_locks_;
  bool is_ledger_in_place_ = true;
  os::UniqueFd listener_;
  Ledger ledger_;
  Cleaner cleaner_;
  TrackerCore core_;
  Processes processes_;
  std::map<ConnectionId, Connection> connections_;
  ConnectionId last_connection_ = 0;
  // Of the round. They are kept so that the next round needs no memory.
  std::vector<os::PollItem> polled_items_;
  std::vector<ConnectionId> polled_connections_;
  std::vector<MemberId> polled_members_;
  bool round_was_full_ = true;
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
