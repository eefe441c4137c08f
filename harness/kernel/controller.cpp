#include "harness/kernel/controller.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <csignal>
#include <utility>
#include <vector>

#include "harness/instrument/counts_answer.hpp"
#include "harness/kernel/progress_timeout.hpp"
#include "harness/kernel/run_choices.hpp"
#include "harness/platform/child_process.hpp"
#include "harness/platform/folder.hpp"
#include "harness/platform/proc.hpp"
#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {
namespace {

using std::chrono::milliseconds;

/// How often to check whether the holder of the turn is still alive.
constexpr milliseconds look_every{10};
/// A killed process dies as soon as the machine schedules it.
constexpr milliseconds death_timeout = ProgressTimeout::at_most;
constexpr int looks_for_a_stop_max = 1'000'000;

/// The wait status of a dead process that is not yet reaped, as waitpid would return it; absent for
/// a reaped one, for example when its parent ignores SIGCHLD.
std::optional<int> wait_status_of(os::Pid pid) {
  constexpr int exit_code = 52;
  return number_in<int>(
      stat_field_in(read_file("/proc/" + std::to_string(pid) + "/stat"), exit_code));
}

/// Nothing for a file that is too large or cannot be read: a process has removed it, or made it
/// inaccessible.
std::optional<std::string> contents_of(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (!file || ::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode) ||
      static_cast<std::uint64_t>(status.st_size) > looked_at_size_max) {
    return std::nullopt;
  }
  std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
  return ::read(file.get(), bytes.data(), bytes.size()) == status.st_size ? std::optional(bytes)
                                                                          : std::nullopt;
}

/// Waits until a process has stopped after SIGSTOP; a signal sent before that would kill it.
void wait_until_still(os::Pid pid) {
  for (int looks = 0; looks < looks_for_a_stop_max; ++looks) {
    const std::string text = read_file("/proc/" + std::to_string(pid) + "/status");
    if (text.empty() || text.find("State:\tT") != std::string::npos) {
      return;
    }
    // The process may share our core.
    ::sched_yield();
  }
}

/// Whether a signal sent to the process has ended it, or will before it continues. No process here
/// catches signals: one that neither blocks nor ignores a signal dies of it.
///
/// Pending signals are not checked: a process that is exiting has none any more, and is not yet a
/// zombie.
bool is_ending(const Process& process) {
  if ((process.sent & signal_bit(SIGKILL)) != 0) {
    return true;
  }
  if (process.sent == 0 || process.stopped || process.is_first()) {
    return false;  // A stopped process dies of all other signals when it is resumed.
  }
  const auto bits = [&process](std::string_view field) {
    return bits_of_status(process.pid, field).value_or(0);
  };
  return (process.sent & ~bits("SigBlk") & ~bits("SigIgn") & ~bits("SigCgt")) != 0;
}

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

bool KernelController::anybody_lives() noexcept {
  const auto known = std::span(control_block().processes).first(control_block().processes_used);
  return std::ranges::any_of(known, &Process::live);
}

void KernelController::run() {
  observed_at_ = 0;
  death_unseen_ = false;
  see_through("root");
  look_at_files();
}

bool KernelController::run_next_start() {
  death_unseen_ = false;  // No process was left to query.
  const auto before = control_block().interceptors.fired;
  see_through(next_start_role);
  return control_block().interceptors.fired != before;
}

void KernelController::see_through(const char* role) {
  const auto spawned =
      spawn_process(context_, 0, {.role = role, .arguments = {}, .fds = {}, .blocked = {}});
  LASTREF_ASSERT(spawned.has_value());
  go_on();
  while (anybody_lives()) {
    if (take()) {
      serve_request();
    }
  }
  reap();
}

void KernelController::look_at_files() {
  for (const auto& each : entries_below(context_.watched)) {
    const std::string& path = each.path().native();
    std::error_code error;
    if (may_be_published(path) && !each.is_symlink(error) && each.is_regular_file(error)) {
      if (auto bytes = contents_of(path)) {
        files_.push_back(
            {.path = path, .bytes = *std::move(bytes), .moment = context_.run.journal().size()});
      }
    }
  }
}

bool KernelController::take() {
  std::uint64_t seen = control_block().progress.load();
  ProgressTimeout timeout;
  while (!take_controller(control_block(), look_every)) {
    if (confirm_crash()) {
      return false;
    }
    const std::uint64_t now = control_block().progress.load();
    if (now != seen) {
      timeout.reset();
    }
    seen = now;
    timeout.wait(look_every);
    const std::string why =
        timeout.wants_to_know() ? timeout.ends_with(doing_of(children_of(::getpid()))) : "";
    if (!why.empty()) {
      give_up(why + "; the turn is at " + who_waits());
      return false;
    }
  }
  return true;
}

