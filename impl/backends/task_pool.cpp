#include "impl/backends/task_pool.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <cstring>
#include <functional>
#include <memory>
#include <numeric>
#include <sstream>
#include <utility>

#include <lastref/kernel_os.hpp>
#include <lastref/npy.hpp>
#include <lastref/worker.hpp>

#include "impl/backends/pool_future.hpp"
#include "impl/backends/pool_options.hpp"
#include "impl/backends/typed_call.hpp"
#include "impl/os/extend.hpp"
#include "impl/os/kernel_os_objects.hpp"
#include "impl/os/limits.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref::backends {
namespace {

/// Work that is sent ahead to a worker.
constexpr std::chrono::nanoseconds work_ahead = std::chrono::milliseconds(1);
/// A shorter task counts as one that takes this long.
constexpr std::chrono::nanoseconds least_work = std::chrono::microseconds(60);
/// A worker that has closed its pipes is usually about to exit, and its exit status explains more
/// than a kill by us.
constexpr std::chrono::seconds exit_grace{1};
constexpr std::size_t items_of_lane = 3;
constexpr const char* thread_variables[] = {"OMP_NUM_THREADS",
                                            "OPENBLAS_NUM_THREADS",
                                            "MKL_NUM_THREADS",
                                            "BLIS_NUM_THREADS",
                                            "NUMEXPR_NUM_THREADS"};
constexpr const char* host_variable = "LASTREF_HOST";

/// Bytes and arrays as arguments of a task, after `first`.
ArgumentList arguments_of(List first, Writer writer) {
  first.emplace_back(std::move(writer.bytes()));
  for (Array& array : writer.arrays()) {
    first.emplace_back(std::move(array));
  }
  return first;
}

std::string signal_name(int signal) {
  const char* name = sigabbrev_np(signal);
  return name == nullptr ? "signal " + std::to_string(signal) : "SIG" + std::string(name);
}

std::string death_of(const WorkerGroup::Reaped& reaped) {
  if (!reaped.exit) {
    return "ended, exit status unknown";
  }
  return reaped.exit->killed ? "killed by " + signal_name(reaped.exit->code)
                             : "exited with code " + std::to_string(reaped.exit->code);
}

/// An Os that is never destroyed, and the next one.
struct HostingOs {
  explicit HostingOs(const std::string& its_program)
      : program(its_program), os({.program = its_program}) {}

  const std::string program;
  os::KernelOs os;
  HostingOs* next = nullptr;
};

/// The Os that starts this program. Pools with the same host have a tracker together. Without a
/// lock, which could be held while another thread forks: at worst there are two of them.
os::Os& os_with(const std::string& program) {
  if (program == this_program) {
    return os::KernelOs::of_process({.program = program});
  }
  static std::atomic<HostingOs*> newest = nullptr;
  for (HostingOs* each = newest.load(); each != nullptr; each = each->next) {
    if (each->program == program) {
      return each->os;
    }
  }
  auto* const made = std::make_unique<HostingOs>(program).release();
  made->next = newest.load();
  while (!newest.compare_exchange_weak(made->next, made)) {
  }
  return made->os;
}

/// Checks that the host of workers can be found.
Status check_host(os::Os& os, const std::string& program) {
  std::vector<std::string> paths = {program};
  if (program.find('/') == std::string::npos) {
    paths.clear();
    std::istringstream folders(os.environment("PATH").value_or(""));
    for (std::string folder; std::getline(folders, folder, ':');) {
      paths.push_back((folder.empty() ? "." : folder) + '/' + program);
    }
  }
  for (const std::string& path : paths) {
    const auto status = os.status_at(path);
    if (status && status->kind != os::FileKind::folder) {
      return ok();
    }
  }
  return failure(std::errc::no_such_file_or_directory,
                 "the host of workers, " + program + ": install lastref, or set " + host_variable +
                     " to its path");
}

/// The texts that are not empty, with the separator between them.
std::string joined(std::string first, std::string_view separator, std::string_view second) {
  if (!first.empty() && !second.empty()) {
    first += separator;
  }
  return first += second;
}

std::string text_of(std::chrono::nanoseconds time) {
  using std::chrono::milliseconds;
  return time % milliseconds(1) == time.zero() ? std::to_string(time / milliseconds(1)) + " ms"
                                               : std::to_string(time.count()) + " ns";
}

struct AsError {
  std::string place;

