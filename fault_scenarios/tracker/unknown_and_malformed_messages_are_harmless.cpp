#include <initializer_list>

#include <lastref/owners.hpp>

#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

std::string packet(std::initializer_list<unsigned char> bytes) {
  return {bytes.begin(), bytes.end()};
}

/// Waits for nobody: there is space for all that is said.
template <typename Act>
Status again_if_in_vain(const Act& act) {
  Status done = os::retry_interrupted(act);
  return failed_with(done, std::errc::resource_unavailable_try_again) ? os::retry_interrupted(act)
                                                                      : done;
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("unharmed.bin");
  const Resource unknown = product.file("unknown.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  LASTREF_TRY(tree, product.client().tree());
  const std::vector<std::string> packets = {
      "REGISTER:x:file\n",
      packet({1}),
      packet({1, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
      packet({9, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
      packet({1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0}),
  };
  LASTREF_TRY(socket, stage.os().make_socket());
  const os::UniqueFd connection(stage.os(), socket);
  LASTREF_CHECK(again_if_in_vain([&] { return stage.os().connect(socket, tree + "/socket"); }));
  Status sent;
  for (const std::string& bytes : packets) {
    const auto send = [&] { return stage.os().send(socket, os::bytes_of(bytes), {}); };
    sent = first_failure({sent, again_if_in_vain(send)});
  }
  const Status released = product.client().release(unknown);
  const Status forgotten = product.client().forget(unknown);
  const Status probed = product.client().probe();
  product.must_exist(file);
  return first_failure({sent, released, forgotten, probed, product.release(file)});
}

}  // namespace

Scenario unknown_and_malformed_messages_are_harmless() {
  return {
      .name = "tracker/unknown_and_malformed_messages_are_harmless",
      .sentence =
          "Garbage, unknown verbs and types, and words about unknown names are reported, "
          "and the tracker serves on.",
      .rows = {"T2", "T3", "T4"},
      .roles = {{"root", root}},
      .expected_noise = {"malformed message", "an unknown name: file:"},
  };
}

}  // namespace lastref::harness
