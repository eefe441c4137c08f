#include "property_tests/interop/loky_peer.hpp"

#include <gtest/gtest.h>

#include "property_tests/support/array_model.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref::pretend {
namespace {

/// Some bytes; none at the end.
std::string read_some(os::Os& os, os::Fd fd, std::size_t size_max) {
  for (;;) {
    EXPECT_TRUE(wait_until_readable(os, fd));
    std::string text(size_max, '\0');
    const auto size = os.read(fd, std::as_writable_bytes(std::span(text)));
    if (size || size.error().code != std::errc::resource_unavailable_try_again) {
      text.resize(size.value_or(0));
      return text;
    }
  }
}

}  // namespace

Pipe::Pipe(os::Os& os) {
  const os::PipeEnds ends = must(os.make_pipe());
  read = os::UniqueFd(os, ends.read);
  write = os::UniqueFd(os, ends.write);
}

std::string read_to_end(os::Os& os, os::Fd fd) {
  std::string all;
  for (std::string some = read_some(os, fd, 4096); !some.empty(); some = read_some(os, fd, 4096)) {
    all += some;
  }
  return all;
}

LokyPeer::LokyPeer() : os_({.program = LASTREF_PYTHON}) {
  Pipe there(os_);
  Pipe back(os_);
  Pipe messages(os_);
  const os::Child child =
      must(os_.spawn({.entry = LASTREF_LOKY_PEER,
                      .arguments = {},
                      .fds = {{.here = there.read.get(), .number_there = 3},
                              {.here = back.write.get(), .number_there = 4},
                              {.here = messages.write.get(), .number_there = 5}},
                      .blocked = {}}));
  process_ = os::UniqueFd(os_, child.process);
  orders_ = std::move(there.write);
  answers_ = std::move(back.read);
  said_ = std::move(messages.read);
}

std::string LokyPeer::tell(const std::vector<std::string>& messages) {
  std::string line;
  for (const std::string& message : messages) {
    line += (line.empty() ? "" : "\t") + message;
  }
  line += '\n';
  if (!os::write_all(os_, orders_.get(), os::bytes_of(line))) {
    return {};
  }
  std::string answer;
  do {
    const std::string some = read_some(os_, answers_.get(), 1);
    if (some.empty()) {
      return {};
    }
    answer += some;
  } while (!answer.ends_with('\n'));
  answer.pop_back();
  return answer;
}

std::string LokyPeer::end() {
  orders_.close_quietly();
  std::string said = read_to_end(os_, said_.get());
  static_cast<void>(wait_for(os_, process_.get()));
  return said;
}

}  // namespace lastref::pretend
