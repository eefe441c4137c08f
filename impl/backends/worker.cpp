#include <array>
#include <cstdlib>
#include <tuple>
#include <utility>

#include <lastref/owners.hpp>
#include <lastref/probe.hpp>
#include <lastref/tracker.hpp>
#include <lastref/tracker_client.hpp>
#include <lastref/worker.hpp>

#include "impl/backends/codec.hpp"
#include "impl/backends/exceptions.hpp"
#include "impl/backends/pipe_ends.hpp"
#include "impl/os/limits.hpp"
#include "impl/os/within_memory.hpp"

namespace lastref {
namespace {

using backends::MessageKind;

constexpr int could_not = 2;
constexpr std::size_t number_size = sizeof(std::uint64_t);

/// Waits for the end of the parent, by death or by exec, and kills this process then.
class Watch {
 public:
  static Result<std::unique_ptr<Watch>> start(os::Os& os, os::UniqueFd parent, os::UniqueFd leash) {
    std::unique_ptr<Watch> watch(new Watch(os, std::move(parent), std::move(leash)));
    LASTREF_TRY(self, os.open_process(os.process_id()));
    watch->self_ = os::UniqueFd(os, self);
    LASTREF_TRY(ends, os.make_pipe());
    watch->end_here_ = os::UniqueFd(os, ends.write);
    watch->end_there_ = os::UniqueFd(os, ends.read);
    LASTREF_TRY(thread, os.start_thread([raw = watch.get()] { raw->run(); }));
    watch->thread_ = std::move(thread);
    return watch;
  }

  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() {
    if (thread_) {
      // Closing is not enough: a process that a task has forked may have it open as well.
      constexpr std::array byte = {std::byte{1}};
      static_cast<void>(os::retry_interrupted([&] { return os_.write(end_here_.get(), byte); }));
      end_here_.close_quietly();
      thread_->join();
    }
  }

 private:
  Watch(os::Os& os, os::UniqueFd parent, os::UniqueFd leash) noexcept
      : os_(os), parent_(std::move(parent)), leash_(std::move(leash)) {}

  void run() {
    std::array items = {os::PollItem{.fd = parent_.get(), .want_read = true},
                        os::PollItem{.fd = end_there_.get(), .want_read = true},
                        os::PollItem{.fd = leash_.get()}};
    const int failures_max = os::limits_of(os_).worker_failures;
    for (int failures = 0; failures < failures_max;) {
      const auto ready = os_.poll(items, std::nullopt);
      if (ready && (items[1].readable || items[1].hung_up)) {
        return;
      }
      // A worker that may outlive its parent is worse than none.
      const bool is_time = ready ? items[0].readable || items[0].hung_up || items[2].hung_up
                                 : failures + 1 == failures_max;
      if (is_time) {
        os_.hit(Probe::worker_followed_parent);
        const Status killed = os_.signal_process(self_.get(), os::Signal::kill);
        if (!killed && failures + 1 == failures_max) {
          static_cast<void>(os::had_memory([&] {
            os::report_quietly(
                os_, "lastref worker: cannot follow its parent: " + describe(killed.error()));
          }));
        }
      }
      failures += ready || ready.error().code != std::errc::interrupted ? 1 : 0;
    }
  }

  os::Os& os_;
  os::UniqueFd parent_;
  os::UniqueFd leash_;
  os::UniqueFd self_;
  os::UniqueFd end_here_;
  os::UniqueFd end_there_;
  std::unique_ptr<os::Thread> thread_;
};

/// The process that started us has blocked these signals; from here on we ignore them instead.
void ignore_interrupts(os::Os& os) {
  Status deaf = os.ignore_signal(os::Signal::interrupt);
  if (deaf) {
    deaf = os.unblock_signal(os::Signal::interrupt);
  }
  if (!deaf) {
    // A worker that can be interrupted is better than one that does not start.
    os::report_quietly(os, "lastref worker: " + describe(deaf.error()));
  }
}

/// The descriptors that a worker was given.
struct Descriptors {
  explicit Descriptors(os::Os& os)
      : jobs(os, os::UniqueFd(os, os::Fd{worker::jobs_fd})),
        results(os, os::UniqueFd(os, os::Fd{worker::results_fd})),
        parent(os, os::Fd{worker::parent_fd}),
        leash(os, os::Fd{worker::leash_fd}) {
    // A program that a task executes is no worker, and would keep these pipes open.
    os.hide_from_children(std::array{jobs.fd(), results.fd(), parent.get(), leash.get()},
                          worker::marker);
  }

