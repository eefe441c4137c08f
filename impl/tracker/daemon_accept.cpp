// How the tracker accepts connections, and what it sends to clients that it has no space for.
#include <lastref/probe.hpp>

#include "impl/os/within_memory.hpp"
#include "impl/tracker/daemon.hpp"

namespace lastref::tracker {
namespace {

/// This many connections in a row may end before they are accepted; more are a failure.
constexpr int aborted_max = 64;
/// Accepting may fail this often in a row before the tracker exits.
constexpr int failures_max = 10;
constexpr std::chrono::milliseconds pause_after_failure{50};
/// Without space it is tried again after each of these pauses, ten seconds, while a client is
/// served.
constexpr int want_of_space_max = 200;
/// So that another user cannot fill the disk that standard error is written to.
constexpr std::uint64_t refusals_told_max = 10;

/// Whether the error may go away when others free something.
bool is_want_of_space(std::errc code) {
  return code == std::errc::too_many_files_open ||
         code == std::errc::too_many_files_open_in_system || code == std::errc::no_buffer_space ||
         code == std::errc::not_enough_memory;
}

}  // namespace

Status Daemon::accept_all() {
  for (int aborted = 0;;) {
    auto socket = os::retry_interrupted([&] { return os_.accept(listener_.get()); });
    if (!socket) {
      const std::errc code = socket.error().code;
      if (code == std::errc::connection_aborted && ++aborted < aborted_max) {
        os_.saw(Probe::connection_gone_before_accepted);
        continue;  // That connection is closed; the next may not be.
      }
      if (code == std::errc::resource_unavailable_try_again) {
        accept_failures_ = 0;
        return ok();
      }
      if (is_want_of_space(code) && refuse_one(code)) {
        accept_failures_ = 0;
        continue;
      }
      return put_off_accepting(socket.error());
    }
    accept_one(os::UniqueFd(os_, *socket));
  }
}

/// Without memory the connection is closed: its process connects again.
void Daemon::accept_one(os::UniqueFd accepted) {
  const auto peer = os_.peer_of(accepted.get());
  if (!peer || (peer->user != os_.user_id() && peer->user != 0)) {
    if (++refused_ <= refusals_told_max) {
      os::report_quietly(os_, [&] {
        return "lastref tracker: refused a connection " +
               (peer ? "of another user" : "of somebody unknown: " + describe(peer.error()));
      });
    }
    return;
  }
  const ConnectionId id = ++last_connection_;
  connections_.emplace(id, Connection{.link = Link(os_, std::move(accepted)), .peer = *peer});
  read_all(id);
}

/// There is no space for a connection, but for one that is told so at once and closed. Whether that
/// was done; who had not yet spoken comes again.
bool Daemon::refuse_one(std::errc why) {
  if (!spare_) {
    return false;
  }
  spare_.close_quietly();
  auto socket = os::retry_interrupted([&] { return os_.accept(listener_.get()); });
  const bool accepted = socket.has_value();
  if (accepted) {
    os_.saw(Probe::connection_refused_for_space);
    if (++refused_ <= refusals_told_max) {
      os::report_quietly(os_,
                         "lastref tracker: refused a connection: no descriptor is free for it, of "
                         "as many as the tracker may have (RLIMIT_NOFILE)");
    }
    Link link(os_, os::UniqueFd(os_, *socket));
    for (Arrival arrival = link.receive();
         arrival == Arrival::message || arrival == Arrival::malformed;
         arrival = link.receive()) {
      const auto& refusal = link.refusal();
      if (arrival == Arrival::message || refusal) {
        link.reply(arrival == Arrival::message ? link.received().id : refusal->id, why);
      }
      link.received_fds().clear();
    }
  }
  keep_spare();
  return accepted;
}

/// A descriptor that is given up for a moment where another one is needed.
void Daemon::keep_spare() {
  auto folder = os::open_file(os_, paths_.folder, {.folder = true});
  if (folder) {
    static_cast<void>(os_.lock_folder(folder->get()));  // Against what removes by age.
    spare_ = *std::move(folder);
  } else if (++refused_ <= refusals_told_max) {
    os::report_quietly(os_, [&] {
      return "lastref tracker: no descriptor is left to spare: " + describe(folder.error());
    });
  }
}

/// Accepting fails. Connected clients are served all the same, for long. The backlog contains no
/// holder except members that lost their connection, and the next round sees that they have none.
Status Daemon::put_off_accepting(const Error& why) {
  if (++accept_failures_ == 1) {
    os_.saw(Probe::accepting_put_off);
    round_was_full_ = false;
    os::report_quietly(
        os_, [&] { return "lastref tracker: nobody can be let in for now: " + describe(why); });
  }
  const bool can_wait = is_want_of_space(why.code) && !connections_.empty();
  if (accept_failures_ >= (can_wait ? want_of_space_max : failures_max)) {
    return failure(why);
  }
  accept_again_ = os_.now() + pause_after_failure;
  return ok();
}

}  // namespace lastref::tracker
