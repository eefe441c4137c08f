#include "harness/sim/sim_os.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "harness/instrument/gate.hpp"

namespace lastref::harness::sim {
namespace {

std::string subject_of(os::Fd fd) {
  return "fd " + std::to_string(static_cast<int>(fd));
}

tl::unexpected<Error> failed(int error, Call call, std::string subject) {
  return failure(std::errc{error}, std::move(subject), call);
}

/// An Answer on its way out: an errno becomes an Error.
template <typename T>
Result<T> told(Answer<T> answer, Call call, const std::string& subject) {
  if (!answer) {
    return failed(answer.error(), call, subject);
  }
  if constexpr (std::is_void_v<T>) {
    return ok();
  } else {
    return *std::move(answer);
  }
}

template <typename T>
Result<T> told(Answer<T> answer, Call call, os::Fd fd) {
  const std::string subject = answer ? std::string() : subject_of(fd);
  return told(std::move(answer), call, subject);
}

class SimThread final : public os::Thread {
 public:
  SimThread(Scheduler& scheduler, Scheduler::Index actor) noexcept
      : scheduler_(scheduler), actor_(actor) {}
  SimThread(const SimThread&) = delete;
  SimThread& operator=(const SimThread&) = delete;
  ~SimThread() override { LASTREF_ASSERT(joined_); }

  void join() noexcept override {
    const std::function<bool()> ended = [this] { return scheduler_.is_gone(actor_); };
    if (!ended()) {
      scheduler_.wait_until(ended, std::nullopt, "join");
    }
    joined_ = true;
  }

 private:
  Scheduler& scheduler_;
  Scheduler::Index actor_;
  bool joined_ = false;
};

class SimMonitor final : public os::Monitor {
 public:
  explicit SimMonitor(Scheduler& scheduler) noexcept : scheduler_(scheduler) {}

  void lock() noexcept override {
    scheduler_.ask();
    take();
  }
  void unlock() noexcept override {
    LASTREF_ASSERT(held_);
    held_ = false;
  }
  void wait() noexcept override {
    unlock();
    const std::uint64_t before = notices_;
    const std::function<bool()> noticed = [this, before] { return notices_ != before && !held_; };
    scheduler_.wait_until(noticed, std::nullopt, "monitor wait");
    held_ = true;
  }
  void notify_all() noexcept override { ++notices_; }

 private:
  void take() noexcept {
    const std::function<bool()> free = [this] { return !held_; };
    if (held_) {
      scheduler_.wait_until(free, std::nullopt, "monitor lock");
    }
    held_ = true;
  }