  Error operator()(const Error& error) const {
    const std::string call(error.call == Call::none ? "" : name_of(error.call));
    return {.code = error.code, .subject = joined(place, ": ", joined(call, " ", error.subject))};
  }
  Error operator()(const TransportableException& thrown) const {
    return {.code = {}, .subject = joined(place, ": ", joined(thrown.type, ": ", thrown.message))};
  }
  Error operator()(const WorkerInterrupt&) const {
    return {.code = std::errc::interrupted, .subject = joined(place, ": ", "interrupted")};
  }
  Error operator()(const TerminatedWorker& dead) const {
    return {.code = std::errc::owner_dead,
            .subject = joined(place, ": ", describe(TaskFailure(dead)))};
  }
};

/// Moves the tasks for which `is_wanted` is true out of the list.
template <typename Predicate>
TaskList take_if(TaskList& from, const Predicate& is_wanted) {
  TaskList taken;
  for (auto each = from.begin(); each != from.end();) {
    const auto next = std::next(each);
    if (is_wanted(*each)) {
      taken.splice(taken.end(), from, each);
    }
    each = next;
  }
  return taken;
}

/// The bytes and arrays of a task's result.
Result<SharedArguments> parts_of_value(Value value) {
  SharedArguments parts;
  if (auto* bytes = std::get_if<ByteString>(&value.content())) {
    parts.bytes = std::move(*bytes);
    return parts;
  }
  if (auto* list = std::get_if<List>(&value.content())) {
    for (Value& each : *list) {
      if (auto* bytes = std::get_if<ByteString>(&each.content())) {
        parts.bytes = std::move(*bytes);
      } else if (auto* array = std::get_if<Array>(&each.content())) {
        parts.arrays.push_back(std::move(*array));
      }
    }
  }
  return parts;
}

Result<Value> only_result(os::Bytes results, const Rebuild& rebuild) {
  LASTREF_TRY(values, decode_results(results, rebuild));
  return values.size() == 1 ? Result<Value>(std::move(values.front()))
                            : failure(std::errc::bad_message, "not one result");
}

}  // namespace

Host TaskPool::found(const Host& host) {
  if (host.program == installed.program) {
    std::string named = os::KernelOs().environment(host_variable).value_or("");
    return named.empty() ? host : lastref::host(std::move(named));
  }
  return host;
}

os::Os& TaskPool::os_of(const Host& host) {
  return os_with(host.program.empty() ? this_program : host.program);
}

TaskPool::TaskPool(os::Os& os, std::optional<Session> session, PoolOptions options)
    : options_(std::move(options)),
      os_(os),
      token_(os_.process_token()),
      monitor_(os_.make_monitor()),
      has_session_(session.has_value()),
      session_(std::move(session)) {}

TaskPool::~TaskPool() {
  end();
}

Status TaskPool::check_process() const {
  return is_ours() ? ok() : failure(not_ours());
}

/// What the first call needs. Called with the monitor held by one thread at a time.
Status TaskPool::prepare() {
  LASTREF_CHECK(check(options_));
  if (!has_session_) {
    session_ = Session::lead(os_with(this_program));  // Which a worker is a worker of.
  }
  if (session_->in_worker) {
    return prepare_nested();
  }
  if (is_hosted() && !has_session_) {
    LASTREF_CHECK(check_host(os_, options_.host.program));
    session_ = Session::lead(os_);
  }
  start_ = {};
  if (options_.threads_per_worker) {
    for (const char* variable : thread_variables) {
      start_.environment.emplace_back(variable, std::to_string(*options_.threads_per_worker));
    }
  }
  if (const auto role = os_.environment(worker::marker)) {
    return not_guarded(*role);
  }
  LASTREF_TRY(made, TemporaryResources::make(os_, session_->references, options_.temporary));
  resources_ = std::move(made);
  reducer_ =
      std::make_unique<ForwardReducer>(os_, session_->references, resources_, options_.arrays);
  receiver_ = std::make_shared<Receiver>(os_, session_->references);
  LASTREF_CHECK(prepare_thread());
  workers_ = options_.workers ? static_cast<unsigned>(*options_.workers) : os_.processors();
  return ok();
}

Status TaskPool::prepare_thread() {
  LASTREF_TRY(ends, os_.make_pipe());
  wake_read_ = os::UniqueFd(os_, ends.read);
  wake_write_ = os::UniqueFd(os_, ends.write);
  LASTREF_TRY(thread, os_.start_thread([this] { run(); }));
  thread_ = std::move(thread);
  return ok();
}

Status TaskPool::prepare_once() {
  const os::MonitorLock held(*monitor_);
  if (!is_prepared_) {
    LASTREF_CHECK(prepare());
    is_prepared_ = true;
  }
  return ok();
}

/// Makes hosts load the shared object that the function is in, if it is the first one.
Status TaskPool::choose_object(const TypedFunction& function) {
  if (!is_hosted() || session_->in_worker || !start_.arguments.empty()) {
    return ok();
  }
  const std::string name(function.name());
  const auto init = reinterpret_cast<std::uintptr_t>(function.init());
  const auto object = os::object_file_at(init);
  if (!object) {
    return failure(std::errc::invalid_argument, name + ": in no file that a worker could load");
  }
  std::string path = object->path;
  if (!path.empty() && !path.starts_with('/')) {
    path = os::mapped_path_at(init);  // The working folder may be another one now.
    if (path.empty()) {
      return failure(std::errc::invalid_argument,
                     name + ": the absolute path of " + object->path + " is unknown");
    }
  }
  if (!path.empty() && object->build_id.empty()) {
    return failure(std::errc::invalid_argument,
                   name + ": " + path + " has no build id: link it with -Wl,--build-id");
  }
  start_.arguments = {path, object->build_id, std::to_string(init - object->base)};
  return ok();
}

