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
                 std::vector<Entry>* answer = nullptr);
  Status hold(const Resource& resource);
  Status release(const Resource& resource);

 private:
  struct Request {
    Message message;
    std::vector<Entry> answer = {};
    std::errc status = {};
    bool done = false;
  };

  // Called with the monitor held.
  Status start();
  Status make_or_join();
  Status connect();
  Status connect_patiently();
  Status spawn_tracker();
  Status check_guarded();
  void post(Packet packet) noexcept;
  void announce();
  void restore();
  void take_answer(Message& answer);
  void read_answers();
  void let_go_of(const Resource& resource) noexcept;
  void give_up_link() noexcept;
  void fail_calls() noexcept;
  template <typename Waits>
  void wait_while(Waits waits) noexcept;
  Status why_not() const;
  void handle_tracker_death(std::string& notice);
  void give_up_on_program(const std::string& how);
  void start_another(std::string& notice) noexcept;
  void ask_for_future();
  void give_up(Error error) noexcept;
  void say_the_rest();
  Status wake() noexcept;
  void forget_everything() noexcept;
  void clean_up_behind_tracker();

  // Root.
  Status replace_tracker();
  bool is_dead(os::Fd process);

  // The I/O thread.
  void serve();
  bool wait(std::span<os::PollItem> items);
  bool act(std::span<const os::PollItem> items, std::string& notice);
  bool go_without_memory() noexcept;

  os::Os& os_;
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
  std::uint32_t nonce_ = 0;

  std::unique_ptr<Link> link_;
  std::map<Resource, std::uint64_t> holdings_;
  std::map<std::uint32_t, Request*> requests_;  // unanswered, in the order in which they were made
  std::uint32_t last_id_ = 0;
  std::uint64_t posted_ = 0;      // messages so far
  std::uint64_t on_its_way_ = 0;  // how many of them the kernel has, or an announcement replaced
  std::optional<Error> broken_;
  int trackers_ = 0;          // started since one last answered a request, or ran long
  os::Instant started_at_{};  // of the last tracker
  int connections_ = 0;       // tried since the tracker last answered
  int poll_failures_ = 0;
  int absent_ = 0;                  // how often the lock or the socket was not there
  int starved_ = 0;                 // how often there was no descriptor or memory to connect with
  std::uint64_t failed_calls_ = 0;  // how often all waiting calls were failed
  int doubts_ = 0;                  // failed checks in a row whether the tree has a future
  bool came_up_ = false;            // a tracker has acknowledged us: the program can be a tracker
  bool is_silent_ = false;          // root: it was reported that no tracker has answered yet
  bool started_ = false;
  bool announced_ = false;
  bool stopping_ = false;
  bool wants_tracker_ = false;  // root: there was no memory to start another
  os::Instant connect_again_{};
};

}  // namespace lastref::tracker
