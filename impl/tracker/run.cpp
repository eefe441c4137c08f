#include <lastref/spawned.hpp>
#include <lastref/tracker.hpp>

#include "impl/os/within_memory.hpp"
#include "impl/tracker/daemon.hpp"
#include "impl/tracker/insist.hpp"
#include "impl/tracker/loky.hpp"

namespace lastref::tracker {
namespace {

/// Blocked by whoever started us; from here on they are ignored instead (T1).
void ignore_interrupts(os::Os& os) {
  for (const os::Signal signal : ignored_signals) {
    Status deaf = os.ignore_signal(signal);
    if (deaf) {
      deaf = os.unblock_signal(signal);
    }
    if (!deaf) {
      // Better a tracker that can be interrupted than one that does not start.
      os::report_quietly(os, [&] { return "lastref tracker: " + describe(deaf.error()); });
    }
  }
}

int exit_code_of(os::Os& os, const Status& served) {
  if (!served) {
    os::report_quietly(os, [&] { return "lastref tracker: gave up: " + describe(served.error()); });
  }
  return served ? 0 : could_not;
}

}  // namespace

int run(os::Os& os, std::span<const std::string> arguments) noexcept {
  os.keep_to_itself({}, spawned_marker);
  if (arguments.size() == 2 && arguments[0] == "--loky-fd" &&
      arguments[1] == std::to_string(passed_fd)) {
    return run_loky(os, static_cast<os::Fd>(passed_fd));
  }
  ignore_interrupts(os);
  if (arguments.size() != 1) {
    os::report_quietly(os, "lastref tracker: needs the folder of a tree");
    return could_not;
  }
  os::UniqueFd listener(os, static_cast<os::Fd>(passed_fd));
  auto daemon =
      insist(os, [&] { return Daemon::start(os, {.folder = arguments[0]}, std::move(listener)); });
  return exit_code_of(
      os, daemon ? (*daemon)->serve() : Status(tl::unexpected<Error>(std::move(daemon.error()))));
}

int run_loky(os::Os& os, os::Fd pipe) noexcept {
  const os::UniqueFd owned(os, pipe);
  LokyTracker tracker(os, pipe);
  // While signals still end us: nobody could end one that waits at a wrong descriptor.
  if (const Status usable = tracker.check_pipe(); !usable) {
    os::report_quietly(os, [&] {
      return "lastref tracker: --loky-fd " + std::to_string(static_cast<int>(pipe)) +
             " is no pipe that can be read: " + describe(usable.error());
    });
    return could_not;
  }
  ignore_interrupts(os);
  return exit_code_of(os, tracker.serve());
}

}  // namespace lastref::tracker
