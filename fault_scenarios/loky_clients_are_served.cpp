#include <array>

#include <lastref/loky_client.hpp>
#include <lastref/owners.hpp>
#include <lastref/tracker.hpp>

#include "fault_scenarios/scenarios.hpp"

namespace lastref::harness {
namespace {

void root(Stage& stage) {
  const auto ends = stage.os().make_pipe();
  if (!ends) {
    return;
  }
  os::UniqueFd read(stage.os(), ends->read);
  os::UniqueFd write(stage.os(), ends->write);
  const auto child = stage.os().spawn({.entry = tracker::entry_point,
                                       .arguments = {"--loky-fd", "3"},
                                       .fds = {{.here = read.get(), .number_there = 3}},
                                       .blocked = {os::Signal::interrupt, os::Signal::terminate}});
  if (!child) {
    return;
  }
  const os::UniqueFd process(stage.os(), child->process);
  // From its first instant on, it is deaf to these (T1).
  static_cast<void>(stage.os().signal_process(process.get(), os::Signal::interrupt));
  static_cast<void>(stage.os().signal_process(process.get(), os::Signal::terminate));
  read.close_quietly();
  const Resource with_colon = stage.file("a:b.bin");
  const Resource left = stage.file("left.bin");
  const Resource folder = stage.folder_of("left");
  tracker::LokyClient client(stage.os(), write.get());
  static_cast<void>(
      os::write_all(stage.os(), write.get(), os::bytes_of("PROBE:0:noop\nPROBE::\n")));
  for (const Resource& resource : {with_colon, with_colon, folder, left}) {
    if (!client.register_name(resource)) {
      return;
    }
  }
  for (const Resource& resource : {with_colon, folder, left}) {
    static_cast<void>(stage.make(resource));
  }
  static_cast<void>(client.maybe_unlink(with_colon));
  static_cast<void>(client.maybe_unlink(with_colon));
  static_cast<void>(
      os::write_all(stage.os(), write.get(), os::bytes_of("BAD LINE\nREGISTER:x:y\n")));
  static_cast<void>(client.maybe_unlink(stage.file("unknown")));
  write.close_quietly();
  std::array<os::PollItem, 1> ended{{{.fd = process.get(), .want_read = true}}};
  static_cast<void>(os::retry_interrupted([&] { return stage.os().poll(ended, std::nullopt); }));
  static_cast<void>(stage.os().wait_child(process.get()));
}

}  // namespace

Scenario loky_clients_are_served() {
  return {
      .name = "loky/lines_are_obeyed_and_the_end_cleans_up",
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
