#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <utility>

#include <lastref/owners.hpp>
#include <lastref/parallel.hpp>

#include "impl/backends/safely.hpp"

namespace lastref {
namespace {

std::shared_ptr<ParallelBackend> backend_of(BackendKind kind,
                                            const Session& session,
                                            std::shared_ptr<const Functions> functions) {
  switch (kind) {
    case BackendKind::processes:
      return std::make_shared<ProcessBackend>(session, std::move(functions));
    case BackendKind::threads:
      return std::make_shared<ThreadingBackend>(session, std::move(functions));
    case BackendKind::sequential:
      return std::make_shared<SequentialBackend>(session, std::move(functions));
  }
  LASTREF_ASSERT(false);
}

Status check(const ParallelOptions& options) {
  if (options.batch_size == std::size_t{0}) {
    return failure(std::errc::invalid_argument, "batches of 0 tasks");
  }
  if (options.pre_dispatch == std::size_t{0}) {
    return failure(std::errc::invalid_argument, "0 batches on their way at a time");
  }
  return ok();
}

/// Of what is no failure of the call: its results are what they are.
void warn(os::Os& os, const Status& status) {
  if (!status) {
    os::report_quietly(os, "lastref: after a call: " + lastref::describe(status.error()));
  }
}

/// By identity: of each array one handle.
using Inputs = std::map<Array::Identity, Array, std::owner_less<>>;

using Identities = std::set<Array::Identity, std::owner_less<>>;

void collect(const Value& value, Inputs& inputs) {
  if (const auto* array = value.get_if<Array>()) {
    inputs.try_emplace(array->identity(), *array);
  } else if (const auto* list = value.get_if<List>()) {
    for (const Value& each : *list) {
      collect(each, inputs);
    }
  } else if (const auto* map = value.get_if<Map>()) {
    for (const auto& [key, each] : *map) {
      collect(each, inputs);
    }
  }
}

}  // namespace

struct Parallel::State {
  State(Session its_session,
        std::shared_ptr<ParallelBackend> its_backend,
        ParallelOptions its_options)
      : session(std::move(its_session)),
        os(*session.os),
        wanted(std::move(its_backend)),
        options(std::move(its_options)),
        monitor(os.make_monitor()) {}

  Session session;
  os::Os& os;
  std::shared_ptr<ParallelBackend> wanted;  ///< What was asked for,
  std::shared_ptr<ParallelBackend> works;   ///< and what works; none if it has to be configured.
  unsigned n_jobs = 0;
  ParallelOptions options;
  std::unique_ptr<os::Monitor> monitor;
  bool is_busy = false;
  std::shared_ptr<Call> call;  ///< On its way.
};

/// One call. Whoever calls back when it is over is not heard.
class Parallel::Call : public std::enable_shared_from_this<Parallel::Call> {
 public:
  Call(const State& state, const TaskSource& source)
      : os_(state.os),
        backend_(state.works),
        options_(state.options),
        n_jobs_(state.n_jobs),
        source_(source),
        monitor_(os_.make_monitor()),
        progress_monitor_(os_.make_monitor()),
        begun_(os_.now()) {}

  /// Sends as many batches as may be on their way. One thread at a time does it, for all.
  void dispatch() {
    {
      const os::Held held(*monitor_);
      wants_dispatch_ = true;
      if (std::exchange(is_dispatching_, true)) {
        return;
      }
    }
    while (goes_on()) {
      while (may_send() && send_one()) {
      }
    }
  }

  Outcome<List> wait() {
    const os::Held held(*monitor_);
    while (!may_end()) {
      monitor_->wait();
    }
    is_over_ = true;
    if (failure_) {
      return tl::unexpected<Failure>(*std::move(failure_));
    }
    return std::move(results_);
  }

  void fail(Failure failure) {
    const os::Held held(*monitor_);
    if (!failure_ && !is_over_) {
      failure_ = std::move(failure);
    }
    notify_at_end();
  }

 private:
  /// Where the results of a batch go, and what it takes.
  struct Sending {
    std::size_t first = 0;  ///< task
    std::size_t size = 0;   ///< tasks
    os::Instant at{};
    Inputs inputs = {};
  };

  bool may_end() const {
    return !is_dispatching_ && (failure_ || (is_exhausted_ && unfinished_ == 0));
  }

  /// Not after each batch: the caller would take a processor from those who work.
  void notify_at_end() {
    if (may_end()) {
      monitor_->notify_all();
    }
  }

