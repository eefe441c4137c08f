#include <charconv>
#include <optional>

#include <lastref/loky.hpp>
#include <lastref/spawned.hpp>
#include <lastref/tracker.hpp>

#include "impl/os/within_memory.hpp"
#include "impl/tracker/daemon.hpp"
#include "impl/tracker/insist.hpp"
#include "impl/tracker/loky.hpp"

namespace lastref::tracker {
namespace {

/// Errors          invalid_argument: the arguments make no sense.
Result<OldParts> old_parts_of(os::Os& os, std::span<const std::string> arguments) noexcept {
  const auto wrong = failure(std::errc::invalid_argument, {});
  OldParts parts;
  if (arguments.size() == 3 && arguments[1] == old_locks_option) {
    int locks = 0;
    const char* const end = arguments[2].data() + arguments[2].size();
    const auto read = std::from_chars(arguments[2].data(), end, locks);
    if (read.ec != std::errc{} || read.ptr != end || locks < 0) {
      return wrong;
    }
    parts.ledger = os::UniqueFd(os, static_cast<os::Fd>(old_ledger_fd));
    const bool has_space =
        os::had_memory([&] { parts.locks.reserve(static_cast<std::size_t>(locks)); });
    for (int at = 0; at < locks; ++at) {
      os::UniqueFd lock(os, static_cast<os::Fd>(first_old_lock_fd + at));
      if (has_space) {
        parts.locks.push_back(std::move(lock));
      }
    }
    if (!has_space) {
      return os::no_memory("old locks");
    }
  } else if (arguments.size() != 1) {
    return wrong;
  }
  return parts;
}

/// The process that started us has blocked these signals; from here on we ignore them instead (T1).
void ignore_interrupts(os::Os& os) {
  for (const os::Signal signal : ignored_signals) {
    Status deaf = os.ignore_signal(signal);
    if (deaf) {
      deaf = os.unblock_signal(signal);
    }
    if (!deaf) {
      // A tracker that can be interrupted is better than one that does not start.
      os::report_quietly(os, [&] { return "lastref tracker: " + describe(deaf.error()); });
    }
  }
}

int exit_code_of(os::Os& os, const Result<int>& code) {
  if (!code) {
    os::report_quietly(os, [&] { return "lastref tracker: gave up: " + describe(code.error()); });
  }
  return code.value_or(could_not);
}

/// Serves the tree of the arguments until it ends. Returns the exit code.
Result<int> serve(os::Os& os, std::span<const std::string> arguments) {
  auto old_parts = old_parts_of(os, arguments);
  if (failed_with(old_parts, std::errc::invalid_argument)) {
    os::report_quietly(os, "lastref tracker: needs the folder of a tree");
    return could_not;
  }
  os::UniqueFd listener(os, static_cast<os::Fd>(passed_fd));
  LASTREF_TRY(old, std::move(old_parts));
  // The old parts of a tree are taken once: if the start fails, the root starts another tracker.
  const TreePaths paths{.folder = arguments[0]};
  LASTREF_TRY(daemon,
              old.ledger
                  ? Daemon::start(os, paths, std::move(listener), std::move(old))
                  : insist(os, [&] { return Daemon::start(os, paths, std::move(listener)); }));
  LASTREF_CHECK(daemon->serve());
  return 0;
}

}  // namespace

int run(os::Os& os, std::span<const std::string> arguments) noexcept {
  static_cast<void>(os::had_memory([&] { os.hide_from_children({}, spawned_marker); }));
  if (arguments.size() == 2 && arguments[0] == "--loky-fd" &&
      arguments[1] == std::to_string(passed_fd)) {
    return run_loky(os, static_cast<os::Fd>(passed_fd));
  }
  ignore_interrupts(os);
  return exit_code_of(os, os::within_memory("the tracker", [&] { return serve(os, arguments); }));
}

int run_loky(os::Os& os, os::Fd pipe) noexcept {
  const os::UniqueFd owned(os, pipe);
  LokyTracker tracker(os, pipe);
  // While signals still end this process: later they could not, if it waited at a wrong descriptor.
  if (const Status usable = tracker.check_pipe(); !usable) {
    os::report_quietly(os, [&] {
      return "lastref tracker: --loky-fd " + std::to_string(static_cast<int>(pipe)) +
             " is no pipe that can be read: " + describe(usable.error());
    });
    return could_not;
  }
  ignore_interrupts(os);
  return exit_code_of(os, tracker.serve().map([] { return 0; }));
}

}  // namespace lastref::tracker
