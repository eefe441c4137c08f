#include "property_tests/support/directed_os.hpp"

#include <algorithm>
#include <list>
#include <utility>

namespace lastref::pretend {

struct DirectedOs::Hooks {
  std::list<std::function<void()>> actions;
};

class DirectedOs::Hook final : public os::ExitHook {
 public:
  Hook(std::shared_ptr<Hooks> hooks, std::list<std::function<void()>>::iterator at) noexcept
      : hooks_(std::move(hooks)), at_(at) {}
  Hook(const Hook&) = delete;
  Hook& operator=(const Hook&) = delete;
  ~Hook() override { hooks_->actions.erase(at_); }

 private:
  std::shared_ptr<Hooks> hooks_;
  std::list<std::function<void()>>::iterator at_;
};

DirectedOs::DirectedOs()
    : pid(KernelOs::process_id()), user(KernelOs::user_id()), hooks_(std::make_shared<Hooks>()) {}

template <typename Make>
auto DirectedOs::cross(Call call, const std::string& subject, Make make) -> decltype(make()) {
  const Crossed crossing{.call = call, .subject = subject};
  {
    const std::lock_guard held(guard_);
    crossed.push_back(crossing);
    if (const auto code = director ? director(crossing) : std::nullopt) {
      return failure(*code, subject, call);
    }
  }
  auto made = make();
  if (after) {
    after(crossing);
  }
  return made;
}

std::size_t DirectedOs::count_of(Call call) const {
  const std::lock_guard held(guard_);
  return static_cast<std::size_t>(std::ranges::count(crossed, call, &Crossed::call));
}

std::string DirectedOs::real(const std::string& path) const {
  for (const auto& [start, target] : mounts) {
    if (path == start || path.starts_with(start + '/')) {
      return target + path.substr(start.size());
    }
  }
  return path;
}

os::Place DirectedOs::real(const os::Place& place) const {
  return {place.folder, real(place.path)};
}

void DirectedOs::end() {
  const auto actions = hooks_->actions;
  for (auto action = actions.rbegin(); action != actions.rend(); ++action) {
    (*action)();
  }
}

std::size_t DirectedOs::hooks() const {
  return hooks_->actions.size();
}

Result<os::Fd> DirectedOs::open(const os::Place& place, const os::OpenOptions& options) noexcept {
  return cross(Call::open, place.path, [&] { return KernelOs::open(real(place), options); });
}

Status DirectedOs::close(os::Fd fd) noexcept {
  // Gone, whatever it says.
  Status closed = KernelOs::close(fd);
  return cross(Call::close, "", [&] { return closed; });
}

Result<std::size_t> DirectedOs::read(os::Fd fd, os::Buffer into) noexcept {
  return cross(Call::read, "", [&] { return KernelOs::read(fd, into); });
}

Result<std::size_t> DirectedOs::read_at(os::Fd fd, os::Buffer into, std::uint64_t offset) noexcept {
  return cross(Call::read_at, "", [&] { return KernelOs::read_at(fd, into, offset); });
}

Result<std::size_t> DirectedOs::write(os::Fd fd, os::Bytes bytes) noexcept {
  if (fd == os::Fd::standard_error) {
    const std::lock_guard held(guard_);
    for (const std::byte byte : bytes) {
      said += static_cast<char>(byte);
    }
    return bytes.size();
  }
  return cross(Call::write, "", [&] { return KernelOs::write(fd, bytes); });
}

Result<std::size_t> DirectedOs::write_at(os::Fd fd,
                                         os::Bytes bytes,
                                         std::uint64_t offset) noexcept {
  return cross(Call::write_at, "", [&] { return KernelOs::write_at(fd, bytes, offset); });
}

Status DirectedOs::sync(os::Fd fd) noexcept {
  return cross(Call::sync, "", [&] { return KernelOs::sync(fd); });
}

Status DirectedOs::punch_hole(os::Fd fd, std::uint64_t offset, std::uint64_t size) noexcept {
  return cross(Call::punch_hole, "", [&] { return KernelOs::punch_hole(fd, offset, size); });
}

Result<os::FileStatus> DirectedOs::status(os::Fd fd) noexcept {
  return cross(Call::status, "", [&] { return KernelOs::status(fd); });
}

Result<os::FileStatus> DirectedOs::status_at(const os::Place& place) noexcept {
  return cross(Call::status_at, place.path, [&] { return KernelOs::status_at(real(place)); });
}

Status DirectedOs::unlink(const os::Place& place) noexcept {
  return cross(Call::unlink, place.path, [&] { return KernelOs::unlink(real(place)); });
}

Status DirectedOs::rename(const os::Place& from, const os::Place& to) noexcept {
  return cross(Call::rename, to.path, [&] { return KernelOs::rename(real(from), real(to)); });
}

Status DirectedOs::rename_new(const os::Place& from, const os::Place& to) noexcept {
  return cross(
      Call::rename_new, to.path, [&] { return KernelOs::rename_new(real(from), real(to)); });
}

Status DirectedOs::make_folder(const os::Place& place, std::uint32_t mode) noexcept {
  return cross(
      Call::make_folder, place.path, [&] { return KernelOs::make_folder(real(place), mode); });
}

Status DirectedOs::remove_folder(const os::Place& place) noexcept {
  return cross(
      Call::remove_folder, place.path, [&] { return KernelOs::remove_folder(real(place)); });
}

Result<std::vector<os::FolderEntry>> DirectedOs::read_folder(os::Fd folder) noexcept {
  return cross(Call::read_folder, "", [&] { return KernelOs::read_folder(folder); });
}

Result<std::uint64_t> DirectedOs::free_space(const std::string& path) noexcept {
  return cross(Call::free_space, path, [&] {
    return free ? Result<std::uint64_t>(*free) : KernelOs::free_space(real(path));
  });
}

Result<std::uint64_t> DirectedOs::file_system(const std::string& path) noexcept {
  return cross(Call::file_system, path, [&]() -> Result<std::uint64_t> {
    if (file_system_kind) {
      return *file_system_kind;
    }
    // The longest first.
    for (auto each = file_system_kinds.rbegin(); each != file_system_kinds.rend(); ++each) {
      const auto& [start, kind] = *each;
      if (path == start || path.starts_with(start + '/')) {
        return kind;
      }
    }
    return KernelOs::file_system(real(path));
  });
}

Result<os::Buffer> DirectedOs::map(const os::MapOptions& options) noexcept {
  return cross(Call::map, "", [&] { return KernelOs::map(options); });
}

Status DirectedOs::unmap(os::Buffer mapped) noexcept {
  return cross(Call::unmap, "", [&] { return KernelOs::unmap(mapped); });
}

Result<std::size_t> DirectedOs::poll(std::span<os::PollItem> items,
                                     std::optional<std::chrono::nanoseconds> timeout) noexcept {
  if (items.size() == 1 && items[0].fd == os::Fd::standard_error) {
    items[0].writable = true;  // What is said is heard.
    return 1;
  }
  return cross(Call::poll, "", [&]() -> Result<std::size_t> {
    clock += timeout.value_or(std::chrono::nanoseconds(0));
    return 0;
  });
}

Status DirectedOs::entropy(os::Buffer into) noexcept {
  return cross(Call::entropy, "", [&] { return KernelOs::entropy(into); });
}

std::optional<std::string> DirectedOs::environment(const std::string& name) noexcept {
  const auto found = variables.find(name);
  return found == variables.end() ? std::nullopt : std::optional(found->second);
}

std::unique_ptr<os::ExitHook> DirectedOs::at_exit(std::function<void()> action) noexcept {
  hooks_->actions.push_back(std::move(action));
  return std::make_unique<Hook>(hooks_, std::prev(hooks_->actions.end()));
}

void DirectedOs::step(Step step) noexcept {
  if (at_step) {
    at_step(step);
  }
}

DirectedOs::Director fail_kth(std::size_t k, std::errc code, Call call) {
  return [=, left = k](const Crossed& crossing) mutable -> std::optional<std::errc> {
    if (call != Call::none && crossing.call != call) {
      return std::nullopt;
    }
    return left-- == 0 ? std::optional(code) : std::nullopt;
  };
}

}  // namespace lastref::pretend
