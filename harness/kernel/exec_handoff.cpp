#include "harness/kernel/exec_handoff.hpp"

#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <string_view>

#include "harness/kernel/inherited_state.hpp"
#include "harness/platform/child_process.hpp"
#include "harness/platform/proc.hpp"
#include "harness/platform/unique_fd.hpp"

namespace lastref::harness {
namespace {

constexpr int cannot_execute = 127;
constexpr int unusable = 2;
constexpr rlim_t small_limit = 64;
constexpr std::string_view no_entry = "-";

/// Reads arguments one by one.
class ArgumentReader {
 public:
  explicit ArgumentReader(std::span<const char* const> arguments) : arguments_(arguments) {}

  std::string_view text() {
    const std::string_view argument = arguments_.empty() ? std::string_view() : arguments_.front();
    arguments_ = arguments_.empty() ? arguments_ : arguments_.subspan(1);
    return argument;
  }
  template <typename Number>
  Number number() {
    const std::string_view argument = text();
    Number value{};
    std::from_chars(argument.data(), argument.data() + argument.size(), value);
    return value;
  }
  std::vector<std::string> rest() const { return {arguments_.begin(), arguments_.end()}; }

 private:
  std::span<const char* const> arguments_;
};

bool is_open(int number) noexcept {
  return ::fcntl(number, F_GETFD) >= 0;
}

void limit_descriptors(rlim_t most) noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = std::min(most, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

/// Applies the ambient to a process that the scenario has started; `elsewhere` is a folder of the
/// sandbox. The root closes its descriptors later, when it is a stage.
void apply_ambient(std::string_view name,
                   std::string_view role,
                   const std::string& elsewhere) noexcept {
  bool done = true;
  if (name == ambient::closed && role != "root") {
    close_standard_descriptors();
  } else if (name == ambient::full_stderr) {
    done = ::dup2(harness_fd::unread, STDERR_FILENO) == STDERR_FILENO;
  } else if (name == ambient::elsewhere) {
    done = ::chdir(elsewhere.c_str()) == 0;
  } else if (name == ambient::deaf) {
    ::signal(SIGHUP, SIG_IGN);
    ::signal(SIGCHLD, SIG_IGN);
  } else if (name == ambient::closed_umask) {
    ::umask(0777);
  } else if (name == ambient::ordinary_user) {
    done = become_ordinary_user();
  }
  LASTREF_ASSERT(done);
}

/// Otherwise the server is root in its own user namespace, which has no other users.
bool may_administer() {
  return (bits_of_status(::getpid(), "CapEff").value_or(0) >> CAP_SYS_ADMIN & 1U) != 0;
}

/// Whether this user exists in our user namespace. user_namespaces(7)
bool knows_user(std::uint64_t user) {
  std::ifstream map("/proc/self/uid_map");
  std::uint64_t inside = 0;
  std::uint64_t outside = 0;
  std::uint64_t count = 0;
  bool is_known = false;
  while (map >> inside >> outside >> count) {
    is_known = is_known || (inside <= user && user - inside < count);
  }
  return is_known;
}

}  // namespace

std::vector<std::string> arguments_of(const SpawnedProcess& spawned,
                                      const RunContext& context,
                                      const SpawnRequest& request) {
  std::vector<std::string> arguments = {
      context.ambient == nullptr ? std::string() : std::string(context.ambient->name),
      context.scenario->name,
      context.files,
      context.spare,
      context.elsewhere,
      std::to_string(context.is_isolated ? 1 : 0),
      std::to_string(spawned.process),
      std::to_string(spawned.actor),
      std::to_string(spawned.by_scenario ? 1 : 0),
      std::to_string(bits_of(request.blocked)),
      request.role,
      request.entry == nullptr ? std::string(no_entry) : request.entry->name,
      std::to_string(context.faults.size())};
  for (const Fault& fault : context.faults) {
    arguments.push_back(to_text(fault));
  }
  arguments.push_back(std::to_string(context.parameters.size()));
  for (const ParameterValue& each : context.parameters) {
    arguments.insert(arguments.end(), {each.name, each.value});
  }
  arguments.push_back(std::to_string(request.fds.size()));
  for (const os::PassedFd& fd : request.fds) {
    arguments.push_back(std::to_string(fd.number_there));
  }
  arguments.insert(arguments.end(), request.arguments.begin(), request.arguments.end());
  return arguments;
}

void execute_program(std::vector<std::string> arguments) noexcept {
  arguments.insert(arguments.begin(), {"lastref", born_argument});
  ::execv(this_program, pointers_to(arguments).data());
  ::_exit(cannot_execute);
}

std::vector<os::PassedFd> harness_descriptors(bool is_gated) {
  std::vector<os::PassedFd> fds;
  for (int number = harness_fd::lowest; number < harness_fd::aside; ++number) {
    const bool is_servers = number == harness_fd::request || number == harness_fd::ballast ||
                            (!is_gated && number == harness_fd::last_pid);
    if (!is_servers && is_open(number)) {
      fds.push_back({.here = os::Fd{number}, .number_there = number});
    }
  }
  return fds;
}

void lift_limits() noexcept {
  limit_descriptors(RLIM_INFINITY);
}

LimitsLifted::LimitsLifted() noexcept {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  before_ = limit.rlim_cur;
  lift_limits();
}

LimitsLifted::~LimitsLifted() {
  limit_descriptors(before_);
}

bool become_ordinary_user() noexcept {
  const bool is_one = ::geteuid() == ordinary_user_id;  // Inherited from its parent.
  return (is_one || (::setgroups(0, nullptr) == 0 &&
                     ::setresgid(ordinary_user_id, ordinary_user_id, ordinary_user_id) == 0 &&
                     ::setresuid(ordinary_user_id, ordinary_user_id, 0) == 0)) &&
         // Otherwise its files in /proc belong to root. proc(5)
         ::prctl(PR_SET_DUMPABLE, 1) == 0;
}

void become_root_again() noexcept {
  // Fails for a process that does not descend from root; it keeps its user.
  [[maybe_unused]] const int done = ::setresuid(0, 0, 0);
}

void close_standard_descriptors() noexcept {
  for (const int number : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    ::close(number);
  }
}

void make_unread_pipe() noexcept {
  if (is_open(harness_fd::unread)) {
    return;
  }
  auto [reader, writer] = make_pipe(O_NONBLOCK);
  const std::array<char, 4096> some{};
  while (::write(writer.get(), some.data(), some.size()) > 0) {
  }
  while (::write(writer.get(), some.data(), 1) > 0) {
  }
  ::fcntl(writer.get(), F_SETFL, 0);
  move_to(std::move(reader), harness_fd::reader);
  move_to(std::move(writer), harness_fd::unread);
}

bool is_possible(const Ambient& ambient) {
  if (ambient.name == ambient::root) {
    return ::geteuid() == 0;
  }
  if (ambient.name == ambient::pid_namespace) {
    return may_administer();
  }
  return ambient.name != ambient::ordinary_user ||
         (may_administer() && knows_user(ordinary_user_id));
}

int become_process_of_run(std::span<const char* const> arguments,
                          const std::vector<Scenario>& scenarios,
                          const std::vector<EntryPoint>& entries) {
  ArgumentReader all(arguments);
  const std::string_view ambient_name = all.text();  // Empty in an ungated run.
  const Ambient* const ambient = ambient_named(ambient_name);
  const auto scenario = std::ranges::find(scenarios, all.text(), &Scenario::name);
  if ((ambient == nullptr && !ambient_name.empty()) || scenario == scenarios.end() ||
      !is_open(harness_fd::run)) {
    std::fputs("lastref: only the kernel world starts processes of a run\n", stderr);
    return unusable;
  }
  SharedRun run{SharedRun::Inherited{}};
  RunContext context{.run = run,
                     .entries = entries,
                     .files = std::string(all.text()),
                     .spare = std::string(all.text()),
                     .elsewhere = std::string(all.text()),
                     .is_isolated = all.number<int>() != 0,
                     .scenario = &*scenario,
                     .ambient = ambient};
  const auto process = all.number<std::uint16_t>();
  const auto actor = all.number<ActorId>();
  const bool by_scenario = all.number<int>() != 0;
  const auto blocked = all.number<std::uint64_t>();
  SpawnRequest request;
  request.role = all.text();
  const auto entry = std::ranges::find(entries, all.text(), &EntryPoint::name);
  request.entry = entry == entries.end() ? nullptr : &*entry;
  std::vector<Fault> faults;
  for (auto left = all.number<unsigned>(); left > 0; --left) {
    Result<Fault> fault = parse_fault(all.text());
    LASTREF_ASSERT(fault.has_value());
    faults.push_back(*std::move(fault));
  }
  context.faults = faults;
  ParameterValues parameters;
  for (auto left = all.number<unsigned>(); left > 0; --left) {
    ParameterValue& one = parameters.emplace_back();
    one.name = all.text();
    one.value = all.text();
  }
  context.parameters = parameters;
  for (auto left = all.number<unsigned>(); left > 0; --left) {
    request.fds.push_back({.here = os::Fd{-1}, .number_there = all.number<int>()});
  }
  request.arguments = all.rest();
  if (!run.is_gated()) {
    play_ungated(context, process, request);
  }
  LASTREF_ASSERT(ambient != nullptr);
  if (by_scenario) {
    apply_ambient(ambient->name, request.role, context.elsewhere);
  }
  if (ambient->name == ambient::small_limits) {
    limit_descriptors(small_limit);
  }
  play(context,
       process,
       actor,
       request,
       by_scenario ? std::nullopt : not_inherited(context, process, request, blocked));
}

}  // namespace lastref::harness
