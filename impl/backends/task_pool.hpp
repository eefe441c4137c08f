// task_pool: worker processes that each run tasks of their own, whatever happens to the others.
//
// One thread starts the workers, sends them tasks, reads their results and sees their deaths. It
// runs no code of yours. Other threads only add to a queue and take from a list of results, under
// one monitor. In a worker, threads run the tasks, or the thread that adds them does.
//
// A worker runs the tasks that it has one after the other and answers each of them. So when it
// dies, the first task without an answer is the one that was running, and the others go back to the
// queue.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <lastref/pool.hpp>
#include <lastref/task.hpp>

#include "impl/backends/codec.hpp"
#include "impl/backends/worker_group.hpp"
#include "impl/os/atomic.hpp"

namespace lastref::backends {

/// A result as its bytes, a value of this process, or the error.
using TaskReply = std::variant<os::Packed, Value, Error>;

struct TaskGroup;
using GroupPtr = std::shared_ptr<TaskGroup>;

struct PooledTask {
  GroupPtr group;  ///< Null when it has finished.
  std::size_t index = 0;
  ArgumentList arguments;
  int attempts = 0;
  TaskReply reply = {};
};
/// Moves from one list to another without memory.
using TaskList = std::list<PooledTask>;

/// The tasks of one call. The monitor of the pool guards what is not constant.
struct TaskGroup {
  std::uint64_t number = 0;
  const TypedFunction* function = nullptr;
  std::string id;      ///< Of the function.
  std::string loader;  ///< Id of the loader of the state that it takes; empty: none.
  std::optional<ArgumentList> shared;
  TaskOptions options;
  TaskList finished;
  std::size_t unfinished = 0;
  std::size_t queued = 0;
  bool is_canceled = false;
  bool is_fed = false;          ///< Tasks are added until enough are queued.
  bool reports_cancel = false;  ///< In the next result.
};

class TaskPool {
 public:
  /// The host that LASTREF_HOST names instead of the installed program.
  static Host found(const Host& host);
  /// The Os that starts the workers of a pool with that host.
  static os::Os& os_of(const Host& host);
  /// Without a session, the first call makes one.
  TaskPool(os::Os& os, std::optional<Session> session, PoolOptions options);
  TaskPool(const TaskPool&) = delete;
  TaskPool& operator=(const TaskPool&) = delete;
  ~TaskPool();

  /// Puts large blocks into files. This pool must outlive it.
  Writer writer();
  Result<GroupPtr> begin(const TypedFunction& function,
                         std::optional<Writer> shared,
                         std::optional<TaskOptions> options);
  Status add(const GroupPtr& group, std::size_t index, Writer own);
  bool is_hungry(TaskGroup& group) const;
  std::optional<Tasks::Finished> next(TaskGroup& group) noexcept;
  /// Waits for the first of these that has a result, or can have none. None: the time is over.
  std::optional<std::size_t> wait_any(std::span<const GroupPtr> groups,
                                      std::optional<std::chrono::nanoseconds> timeout);
  void cancel(TaskGroup& group) noexcept;
  /// No thread waits for its results any more.
  void close(const TaskGroup& group) noexcept;
  Result<Array> zeros(DType dtype, Shape shape);
  /// Makes what is unfinished fail, and ends the workers.
  void end();
  bool has_session() const noexcept { return has_session_; }
  bool is_ours() const noexcept { return os_.process_token() == token_; }
  bool is_hosted() const noexcept { return !options_.host.program.empty(); }

 private:
  /// A task that a worker has, or a message that shares arguments.
  struct Flight {
    std::uint64_t number = 0;
    TaskList task;             ///< One or none.
    std::uint64_t shares = 0;  ///< The group of the arguments that it shares.
    std::vector<Sent> sent;
    std::optional<Error> cause;  ///< Why its shared arguments have not arrived.
  };
  struct Lane {
    Lane(WorkerGroup its_group, unsigned its_number)  // An empty std::deque allocates.
        : group(std::move(its_group)), number(its_number) {}
    WorkerProcess& worker() { return *group.workers().front(); }
    bool is_open() const noexcept { return !is_leaving && !fate && !closed_at; }
    /// It is to exit, and has answered its last task.
    bool is_done() const noexcept { return is_leaving && in_flight.empty(); }
    std::size_t tasks() const noexcept;
    /// The group of the task that runs; null: none runs, or a message comes before it.
    const TaskGroup* running() const noexcept;
    /// Tasks are sent ahead only if more wait than there are workers, and to tasks of the same call
    /// without a timeout. A cancelled task, or one that exceeds its timeout, may be over just
    /// before its worker is killed. Then the task after it may have begun, and would run twice.
    bool can_take(const TaskGroup& next, bool sends_ahead) const noexcept;

    std::optional<std::uint64_t> result_number(const Reduction& reduction) const;

    WorkerGroup group;  ///< One.
    unsigned number;    ///< Of its worker; no other lane has it.
    std::deque<Flight> in_flight;
    std::set<std::uint64_t> shared;  ///< Groups; it has their shared arguments.
    /// What the names of the files begin with in which it returns large results. Empty: in none.
    std::string results;
    bool knows_results = false;
    std::uint64_t next_result = 0;  ///< The number of the next file.
    std::size_t given = 0;
    std::size_t depth = 1;  ///< How many tasks it may have.
    os::Instant front_since{};
    std::optional<Error> fate;     ///< Why it is killed.
    std::optional<Error> gave_up;  ///< What it reported before it exited.
    std::optional<os::Instant> closed_at;
    bool is_leaving = false;
    bool is_unread = false;  ///< Some of its results could not be read.
  };