  Scheduler& scheduler_;
  bool held_ = false;
  std::uint64_t notices_ = 0;
};

}  // namespace

std::shared_ptr<Task> Machine::boot(const std::shared_ptr<Task>& parent,
                                    const os::SpawnOptions& options) {
  auto task = kernel.make_task(parent, options.entry);
  begin(task, parent.get(), options);
  return task;
}

void Machine::begin(const std::shared_ptr<Task>& task,
                    const Task* parent,
                    const os::SpawnOptions& options) {
  auto& system = systems[task.get()];
  system = std::make_unique<SimOs>(*this, task);
  if (on_birth) {
    on_birth(*system, parent, options);
  }
  scheduler.start(task, /*is_main=*/true, [this, os = system.get(), options] {
    const int code = live(*os, options);
    os->run_exit_hooks();
    return code;
  });
}

Result<os::Fd> SimOs::open(const os::Place& place, const os::OpenOptions& options) noexcept {
  return told(machine_.kernel.open(*task_, place, options), Call::open, place.path);
}

Status SimOs::close(os::Fd fd) noexcept {
  return told(machine_.kernel.close(*task_, fd), Call::close, fd);
}

Result<std::size_t> SimOs::read(os::Fd fd, os::Buffer into) noexcept {
  return told(machine_.kernel.read(*task_, fd, into), Call::read, fd);
}

Result<std::size_t> SimOs::read_at(os::Fd fd, os::Buffer into, std::uint64_t offset) noexcept {
  return told(machine_.kernel.read_at(*task_, fd, into, offset), Call::read_at, fd);
}

Result<std::size_t> SimOs::write(os::Fd fd, os::Bytes bytes) noexcept {
  return told(machine_.kernel.write(*task_, fd, bytes), Call::write, fd);
}

Result<std::size_t> SimOs::write_at(os::Fd fd, os::Bytes bytes, std::uint64_t offset) noexcept {
  return told(machine_.kernel.write_at(*task_, fd, bytes, offset), Call::write_at, fd);
}

Status SimOs::sync(os::Fd fd) noexcept {
  return told(machine_.kernel.sync(*task_, fd), Call::sync, fd);
}

Status SimOs::punch_hole(os::Fd fd, std::uint64_t offset, std::uint64_t size) noexcept {
  return told(machine_.kernel.punch_hole(*task_, fd, offset, size), Call::punch_hole, fd);
}

Result<os::FileStatus> SimOs::status(os::Fd fd) noexcept {
  return told(machine_.kernel.status(*task_, fd), Call::status, fd);
}

Result<os::FileStatus> SimOs::status_at(const os::Place& place) noexcept {
  return told(machine_.kernel.status_at(*task_, place), Call::status_at, place.path);
}

Status SimOs::unlink(const os::Place& place) noexcept {
  return told(machine_.kernel.unlink(*task_, place), Call::unlink, place.path);
}

Status SimOs::rename(const os::Place& from, const os::Place& to) noexcept {
  return told(machine_.kernel.rename(*task_, from, to), Call::rename, to.path);
}

Status SimOs::rename_new(const os::Place& from, const os::Place& to) noexcept {
  return told(machine_.kernel.rename_new(*task_, from, to), Call::rename_new, to.path);
}

Status SimOs::make_folder(const os::Place& place, std::uint32_t mode) noexcept {
  return told(machine_.kernel.make_folder(*task_, place, mode), Call::make_folder, place.path);
}

Status SimOs::remove_folder(const os::Place& place) noexcept {
  return told(machine_.kernel.remove_folder(*task_, place), Call::remove_folder, place.path);
}

Result<std::vector<os::FolderEntry>> SimOs::read_folder(os::Fd folder) noexcept {
  return told(machine_.kernel.read_folder(*task_, folder), Call::read_folder, folder);
}

Result<std::uint64_t> SimOs::free_space(const std::string& path) noexcept {
  return told(machine_.kernel.free_space(*task_, path), Call::free_space, path);
}

Result<std::uint64_t> SimOs::file_system(const std::string& path) noexcept {
  return told(machine_.kernel.file_system(*task_, path), Call::file_system, path);
}

Result<std::string> SimOs::working_folder() noexcept {
  return machine_.kernel.working_folder;
}

Result<os::Buffer> SimOs::map(const os::MapOptions& options) noexcept {
  return told(machine_.kernel.map(*task_, options), Call::map, options.file);
}

Status SimOs::unmap(os::Buffer mapped) noexcept {
  return told(machine_.kernel.unmap(*task_, mapped), Call::unmap, std::string());
}

Result<os::Fd> SimOs::create_shm(const std::string& name, std::uint32_t mode) noexcept {
  return told(machine_.kernel.create_shm(*task_, name, mode), Call::create_shm, name);
}

Status SimOs::unlink_shm(const std::string& name) noexcept {
  return told(machine_.kernel.unlink_shm(*task_, name), Call::unlink_shm, name);
}

Status SimOs::create_semaphore(const std::string& name, std::uint32_t mode) noexcept {
  return told(machine_.kernel.create_semaphore(*task_, name, mode), Call::create_semaphore, name);
}

Status SimOs::unlink_semaphore(const std::string& name) noexcept {
  return told(machine_.kernel.unlink_semaphore(*task_, name), Call::unlink_semaphore, name);
}

Status SimOs::lock_range(os::Fd fd, const os::LockRange& range) noexcept {
  return told(machine_.kernel.lock_range(*task_, fd, range), Call::lock_range, fd);
}

Result<std::optional<os::LockHolder>> SimOs::find_lock(os::Fd fd,
                                                       const os::LockRange& range) noexcept {
  return told(machine_.kernel.find_lock(*task_, fd, range), Call::find_lock, fd);
}

Result<os::Fd> SimOs::make_socket() noexcept {
  return told(machine_.kernel.make_socket(*task_), Call::make_socket, std::string());
}

Status SimOs::bind(os::Fd socket, const std::string& path) noexcept {
  return told(machine_.kernel.bind(*task_, socket, path), Call::bind, path);
}

Status SimOs::listen(os::Fd socket) noexcept {
  return told(machine_.kernel.listen(*task_, socket), Call::listen, socket);
}

Result<os::Fd> SimOs::accept(os::Fd socket) noexcept {
  return told(machine_.kernel.accept(*task_, socket), Call::accept, socket);
}

Status SimOs::connect(os::Fd socket, const std::string& path) noexcept {
  return told(machine_.kernel.connect(*task_, socket, path), Call::connect, path);
}

Status SimOs::send(os::Fd socket, os::Bytes message, std::span<const os::Fd> fds) noexcept {
  return told(machine_.kernel.send(*task_, socket, message, fds), Call::send, socket);
}

Result<os::Received> SimOs::receive(os::Fd socket, os::Buffer into) noexcept {
  return told(machine_.kernel.receive(*task_, socket, into), Call::receive, socket);
}

Status SimOs::shut_down(os::Fd socket) noexcept {
  return told(machine_.kernel.shut_down(*task_, socket), Call::shut_down, socket);
}

Result<os::Peer> SimOs::peer_of(os::Fd socket) noexcept {
  return told(machine_.kernel.peer_of(*task_, socket), Call::peer_of, socket);
}

Result<os::PipeEnds> SimOs::make_pipe() noexcept {
  return told(machine_.kernel.make_pipe(*task_), Call::make_pipe, std::string());
}

Result<std::size_t> SimOs::poll(std::span<os::PollItem> items,
                                std::optional<std::chrono::nanoseconds> timeout) noexcept {
  const SimKernel& kernel = machine_.kernel;
  const std::size_t ready = kernel.look(*task_, items);
  const os::Instant time = std::max(timeout.value_or(os::Instant(1)), os::Instant(0));
  if (ready > 0 || time == os::Instant(0)) {
    return ready;
  }
  const std::function<bool()> is_ready = [&] { return kernel.is_ready(*task_, items); };
  const auto deadline = timeout ? std::optional(kernel.clock + time) : std::nullopt;
  machine_.scheduler.wait_until(is_ready, deadline, "poll");
  return kernel.look(*task_, items);
}

Result<os::Child> SimOs::spawn(const os::SpawnOptions& options) noexcept {
  if (!machine_.knows(options)) {
    return failed(ENOENT, Call::spawn, options.entry);
  }
  auto child = machine_.kernel.spawn(task_, options);
  if (!child) {
    return failed(child.error(), Call::spawn, options.entry);
  }
  machine_.begin(*child, task_.get(), options);
  return told(machine_.kernel.open_process(*task_, (*child)->pid), Call::spawn, options.entry)
      .map([&](os::Fd process) { return os::Child{.pid = (*child)->pid, .process = process}; });
}

Result<os::Fd> SimOs::open_process(os::Pid pid) noexcept {
  return told(
      machine_.kernel.open_process(*task_, pid), Call::open_process, "pid " + std::to_string(pid));
}

Status SimOs::signal_process(os::Fd process, os::Signal signal) noexcept {
  const auto answer = machine_.kernel.signal_process(*task_, process, signal);
  machine_.scheduler.mind_death();
  return told(answer, Call::signal_process, process);
}

Result<std::optional<os::ChildExit>> SimOs::wait_child(os::Fd process) noexcept {
  return told(machine_.kernel.wait_child(*task_, process), Call::wait_child, process);
}

os::Pid SimOs::process_id() noexcept {
  return task_->pid;
}

std::uint32_t SimOs::user_id() noexcept {
  return task_->user;
}

Status SimOs::ignore_signal(os::Signal signal) noexcept {
  return told(machine_.kernel.ignore_signal(*task_, signal), Call::ignore_signal, std::string());
}

Status SimOs::unblock_signal(os::Signal signal) noexcept {
  const auto answer = machine_.kernel.unblock_signal(*task_, signal);
  machine_.scheduler.mind_death();
  return told(answer, Call::unblock_signal, std::string());
}

Result<std::unique_ptr<os::Thread>> SimOs::start_thread(std::function<void()> body,
                                                        os::ThreadKind) noexcept {
  const os::Pid number = machine_.kernel.number_a_thread();
  const Scheduler::Index actor =
      machine_.scheduler.start(task_, /*is_main=*/false, [body = std::move(body)] {
        body();
        return 0;
      });
  threads_[actor] = number;
  return std::make_unique<SimThread>(machine_.scheduler, actor);
}

os::Pid SimOs::thread_id() noexcept {
  const auto found = threads_.find(machine_.scheduler.current());
  return found == threads_.end() ? task_->pid : found->second;
}

unsigned SimOs::processors() noexcept {
  return processors_of_a_run;
}

os::Instant SimOs::now() noexcept {
  return machine_.kernel.clock;
}

Status SimOs::entropy(os::Buffer into) noexcept {
  for (std::byte& each : into) {
    each = static_cast<std::byte>(next_random(task_->chance));
  }
  return ok();
}

std::optional<std::string> SimOs::environment(const std::string& name) noexcept {
  const auto found = task_->environment.find(name);
  return found == task_->environment.end() ? std::nullopt : std::optional(found->second);
}

void SimOs::keep_to_itself(std::span<const os::Fd>, const std::string& variable) noexcept {
  // A program is given no descriptor here but those that are passed to it.
  task_->environment.erase(variable);
}

std::uint64_t SimOs::process_token() noexcept {
  return task_->token;
}

std::unique_ptr<os::Monitor> SimOs::make_monitor() noexcept {
  return std::make_unique<SimMonitor>(machine_.scheduler);
}

std::unique_ptr<os::ExitHook> SimOs::at_exit(std::function<void()> action) noexcept {
  return exit_hooks_.add(task_->token, std::move(action));
}

os::ProcessObjects& SimOs::objects() noexcept {
  return objects_.of(*this, process_token());
}

}  // namespace lastref::harness::sim
