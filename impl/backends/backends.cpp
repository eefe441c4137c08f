// The backends that run tasks in their own process.
#include <algorithm>
#include <utility>

#include <lastref/backend.hpp>

#include "impl/backends/auto_batching.hpp"
#include "impl/backends/pool_future.hpp"
#include "impl/backends/pool_slot.hpp"
#include "impl/backends/thread_pool.hpp"
#include "impl/os/atomic.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

tl::unexpected<Error> no_jobs() noexcept {
  return failure(backends::error_about(std::errc::invalid_argument, "0 jobs run nothing"));
}

/// Whether the backend was made, and in this process.
template <typename State>
Status check(const std::shared_ptr<State>& state) {
  return state ? state->check_process() : failure(backends::not_made());
}

}  // namespace

Result<unsigned> pool_n_jobs(os::Os& os, std::optional<int> n_jobs) {
  if (!n_jobs) {
    return 1U;
  }
  if (*n_jobs == 0) {
    return no_jobs();
  }
  if (*n_jobs > 0) {
    return static_cast<unsigned>(*n_jobs);
  }
  const std::int64_t left = std::int64_t{os.processors()} + 1 + *n_jobs;
  return static_cast<unsigned>(std::max<std::int64_t>(left, 1));
}

SequentialBackend::SequentialBackend(Session session, std::shared_ptr<const Functions> functions)
    : session_(std::move(session)), functions_(std::move(functions)) {}

Result<unsigned> SequentialBackend::effective_n_jobs(std::optional<int> n_jobs) {
  return n_jobs == 0 ? Result<unsigned>(no_jobs()) : 1U;
}

Result<Configured> SequentialBackend::configure(const BackendOptions& options) {
  LASTREF_TRY(n_jobs, effective_n_jobs(options.n_jobs));
  return Configured{.n_jobs = n_jobs};
}

Outcome<FuturePtr> SequentialBackend::apply_async(Batch batch, Callback callback) {
  return backends::sent_within_memory([&]() -> Outcome<FuturePtr> {
    auto result = std::make_shared<ImmediateResult>();
    BatchOutcome outcome = call_all(*functions_, {.session = session_}, std::move(batch));
    backends::call_back(std::move(callback), outcome);
    result->set(std::move(outcome));
    return result;
  });
}

Result<Configured> SequentialBackend::abort_everything(bool) {
  return Configured{.n_jobs = 1};
}

struct ThreadingBackend::State {
  State(Session its_session, std::shared_ptr<const Functions> its_functions)
      : session(std::move(its_session)),
        functions(std::move(its_functions)),
        token(session.os->process_token()),
        batching(*session.os),
        slot(*session.os) {}

  Status check_process() const {
    return session.os->process_token() == token ? ok() : failure(backends::not_ours());
  }

  Result<Configured> start(std::shared_ptr<backends::ThreadPool>& pool) {
    LASTREF_TRY(n_jobs, pool_n_jobs(*session.os, options.n_jobs));
    if (n_jobs == 1) {
      return Configured{.n_jobs = 1,
                        .fallback = std::make_shared<SequentialBackend>(session, functions)};
    }
    batching.restart();
    LASTREF_TRY(started, backends::ThreadPool::start(session, functions, n_jobs));
    pool = std::move(started);
    return Configured{.n_jobs = n_jobs};
  }

  Session session;
  std::shared_ptr<const Functions> functions;
  std::uint64_t token;     ///< Of its process.
  BackendOptions options;  // Changed only by the owner of the slot.
  os::Atomic<int> verbose{*session.os, 0};
  backends::AutoBatching batching;
  backends::PoolSlot<backends::ThreadPool> slot;
};

ThreadingBackend::ThreadingBackend(Session session, std::shared_ptr<const Functions> functions) {
  static_cast<void>(os::had_memory(
      [&] { state_ = std::make_shared<State>(std::move(session), std::move(functions)); }));
}

ThreadingBackend::~ThreadingBackend() {
  if (!terminate() && state_ && !state_->check_process()) {
    backends::keep_for_good(std::move(state_));  // Its threads are not in this process.
  }
}

Result<unsigned> ThreadingBackend::effective_n_jobs(std::optional<int> n_jobs) {
  return state_ ? pool_n_jobs(*state_->session.os, n_jobs) : failure(backends::not_made());
}

Result<Configured> ThreadingBackend::configure(const BackendOptions& options) {
  return os::within_memory("a backend", [&]() -> Result<Configured> {
    LASTREF_CHECK(check(state_));
    return state_->slot.replace([&](auto& pool) {
      state_->options = options;
      state_->verbose.store(options.verbose);
      return state_->start(pool);
    });
  });
}

Outcome<FuturePtr> ThreadingBackend::apply_async(Batch batch, Callback callback) {
  return backends::sent_within_memory([&]() -> Outcome<FuturePtr> {
    if (!state_) {
      return failed(backends::not_made());
    }
    if (const Status ours = state_->check_process(); !ours) {
      return failed(ours.error());
    }
    const auto pool = state_->slot.pool();
    if (!pool) {
      return failed(backends::not_configured());
    }
    return pool->submit(std::move(batch), std::move(callback));
  });
}

bool ThreadingBackend::is_ready() const {
  return state_ && state_->check_process() && state_->slot.pool() != nullptr;
}

Status ThreadingBackend::terminate() {
  return os::within_memory("a backend", [&]() -> Status {
    LASTREF_CHECK(check(state_));
    LASTREF_TRY(configured, state_->slot.replace([](auto&) { return Configured(); }));
    static_cast<void>(configured);
    return ok();
  });
}

std::size_t ThreadingBackend::compute_batch_size() {
  return check(state_) ? state_->batching.compute_batch_size(state_->verbose.load()) : 1;
}

void ThreadingBackend::batch_completed(std::size_t size, std::chrono::nanoseconds duration) {
  if (check(state_)) {
    state_->batching.batch_completed(size, duration);
  }
}

Result<Configured> ThreadingBackend::abort_everything(bool ensure_ready) {
  return os::within_memory("a backend", [&]() -> Result<Configured> {
    LASTREF_CHECK(check(state_));
    return state_->slot.replace_once(ensure_ready, [&](auto& pool) {
      return ensure_ready ? state_->start(pool) : Result<Configured>(Configured());
    });
  });
}

}  // namespace lastref
