// attack_test is also the tracker that its trees start, a process that joins one, and a stranger
// that listens where a tracker should.
#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <lastref/kernel_os.hpp>
#include <lastref/owners.hpp>
#include <lastref/tracker.hpp>
#include <lastref/tracker_client.hpp>

#include "property_tests/support/process_group.hpp"
#include "property_tests/support/waiting.hpp"

namespace lastref {
namespace {

constexpr os::Fd teller{3};

void tell(os::Os& os, std::string_view text) {
  static_cast<void>(os::write_all(os, teller, os::bytes_of(text)));
}

/// {path of the socket}: writes "+" when it listens, and "!" for each message. Never returns.
int be_forger(os::Os& os, const std::vector<std::string>& arguments) {
  const auto listener = os.make_socket();
  if (!pretend::become_nobody() || !listener || !os.bind(*listener, arguments.at(0)) ||
      !os.listen(*listener)) {
    return 1;
  }
  tell(os, "+");
  while (pretend::wait_until_readable(os, *listener)) {
    const auto socket = os.accept(*listener);
    if (!socket) {
      continue;
    }
    const os::UniqueFd owned(os, *socket);
    static_cast<void>(pretend::wait_until_readable(os, *socket));
    std::array<std::byte, 64> message{};
    const auto received = os.receive(*socket, message);
    if (received && received->size > 0) {
      tell(os, "!");
    }
  }
  return 1;
}

/// {tree}: the code of the error, 0 if it could join.
int be_joiner(os::Os& os, const std::vector<std::string>& arguments) {
  const auto client = tracker::Client::join(os, arguments.at(0));
  return client ? 0 : static_cast<int>(client.error().code);
}

}  // namespace
}  // namespace lastref

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const std::string entry = words.empty() ? std::string() : words.front();
  const std::vector<std::string> arguments(words.empty() ? words.end() : words.begin() + 1,
                                           words.end());
  lastref::os::KernelOs os;
  if (entry == lastref::tracker::entry_point) {
    return lastref::tracker::run(os, arguments);
  }
  if (entry == "forger") {
    return lastref::be_forger(os, arguments);
  }
  if (entry == "joiner") {
    return lastref::be_joiner(os, arguments);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
