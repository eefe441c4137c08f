#include <utility>

#include <lastref/owners.hpp>
#include <lastref/parallel.hpp>

#include "impl/backends/call.hpp"
#include "impl/backends/exceptions.hpp"
#include "impl/backends/pool_future.hpp"

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
    return failure(std::errc::invalid_argument, "0 batches in flight at a time");
  }
  return ok();
}

/// Reports an error that is no failure of the call: its results are valid.
void warn(os::Os& os, const Status& status) {
  if (!status) {
    os::report_quietly(
        os, [&] { return "lastref: after a call: " + lastref::describe(status.error()); });
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
        token(os.process_token()),
        monitor(os.make_monitor()) {}

  bool is_ours() const noexcept { return os.process_token() == token; }

  void set_call(std::shared_ptr<backends::Call> its_call) {
    const os::MonitorLock held(*monitor);
    call.swap(its_call);
  }

  Session session;
  os::Os& os;
  std::shared_ptr<ParallelBackend> wanted;  ///< The requested backend,
  std::shared_ptr<ParallelBackend> works;   ///< and the one in use; none if it has to be
                                            ///< configured.
  unsigned n_jobs = 0;
  ParallelOptions options;
  std::uint64_t token;  ///< Of its process.
  std::unique_ptr<os::Monitor> monitor;
  bool is_busy LASTREF_GUARDED_BY(*monitor) = false;
  bool is_aborted LASTREF_GUARDED_BY(*monitor) = false;
  std::shared_ptr<backends::Call> call LASTREF_GUARDED_BY(*monitor);  ///< The running call.
};

Parallel::Parallel(const Session& session,
                   std::shared_ptr<const Functions> functions,
                   const ParallelOptions& options) {
  static_cast<void>(os::had_memory([&] {
    state_ = std::make_unique<State>(
        session, backend_of(options.backend, session, std::move(functions)), options);
  }));
}

Parallel::Parallel(Session session,
                   std::shared_ptr<ParallelBackend> backend,
                   ParallelOptions options) {
  static_cast<void>(os::had_memory([&] {
    state_ = std::make_unique<State>(std::move(session), std::move(backend), std::move(options));
  }));
}

Parallel::~Parallel() {
  if (!state_) {
    return;
  }
  if (!state_->is_ours()) {
    // What it owns cannot be taken down here: its threads are not in this process.
    static_cast<void>(state_.release());
    return;
  }
  static_cast<void>(state_->wanted->terminate());
}

Status Parallel::make_ready() {
  State& state = *state_;
  // A backend that replaced another is requested again: the reason may no longer exist.
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

/// Called when its backend has been notified of the start.
Outcome<List> Parallel::run_begun(const TaskSource& source, bool is_source_ours) {
  State& state = *state_;
  const auto call =
      std::make_shared<backends::Call>(backends::Call::Parts{.os = state.os,
                                                             .backend = state.works,
                                                             .options = state.options,
                                                             .n_jobs = state.n_jobs,
                                                             .source = source,
                                                             .is_source_ours = is_source_ours});
  {
    const os::MonitorLock held(*state.monitor);
    state.call = call;
    if (state.is_aborted) {
      call->abort();
    }
  }
  return call->run();
}

Outcome<List> Parallel::run_one(const TaskSource& source, bool is_source_ours) {
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
  Outcome<List> outcome;
  if (auto thrown = backends::catch_as_failure([&] { outcome = run_begun(source, is_source_ours); },
                                               "a call")) {
    outcome = tl::unexpected<TaskFailure>(*std::move(thrown));
  }
  state.set_call(nullptr);
  if (!outcome) {
    warn(state.os, status_of(state.works->abort_everything(/*ensure_ready=*/false)));
  }
  warn(state.os, state.works->stop_call());
  return outcome;
}

Outcome<List> Parallel::run_alone(const TaskSource& source, bool is_source_ours) {
  if (!state_) {
    return failed(backends::not_made());
  }
  if (!state_->is_ours()) {
    return failed(backends::not_ours());
  }
  {
    const os::MonitorLock held(*state_->monitor);
    if (std::exchange(state_->is_busy, true)) {
      return failed(
          backends::error_about(std::errc::device_or_resource_busy, "another call is running"));
    }
    state_->is_aborted = false;
  }
  Outcome<List> outcome;
  if (auto thrown = backends::catch_as_failure([&] { outcome = run_one(source, is_source_ours); },
                                               "a call")) {
    // There was no memory; the next call must not use workers that still run.
    state_->works = nullptr;
    outcome = tl::unexpected<TaskFailure>(*std::move(thrown));
  }
  const os::MonitorLock held(*state_->monitor);
  state_->is_busy = false;
  return outcome;
}

Outcome<List> Parallel::run(const TaskSource& source) {
  return run_alone(source, /*is_source_ours=*/false);
}

Outcome<List> Parallel::run(std::vector<Task> tasks) {
  auto next = tasks.begin();
  const TaskSource source = [&]() -> std::optional<Task> {
    return next == tasks.end() ? std::nullopt : std::optional(std::move(*next++));
  };
  return run_alone(source, /*is_source_ours=*/true);
}

Status Parallel::invalidate(const Array& array) {
  LASTREF_CHECK(backends::check_made(state_));
  if (!state_->is_ours()) {
    return failure(backends::not_ours());
  }
  // The fallback backend sends nothing.
  state_->wanted->release_input(array.identity());
  return ok();
}

void Parallel::abort() {
  if (!state_ || !state_->is_ours()) {
    return;
  }
  // Held to the end, so that a late abort cannot end the workers of another call.
  const os::MonitorLock held(*state_->monitor);
  if (!state_->is_busy) {
    return;
  }
  state_->is_aborted = true;
  if (state_->call) {
    state_->call->abort();
  }
}

}  // namespace lastref
