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
    : pid(kernel_.process_id()), user(kernel_.user_id()), hooks_(std::make_shared<Hooks>()) {}

Decision DirectedOs::decide(const Crossing& crossing) {
  const std::lock_guard held(guard_);
  crossings.push_back(crossing);
  const auto code = director ? director(crossing) : std::nullopt;
  return code ? Decision{.fate = Fate::fail, .code = *code} : Decision{};
}

bool DirectedOs::arrives(const Crossing& crossing, const Decision&) {
  if (after) {
    after(crossing);
  }
  return true;
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

Status DirectedOs::close(os::Fd fd) noexcept {
  // The descriptor is closed, whatever close returns.
  Status closed = kernel_.close(fd);
  return cross(Call::close, harness::object_of_call(fd), [&](auto&) { return closed; });
}

Result<os::FileStatus> DirectedOs::status(os::Fd fd) noexcept {
  LASTREF_TRY(status, every<Call::status>(fd));
  status.size = size.value_or(status.size);
  return status;
}

Result<std::uint64_t> DirectedOs::free_space(const std::string& path) noexcept {
  return cross(Call::free_space, harness::object_of_call(path), [&](auto&) {
    return free ? Result<std::uint64_t>(*free) : kernel_.free_space(real(path));
  });
}

Result<std::uint64_t> DirectedOs::file_system(const std::string& path) noexcept {
  return cross(
      Call::file_system, harness::object_of_call(path), [&](auto&) -> Result<std::uint64_t> {
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
        return kernel_.file_system(real(path));
      });
}

Result<std::size_t> DirectedOs::poll(std::span<os::PollItem> items,
                                     std::optional<std::chrono::nanoseconds> timeout) noexcept {
  if (items.size() == 1 && items[0].fd == os::Fd::standard_error) {
    items[0].writable = true;  // Standard error is always writable.
    return 1;
  }
  return cross(Call::poll, {}, [&](auto&) -> Result<std::size_t> {
    clock += timeout.value_or(std::chrono::nanoseconds(0));
    return 0;
  });
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
  return [=, left = k](const Crossing& crossing) mutable -> std::optional<std::errc> {
    if (call != Call::none && crossing.call != call) {
      return std::nullopt;
    }
    return left-- == 0 ? std::optional(code) : std::nullopt;
  };
}

}  // namespace lastref::pretend