  backends::Inbox jobs;
  backends::Outbox results;
  os::UniqueFd parent;
  os::UniqueFd leash;
};

class Worker {
 public:
  Worker(const Session& session, const Functions& functions, Descriptors& given)
      : os_(*session.os),
        session_(session),
        functions_(functions),
        token_(os_.process_token()),
        receiver_(std::make_shared<Receiver>(os_, session.references)),
        backward_(os_, receiver_),
        jobs_(given.jobs),
        results_(given.results) {}

  Status serve() {
    prepare_refusal();
    for (;;) {
      LASTREF_TRY(message, next());
      if (!message) {
        return ok();
      }
      if (message->kind == MessageKind::leave) {
        return ok();
      }
      LASTREF_CHECK(run(*message));
    }
  }

 private:
  /// The next job; none when the parent wants no more. Results are written first, all of them: they
  /// must not wait for a job that may take long.
  Result<std::optional<backends::Message>> next() {
    for (;;) {
      const Status flushed = results_.flush();
      if (failed_with(flushed, std::errc::broken_pipe)) {
        return std::optional<backends::Message>();  // The reading end is closed.
      }
      LASTREF_CHECK(flushed);
      if (results_.is_empty()) {
        LASTREF_TRY(message, jobs_.next());
        if (message || jobs_.at_end()) {
          return message;
        }
        LASTREF_CHECK(jobs_.fill());
        LASTREF_TRY(filled, jobs_.next());
        if (filled || jobs_.at_end()) {
          return filled;
        }
      }
      LASTREF_CHECK(wait());
    }
  }

  Status wait() {
    std::array items = {
        results_.is_empty() ? os::PollItem{.fd = jobs_.fd(), .want_read = true}
                            : os::PollItem{.fd = results_.fd(), .want_write = true},
    };
    const auto ready = os_.poll(items, std::nullopt);
    if (ready || ready.error().code == std::errc::interrupted) {
      failures_ = 0;
      return ok();
    }
    ++failures_;
    return failures_ < os::limits_of(os_).worker_failures ? ok() : status_of(ready);
  }

  Status run(const backends::Message& message) {
    if (message.kind != MessageKind::job) {
      return failure(std::errc::bad_message, "a message that is no job");
    }
    os::Unpacker unpacker(message.body);
    const auto number = unpacker.number<std::uint64_t>();
    LASTREF_CHECK(unpacker.failed() ? unpacker.finish() : ok());
    const os::Instant begun = os_.now();
    // A batch without memory here may be followed by one that has enough.
    if (os::had_memory([&] { answer(message, number, begun); })) {
      return ok();
    }
    if (refusal_.empty()) {
      return os::no_memory("a batch");
    }
    const std::array numbers = {number, static_cast<std::uint64_t>((os_.now() - begun).count())};
    backends::set_numbers(refusal_, std::as_bytes(std::span(numbers)));
    results_.post(std::move(refusal_));
    refusal_ = {};
    static_cast<void>(os::had_memory([&] { prepare_refusal(); }));
    return ok();
  }

  /// Runs a batch, and posts its results or failure.
  void answer(const backends::Message& message, std::uint64_t number, os::Instant begun) {
    MessageKind kind = MessageKind::failed;
    os::Packed body;
    if (const auto thrown = backends::catch_as_failure(
            [&] { std::tie(kind, body) = work(message.body.subspan(number_size)); }, "a batch")) {
      kind = MessageKind::failed;
      body = backends::encode_failure(*thrown);
    }
    os::Packed numbers;
    os::put(numbers, number);
    os::put(numbers, std::int64_t{(os_.now() - begun).count()});
    results_.post(kind, numbers, std::move(body));
  }

  /// Prepares the answer for a lack of memory, while there is memory.
  void prepare_refusal() {
    os::Packed numbers;
    os::put(numbers, std::uint64_t{0});
    os::put(numbers, std::int64_t{0});
    refusal_ = backends::whole_message(
        os::limits_of(os_),
        MessageKind::failed,
        numbers,
        backends::encode_failure(TaskFailure(os::no_memory("a batch").value())));
  }

