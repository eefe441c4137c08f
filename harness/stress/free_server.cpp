#include "harness/stress/free_server.hpp"

#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <map>
#include <random>
#include <string_view>

#include <lastref/temporary_resources.hpp>

#include "harness/kernel/born.hpp"
#include "harness/kernel/control_block.hpp"
#include "harness/kernel/patience.hpp"
#include "harness/kernel/sandbox.hpp"
#include "harness/kernel/server.hpp"
#include "harness/oracle/evidence.hpp"
#include "harness/platform/child_process.hpp"
#include "harness/platform/proc.hpp"
#include "harness/stress/free_process.hpp"

namespace lastref::harness {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

/// How often to check for dead processes.
constexpr milliseconds look_every{1};
/// How often to check whether any process could continue. After this many consecutive checks
/// without one, a wait is cancelled.
constexpr int looks_between = 10;
constexpr int looks_at_rest = 8;
/// One in this many kills hits all processes.
constexpr unsigned whole_one_in = 8;

/// The texts with which reports of sanitizers begin.
constexpr std::array<std::string_view, 3> complaints = {
    "WARNING: ThreadSanitizer:", "ERROR: AddressSanitizer", "runtime error:"};

bool is_ready(int descriptor) noexcept {
  pollfd item{.fd = descriptor, .events = POLLIN, .revents = 0};
  return ::poll(&item, 1, 0) == 1;
}

/// The name that the C library's sem_open gives a semaphore before its final name. A process that
/// is killed in between leaves it, and its owner cannot be determined.
bool is_unborn_semaphore(std::string_view path) {
  constexpr std::string_view before = "/dev/shm/sem.";
  constexpr std::size_t chance = 6;
  return path.starts_with(before) && path.size() == before.size() + chance &&
         path.find('_') == std::string_view::npos;
}

/// A file that ThreadSanitizer's runtime makes in $TMPDIR before main, and unlinks in the next
/// call. A process that is killed between the two leaves it.
bool is_of_thread_sanitizer([[maybe_unused]] std::string_view path) {
#if defined(__SANITIZE_THREAD__)
  return path.substr(path.rfind('/') + 1).starts_with("tsan.rodata.");
#else
  return false;
#endif
}

class FreeRun {
 public:
  FreeRun(const FreeContext& context, const StressPlan& plan)
      : context_(context), board_(context.board), plan_(plan), chance_(plan.seed) {
    std::uniform_int_distribution<std::int64_t> when(0,
                                                     std::max<std::int64_t>(plan.span.count(), 1));
    for (unsigned kill = 0; kill < plan.kills; ++kill) {
      due_.push_back(microseconds(when(chance_)));
    }
    std::ranges::sort(due_);
  }

  /// From the start of its root to the end of its last process.
  void see_through();

  const std::vector<std::string>& killed() const noexcept { return killed_; }
  microseconds took() const { return took_; }

 private:
  bool reap();
  void bury();
  void strike();
  void look_whether_anybody_goes_on();
  void give_up(const std::string& why);
  std::string_view how(const FreeProcess& process, std::int64_t& code) const;

