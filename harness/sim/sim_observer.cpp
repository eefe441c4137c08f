#include "harness/sim/sim_observer.hpp"

#include <optional>
#include <vector>

#include <lastref/tracker.hpp>

#include "harness/sim/sim_stage.hpp"
#include "impl/tracker/codec.hpp"

namespace lastref::harness::sim {
namespace {

/// The last tracker that was started; it is the one that lives.
const Member* tracker_of(const SimRun& run) {
  const Member* found = nullptr;
  for (const Member* each : run.by_index) {
    found = each->base == tracker::entry_point ? each : found;
  }
  const bool lives = found != nullptr && found->system->process().life == SimProcess::Life::running;
  return lives && !found->system->process().stopped ? found : nullptr;
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

void note(SimRun& run, const Member& tracker, const std::vector<tracker::Entry>& entries) {
  for (const tracker::Entry& entry : entries) {
    const auto count = static_cast<std::int64_t>(entry.count);
    run.note(tracker, RecordKind::fact, fact::count, to_text(entry.resource), count);
    run.journal.back().k = static_cast<std::uint32_t>(entry.holder);
  }
  run.note(tracker, RecordKind::fact, fact::counted, {}, static_cast<std::int64_t>(entries.size()));
}

}  // namespace

void observe(SimRun& run) {
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
    scheduler.only = [member](const SimProcess& process) {
      return &process == &member->system->process();
    };
    const auto question = tracker::encode({.verb = tracker::Verb::counts, .id = 1, .entries = {}});
    static_cast<void>(kernel.send(observer, *socket, question, {}));
    scheduler.run();
    const auto entries = read_answer(kernel, observer, *socket);
    static_cast<void>(kernel.close(observer, *socket));
    scheduler.run();  // So that it has forgotten us before anything counts again.
    scheduler.only = nullptr;
    run.interceptors.observing = false;
    if (entries) {
      note(run, *member, *entries);
    }
    return;
  }
  static_cast<void>(kernel.close(observer, *socket));
}

}  // namespace lastref::harness::sim
