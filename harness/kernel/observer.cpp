// observer: queries the tracker's counts as a stranger, while no other actor runs.
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "harness/instrument/counts_answer.hpp"
#include "harness/kernel/controller.hpp"

namespace lastref::harness {
namespace {

/// Scenarios with more names than fit into a journal count them themselves.
constexpr std::size_t counts_max = 5000;

/// A connection to the tracker on which the question was sent, if there is one.
UniqueFd ask_at(std::string_view path) noexcept {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof(address.sun_path)) {
    return {};
  }
  std::copy(path.begin(), path.end(), address.sun_path);
  UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool has_asked =
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 &&
      ::send(socket.get(), counts_question.data(), counts_question.size(), MSG_NOSIGNAL) ==
          static_cast<ssize_t>(counts_question.size());
  return has_asked ? std::move(socket) : UniqueFd();
}

/// Whether a whole answer has arrived.
bool read_answer(int socket, std::vector<Counted>& into) {
  std::vector<std::byte> packet(counts_packet_max);
  for (;;) {
    const ssize_t size = ::recv(socket, packet.data(), packet.size(), 0);
    if (size <= 0) {
      return false;
    }
    switch (read_counts(std::span(packet).first(static_cast<std::size_t>(size)), into)) {
      case CountsPacket::malformed:
        return false;
      case CountsPacket::more_follow:
        break;
      case CountsPacket::last:
        return true;
    }
  }
}

void note_count(RunContext& context, std::uint16_t tracker, const Counted& counted) {
  Record* record = context.run.journal().claim();
  if (record == nullptr) {
    return;
  }
  record->process = tracker;
  record->role = context.run.control_block().processes[tracker].role;
  record->name.assign(fact::count);
  record->text.assign(to_text(counted.resource));
  record->value = static_cast<std::int64_t>(counted.count);
  record->k = static_cast<std::uint32_t>(counted.holder);
  Journal::publish(*record);
}

}  // namespace

void KernelController::stop_observing() noexcept {
  control_block().interceptors.observing = false;
  question_.reset();
}

bool KernelController::let_tracker_go() {
  control_block().interceptors.observing = true;
  for (;;) {
    const std::optional<ActorId> next = next_actor(control_block(), /*may_stay=*/false);
    if (!next) {
      control_block().interceptors.observing = false;
      return true;
    }
    give_turn(control_block(), *next);
    if (!take()) {
      return false;
    }
    const Request request = control_block().request;
    if (request == Request::ended || request == Request::self_kill) {
      confirm_requested_death();
    } else if (request != Request::quiet) {
      stop_observing();
      serve_request();
      return false;
    }
  }
}

bool KernelController::observe(std::string_view fact) {
  const auto known = std::span(control_block().processes).first(control_block().processes_used);
  const auto tracker = std::ranges::find_if(known, [](const Process& process) {
    return process.live && !process.stopped && process.base == "tracker";
  });
  if (tracker == known.end()) {
    return true;
  }
  const ActorId current = control_block().current;
  const std::uint32_t turns_on_end = control_block().turns_on_end;
  question_ = ask_at(control_block().listener.view());
  if (!question_) {
    return true;
  }
  if (!let_tracker_go()) {
    return false;
  }
  std::vector<Counted> answer;
  const bool is_whole = read_answer(question_.get(), answer);
  stop_observing();
  // Run it once more, so that it has dropped our connection before anything is counted again.
  if (!let_tracker_go()) {
    return false;
  }
  control_block().current = current;
  control_block().turns_on_end = turns_on_end;
  if (!is_whole || answer.size() > counts_max) {
    return true;
  }
  const auto index = static_cast<std::uint16_t>(tracker - known.begin());
  for (const Counted& counted : answer) {
    note_count(context_, index, counted);
  }
  note_fact(context_.run, index, fact, {}, static_cast<std::int64_t>(answer.size()));
  return true;
}

bool KernelController::show_death() {
  return !std::exchange(death_unseen_, false) || !control_block().interceptors.wants_look() ||
         observe_at_once();
}

bool KernelController::observe_at_once() {
  // Without any other process, the tracker would end during the query, where no fault can be
  // injected.
  const auto known = std::span(control_block().processes).first(control_block().processes_used);
  const bool anybody_holds = std::ranges::any_of(
      known, [](const Process& process) { return process.live && process.base != "tracker"; });
  if (anybody_holds && !observe(fact::counted_at_once)) {
    return false;
  }
  look_at_files();
  return true;
}

}  // namespace lastref::harness
