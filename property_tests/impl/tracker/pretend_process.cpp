#include "property_tests/impl/tracker/pretend_process.hpp"

#include <algorithm>
#include <limits>
#include <ostream>

namespace lastref::pretend {

using os::Fd;

void PrintTo(const Crossing& crossing, std::ostream* out) {
  *out << name_of(crossing.call) << " " << crossing.subject;
}

std::size_t Decision::passed(std::size_t size) const {
  return std::clamp<std::size_t>(bytes == 0 ? size / 2 : bytes, 1, size);
}

const RecordLocks::Lock* RecordLocks::in_the_way_of(const Lock& wanted) {
  std::vector<const Lock*> found;
  for (const Lock& lock : locks_) {
    const bool same_file = lock.device == wanted.device && lock.inode == wanted.inode;
    const bool overlaps = lock.start < wanted.end && wanted.start < lock.end;
    const bool collides =
        lock.kind == os::LockKind::exclusive || wanted.kind == os::LockKind::exclusive;
    if (lock.pid != wanted.pid && same_file && overlaps && collides) {
      found.push_back(&lock);
    }
  }
  return found.empty() ? nullptr : found[turn_++ % found.size()];
}

void RecordLocks::set(const Lock& wanted) {
  std::vector<Lock> kept;
  for (const Lock& lock : locks_) {
    if (lock.pid != wanted.pid || lock.device != wanted.device || lock.inode != wanted.inode) {
      kept.push_back(lock);
      continue;
    }
    Lock left = lock;
    left.end = std::min(lock.end, wanted.start);
    Lock right = lock;
    right.start = std::max(lock.start, wanted.end);
    for (const Lock& part : {left, right}) {
      if (part.start < part.end) {
        kept.push_back(part);
      }
    }
  }
  if (wanted.kind != os::LockKind::none) {
    kept.push_back(wanted);
  }
  locks_ = std::move(kept);
}

void RecordLocks::drop(os::Pid pid, const os::FileStatus& file) {
  std::erase_if(locks_, [&](const Lock& lock) {
    return lock.pid == pid && lock.device == file.device && lock.inode == file.inode;
  });
}

void RecordLocks::drop(os::Pid pid) {
  std::erase_if(locks_, [&](const Lock& lock) { return lock.pid == pid; });
}

void PretendProcess::die() {
  dead_ = true;
  for (const Fd fd : std::exchange(fds_, {})) {
    static_cast<void>(KernelOs::close(fd));
  }
  locks_.drop(pid_);
}

std::size_t PretendProcess::count_of(Call call) const {
  return static_cast<std::size_t>(std::ranges::count(crossings, call, &Crossing::call));
}

Decision PretendProcess::decide(Call call, std::string subject) {
  if (dead_) {
    return {.fate = Fate::fail};
  }
  crossings.push_back({.call = call, .subject = std::move(subject)});
  // A copy: the director may cause crossings, which moves the list.
  const Crossing crossing = crossings.back();
  const Decision decision = director ? director(crossing) : Decision{};
  if (decision.fate == Fate::die_before) {
    die();
  }
  return dead_ ? Decision{.fate = Fate::fail} : decision;
}

template <typename Make>
auto PretendProcess::cross(Call call, std::string subject, Make make) -> decltype(make()) {
  const Decision decision = decide(call, subject);
  if (decision.fate == Fate::fail) {
    return failure(decision.code, std::move(subject), call);
  }
  auto made = make();
  if (decision.fate == Fate::die_after) {
    die();
    return failure(decision.code, std::move(subject), call);
  }
  return made;
}

os::Place PretendProcess::real(const os::Place& place) const {
  for (const auto& [start, target] : mounts) {
    if (place.path.starts_with(start)) {
      return {place.folder, target + place.path.substr(start.size())};
    }
  }
  return place;
}

Result<Fd> PretendProcess::keep(Result<Fd> fd) {
  if (fd) {
    fds_.push_back(*fd);
  }
  return fd;
}

Result<Fd> PretendProcess::open(const os::Place& place, const os::OpenOptions& options) noexcept {
  return cross(Call::open, place.path, [&] { return keep(KernelOs::open(real(place), options)); });
}

Status PretendProcess::close(Fd fd) noexcept {
  const Decision decision = decide(Call::close, "fd");
  if (dead_) {
    return failure(decision.code, "fd", Call::close);
  }
  if (const auto file = KernelOs::status(fd)) {
    locks_.drop(pid_, *file);
  }
  std::erase(fds_, fd);
  Status closed = KernelOs::close(fd);
  if (decision.fate == Fate::die_after) {
    die();
  }
  const bool told = decision.fate == Fate::pass || decision.fate == Fate::shorten;
  return told ? closed : failure(decision.code, "fd", Call::close);
}

Result<std::size_t> PretendProcess::read(Fd fd, os::Buffer into) noexcept {
  const Decision decision = decide(Call::read, "fd");
  if (decision.fate == Fate::fail) {
    return failure(decision.code, "fd", Call::read);
  }
  if (decision.fate == Fate::shorten) {
    into = into.first(decision.passed(into.size()));
  }
  return KernelOs::read(fd, into);
}

Result<std::size_t> PretendProcess::read_at(Fd fd, os::Buffer into, std::uint64_t offset) noexcept {
  const Decision decision = decide(Call::read_at, "fd");
  if (decision.fate == Fate::fail) {
    return failure(decision.code, "fd", Call::read_at);
  }
  if (decision.fate == Fate::shorten) {
    into = into.first(decision.passed(into.size()));
  }
  return KernelOs::read_at(fd, into, offset);
}

Result<std::size_t> PretendProcess::write(Fd fd, os::Bytes bytes) noexcept {
  return cross(Call::write, "fd", [&]() -> Result<std::size_t> {
    if (fd != Fd::standard_error) {
      return KernelOs::write(fd, bytes);
    }
    for (const std::byte byte : bytes) {
      said += static_cast<char>(byte);
    }
    return bytes.size();
  });
}

Result<std::size_t> PretendProcess::write_at(Fd fd,
                                             os::Bytes bytes,
                                             std::uint64_t offset) noexcept {
  const Decision decision = decide(Call::write_at, "fd");
  if (decision.fate == Fate::fail) {
    return failure(decision.code, "fd", Call::write_at);
  }
  if (decision.fate == Fate::shorten || decision.fate == Fate::die_midway) {
    bytes = bytes.first(decision.passed(bytes.size()));
  }
  auto written = KernelOs::write_at(fd, bytes, offset);
  if (decision.fate == Fate::die_after || decision.fate == Fate::die_midway) {
    die();
  }
  return written;
}

Status PretendProcess::sync(Fd fd) noexcept {
  return cross(Call::sync, "fd", [&] { return KernelOs::sync(fd); });
}

Status PretendProcess::punch_hole(Fd fd, std::uint64_t offset, std::uint64_t size) noexcept {
  return cross(Call::punch_hole, "fd", [&] { return KernelOs::punch_hole(fd, offset, size); });
}

Result<os::FileStatus> PretendProcess::status(Fd fd) noexcept {
  return cross(Call::status, "fd", [&] { return KernelOs::status(fd); });
}

Result<os::FileStatus> PretendProcess::status_at(const os::Place& place) noexcept {
  return cross(Call::status_at, place.path, [&] { return KernelOs::status_at(real(place)); });
}

Status PretendProcess::unlink(const os::Place& place) noexcept {
  return cross(Call::unlink, place.path, [&] { return KernelOs::unlink(real(place)); });
}

Status PretendProcess::rename(const os::Place& from, const os::Place& to) noexcept {
  return cross(Call::rename, to.path, [&] { return KernelOs::rename(real(from), real(to)); });
}

Status PretendProcess::rename_new(const os::Place& from, const os::Place& to) noexcept {
  return cross(
      Call::rename_new, to.path, [&] { return KernelOs::rename_new(real(from), real(to)); });
}

Status PretendProcess::make_folder(const os::Place& place, std::uint32_t mode) noexcept {
  return cross(
      Call::make_folder, place.path, [&] { return KernelOs::make_folder(real(place), mode); });
}

Status PretendProcess::remove_folder(const os::Place& place) noexcept {
  return cross(
      Call::remove_folder, place.path, [&] { return KernelOs::remove_folder(real(place)); });
}

Result<std::vector<os::FolderEntry>> PretendProcess::read_folder(Fd folder) noexcept {
  return cross(Call::read_folder, "fd", [&] { return KernelOs::read_folder(folder); });
}

Result<std::uint64_t> PretendProcess::free_space(const std::string& path) noexcept {
  return cross(Call::free_space, path, [&] { return KernelOs::free_space(real(path).path); });
}

Result<std::uint64_t> PretendProcess::file_system(const std::string& path) noexcept {
  return cross(Call::file_system, path, [&] { return KernelOs::file_system(real(path).path); });
}

Status PretendProcess::unlink_shm(const std::string& name) noexcept {
  return cross(Call::unlink_shm, name, [&] { return KernelOs::unlink_shm(name); });
}

Status PretendProcess::unlink_semaphore(const std::string& name) noexcept {
  return cross(Call::unlink_semaphore, name, [&] { return KernelOs::unlink_semaphore(name); });
}

Result<RecordLocks::Lock> PretendProcess::lock_of(Fd fd, const os::LockRange& range) {
  LASTREF_TRY(file, KernelOs::status(fd));
  return RecordLocks::Lock{
      .device = file.device,
      .inode = file.inode,
      .pid = pid_,
      .kind = range.kind,
      .start = range.start,
      .end = range.length == 0 ? std::numeric_limits<std::uint64_t>::max()
                               : range.start + range.length,
  };
}

Status PretendProcess::lock_range(Fd fd, const os::LockRange& range) noexcept {
  return cross(Call::lock_range, "fd", [&]() -> Status {
    LASTREF_TRY(wanted, lock_of(fd, range));
    if (locks_.in_the_way_of(wanted) != nullptr) {
      return failure(std::errc::resource_unavailable_try_again, "fd", Call::lock_range);
    }
    locks_.set(wanted);
    return ok();
  });
}

Result<std::optional<os::LockHolder>> PretendProcess::find_lock(
    Fd fd, const os::LockRange& range) noexcept {
  return cross(Call::find_lock, "fd", [&]() -> Result<std::optional<os::LockHolder>> {
    LASTREF_TRY(wanted, lock_of(fd, range));
    const RecordLocks::Lock* const found = locks_.in_the_way_of(wanted);
    if (found == nullptr) {
      return std::nullopt;
    }
    const bool to_the_end = found->end == std::numeric_limits<std::uint64_t>::max();
    return os::LockHolder{.pid = found->pid,
                          .range = {.kind = found->kind,
                                    .start = found->start,
                                    .length = to_the_end ? 0 : found->end - found->start}};
  });
}

Result<Fd> PretendProcess::make_socket() noexcept {
  return cross(Call::make_socket, "fd", [&] { return keep(KernelOs::make_socket()); });
}

Status PretendProcess::bind(Fd socket, const std::string& path) noexcept {
  return cross(Call::bind, path, [&] { return KernelOs::bind(socket, real(path).path); });
}

Status PretendProcess::listen(Fd socket) noexcept {
  return cross(Call::listen, "fd", [&] { return KernelOs::listen(socket); });
}

Result<os::PipeEnds> PretendProcess::make_pipe() noexcept {
  return cross(Call::make_pipe, "fd", [&] {
    auto ends = KernelOs::make_pipe();
    if (ends) {
      fds_.insert(fds_.end(), {ends->read, ends->write});
    }
    return ends;
  });
}

Result<std::size_t> PretendProcess::poll(std::span<os::PollItem> items,
                                         std::optional<std::chrono::nanoseconds> timeout) noexcept {
  return cross(Call::poll, "fd", [&]() -> Result<std::size_t> {
    LASTREF_TRY(ready, KernelOs::poll(items, std::chrono::nanoseconds(0)));
    if (ready == 0) {
      // Nobody else runs meanwhile, so a wait for ever would be one.
      LASTREF_ASSERT(timeout.has_value());
      clock += *timeout;
    }
    return ready;
  });
}

Status PretendProcess::entropy(os::Buffer into) noexcept {
  return cross(Call::entropy, "", [&] { return KernelOs::entropy(into); });
}

std::optional<std::string> PretendProcess::environment(const std::string& name) noexcept {
  const auto found = variables.find(name);
  return found == variables.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace lastref::pretend
