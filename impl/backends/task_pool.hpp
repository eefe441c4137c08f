// task_pool: worker processes that each run tasks of their own, whatever happens to the others.
//
// One thread starts the workers, sends them tasks, reads their results and sees their deaths. It
// runs no code of yours. Other threads only add to a queue and take from a list of results, under
// one monitor.
//
// A worker runs the tasks that it has one after the other and answers each of them. So when it
// dies, the first task without an answer is the one that was running, and the others go back to the
// queue.
#pragma once

#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include <lastref/pool.hpp>
#include <lastref/task.hpp>

#include "impl/backends/codec.hpp"
#include "impl/backends/worker_group.hpp"

namespace lastref::backends {

/// A result as its bytes, a value of this process, or the error.
using TaskReply = std::variant<os::Packed, Value, Error>;

struct FinishedTask {
  std::size_t index = 0;
  int attempts = 0;
  TaskReply reply;
};

/// The tasks of one call. The monitor of the pool guards what is not constant.
struct TaskGroup {
  std::uint64_t number = 0;
  const TypedFunction* function = nullptr;
  std::string id;      ///< Of the function.
  std::string loader;  ///< Id of the loader of the state that it takes; empty: none.
  std::optional<ArgumentList> shared;
  TaskOptions options;
  std::deque<FinishedTask> finished;
  std::size_t unfinished = 0;
  std::size_t queued = 0;
  bool is_canceled = false;
};
using GroupPtr = std::shared_ptr<TaskGroup>;

class TaskPool {
 public:
  explicit TaskPool(PoolOptions options);
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;
  ~TaskPool();

  Result<GroupPtr> begin(const TypedFunction& function,
                         std::optional<Writer> shared,
                         std::optional<TaskOptions> options);
  void add(const GroupPtr& group, std::size_t index, Writer own);
  bool is_hungry(const TaskGroup& group) const;
  std::optional<Tasks::Finished> next(TaskGroup& group);
  bool wait_for(const TaskGroup& group, std::chrono::nanoseconds timeout);
  void cancel(TaskGroup& group);
  /// No thread waits for its results any more.
  void close(const TaskGroup& group);
  Result<Array> zeros(DType dtype, Shape shape);
  /// Makes what is unfinished fail, and ends the workers.
  void end();
  bool is_ours() const noexcept { return os_.process_token() == token_; }
  bool is_hosted() const noexcept { return !options_.host.program.empty(); }

 private:
  struct PooledTask {
    GroupPtr group;
    std::size_t index = 0;
    ArgumentList arguments;
    int attempts = 0;
  };
  /// A task that a worker has, or a message that shares arguments.
  struct Flight {
    std::uint64_t number = 0;
    std::optional<PooledTask> task;
    std::vector<Sent> sent;
  };
  struct Lane {
    explicit Lane(WorkerGroup its_group) noexcept : group(std::move(its_group)) {}
    WorkerProcess& worker() { return *group.workers().front(); }

    WorkerGroup group;  ///< One.
    std::deque<Flight> in_flight;
    std::set<std::uint64_t> shared;  ///< Groups; it has their shared arguments.
    std::size_t given = 0;
    std::size_t depth = 1;  ///< How many tasks it may have.
    os::Instant front_since{};
    std::optional<Error> fate;     ///< Why it is killed.
    std::optional<Error> gave_up;  ///< What it reported before it exited.
    std::optional<os::Instant> closed_at;
    bool is_leaving = false;
  };

  Status prepare() LASTREF_REQUIRES(*monitor_);
  Status choose_object(const TypedFunction& function) LASTREF_REQUIRES(*monitor_);
  Status check_process() const;

  // In the thread.
  void run();
  Status serve();
  void hand_out();
  bool start_lane();
  Lane* free_lane();
  void give(Lane& lane, PooledTask task);
  Status send(Lane& lane, const std::string& function, ArgumentList& arguments, Flight& flight);
  void flush(Lane& lane);
  void kill(Lane& lane, Error fate);
  void expire();
  void follow_requests();
  Status poll();
  void act(Lane& lane, const os::PollItem* items);
  void read(Lane& lane);
  Status handle(Lane& lane, const Message& message);
  void retire(Lane& lane);
  void bury(Lane& lane, const WorkerGroup::Reaped& reaped);
  void settle(PooledTask task, TaskReply reply);
  void fail_all(const Error& error);
  std::optional<std::chrono::nanoseconds> timeout();
  bool is_ending() const;

  void wake() LASTREF_REQUIRES(*monitor_);
  std::string place_of(const PooledTask& task, os::Pid worker) const;

  PoolOptions options_;
  os::Os& os_;
  std::uint64_t token_;  ///< Of its process.
  std::unique_ptr<os::Monitor> monitor_;

  // Made by the first call.
  bool is_prepared_ LASTREF_GUARDED_BY(*monitor_) = false;
  WorkerStart start_ LASTREF_GUARDED_BY(*monitor_);
  std::optional<Session> session_;
  unsigned workers_ = 0;  ///< 0: in this process.
  std::shared_ptr<const Functions> functions_;
  std::shared_ptr<TemporaryResources> resources_;
  std::unique_ptr<ForwardReducer> reducer_;
  std::shared_ptr<Receiver> receiver_;
  os::UniqueFd wake_read_;
  os::UniqueFd wake_write_;
  std::unique_ptr<os::Thread> thread_;

  std::list<PooledTask> queue_ LASTREF_GUARDED_BY(*monitor_);
  std::vector<std::uint64_t> closed_ LASTREF_GUARDED_BY(*monitor_);
  std::multiset<os::Instant> waiters_ LASTREF_GUARDED_BY(*monitor_);
  std::optional<Error> broken_ LASTREF_GUARDED_BY(*monitor_);
  std::uint64_t next_group_ LASTREF_GUARDED_BY(*monitor_) = 1;
  bool is_woken_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool is_ending_ LASTREF_GUARDED_BY(*monitor_) = false;

  // Of the thread.
  std::list<Lane> lanes_;
  std::vector<os::PollItem> items_;
  std::uint64_t next_number_ = 1;
  int poll_failures_ = 0;      ///< In a row.
  bool has_finished_ = false;  ///< A task, since arrays were released.
};

}  // namespace lastref::backends