Result<GroupPtr> TaskPool::begin(const TypedFunction& function,
                                 std::optional<Writer> shared,
                                 std::optional<TaskOptions> options) {
  LASTREF_CHECK(check_process());
  LASTREF_CHECK(shared ? shared->stored() : ok());
  LASTREF_TRY(accepted, checked(options.value_or(options_.tasks)));
  const TypedFunction* const loader = options_.state.loader();
  if (function.state() != nullptr && (loader == nullptr || *loader->state() != *function.state())) {
    return failure(std::errc::invalid_argument,
                   std::string(function.name()) + " takes one more argument, or a state that the " +
                       "pool does not have");
  }
  auto group = std::make_shared<TaskGroup>();
  group->function = &function;
  group->id = function.id();
  group->loader = function.state() == nullptr ? std::string() : loader->id();
  group->options = accepted;
  LASTREF_CHECK(prepare_once());
  const os::MonitorLock held(*monitor_);
  LASTREF_CHECK(choose_object(function));
  if (broken_) {
    return failure(*broken_);
  }
  group->number = next_group_++;
  if (shared) {
    group->shared =
        arguments_of({Value(static_cast<std::int64_t>(group->number))}, *std::move(shared));
    if (workers_ == 0) {
      if (const auto done = call_here(*functions_, share_function, *group->shared); !done) {
        return failure(std::visit(AsError{""}, done.error()));
      }
    }
  }
  return group;
}

Status TaskPool::add(const GroupPtr& group, std::size_t index, Writer own) {
  LASTREF_CHECK(check_process());
  LASTREF_CHECK(own.stored());
  TaskList one(1);
  PooledTask& task = one.front();
  task.group = group;
  task.index = index;
  task.arguments = arguments_of(
      {Value(group->shared ? static_cast<std::int64_t>(group->number) : 0), Value(group->loader)},
      std::move(own));
  if (workers_ == 0) {
    do {
      ++task.attempts;
      task.reply = reply_of(*functions_, task);
    } while (std::holds_alternative<Error>(task.reply) && task.attempts <= group->options.retries);
    task.group = nullptr;
    group->finished.splice(group->finished.end(), one);
    return ok();
  }
  const os::MonitorLock held(*monitor_);
  ++group->unfinished;
  ++group->queued;
  queue_.splice(queue_.end(), one);
  wake();
  return ok();
}

bool TaskPool::is_hungry(TaskGroup& group) const {
  if (workers_ == 0 || !is_ours()) {
    return workers_ == 0;
  }
  const os::MonitorLock held(*monitor_);
  const std::size_t least = 2 * std::size_t{workers_};
  // Tasks that are sent ahead are queued together as well: each time wakes the thread.
  const std::size_t most = std::max(least, ahead_);
  group.is_fed = group.queued < least || (group.is_fed && group.queued < most);
  return group.is_fed;
}

std::optional<Tasks::Finished> TaskPool::next(TaskGroup& group) noexcept {
  if (!is_ours()) {
    return Tasks::Finished{.result = failure(not_ours())};
  }
  TaskList one;
  Error error;
  {
    const os::MonitorLock held(*monitor_);
    while (group.finished.empty() && group.unfinished > 0 && !is_down_) {
      monitor_->wait();
    }
    if (!group.finished.empty()) {
      one.splice(one.end(), group.finished, group.finished.begin());
    } else if (std::exchange(group.reports_cancel, false)) {
      error = error_about(std::errc::operation_canceled, group.function->name());
    } else if (group.unfinished > 0) {
      --group.unfinished;
      error = error_about(broken_->code, broken_->subject);
    } else {
      return std::nullopt;
    }
  }
  if (one.empty()) {
    return Tasks::Finished{.result = failure(std::move(error))};
  }
  PooledTask& task = one.front();
  return Tasks::Finished{
      .index = task.index, .attempts = task.attempts, .result = os::within_memory("a result", [&] {
                                                        return parts_of(std::move(task.reply));
                                                      })};
}

Result<SharedArguments> TaskPool::parts_of(TaskReply reply) {
  if (auto* error = std::get_if<Error>(&reply)) {
    return failure(std::move(*error));
  }
  if (auto* value = std::get_if<Value>(&reply)) {
    return parts_of_value(std::move(*value));
  }
  LASTREF_TRY(value, only_result(std::get<os::Packed>(reply), [this](const Reduction& reduction) {
                return receiver_->rebuild(reduction);
              }));
  return parts_of_value(std::move(value));
}

std::optional<std::size_t> TaskPool::wait_any(std::span<const GroupPtr> groups,
                                              std::optional<std::chrono::nanoseconds> timeout) {
  if (!is_ours()) {
    return 0;
  }
  constexpr std::chrono::hours forever{24 * 365 * 100};
  const os::Instant deadline =
      os_.now() + std::min<std::chrono::nanoseconds>(timeout.value_or(forever), forever);
  const os::MonitorLock held(*monitor_);
  const auto first = [&]() -> std::optional<std::size_t> {
    const auto found = std::ranges::find_if(groups, [&](const GroupPtr& group) {
      return !group->finished.empty() || group->unfinished == 0 || is_down_;
    });
    return found == groups.end() ? std::nullopt : std::optional(found - groups.begin());
  };
  if (first() || (timeout && *timeout <= timeout->zero())) {
    return first();
  }
  // The thread of the pool wakes us then, and erases it.
  if (timeout && !os::had_memory([&] { waiters_.insert(deadline); })) {
    return std::nullopt;
  }
  wake();
  while (!first() && (!timeout || os_.now() < deadline)) {
    monitor_->wait();
  }
  if (const auto mine = waiters_.find(deadline); mine != waiters_.end()) {
    waiters_.erase(mine);
  }
  return first();
}

