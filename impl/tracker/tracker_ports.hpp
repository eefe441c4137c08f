// What the tracker's core asks of the rest of its process: to record names, to clean up, and to
// reach clients. The ledger, the cleaner and the daemon implement it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include <lastref/probe.hpp>
#include <lastref/resource.hpp>

#include "impl/tracker/codec.hpp"
#include "impl/tracker/registry.hpp"

namespace lastref::tracker {

/// A tracker never uses the number again.
using ConnectionId = std::uint64_t;

/// The names that outlive the tracker. A name is alive, or on record as forgotten, or neither.
class NameStore {
 public:
  virtual ~NameStore() = default;
  virtual bool contains(const Resource& resource) const = 0;
  /// The identity of the resource that has the name, if it is alive and the identity is known.
  virtual std::optional<Identity> identity_of(const Resource& resource) const = 0;
  /// Makes the name alive, with this identity. On an error nothing has changed.
  virtual Status enter(const Resource& resource, const std::optional<Identity>& identity) = 0;
  /// Ends a name that is alive. On an error it still is.
  virtual Status mark_dead(const Resource& resource) = 0;
  /// The same, and keeps it on record as forgotten.
  virtual Status forget(const Resource& resource) = 0;
  /// Takes a forgotten name off the record.
  virtual Status erase_tombstone(const Resource& resource) = 0;
};

/// How the clean-up of one name ended.
struct Cleaned {
  Resource resource;
  Status status;
  std::optional<Identity> identity = {};  ///< Of a name that could not be removed.
  bool identity_mismatch = false;         ///< Another thing has the name, and was left alone.
};

/// Clean-ups in the order in which they are added.
class CleanUpQueue {
 public:
  virtual ~CleanUpQueue() = default;
  /// Queues a name, unless it is queued. A folder waits for every name queued before it.
  virtual void add(Resource resource, const std::optional<Identity>& identity) = 0;
  /// Whether some of it may already be removed, or may be removed at any moment: a folder that was
  /// entered, or a job that the thread has begun.
  virtual bool is_under_way(const Resource& resource) = 0;
  /// Cancels a name, if it is queued and its clean-up has not begun.
  virtual void cancel(const Resource& resource) = 0;
  /// As cancel. In addition, a clean-up that has begun is not tried again, nor is a folder after
  /// its last attempt. Returns false while a clean-up is under way.
  virtual bool stop_retrying(const Resource& resource) = 0;
};

/// The connections of the tracker, and the descriptors of its members' processes. A connection that
/// has ended can still be named until the core has been notified.
class TrackerHost {
 public:
  virtual ~TrackerHost() = default;
  virtual void reply(ConnectionId to, std::uint32_t id, std::errc status) noexcept = 0;
  /// Sends all of the message, or queues it.
  virtual void post(ConnectionId to, const Message& message) = 0;
  /// Whether it is uncertain that the peer reads everything that was sent.
  virtual bool is_behind(ConnectionId connection) const noexcept = 0;
  virtual bool is_any_behind() const noexcept = 0;
  /// Nothing more is sent or received: its process has to connect again.
  virtual void give_up(ConnectionId connection) noexcept = 0;
  virtual void close(ConnectionId connection) noexcept = 0;
  /// Keeps the descriptor of the peer's process, if one came with the current message. Returns
  /// whether there is one.
  virtual bool keep_process(ConnectionId connection) = 0;
  /// That descriptor belongs to the member from now on.
  virtual void member_joined(ConnectionId connection, MemberId member) noexcept = 0;
  virtual void member_left(MemberId member) noexcept = 0;

  /// Reports that the peer breaks the protocol.
  virtual void complain(ConnectionId about,
                        std::string_view what,
                        std::string_view detail) noexcept = 0;
  /// Reports that the record of a name does not show that the name has ended.
  virtual void report_ledger_failure(const Resource& resource, const Error& why) noexcept = 0;
  virtual void hit(Probe probe) noexcept = 0;
  virtual void step(Step step) noexcept = 0;
};

}  // namespace lastref::tracker
