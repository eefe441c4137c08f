#include <algorithm>
#include <utility>

#include <lastref/backend.hpp>
#include <lastref/worker.hpp>

#include "impl/backends/auto_batching.hpp"
#include "impl/backends/pool_slot.hpp"
#include "impl/backends/process_pool.hpp"

namespace lastref {
namespace {

constexpr const char* guard_main =
    "a worker has come to where it would start workers: main has to return what "
    "lastref::run_if_spawned gives, before anything else";

}  // namespace

struct ProcessBackend::State {
  State(Session its_session, std::shared_ptr<const Functions> its_functions)
      : session(std::move(its_session)),
        functions(std::move(its_functions)),
        slot(*session.os),
        batching(*session.os),
        receiver(std::make_shared<Receiver>(*session.os, session.references)) {}

  Result<unsigned> effective_n_jobs(std::optional<int> n_jobs) {
    os::Os& os = *session.os;
    if (n_jobs == 0) {
      return pool_n_jobs(os, n_jobs);
    }
    if (session.in_worker) {
      os::report_quietly(os, "lastref: a worker starts no workers of its own: n_jobs is 1");
      return 1U;
    }
    if (os.thread_id() != os.process_id()) {
      os::report_quietly(os,
                         "lastref: workers are started by a process's first thread alone: "
                         "n_jobs is 1");
      return 1U;
    }
    return pool_n_jobs(os, n_jobs);
  }

  Result<Configured> start(std::shared_ptr<backends::ProcessPool>& pool) {
    LASTREF_TRY(n_jobs, effective_n_jobs(options.n_jobs));
    if (n_jobs == 1) {
      return Configured{.n_jobs = 1,
                        .fallback = std::make_shared<SequentialBackend>(session, functions)};
    }
    if (session.os->environment(worker::marker)) {
      return failure(std::errc::operation_not_permitted, guard_main);
    }
    batching.restart();
    LASTREF_TRY(
        started,
        backends::ProcessPool::start(
            {.session = session,
             .reduce = [reducer = reducer](const Array& array) { return reducer->reduce(array); },
             .rebuild = [receiver = receiver](
                            const Reduction& reduction) { return receiver->rebuild(reduction); },
             .when_done = [reducer = reducer] { static_cast<void>(reducer->release_gone()); }},
            n_jobs));
    pool = std::move(started);
    return Configured{.n_jobs = n_jobs};
  }

  /// Files are made by one manager as long as the backend is configured alike.
  Status prepare(const BackendOptions& wanted) {
    options = wanted;
    LASTREF_TRY(made, TemporaryResources::make(*session.os, session.references, options.temporary));
    resources = std::move(made);
    reducer = std::make_shared<ForwardReducer>(
        *session.os, session.references, resources, options.arrays);
    return ok();
  }

  Session session;
  std::shared_ptr<const Functions> functions;
  backends::PoolSlot<backends::ProcessPool> slot;
  backends::AutoBatching batching;
  std::shared_ptr<Receiver> receiver;
  // Changed only by whoever has the slot, and read by whoever makes a call: not at once.
  BackendOptions options;
  std::shared_ptr<TemporaryResources> resources;
  std::shared_ptr<ForwardReducer> reducer;
  std::uint64_t calls = 0;
  std::string call;
};

ProcessBackend::ProcessBackend(Session session, std::shared_ptr<const Functions> functions)
    : state_(std::make_shared<State>(std::move(session), std::move(functions))) {}

ProcessBackend::~ProcessBackend() {
  static_cast<void>(terminate());
}

Result<unsigned> ProcessBackend::effective_n_jobs(std::optional<int> n_jobs) {
  return state_->effective_n_jobs(n_jobs);
}

Result<Configured> ProcessBackend::configure(const BackendOptions& options) {
  return state_->slot.replace([&](auto& pool) -> Result<Configured> {
    LASTREF_CHECK(state_->prepare(options));
    return state_->start(pool);
  });
}

Outcome<FuturePtr> ProcessBackend::apply_async(Batch batch, Callback callback) {
  const auto pool = state_->slot.pool();
  if (!pool) {
    return failed(backends::not_configured());
  }
  return pool->submit(batch, std::move(callback));
}

bool ProcessBackend::is_ready() const {
  const auto pool = state_->slot.pool();
  return pool && !pool->is_broken();
}

Status ProcessBackend::terminate() {
  LASTREF_TRY(configured, state_->slot.replace([](auto&) { return Configured(); }));
  static_cast<void>(configured);
  return ok();
}

std::size_t ProcessBackend::compute_batch_size() {
  return state_->batching.compute_batch_size(state_->options.verbose);
}

void ProcessBackend::batch_completed(std::size_t size, std::chrono::nanoseconds duration) {
  state_->batching.batch_completed(size, duration);
}

Result<Configured> ProcessBackend::abort_everything(bool ensure_ready) {
  return state_->slot.replace_once(ensure_ready, [&](auto& pool) {
    return ensure_ready ? state_->start(pool) : Result<Configured>(Configured());
  });
}

Status ProcessBackend::start_call() {
  if (!state_->resources) {
    return tl::unexpected<Error>(backends::not_configured());
  }
  // A name of its own, so that nothing that comes late from one call gets into another.
  state_->call = "call" + std::to_string(++state_->calls);
  return state_->resources->set_current_context(state_->call);
}

Status ProcessBackend::stop_call() {
  return state_->resources ? state_->resources->clean_temporary_resources(state_->call) : ok();
}

void ProcessBackend::release_input(const Array& array) {
  if (state_->reducer) {
    static_cast<void>(state_->reducer->invalidate(array));
  }
}

}  // namespace lastref