void TaskPool::cancel(TaskGroup& group) noexcept {
  if (!is_ours()) {
    return;
  }
  TaskList dropped;
  const os::MonitorLock held(*monitor_);
  if (group.unfinished == 0) {
    return;
  }
  group.is_canceled = true;
  group.reports_cancel = true;
  group.unfinished = 0;
  group.queued = 0;
  dropped = take_if(queue_, [&](const PooledTask& each) { return each.group.get() == &group; });
  monitor_->notify_all();
  wake();
}

void TaskPool::close(const TaskGroup& group) noexcept {
  if (!is_ours() || !group.shared) {
    return;
  }
  // Without memory, at worst a worker keeps the arguments until it ends.
  static_cast<void>(os::had_memory([&] {
    if (workers_ == 0) {
      static_cast<void>(call_here(
          *functions_, forget_function, {Value(static_cast<std::int64_t>(group.number))}));
      return;
    }
    const os::MonitorLock held(*monitor_);
    closed_.push_back(group.number);
    wake();
  }));
}

/// A map of a new file, which is removed with the last handle of it.
Result<Array> TaskPool::publish(MapMode mode, const std::function<Status(os::Fd)>& write) {
  LASTREF_TRY(file, resources_->publish(write));
  const auto release = [resources = resources_, file] {
    static_cast<void>(resources->release(*file));
  };
  auto array = map_npy(os_, file->path(), mode, release);
  if (!array) {
    release();
  }
  return array;
}

Writer TaskPool::writer() {
  return Writer([this](os::Bytes block) { return store(block); });
}

Result<std::optional<Array>> TaskPool::store(os::Bytes block) {
  const auto& size_max = options_.arrays.max_nbytes;
  if (!size_max || block.size() <= *size_max || !is_ours()) {
    return std::optional<Array>();
  }
  LASTREF_CHECK(prepare_once());
  if (!resources_) {
    return std::optional<Array>();  // The functions are called in this process.
  }
  LASTREF_TRY(array, array_of(block));
  LASTREF_TRY(stored, publish(MapMode::read, [&](os::Fd fd) { return write_npy(os_, fd, array); }));
  return std::optional(std::move(stored));
}

Result<Array> TaskPool::zeros(DType dtype, Shape shape) {
  LASTREF_CHECK(check_process());
  LASTREF_CHECK(prepare_once());
  LASTREF_TRY(header, npy_header(dtype, shape, Order::c));  // Refuses what is too large.
  const std::size_t size =
      std::accumulate(shape.begin(), shape.end(), dtype.itemsize(), std::multiplies());
  if (size == 0 || !resources_) {
    return Array::zeros(std::move(dtype), std::move(shape));
  }
  return publish(MapMode::read_write, [&](os::Fd fd) -> Status {
    LASTREF_CHECK(os::write_all(os_, fd, header));
    return os::extend(os_, fd, header.size(), header.size() + size);
  });
}

void TaskPool::end() {
  {
    const os::MonitorLock held(*monitor_);
    if (std::exchange(is_ending_, true)) {
      return;
    }
    if (thread_) {
      wake();
    }
  }
  if (thread_) {
    thread_->join();
  }
}

void TaskPool::wake() {
  if (is_nested_) {
    monitor_->notify_all();
  }
  if (std::exchange(is_woken_, true) || !wake_write_) {
    return;
  }
  if (Status woken = wake_by(os_, wake_write_.get()); !woken) {
    wake_write_.close_quietly();  // The end of a pipe wakes, too.
    broken_ = std::move(woken).error();
  }
}

std::string TaskPool::place_of(const PooledTask& task, os::Pid worker) const {
  return "task " + std::to_string(task.index) + ", " + std::string(task.group->function->name()) +
         ", worker " + std::to_string(worker);
}

void TaskPool::run() {
  Error error = os::within_memory("a pool", [&] { return serve(); }).error();
  if (error.code != std::errc::operation_canceled) {
    os::report_quietly(os_, [&] { return "lastref: a pool has ended: " + describe(error); });
  }
  {
    const os::MonitorLock held(*monitor_);
    broken_ = std::move(error);
    monitor_->notify_all();
  }
  end_nested();
  {
    const os::MonitorLock held(*monitor_);
    is_down_ = true;
    queue_.clear();
    monitor_->notify_all();
  }
  for (Lane& lane : lanes_) {
    if (lane.tasks() == 0 && !lane.is_leaving) {
      // All at once, before the first one is waited for. Without memory, one by one.
      static_cast<void>(os::had_memory([&] { retire(lane); }));
    }
  }
  for (Lane& lane : lanes_) {
    lane.group.end(/*kills=*/lane.tasks() > 0);
    static_cast<void>(os::had_memory([&] { remove_result_files(lane, std::nullopt); }));
  }
  lanes_.clear();
}

/// The error that ends the pool, if it is to end.
std::optional<Error> TaskPool::end_wanted() const {
  const os::MonitorLock held(*monitor_);
  return broken_ || !is_ending_ ? broken_
                                : error_about(std::errc::operation_canceled, "the pool has ended");
}

Status TaskPool::serve() {
  for (;;) {
    if (auto error = end_wanted()) {
      return failure(*std::move(error));
    }
    follow_requests();
    expire();
    if (is_nested_) {
      start_nested();
    } else {
      hand_out();
    }
    flush_all();
    if (has_finished_.exchange(/*value=*/false) && reducer_) {
      static_cast<void>(reducer_->release_gone());
    }
    LASTREF_CHECK(poll());
  }
}

