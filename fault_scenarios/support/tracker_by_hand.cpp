#include "fault_scenarios/support/tracker_by_hand.hpp"

#include <array>
#include <utility>

#include <lastref/tracker.hpp>

namespace lastref::harness {

Result<TrackerByHand> start_tracker(Stage& stage, std::vector<std::string> arguments) {
  LASTREF_TRY(ends, stage.os().make_pipe());
  TrackerByHand started{.read = os::UniqueFd(stage.os(), ends.read),
                        .write = os::UniqueFd(stage.os(), ends.write)};
  LASTREF_TRY(child,
              stage.os().spawn(
                  {.entry = tracker::entry_point,
                   .arguments = std::move(arguments),
                   .fds = {{.here = started.read.get(), .number_there = 3}},
                   .blocked = {tracker::ignored_signals.begin(), tracker::ignored_signals.end()},
                   .end_wanted = false}));
  started.process = os::UniqueFd(stage.os(), child.process);
  return started;
}

Status wait_for_end(Stage& stage, const TrackerByHand& tracker) {
  const os::Fd process = tracker.process.get();
  std::array<os::PollItem, 1> ended{{{.fd = process, .want_read = true}}};
  return status_of(os::retry_interrupted([&] { return stage.os().poll(ended, std::nullopt); }));
}

}  // namespace lastref::harness
