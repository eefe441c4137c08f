#include "harness/kernel/ungated_controller.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <span>

#include "harness/platform/child_process.hpp"
#include "harness/platform/proc.hpp"

namespace lastref::harness {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How often to check for dead processes.
constexpr milliseconds check_every{1};
/// How often to check whether any process could continue. After this many consecutive checks
/// without one, a wait is cancelled.
constexpr int checks_between = 10;
constexpr int checks_at_rest = 8;
/// One in this many kills hits all processes.
constexpr unsigned whole_one_in = 8;

/// Whether fork waits for other threads in the allocator. That of AddressSanitizer does not in GCC
/// 12. ThreadSanitizer's does, and has a thread of its own.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool is_allocator_ready_for_fork = false;
#else
constexpr bool is_allocator_ready_for_fork = true;
#endif

bool is_ready(int descriptor) noexcept {
  pollfd item{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&item, 1, 0) == 1;
}

bool can_be_killed(const Process& process) noexcept {
  return process.live && process.pid > 0 && !process.has_ended;
}

}  // namespace

UngatedController::UngatedController(RunContext& context,
                                     std::uint64_t seed,
                                     const RandomEvents& events)
    : context_(context), chance_(seed) {
  std::uniform_int_distribution<std::int64_t> when(0,
                                                   std::max<std::int64_t>(events.span.count(), 1));
  for (unsigned kill = 0; kill < events.kills; ++kill) {
    due_.push_back(microseconds(when(chance_)));
  }
  std::ranges::sort(due_);
  control_block().ungated.noise = events.noise;
}

std::span<Process> UngatedController::processes() noexcept {
  return std::span(control_block().processes).first(control_block().processes_used);
}

void UngatedController::run() {
  UngatedMember starter(context_.run, 0);
  UngatedOs os(context_, starter);
  const auto root =
      os.spawn({.entry = "root", .arguments = {""}, .fds = {}, .blocked = {}, .end_wanted = false});
  LASTREF_ASSERT(root.has_value());
  const Status closed = os.close(root->process);
  LASTREF_ASSERT(closed.has_value());
  while (reap()) {
    note_deaths();
    kill_if_due();
    if (++checks_ % checks_between == 0) {
      check_progress();
    }
    ::poll(nullptr, 0, static_cast<int>(check_every.count()));
  }
  note_deaths();
  // The thread of the product that reaps the root ends after it. A child that is forked meanwhile
  // could inherit an allocator that this thread has locked.
  while (!is_allocator_ready_for_fork && numbers_in("/proc/self/task").size() > 1) {
    ::poll(nullptr, 0, static_cast<int>(check_every.count()));
  }
  took_ = std::chrono::duration_cast<microseconds>(steady_clock::now() - started_);
}

bool UngatedController::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
    statuses_[pid] = status;
  }
  return pid == 0 || errno != ECHILD;
}

/// The state of a process without a pid is unknown until none is left.
void UngatedController::note_deaths() {
  const bool is_over = ::waitpid(-1, nullptr, WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD;
  std::vector<std::uint16_t> dead;
  {
    const UngatedLock held(control_block());
    for (std::uint16_t at = 0; at < processes().size(); ++at) {
      const Process& each = processes()[at];
      if (!each.live) {
        continue;
      }
      if (each.pid > 0 && !descriptors_.contains(at)) {
        if (UniqueFd opened = open_pidfd(each.pid)) {
          descriptors_[at] = std::move(opened);
        }
      }
      const auto known = descriptors_.find(at);
      const bool is_gone =
          known == descriptors_.end() ? each.pid > 0 : is_ready(known->second.get());
      if (is_gone || is_over) {
        dead.push_back(at);
      }
    }
  }
  if (dead.empty()) {
    return;
  }
  reap();
  {
    const UngatedLock held(control_block());
    std::ranges::for_each(dead, [this](std::uint16_t at) { note_death(at); });
  }
  make_news(control_block());
}

void UngatedController::note_death(std::uint16_t at) {
  Process& process = processes()[at];
  std::string_view how = fact::ended;
  int code = process.exit_code;
  if (process.pid == 0 || (!process.has_ended && process.sent != 0)) {
    how = fact::killed;
  } else if (!process.has_ended) {
    how = fact::crashed;
    const auto found = statuses_.find(process.pid);
    const int status = found == statuses_.end() ? 0 : found->second;
    code = WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
  }
  note_fact(context_.run, at, fact::died, how, code);
  process.live = false;
  for (Process& each : processes()) {
    if (each.stopped_by == at) {
      end_stop(each);
    }
  }
  for (Actor& actor : std::span(control_block().actors).first(control_block().actors_used)) {
    actor.state = actor.process == at ? ActorState::gone : actor.state;
  }
}

void UngatedController::kill_if_due() {
  const auto now = steady_clock::now() - started_;
  if (due_.empty() || now < due_.front()) {
    return;
  }
  due_.erase(due_.begin());
  const bool whole = chance_() % whole_one_in == 0;
  const std::uint64_t pick = chance_();
  const UngatedLock held(control_block());
  const auto alive = static_cast<std::size_t>(std::ranges::count_if(processes(), can_be_killed));
  std::size_t number = 0;
  for (Process& each : processes()) {
    if (can_be_killed(each) && (number++ == pick % alive || whole)) {
      control_block().ungated.has_kills.store(true);
      each.sent |= signal_bit(SIGKILL);
      ::kill(each.pid, SIGKILL);
      killed_.emplace_back(each.role.view());
    }
  }
}

bool UngatedController::has_timed_waits() {
  const UngatedLock held(control_block());
  for (std::uint16_t at = 0; at < processes().size(); ++at) {
    const Process& each = processes()[at];
    if (each.live && !each.stopped && control_block().ungated.timed_waits[at].load() > 0) {
      return true;
    }
  }
  return false;
}

void UngatedController::check_progress() {
  const Doing doing = doing_of(children_of(::getpid()));
  const std::uint32_t noted = context_.run.journal().size();
  if (doing.could_go_on || noted != noted_ || has_timed_waits()) {
    at_rest_ = 0;
  } else if (++at_rest_ == checks_at_rest) {
    at_rest_ = 0;
    if (resolve()) {
      timeout_.reset();
    }
  }
  if (noted != noted_) {
    timeout_.reset();
  }
  noted_ = noted;
  timeout_.wait(check_every * checks_between);
  if (const std::string why = timeout_.ends_with(doing); !why.empty()) {
    give_up(why);
  }
}

bool UngatedController::fail_one_waiter() {
  bool any = false;
  {
    const UngatedLock held(control_block());
    any = harness::fail_one_waiter(context_.run).has_value();
  }
  make_news(control_block());
  return any;
}

bool UngatedController::let_stopped_go() {
  const UngatedLock held(control_block());
  bool any = false;
  for (Process& each : processes()) {
    any = end_stop(each) || any;
  }
  return any;
}

void UngatedController::give_up(const std::string& why) {
  std::string alive;
  {
    const UngatedLock held(control_block());
    for (Process& each : processes()) {
      if (each.live) {
        alive.append(alive.empty() ? "" : ", ").append(each.role.view());
        each.sent |= signal_bit(SIGKILL);
      }
    }
  }
  note_fact(context_.run, 0, fact::hang, why + ": " + alive);
  ::kill(-1, SIGKILL);  // All processes in this pid namespace except ourselves.
}

}  // namespace lastref::harness