/// Groups that were closed, and tasks that were cancelled.
void TaskPool::follow_requests() {
  std::vector<std::uint64_t> closed;
  std::vector<Lane*> canceled;
  {
    const os::MonitorLock held(*monitor_);
    closed.swap(closed_);
    for (NestedThread& each : nested_) {
      each.closed.insert(each.closed.end(), closed.begin(), closed.end());
      monitor_->notify_all();
    }
    for (Lane& lane : lanes_) {
      if (const TaskGroup* const group = lane.running(); group != nullptr && group->is_canceled) {
        canceled.push_back(&lane);
      }
    }
  }
  for (Lane* lane : canceled) {
    kill(*lane, error_about(std::errc::operation_canceled, ""));
  }
  for (const std::uint64_t group : closed) {
    for (Lane& lane : lanes_) {
      if (lane.shared.erase(group) > 0 && !lane.fate) {
        // At worst the worker keeps it until it ends.
        static_cast<void>(os::within_memory("a message", [&] {
          ArgumentList number{Value(static_cast<std::int64_t>(group))};
          Flight message;
          return send(lane, forget_function, number, message);
        }));
      }
    }
  }
}

/// Kills workers with a task that exceeds its timeout, and wakes threads that wait no longer.
void TaskPool::expire() {
  const os::Instant now = os_.now();
  for (Lane& lane : lanes_) {
    if (lane.closed_at && now >= *lane.closed_at + exit_grace) {
      kill(lane, error_about(std::errc::broken_pipe, "it closed its pipe"));
    }
    if (lane.is_done() && now >= lane.front_since + leave_timeout) {
      kill(lane, error_about(std::errc::stream_timeout, "it did not exit"));
    }
    const TaskGroup* const group = lane.running();
    if (group == nullptr || lane.fate) {
      continue;
    }
    const auto timeout = group->options.timeout;
    if (timeout && now >= lane.front_since + *timeout) {
      kill(lane, error_about(std::errc::stream_timeout, "no result within " + text_of(*timeout)));
    }
  }
  const os::MonitorLock held(*monitor_);
  if (!waiters_.empty() && *waiters_.begin() <= now) {
    waiters_.erase(waiters_.begin(), waiters_.upper_bound(now));
    monitor_->notify_all();
  }
}

/// How long a poll may take.
std::optional<std::chrono::nanoseconds> TaskPool::timeout() {
  std::optional<os::Instant> first;
  const auto include = [&](os::Instant instant) {
    first = std::min(first.value_or(instant), instant);
  };
  for (const Lane& lane : lanes_) {
    if (lane.closed_at && !lane.fate) {
      include(*lane.closed_at + exit_grace);
    }
    if (lane.is_done() && !lane.fate) {
      include(lane.front_since + leave_timeout);
    }
    const TaskGroup* const group = lane.running();
    if (group != nullptr && !lane.fate && group->options.timeout) {
      include(lane.front_since + *group->options.timeout);
    }
  }
  {
    const os::MonitorLock held(*monitor_);
    if (!waiters_.empty()) {
      include(*waiters_.begin());
    }
  }
  if (!first) {
    return std::nullopt;
  }
  return std::max(*first - os_.now(), os::Instant::zero());
}

std::size_t TaskPool::Lane::tasks() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(in_flight, [](const Flight& flight) { return !flight.task.empty(); }));
}

const TaskGroup* TaskPool::Lane::running() const noexcept {
  return in_flight.empty() || in_flight.front().task.empty()
             ? nullptr
             : in_flight.front().task.front().group.get();
}

bool TaskPool::Lane::can_take(const TaskGroup& next, bool sends_ahead) const noexcept {
  const auto is_last_of_next = [&] {
    const auto last = std::ranges::find_if(in_flight.rbegin(),
                                           in_flight.rend(),
                                           [](const Flight& each) { return !each.task.empty(); });
    return last == in_flight.rend() || last->task.front().group.get() == &next;
  };
  const std::size_t has = tasks();
  return is_open() &&
         (has == 0 || (sends_ahead && has < depth && !next.options.timeout && is_last_of_next()));
}

/// The worker with the fewest tasks that can take one of this group.
TaskPool::Lane* TaskPool::free_lane_for(const TaskGroup& group, bool sends_ahead) {
  Lane* free = nullptr;
  for (Lane& lane : lanes_) {
    if (lane.can_take(group, sends_ahead) && (free == nullptr || lane.tasks() < free->tasks())) {
      free = &lane;
    }
  }
  return free;
}

