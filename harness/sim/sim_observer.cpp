#include "harness/sim/sim_observer.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include <lastref/tracker.hpp>

#include "harness/instrument/counts_answer.hpp"
#include "harness/sim/sim_stage.hpp"

namespace lastref::harness::sim {
namespace {

bool lives(const Member& member) {
  const SimProcess& process = member.system->process();
  return process.state == SimProcess::State::running && !process.doomed;
}

bool is_tracker(const Member& member) {
  return member.base == tracker::entry_point;
}

/// The first running tracker: a second one only finds out that there is one.
const Member* tracker_of(const SimRun& run) {
  const auto found = std::ranges::find_if(run.by_index, [](const Member* each) {
    return is_tracker(*each) && lives(*each) && !each->system->process().stopped;
  });
  return found == run.by_index.end() ? nullptr : *found;
}

/// Absent if the answer is not complete.
std::optional<std::vector<Counted>> read_answer(SimKernel& kernel,
                                                SimProcess& observer,
                                                os::Fd socket) {
  std::vector<Counted> counted;
  std::vector<std::byte> buffer(counts_packet_max);
  for (;;) {
    const auto received = kernel.receive(observer, socket, buffer);
    if (!received || received->size == 0) {
      return std::nullopt;
    }
    switch (read_counts(std::span(buffer).first(received->size), counted)) {
      case CountsPacket::malformed:
        return std::nullopt;
      case CountsPacket::more_follow:
        break;
      case CountsPacket::last:
        return counted;
    }
  }
}

void note(SimRun& run,
          const Member& tracker,
          const std::vector<Counted>& counted,
          std::string_view fact) {
  for (const Counted& each : counted) {
    const auto count = static_cast<std::int64_t>(each.count);
    run.note(tracker, RecordKind::fact, fact::count, to_text(each.resource), count);
    run.journal.back().k = static_cast<std::uint32_t>(each.holder);
  }
  run.note(tracker, RecordKind::fact, fact, {}, static_cast<std::int64_t>(counted.size()));
}

}  // namespace

void observe(SimRun& run, std::string_view fact) {
  const Member* member = tracker_of(run);
  if (member == nullptr || run.listener.empty()) {
    return;
  }
  SimKernel& kernel = run.machine.kernel;
  Scheduler& scheduler = run.machine.scheduler;
  SimProcess& observer = *run.maker;
  const auto socket = kernel.make_socket(observer);
  LASTREF_ASSERT(socket.has_value());
  if (kernel.connect(observer, *socket, run.listener)) {
    run.interceptors.observing = true;
    const auto trackers = [&run](const SimProcess& process) {
      const Member* const each = run.member_of(process);
      return each != nullptr && is_tracker(*each);
    };
    static_cast<void>(
        kernel.send(observer, *socket, std::as_bytes(std::span(counts_question)), {}));
    scheduler.run_alone(trackers);
    const auto counted = read_answer(kernel, observer, *socket);
    static_cast<void>(kernel.close(observer, *socket));
    scheduler.run_alone(trackers);  // It has to drop our connection before the next count.
    run.interceptors.observing = false;
    if (counted) {
      note(run, *member, *counted, fact);
    }
    return;
  }
  static_cast<void>(kernel.close(observer, *socket));
}

void observe_at_once(SimRun& run) {
  // Without any other process, the tracker would end during the query, where no fault can be
  // injected.
  const bool anybody_holds = std::ranges::any_of(
      run.by_index, [](const Member* each) { return !is_tracker(*each) && lives(*each); });
  if (anybody_holds) {
    observe(run, fact::counted_at_once);
  }
}

}  // namespace lastref::harness::sim
