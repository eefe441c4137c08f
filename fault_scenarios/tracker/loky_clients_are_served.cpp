#include <lastref/loky_client.hpp>
#include <lastref/owners.hpp>

#include "fault_scenarios/support/tracker_by_hand.hpp"
#include "fault_scenarios/tracker/tracker.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  auto by_hand = start_tracker(stage, {"--loky-fd", "3"});
  if (!by_hand) {
    return;
  }
  // From its first instant on, it is deaf to these (T1).
  static_cast<void>(stage.os().signal_process(by_hand->process.get(), os::Signal::interrupt));
  static_cast<void>(stage.os().signal_process(by_hand->process.get(), os::Signal::terminate));
  by_hand->read.close_quietly();
  const Resource with_colon = stage.product().file("a:b.bin");
  const Resource left = stage.product().file("left.bin");
  const Resource folder = stage.product().folder("left");
  tracker::LokyClient client(stage.os(), by_hand->write.get());
  static_cast<void>(
      os::write_all(stage.os(), by_hand->write.get(), os::bytes_of("PROBE:0:noop\nPROBE::\n")));
  for (const Resource& resource : {with_colon, with_colon, folder, left}) {
    if (!client.register_name(resource)) {
      return;
    }
  }
  for (const Resource& resource : {with_colon, folder, left}) {
    static_cast<void>(stage.product().make(resource));
  }
  static_cast<void>(client.maybe_unlink(with_colon));
  static_cast<void>(client.maybe_unlink(with_colon));
  static_cast<void>(
      os::write_all(stage.os(), by_hand->write.get(), os::bytes_of("BAD LINE\nREGISTER:x:y\n")));
  static_cast<void>(client.maybe_unlink(stage.product().file("unknown")));
  by_hand->write.close_quietly();
  wait_for_end(stage, *by_hand);
}

}  // namespace

Scenario loky_clients_are_served() {
  return {
      .name = "tracker/loky_clients_are_served",
      .sentence =
          "Loky mode: lines register, release and forget; at the end of the pipe the rest "
          "is cleaned up.",
      .rows = {"T12", "T5", "T1"},
      .roles = {{"root", root}},
      .expected_noise = {"malformed line",
                         "MAYBE_UNLINK of an unknown name",
                         "leaked file objects",
                         "leaked folder objects"},
      .no_ledger = true,
  };
}

}  // namespace lastref::harness