void TaskPool::hand_out() {
  std::size_t ahead = 0;
  for (const Lane& lane : lanes_) {
    ahead += lane.depth;
  }
  for (;;) {
    TaskList one;
    bool sends_ahead = false;
    {
      const os::MonitorLock held(*monitor_);
      ahead_ = ahead;
      if (queue_.empty()) {
        return;
      }
      sends_ahead = queue_.size() > workers_;
      one.splice(one.end(), queue_, queue_.begin());
      --one.front().group->queued;
    }
    Lane* lane = free_lane_for(*one.front().group, sends_ahead);
    // A worker that is to leave works until it has answered its last task.
    const auto working =
        static_cast<std::size_t>(std::ranges::count_if(lanes_, [](const Lane& each) {
          return each.is_open() || (each.is_leaving && each.tasks() > 0);
        }));
    Status started = ok();
    // No more are about to exit than there are workers, however long that takes.
    const auto done = static_cast<std::size_t>(std::ranges::count_if(
        lanes_, [](const Lane& each) { return each.is_done() && !each.fate; }));
    if ((lane == nullptr || lane->tasks() > 0) && working < workers_ && done < workers_) {
      started = start_lane();
      lane = started ? &lanes_.back() : lane;
    }
    if (lane == nullptr) {
      put_back(std::move(one));
      if (!started && lanes_.empty()) {
        fail_all(started.error());
      }
      return;
    }
    give(*lane, std::move(one));
  }
}

/// At the front of the queue; drops those that are cancelled.
void TaskPool::put_back(TaskList tasks) {
  TaskList dropped;
  const os::MonitorLock held(*monitor_);
  dropped = take_if(tasks, [](const PooledTask& each) { return each.group->is_canceled; });
  for (const PooledTask& each : tasks) {
    ++each.group->queued;
  }
  queue_.splice(queue_.begin(), tasks);
}

Status TaskPool::start_lane() {
  Status started = os::within_memory("a worker", [&]() -> Status {
    WorkerStart how;
    {
      const os::MonitorLock held(*monitor_);
      how = start_;
    }
    unsigned number = 1;
    while (std::ranges::any_of(lanes_, [&](const Lane& lane) { return lane.number == number; })) {
      ++number;
    }
    LASTREF_TRY(group, WorkerGroup::start(*session_, 1, number, how));
    lanes_.emplace_back(std::move(group), number);
    return ok();
  });
  if (!started && is_hosted()) {
    static_cast<void>(os::had_memory([&] {
      started.error().subject =
          "the host of workers, " + options_.host.program + ": " + started.error().subject;
    }));
  }
  if (!started && !lanes_.empty()) {
    report_fewer(started.error());
  }
  return started;
}

/// Without any worker, tasks report it.
void TaskPool::report_fewer(const Error& reason) {
  if (reported_ != reason) {
    os::report_quietly(os_, [&] {
      reported_ = reason;
      return "lastref: a pool has fewer workers than asked: " + describe(reason);
    });
  }
}

void TaskPool::fail_all(const Error& error) {
  TaskList failed;
  {
    const os::MonitorLock held(*monitor_);
    failed.swap(queue_);
    for (const PooledTask& task : failed) {
      --task.group->queued;
    }
  }
  while (!failed.empty()) {
    TaskList one;
    one.splice(one.end(), failed, failed.begin());
    one.front().attempts = one.front().group->options.retries + 1;
    settle(std::move(one), error_about(error.code, error.subject));
  }
}

void TaskPool::give(Lane& lane, TaskList one) {
  const GroupPtr group = one.front().group;
  ++one.front().attempts;
  Flight flight;
  flight.task = std::move(one);
  Status sent = os::within_memory("a task", [&]() -> Status {
    if (group->shared && !lane.shared.contains(group->number)) {
      ArgumentList shared = *group->shared;
      Flight message;
      message.shares = group->number;
      LASTREF_CHECK(send(lane, share_function, shared, message));
      lane.shared.insert(group->number);
    }
    if (group->function->may_return_blocks() && !lane.knows_results) {
      LASTREF_CHECK(send_results_path(lane));
    }
    return send(lane, group->id, flight.task.front().arguments, flight);
  });
  if (!sent) {
    settle(std::move(flight.task), std::move(sent).error());
    return;
  }
  ++lane.given;
  if (options_.max_tasks_per_worker &&
      std::cmp_greater_equal(lane.given, *options_.max_tasks_per_worker)) {
    retire(lane);
  }
}

/// The arguments are there again when it returns. After an error, so is the flight.
Status TaskPool::send(Lane& lane,
                      const std::string& function,
                      ArgumentList& arguments,
                      Flight& flight) {
  Batch batch(1);
  batch.front().function = function;
  batch.front().arguments = std::move(arguments);
  auto encoded = os::within_memory("a task", [&] {
    return encode_batch(batch, [this](const Array& array) { return reducer_->reduce(array); });
  });
  arguments = std::move(batch.front().arguments);
  LASTREF_CHECK(status_of(encoded));
  flight.number = next_number_++;
  flight.sent = std::move(encoded->sent);
  os::Packed number;
  os::put(number, flight.number);
  if (lane.in_flight.empty()) {
    lane.front_since = os_.now();
  }
  lane.in_flight.push_back(std::move(flight));
  if (!os::had_memory(
          [&] { lane.worker().jobs.post(MessageKind::job, number, std::move(encoded->bytes)); })) {
    flight = std::move(lane.in_flight.back());
    lane.in_flight.pop_back();
    return os::no_memory("a task");
  }
  return ok();
}

/// Tells the worker where it can put large results. If there is no folder for them, they travel
/// through the pipe.
Status TaskPool::send_results_path(Lane& lane) {
  lane.knows_results = true;
  const auto& size_max = options_.arrays.max_nbytes;
  if (!size_max) {
    return ok();
  }
  auto folder = resources_->make_folder();
  if (!folder) {
    if (!std::exchange(has_reported_folder_, true)) {
      os::report_quietly(os_, [&] {
        return "lastref: large results of a pool travel through pipes: " + describe(folder.error());
      });
    }
    return ok();
  }
  lane.results = *std::move(folder) + "/result_" + std::to_string(lane.worker().pid) + '_';
  ArgumentList where{Value(lane.results), Value(static_cast<std::int64_t>(*size_max))};
  Flight message;
  return send(lane, results_function, where, message);
}

