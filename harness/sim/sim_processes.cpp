// Processes, signals, descriptors and record locks of the simulated kernel.
#include <algorithm>
#include <cerrno>
#include <limits>
#include <utility>

#include "harness/sim/sim_kernel.hpp"

namespace lastref::harness::sim {
namespace {

constexpr std::uint64_t no_end = std::numeric_limits<std::uint64_t>::max();

bool unstoppable(os::Signal signal) {
  return signal == os::Signal::kill || signal == os::Signal::stop;
}

bool overlap(const RecordLock& lock, std::uint64_t begin, std::uint64_t end) {
  return lock.begin < end && begin < lock.end;
}

// Two locks conflict unless both are shared or one process has both.
const RecordLock* obstacle(const Inode& inode, const RecordLock& wanted) {
  for (const RecordLock& lock : inode.locks) {
    const bool exclusive =
        lock.kind == os::LockKind::exclusive || wanted.kind == os::LockKind::exclusive;
    if (lock.owner != wanted.owner && exclusive && overlap(lock, wanted.begin, wanted.end)) {
      return &lock;
    }
  }
  return nullptr;
}

RecordLock wanted_by(const SimProcess& caller, const os::LockRange& range) {
  return {.owner = &caller,
          .kind = range.kind,
          .begin = range.start,
          .end = range.length == 0 ? no_end : range.start + range.length};
}

// Cuts the owner's locks out of the range, inserts the new lock, and joins adjacent locks of the
// same kind. An owner's locks are stored together, in the order of their bytes, at the place of its
// first one; find_lock reports the first that conflicts. fs/locks.c, posix_lock_inode and
// posix_test_lock.
void replace(Inode& inode, RecordLock wanted) {
  const auto is_own = [&](const RecordLock& lock) { return lock.owner == wanted.owner; };
  const auto first = std::find_if(inode.locks.begin(), inode.locks.end(), is_own);
  const auto position = first - inode.locks.begin();
  std::vector<RecordLock> own;
  std::copy_if(first, inode.locks.end(), std::back_inserter(own), is_own);
  std::erase_if(inode.locks, is_own);

  std::vector<RecordLock> kept;
  for (const RecordLock& lock : own) {
    const bool touches = lock.begin <= wanted.end && wanted.begin <= lock.end;
    if (lock.kind == wanted.kind && touches) {
      wanted.begin = std::min(wanted.begin, lock.begin);
      wanted.end = std::max(wanted.end, lock.end);
    } else if (!overlap(lock, wanted.begin, wanted.end)) {
      kept.push_back(lock);
    } else {
      RecordLock before = lock;
      before.end = wanted.begin;
      RecordLock after = lock;
      after.begin = wanted.end;
      for (const RecordLock& rest : {before, after}) {
        if (rest.begin < rest.end) {
          kept.push_back(rest);
        }
      }
    }
  }
  if (wanted.kind != os::LockKind::none) {
    kept.push_back(wanted);
  }
  std::sort(kept.begin(), kept.end(), [](const RecordLock& one, const RecordLock& other) {
    return one.begin < other.begin;
  });
  inode.locks.insert(inode.locks.begin() + position, kept.begin(), kept.end());
}

}  // namespace

int number_of(os::Signal signal) {
  switch (signal) {
    case os::Signal::hang_up:
      return 1;
    case os::Signal::interrupt:
      return 2;
    case os::Signal::quit:
      return 3;
    case os::Signal::kill:
      return 9;
    case os::Signal::terminate:
      return 15;
    case os::Signal::resume:
      return 18;
    case os::Signal::stop:
      return 19;
  }
  return 0;
}

SimKernel::SimKernel(SimLimits the_limits) : limits(the_limits) {
  SimProcess maker;
  maker.umask = 0;
  root_ = std::make_shared<Inode>();
  root_->number = next_inode_++;
  root_->kind = os::FileKind::folder;
  root_->mode = 0755;
  root_->btime = static_cast<std::uint64_t>(clock.count());
  static_cast<void>(make_folder(maker, "/dev", 0755));
  static_cast<void>(make_folder(maker, "/dev/shm", 01777));
  static_cast<void>(make_folder(maker, "/tmp", 01777));
  static_cast<void>(make_folder(maker, "/var", 0755));
  static_cast<void>(make_folder(maker, "/var/tmp", 01777));
  keep_what_is_there();
}

SimKernel::~SimKernel() {
  for (const auto& process : processes_) {
    process->fds.clear();  // Breaks the cycle of a process with a pidfd of itself.
  }
}

os::Pid SimKernel::number_a_thread() noexcept {
  accesses.touch(Shared::pids, Access::write);
  // Thread numbers become free only with their process: Linux does not reuse them either.
  const auto is_taken = [this](os::Pid pid) {
    return std::ranges::any_of(processes_, [pid](const auto& process) {
      return process->pid == pid && process->state != SimProcess::State::reaped;
    });
  };
  while (is_taken(next_pid_)) {
    ++next_pid_;
  }
  return next_pid_++;
}

std::shared_ptr<SimProcess> SimKernel::make_process(const std::shared_ptr<SimProcess>& parent,
                                                    std::string role) {
  auto process = std::make_shared<SimProcess>();
  process->pid = number_a_thread();
  process->token = processes_.size() + 1;
  process->parent = parent;
  process->role = std::move(role);
  if (parent) {
    process->user = parent->user;
    process->umask = parent->umask;
    process->environment = parent->environment;
    process->working_folder = parent->working_folder;
    process->fds_max = parent->fds_max;
    process->file_size_max = parent->file_size_max;
  }
  for (const int number : {0, 1, 2}) {
    install_at(*process, number, std::make_shared<Description>());
  }
  processes_.push_back(process);
  return process;
}

Answer<std::shared_ptr<SimProcess>> SimKernel::spawn(const std::shared_ptr<SimProcess>& parent,
                                                     const os::SpawnOptions& options) {
  for (const os::PassedFd& passed : options.fds) {
    if (passed.number_there < 3) {
      return refused(EINVAL);
    }
    if (!description(*parent, passed.here)) {
      return refused(EBADF);
    }
  }
  if (!has_space(*parent)) {
    return refused(EMFILE);
  }
  auto child = make_process(parent, options.entry);
  for (const os::PassedFd& passed : options.fds) {
    auto open = description(*parent, passed.here);
    pipes_travel = pipes_travel || open->pipe;
    install_at(*child, passed.number_there, std::move(open));
  }
  child->blocked = {options.blocked.begin(), options.blocked.end()};
  for (const auto& [name, value] : options.environment) {
    child->environment[name] = value;
  }
  return child;
}

std::shared_ptr<SimProcess> SimKernel::find(os::Pid pid) const {
  const auto found = std::find_if(processes_.begin(), processes_.end(), [&](const auto& process) {
    return process->pid == pid && process->state != SimProcess::State::reaped;
  });
  return found == processes_.end() ? nullptr : *found;
}

Answer<os::Fd> SimKernel::open_process(SimProcess& caller, os::Pid pid) {
  if (pid <= 0) {
    return refused(EINVAL);
  }
  accesses.touch(Shared::pids, Access::read);
  const auto target = find(pid);
  if (!target) {
    return refused(ESRCH);
  }
  auto description = std::make_shared<Description>();
  description->kind = DescriptionKind::process;
  description->process = target;
  return install(caller, std::move(description));
}

Answer<void> SimKernel::signal_process(SimProcess& caller, os::Fd process, os::Signal signal) {
  const auto open = description(caller, process);
  if (!open || open->kind != DescriptionKind::process) {
    return refused(EBADF);
  }
  SimProcess& target = *open->process;
  if (target.state == SimProcess::State::reaped) {
    return refused(ESRCH);
  }
  if (caller.user != 0 && caller.user != target.user) {
    return refused(EPERM);
  }
  target.sent.insert(signal);
  deliver(target, signal);
  return {};
}

void SimKernel::deliver(SimProcess& caller, os::Signal signal) {
  if (caller.state != SimProcess::State::running || caller.doomed) {
    return;
  }
  if (signal == os::Signal::resume) {
    caller.stopped = false;
    caller.stopped_by = 0;
    for (const os::Signal each : std::exchange(caller.pending, {})) {
      deliver(caller, each);
    }
    return;
  }
  if (!unstoppable(signal)) {
    if (caller.ignored.contains(signal)) {
      return;
    }
    // A signal that would end a stopped process stays pending. signal(7), "SIGCONT"
    if (caller.blocked.contains(signal) || caller.stopped) {
      caller.pending.insert(signal);
      return;
    }
  }
  if (signal == os::Signal::stop) {
    caller.stopped = true;
    return;
  }
  caller.doomed = true;
  caller.exit = {.code = number_of(signal), .killed = true};
}

Answer<void> SimKernel::ignore_signal(SimProcess& caller, os::Signal signal) {
  if (unstoppable(signal)) {
    return refused(EINVAL);
  }
  caller.ignored.insert(signal);
  caller.pending.erase(signal);  // signal(7): setting SIG_IGN discards a pending one.
  return {};
}

Answer<void> SimKernel::unblock_signal(SimProcess& caller, os::Signal signal) {
  caller.blocked.erase(signal);
  if (caller.pending.erase(signal) > 0) {
    deliver(caller, signal);
  }
  return {};
}

Answer<std::optional<os::ChildExit>> SimKernel::wait_child(SimProcess& caller, os::Fd process) {
  if (static_cast<int>(process) < 0) {
    return refused(EINVAL);
  }
  const auto open = description(caller, process);
  if (!open) {
    return refused(EBADF);
  }
  if (open->kind != DescriptionKind::process) {
    return refused(EBADF);
  }
  SimProcess& child = *open->process;
  if (child.parent.lock().get() != &caller) {
    return refused(ECHILD);
  }
  accesses.touch(Part::death, child.token, Access::read);
  if (child.state == SimProcess::State::reaped) {
    return child.exit;  // The descriptor reports it again. Linux 6.15, PIDFD_GET_INFO
  }
  if (child.state != SimProcess::State::zombie) {
    return std::nullopt;
  }
  // Its number is free, which other processes may use at once.
  accesses.touch(Part::death, child.token, Access::write);
  accesses.touch(Shared::pids, Access::write);
  child.state = SimProcess::State::reaped;
  ++changes;
  return child.exit;
}

void SimKernel::close_all(SimProcess& caller) {
  caller.state = SimProcess::State::closing;
  accesses.touch(Part::death, caller.token, Access::write);
  if (late.has_unreleased(caller) || late.has_unseen(caller)) {
    accesses.touch(Shared::stores, Access::write);
  }
  late.release(caller);
  for (const Map& map : caller.maps) {
    note_unmap(map);
  }
  for (const auto& open : caller.fds) {
    if (open) {
      note_close(*open);
    }
    if (open && open->inode) {
      drop_locks(*open->inode, caller);
    }
  }
  caller.fds.clear();
  caller.maps.clear();
  late.acquire(caller);  // So that no store stays late because of it.
  caller.fds_open = 0;
  ++changes;
}

void SimKernel::become_zombie(SimProcess& caller) {
  const auto parent = caller.parent.lock();
  accesses.touch(Part::death, caller.token, Access::write);
  accesses.touch(Shared::pids, Access::write);
  if (parent) {
    accesses.touch(Part::death, parent->token, Access::read);
  }
  // An orphan is reaped by init at once.
  const bool orphan = !parent || parent->state != SimProcess::State::running;
  caller.state = orphan ? SimProcess::State::reaped : SimProcess::State::zombie;
  ++changes;
  for (const auto& other : processes_) {
    if (other->parent.lock().get() == &caller) {
      accesses.touch(Part::death, other->token, Access::write);
      other->parent.reset();
      if (other->state == SimProcess::State::zombie) {
        other->state = SimProcess::State::reaped;
      }
    }
  }
}

namespace {

// Beyond every table for numbers below 0.
std::size_t index_of(os::Fd fd) {
  const int number = static_cast<int>(fd);
  return number < 0 ? no_end : static_cast<std::size_t>(number);
}

}  // namespace

const Description* SimKernel::find(const SimProcess& caller, os::Fd fd) {
  const std::size_t at = index_of(fd);
  return at < caller.fds.size() ? caller.fds[at].get() : nullptr;
}

std::shared_ptr<Description> SimKernel::description(const SimProcess& caller, os::Fd fd) {
  return find(caller, fd) == nullptr ? nullptr : caller.fds[index_of(fd)];
}

bool SimKernel::has_space(const SimProcess& caller, std::size_t fds) {
  return caller.fds_open + fds <= caller.fds_max;
}

void SimKernel::install_at(SimProcess& caller,
                           int number,
                           std::shared_ptr<Description> description) {
  const auto at = static_cast<std::size_t>(number);
  caller.fds.resize(std::max(caller.fds.size(), at + 1));
  caller.fds_open += caller.fds[at] ? 0U : 1U;
  caller.fds[at] = std::move(description);
}

Answer<os::Fd> SimKernel::install(SimProcess& caller, std::shared_ptr<Description> description) {
  if (!has_space(caller)) {
    return refused(EMFILE);
  }
  // Like KernelOs, which moves descriptors that the kernel has put below 3.
  constexpr std::size_t standard_numbers = 3;
  caller.fds.resize(std::max(caller.fds.size(), standard_numbers));
  const auto free = std::find(caller.fds.begin() + standard_numbers, caller.fds.end(), nullptr);
  const auto number = static_cast<int>(free - caller.fds.begin());
  install_at(caller, number, std::move(description));
  return os::Fd{number};
}

void SimKernel::note_lock(const Inode& inode, Access access, const RecordLock& range) const {
  // Locks of neighbouring bytes are told apart.
  constexpr std::uint64_t scale = 8;
  const auto scaled = [](std::uint64_t byte) { return std::min(byte, no_end / scale) * scale; };
  accesses.touch_range(Part::locks, inode.number, access, scaled(range.begin), scaled(range.end));
}

// "As a side effect of closing any descriptor": fcntl(2), "Record locking and ...".
void SimKernel::drop_locks(Inode& inode, const SimProcess& caller) const {
  for (const RecordLock& lock : inode.locks) {
    if (lock.owner == &caller) {
      note_lock(inode, Access::write, lock);
      accesses.touch(Shared::judged, Access::read);
    }
  }
  std::erase_if(inode.locks, [&](const RecordLock& lock) { return lock.owner == &caller; });
}

void SimKernel::note_close(const Description& open) const {
  if (open.pipe) {
    accesses.touch(Part::pipe, open.pipe->number, Access::write);
  }
  if (!open.socket) {
    return;
  }
  const Socket& socket = *open.socket;
  accesses.touch(Part::socket, socket.number, Access::write);
  if (const auto peer = socket.peer.lock()) {
    accesses.touch(Part::socket, peer->number, Access::write);
  }
  if (socket.address) {
    accesses.touch(Part::attributes, socket.address->number, Access::write);
  }
  if (socket.state == Socket::State::listening) {
    accesses.touch(Shared::listeners, Access::write);
  }
  const bool has_fds =
      std::ranges::any_of(socket.inbox, [](const Packet& packet) { return !packet.fds.empty(); });
  if (has_fds || !socket.waiting.empty()) {
    accesses.touch_all();  // What it has received, and connections to it, may end with it.
  }
}

Answer<void> SimKernel::close(SimProcess& caller, os::Fd fd) {
  if (find(caller, fd) == nullptr) {
    return refused(EBADF);
  }
  const auto open = std::move(caller.fds[index_of(fd)]);
  --caller.fds_open;
  ++changes;
  note_close(*open);
  if (open->inode) {
    drop_locks(*open->inode, caller);
  }
  return {};
}

Answer<void> SimKernel::lock_range(SimProcess& caller, os::Fd fd, const os::LockRange& range) {
  const auto open = description(caller, fd);
  if (!open) {
    return refused(EBADF);
  }
  if (!open->inode) {
    return refused(EINVAL);
  }
  if (range.kind == os::LockKind::exclusive && !open->writable) {
    return refused(EBADF);
  }
  const RecordLock wanted = wanted_by(caller, range);
  note_lock(*open->inode, Access::write, wanted);
  if (range.kind != os::LockKind::none && obstacle(*open->inode, wanted) != nullptr) {
    return refused(EAGAIN);
  }
  if (std::ranges::find(open->inode->locks, &caller, &RecordLock::owner) ==
      open->inode->locks.end()) {
    accesses.touch(Part::lock_owners, open->inode->number, Access::write);
  }
  replace(*open->inode, wanted);
  return {};
}

Answer<void> SimKernel::lock_folder(SimProcess& caller, os::Fd folder) {
  const auto open = description(caller, folder);
  if (!open) {
    return refused(EBADF);
  }
  if (open->inode) {
    auto lock = open->inode->locked.lock();
    open->folder_lock = lock ? std::move(lock) : std::make_shared<const bool>(true);
    open->inode->locked = open->folder_lock;
  }
  return {};
}

Answer<std::optional<os::LockHolder>> SimKernel::find_lock(SimProcess& caller,
                                                           os::Fd fd,
                                                           const os::LockRange& range) {
  const auto open = description(caller, fd);
  if (!open) {
    return refused(EBADF);
  }
  if (!open->inode || range.kind == os::LockKind::none) {
    return refused(EINVAL);
  }
  const RecordLock wanted = wanted_by(caller, range);
  note_lock(*open->inode, Access::read, wanted);
  accesses.touch(Part::lock_owners, open->inode->number, Access::read);
  const RecordLock* lock = obstacle(*open->inode, wanted);
  if (lock == nullptr) {
    return std::nullopt;
  }
  return os::LockHolder{.pid = lock->owner->pid,
                        .range = {.kind = lock->kind,
                                  .start = lock->begin,
                                  .length = lock->end == no_end ? 0 : lock->end - lock->begin}};
}

}  // namespace lastref::harness::sim
