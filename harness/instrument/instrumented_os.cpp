#include "harness/instrument/instrumented_os.hpp"

#define FIU_ENABLE 1
#include <algorithm>

#include <fiu-control.h>
#include <fiu.h>

#include "harness/instrument/crossing.hpp"

namespace lastref::harness {
namespace {

/// fiu_init is idempotent, and not safe in two threads at once.
bool fiu_ready() noexcept {
  static const bool ready = fiu_init(0) == 0;
  return ready;
}

template <typename Span>
Span part_of(Span whole, const Passage& passage) noexcept {
  return passage.shorten && !whole.empty() ? whole.first(std::max<std::size_t>(whole.size() / 2, 1))
                                           : whole;
}

}  // namespace

InstrumentedOs::InstrumentedOs(os::Os& inner, Gate& gate) noexcept : inner_(inner), gate_(gate) {
  LASTREF_ASSERT(fiu_ready());
}

void InstrumentedOs::adopt(os::Fd fd, std::string_view name) {
  names_.open(fd, name);
}

std::vector<std::string> InstrumentedOs::still_open() {
  return names_.still_open();
}

void InstrumentedOs::arm(Call call, int error) {
  LASTREF_ASSERT(fiu_ready());
  const int armed = fiu_enable(row_of(call).point, error, nullptr, FIU_ONETIME);
  LASTREF_ASSERT(armed == 0);
}

int InstrumentedOs::failure_at(Call call, const Passage& passage) noexcept {
  if (passage.error != 0) {
    arm(call, passage.error);
  }
  const int error = fiu_fail(row_of(call).point);
  if (error != 0) {
    // Once is over. Enabling it again on top of that would leak the name, as libfiu 1.1 does.
    fiu_disable(row_of(call).point);
  }
  return error;
}

Approach InstrumentedOs::approach(Call call, const Subject& subject) {
  Approach made{.call = call,
                .place = row_of(call).method,
                .object = subject.object,
                .text = subject.text,
                .value = subject.value};
  if (gate_.counts()) {
    made.k = names_.count(made.place, made.object);
  }
  return made;
}

tl::unexpected<Error> InstrumentedOs::injected(Call call, int error, const Subject& subject) {
  const std::string_view about = subject.text.empty() ? subject.object : subject.text;
  return tl::unexpected<Error>(Error{
      .code = std::errc{error}, .call = call, .subject = std::string(about), .injected = true});
}

InstrumentedOs::Subject InstrumentedOs::of(os::Fd fd) {
  return {.object = names_.name_of(fd), .text = names_.path_of(fd)};
}

void InstrumentedOs::step(Step step) noexcept {
  const StepRow& row = row_of(step);
  Approach going{.place = row.name};
  if (gate_.counts()) {
    going.k = names_.count(row.name, {});
  }
  gate_.before(going);
  [[maybe_unused]] const int ignored = fiu_fail(row.point);
  inner_.step(step);
  gate_.after(going, {});
}

Result<os::Fd> InstrumentedOs::open(const os::Place& place,
                                    const os::OpenOptions& options) noexcept {
  const std::string path = names_.path_of(place);
  const std::string_view object = object_of(path);
  const Subject subject{
      .object = object, .text = path, .value = options.create ? std::int64_t{options.mode} : -1};
  return cross(Call::open, subject, [&](auto&, auto&) {
    auto fd = inner_.open(place, options);
    if (fd) {
      names_.open(*fd, object, path);
    }
    return fd;
  });
}

Status InstrumentedOs::close(os::Fd fd) noexcept {
  const auto act = [&] {
    gate_.closes(fd);
    names_.close(fd);
    return inner_.close(fd);
  };
  Approach going = approach(Call::close, of(fd));
  const int error = failure_at(Call::close, gate_.before(going));
  // On Linux the descriptor is gone whatever close(2) says, so an injected failure closes as well.
  Status answer = act();
  if (error != 0) {
    answer = injected(Call::close, error, of(fd));
  }
  gate_.after(
      going, {.error = answer ? 0 : static_cast<int>(answer.error().code), .injected = error != 0});
  return answer;
}

Result<std::size_t> InstrumentedOs::read(os::Fd fd, os::Buffer into) noexcept {
  return cross(Call::read, of(fd), [&](auto&, auto& passage) {
    return inner_.read(fd, part_of(into, passage));
  });
}

Result<std::size_t> InstrumentedOs::read_at(os::Fd fd,
                                            os::Buffer into,
                                            std::uint64_t offset) noexcept {
  return cross(Call::read_at, of(fd), [&](auto&, auto& passage) {
    return inner_.read_at(fd, part_of(into, passage), offset);
  });
}

Result<std::size_t> InstrumentedOs::write(os::Fd fd, os::Bytes bytes) noexcept {
  return cross(Call::write, of(fd), [&](auto&, auto& passage) {
    return inner_.write(fd, part_of(bytes, passage));
  });
}

Result<std::size_t> InstrumentedOs::write_at(os::Fd fd,
                                             os::Bytes bytes,
                                             std::uint64_t offset) noexcept {
  return cross(Call::write_at, of(fd), [&](auto&, auto& passage) {
    return inner_.write_at(fd, part_of(bytes, passage), offset);
  });
}

Status InstrumentedOs::sync(os::Fd fd) noexcept {
  return cross(Call::sync, of(fd), [&](auto&, auto&) { return inner_.sync(fd); });
}

Status InstrumentedOs::punch_hole(os::Fd fd, std::uint64_t offset, std::uint64_t size) noexcept {
  return cross(
      Call::punch_hole, of(fd), [&](auto&, auto&) { return inner_.punch_hole(fd, offset, size); });
}

Status InstrumentedOs::remove(Call call, const Subject& subject, const Removal& removal) noexcept {
  Approach going = approach(call, subject);
  const int error = failure_at(call, gate_.before(going));
  Status answer = ok();
  if (error == 0 || error == ENOENT) {
    answer = removal();
  }
  const bool fails = error != 0 && answer.has_value();
  if (fails) {
    answer = injected(call, error, subject);
  }
  gate_.after(going,
              {.error = answer ? 0 : static_cast<int>(answer.error().code), .injected = fails});
  return answer;
}

Result<os::FileStatus> InstrumentedOs::status(os::Fd fd) noexcept {
  return cross(Call::status, of(fd), [&](auto&, auto&) { return inner_.status(fd); });
}

Result<os::FileStatus> InstrumentedOs::status_at(const os::Place& place) noexcept {
  const std::string path = names_.path_of(place);
  return cross(Call::status_at, {.object = object_of(path), .text = path}, [&](auto&, auto&) {
    return inner_.status_at(place);
  });
}

Status InstrumentedOs::unlink(const os::Place& place) noexcept {
  const std::string path = names_.path_of(place);
  return remove(Call::unlink, {.object = object_of(path), .text = path}, [&] {
    return inner_.unlink(place);
  });
}

template <typename Act>
Status InstrumentedOs::move(Call call, const os::Place& from, const os::Place& to, Act act) {
  const std::string old_path = names_.path_of(from);
  const std::string path = names_.path_of(to);
  return cross(call, {.object = object_of(path), .text = path}, [&](auto&, auto&) {
    Status moved = act();
    if (moved) {
      names_.move(old_path, path);
    }
    return moved;
  });
}

Status InstrumentedOs::rename(const os::Place& from, const os::Place& to) noexcept {
  return move(Call::rename, from, to, [&] { return inner_.rename(from, to); });
}

Status InstrumentedOs::rename_new(const os::Place& from, const os::Place& to) noexcept {
  return move(Call::rename_new, from, to, [&] { return inner_.rename_new(from, to); });
}

Status InstrumentedOs::make_folder(const os::Place& place, std::uint32_t mode) noexcept {
  const std::string path = names_.path_of(place);
  const Subject subject{.object = object_of(path), .text = path, .value = mode};
  return cross(
      Call::make_folder, subject, [&](auto&, auto&) { return inner_.make_folder(place, mode); });
}

Status InstrumentedOs::remove_folder(const os::Place& place) noexcept {
  const std::string path = names_.path_of(place);
  return remove(Call::remove_folder, {.object = object_of(path), .text = path}, [&] {
    return inner_.remove_folder(place);
  });
}

Result<std::vector<os::FolderEntry>> InstrumentedOs::read_folder(os::Fd folder) noexcept {
  return cross(
      Call::read_folder, of(folder), [&](auto&, auto&) { return inner_.read_folder(folder); });
}

Result<std::uint64_t> InstrumentedOs::free_space(const std::string& path) noexcept {
  return cross(Call::free_space, {.object = object_of(path), .text = path}, [&](auto&, auto&) {
    return inner_.free_space(path);
  });
}

Result<std::uint64_t> InstrumentedOs::file_system(const std::string& path) noexcept {
  return cross(Call::file_system, {.object = object_of(path), .text = path}, [&](auto&, auto&) {
    return inner_.file_system(path);
  });
}

Result<std::string> InstrumentedOs::working_folder() noexcept {
  return cross(Call::working_folder, {}, [&](auto&, auto&) { return inner_.working_folder(); });
}

Result<os::Buffer> InstrumentedOs::map(const os::MapOptions& options) noexcept {
  const Subject subject =
      options.file == os::Fd::none ? Subject{.object = "anonymous"} : of(options.file);
  return cross(Call::map, subject, [&](auto&, auto&) {
    auto mapped = inner_.map(options);
    if (mapped) {
      names_.map(*mapped, subject.object);
    }
    return mapped;
  });
}

Status InstrumentedOs::unmap(os::Buffer mapped) noexcept {
  return cross(Call::unmap, {.object = names_.name_of(os::Bytes(mapped))}, [&](auto&, auto&) {
    Status unmapped = inner_.unmap(mapped);
    if (unmapped) {
      names_.unmap(mapped);
    }
    return unmapped;
  });
}

Result<os::Fd> InstrumentedOs::create_shm(const std::string& name, std::uint32_t mode) noexcept {
  const Subject subject{.object = object_of(name), .text = name, .value = mode};
  return cross(Call::create_shm, subject, [&](auto&, auto&) {
    auto fd = inner_.create_shm(name, mode);
    if (fd) {
      names_.open(*fd, subject.object, name);
    }
    return fd;
  });
}

Status InstrumentedOs::unlink_shm(const std::string& name) noexcept {
  return remove(Call::unlink_shm, {.object = object_of(name), .text = name}, [&] {
    return inner_.unlink_shm(name);
  });
}

Status InstrumentedOs::create_semaphore(const std::string& name, std::uint32_t mode) noexcept {
  const Subject subject{.object = object_of(name), .text = name, .value = mode};
  return cross(Call::create_semaphore, subject, [&](auto&, auto&) {
    return inner_.create_semaphore(name, mode);
  });
}

Status InstrumentedOs::unlink_semaphore(const std::string& name) noexcept {
  return remove(Call::unlink_semaphore, {.object = object_of(name), .text = name}, [&] {
    return inner_.unlink_semaphore(name);
  });
}

Status InstrumentedOs::lock_range(os::Fd fd, const os::LockRange& range) noexcept {
  return cross(
      Call::lock_range, of(fd), [&](auto&, auto&) { return inner_.lock_range(fd, range); });
}

Result<std::optional<os::LockHolder>> InstrumentedOs::find_lock(
    os::Fd fd, const os::LockRange& range) noexcept {
  return cross(Call::find_lock, of(fd), [&](auto&, auto&) { return inner_.find_lock(fd, range); });
}

}  // namespace lastref::harness
