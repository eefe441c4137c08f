// StagePipes: how toy roles send text through pipes, and wait for their children.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>

#include <lastref/owners.hpp>

#include "property_tests/harness/scenario/stage_worlds.hpp"

namespace lastref::harness {

inline void wait_readable(os::Os& os, os::Fd fd) {
  os::PollItem item{.fd = fd, .want_read = true};
  static_cast<void>(os.poll(std::span(&item, 1), std::nullopt));
}

/// All that is written to a pipe until it has no writer.
inline std::string read_all(os::Os& os, os::Fd fd) {
  std::string text;
  std::array<std::byte, 64> bytes{};
  for (;;) {
    wait_readable(os, fd);
    const auto size = os.read(fd, bytes);
    if (!size || *size == 0) {
      return text;
    }
    text.append(reinterpret_cast<const char*>(bytes.data()), *size);
  }
}

inline void say(os::Os& os, os::Fd fd, const std::string& text) {
  static_cast<void>(os::write_all(os, fd, os::bytes_of(text)));
}

/// The end to read from, and the end to write to.
inline std::array<os::UniqueFd, 2> make_pipe(os::Os& os) {
  const auto pipe = os.make_pipe();
  return {os::UniqueFd(os, pipe ? pipe->read : os::Fd::none),
          os::UniqueFd(os, pipe ? pipe->write : os::Fd::none)};
}

/// The exit of a child of this process, once it has ended.
inline os::ChildExit end_of(Stage& stage, os::Fd process) {
  wait_readable(stage.os(), process);
  const auto exit = stage.os().wait_child(process);
  expect(stage, exit && exit->has_value(), "a child that has ended can be reaped");
  return exit && *exit ? **exit : os::ChildExit{.code = -1, .killed = false};
}

}  // namespace lastref::harness
