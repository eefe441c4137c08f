// Client::State: what a process knows about its tree, and the thread that keeps it current.
//
// Callers change the state and send, with the monitor held; they never wait for the tracker with it
// held. Only the I/O thread receives, closes and reconnects, so a caller never polls a descriptor
// that another thread closes. `holdings_` are the references that this process holds. An
// announcement of them and of the unanswered requests restores whatever was lost with a tracker.
//
// A call that has no memory changes and sends nothing. If the I/O thread has none, it closes the
// connection, all waiting calls fail, and it announces again when it has memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include <lastref/tracker_client.hpp>

#include "impl/os/limits.hpp"
#include "impl/os/within_memory.hpp"
#include "impl/tracker/link.hpp"
#include "impl/tracker/tree.hpp"
#include "impl/tracker/tree_repair.hpp"

namespace lastref::tracker {

struct Client::State {
 public:
  State(os::Os& os, std::optional<RootOptions> root, std::string tree);
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State();

  os::Os& os() const noexcept { return os_; }
  /// The token of the process that owns this state; a forked child has another one.
  std::uint64_t process() const noexcept { return process_; }
  const std::string& folder() const noexcept { return paths_.folder; }
  /// The folder, with all that a process needs to join.
  Result<std::string> tree();

  /// Waits until we are connected, announced and acknowledged; else returns the error. The root
  /// makes its tree here.
  Status ready();
  Status request(Verb verb,
                 const Resource* resource,
                 const std::optional<Identity>& identity = {},
                 std::vector<MessageEntry>* answer = nullptr);
  Status hold(const Resource& resource);
  Status release(const Resource& resource);

 private:
  struct Request {
    Message message;
    std::vector<MessageEntry> answer = {};
    std::errc status = {};
    bool done = false;
  };

  Status start() LASTREF_REQUIRES(*monitor_);
  Status make_or_join() LASTREF_REQUIRES(*monitor_);
  Status connect() LASTREF_REQUIRES(*monitor_);
  Status connect_patiently() LASTREF_REQUIRES(*monitor_);
  Status spawn_tracker() LASTREF_REQUIRES(*monitor_);
  Status check_guarded() LASTREF_REQUIRES(*monitor_);
  void post(Packet packet) noexcept LASTREF_REQUIRES(*monitor_);
  void announce() LASTREF_REQUIRES(*monitor_);
  void restore() LASTREF_REQUIRES(*monitor_);
  void take_answer(Message& answer) LASTREF_REQUIRES(*monitor_);
  void read_answers() LASTREF_REQUIRES(*monitor_);
  void let_go_of(const Resource& resource) noexcept LASTREF_REQUIRES(*monitor_);
  void give_up_link() noexcept LASTREF_REQUIRES(*monitor_);
  void fail_calls() noexcept LASTREF_REQUIRES(*monitor_);
  template <typename Waits>
  void wait_while(Waits waits) noexcept LASTREF_REQUIRES(*monitor_);
  Status why_not() const LASTREF_REQUIRES(*monitor_);
  void handle_tracker_death(std::string& notice) LASTREF_REQUIRES(*monitor_);
  void give_up_on_program(const std::string& how) LASTREF_REQUIRES(*monitor_);
  void start_another(std::string& notice) noexcept LASTREF_REQUIRES(*monitor_);
  void check_tree_alive() LASTREF_REQUIRES(*monitor_);
  void end_service() noexcept LASTREF_REQUIRES(*monitor_);
  void give_up(Error error) noexcept LASTREF_REQUIRES(*monitor_);
  void flush_on_exit() LASTREF_REQUIRES(*monitor_);
  Status wake() noexcept LASTREF_REQUIRES(*monitor_);
  void forget_everything() noexcept LASTREF_REQUIRES(*monitor_);
  void clean_up_behind_tracker() LASTREF_REQUIRES(*monitor_);

  // Root.
  Status replace_tracker() LASTREF_REQUIRES(*monitor_);
  bool is_dead(os::Fd process);

  // The I/O thread.
  void serve();
  bool wait(std::span<os::PollItem> items);
  bool act(std::span<const os::PollItem> items, std::string& notice) LASTREF_REQUIRES(*monitor_);
  bool go_without_memory() noexcept LASTREF_REQUIRES(*monitor_);

  os::Os& os_;
  const os::Limits& limits_{os::limits_of(os_)};
  const std::uint64_t process_;
  const std::optional<RootOptions> root_;
  std::unique_ptr<os::Monitor> monitor_;
  std::unique_ptr<os::Thread> thread_;

  TreePaths paths_;
  std::optional<TreeRemoval> removal_;  // root
  LockFile lock_;
  TreeParts parts_;                                // root
  os::UniqueFd tracker_;                           // root: the tracker's process
  TreeRepair repair_{os_, paths_, lock_, parts_};  // root
  os::UniqueFd self_;
  os::UniqueFd wake_read_;
  os::UniqueFd wake_write_;
  std::uint32_t nonce_ LASTREF_GUARDED_BY(*monitor_) = 0;

  std::unique_ptr<Link> link_ LASTREF_GUARDED_BY(*monitor_);
  std::map<Resource, std::uint64_t> holdings_ LASTREF_GUARDED_BY(*monitor_);
  /// Unanswered, in the order in which they were made.
  std::map<std::uint32_t, Request*> requests_ LASTREF_GUARDED_BY(*monitor_);
  std::uint32_t last_id_ LASTREF_GUARDED_BY(*monitor_) = 0;
  /// Messages so far.
  std::uint64_t posted_ LASTREF_GUARDED_BY(*monitor_) = 0;
  /// How many of them the kernel has, or an announcement replaced.
  std::uint64_t on_its_way_ LASTREF_GUARDED_BY(*monitor_) = 0;
  std::optional<Error> broken_ LASTREF_GUARDED_BY(*monitor_);
  /// Started since one last answered a request, or ran long.
  int trackers_ LASTREF_GUARDED_BY(*monitor_) = 0;
  /// Of the last tracker.
  os::Instant started_at_ LASTREF_GUARDED_BY(*monitor_){};
  /// Tried since the tracker last answered.
  int connections_ LASTREF_GUARDED_BY(*monitor_) = 0;
  /// How often the lock or the socket was not there.
  int absent_ LASTREF_GUARDED_BY(*monitor_) = 0;
  /// How often there was no descriptor or memory to connect with.
  int exhausted_count_ LASTREF_GUARDED_BY(*monitor_) = 0;
  /// How often all waiting calls were failed.
  std::uint64_t failed_calls_ LASTREF_GUARDED_BY(*monitor_) = 0;
  /// Failed checks in a row whether the tree has a future.
  int failed_liveness_checks_ LASTREF_GUARDED_BY(*monitor_) = 0;
  /// A tracker has acknowledged us: the program can be a tracker.
  bool came_up_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool started_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool announced_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool stopping_ LASTREF_GUARDED_BY(*monitor_) = false;
  /// Root: there was no memory to start another.
  bool wants_tracker_ LASTREF_GUARDED_BY(*monitor_) = false;
  os::Instant connect_again_ LASTREF_GUARDED_BY(*monitor_){};

  // Of the I/O thread alone.
  int poll_failures_ = 0;
  bool is_silent_ = false;  // root: it was reported that no tracker has answered yet
};

}  // namespace lastref::tracker
