#include "harness/sim/sim_os.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "harness/instrument/interceptor.hpp"
#include "harness/program/arena.hpp"

namespace lastref::harness::sim {
namespace {

/// The interceptor waits for the end of the thread.
class SimThread final : public os::Thread {
 public:
  SimThread(const Scheduler& scheduler, Scheduler::Index actor) noexcept
      : scheduler_(scheduler), actor_(actor) {}
  SimThread(const SimThread&) = delete;
  SimThread& operator=(const SimThread&) = delete;
  ~SimThread() override { LASTREF_ASSERT(joined_); }

  void join() noexcept override {
    LASTREF_ASSERT(scheduler_.is_gone(actor_));
    joined_ = true;
  }

 private:
  const Scheduler& scheduler_;
  Scheduler::Index actor_;
  bool joined_ = false;
};

std::string subject_of(const CallObject& object) {
  if (const auto path = object.path()) {
    return std::string(*path);
  }
  if (object.fd) {
    return "fd " + std::to_string(static_cast<int>(*object.fd));
  }
  return object.pid ? "pid " + std::to_string(*object.pid) : std::string();
}

}  // namespace

tl::unexpected<Error> failed(int error, Call call, const CallObject& object) {
  return failure(std::errc{error}, subject_of(object), call);
}

std::shared_ptr<SimProcess> Machine::boot(const std::shared_ptr<SimProcess>& parent,
                                          const os::SpawnOptions& options) {
  auto process = kernel.make_process(parent, options.entry);
  begin(process, parent.get(), options);
  return process;
}

void Machine::begin(const std::shared_ptr<SimProcess>& process,
                    const SimProcess* parent,
                    const os::SpawnOptions& options) {
  auto& system = systems[process.get()];
  system = std::make_unique<SimOs>(*this, process);
  if (on_birth) {
    on_birth(*system, parent, options);
  }
  scheduler.start(
      process, /*is_main=*/true, [this, os = system.get(), options] { return live(*os, options); });
}

SimOs::SimOs(Machine& machine, std::shared_ptr<SimProcess> process) noexcept
    : machine_(machine), process_(std::move(process)) {}

SimOs::~SimOs() = default;

void SimOs::orders(Call call) noexcept {
  LateStores& late = machine_.kernel.late;
  const bool releases = call != Call::write && call != Call::write_at;
  const bool acquires = has(row_of(call).traits, Traits::observes);
  note_visibility(releases, acquires);
  if (releases) {
    late.release(*process_);
  }
  if (acquires) {
    late.acquire(*process_);
  }
}

// A process that sees all stores at present acquires nothing, whatever others do before or after.
void SimOs::note_visibility(bool releases, bool acquires) noexcept {
  SimKernel& kernel = machine_.kernel;
  if (releases && kernel.late.has_unreleased(*process_)) {
    kernel.accesses.touch(Shared::stores, Access::write);
  }
  if (acquires && kernel.late.has_unseen(*process_)) {
    kernel.accesses.touch(Shared::stores, Access::read);
  }
}

void SimOs::touch(const os::WordAccess& access) noexcept {
  note_visibility(/*releases=*/true, /*acquires=*/true);
  machine_.kernel.touch(*process_, access, [&] {
    // Not in enumeration: it would double the runs, and all of them have late writes.
    constexpr Question whether{.options = 2, .worthwhile = 0};
    const ArenaPause answers_outlive_the_run;
    return machine_.late_words && machine_.scheduler.choices().pick(whether) != 0;
  });
  machine_.scheduler.exit_if_killed();
}

Result<std::string> SimOs::working_folder() noexcept {
  return process_->working_folder;
}

Result<std::size_t> SimOs::poll(std::span<os::PollItem> items,
                                std::optional<std::chrono::nanoseconds> timeout) noexcept {
  LASTREF_ASSERT(timeout == os::Instant(0));
  orders(Call::poll);
  machine_.kernel.note_look(*process_, items);
  return machine_.kernel.look(*process_, items);
}

Result<os::Child> SimOs::spawn(const os::SpawnOptions& options) noexcept {
  if (!machine_.knows(options)) {
    return failed(ENOENT, Call::spawn, object_of_call(options));
  }
  orders(Call::spawn);
  machine_.kernel.accesses.touch_all();
  auto child = machine_.kernel.spawn(process_, options);
  if (!child) {
    return failed(child.error(), Call::spawn, object_of_call(options));
  }
  machine_.begin(*child, process_.get(), options);
  return told(machine_.kernel.open_process(*process_, (*child)->pid),
              Call::spawn,
              object_of_call(options))
      .map([&](os::Fd process) { return os::Child{.pid = (*child)->pid, .process = process}; });
}

Status SimOs::signal_process(os::Fd process, os::Signal signal) noexcept {
  orders(Call::signal_process);
  machine_.kernel.accesses.touch_all();
  const auto answer = machine_.kernel.signal_process(*process_, process, signal);
  machine_.scheduler.exit_if_killed();
  machine_.scheduler.show_deaths();
  return told(answer, Call::signal_process, object_of_call(process));
}

os::Pid SimOs::process_id() noexcept {
  return process_->pid;
}

std::uint32_t SimOs::user_id() noexcept {
  return process_->user;
}

Status SimOs::unblock_signal(os::Signal signal) noexcept {
  const auto answer = machine_.kernel.unblock_signal(*process_, signal);
  machine_.scheduler.exit_if_killed();
  return told(answer, Call::unblock_signal, object_of_call(signal));
}

Result<std::unique_ptr<os::Thread>> SimOs::start_thread(std::function<void()> body,
                                                        os::ThreadKind) noexcept {
  const os::Pid number = machine_.kernel.number_a_thread();
  const Scheduler::Index actor =
      machine_.scheduler.start(process_, /*is_main=*/false, [body = std::move(body)] {
        body();
        return 0;
      });
  threads_[actor] = number;
  return std::make_unique<SimThread>(machine_.scheduler, actor);
}

os::Pid SimOs::thread_id() noexcept {
  const auto found = threads_.find(machine_.scheduler.current());
  return found == threads_.end() ? process_->pid : found->second;
}

std::optional<std::string> SimOs::environment(const std::string& name) noexcept {
  const auto found = process_->environment.find(name);
  return found == process_->environment.end() ? std::nullopt : std::optional(found->second);
}

void SimOs::hide_from_children(std::span<const os::Fd>, const std::string& variable) noexcept {
  // Here a program gets no descriptors except those that are passed to it.
  process_->environment.erase(variable);
}

std::uint64_t SimOs::process_token() noexcept {
  return process_->token;
}

}  // namespace lastref::harness::sim
