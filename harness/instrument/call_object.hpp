// CallObject: the object of a call, derived from its arguments.
//
// That is descriptor 4 for object_of_call(os::Fd{4}, os::Bytes()), the path /a for
// object_of_call(os::PathAt("/a"), 0600U), and the path for
// object_of_call(os::Fd{4}, std::string("/socket")): the report of a failed bind needs the address.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <lastref/os.hpp>

namespace lastref::harness {

/// A path or name, the last one if there are two; otherwise a descriptor, a process or a signal.
struct CallObject {
  const os::PathAt* where = nullptr;
  const std::string* name = nullptr;
  std::optional<os::Fd> fd = {};
  std::optional<os::Pid> pid = {};
  std::optional<os::Signal> signal = {};
  std::int64_t mode = 0;   ///< Of what it creates; -1 if it can create something, but does not.
  std::int64_t bytes = 0;  ///< given to it

  /// The path or name as it was given.
  std::optional<std::string_view> path() const noexcept {
    if (where != nullptr) {
      return where->path;
    }
    return name != nullptr ? std::optional<std::string_view>(*name) : std::nullopt;
  }

  void note(const os::PathAt& given) noexcept { where = &given; }
  void note(const std::string& given) noexcept { name = &given; }
  void note(const os::SpawnOptions& given) noexcept { name = &given.entry; }
  void note(os::Fd given) noexcept { fd = given; }
  void note(const os::MapOptions& given) noexcept { fd = given.file; }
  void note(os::Pid given) noexcept { pid = given; }
  void note(os::Signal given) noexcept { signal = given; }
  void note(std::uint32_t given) noexcept { mode = given; }
  void note(os::Bytes given) noexcept { bytes = static_cast<std::int64_t>(given.size()); }
  void note(const os::OpenOptions& given) noexcept {
    mode = given.create ? std::int64_t{given.mode} : -1;
  }
  void note(const auto&) noexcept {}
};

template <typename... Given>
CallObject object_of_call(const Given&... given) noexcept {
  CallObject found;
  (found.note(given), ...);
  return found;
}

}  // namespace lastref::harness