void KernelController::serve_request() {
  const ActorId caller = control_block().current;
  const Request request = control_block().request;
  const RoleText role = control_block().request_role;
  switch (request) {
    case Request::quiet:
      when_quiet();
      return;
    case Request::choose:
      choices_->answer(control_block());
      return;
    case Request::ended:
    case Request::self_kill:
      confirm_requested_death();
      go_on();
      return;
    case Request::kill_all:
      kill_everybody(fact::killed);
      return;
    case Request::kill_role:
      kill_role(role.view());
      break;
    case Request::stop_role:
      stop_role(role.view(), /*stops=*/true);
      break;
    case Request::resume_role:
      stop_role(role.view(), /*stops=*/false);
      break;
    case Request::interrupt_all:
      interrupt_everybody();
      break;
    case Request::settle:
      settle(control_block().request_process);
      break;
    case Request::look:
      if (!observe_at_once()) {
        return;
      }
      break;
    case Request::endless:
      give_up("no rest after " + std::to_string(control_block().interceptors.crossings_allowed) +
              " calls: " + who_waits());
      return;
  }
  const Actor& actor = control_block().actors[caller];
  const bool went_on =
      request == Request::look && control_block().processes[actor.process].base == "tracker";
  if (actor.state == ActorState::gone || went_on) {
    go_on();
  } else if (show_death()) {
    give_turn(control_block(), caller);
  }
}

void KernelController::confirm_requested_death() {
  const std::uint16_t at = control_block().request_process;
  const bool is_killed = control_block().request == Request::self_kill;
  if (is_killed && control_block().processes[at].is_first()) {
    ::kill(control_block().processes[at].pid, SIGKILL);
  }
  confirm_death(at, is_killed ? fact::killed : fact::ended);
}

void KernelController::go_on() {
  if (!anybody_lives() || !show_death()) {
    return;
  }
  if (const std::optional<ActorId> next =
          next_actor(control_block(), /*may_stay=*/false, choices_)) {
    give_turn(control_block(), *next);
  } else {
    when_quiet();
  }
}

void KernelController::when_quiet() {
  if (!resolve()) {
    give_up(who_waits());
  }
}

bool KernelController::has_moved() {
  return control_block().interceptors.crossings != observed_at_;
}

bool KernelController::ask_tracker() {
  observed_at_ = control_block().interceptors.crossings;
  if (!observe(fact::counted) || !anybody_lives()) {
    return true;
  }
  look_at_files();
  const std::optional<ActorId> next = next_actor(control_block(), /*may_stay=*/false, choices_);
  if (next) {
    give_turn(control_block(), *next);
  }
  return next.has_value();
}

bool KernelController::let_doomed_go() {
  for (ActorId at = 0; at < control_block().actors_used; ++at) {
    Actor& actor = control_block().actors[at];
    if (actor.state == ActorState::polling && actor.doomed &&
        !control_block().processes[actor.process].stopped) {
      give_turn(control_block(), at);
      return true;
    }
  }
  return false;
}

bool KernelController::fail_one_waiter() {
  const std::optional<ActorId> waiter = harness::fail_one_waiter(context_.run);
  if (waiter) {
    give_turn(control_block(), *waiter);
  }
  return waiter.has_value();
}

void KernelController::resume(std::uint16_t at) {
  Process& process = control_block().processes[at];
  process.stopped = false;
  ::kill(process.pid, SIGCONT);
  settle(at);
}

bool KernelController::let_stopped_go() {
  bool any = false;
  for (std::uint16_t at = 0; at < control_block().processes_used; ++at) {
    if (control_block().processes[at].live && control_block().processes[at].stopped) {
      resume(at);
      any = true;
    }
  }
  if (any) {
    go_on();
  }
  return any;
}

void KernelController::confirm_death(std::uint16_t at, std::string_view how) {
  Process& process = control_block().processes[at];
  if (!is_dead(process.pid, death_timeout)) {
    note_fact(context_.run, at, fact::hang, "does not die");
  }
  int code = process.exit_code;
  if (how == fact::crashed) {
    const int status = wait_status_of(process.pid).value_or(0);
    code = WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
  }
  process.live = false;
  // A tracker that dies because of a query cannot be queried about its own death.
  death_unseen_ = death_unseen_ || (how == fact::killed && !control_block().interceptors.observing);
  // Whichever of its threads ran last, the next in line is the one after its first thread.
  const auto known = std::span(control_block().actors).first(control_block().actors_used);
  if (known[control_block().current].process == at) {
    const auto first = std::ranges::find(known, at, &Actor::process);
    control_block().current = static_cast<ActorId>(first - known.begin());
  }
  for (Actor& actor : control_block().actors) {
    if (actor.process == at && actor.state != ActorState::unused) {
      actor.state = ActorState::gone;
    }
  }
  note_fact(context_.run, at, fact::died, how, code);
  for (std::uint16_t other = 0; other < control_block().processes_used; ++other) {
    const Process& each = control_block().processes[other];
    if (each.live && each.stopped && each.stopped_by == at) {
      resume(other);
    }
  }
  if (process.is_first()) {
    for (std::uint16_t other = 0; other < control_block().processes_used; ++other) {
      if (control_block().processes[other].live) {
        confirm_death(other, fact::killed);
      }
    }
  }
}