  bool goes_on() {
    const os::Held held(*monitor_);
    is_dispatching_ = std::exchange(wants_dispatch_, false);
    notify_at_end();
    return is_dispatching_;
  }

  bool has_failed() const {
    const os::Held held(*monitor_);
    return failure_.has_value();
  }

  bool may_send() {
    const os::Held held(*monitor_);
    return !failure_ && !is_over_ && !is_exhausted_ &&
           (!options_.pre_dispatch || on_their_way_ / n_jobs_ < *options_.pre_dispatch);
  }

  /// False if there was nothing to send, or it could not be sent.
  bool send_one() {
    const auto sending = std::make_shared<Sending>();
    Batch batch = take(options_.batch_size ? *options_.batch_size : backend_->compute_batch_size());
    if (batch.empty() || has_failed()) {
      return false;
    }
    for (const Task& task : batch) {
      for (const Value& argument : task.arguments) {
        collect(argument, sending->inputs);
      }
    }
    sending->size = batch.size();
    sending->at = os_.now();
    {
      const os::Held held(*monitor_);
      sending->first = results_.size();
      results_.resize(results_.size() + sending->size);
      ++on_their_way_;
      ++unfinished_;
      for (const auto& [identity, array] : sending->inputs) {
        ++uses_[identity];
        idle_.erase(identity);
      }
    }
    const auto sent = backend_->apply_async(
        std::move(batch), [self = shared_from_this(), sending](BatchOutcome& outcome) {
          self->complete(*sending, outcome);
        });
    if (!sent) {
      fail(sent.error());
    }
    return sent.has_value();
  }

  /// Tasks for one batch. Where few are left, all jobs get their part of them.
  Batch take(std::size_t size) {
    const bool may_choose = !options_.batch_size;
    const std::size_t enough = may_choose ? size * n_jobs_ : size;
    while (!is_at_end_ && waiting_.size() < enough) {
      if (std::optional<Task> task = ask_source()) {
        waiting_.push_back(*std::move(task));
      } else {
        is_at_end_ = true;
      }
    }
    if (may_choose && waiting_.size() < enough) {
      size = std::min(size, (waiting_.size() + n_jobs_ - 1) / n_jobs_);
    }
    Batch batch;
    batch.reserve(std::min(size, waiting_.size()));
    while (batch.size() < size && !waiting_.empty()) {
      batch.push_back(std::move(waiting_.front()));
      waiting_.pop_front();
    }
    {
      const os::Held held(*monitor_);
      is_exhausted_ = is_at_end_ && waiting_.empty();
    }
    release_idle();
    return batch;
  }

  /// Lets go of inputs once no task is to come: until then one of these might.
  void release_idle() {
    Identities idle;
    {
      const os::Held held(*monitor_);
      if (!is_exhausted_) {
        return;
      }
      idle.swap(idle_);
    }
    for (const Array::Identity& input : idle) {
      backend_->release_input(input);
    }
  }

  std::optional<Task> ask_source() {
    Outcome<std::optional<Task>> task = backends::ask_safely(source_);
    if (!task) {
      fail(std::move(task).error());
      return std::nullopt;
    }
    return *std::move(task);
  }

  /// In whatever thread has finished the batch.
  void complete(Sending& sending, BatchOutcome& outcome) {
    if (!outcome) {
      fail(outcome.error());
    }
    const os::Instant now = os_.now();
    backend_->batch_completed(sending.size, now - sending.at);
    std::vector<Array::Identity> unused;
    {
      const os::Held held(*monitor_);
      --on_their_way_;
      if (outcome && !is_over_) {
        std::ranges::move(*outcome, results_.begin() + static_cast<std::ptrdiff_t>(sending.first));
      }
      for (const auto& [identity, array] : sending.inputs) {
        const auto use = uses_.find(identity);
        if (--use->second == 0) {
          uses_.erase(use);
          unused.push_back(identity);
        }
      }
    }
    sending.inputs.clear();
    {
      const os::Held held(*monitor_);
      for (const Array::Identity& input : unused) {
        // What nobody else has is gone now; what was sent again meanwhile has a use.
        if (!input.expired() && !uses_.contains(input)) {
          idle_.insert(input);
        }
      }
    }
    release_idle();
    if (outcome) {
      tell(sending.size, now);
    }
    dispatch();
    // Only now may the call return: nothing of it is touched after that.
    const os::Held held(*monitor_);
    --unfinished_;
    notify_at_end();
  }

