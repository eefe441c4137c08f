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
  if (call != Call::write && call != Call::write_at) {
    late.release(*process_);
  }
  if (has(row_of(call).traits, Traits::observes)) {
    late.acquire(*process_);
  }
}

void SimOs::note_accesses(Call call, const CallObject& object) noexcept {
  HappensBefore* const order = happens_before();
  if (order == nullptr) {
    return;
  }
  switch (call) {
    case Call::sync:
    case Call::unmap:
    case Call::make_socket:
    case Call::peer_of:
    case Call::make_pipe:
    case Call::ignore_signal:
      return;
    case Call::open:
    case Call::create_shm:
    case Call::create_semaphore:
      order->touch(Shared::names, object.mode < 0 ? Access::read : Access::write);
      return;
    case Call::status_at:
      order->touch(Shared::sizes, Access::write);
      [[fallthrough]];
    case Call::read_link:
    case Call::file_system:
      order->touch(Shared::names, Access::read);
      return;
    case Call::unlink:
    case Call::unlink_shm:
    case Call::unlink_semaphore:
    case Call::rename:
    case Call::rename_new:
    case Call::link:
    case Call::change_mode:
    case Call::make_folder:
    case Call::remove_folder:
      order->touch(Shared::names, Access::write);
      return;
    case Call::bind:
      order->touch(Shared::names, Access::write);
      order->touch(Shared::listeners, Access::write);
      return;
    case Call::connect:
      order->touch(Shared::names, Access::read);
      order->touch(Shared::listeners, Access::write);
      break;
    case Call::listen:
    case Call::accept:
      order->touch(Shared::listeners, Access::write);
      break;
    case Call::open_process:
    case Call::wait_child:
      order->touch(Shared::pids, Access::write);
      return;
    case Call::close:
    case Call::read:
    case Call::read_at:
    case Call::write:
    case Call::write_at:
    case Call::allocate:
    case Call::punch_hole:
    case Call::status:
    case Call::read_folder:
    case Call::map:
    case Call::lock_range:
    case Call::lock_folder:
    case Call::find_lock:
    case Call::send:
    case Call::receive:
    case Call::shut_down:
      break;
    default:
      order->touch_all();
      return;
  }
  if (const auto description =
          object.fd ? SimKernel::description(*process_, *object.fd) : nullptr) {
    note_accesses(call, *description);
  }
}

void SimOs::note_accesses(Call call, const Description& description) noexcept {
  HappensBefore& order = *happens_before();
  const Access access = call == Call::poll ? Access::read : Access::write;
  switch (description.kind) {
    case DescriptionKind::file:
      note_access_to_file(call, description);
      return;
    case DescriptionKind::socket:
      order.touch(description.socket.get(), access);
      if (const auto peer = description.socket->peer.lock()) {
        order.touch(peer.get(), access);
      }
      // Connections to a listener end with it, and a poll of it sees them.
      if (description.socket->state == Socket::State::listening) {
        order.touch(Shared::listeners, access);
      }
      return;
    case DescriptionKind::pipe_read:
    case DescriptionKind::pipe_write:
      order.touch(description.pipe.get(), access);
      return;
    case DescriptionKind::stream:
      order.touch(Shared::output, access);
      return;
    case DescriptionKind::process:
      return;  // Its death is ordered with all.
  }
}

void SimOs::note_access_to_file(Call call, const Description& description) noexcept {
  HappensBefore& order = *happens_before();
  const Inode* const inode = description.inode.get();
  if (inode == nullptr) {
    order.touch_all();
    return;
  }
  const SimLimits& limits = machine_.kernel.limits;
  const bool is_limited = limits.bytes != SimLimits{}.bytes ||
                          limits.inodes != SimLimits{}.inodes || limits.copying_bytes;
  switch (call) {
    case Call::write:
    case Call::write_at:
    case Call::allocate:
    case Call::punch_hole:
      order.touch(inode, Access::write);
      order.touch(&description, Access::write);  // Its offset
      order.touch(Shared::sizes, is_limited ? Access::write : Access::read);
      return;
    case Call::read:
      order.touch(&description, Access::write);
      [[fallthrough]];
    case Call::read_at:
    case Call::map:
      order.touch(inode, Access::read);
      return;
    case Call::read_folder:
      order.touch(&description, Access::write);
      [[fallthrough]];
    case Call::status:
      order.touch(inode, Access::read);
      order.touch(Shared::names, Access::read);
      return;
    case Call::close:  // It drops the locks of the process.
    case Call::lock_range:
    case Call::lock_folder:
      order.touch(&inode->locks, Access::write);
      return;
    case Call::find_lock:
      order.touch(&inode->locks, Access::read);
      return;
    case Call::poll:
      return;  // A file is always ready.
    default:
      order.touch_all();
  }
}

void SimOs::touch(const os::WordAccess& access) noexcept {
  if (HappensBefore* const order = happens_before()) {
    const auto has_it = [&](const Map& map) {
      return map.inode && access.at >= map.bytes.data() &&
             access.at < map.bytes.data() + map.bytes.size();
    };
    const auto map = std::ranges::find_if(process_->maps, has_it);
    if (map != process_->maps.end()) {
      order->touch(map->inode.get(), access.step == Step::word_load ? Access::read : Access::write);
    }
  }
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
  if (happens_before() != nullptr) {
    for (const os::PollItem& item : items) {
      if (const auto description = SimKernel::description(*process_, item.fd)) {
        note_accesses(Call::poll, *description);
      }
    }
  }
  return machine_.kernel.look(*process_, items);
}

Result<os::Child> SimOs::spawn(const os::SpawnOptions& options) noexcept {
  if (!machine_.knows(options)) {
    return failed(ENOENT, Call::spawn, object_of_call(options));
  }
  orders(Call::spawn);
  note_accesses(Call::spawn, object_of_call(options));
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
  note_accesses(Call::signal_process, object_of_call(process));
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
  machine_.scheduler.touch(Shared::pids, Access::write);
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
