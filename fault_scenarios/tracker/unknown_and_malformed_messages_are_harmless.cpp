#include <initializer_list>

#include <lastref/owners.hpp>

#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

std::string packet(std::initializer_list<unsigned char> bytes) {
  return {bytes.begin(), bytes.end()};
}

void root(Stage& stage) {
  const Resource file = stage.product().file("unharmed.bin");
  const Resource unknown = stage.product().file("unknown.bin");
  if (!stage.product().lead() || !stage.product().register_name(file) ||
      !stage.product().make(file)) {
    return;
  }
  const auto tree = stage.product().client().tree();
  if (!tree) {
    return;
  }
  const std::vector<std::string> packets = {
      "REGISTER:x:file\n",
      packet({1}),
      packet({1, 99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
      packet({9, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}),
      packet({1, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0}),
  };
  const auto socket = stage.os().make_socket();
  if (!socket) {
    return;
  }
  const os::UniqueFd connection(stage.os(), *socket);
  if (!stage.os().connect(*socket, *tree + "/socket")) {
    return;
  }
  for (const std::string& bytes : packets) {
    static_cast<void>(stage.os().send(*socket, os::bytes_of(bytes), {}));
  }
  static_cast<void>(stage.product().client().release(unknown));
  static_cast<void>(stage.product().client().forget(unknown));
  static_cast<void>(stage.product().client().probe());
  stage.product().must_exist(file);
  static_cast<void>(stage.product().release(file));
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
