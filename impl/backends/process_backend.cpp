#include <optional>
#include <utility>

#include <lastref/backend.hpp>
#include <lastref/worker.hpp>

#include "impl/backends/auto_batching.hpp"
#include "impl/backends/pool_future.hpp"
#include "impl/backends/pool_slot.hpp"
#include "impl/backends/process_pool.hpp"
#include "impl/os/atomic.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {

struct ProcessBackend::State {
  /// The objects that transfer arrays.
  struct Travel {
    std::shared_ptr<TemporaryResources> resources;
    std::shared_ptr<ForwardReducer> reducer;
  };

  State(Session its_session, std::shared_ptr<const Functions> its_functions)
      : session(std::move(its_session)),
        functions(std::move(its_functions)),
        slot(*session.os),
        batching(*session.os),
        receiver(std::make_shared<Receiver>(*session.os, session.references)),
        token(session.os->process_token()),
        monitor(session.os->make_monitor()) {}

  Status check_process() const {
    return session.os->process_token() == token ? ok() : failure(backends::not_ours());
  }

  /// A request for one job needs no warning that there is only one.
  Result<unsigned> effective_n_jobs(std::optional<int> n_jobs) {
    os::Os& os = *session.os;
    LASTREF_TRY(wanted, pool_n_jobs(os, n_jobs));
    if (wanted == 1) {
      return wanted;
    }
    if (session.in_worker) {
      warn_once("lastref: a worker starts no workers of its own: n_jobs is 1");
      return 1U;
    }
    return wanted;
  }

  void warn_once(const std::string& line) {
    if (!has_warned.exchange(/*value=*/true)) {
      os::report_quietly(*session.os, line);
    }
  }

  Outcome<FuturePtr> submit(Batch batch, Callback callback, bool callback_is_nonblocking) {
    if (const Status ours = check_process(); !ours) {
      return failed(ours.error());
    }
    const auto pool = slot.pool();
    if (!pool) {
      return failed(backends::not_configured());
    }
    return pool->submit(std::move(batch), std::move(callback), callback_is_nonblocking);
  }

  /// One manager makes the files from a configure to the end, even across restarts. If no pool was
  /// started, nothing stays.
  Result<Configured> start(std::shared_ptr<backends::ProcessPool>& pool) {
    Result<Configured> configured = os::within_memory("a pool", [&] { return try_start(pool); });
    if (!pool) {
      set_travel(nullptr);
    }
    return configured;
  }

  std::shared_ptr<const Travel> travel() const {
    const os::MonitorLock held(*monitor);
    return travel_;
  }
  void set_travel(std::shared_ptr<const Travel> travel) {
    const os::MonitorLock held(*monitor);
    travel_.swap(travel);
  }

  Session session;
  std::shared_ptr<const Functions> functions;
  backends::PoolSlot<backends::ProcessPool> slot;
  backends::AutoBatching batching;
  std::shared_ptr<Receiver> receiver;
  std::uint64_t token;     ///< Of its process.
  BackendOptions options;  // Changed only by the owner of the slot.
  os::Atomic<int> verbose{*session.os, 0};
  os::Atomic<bool> has_warned{*session.os, /*value=*/false};
  std::unique_ptr<os::Monitor> monitor;
  std::uint64_t calls LASTREF_GUARDED_BY(*monitor) = 0;
  std::optional<std::string> call LASTREF_GUARDED_BY(*monitor);  ///< None between calls.

 private:
  Result<Configured> try_start(std::shared_ptr<backends::ProcessPool>& pool) {
    LASTREF_TRY(n_jobs, effective_n_jobs(options.n_jobs));
    if (n_jobs == 1) {
      return Configured{.n_jobs = 1,
                        .fallback = std::make_shared<SequentialBackend>(session, functions)};
    }
    if (const auto role = session.os->environment(worker::marker)) {
      LASTREF_TRY(tree, session.tree());  // A root that waits for this process is refused.
      return not_guarded(*role);
    }
    if (!travel()) {
      LASTREF_CHECK(prepare());
    }
    batching.restart();
    const auto reducer = travel()->reducer;
    LASTREF_TRY(
        started,
        backends::ProcessPool::start(
            {.session = session,
             .reduce = [reducer](const Array& array) { return reducer->reduce(array); },
             .rebuild = [receiver = receiver](
                            const Reduction& reduction) { return receiver->rebuild(reduction); },
             .release_gone = [reducer] { static_cast<void>(reducer->release_gone()); }},
            n_jobs));
    pool = std::move(started);
    return Configured{.n_jobs = n_jobs};
  }

  Status prepare() {
    LASTREF_TRY(made, TemporaryResources::make(*session.os, session.references, options.temporary));
    const std::shared_ptr<TemporaryResources> resources = std::move(made);
    set_travel(std::make_shared<Travel>(
        Travel{.resources = resources,
               .reducer = std::make_shared<ForwardReducer>(
                   *session.os, session.references, resources, options.arrays)}));
    return ok();
  }

