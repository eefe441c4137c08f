#include <array>

#include <lastref/owners.hpp>
#include <lastref/tracker.hpp>

#include "fault_scenarios/scenarios.hpp"

namespace lastref::harness {
namespace {

/// Somebody who starts a tracker for a tree that has one: by hand, or because they think that it
/// has died.
void start_another(Stage& stage, const std::string& tree) {
  const auto ends = stage.os().make_pipe();
  if (!ends) {
    return;
  }
  const os::UniqueFd read(stage.os(), ends->read);
  const os::UniqueFd write(stage.os(), ends->write);
  const auto child = stage.os().spawn({.entry = tracker::entry_point,
                                       .arguments = {tree},
                                       .fds = {{.here = read.get(), .number_there = 3}},
                                       .blocked = {os::Signal::interrupt, os::Signal::terminate}});
  if (!child) {
    return;
  }
  const os::UniqueFd process(stage.os(), child->process);
  std::array<os::PollItem, 1> ended{{{.fd = process.get(), .want_read = true}}};
  static_cast<void>(os::retry_interrupted([&] { return stage.os().poll(ended, std::nullopt); }));
  static_cast<void>(stage.os().wait_child(process.get()));
}

void root(Stage& stage) {
  const Resource file = stage.file("counted_by_one.bin");
  if (!stage.lead() || !stage.register_name(file) || !stage.make(file)) {
    return;
  }
  const auto tree = stage.client().tree();
  if (!tree) {
    return;
  }
  start_another(stage, *tree);
  stage.must_exist(file);
  static_cast<void>(stage.client().probe());
  static_cast<void>(stage.release(file));
}

}  // namespace

Scenario a_second_tracker_gives_way() {
  return {
      .name = "start/a_second_tracker_gives_way",
      .sentence =
          "A tree has one tracker: a second one ends at once, and touches neither the ledger nor "
          "a name.",
      .rows = {"T6", "T1"},
      .roles = {{"root", root}},
      .expected_noise = {"gave up: lock_range the tracker's lock"},
  };
}

}  // namespace lastref::harness
