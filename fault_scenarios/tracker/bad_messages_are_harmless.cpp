#include <algorithm>
#include <array>
#include <cerrno>
#include <initializer_list>
#include <span>

#include <lastref/owners.hpp>

#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

std::string packet(std::initializer_list<unsigned char> bytes) {
  return {bytes.begin(), bytes.end()};
}

/// Waits for no other process: there is space for all messages.
template <typename Act>
auto retry_once(const Act& act) {
  auto done = os::retry_interrupted(act);
  return failed_with(done, std::errc::resource_unavailable_try_again) ? os::retry_interrupted(act)
                                                                      : done;
}

/// Checks the reply to a request that the tracker cannot read.
Status must_be_answered(Stage& stage, os::Fd socket) {
  std::array items{os::PollItem{.fd = socket, .want_read = true}};
  LASTREF_CHECK(os::retry_interrupted([&] { return stage.os().poll(items, std::nullopt); }));
  std::array<std::byte, 64> bytes{};
  LASTREF_TRY(answer, retry_once([&] { return stage.os().receive(socket, bytes); }));
  const std::string expected = packet({2, 9, 0, 0, 5, 0, 0, 0, EPROTONOSUPPORT, 0, 0, 0});
  if (stage.is_undisturbed() &&
      !std::ranges::equal(std::span(bytes).first(answer.size), os::bytes_of(expected))) {
    stage.refute("E10: a request that the tracker cannot read gets an error reply",
                 std::to_string(answer.size) + " other bytes");
  }
  return ok();
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("unharmed.bin");
  // Each of its bytes takes four in a message, which is cut.
  const Resource unknown = product.file("unknown.bin" + std::string(1200, '\x01'));
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_TRY(tree, product.client().tree());
  const std::vector<std::string> packets = {
      "REGISTER:x:file\n",
      packet({2}),
      packet({2, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
      packet({2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0}),
      // A release of a name without a valid type, one byte long.
      packet({2, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0,  1,
              0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 'x'}),
      // A probe in the format of another version, with the request id 5.
      packet({1, 7, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0}),
  };
  LASTREF_TRY(socket, stage.os().make_socket());
  const os::UniqueFd connection(stage.os(), socket);
  LASTREF_CHECK(retry_once([&] { return stage.os().connect(socket, tree + "/socket"); }));
  Status sent;
  for (const std::string& bytes : packets) {
    const auto send = [&] { return stage.os().send(socket, os::bytes_of(bytes), {}); };
    sent = first_failure({sent, retry_once(send)});
  }
  if (sent) {
    sent = must_be_answered(stage, socket);
  }
  const Status released = product.client().release(unknown);
  const Status forgotten = product.client().forget(unknown);
  const Status probed = product.client().probe();
  product.must_exist(file);
  return first_failure({sent, released, forgotten, probed, product.release(file)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "Garbage, unknown verbs and types, messages of another version, and messages about "
          "unknown names are reported in bounded lines. The tracker continues to serve.",
      .rows = {"T2", "T3", "T4", "E5", "E10"},
      .roles = {{"root", root}},
      .expected_noise = {"malformed message",
                         "releases an unknown name: file:",
                         "forgets an unknown name: file:",
                         " more bytes)"},
  };
});

}  // namespace
}  // namespace lastref::harness