/// The worker exits after the tasks that it has.
void TaskPool::retire(Lane& lane) {
  lane.is_leaving = true;
  lane.worker().jobs.post(MessageKind::leave, {}, {});
}

/// Small messages to a worker are written together.
void TaskPool::flush_all() {
  for (Lane& lane : lanes_) {
    if (!lane.worker().jobs.is_empty()) {
      flush(lane);
    }
  }
}

void TaskPool::flush(Lane& lane) {
  Status flushed = lane.worker().jobs.flush();
  if (failed_with(flushed, std::errc::broken_pipe)) {
    lane.worker().jobs.close();
    lane.closed_at = lane.closed_at.value_or(os_.now());
  } else if (!flushed) {
    kill(lane, std::move(flushed).error());
  }
}

void TaskPool::kill(Lane& lane, Error fate) {
  if (!lane.fate) {
    lane.fate = std::move(fate);
    lane.worker().jobs.close();
    lane.group.kill(lane.worker());
  }
}

Status TaskPool::poll() {
  const auto ready = os::within_memory("a pool", [&] {
    items_.clear();
    items_.push_back({.fd = wake_read_.get(), .want_read = true});
    for (Lane& lane : lanes_) {
      const WorkerProcess& worker = lane.worker();
      items_.push_back({.fd = worker.process.get(), .want_read = true});
      items_.push_back(
          {.fd = worker.results.at_end() ? os::Fd::none : worker.results.fd(), .want_read = true});
      items_.push_back(
          {.fd = worker.jobs.is_empty() ? os::Fd::none : worker.jobs.fd(), .want_write = true});
    }
    return os_.poll(items_, timeout());
  });
  if (!ready) {
    const bool is_over = ready.error().code != std::errc::interrupted &&
                         ++poll_failures_ >= os::limits_of(os_).pool_failures;
    return is_over ? status_of(ready) : ok();
  }
  poll_failures_ = 0;
  if (items_.front().readable) {
    LASTREF_CHECK(drain(os_, wake_read_.get()));
    const os::MonitorLock held(*monitor_);
    is_woken_ = false;
  }
  const os::PollItem* items = items_.data() + 1;
  for (auto lane = lanes_.begin(); lane != lanes_.end(); items += items_of_lane) {
    const auto next = std::next(lane);
    act(*lane, items);
    if (lane->group.workers().empty()) {
      lanes_.erase(lane);
    }
    lane = next;
  }
  return ok();
}

void TaskPool::act(Lane& lane, const os::PollItem* items) {
  if (items[1].readable || items[1].hung_up) {
    read(lane);
  }
  if (items[2].writable || items[2].hung_up) {
    flush(lane);
  }
  if (items[0].readable) {
    if (!lane.worker().results.at_end()) {
      read(lane);
    }
    if (const auto reaped = lane.group.reap(lane.worker()); reaped.is_dead) {
      bury(lane, reaped);
    }
  }
}

void TaskPool::read(Lane& lane) {
  Inbox& results = lane.worker().results;
  Status read = os::within_memory("a result", [&]() -> Status {
    LASTREF_CHECK(results.fill());
    for (;;) {
      LASTREF_TRY(message, results.next());
      if (!message) {
        return ok();
      }
      LASTREF_CHECK(handle(lane, *message));
    }
  });
  if (!read) {
    results.close();
    lane.is_unread = true;
    kill(lane, std::move(read).error());
  } else if (results.at_end()) {
    lane.closed_at = lane.closed_at.value_or(os_.now());
  }
}

Status TaskPool::handle(Lane& lane, const Message& message) {
  if (message.kind == MessageKind::gave_up) {
    LASTREF_TRY(reason, decode_failure(message.body));
    lane.gave_up = std::visit(AsError{""}, reason);
    return ok();
  }
  os::Unpacker unpacker(message.body);
  const auto number = unpacker.number<std::uint64_t>();
  const auto busy = unpacker.number<std::int64_t>();
  if (unpacker.failed() || lane.in_flight.empty() || lane.in_flight.front().number != number ||
      (message.kind != MessageKind::results && message.kind != MessageKind::failed)) {
    return failure(std::errc::bad_message, "a worker answered for a task that it does not have");
  }
  const os::Bytes body = unpacker.rest();
  TaskReply reply;
  if (message.kind == MessageKind::results) {
    reply = reply_of(lane, body);
  } else {
    LASTREF_TRY(failure, decode_failure(body));
    reply = failed_reply(lane, std::move(failure));
  }
  Flight flight = std::move(lane.in_flight.front());
  lane.in_flight.pop_front();
  lane.front_since = os_.now();
  for (Sent& sent : flight.sent) {
    static_cast<void>(sent.arrived());
  }
  if (!flight.task.empty()) {
    const std::chrono::nanoseconds work = std::max(std::chrono::nanoseconds(busy), least_work);
    lane.depth = std::max<std::size_t>(static_cast<std::size_t>(work_ahead / work), 1);
    settle(std::move(flight.task), std::move(reply));
  }
  return ok();
}