  /// When it returns, nothing of the batch is left here except what a task has kept.
  std::pair<MessageKind, os::Packed> work(os::Bytes bytes) {
    Result<Batch> batch = backends::decode_batch(bytes, [&](const Reduction& reduction) {
      // A store to a file that was made for the journey never reaches its sender.
      const bool is_senders = std::holds_alternative<StridedFromMemmap>(reduction);
      return receiver_->rebuild(reduction).map(
          [&](const Array& array) { return is_senders ? array : array.read_only(); });
    });
    if (!batch) {
      return {MessageKind::failed, backends::encode_failure(TaskFailure(batch.error()))};
    }
    const Outcome<List> outcome =
        call_all(functions_, {.session = session_}, *std::move(batch), [&] {
          check_process();
          return true;
        });
    if (!outcome) {
      return {MessageKind::failed, backends::encode_failure(outcome.error())};
    }
    Result<backends::Encoded> encoded = backends::encode_results(
        *outcome, [&](const Array& array) { return backward_.reduce(array); });
    if (!encoded) {
      return {MessageKind::failed, backends::encode_failure(TaskFailure(encoded.error()))};
    }
    return {MessageKind::results, std::move(encoded->bytes)};
  }

  /// Kills a copy of this process that a task has forked and that returned from the task, before
  /// the copy repeats the work of this process. The copy has none of the threads that its memory
  /// refers to, so it may not run destructors.
  void check_process() {
    if (os_.process_token() == token_) {
      return;
    }
    if (const auto self = os_.open_process(os_.process_id())) {
      static_cast<void>(os_.signal_process(*self, os::Signal::kill));
    }
    std::abort();
  }

  os::Os& os_;
  const Session& session_;
  const Functions& functions_;
  std::uint64_t token_;
  std::shared_ptr<Receiver> receiver_;
  BackwardReducer backward_;
  backends::Inbox& jobs_;
  backends::Outbox& results_;
  backends::WholeMessage refusal_;  ///< Empty if there was no memory for it.
  int failures_ = 0;
};

Status join_and_serve(os::Os& os,
                      const std::function<Result<Session>()>& join,
                      const Functions& functions) {
  Descriptors given(os);
  ignore_interrupts(os);
  // Made while there is memory.
  backends::WholeMessage why = backends::whole_message(
      os::limits_of(os),
      MessageKind::gave_up,
      {},
      backends::encode_failure(TaskFailure(os::no_memory("a worker").value())));
  Status served = os::within_memory("a worker", [&]() -> Status {
    LASTREF_TRY(watch, Watch::start(os, std::move(given.parent), std::move(given.leash)));
    LASTREF_TRY(session, join());
    session.in_worker = true;
    return Worker(session, functions, given).serve();
  });
  // Reports to the caller of a task why there is no result. If the pipe is full or closed, the
  // caller sees only the exit code.
  if (!served) {
    if (!failed_with(served, std::errc::not_enough_memory)) {
      why = backends::whole_message(os::limits_of(os),
                                    MessageKind::gave_up,
                                    {},
                                    backends::encode_failure(TaskFailure(served.error())));
    }
    given.results.post(std::move(why));
    static_cast<void>(given.results.flush());
  }
  return served;
}

}  // namespace

int serve_worker(os::Os& os,
                 const std::function<Result<Session>()>& join,
                 const Functions& functions) noexcept {
  Status served = ok();
  if (const auto thrown = backends::catch_as_failure(
          [&] { served = join_and_serve(os, join, functions); }, "a worker")) {
    served = os::no_memory("a worker");
  }
  if (!served) {
    os::report_quietly(os, [&] { return "lastref worker: gave up: " + describe(served.error()); });
    return could_not;
  }
  return 0;
}

std::optional<int> run_if_spawned(os::Os& os,
                                  const Functions& functions,
                                  std::span<const std::string> arguments) noexcept {
  constexpr std::size_t entry_and_name = 2;
  if (arguments.size() < entry_and_name || arguments[0] != "lastref") {
    return std::nullopt;
  }
  const auto rest = arguments.subspan(entry_and_name);
  if (arguments[1] == tracker::entry_point) {
    return tracker::run(os, rest);
  }
  if (arguments[1] != worker::entry_point || !os.environment(worker::marker)) {
    return std::nullopt;
  }
  if (rest.empty()) {
    os::report_quietly(os, "lastref worker: needs the folder of a tree");
    return could_not;
  }
  const auto join = [&]() -> Result<Session> {
    LASTREF_TRY(joined, tracker::Client::join(os, rest[0]));
    return Session::of_worker(os, std::move(joined));
  };
  return serve_worker(os, join, functions);
}

}  // namespace lastref