  /// Counted while nobody else tells, so that no progress goes back.
  void tell(std::size_t size, os::Instant now) {
    const os::Held telling(*progress_monitor_);
    Progress progress;
    {
      const os::Held held(*monitor_);
      if (is_over_) {
        return;
      }
      completed_ += size;
      progress = {.dispatched = results_.size(), .completed = completed_, .elapsed = now - begun_};
    }
    if (options_.progress) {
      options_.progress(progress);
    }
    // At twice as many each time, so that a long call says little.
    if (options_.verbose > 0 && progress.completed >= next_tale_) {
      next_tale_ = 2 * progress.completed;
      os::report_quietly(os_, "lastref: " + std::to_string(progress.completed) + " tasks are done");
    }
  }

  os::Os& os_;
  std::shared_ptr<ParallelBackend> backend_;
  const ParallelOptions& options_;
  unsigned n_jobs_;
  const TaskSource& source_;
  std::unique_ptr<os::Monitor> monitor_;
  std::unique_ptr<os::Monitor> progress_monitor_;
  os::Instant begun_;
  std::size_t next_tale_ = 1;

  // Of whoever dispatches.
  std::deque<Task> waiting_;
  bool is_at_end_ = false;

  // With the monitor held.
  bool is_dispatching_ = false;
  bool wants_dispatch_ = false;
  bool is_exhausted_ = false;
  bool is_over_ = false;
  std::size_t on_their_way_ = 0;  ///< batches
  std::size_t unfinished_ = 0;    ///< batches whose completion has not been dealt with
  std::size_t completed_ = 0;     ///< tasks
  std::map<Array::Identity, std::size_t, std::owner_less<>> uses_;  ///< batches on their way
  Identities idle_;  ///< Inputs without, of whoever has kept them.
  std::optional<Failure> failure_;
  List results_;
};

Parallel::Parallel(const Session& session,
                   std::shared_ptr<const Functions> functions,
                   const ParallelOptions& options)
    : state_(std::make_unique<State>(
          session, backend_of(options.backend, session, std::move(functions)), options)) {}

Parallel::Parallel(Session session,
                   std::shared_ptr<ParallelBackend> backend,
                   ParallelOptions options)
    : state_(std::make_unique<State>(std::move(session), std::move(backend), std::move(options))) {}

Parallel::~Parallel() {
  static_cast<void>(state_->wanted->terminate());
}

Status Parallel::make_ready() {
  State& state = *state_;
  // A backend that stood in for another is asked for anew: the reason may have gone.
  if (state.works == state.wanted && state.works->is_ready()) {
    return ok();
  }
  state.works = nullptr;
  LASTREF_TRY(configured,
              state.wanted->configure({.n_jobs = state.options.n_jobs,
                                       .arrays = state.options.arrays,
                                       .temporary = state.options.temporary,
                                       .verbose = state.options.verbose}));
  state.n_jobs = configured.n_jobs;
  state.works = configured.fallback ? configured.fallback : state.wanted;
  return ok();
}

Outcome<List> Parallel::run_one(const TaskSource& source) {
  State& state = *state_;
  Status ready = check(state.options);
  if (ready) {
    ready = make_ready();
  }
  if (ready) {
    ready = state.works->start_call();
  }
  if (!ready) {
    return failed(ready.error());
  }
  const auto call = std::make_shared<Call>(state, source);
  {
    const os::Held held(*state.monitor);
    state.call = call;
  }
  call->dispatch();
  Outcome<List> outcome = call->wait();
  {
    const os::Held held(*state.monitor);
    state.call = nullptr;
  }
  if (!outcome) {
    warn(state.os, status_of(state.works->abort_everything(/*ensure_ready=*/false)));
  }
  warn(state.os, state.works->stop_call());
  return outcome;
}

Outcome<List> Parallel::run(const TaskSource& source) {
  {
    const os::Held held(*state_->monitor);
    if (std::exchange(state_->is_busy, true)) {
      return failed(
          {.code = std::errc::device_or_resource_busy, .subject = "another call is on its way"});
    }
  }
  Outcome<List> outcome = run_one(source);
  const os::Held held(*state_->monitor);
  state_->is_busy = false;
  return outcome;
}

Outcome<List> Parallel::run(std::vector<Task> tasks) {
  auto next = tasks.begin();
  return run([&]() -> std::optional<Task> {
    return next == tasks.end() ? std::nullopt : std::optional(std::move(*next++));
  });
}

void Parallel::abort() {
  std::shared_ptr<Call> call;
  {
    const os::Held held(*state_->monitor);
    call = state_->call;
  }
  if (call) {
    call->fail(Error{.code = std::errc::operation_canceled, .subject = "the call was aborted"});
  }
}

}  // namespace lastref
