#include "property_tests/support/scripted_os.hpp"

#include <algorithm>
#include <ostream>

namespace lastref::pretend {

void PrintTo(const Crossing& crossing, std::ostream* out) {
  *out << name_of(crossing.call) << " " << crossing.subject;
}

std::size_t Decision::passed(std::size_t size) const {
  if (fate != Fate::shorten && fate != Fate::die_midway) {
    return size;
  }
  return size == 0 ? 0 : std::clamp<std::size_t>(bytes == 0 ? size / 2 : bytes, 1, size);
}

std::size_t ScriptedOs::count_of(Call call) const {
  const std::lock_guard held(guard_);
  return static_cast<std::size_t>(std::ranges::count(crossings, call, &Crossing::call));
}

std::string ScriptedOs::real(const std::string& path) const {
  for (const auto& [start, target] : mounts) {
    if (path == start || path.starts_with(start + '/')) {
      return target + path.substr(start.size());
    }
  }
  return path;
}

Result<std::size_t> ScriptedOs::write(os::Fd fd, os::Bytes bytes) noexcept {
  if (fd != os::Fd::standard_error) {
    return every<Call::write>(fd, bytes);
  }
  const std::lock_guard held(guard_);
  for (const std::byte byte : bytes) {
    said += static_cast<char>(byte);
  }
  return bytes.size();
}

std::optional<std::string> ScriptedOs::environment(const std::string& name) noexcept {
  const auto found = variables.find(name);
  return found == variables.end() ? std::nullopt : std::optional(found->second);
}

void ScriptedOs::note(const Result<os::Fd>& made) {
  if (made) {
    opened(*made);
  }
}

void ScriptedOs::note(const Result<os::PipeEnds>& made) {
  if (made) {
    opened(made->read);
    opened(made->write);
  }
}

}  // namespace lastref::pretend
