#include <lastref/loky.hpp>
#include <lastref/owners.hpp>

#include "fault_scenarios/support/tracker_by_hand.hpp"
#include "harness/scenario/registered_scenario.hpp"

namespace lastref::harness {
namespace {

Status root(Stage& stage) {
  Product& product = stage.product();
  LASTREF_TRY(by_hand, start_tracker(stage, {"--loky-fd", "3"}));
  // The tracker ignores these from the start (T1).
  const os::Fd tracker = by_hand.process.get();
  const Status interrupted =
      first_failure({stage.os().signal_process(tracker, os::Signal::interrupt),
                     stage.os().signal_process(tracker, os::Signal::terminate)});
  by_hand.read.close_quietly();
  const Resource with_colon = product.file("a:b.bin");
  const Resource left = product.file("left.bin");
  const Resource folder = product.folder("left");
  tracker::LokyClient client(stage.os(), by_hand.write.get());
  const auto send = [&](const char* lines) {
    return os::write_all(stage.os(), by_hand.write.get(), os::bytes_of(lines));
  };
  const Status probed = send("PROBE:0:noop\nPROBE::\n");
  for (const Resource& resource : {with_colon, with_colon, folder, left}) {
    LASTREF_CHECK(client.register_name(resource));
  }
  // A name that contains a line break would have the rest read as a separate line.
  const Resource broken{.type = ResourceType::file,
                        .name = product.file("x").name + ":file\nMAYBE_UNLINK:" + left.name};
  if (client.register_name(broken)) {
    stage.refute("T12: a name with a line break is refused", "it was sent");
  }
  Status made;
  for (const Resource& resource : {with_colon, folder, left}) {
    made = first_failure({made, product.make(resource)});
  }
  const Status unlinked = first_failure({client.maybe_unlink(with_colon),
                                         client.maybe_unlink(with_colon),
                                         send("BAD LINE\nREGISTER:x:y\n"),
                                         client.maybe_unlink(product.file("unknown"))});
  by_hand.write.close_quietly();
  return first_failure({interrupted, probed, made, unlinked, wait_for_end(stage, by_hand)});
}

const RegisteredScenario registered([] {
  return Scenario{
      .sentence =
          "In loky mode, lines register, release and forget names. At the end of the pipe the "
          "remaining names are cleaned up.",
      .rows = {"T12", "T5", "T1"},
      .roles = {{"root", root}},
      .expected_noise = {"malformed line",
                         "MAYBE_UNLINK of an unknown name",
                         "leaked file objects",
                         "leaked folder objects"},
      .no_ledger = true,
  };
});

}  // namespace
}  // namespace lastref::harness
