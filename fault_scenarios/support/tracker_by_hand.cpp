#include "fault_scenarios/support/tracker_by_hand.hpp"

#include <array>
#include <utility>

#include <lastref/tracker.hpp>

namespace lastref::harness {

std::optional<TrackerByHand> start_tracker(Stage& stage, std::vector<std::string> arguments) {
  const auto ends = stage.os().make_pipe();
  if (!ends) {
    return std::nullopt;
  }
  TrackerByHand started{.read = os::UniqueFd(stage.os(), ends->read),
                        .write = os::UniqueFd(stage.os(), ends->write)};
  const auto child = stage.os().spawn(
      {.entry = tracker::entry_point,
       .arguments = std::move(arguments),
       .fds = {{.here = started.read.get(), .number_there = 3}},
       .blocked = {tracker::ignored_signals.begin(), tracker::ignored_signals.end()}});
  if (!child) {
    return std::nullopt;
  }
  started.process = os::UniqueFd(stage.os(), child->process);
  return started;
}

void wait_for_end(Stage& stage, const TrackerByHand& tracker) {
  const os::Fd process = tracker.process.get();
  std::array<os::PollItem, 1> ended{{{.fd = process, .want_read = true}}};
  static_cast<void>(os::retry_interrupted([&] { return stage.os().poll(ended, std::nullopt); }));
  static_cast<void>(stage.os().wait_child(process));
}

}  // namespace lastref::harness