  const FreeContext& context_;
  Board& board_;
  const StressPlan& plan_;
  std::mt19937_64 chance_;
  std::vector<microseconds> due_;
  std::vector<std::string> killed_;
  std::map<std::uint16_t, UniqueFd> descriptors_;  ///< of processes that have been seen alive
  std::map<os::Pid, int> statuses_;
  steady_clock::time_point started_ = steady_clock::now();
  microseconds took_{};
  std::uint32_t noted_ = 0;
  int looks_ = 0;
  int at_rest_ = 0;
  Patience patience_;
};

void FreeRun::see_through() {
  FreeOs os(context_);
  const auto root =
      os.spawn({.entry = "root", .arguments = {""}, .fds = {}, .blocked = {}, .end_wanted = false});
  LASTREF_ASSERT(root.has_value());
  const Status closed = os.close(root->process);
  LASTREF_ASSERT(closed.has_value());
  while (reap()) {
    bury();
    strike();
    if (++looks_ % looks_between == 0) {
      look_whether_anybody_goes_on();
    }
    ::poll(nullptr, 0, static_cast<int>(look_every.count()));
  }
  bury();
  took_ = std::chrono::duration_cast<microseconds>(steady_clock::now() - started_);
}

/// False when no process is left: all orphans are children of this process.
bool FreeRun::reap() {
  int status = 0;
  pid_t pid = 0;
  while ((pid = ::waitpid(-1, &status, WNOHANG | __WALL)) > 0) {
    statuses_[pid] = status;
  }
  return pid == 0 || errno != ECHILD;
}

std::string_view FreeRun::how(const FreeProcess& process, std::int64_t& code) const {
  code = process.exit_code;
  if (process.has_ended) {
    return fact::ended;
  }
  if (process.is_sentenced) {
    return fact::killed;
  }
  const auto found = statuses_.find(process.pid);
  const int status = found == statuses_.end() ? 0 : found->second;
  code = WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
  return fact::crashed;
}

/// Records dead processes. The state of a process without a pid is unknown until none is left.
void FreeRun::bury() {
  const bool is_over = ::waitpid(-1, nullptr, WNOHANG | WNOWAIT | __WALL) < 0 && errno == ECHILD;
  std::vector<std::uint16_t> dead;
  std::vector<FreeProcess> ends;
  board_.for_each_process([&](std::uint16_t at, const FreeProcess& each) {
    if (!each.is_alive) {
      return;
    }
    if (each.pid > 0 && !descriptors_.contains(at)) {
      if (UniqueFd opened = open_pidfd(each.pid)) {
        descriptors_[at] = std::move(opened);
      }
    }
    const auto known = descriptors_.find(at);
    const bool is_gone = known == descriptors_.end() ? each.pid > 0 : is_ready(known->second.get());
    if (is_gone || is_over) {
      dead.push_back(at);
      ends.push_back(each);
    }
  });
  reap();
  for (std::size_t i = 0; i < dead.size(); ++i) {
    std::int64_t code = 0;
    const std::string_view end = ends[i].pid == 0 ? fact::killed : how(ends[i], code);
    board_.note(dead[i], RecordKind::fact, fact::died, end, code);
    board_.note_death(dead[i]);
  }
}

void FreeRun::strike() {
  const auto now = steady_clock::now() - started_;
  if (due_.empty() || now < due_.front()) {
    return;
  }
  due_.erase(due_.begin());
  const bool whole = chance_() % whole_one_in == 0;
  const std::uint64_t pick = chance_();
  const auto can_be_killed = [](const FreeProcess& each) {
    return each.is_alive && each.pid > 0 && !each.has_ended;
  };
  std::size_t alive = 0;
  board_.for_each_process([&](std::uint16_t /*at*/, const FreeProcess& each) {
    alive += can_be_killed(each) ? 1U : 0U;
  });
  if (alive == 0) {
    return;
  }
  board_.disturb();
  std::size_t number = 0;
  board_.for_each_process([&](std::uint16_t /*at*/, FreeProcess& each) {
    if (can_be_killed(each) && (number++ == pick % alive || whole)) {
      each.is_sentenced = true;
      ::kill(each.pid, SIGKILL);
      killed_.emplace_back(each.role.view());
    }
  });
}

void FreeRun::look_whether_anybody_goes_on() {
  const Doing doing = doing_of(children_of(::getpid()));
  const std::uint32_t noted = board_.journal().size();
  if (doing.could_go_on || noted != noted_ || board_.has_timed_waits()) {
    at_rest_ = 0;
  } else if (++at_rest_ == looks_at_rest) {
    at_rest_ = 0;
    if (board_.let_one_down()) {
      patience_.renew();
    }
    board_.for_each_process([&](std::uint16_t /*at*/, FreeProcess& each) {
      if (each.is_alive && each.is_stopped) {
        each.is_stopped = false;
        ::kill(each.pid, SIGCONT);
      }
    });
  }
  if (noted != noted_) {
    patience_.renew();
  }
  noted_ = noted;
  patience_.wait(look_every * looks_between);
  if (const std::string why = patience_.ends_with(doing); !why.empty()) {
    give_up(why);
  }
}

void FreeRun::give_up(const std::string& why) {
  std::string alive;
  board_.for_each_process([&](std::uint16_t /*at*/, FreeProcess& each) {
    if (each.is_alive) {
      alive.append(alive.empty() ? "" : ", ").append(each.role.view());
      each.is_sentenced = true;
    }
  });
  board_.note(0, RecordKind::fact, fact::hang, why + ": " + alive);
  ::kill(-1, SIGKILL);  // All processes in this pid namespace except ourselves.
}

class FreeServer {
 public:
  FreeServer(const StressOptions& options, const std::string& missing)
      : options_(options), sandbox_(missing) {}

