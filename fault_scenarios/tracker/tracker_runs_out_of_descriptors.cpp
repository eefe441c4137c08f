#include <chrono>

#include <lastref/owners.hpp>

#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

constexpr const char* claim = "E10: a connection without a descriptor is refused with a message";
/// Longer than a tracker without members retries a failed accept, and much shorter than one with
/// members.
constexpr std::chrono::milliseconds long_enough{600};

/// Like a process that is not accepted for long, and has nothing to send.
Status knock(Stage& stage) {
  os::Os& os = stage.os();
  LASTREF_TRY(tree, stage.product().client().tree());
  LASTREF_TRY(socket, os.make_socket());
  const os::UniqueFd connection(os, socket);
  const auto connect = [&] { return os.connect(socket, tree + "/socket"); };
  Status connected = os::retry_interrupted(connect);
  if (failed_with(connected, std::errc::resource_unavailable_try_again)) {
    connected = os::retry_interrupted(connect);
  }
  LASTREF_CHECK(connected);
  const os::Instant until = os.now() + long_enough;
  for (os::Instant now = os.now(); now < until; now = os.now()) {
    LASTREF_CHECK(os::retry_interrupted([&] { return os.poll({}, until - now); }));
  }
  return ok();
}

Status root(Stage& stage) {
  Product& product = stage.product();
  const Resource file = product.file("served.bin");
  LASTREF_CHECK(product.lead());
  LASTREF_CHECK(product.register_name(file));
  LASTREF_CHECK(product.make(file));
  // Its connection takes a free number between others: there is no gap after it.
  LASTREF_CHECK(stage.start("member"));
  stage.await("it is a member");
  stage.limits().descriptors("tracker", 0);
  LASTREF_CHECK(stage.start("refused"));
  stage.await("it was refused");
  // Now no descriptor is left even to refuse a connection with.
  stage.limits().descriptors("tracker", -4);
  const Status knocked = knock(stage);
  const Status released = product.release(file);
  stage.limits().descriptors("tracker", 16);
  stage.tell("it is over");
  return first_failure({knocked, released, product.client().probe()});
}

Status member(Stage& stage) {
  Status joined = stage.product().join();
  stage.tell("it is a member");
  stage.await("it is over");
  return joined;
}

Status refused(Stage& stage) {
  const Status joined = stage.product().join();
  stage.tell("it was refused");
  if (!stage.is_undisturbed()) {
    return ok();
  }
  if (joined) {
    stage.refute(claim, "it was accepted");
  } else if (joined.error().code != std::errc::too_many_files_open ||
             joined.error().subject.find("the tracker has no descriptor") == std::string::npos) {
    stage.refute(claim, describe(joined.error()));
  }
  return ok();
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "A tracker has no descriptor for another connection, and refuses it with a message. "
          "Later it has no spare one to refuse with. Its members are served all the same, until "
          "descriptors are free again.",
      .rows = {"E10"},
      .roles = {{"root", root}, {"member", member}, {"refused", refused}},
      .expected_noise = {"not accepting connections"},
      // A late announcement may leave a gap with space for a connection, but not for its process:
      // that process gets another message.
      .possible_noise = {"refused a connection: no descriptor is free for it",
                         "with descriptors for which this process has no space",
                         "no descriptor is left to spare",
                         "could not accept connections any more",
                         "clean-up may delay its clients"},
      .failing_operations = {"join"},
      .outside_matrix = "its two lasting limits are already faults",
  };
});

}  // namespace
}  // namespace lastref::harness