  std::shared_ptr<const Travel> travel_;
};

ProcessBackend::ProcessBackend(Session session, std::shared_ptr<const Functions> functions) {
  static_cast<void>(os::had_memory(
      [&] { state_ = std::make_shared<State>(std::move(session), std::move(functions)); }));
}

ProcessBackend::~ProcessBackend() {
  if (!terminate() && state_ && !state_->check_process()) {
    // Its threads are not in this process, and its workers are those of another one.
    backends::keep_for_good(std::move(state_));
  }
}

Result<unsigned> ProcessBackend::effective_n_jobs(std::optional<int> n_jobs) {
  return os::within_memory("a backend", [&]() -> Result<unsigned> {
    LASTREF_CHECK(backends::check_made(state_));
    return state_->effective_n_jobs(n_jobs);
  });
}

Result<Configured> ProcessBackend::configure(const BackendOptions& options) {
  return os::within_memory("a backend", [&]() -> Result<Configured> {
    LASTREF_CHECK(backends::check_made(state_));
    LASTREF_CHECK(state_->check_process());
    return state_->slot.replace([&](auto& pool) {
      state_->options = options;
      state_->verbose.store(options.verbose);
      state_->set_travel(nullptr);
      return state_->start(pool);
    });
  });
}

Outcome<FuturePtr> ProcessBackend::apply_async(Batch batch, Callback callback) {
  return backends::sent_within_memory([&]() -> Outcome<FuturePtr> {
    return state_ ? state_->submit(
                        std::move(batch), std::move(callback), /*callback_is_nonblocking=*/false)
                  : failed(backends::not_made());
  });
}

Outcome<FuturePtr> ProcessBackend::apply_inline(Batch batch, Callback callback) {
  return backends::sent_within_memory([&]() -> Outcome<FuturePtr> {
    return state_ ? state_->submit(
                        std::move(batch), std::move(callback), /*callback_is_nonblocking=*/true)
                  : failed(backends::not_made());
  });
}

void ProcessBackend::cancel() {
  if (!state_ || !state_->check_process()) {
    return;
  }
  if (const auto pool = state_->slot.pool()) {
    pool->cancel();
  }
}

bool ProcessBackend::is_ready() const {
  const auto pool = state_ && state_->check_process() ? state_->slot.pool() : nullptr;
  return pool && !pool->is_broken();
}

Status ProcessBackend::terminate() {
  return os::within_memory("a backend", [&]() -> Status {
    LASTREF_CHECK(backends::check_made(state_));
    LASTREF_CHECK(state_->check_process());
    LASTREF_TRY(configured, state_->slot.replace([&](auto&) {
      state_->set_travel(nullptr);
      return Configured();
    }));
    static_cast<void>(configured);
    return ok();
  });
}

std::size_t ProcessBackend::compute_batch_size() {
  return state_ && state_->check_process()
             ? state_->batching.compute_batch_size(state_->verbose.load())
             : 1;
}

void ProcessBackend::batch_completed(std::size_t size, std::chrono::nanoseconds duration) {
  if (state_ && state_->check_process()) {
    state_->batching.batch_completed(size, duration);
  }
}

Result<Configured> ProcessBackend::abort_everything(bool ensure_ready) {
  return os::within_memory("a backend", [&]() -> Result<Configured> {
    LASTREF_CHECK(backends::check_made(state_));
    LASTREF_CHECK(state_->check_process());
    return state_->slot.replace_once(ensure_ready, [&](auto& pool) -> Result<Configured> {
      if (ensure_ready) {
        return state_->start(pool);
      }
      state_->set_travel(nullptr);
      return Configured();
    });
  });
}

Status ProcessBackend::start_call() {
  return os::within_memory("a call", [&]() -> Status {
    LASTREF_CHECK(backends::check_made(state_));
    LASTREF_CHECK(state_->check_process());
    const auto travel = state_->travel();
    if (!travel) {
      return failure(backends::not_configured());
    }
    std::string call;
    {
      // A name of its own, so that nothing that arrives late from one call gets into another.
      const os::MonitorLock held(*state_->monitor);
      call = "call" + std::to_string(++state_->calls);
      state_->call = call;
    }
    return travel->resources->set_current_context(call);
  });
}

Status ProcessBackend::stop_call() {
  return os::within_memory("a call", [&]() -> Status {
    LASTREF_CHECK(backends::check_made(state_));
    LASTREF_CHECK(state_->check_process());
    const auto travel = state_->travel();
    if (!travel) {
      return ok();
    }
    std::optional<std::string> call;
    {
      const os::MonitorLock held(*state_->monitor);
      call.swap(state_->call);  // A copy would need memory.
    }
    if (!call) {
      return ok();
    }
    return travel->resources->clean_up(call);
  });
}

void ProcessBackend::release_input(const Array::Identity& input) {
  if (!state_ || !state_->check_process()) {
    return;
  }
  if (const auto travel = state_->travel()) {
    static_cast<void>(travel->reducer->invalidate(input));
  }
}

}  // namespace lastref