  /// A thread that runs tasks in a worker. It has a state and shared arguments of its own.
  struct NestedThread {
    std::shared_ptr<const Functions> functions;
    std::set<std::uint64_t> shared = {};     ///< As in a lane.
    std::vector<std::uint64_t> closed = {};  ///< Groups; the monitor guards it.
    std::unique_ptr<os::Thread> thread = {};
  };

  Status prepare() LASTREF_REQUIRES(*monitor_);
  Status prepare_once();
  Result<Array> publish(MapMode mode, const std::function<Status(os::Fd)>& write);
  Result<std::optional<Array>> store(os::Bytes block);
  Status prepare_nested() LASTREF_REQUIRES(*monitor_);
  Status prepare_thread() LASTREF_REQUIRES(*monitor_);
  Status choose_object(const TypedFunction& function) LASTREF_REQUIRES(*monitor_);
  Status check_process() const;
  Result<SharedArguments> parts_of(TaskReply reply);
  TaskReply reply_of(const Functions& functions, const PooledTask& task);
  Outcome<Value> call_here(const Functions& functions,
                           const std::string& name,
                           const ArgumentList& arguments);

  // In a nested thread.
  void work(NestedThread& self);
  TaskReply call_in(NestedThread& self, const PooledTask& task);
  void forget(NestedThread& self, const std::vector<std::uint64_t>& closed);

  // In the thread.
  void run();
  Status serve();
  void hand_out();
  void put_back(TaskList tasks);
  Status start_lane();
  void start_nested();
  Status start_nested_thread();
  void end_nested();
  void report_fewer(const Error& reason);
  Lane* free_lane_for(const TaskGroup& group, bool sends_ahead);
  void give(Lane& lane, TaskList one);
  Status send(Lane& lane, const std::string& function, ArgumentList& arguments, Flight& flight);
  Status send_results_path(Lane& lane);
  void flush(Lane& lane);
  void flush_all();
  void kill(Lane& lane, Error fate);
  void expire();
  void follow_requests();
  Status poll();
  void act(Lane& lane, const os::PollItem* items);
  void read(Lane& lane);
  Status handle(Lane& lane, const Message& message);
  TaskReply reply_of(Lane& lane, os::Bytes results);
  void remove_result_files(Lane& lane, std::optional<std::uint64_t> end);
  TaskReply failed_reply(Lane& lane, TaskFailure failure);
  void retire(Lane& lane);
  void bury(Lane& lane, const WorkerGroup::Reaped& reaped);
  void settle(TaskList one, TaskReply reply);
  Error placed(const PooledTask& task, os::Pid worker, const TaskFailure& failure) const noexcept;
  void fail_all(const Error& error);
  std::optional<std::chrono::nanoseconds> timeout();
  std::optional<Error> end_wanted() const;

  void wake() LASTREF_REQUIRES(*monitor_);
  std::string place_of(const PooledTask& task, os::Pid worker) const;

  PoolOptions options_;
  os::Os& os_;
  std::uint64_t token_;  ///< Of its process.
  std::unique_ptr<os::Monitor> monitor_;
  bool has_session_;  ///< From its start.

  // Made by the first call.
  bool is_prepared_ LASTREF_GUARDED_BY(*monitor_) = false;
  WorkerStart start_ LASTREF_GUARDED_BY(*monitor_);
  std::optional<Session> session_;
  unsigned workers_ = 0;    ///< Or threads; 0: in the thread that adds a task.
  bool is_nested_ = false;  ///< In threads of this worker.
  std::shared_ptr<const Functions> functions_;
  std::shared_ptr<TemporaryResources> resources_;
  std::unique_ptr<ForwardReducer> reducer_;
  std::shared_ptr<Receiver> receiver_;
  os::UniqueFd wake_read_;
  os::UniqueFd wake_write_;
  std::unique_ptr<os::Thread> thread_;

  TaskList queue_ LASTREF_GUARDED_BY(*monitor_);
  std::vector<std::uint64_t> closed_ LASTREF_GUARDED_BY(*monitor_);
  std::multiset<os::Instant> waiters_ LASTREF_GUARDED_BY(*monitor_);
  std::optional<Error> broken_ LASTREF_GUARDED_BY(*monitor_);  ///< Why it takes no tasks.
  bool is_down_ LASTREF_GUARDED_BY(*monitor_) = false;         ///< No unfinished task has a result.
  std::uint64_t next_group_ LASTREF_GUARDED_BY(*monitor_) = 1;
  std::size_t ahead_ LASTREF_GUARDED_BY(*monitor_) = 0;  ///< Tasks that workers may have at a time.
  bool is_woken_ LASTREF_GUARDED_BY(*monitor_) = false;
  bool is_ending_ LASTREF_GUARDED_BY(*monitor_) = false;
  std::size_t nested_idle_ LASTREF_GUARDED_BY(*monitor_) = 0;  ///< Threads without a task.

  // Of the thread.
  std::list<Lane> lanes_;
  std::list<NestedThread> nested_;
  std::vector<os::PollItem> items_;
  std::uint64_t next_number_ = 1;
  int poll_failures_ = 0;                                ///< In a row.
  std::optional<Error> reported_;                        ///< Why a worker could not be started.
  bool has_reported_folder_ = false;                     ///< There is none for large results.
  os::Atomic<bool> has_finished_{os_, /*value=*/false};  ///< A task, since arrays were released.
};

}  // namespace lastref::backends
