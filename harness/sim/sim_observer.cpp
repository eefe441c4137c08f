#include "harness/sim/sim_observer.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <lastref/tracker.hpp>

#include "harness/sim/sim_stage.hpp"
#include "impl/tracker/codec.hpp"

namespace lastref::harness::sim {
namespace {

bool lives(const Member& member) {
  const SimProcess& process = member.system->process();
  return process.life == SimProcess::Life::running && !process.doomed;
}

bool is_tracker(const Member& member) {
  return member.base == tracker::entry_point;
}

/// The first that lives: a second one only comes to see that there is one.
const Member* tracker_of(const SimRun& run) {
  const auto found = std::ranges::find_if(run.by_index, [](const Member* each) {
    return is_tracker(*each) && lives(*each) && !each->system->process().stopped;
  });
  return found == run.by_index.end() ? nullptr : *found;
}

/// Nothing if the answer is not whole.
std::optional<std::vector<tracker::Entry>> read_answer(SimKernel& kernel,
                                                       SimProcess& observer,
                                                       os::Fd socket) {
  std::vector<tracker::Entry> entries;
  std::vector<std::byte> buffer(tracker::packet_size_max + 1);
  for (;;) {
    const auto received = kernel.receive(observer, socket, buffer);
    if (!received || received->size == 0) {
      return std::nullopt;
    }
    const auto reply = tracker::decode(os::Bytes(buffer).first(received->size));
    if (!reply) {
      return std::nullopt;
    }
    entries.insert(entries.end(), reply->entries.begin(), reply->entries.end());
    if (!reply->more) {
      return entries;
    }
  }
}

void note(SimRun& run,
          const Member& tracker,
          const std::vector<tracker::Entry>& entries,
          std::string_view fact) {
  for (const tracker::Entry& entry : entries) {
    const auto count = static_cast<std::int64_t>(entry.count);
    run.note(tracker, RecordKind::fact, fact::count, to_text(entry.resource), count);
    run.journal.back().k = static_cast<std::uint32_t>(entry.holder);
  }
  run.note(tracker, RecordKind::fact, fact, {}, static_cast<std::int64_t>(entries.size()));
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
    const auto question = tracker::encode({.verb = tracker::Verb::counts, .id = 1, .entries = {}});
    static_cast<void>(kernel.send(observer, *socket, question, {}));
    scheduler.run_alone(trackers);
    const auto entries = read_answer(kernel, observer, *socket);
    static_cast<void>(kernel.close(observer, *socket));
    scheduler.run_alone(trackers);  // So that it has forgotten us before anything counts again.
    run.interceptors.observing = false;
    if (entries) {
      note(run, *member, *entries, fact);
    }
    return;
  }
  static_cast<void>(kernel.close(observer, *socket));
}

void observe_at_once(SimRun& run) {
  // With nobody left the tracker would end before our eyes, where no fault can meet it.
  const bool anybody_holds = std::ranges::any_of(
      run.by_index, [](const Member* each) { return !is_tracker(*each) && lives(*each); });
  if (anybody_holds) {
    observe(run, fact::counted_at_once);
  }
}

}  // namespace lastref::harness::sim
