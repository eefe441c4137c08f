#include "harness/stress/free_process.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "harness/platform/proc.hpp"
#include "harness/stress/free_stage.hpp"

namespace lastref::harness {
namespace {

/// A longer time limit counts as none: a tracker checks ever more rarely for missing processes.
constexpr std::chrono::seconds limit_that_counts{5};
constexpr int unusable = 2;
constexpr int unknown_role = 3;
constexpr std::string_view no_entry = "-";
/// The number of arguments after the verb, before those of the role: scenario, files, spare,
/// process, role, entry.
constexpr std::size_t words_before = 6;

/// The pid of a process descriptor.
os::Pid pid_of(os::Fd process) {
  const std::string text =
      read_file("/proc/self/fdinfo/" + std::to_string(static_cast<int>(process)));
  return number_in<os::Pid>(field_in(text, "Pid")).value_or(0);
}

/// Exists until the last hook of this process has run: threads that were not joined may use it. A
/// body that returns ends in std::exit, which destroys no local object.
struct Last {
  Board* board = nullptr;
  Stage* stage = nullptr;
  std::uint16_t process = 0;
  int code = 0;
};
Last last;

/// Runs after all hooks of the product.
void end() {
  if (last.stage != nullptr && last.stage->product().has_client()) {
    last.stage->product().leave();
  }
  last.board->note_end(last.process, last.code);
}

[[noreturn]] void perform(const FreeContext& context,
                          std::uint16_t process,
                          const std::string& role_name,
                          const std::string& entry_name,
                          std::span<const std::string> arguments) {
  FreeOs os(context);
  const auto entry = std::ranges::find(context.entries, entry_name, &EntryPoint::name);
  if (entry != context.entries.end()) {
    last.code = entry->run(os, arguments);
    std::exit(last.code);  // NOLINT(concurrency-mt-unsafe): as every program does.
  }
  const Role* const role = role_named(context.scenario, role_name);
  if (role == nullptr) {
    last.code = unknown_role;
    std::exit(last.code);  // NOLINT(concurrency-mt-unsafe): as above.
  }
  const RoleText called = context.board.role_of(process);
  FreeStage stage(context, os, process, std::string(called.view()), arguments);
  last.stage = &stage;
  const Status ended = run_body(*role, stage);
  if (!ended) {
    context.board.note(process, RecordKind::fact, fact::failed, describe(ended.error()));
  }
  std::exit(0);  // NOLINT(concurrency-mt-unsafe): as above.
}

}  // namespace

Result<os::Child> FreeOs::spawn(const os::SpawnOptions& options) noexcept {
  const auto entry = std::ranges::find(context_.entries, options.entry, &EntryPoint::name);
  const bool is_entry = entry != context_.entries.end();
  const Role* const role =
      is_entry ? nullptr : role_started_as(context_.scenario, options.entry, options.arguments);
  if (!is_entry && role == nullptr) {
    return failure(std::errc::no_such_file_or_directory, options.entry, Call::spawn);
  }
  const std::string name = is_entry ? options.entry : role->name;
  const auto process = context_.board.add_process(name);
  if (!process) {
    return failure(std::errc::resource_unavailable_try_again, options.entry, Call::spawn);
  }
  os::SpawnOptions ours = options;
  ours.entry = stressed_argument;
  ours.arguments = {context_.scenario.name,
                    context_.files,
                    context_.spare,
                    std::to_string(*process),
                    name,
                    is_entry ? options.entry : std::string(no_entry)};
  ours.arguments.insert(ours.arguments.end(), options.arguments.begin(), options.arguments.end());
  ours.fds.push_back({.here = os::Fd{Board::descriptor}, .number_there = Board::descriptor});
  Result<os::Child> child = KernelOs::spawn(ours);
  if (!child) {
    context_.board.note_end(*process, 0);
    context_.board.note_death(*process);
  }
  return child;
}

Result<std::size_t> FreeOs::poll(std::span<os::PollItem> items,
                                 std::optional<std::chrono::nanoseconds> timeout) noexcept {
  const bool counts = timeout && *timeout > os::Instant(0) && *timeout <= limit_that_counts;
  if (!counts || last.board == nullptr) {
    return KernelOs::poll(items, timeout);
  }
  last.board->begin_timed_wait(last.process);
  Result<std::size_t> ready = KernelOs::poll(items, timeout);
  last.board->end_timed_wait(last.process);
  return ready;
}

Status FreeOs::signal_process(os::Fd process, os::Signal signal) noexcept {
  const os::Pid pid = pid_of(process);
  context_.board.for_each_process([&](std::uint16_t /*at*/, FreeProcess& each) {
    each.is_sentenced = each.is_sentenced || (pid > 0 && each.pid == pid);
  });
  return KernelOs::signal_process(process, signal);
}

int become_process_of_ungated_run(std::span<const char* const> arguments,
                                  const std::vector<Scenario>& scenarios,
                                  const std::vector<EntryPoint>& entries) {
  const std::vector<std::string> words(arguments.begin(), arguments.end());
  const auto scenario = words.size() < words_before
                            ? scenarios.end()
                            : std::ranges::find(scenarios, words[0], &Scenario::name);
  if (scenario == scenarios.end() || ::fcntl(Board::descriptor, F_GETFD) < 0) {
    std::fputs("lastref: only `lastref stress` starts processes of an ungated run\n", stderr);
    return unusable;
  }
  Board board{Board::Inherited{}};
  const FreeContext context{.board = board,
                            .scenario = *scenario,
                            .entries = entries,
                            .files = words[1],
                            .spare = words[2]};
  std::uint16_t process = 0;
  std::from_chars(words[3].data(), words[3].data() + words[3].size(), process);
  if (!board.set_pid(process, ::getpid())) {
    ::raise(SIGKILL);
  }
  board.note(process, RecordKind::fact, fact::born, {}, ::getpid());
  last = {.board = &board, .process = process};
  // The hook that is registered first runs last.
  const int registered = std::atexit(end);
  LASTREF_ASSERT(registered == 0);
  perform(context, process, words[4], words[5], std::span(words).subspan(words_before));
}

}  // namespace lastref::harness