void KernelController::kill_one(std::uint16_t at) {
  ::kill(control_block().processes[at].pid, SIGKILL);
  confirm_death(at, fact::killed);
}

void KernelController::kill_role(std::string_view role) {
  for (std::uint16_t at = 0; at < control_block().processes_used; ++at) {
    const Process& process = control_block().processes[at];
    if (process.live && process.plays(role)) {
      kill_one(at);
    }
  }
}

void KernelController::kill_everybody(std::string_view how) {
  if (has_own_pids_) {
    ::kill(-1, SIGKILL);
  }
  for (std::uint16_t at = 0; at < control_block().processes_used; ++at) {
    // A process that is being started has no number yet, and 0 would mean our whole process group.
    if (control_block().processes[at].live && control_block().processes[at].pid > 0) {
      ::kill(control_block().processes[at].pid, SIGKILL);
    }
  }
  for (std::uint16_t at = 0; at < control_block().processes_used; ++at) {
    if (control_block().processes[at].live) {
      confirm_death(at, how);
    }
  }
}

void KernelController::stop_role(std::string_view role, bool stops) {
  for (std::uint16_t at = 0; at < control_block().processes_used; ++at) {
    Process& process = control_block().processes[at];
    const bool is_caller = at == control_block().actors[control_block().current].process;
    if (process.live && !is_caller && process.plays(role)) {
      ::kill(process.pid, stops ? SIGSTOP : SIGCONT);
      process.stopped = stops;
      process.stopped_by = control_block().actors[control_block().current].process;
      settle(at);
    }
  }
}

void KernelController::interrupt_everybody() {
  const auto spawned = std::span(control_block().processes).first(control_block().processes_used);
  for (Process& process : spawned) {
    if (process.live) {
      process.sent |= signal_bit(SIGINT);
      ::kill(process.pid, SIGINT);
    }
  }
  for (std::uint16_t at = 0; at < spawned.size(); ++at) {
    settle(at);
  }
}

void KernelController::settle(std::uint16_t at) {
  const Process& process = control_block().processes[at];
  if (process.live && is_ending(process)) {
    confirm_death(at, fact::killed);
  } else if (process.live && process.stopped) {
    wait_until_still(process.pid);
  }
}

bool KernelController::confirm_crash() {
  const std::uint16_t at = control_block().actors[control_block().current].process;
  const Process& process = control_block().processes[at];
  if (!process.live || !is_dead(process.pid, milliseconds(0))) {
    return false;
  }
  stop_observing();
  // It may have made a request just before it died; then that is the cause of its death.
  if (take_controller(control_block(), milliseconds(0))) {
    serve_request();
    return true;
  }
  // A signal that it had blocked makes it die by itself, but not through a bug of its own.
  const std::optional<int> status = wait_status_of(process.pid);
  const bool was_sent =
      status ? WIFSIGNALED(*status) && (process.sent & signal_bit(WTERMSIG(*status))) != 0
             : process.sent != 0;
  confirm_death(at, was_sent ? fact::killed : fact::crashed);
  go_on();
  return true;
}

void KernelController::give_up(const std::string& why) {
  stop_observing();
  note_fact(context_.run, 0, fact::hang, why);
  kill_everybody(fact::swept);
}

std::string KernelController::who_waits() {
  std::string text;
  for (ActorId at = 0; at < control_block().actors_used; ++at) {
    const Actor& actor = control_block().actors[at];
    if (actor.state == ActorState::unused || actor.state == ActorState::gone) {
      continue;
    }
    const Process& process = control_block().processes[actor.process];
    text.append(text.empty() ? "" : ", ").append(process.role.view());
    text.append(actor.state == ActorState::ready ? " runs" : " in ");
    if (actor.state != ActorState::ready) {
      text.append(actor.name.view());
    }
    if (actor.state == ActorState::awaiting) {
      text.append(" ").append(actor.object.view());
    }
    text.append(process.stopped ? " (stopped)" : "");
  }
  return text;
}

void KernelController::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
  }
  if (pid < 0) {
    return;  // No process is left: every orphan is a child of ours.
  }
  const std::string children = read_file("/proc/thread-self/children");
  note_fact(context_.run, 0, fact::stray, "process " + children);
  if (has_own_pids_) {
    ::kill(-1, SIGKILL);
  }
  for (const char* at = children.data(); at < children.data() + children.size();) {
    const auto [end, wrong] = std::from_chars(at, children.data() + children.size(), pid);
    if (wrong == std::errc{}) {
      ::kill(pid, SIGKILL);
    }
    at = end + 1;
  }
  while (::waitpid(-1, &status, __WALL) > 0 || errno == EINTR) {
  }
}

void KernelController::stop_observing() noexcept {
  control_block().interceptors.observing = false;
  question_.reset();
}

bool KernelController::let_tracker_go() {
  control_block().interceptors.observing = true;
  for (;;) {
    const std::optional<ActorId> next = next_actor(control_block(), /*may_stay=*/false, choices_);
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