  const Sandbox& sandbox() const noexcept { return sandbox_; }
  StressOutcome run(const StressPlan& plan);

 private:
  std::vector<std::string> left_behind() const;
  void sweep();
  std::vector<Finding> findings_of(const Scenario& scenario,
                                   const StressPlan& plan,
                                   std::vector<std::string> left);

  const StressOptions& options_;
  Board board_;
  Sandbox sandbox_;
};

std::vector<std::string> FreeServer::left_behind() const {
  std::vector<std::string> left = sandbox_.left();
  std::erase_if(left, is_unborn_semaphore);
  std::erase_if(left, is_of_thread_sanitizer);
  return left;
}

/// The next start, without kills.
void FreeServer::sweep() {
  reap(start_child([this] {
    os::KernelOs kernel;
    return lastref::sweep(kernel, sandbox_.runtime()) ? 0 : 1;
  }));
}

std::vector<Finding> FreeServer::findings_of(const Scenario& scenario,
                                             const StressPlan& plan,
                                             std::vector<std::string> left) {
  Plan none;
  none.seed = plan.seed;
  const Evidence evidence = {.scenario = scenario,
                             .plan = none,
                             .records = board_.journal().settle(),
                             .left = std::move(left),
                             .left_after_sweep = left_behind(),
                             .standard_error = sandbox_.standard_error()};
  std::vector<Finding> findings;
  const auto add = [&](Judgement judgement) {
    std::ranges::move(judgement.findings, std::back_inserter(findings));
  };
  for (const std::string_view complaint : complaints) {
    if (const std::size_t at = evidence.standard_error.find(complaint); at != std::string::npos) {
      constexpr std::size_t shown = 200;
      findings.push_back({.claim = "sanitizers: they have nothing to say",
                          .seen = evidence.standard_error.substr(at, shown)});
    }
  }
  add(judge_by("no-crash", evidence));
  add(judge_by("no-hang", evidence));
  add(judge_by("no-leak", evidence));
  add(judge_by("no-leak at the next start", evidence));
  if (!board_.is_disturbed()) {
    add(judge_by("refuted", evidence));
  }
  return findings;
}

StressOutcome FreeServer::run(const StressPlan& plan) {
  const auto& all = *options_.scenarios;
  const auto scenario = std::ranges::find(all, plan.scenario, &Scenario::name);
  LASTREF_ASSERT(scenario != all.end());
  sandbox_.prepare();
  board_.reset();
  const FreeContext context{.board = board_,
                            .scenario = *scenario,
                            .entries = options_.entries,
                            .files = sandbox_.files(),
                            .spare = sandbox_.spare()};
  FreeRun run(context, plan);
  run.see_through();
  sandbox_.restore();
  std::vector<std::string> left = left_behind();
  if (!left.empty()) {
    sweep();
  }
  StressOutcome outcome{.findings = {},
                        .left_out = board_.why_left_out(),
                        .killed = run.killed(),
                        .took = run.took(),
                        .standard_error = sandbox_.standard_error()};
  if (outcome.left_out.empty()) {
    outcome.findings = findings_of(*scenario, plan, std::move(left));
  }
  sandbox_.wipe();
  return outcome;
}

/// A process that finds a race exits at once, so that this is seen whichever process reaps it. A
/// failed allocation is an error in the product, not a finding.
void tell_sanitizers() {
  os::KernelOs kernel;
  for (const char* const name : {"TSAN_OPTIONS", "ASAN_OPTIONS"}) {
    std::string options = kernel.environment(name).value_or("");
    options.append(options.empty() ? "" : ":")
        .append("halt_on_error=1:allocator_may_return_null=1");
    ::setenv(name, options.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): we have one thread.
  }
}

}  // namespace

void serve_ungated_runs(int socket, const StressOptions& options, const std::string& missing) {
  lift_limits();
  settle_in(socket);
  FreeServer server(options, missing);
  for (const int number : {STDOUT_FILENO, STDERR_FILENO}) {
    ::dup2(harness_fd::standard_error, number);
  }
  tell_sanitizers();
  const std::string& lacking = server.sandbox().degraded();
  // If a run hangs, all processes are killed: they must be ours.
  bool connected = send_message(harness_fd::request, lacking) && lacking.empty();
  for (std::string message; connected && receive_message(harness_fd::request, message);) {
    connected = send_message(harness_fd::request, to_message(server.run(plan_in(message))));
  }
  server.sandbox().leave();
  ::_exit(0);
}

}  // namespace lastref::harness
