#include "impl/backends/task_pool.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <sstream>
#include <utility>

#include <lastref/kernel_os.hpp>
#include <lastref/worker.hpp>

#include "impl/backends/pool_future.hpp"
#include "impl/backends/typed_call.hpp"
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

/// The program that is started as workers.
std::string program_of(const Host& host) {
  if (host.program == installed.program) {
    return os::KernelOs().environment(host_variable).value_or(host.program);
  }
  return host.program.empty() ? this_program : host.program;
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

struct AsError {
  std::string place;

  Error operator()(const Error& error) const {
    const std::string call = error.call == Call::none ? "" : std::string(name_of(error.call)) + ' ';
    return {.code = error.code, .subject = place + call + error.subject};
  }
  Error operator()(const TransportableException& thrown) const {
    return {.code = {}, .subject = place + thrown.type + ": " + thrown.message};
  }
  Error operator()(const WorkerInterrupt&) const {
    return {.code = std::errc::interrupted, .subject = place + "interrupted"};
  }
  Error operator()(const TerminatedWorker& dead) const {
    return {.code = std::errc::owner_dead, .subject = place + describe(TaskFailure(dead))};
  }
};

/// The bytes and arrays of a task's result.
Result<SharedArguments> parts_of(Value value) {
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

}  // namespace

TaskPool::TaskPool(PoolOptions options)
    : options_(std::move(options)),
      os_(os_with(program_of(options_.host))),
      token_(os_.process_token()),
      monitor_(os_.make_monitor()) {}

TaskPool::~TaskPool() {
  end();
}

Status TaskPool::check_process() const {
  return is_ours() ? ok() : failure(not_ours());
}

/// What the first call needs. Called with the monitor held by one thread at a time.
Status TaskPool::prepare() {
  LASTREF_TRY(wanted,
              pool_n_jobs(os_, options_.workers ? static_cast<int>(*options_.workers) : -1));
  session_ = Session::lead(os_with(this_program));  // Which a worker is a worker of.
  functions_ = typed_functions();
  if (session_->in_worker) {
    return ok();
  }
  if (is_hosted()) {
    LASTREF_CHECK(check_host(os_, program_of(options_.host)));
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
  LASTREF_TRY(ends, os_.make_pipe());
  wake_read_ = os::UniqueFd(os_, ends.read);
  wake_write_ = os::UniqueFd(os_, ends.write);
  LASTREF_TRY(thread, os_.start_thread([this] { run(); }));
  thread_ = std::move(thread);
  workers_ = wanted;
  return ok();
}

/// Makes hosts load the shared object that the function is in, if it is the first one.
Status TaskPool::choose_object(const TypedFunction& function) {
  if (!is_hosted() || workers_ == 0 || !start_.arguments.empty()) {
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
    LASTREF_TRY(folder, os_.working_folder());
    path = folder + '/' + path;
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
  group->options = options.value_or(options_.tasks);
  const os::MonitorLock held(*monitor_);
  if (!is_prepared_) {
    LASTREF_CHECK(prepare());
    is_prepared_ = true;
  }
  LASTREF_CHECK(choose_object(function));
  if (broken_) {
    return failure(*broken_);
  }
  group->number = next_group_++;
  if (shared) {
    group->shared =
        arguments_of({Value(static_cast<std::int64_t>(group->number))}, *std::move(shared));
    if (workers_ == 0) {
      const auto done =
          call_safely(*functions_, {.session = *session_}, {share_function, *group->shared});
      static_cast<void>(done);
    }
  }
  return group;
}

void TaskPool::add(const GroupPtr& group, std::size_t index, Writer own) {
  if (!is_ours()) {
    return;
  }
  PooledTask task{.group = group,
                  .index = index,
                  .arguments = arguments_of(
                      {Value(group->shared ? static_cast<std::int64_t>(group->number) : 0),
                       Value(group->loader)},
                      std::move(own))};
  if (workers_ == 0) {
    task.attempts = 1;
    const std::string place = place_of(task, os_.process_id());
    auto outcome = call_safely(*functions_, {.session = *session_}, {group->id, task.arguments});
    group->finished.push_back(
        {.index = index,
         .attempts = 1,
         .reply = outcome ? TaskReply(*std::move(outcome))
                          : TaskReply(std::visit(AsError{place}, outcome.error()))});
    return;
  }
  std::list<PooledTask> one;
  one.push_back(std::move(task));
  const os::MonitorLock held(*monitor_);
  ++group->unfinished;
  ++group->queued;
  queue_.splice(queue_.end(), one);
  wake();
}

bool TaskPool::is_hungry(const TaskGroup& group) const {
  if (workers_ == 0 || !is_ours()) {
    return workers_ == 0;
  }
  const os::MonitorLock held(*monitor_);
  return group.queued < 2 * std::size_t{workers_};
}

std::optional<Tasks::Finished> TaskPool::next(TaskGroup& group) {
  Tasks::Finished result;
  if (Status ours = check_process(); !ours) {
    return Tasks::Finished{.result = failure(std::move(ours).error())};
  }
  std::optional<FinishedTask> finished;
  {
    const os::MonitorLock held(*monitor_);
    while (group.finished.empty() && group.unfinished > 0 && !broken_) {
      monitor_->wait();
    }
    if (!group.finished.empty()) {
      finished = std::move(group.finished.front());
      group.finished.pop_front();
    } else if (group.unfinished > 0) {
      --group.unfinished;
      return Tasks::Finished{.result = failure(*broken_)};
    }
  }
  if (!finished) {
    return std::nullopt;
  }
  result.index = finished->index;
  result.attempts = finished->attempts;
  if (auto* error = std::get_if<Error>(&finished->reply)) {
    result.result = failure(std::move(*error));
  } else if (auto* value = std::get_if<Value>(&finished->reply)) {
    result.result = parts_of(std::move(*value));
  } else {
    auto values = decode_results(
        std::get<os::Packed>(finished->reply),
        [this](const Reduction& reduction) { return receiver_->rebuild(reduction); });
    result.result = !values                ? failure(std::move(values).error())
                    : values->size() != 1U ? failure(std::errc::bad_message, "not one result")
                                           : parts_of(std::move(values->front()));
  }
  return result;
}

bool TaskPool::wait_for(const TaskGroup& group, std::chrono::nanoseconds timeout) {
  if (!is_ours()) {
    return true;
  }
  constexpr std::chrono::hours forever{24 * 365 * 100};
  const os::Instant deadline = os_.now() + std::min<std::chrono::nanoseconds>(timeout, forever);
  const os::MonitorLock held(*monitor_);
  const auto is_over = [&] { return !group.finished.empty() || group.unfinished == 0 || broken_; };
  if (is_over()) {
    return true;
  }
  waiters_.insert(deadline);  // The thread of the pool wakes us then, and erases it.
  wake();
  while (!is_over() && os_.now() < deadline) {
    monitor_->wait();
  }
  if (const auto mine = waiters_.find(deadline); mine != waiters_.end()) {
    waiters_.erase(mine);
  }
  return is_over();
}

void TaskPool::cancel(TaskGroup& group) {
  if (!is_ours()) {
    return;
  }
  const Error canceled = error_about(std::errc::operation_canceled, group.function->name());
  std::list<PooledTask> dropped;
  const os::MonitorLock held(*monitor_);
  if (group.unfinished == 0) {
    return;
  }
  group.is_canceled = true;
  group.unfinished = 0;
  group.queued = 0;
  group.finished.push_back({.reply = canceled});
  for (auto each = queue_.begin(); each != queue_.end();) {
    const auto next = std::next(each);
    if (each->group.get() == &group) {
      dropped.splice(dropped.end(), queue_, each);
    }
    each = next;
  }
  monitor_->notify_all();
  wake();
}

void TaskPool::close(const TaskGroup& group) {
  if (!is_ours() || !group.shared) {
    return;
  }
  if (workers_ == 0) {
    const auto done =
        call_safely(*functions_,
                    {.session = *session_},
                    {forget_function, {Value(static_cast<std::int64_t>(group.number))}});
    static_cast<void>(done);
    return;
  }
  const os::MonitorLock held(*monitor_);
  closed_.push_back(group.number);
  wake();
}

Result<Array> TaskPool::zeros(DType dtype, Shape shape) {
  LASTREF_CHECK(check_process());
  {
    const os::MonitorLock held(*monitor_);
    if (!is_prepared_) {
      LASTREF_CHECK(prepare());
      is_prepared_ = true;
    }
  }
  std::size_t size = dtype.itemsize();
  for (const std::size_t extent : shape) {
    if (__builtin_mul_overflow(size, extent, &size)) {
      return failure(std::errc::value_too_large, "an array");
    }
  }
  if (size == 0 || !resources_) {
    return Array::zeros(std::move(dtype), std::move(shape));
  }
  LASTREF_TRY(file, resources_->publish([&](os::Fd fd) { return os_.allocate(fd, 0, size); }));
  const auto release = [resources = resources_, file] {
    static_cast<void>(resources->release(*file));
  };
  auto memory = Memory::map_file(
      os_, file->path(), {.mode = MapMode::read_write, .size = size, .when_unmapped = release});
  if (!memory) {
    release();
    return failure(std::move(memory).error());
  }
  return Array::over(*std::move(memory), {.dtype = std::move(dtype), .shape = std::move(shape)});
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

/// A full pipe wakes as well.
void TaskPool::wake() {
  if (!std::exchange(is_woken_, true)) {
    constexpr std::array byte = {std::byte{1}};
    static_cast<void>(os::retry_interrupted([&] { return os_.write(wake_write_.get(), byte); }));
  }
}

std::string TaskPool::place_of(const PooledTask& task, os::Pid worker) const {
  return "task " + std::to_string(task.index) + ", " + std::string(task.group->function->name()) +
         ", worker " + std::to_string(worker) + ": ";
}

void TaskPool::run() {
  Error error = os::within_memory("a pool", [&] { return serve(); }).error();
  {
    const os::MonitorLock held(*monitor_);
    broken_ = std::move(error);
    queue_.clear();
    monitor_->notify_all();
  }
  for (Lane& lane : lanes_) {
    if (lane.in_flight.empty() && !lane.is_leaving) {
      retire(lane);  // All at once, before the first one is waited for.
    }
  }
  for (Lane& lane : lanes_) {
    lane.group.end(/*kills=*/!lane.in_flight.empty());
  }
  lanes_.clear();
}

bool TaskPool::is_ending() const {
  const os::MonitorLock held(*monitor_);
  return is_ending_;
}

Status TaskPool::serve() {
  while (!is_ending()) {
    follow_requests();
    expire();
    hand_out();
    if (std::exchange(has_finished_, false)) {
      static_cast<void>(reducer_->release_gone());
    }
    LASTREF_CHECK(poll());
  }
  return failure(std::errc::operation_canceled, "the pool has ended");
}

/// Groups that were closed, and tasks that were cancelled.
void TaskPool::follow_requests() {
  std::vector<std::uint64_t> closed;
  std::vector<Lane*> canceled;
  {
    const os::MonitorLock held(*monitor_);
    closed.swap(closed_);
    for (Lane& lane : lanes_) {
      if (!lane.in_flight.empty() && lane.in_flight.front().task &&
          lane.in_flight.front().task->group->is_canceled) {
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
        ArgumentList number{Value(static_cast<std::int64_t>(group))};
        Flight message;
        const Status sent = send(lane, forget_function, number, message);
        static_cast<void>(sent);  // At worst the worker keeps it until it ends.
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
    if (lane.in_flight.empty() || !lane.in_flight.front().task || lane.fate) {
      continue;
    }
    const auto timeout = lane.in_flight.front().task->group->options.timeout;
    if (timeout && now >= lane.front_since + *timeout) {
      const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(*timeout);
      kill(lane,
           error_about(std::errc::stream_timeout,
                       "no result within " + std::to_string(limit.count()) + " ms"));
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
    if (!lane.in_flight.empty() && lane.in_flight.front().task && !lane.fate &&
        lane.in_flight.front().task->group->options.timeout) {
      include(lane.front_since + *lane.in_flight.front().task->group->options.timeout);
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

/// The worker with the fewest tasks that may have one more.
TaskPool::Lane* TaskPool::free_lane() {
  Lane* free = nullptr;
  for (Lane& lane : lanes_) {
    if (!lane.is_leaving && !lane.fate && !lane.closed_at && lane.in_flight.size() < lane.depth &&
        (free == nullptr || lane.in_flight.size() < free->in_flight.size())) {
      free = &lane;
    }
  }
  return free;
}

void TaskPool::hand_out() {
  for (;;) {
    {
      const os::MonitorLock held(*monitor_);
      if (queue_.empty()) {
        return;
      }
    }
    Lane* lane = free_lane();
    const auto working =
        static_cast<std::size_t>(std::ranges::count_if(lanes_, [](const Lane& each) {
          return !each.is_leaving && !each.fate && !each.closed_at;
        }));
    if ((lane == nullptr || !lane->in_flight.empty()) && working < workers_ && start_lane()) {
      lane = &lanes_.back();
    }
    if (lane == nullptr) {
      return;
    }
    std::list<PooledTask> one;
    {
      const os::MonitorLock held(*monitor_);
      if (!queue_.empty()) {
        one.splice(one.end(), queue_, queue_.begin());
        --one.front().group->queued;
      }
    }
    if (!one.empty()) {
      give(*lane, std::move(one.front()));
    }
  }
}

/// False if no worker could be started. If there is none at all, what is queued fails.
bool TaskPool::start_lane() {
  WorkerStart how;
  {
    const os::MonitorLock held(*monitor_);
    how = start_;
  }
  auto group = WorkerGroup::start(*session_, 1, how);
  if (group) {
    lanes_.emplace_back(*std::move(group));
    return true;
  }
  if (lanes_.empty()) {
    fail_all(group.error());
  }
  return false;
}

void TaskPool::fail_all(const Error& error) {
  std::list<PooledTask> failed;
  {
    const os::MonitorLock held(*monitor_);
    failed.swap(queue_);
    for (const PooledTask& task : failed) {
      --task.group->queued;
    }
  }
  for (PooledTask& task : failed) {
    task.attempts = task.group->options.retries + 1;
    settle(std::move(task), error);
  }
}

void TaskPool::give(Lane& lane, PooledTask task) {
  const TaskGroup& group = *task.group;
  ++task.attempts;
  Status sent = ok();
  if (group.shared && !lane.shared.contains(group.number)) {
    ArgumentList shared = *group.shared;
    Flight message;
    sent = send(lane, share_function, shared, message);
    if (sent) {
      lane.shared.insert(group.number);
    }
  }
  Flight flight;
  flight.task = std::move(task);
  if (sent) {
    sent = send(lane, group.id, flight.task->arguments, flight);
  }
  if (!sent) {
    settle(*std::move(flight.task), std::move(sent).error());
    return;
  }
  ++lane.given;
  if (options_.max_tasks_per_worker && lane.given >= *options_.max_tasks_per_worker) {
    retire(lane);
  }
}

/// The arguments are there again when it returns.
Status TaskPool::send(Lane& lane,
                      const std::string& function,
                      ArgumentList& arguments,
                      Flight& flight) {
  Batch batch(1);
  batch.front().function = function;
  batch.front().arguments = std::move(arguments);
  auto encoded =
      encode_batch(batch, [this](const Array& array) { return reducer_->reduce(array); });
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
  lane.worker().jobs.post(MessageKind::job, number, std::move(encoded->bytes));
  flush(lane);
  return ok();
}

/// The worker exits after the tasks that it has.
void TaskPool::retire(Lane& lane) {
  lane.is_leaving = true;
  lane.worker().jobs.post(MessageKind::leave, {}, {});
  flush(lane);
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
  const auto ready = os_.poll(items_, timeout());
  if (!ready) {
    const bool is_over = ready.error().code != std::errc::interrupted &&
                         ++poll_failures_ >= os::limits_of(os_).pool_failures;
    return is_over ? status_of(ready) : ok();
  }
  poll_failures_ = 0;
  if (items_.front().readable) {
    std::array<std::byte, 64> drained{};
    static_cast<void>(os_.read(wake_read_.get(), drained));
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
  Status read = results.fill();
  while (read) {
    const auto message = results.next();
    if (!message) {
      read = status_of(message);
    } else if (!*message) {
      break;
    } else {
      read = handle(lane, **message);
    }
  }
  if (!read) {
    results.close();
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
    reply = os::Packed(body.begin(), body.end());
  } else {
    LASTREF_TRY(failure, decode_failure(body));
    const auto& task = lane.in_flight.front().task;
    reply = std::visit(AsError{task ? place_of(*task, lane.worker().pid) : ""}, failure);
  }
  Flight flight = std::move(lane.in_flight.front());
  lane.in_flight.pop_front();
  lane.front_since = os_.now();
  for (Sent& sent : flight.sent) {
    static_cast<void>(sent.arrived());
  }
  if (flight.task) {
    const std::chrono::nanoseconds work = std::max(std::chrono::nanoseconds(busy), least_work);
    lane.depth = std::max<std::size_t>(static_cast<std::size_t>(work_ahead / work), 1);
    settle(*std::move(flight.task), std::move(reply));
  }
  return ok();
}

/// The worker is dead, and everything that it sent was read.
void TaskPool::bury(Lane& lane, const WorkerGroup::Reaped& reaped) {
  const os::Pid pid = lane.worker().pid;
  const Error fate = lane.fate      ? *std::move(lane.fate)
                     : lane.gave_up ? *std::move(lane.gave_up)
                                    : error_about(std::errc::owner_dead, death_of(reaped));
  lane.group.remove(lane.worker());
  while (!lane.in_flight.empty() && !lane.in_flight.front().task) {
    lane.in_flight.pop_front();
  }
  std::list<PooledTask> others;
  bool is_first = true;
  for (Flight& flight : lane.in_flight) {
    if (!flight.task) {
      continue;
    }
    if (std::exchange(is_first, false)) {
      Error error = AsError{place_of(*flight.task, pid)}(fate);
      settle(*std::move(flight.task), std::move(error));
    } else {
      --flight.task->attempts;
      others.push_back(*std::move(flight.task));
    }
  }
  const os::MonitorLock held(*monitor_);
  std::erase_if(others, [](const PooledTask& each) { return each.group->is_canceled; });
  for (const PooledTask& each : others) {
    ++each.group->queued;
  }
  queue_.splice(queue_.begin(), others);
}

/// A task has its reply, unless it failed and is to be tried again.
void TaskPool::settle(PooledTask task, TaskReply reply) {
  has_finished_ = true;
  const GroupPtr group = task.group;
  const bool failed = std::holds_alternative<Error>(reply);
  FinishedTask finished{.index = task.index, .attempts = task.attempts, .reply = std::move(reply)};
  std::list<PooledTask> again;
  if (failed && task.attempts <= group->options.retries) {
    again.push_back(std::move(task));
  } else {
    task.arguments.clear();  // Their files are removed before the result is seen.
  }
  const os::MonitorLock held(*monitor_);
  if (group->is_canceled) {
    return;
  }
  if (!again.empty()) {
    ++group->queued;
    queue_.splice(queue_.begin(), again);
    return;
  }
  group->finished.push_back(std::move(finished));
  --group->unfinished;
  monitor_->notify_all();
}

}  // namespace lastref::backends