/// The number of a file of a lane's results.
std::optional<std::uint64_t> TaskPool::Lane::result_number(const Reduction& reduction) const {
  const auto* view = std::get_if<StridedFromMemmap>(&reduction);
  if (results.empty() || view == nullptr || !view->filename.starts_with(results)) {
    return std::nullopt;
  }
  std::uint64_t found = 0;
  const char* const end = view->filename.data() + view->filename.size();
  const auto parsed = std::from_chars(view->filename.data() + results.size(), end, found);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(found) : std::nullopt;
}

/// Files of large results are mapped now, and removed: nothing else knows them.
TaskReply TaskPool::reply_of(Lane& lane, os::Bytes results) {
  if (lane.results.empty() || !has_arrays(results)) {
    return os::Packed(results.begin(), results.end());
  }
  bool is_wanted = false;
  {
    const os::MonitorLock held(*monitor_);
    const TaskGroup* const group = lane.running();
    is_wanted = group != nullptr && !group->is_canceled;
  }
  std::optional<Error> first;
  auto value = only_result(results, [&](const Reduction& reduction) -> Result<Array> {
    auto array = is_wanted ? receiver_->rebuild(reduction) : array_of({});
    const auto number = lane.result_number(reduction);
    if (!number) {
      return array;
    }
    remove_result_files(lane, *number + 1);
    if (!array) {
      first = std::move(array).error();
      return array_of({});  // The other files are removed as well.
    }
    return array;
  });
  if (value && !first) {
    return *std::move(value);
  }
  return failed_reply(lane, TaskFailure(first ? *std::move(first) : std::move(value).error()));
}

/// Removes the next files, up to number `end` or to one that is missing.
void TaskPool::remove_result_files(Lane& lane, std::optional<std::uint64_t> end) {
  while (!lane.results.empty() && (!end || lane.next_result < *end)) {
    const Status removed = os_.unlink(lane.results + std::to_string(lane.next_result));
    if (!removed && !end) {
      return;
    }
    ++lane.next_result;
  }
}

/// What the first message of a worker has failed with. If shared arguments have not arrived, the
/// tasks that need them fail with the same.
TaskReply TaskPool::failed_reply(Lane& lane, TaskFailure failure) {
  const Flight& front = lane.in_flight.front();
  if (!front.task.empty()) {
    const PooledTask& task = front.task.front();
    return placed(task, lane.worker().pid, front.cause ? TaskFailure(*front.cause) : failure);
  }
  const Error cause = std::visit(AsError{""}, failure);
  if (lane.shared.erase(front.shares) > 0) {
    for (Flight& each : lane.in_flight) {
      if (!each.task.empty() && each.task.front().group->number == front.shares) {
        each.cause = cause;
      }
    }
  }
  return cause;
}

/// The worker is dead, and everything that it sent was read.
void TaskPool::bury(Lane& lane, const WorkerGroup::Reaped& reaped) {
  const os::Pid pid = lane.worker().pid;
  Error fate = error_about(std::errc::owner_dead, "");
  static_cast<void>(os::had_memory([&] {
    fate = lane.fate      ? *std::move(lane.fate)
           : lane.gave_up ? *std::move(lane.gave_up)
                          : error_about(fate.code, death_of(reaped));
  }));
  lane.group.remove(lane.worker());
  static_cast<void>(os::had_memory([&] { remove_result_files(lane, std::nullopt); }));
  TaskList others;
  bool is_running = true;
  for (Flight& flight : lane.in_flight) {
    if (flight.task.empty()) {
      continue;
    }
    if (is_running) {
      Error error = placed(flight.task.front(), pid, fate);
      settle(std::move(flight.task), std::move(error));
    } else {
      --flight.task.front().attempts;
      others.splice(others.end(), flight.task);
    }
    // Without some of its results, each of its tasks may have run.
    is_running = lane.is_unread;
  }
  put_back(std::move(others));
}

/// A task has its reply, unless it failed and is to be tried again.
void TaskPool::settle(TaskList one, TaskReply reply) {
  has_finished_.store(/*value=*/true);
  PooledTask& task = one.front();
  const GroupPtr group = task.group;
  const bool again =
      std::holds_alternative<Error>(reply) && task.attempts <= group->options.retries;
  if (!again) {
    task.arguments.clear();  // Their files are removed before the result is seen.
    task.reply = std::move(reply);
  }
  const os::MonitorLock held(*monitor_);
  if (group->is_canceled) {
    return;
  }
  if (again) {
    ++group->queued;
    queue_.splice(queue_.begin(), one);
    return;
  }
  task.group = nullptr;
  group->finished.splice(group->finished.end(), one);
  --group->unfinished;
  monitor_->notify_all();
}

/// The failure of a task, which names the task if there is memory for that.
Error TaskPool::placed(const PooledTask& task,
                       os::Pid worker,
                       const TaskFailure& failure) const noexcept {
  Error error = error_about(std::errc::not_enough_memory, "");
  if (const auto* known = std::get_if<Error>(&failure)) {
    error.code = known->code;
  }
  static_cast<void>(
      os::had_memory([&] { error = std::visit(AsError{place_of(task, worker)}, failure); }));
  return error;
}

}  // namespace lastref::backends
